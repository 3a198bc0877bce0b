//! Frequencies through utilization clamps: the kernel counts a thread as busy by at least and at most so much, and the governor
//! `schedutil` sets the clock by that. It needs no privilege to lower a thread's clamps, and the clamp follows the thread.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::path::Path;

use evenkeel_model::Hz;
use evenkeel_topology::{Cpu, Topology};

use super::{CPUS, Dvfs, Setting};
use crate::affinity::Tid;

/// What the kernel counts the biggest CPU at its highest frequency as, and each one where it knows of no difference.
const FULL: u32 = 1024;

/// Clamps of the workers' threads.
#[derive(Debug)]
pub(crate) struct Uclamp {
    cpus: Vec<ClampedCpu>,
    /// Whether the governor adds a quarter to a clamp.
    headroom: bool,
    clamped: Vec<Clamped>,
}

/// A CPU as the governor sees it.
#[derive(Clone, Copy, Debug)]
struct ClampedCpu {
    id: u16,
    highest: Hz,
    /// At its highest frequency.
    capacity: u32,
}

/// A thread that has a clamp.
#[derive(Debug)]
struct Clamped {
    thread: Tid,
    now: u32,
    /// The least and the most that it had before.
    before: [u32; 2],
}

impl Uclamp {
    /// Clamps for threads on the CPUs of a machine, of which the kernel says the capacities below `root`.
    ///
    /// # Errors
    /// A kernel without `CONFIG_UCLAMP_TASK`, or one that lets no process set clamps.
    pub fn open(root: &Path, topology: &Topology) -> io::Result<Self> {
        let before = clamps_of(0)?;
        clamp(0, before)?;
        let headroom = adds_headroom(&rustix::system::uname().release().to_string_lossy());
        Ok(Self { cpus: ClampedCpu::all(root, topology), headroom, clamped: Vec::new() })
    }

    fn set_thread(&mut self, thread: Tid, share: u32) -> io::Result<()> {
        match self.clamped.iter_mut().find(|one| one.thread == thread) {
            Some(one) if one.now == share => {}
            Some(one) => {
                clamp(thread, [share; 2])?;
                one.now = share;
            }
            None => {
                let before = clamps_of(thread)?;
                clamp(thread, [share; 2])?;
                self.clamped.push(Clamped { thread, now: share, before });
            }
        }
        Ok(())
    }

    fn cpu(&self, id: u16) -> Option<&ClampedCpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }
}

impl ClampedCpu {
    /// Those of which a frequency is known.
    fn all(root: &Path, topology: &Topology) -> Vec<Self> {
        let of = |cpu: &Cpu| Some(Self { id: cpu.id, highest: cpu.max()?, capacity: capacity(root, cpu.id) });
        topology.cpus.iter().filter_map(of).collect()
    }

    /// How busy a thread must count for its CPU to run at a frequency.
    fn share(&self, wanted: Hz, headroom: bool) -> u32 {
        if wanted >= self.highest {
            return self.capacity;
        }
        let (part, whole) = if headroom { (4, 5) } else { (1, 1) };
        (u128::from(self.capacity) * u128::from(wanted.0) * part / (u128::from(self.highest.0) * whole)) as u32
    }
}

/// What the kernel divides a clamp by. A topology may have capacities from elsewhere.
fn capacity(root: &Path, cpu: u16) -> u32 {
    let text = fs::read_to_string(root.join(CPUS).join(format!("cpu{cpu}/cpu_capacity"))).ok();
    let stated = text.and_then(|text| text.trim().parse::<u32>().ok());
    stated.filter(|capacity| (1..=FULL).contains(capacity)).unwrap_or(FULL)
}

/// Whether `schedutil` of a release, such as `6.1.0-13-amd64`, adds a quarter to how busy a thread counts after that is clamped. Since Linux 6.8
/// (9c0b4bb7f630) and 6.6.89 (ada8d7fa0ad4), but not in Android's 6.6, it adds that before (`sugov_effective_cpu_perf`).
fn adds_headroom(release: &str) -> bool {
    let mut numbers = release.split(|other: char| !other.is_ascii_digit()).map(|number| number.parse::<u32>().ok());
    let mut next = || numbers.next().flatten();
    match (next(), next(), next().unwrap_or(0)) {
        (Some(6), Some(6), patch) => patch < 89 || release.contains("android"),
        (Some(major), Some(minor), _) => (major, minor) < (6, 8),
        _ => false,
    }
}

impl Dvfs for Uclamp {
    fn ceiling(&self, cpu: u16) -> Option<Hz> {
        self.cpu(cpu).map(|cpu| cpu.highest)
    }

    fn set(&mut self, settings: &[Setting]) -> io::Result<()> {
        // A thread that is no worker any more counts as busy as before.
        let stays = |thread: Tid| settings.iter().any(|setting| setting.thread == Some(thread));
        self.clamped.extract_if(.., |one| !stays(one.thread)).for_each(Clamped::release);
        for setting in settings {
            let (Some(thread), Some(cpu)) = (setting.thread, self.cpu(setting.cpu)) else { continue };
            let share = cpu.share(setting.frequency, self.headroom);
            match self.set_thread(thread, share) {
                // It has ended since it was a worker: that is no refusal.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                    self.clamped.retain(|one| one.thread != thread)
                }
                done => done?,
            }
        }
        Ok(())
    }
}

impl Clamped {
    fn release(self) {
        // A thread that is gone has taken its clamp with it.
        let _ = clamp(self.thread, self.before);
    }
}

impl Drop for Uclamp {
    fn drop(&mut self) {
        self.clamped.drain(..).for_each(Clamped::release);
    }
}

/// `struct sched_attr` of sched_setattr(2) in version 1, which libc's lacks: version 0 with clamps.
#[repr(C)]
struct SchedAttr {
    version_0: libc::sched_attr,
    util_min: u32,
    util_max: u32,
}

impl SchedAttr {
    fn new(flags: libc::c_int, [util_min, util_max]: [u32; 2]) -> Self {
        let version_0 = libc::sched_attr {
            size: size_of::<Self>() as u32,
            sched_policy: 0,
            sched_flags: flags as u64,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        Self { version_0, util_min, util_max }
    }
}

/// How busy a thread (0: this one) counts at least and at most.
fn clamps_of(thread: Tid) -> io::Result<[u32; 2]> {
    let mut attr = SchedAttr::new(0, [0; 2]);
    // SAFETY: the kernel writes at most `size` bytes to `attr`, which is that long and lives until the call returns.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attr, attr.version_0.size, 0) };
    if done == 0 { Ok([attr.util_min, attr.util_max]) } else { Err(io::Error::last_os_error()) }
}

/// Lets a thread (0: this one) count as at least and at most so busy.
fn clamp(thread: Tid, util: [u32; 2]) -> io::Result<()> {
    // Nothing but the clamps is set.
    let attr = SchedAttr::new(libc::SCHED_FLAG_KEEP_ALL | libc::SCHED_FLAG_UTIL_CLAMP, util);
    // SAFETY: the kernel reads `size` bytes from `attr`, which is that long and lives until the call returns.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attr, 0) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs 0 and 1 are big, CPU 2 is said to be 2.5 times slower. All run at 2 GHz.
    fn machine(root: &Path) -> Topology {
        let cpus = root.join(CPUS);
        for cpu in 0..3 {
            let cpufreq = cpus.join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&cpufreq).unwrap();
            fs::write(cpufreq.join("cpuinfo_max_freq"), "2000000").unwrap();
        }
        fs::write(cpus.join("online"), "0-2").unwrap();
        Topology::read(root).unwrap().with(Some("0-1"), Some("2"), Some(2.5)).unwrap()
    }

    #[test]
    fn a_share_is_of_the_capacity() {
        let cpu = |highest, capacity| ClampedCpu { id: 0, highest: Hz(highest), capacity };
        for (headroom, half) in [(false, 512), (true, 409)] {
            let share = |wanted| cpu(2_000, 1024).share(Hz(wanted), headroom);
            assert_eq!((share(1_000), share(2_000), share(4_000)), (half, 1024, 1024), "{headroom}");
        }
        assert_eq!(cpu(1_000, 400).share(Hz(500), false), 200);
    }

    #[test]
    fn a_capacity_is_the_one_that_the_kernel_counts_with() {
        let root = tempfile::tempdir().unwrap();
        let topology = machine(root.path());
        let share = || ClampedCpu::all(root.path(), &topology)[2].share(Hz(2_000_000_000), false);
        assert_eq!(share(), 1024, "it knows of no difference");
        fs::write(root.path().join(CPUS).join("cpu2/cpu_capacity"), "446\n").unwrap();
        assert_eq!(share(), 446);
    }

    #[test]
    fn headroom_is_added_after_the_clamp_before_linux_6_8_and_6_6_89() {
        let of_6_6 = ["6.6-rc1", "6.6.0-x", "6.6.88", "6.6.139-android15-8"];
        for old in ["5.15.0-91-generic", "6.1.0-13-amd64", "6.1.140", "6.7.12"].into_iter().chain(of_6_6) {
            assert!(adds_headroom(old), "{old}");
        }
        for new in ["6.6.89", "6.6.99-foo", "6.8.0", "6.8.0-31-generic", "6.12.1", "7.0-rc1", "unknown"] {
            assert!(!adds_headroom(new), "{new}");
        }
    }

    #[test]
    fn a_thread_that_has_ended_meanwhile_is_no_refusal() {
        let gone = Setting { cpu: 0, thread: Some(0x3fff_ffff), frequency: Hz(1_000) };
        let cpus = vec![ClampedCpu { id: 0, highest: Hz(2_000), capacity: FULL }];
        let clamped = vec![Clamped { thread: 0x3fff_ffff, now: 1, before: [0; 2] }];
        let mut clamps = Uclamp { cpus, headroom: false, clamped };
        clamps.set(&[gone]).unwrap();
        assert!(clamps.clamped.is_empty());
    }

    #[test]
    fn a_kernel_without_clamps_says_so_and_one_with_them_takes_them_back() {
        let root = tempfile::tempdir().unwrap();
        let setting = Setting { cpu: 0, thread: Some(0), frequency: Hz(1_000_000_000) };
        match Uclamp::open(root.path(), &machine(root.path())) {
            Err(error) => assert!(error.raw_os_error().is_some()),
            Ok(mut uclamp) => {
                // Lowering needs no privilege; raising the least may.
                let _ = uclamp.set(&[setting]);
                assert!(uclamp.clamped.len() <= 1);
            }
        }
    }
}

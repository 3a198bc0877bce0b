//! What this user can see and control on this machine, and what is lost otherwise. Each capability is probed by use, as far as
//! that changes nothing, because files and privileges are not always right.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use evenkeel_model::Ns;
use evenkeel_topology::list;
use perf_event::Builder;
use perf_event::events::Hardware;
use rustix::process::Pid;
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::clock::clock;
use crate::mask;
use crate::process;
use crate::realtime::{self, Reservation};
use crate::vm::kvm;
use crate::watch::{self, Counters, Options, Watch};

/// Something that Evenkeel uses where it can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Its name: eBPF, KVM, counters, ...
    pub name: &'static str,
    /// Whether it can be used.
    pub available: bool,
    /// Its present state, or why it cannot be used.
    pub detail: String,
    /// What to do to get it; `None` if it is available, or if nothing helps.
    pub remedy: Option<String>,
    /// What is lost without it.
    pub without: &'static str,
}

/// Why something cannot be used, and what to do about it.
struct Refusal {
    why: String,
    remedy: Option<String>,
}

type Probe = Result<String, Refusal>;

const AS_ROOT: &str = "run as root";
const NOT_PERMITTED: &str = "this user may not";

/// A refusal without a remedy.
fn lacks(why: impl Into<String>) -> Refusal {
    Refusal { why: why.into(), remedy: None }
}

/// Why a call failed, in words.
fn failed(error: &io::Error) -> Refusal {
    let text = error.to_string();
    match error.kind() {
        io::ErrorKind::PermissionDenied => lacks(NOT_PERMITTED),
        _ => lacks(text.split(" (os error").next().unwrap_or_default()),
    }
}

impl Refusal {
    fn but(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// All capabilities, in a fixed order. `online` has the CPUs of this machine.
pub fn all(online: &[u16]) -> Vec<Capability> {
    let probes = [
        ("CPUs", cpus(online), "programs started here cannot use the others"),
        ("other users", other_users(), "only programs of this user can be followed"),
        ("frequencies", governors(), "frequencies cannot be set, and every core counts as running at its highest one"),
        ("uclamp", uclamp(), "a thread cannot have a lower or upper limit to how fast it runs"),
        (
            "counters",
            counters(online),
            "every thread gains as much from a big core as capacities say; `record` records time",
        ),
        ("eBPF", ebpf(), "threads are sampled through /proc: slower, and without which waits for which; no `record`"),
        ("sched_ext", sched_ext(), "threads are steered through affinity masks instead of scheduled"),
        ("SCHED_FIFO", fifo(), "no `emulate`; QEMU's own threads wait their turn, so that `vm` is less exact"),
        ("SCHED_DEADLINE", deadline(), "`vm` cannot make its cores unequal, only --symmetric"),
        ("KVM", kvm(), "`vm` translates every instruction: about ten times slower"),
    ];
    let capability = |(name, probe, without): (_, Probe, _)| {
        let available = probe.is_ok();
        let (detail, remedy) = match probe {
            Ok(detail) => (detail, None),
            Err(Refusal { why, remedy }) => (why, remedy),
        };
        Capability { name, available, detail, remedy, without }
    };
    probes.into_iter().map(capability).collect()
}

/// Runs `act` in a thread of its own, because it changes that thread.
fn in_a_thread<T: Send>(act: impl FnOnce() -> T + Send) -> Result<T, Refusal> {
    thread::scope(|scope| scope.spawn(act).join()).map_err(|_| lacks("cannot be tried"))
}

/// Moves a thread to each CPU by its mask, as followed threads are moved.
fn cpus(online: &[u16]) -> Probe {
    let reached = in_a_thread(|| -> io::Result<Vec<u16>> {
        let set = sched_getaffinity(None)?;
        let allowed = |cpu: &u16| usize::from(*cpu) < CpuSet::MAX_CPU && set.is_set(usize::from(*cpu));
        let reach =
            |cpu: &u16| sched_setaffinity(None, &mask::of([*cpu])).is_ok() && sched_getcpu() == usize::from(*cpu);
        Ok(online.iter().copied().filter(allowed).filter(reach).collect())
    })?;
    let reached = reached.map_err(|error| failed(&error))?;
    let text = format!("{} of {}", list::text(&reached), list::text(online));
    match reached.len() == online.len() {
        true => Ok(text),
        false => Err(lacks(format!("{text}: limited by taskset or a cgroup"))
            .but("start it without taskset, or widen the cpuset")),
    }
}

/// Sets the mask of another user's process to what it is.
fn other_users() -> Probe {
    /// Linux's user without rights.
    const OTHER_USER: u32 = 65534;
    let refused = || lacks("only programs of this user").but("run as root, or with CAP_SYS_NICE");
    let mut sleep = Command::new("sleep");
    sleep.arg("10").uid(OTHER_USER).gid(OTHER_USER).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = sleep.spawn() else {
        // This user cannot start such a process: the privilege has to do.
        let held = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
        return if held { Ok("CAP_SYS_NICE is held".into()) } else { Err(refused()) };
    };
    let pid = Pid::from_child(&child);
    let set = sched_getaffinity(Some(pid)).and_then(|mask| sched_setaffinity(Some(pid), &mask));
    let _ = child.kill();
    let _ = child.wait();
    set.map(|()| "their programs can be moved".into()).map_err(|_| refused())
}

/// Sets the governor to what it is.
fn governors() -> Probe {
    let policies =
        fs::read_dir(evenkeel_topology::root().join("sys/devices/system/cpu/cpufreq")).into_iter().flatten().flatten();
    let mut policies: Vec<PathBuf> =
        policies.map(|entry| entry.path()).filter(|path| path.join("scaling_governor").exists()).collect();
    policies.sort();
    let Some(policy) = policies.first() else { return Err(lacks("no cpufreq: the kernel or a hypervisor decides")) };
    let text = |file: &str| fs::read_to_string(policy.join(file)).unwrap_or_default().trim().to_owned();
    let governor = text("scaling_governor");
    let all = format!("governor {governor} of {}", text("scaling_available_governors"));
    match fs::write(policy.join("scaling_governor"), &governor) {
        Ok(()) => Ok(all),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(lacks(all).but(AS_ROOT)),
        Err(error) => Err(lacks(format!("{all}, which cannot be changed: {error}"))),
    }
}

/// `struct sched_attr` of sched_setattr(2), version 1.
#[repr(C)]
struct Clamps {
    size: u32,
    policy: u32,
    flags: u64,
    others: [u64; 4],
    least: u32,
    most: u32,
}

/// Sets this thread's clamps to the whole range.
fn clamp() -> io::Result<()> {
    // SCHED_FLAG_KEEP_ALL, SCHED_FLAG_UTIL_CLAMP
    let flags = 0x08 | 0x10 | 0x20 | 0x40;
    let clamps = Clamps { size: size_of::<Clamps>() as u32, policy: 0, flags, others: [0; 4], least: 0, most: 1024 };
    // SAFETY: the kernel reads `size` bytes from the struct, which lives until the call returns, and nothing else.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, std::ptr::from_ref(&clamps), 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn uclamp() -> Probe {
    match in_a_thread(clamp)? {
        Ok(()) => Ok("a thread's clamps can be set".into()),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::E2BIG | libc::EINVAL)) => {
            Err(lacks("this kernel does not have it").but("a kernel with CONFIG_UCLAMP_TASK"))
        }
        Err(error) => Err(failed(&error).but(AS_ROOT)),
    }
}

/// Counts instructions of a thread, as `run` does, and of all CPUs, as `record` does.
fn counters(online: &[u16]) -> Probe {
    let count = || {
        let mut counter = Builder::new(Hardware::INSTRUCTIONS).build()?;
        counter.enable()?;
        counter.read()
    };
    let paranoid = || {
        let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
        format!("run as root, or set kernel.perf_event_paranoid, which is {}, to 1 (0 for `record`)", level.trim())
    };
    match count() {
        Ok(0) => Err(lacks("instructions are counted as 0, as in some virtual machines")),
        Ok(_) => match Counters::instructions(online) {
            Ok(_) => Ok("instructions of threads and of CPUs are counted".into()),
            Err(why) => {
                Ok(format!("instructions of threads are counted; of CPUs not ({why}), so that `record` records time"))
            }
        },
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
            Err(lacks("no hardware counters, as in most virtual machines")
                .but("a machine, or a virtual one with a PMU"))
        }
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) => {
            Err(failed(&error).but(paranoid()))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Watches this process until one of its threads is seen to have left its CPU.
fn ebpf() -> Probe {
    let refused = |error: watch::Error| match error {
        watch::Error::NoTypes => lacks("the kernel has no type information").but("a kernel with CONFIG_DEBUG_INFO_BTF"),
        watch::Error::NotAllowed => {
            lacks(NOT_PERMITTED).but("run as root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_RESOURCE")
        }
        watch::Error::Container => lacks(process::NUMBERED_OTHERWISE).but(process::OUTSIDE),
        watch::Error::Refused(_) => lacks(error.to_string()),
    };
    let mut watch = Watch::new(Options::default()).map_err(refused)?;
    watch.follow(std::process::id()).map_err(|error| failed(&error))?;
    for _ in 0..10 {
        thread::sleep(Duration::from_millis(1));
        let (mut living, mut gone) = (Vec::new(), Vec::new());
        watch.sample(clock(), &mut living, &mut gone);
        if living.iter().any(|sample| sample.switches > 0) {
            return Ok("loaded, attached and seen to work".into());
        }
    }
    Err(lacks("loaded and attached, but no thread was seen to switch"))
}

fn sched_ext() -> Probe {
    match fs::read_to_string("/sys/kernel/sched_ext/state") {
        Ok(_) if !process::numbered_by_kernel() => Err(lacks(process::NUMBERED_OTHERWISE).but(process::OUTSIDE)),
        Ok(state) => Ok(format!("the kernel has it, {}", state.trim())),
        Err(_) => Err(lacks("this kernel does not have it")
            .but("a kernel with CONFIG_SCHED_CLASS_EXT, newer than 6.12, such as Linux 7.0")),
    }
}

fn fifo() -> Probe {
    match in_a_thread(|| realtime::fifo(0))? {
        Ok(()) => Ok("allowed".into()),
        Err(error) => Err(failed(&error).but("run as root, or with CAP_SYS_NICE; a cgroup may forbid it, too")),
    }
}

fn deadline() -> Probe {
    match in_a_thread(|| realtime::reserve(0, Reservation::of(0.01, Ns::from_ms(10))))? {
        Ok(()) => Ok("allowed".into()),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            Err(lacks("all CPU time that can be reserved is reserved")
                .but("end what holds it, such as another `evenkeel vm`"))
        }
        Err(error) => Err(failed(&error).but("run as root, and without taskset or a cpuset")),
    }
}

/// Runs a guest of a few instructions.
fn kvm() -> Probe {
    let helps = |error: io::ErrorKind| match error {
        io::ErrorKind::PermissionDenied => Some("run as root, or join the group kvm".to_owned()),
        _ => None,
    };
    kvm::works().map(|()| "runs a guest".into()).map_err(|why| {
        let opened = fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
        Refusal { why, remedy: opened.err().and_then(|error| helps(error.kind())) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The probe and the use of eBPF agree.
    #[test]
    fn ebpf_is_available_exactly_where_a_watch_can_be_had() {
        let capability = all(&[]).into_iter().find(|capability| capability.name == "eBPF").unwrap();
        assert_eq!(capability.available, Watch::new(Options::default()).is_ok(), "{capability:?}");
    }

    #[test]
    fn what_is_not_available_says_what_is_lost() {
        for capability in all(&mask::own().unwrap()) {
            assert!(capability.available || !capability.without.is_empty(), "{capability:?}");
            assert!(!capability.detail.is_empty(), "{capability:?}");
        }
    }
}

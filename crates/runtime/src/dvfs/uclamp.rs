//! Frequencies through utilization clamps: the kernel counts a thread as busy by at least and at most so much, and the governor
//! `schedutil` sets the clock by that. It needs no privilege to lower a thread's clamps, and the clamp follows the thread.
#![allow(unsafe_code)]

use std::io;

use evenkeel_model::Hz;

use super::{Dvfs, Setting};
use crate::affinity::Tid;

/// What the kernel counts a CPU at its highest frequency as.
const FULL: u64 = 1024;

/// Clamps of the workers' threads.
#[derive(Debug)]
pub(crate) struct Uclamp {
    /// Each CPU with its highest frequency, and its capacity at that.
    cpus: Vec<(u16, Hz, u32)>,
    clamped: Vec<Clamped>,
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
    /// Clamps for threads on these CPUs, given with their highest frequency and their capacity as the kernel counts it.
    ///
    /// # Errors
    /// A kernel without `CONFIG_UCLAMP_TASK`, or one that lets no process set clamps.
    pub fn open(cpus: Vec<(u16, Hz, u32)>) -> io::Result<Self> {
        let before = clamps_of(0)?;
        clamp(0, before)?;
        Ok(Self { cpus, clamped: Vec::new() })
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

    /// How busy a thread must count for its CPU to run at a frequency.
    fn share(&self, setting: &Setting) -> Option<u32> {
        let (_, highest, capacity) = self.cpus.iter().find(|(cpu, _, _)| *cpu == setting.cpu)?;
        let share = u128::from(*capacity) * u128::from(setting.frequency.0) / u128::from(highest.0.max(1));
        Some(share.min(u128::from(FULL)) as u32)
    }
}

impl Dvfs for Uclamp {
    fn ceiling(&self, cpu: u16) -> Option<Hz> {
        self.cpus.iter().find(|(other, _, _)| *other == cpu).map(|(_, highest, _)| *highest)
    }

    fn set(&mut self, settings: &[Setting]) -> io::Result<()> {
        // A thread that is no worker any more counts as busy as before.
        let stays = |thread: Tid| settings.iter().any(|setting| setting.thread == Some(thread));
        self.clamped.extract_if(.., |one| !stays(one.thread)).for_each(Clamped::release);
        for setting in settings {
            let (Some(thread), Some(share)) = (setting.thread, self.share(setting)) else { continue };
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

    fn clamps() -> Uclamp {
        Uclamp { cpus: vec![(0, Hz(2_000), 1024), (1, Hz(1_000), 400)], clamped: Vec::new() }
    }

    #[test]
    fn a_share_is_of_the_capacity() {
        let share = |cpu, hz| clamps().share(&Setting { cpu, thread: None, frequency: Hz(hz) });
        assert_eq!((share(0, 1_000), share(0, 4_000), share(2, 1_000)), (Some(512), Some(1024), None));
        assert_eq!(share(1, 500), Some(200));
    }

    #[test]
    fn a_thread_that_has_ended_meanwhile_is_no_refusal() {
        let gone = Setting { cpu: 0, thread: Some(0x3fff_ffff), frequency: Hz(1_000) };
        let mut clamps = clamps();
        clamps.clamped.push(Clamped { thread: 0x3fff_ffff, now: 1, before: [0; 2] });
        clamps.set(&[gone]).unwrap();
        assert!(clamps.clamped.is_empty());
    }

    #[test]
    fn a_kernel_without_clamps_says_so_and_one_with_them_takes_them_back() {
        let setting = Setting { cpu: 0, thread: Some(0), frequency: Hz(1_000) };
        match Uclamp::open(clamps().cpus.clone()) {
            Err(error) => assert!(error.raw_os_error().is_some()),
            Ok(mut uclamp) => {
                // Lowering needs no privilege; raising the least may.
                let _ = uclamp.set(&[setting]);
                assert!(uclamp.clamped.len() <= 1);
            }
        }
    }
}

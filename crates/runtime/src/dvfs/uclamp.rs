//! Frequencies through utilization clamps: the kernel is told how busy a thread is to count, at least and at most, and the governor
//! `schedutil` sets the clock by that. It needs no privilege to lower a thread's clamps, and the clamp follows the thread.
#![allow(unsafe_code)]

use std::io;

use evenkeel_model::Hz;

use super::{Dvfs, Setting};
use crate::roster::Tid;

/// What the kernel counts a CPU at its highest frequency as.
const FULL: u64 = 1024;

/// Clamps of the workers' threads.
#[derive(Debug)]
pub(crate) struct Uclamp {
    /// Each CPU with its highest frequency, and its capacity at that.
    cpus: Vec<(u16, Hz, u32)>,
    /// Threads with a clamp, and the clamp.
    clamped: Vec<(Tid, u32)>,
}

impl Uclamp {
    /// Clamps for threads on these CPUs, given with their highest frequency and their capacity as the kernel counts it.
    ///
    /// # Errors
    /// A kernel without `CONFIG_UCLAMP_TASK`, or one that lets nobody set clamps.
    pub fn open(cpus: Vec<(u16, Hz, u32)>) -> io::Result<Self> {
        clamp(0, None)?;
        Ok(Self { cpus, clamped: Vec::new() })
    }

    /// How busy a thread must count for its CPU to run at a frequency.
    fn share(&self, setting: &Setting) -> Option<u32> {
        let (_, highest, capacity) = self.cpus.iter().find(|(cpu, _, _)| *cpu == setting.cpu)?;
        let share = u128::from(*capacity) * u128::from(setting.frequency.0) / u128::from(highest.0.max(1));
        Some(share.min(u128::from(FULL)) as u32)
    }
}

impl Dvfs for Uclamp {
    fn nominal(&self, cpu: u16) -> Option<Hz> {
        self.cpus.iter().find(|(other, _, _)| *other == cpu).map(|(_, highest, _)| *highest)
    }

    fn set(&mut self, settings: &[Setting]) -> io::Result<()> {
        // Who is no worker any more counts as busy as it is.
        let stays = |thread: Tid| settings.iter().any(|setting| setting.thread == Some(thread));
        for (thread, _) in self.clamped.extract_if(.., |(thread, _)| !stays(*thread)) {
            // A thread that is gone has taken its clamp with it.
            let _ = clamp(thread, None);
        }
        for setting in settings {
            let (Some(thread), Some(share)) = (setting.thread, self.share(setting)) else { continue };
            match self.clamped.iter_mut().find(|(other, _)| *other == thread) {
                Some((_, now)) if *now == share => {}
                Some((_, now)) => {
                    clamp(thread, Some(share))?;
                    *now = share;
                }
                None => {
                    clamp(thread, Some(share))?;
                    self.clamped.push((thread, share));
                }
            }
        }
        Ok(())
    }
}

impl Drop for Uclamp {
    fn drop(&mut self) {
        for (thread, _) in &self.clamped {
            // A thread that is gone has taken its clamp with it.
            let _ = clamp(*thread, None);
        }
    }
}

/// `struct sched_attr` of sched_setattr(2), version 1.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

/// SCHED_FLAG_KEEP_POLICY and SCHED_FLAG_KEEP_PARAMS: nothing but the clamps is set.
const KEEP_ALL: u64 = 0x08 | 0x10;
/// SCHED_FLAG_UTIL_CLAMP_MIN and SCHED_FLAG_UTIL_CLAMP_MAX.
const CLAMPS: u64 = 0x20 | 0x40;
/// Takes a clamp back.
const RESET: u32 = u32::MAX;

/// Lets a thread (0: this one) count as busy as `share` says, no more and no less, or as it is.
fn clamp(thread: Tid, share: Option<u32>) -> io::Result<()> {
    let util = share.unwrap_or(RESET);
    let attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: 0,
        flags: KEEP_ALL | CLAMPS,
        nice: 0,
        priority: 0,
        runtime: 0,
        deadline: 0,
        period: 0,
        util_min: util,
        util_max: util,
    };
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

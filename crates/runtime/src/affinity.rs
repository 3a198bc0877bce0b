//! The affinity masks of threads: what the kernel does, behind a trait, so that tests can refuse it and can see what was set.

use std::io;

/// A thread, as the kernel numbers it.
pub(crate) type Tid = i32;

/// CPUs, ascending.
pub(crate) type Mask = Vec<u16>;

/// Reads and sets the masks of threads of this process.
pub(crate) trait Affinity: Send + Sync {
    /// The CPUs that a thread may use.
    fn mask(&self, thread: Tid) -> io::Result<Mask>;

    /// Lets a thread use these CPUs only. It has left all others when this returns.
    fn restrict(&self, thread: Tid, cpus: &[u16]) -> io::Result<()>;
}

/// The kernel's own.
pub(crate) struct KernelAffinity;

#[cfg(target_os = "linux")]
mod imp {
    use std::io;

    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};

    use super::{Affinity, KernelAffinity, Mask, Tid};

    /// The calling thread.
    pub(crate) fn own() -> Tid {
        gettid().as_raw_nonzero().get()
    }

    /// The CPU that this runs on, now.
    pub(crate) fn here() -> u16 {
        sched_getcpu() as u16
    }

    impl Affinity for KernelAffinity {
        fn mask(&self, thread: Tid) -> io::Result<Mask> {
            let mask = sched_getaffinity(Pid::from_raw(thread))?;
            Ok((0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u16).collect())
        }

        fn restrict(&self, thread: Tid, cpus: &[u16]) -> io::Result<()> {
            let mut mask = CpuSet::new();
            cpus.iter().map(|cpu| usize::from(*cpu)).filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| mask.set(cpu));
            Ok(sched_setaffinity(Pid::from_raw(thread), &mask)?)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use super::{Affinity, KernelAffinity, Mask, Tid};

    pub(crate) fn own() -> Tid {
        0
    }

    pub(crate) fn here() -> u16 {
        0
    }

    impl Affinity for KernelAffinity {
        fn mask(&self, _: Tid) -> io::Result<Mask> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn restrict(&self, _: Tid, _: &[u16]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

pub(crate) use imp::{here, own};

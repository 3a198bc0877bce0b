//! A counter of instructions on every CPU, for the part in the kernel to read.

use std::path::Path;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

use crate::pmu;

/// Counters, by CPU.
#[derive(Debug, Default)]
pub struct Counters {
    pub(super) of_cpus: Vec<(u16, Counter)>,
}

impl Counters {
    /// Counts the instructions of these CPUs, whatever thread runs there.
    ///
    /// # Errors
    /// There is no PMU, or this user may not use it: what is missing and why, in words.
    pub fn instructions(cpus: &[u16]) -> Result<Self, String> {
        Self::open(Path::new("/"), cpus, || Builder::new(Hardware::INSTRUCTIONS))
    }

    /// Counts an event on these CPUs, each by the PMU of its core type that `/sys` below `root` lists.
    ///
    /// # Errors
    /// As of [`Self::instructions`].
    pub fn open(root: &Path, cpus: &[u16], event: fn() -> Builder<'static>) -> Result<Self, String> {
        let pmus = pmu::of_cores(root);
        let open = |cpu: &u16| {
            let pmu = pmus.iter().find(|pmu| pmu.cpus.contains(cpu));
            let mut builder = event();
            builder.attrs_mut().config |= u64::from(pmu.map_or(0, |pmu| pmu.number)) << 32;
            // The kernel's work for a program is a part of its CPU time as well. Pinned: nothing is extrapolated.
            builder.any_pid().one_cpu(usize::from(*cpu)).include_kernel();
            Ok((*cpu, builder.pinned(true).enabled(true).build()?))
        };
        let counters = cpus.iter().map(open).collect::<std::io::Result<_>>();
        counters.map(|of_cpus| Self { of_cpus }).map_err(|error| pmu::refused(error).to_string())
    }
}

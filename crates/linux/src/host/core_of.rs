//! Which core of a machine each CPU is.

use evenkeel_model::CoreId;

/// The core that each CPU is.
#[derive(Clone, Debug, Default)]
pub struct CoreOf(Vec<Option<CoreId>>);

impl CoreOf {
    /// For a machine whose core `i` is the CPU `cpus[i]`.
    pub fn new(cpus: &[u16]) -> Self {
        let highest = cpus.iter().copied().max().unwrap_or_default();
        let mut cores = vec![None; usize::from(highest) + 1];
        for (core, cpu) in cpus.iter().enumerate() {
            cores[usize::from(*cpu)] = Some(CoreId(core as u16));
        }
        Self(cores)
    }

    /// The core that a CPU is, if the machine has it.
    pub fn get(&self, cpu: u16) -> Option<CoreId> {
        self.0.get(usize::from(cpu)).copied().flatten()
    }
}

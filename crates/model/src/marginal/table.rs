//! The lookup table of the DVFS controller: how many cores of each type are active, and which voltages that makes (III.A).

use super::{Range, System};
use crate::{Volts, Watts};

/// Feasible voltages for every count of active cores; 25 entries for 4 big and 4 little cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Cores of each type.
    cores: Vec<usize>,
    /// Voltages by type, entry after entry; the count of the last type changes fastest.
    volts: Vec<Volts>,
}

impl Table {
    /// The table of a system whose target is the power of all cores at nominal voltage (Equation 6).
    pub fn new(system: &System) -> Self {
        Self::within(system, system.target())
    }

    /// The table for another target.
    pub fn within(system: &System, target: Watts) -> Self {
        let cores = system.all();
        let entries: usize = cores.iter().map(|cores| cores + 1).product();
        let mut active = vec![0; cores.len()];
        let mut volts = Vec::with_capacity(entries * cores.len());
        for _ in 0..entries {
            volts.extend(system.optimum_within(target, &active, Range::Feasible).volts);
            for (active, cores) in active.iter_mut().zip(&cores).rev() {
                *active = if *active < *cores { *active + 1 } else { 0 };
                if *active > 0 {
                    break;
                }
            }
        }
        Self { cores, volts }
    }

    /// The voltage of the active cores of each type. Counts beyond the machine's are taken for all of its cores.
    pub fn volts(&self, active: &[usize]) -> &[Volts] {
        let position = |entry, (cores, active): (&usize, &usize)| entry * (cores + 1) + active.min(cores);
        let entry = self.cores.iter().zip(active).fold(0, position);
        &self.volts[entry * self.cores.len()..][..self.cores.len()]
    }

    /// Every entry: how many cores are active, and their voltages.
    pub fn entries(&self) -> impl Iterator<Item = (Vec<usize>, &[Volts])> {
        let types = self.cores.len();
        self.volts.chunks(types.max(1)).enumerate().map(move |(entry, volts)| {
            let mut rest = entry;
            let mut active = vec![0; types];
            for (active, cores) in active.iter_mut().zip(&self.cores).rev() {
                *active = rest % (cores + 1);
                rest /= cores + 1;
            }
            (active, volts)
        })
    }
}

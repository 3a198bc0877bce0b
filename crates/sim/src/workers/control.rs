//! The DVFS controller (III.A): reads which cores are active, and takes their voltages from a table.

use evenkeel_model::marginal::{System, Table};
use evenkeel_model::stealing::{Region, Techniques};
use evenkeel_model::{Ns, Volts};

use super::core::Core;

/// The voltage step whose time is given (IV.D).
const STEP: f64 = 0.15;

/// The controller.
#[derive(Debug)]
pub(super) struct Control {
    techniques: Techniques,
    table: Table,
    step: Ns,
    region: Region,
    /// Active cores of each type.
    active: Vec<usize>,
}

impl Control {
    pub fn new(system: &System, techniques: Techniques, step: Ns) -> Self {
        let active = vec![0; system.groups.len()];
        Self { techniques, table: Table::new(system), step, region: Region::Serial, active }
    }

    /// The hints have changed.
    pub fn update(&mut self, region: Region, active: impl Iterator<Item = usize>) {
        self.region = region;
        self.active.fill(0);
        active.for_each(|core_type| self.active[core_type] += 1);
    }

    /// The voltage that a core should have.
    pub fn wanted(&self, core: &Core, active: bool) -> Volts {
        match (self.techniques.scales(self.region), active) {
            (false, _) => core.nominal(),
            (true, false) => core.lowest(),
            (true, true) => self.table.volts(&self.active)[core.core_type],
        }
    }

    /// How long a change of voltage takes: linear in it (IV.D).
    pub fn transition(&self, from: Volts, to: Volts) -> Ns {
        Ns(libm::round((to.0 - from.0).abs() / STEP * self.step.0 as f64) as u64)
    }
}

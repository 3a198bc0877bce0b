//! What cores use as a machine file has it, for machines that do not say it themselves.

use evenkeel_model::{Behaviour, CoreTypeId, Machine};

use crate::Topology;
use crate::power::{CpuPowers, plausible};

impl Topology {
    /// The same machine with the powers of a machine file: of its fastest type for the fastest kind, and so on. A core uses what the file gives it with the
    /// reference code, two instructions a cycle at most.
    ///
    /// Values that a file says to be assumed are taken like others.
    ///
    /// # Errors
    /// Another number of kinds than the file has types, or a type without an operating point that CPUs of its kind can be set to.
    pub fn with_powers(&self, machine: &Machine) -> Result<Self, String> {
        let (kinds, types) = (self.kinds.len(), machine.core_types.len());
        if kinds != types {
            return Err(format!(
                "machine {}: its core types number {types}, and the kinds of cores here {kinds}; powers need one type a kind",
                machine.name
            ));
        }
        let powers = |kind: usize| -> CpuPowers {
            let core = &machine.core_types[kind];
            let power = |opp: &evenkeel_model::Opp| {
                let rate = machine.rate(CoreTypeId(kind as u8), opp.frequency, &Behaviour::REFERENCE);
                (opp.frequency, core.power(*opp, rate))
            };
            core.opps.iter().map(power).collect()
        };
        let mut topology = self.clone();
        for cpu in &mut topology.cpus {
            cpu.powers = plausible(&powers(cpu.kind), cpu.max());
            if cpu.powers.is_empty() {
                return Err(format!(
                    "machine {}: no operating point of {} has a power and a frequency that CPU {} can be set to",
                    machine.name, machine.core_types[cpu.kind].name, cpu.id
                ));
            }
        }
        topology.power = Some("machine file");
        Ok(topology)
    }
}

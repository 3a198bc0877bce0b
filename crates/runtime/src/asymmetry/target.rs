//! The power that a pool's cores may use together: the target of Equation 6.
//!
//! The paper's target is the power of all cores at nominal voltage, which its system is made to sustain. Real cores are clocked higher than all of them
//! can be for long, so the target is what the machine says that it sustains: RAPL's or a thermal zone's limit, else the power of all cores at the frequencies
//! that the firmware says that they sustain.

use evenkeel_model::marginal::System;
use evenkeel_model::{Hz, Watts};
use evenkeel_topology::Topology;

/// What is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// A limit.
    Stated(Watts),
    /// The kind of each core, and the frequency that it sustains.
    AtBase(Vec<(usize, Hz)>),
}

impl Target {
    /// The target of a machine.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn of(topology: &Topology) -> Result<Self, &'static str> {
        if !topology.powers_known() {
            return Err("what cores use at which frequency is not known of this machine");
        }
        if let Some(sustained) = topology.sustained {
            return Ok(Self::Stated(sustained.power));
        }
        let bases = topology.cpus.iter().map(|cpu| Some((cpu.kind, cpu.base?))).collect();
        let bases: Option<Vec<(usize, Hz)>> = bases;
        bases.map(Self::AtBase).ok_or("how much power its cores sustain together is not known of this machine")
    }

    /// In terms of the model of the same machine.
    pub fn watts(&self, system: &System) -> Watts {
        let at = |(kind, base): &(usize, Hz)| {
            let group = &system.groups[*kind];
            group.power(group.voltage_for(base.0 as f64))
        };
        match self {
            Self::Stated(watts) => *watts,
            Self::AtBase(bases) => bases.iter().map(at).sum(),
        }
    }
}

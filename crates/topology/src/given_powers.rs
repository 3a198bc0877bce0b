//! What cores use as a machine file has it, for machines that do not say it themselves.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use evenkeel_model::{Behaviour, CoreTypeId, Machine, machines};

use crate::power::{CpuPowers, plausible};
use crate::{Topology, file};

/// The variable that names the machine whose powers the cores of this one have: a machine file, or a machine that comes with Evenkeel.
pub const POWERS: &str = "EVENKEEL_POWERS";

/// A machine by its name, or from its file.
fn machine(name: &OsStr) -> Result<Machine, String> {
    if let Some(Ok(machine)) = name.to_str().map(machines::by_name) {
        return Ok(machine);
    }
    let bytes = file::read(Path::new(name)).map_err(|error| {
        format!("{error}; expected a machine file, or the name of a machine that `evenkeel machines` lists")
    })?;
    let path = name.to_string_lossy();
    let text = String::from_utf8(bytes).map_err(|_| format!("{path} is no text; expected a machine file"))?;
    Machine::from_toml(&text, &path).map_err(|error| error.to_string())
}

impl Topology {
    /// As [`with_powers`](Self::with_powers), with a machine file or a machine that comes with Evenkeel.
    ///
    /// # Errors
    /// There is no such machine, or as [`with_powers`](Self::with_powers).
    pub fn with_powers_of(&self, name: impl AsRef<OsStr>) -> Result<Self, String> {
        self.with_powers(&machine(name.as_ref())?)
    }

    /// As [`with_powers_of`](Self::with_powers_of), with what [`POWERS`] names, if it names something.
    ///
    /// # Errors
    /// As [`with_powers_of`](Self::with_powers_of).
    pub fn with_powers_of_environment(&self) -> Result<Self, String> {
        let Some(name) = env::var_os(POWERS).filter(|name| !name.is_empty()) else { return Ok(self.clone()) };
        self.with_powers_of(&name).map_err(|wrong| format!("{POWERS}={}: {wrong}", name.to_string_lossy()))
    }

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

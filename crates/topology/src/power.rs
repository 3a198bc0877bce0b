//! What the CPUs of a sysfs tree use at each frequency: what the kernel's Energy Model says, else what follows from the devicetree.

use evenkeel_model::{Hz, Watts};

use crate::energy_model;
use crate::of_node;
use crate::sysfs::Tree;

/// No CPU uses more; what says that one does has another unit.
const MOST: Watts = Watts(1000.0);

/// What the powers of a machine are from.
pub(crate) struct Powers {
    /// What says them; `None` if nothing does.
    pub source: Option<&'static str>,
    /// Why something that says powers is not used, at most a sentence a source.
    pub notes: Vec<String>,
    /// Those of each CPU, in any order.
    pub of: Vec<CpuPowers>,
}

/// Frequencies, and what a CPU uses at each.
pub(crate) type CpuPowers = Vec<(Hz, Watts)>;
/// The powers of each CPU, or why there are none although something says some.
pub(crate) type Found = Result<Vec<CpuPowers>, String>;
/// Reads the powers of CPUs.
type Reader = fn(&Tree<'_>, &[u16]) -> Found;

/// What devicetrees say powers by.
pub(crate) const SOURCE: &str = "devicetree (dynamic-power-coefficient)";
/// Drivers and firmware that measure powers register them with the Energy Model, so it is more precise than what is computed.
const SOURCES: [(&str, Reader); 2] =
    [(energy_model::SOURCE, energy_model::powers), (SOURCE, |tree, ids| Ok(of_node::powers(tree, ids)))];

impl Powers {
    /// The first source that says something.
    pub fn of(tree: &Tree<'_>, ids: &[u16]) -> Self {
        let mut notes = Vec::new();
        for (source, read) in SOURCES {
            match read(tree, ids) {
                Ok(of) if of.iter().any(|of| !of.is_empty()) => return Self { source: Some(source), notes, of },
                Ok(_) => {}
                Err(why) => notes.push(format!("{source} is not used: {why}")),
            }
        }
        Self { source: None, notes, of: vec![Vec::new(); ids.len()] }
    }
}

/// A point of the table of operating points of a devicetree (opp-v2.yaml).
pub(crate) struct OppNode {
    pub frequency: Hz,
    /// `opp-microvolt`: its first number is the voltage that is wanted.
    pub microvolts: Option<u32>,
    /// `opp-microwatt`: what a CPU uses, where that was measured.
    pub microwatts: Option<u32>,
}

impl OppNode {
    /// What a CPU uses, as `dev_pm_opp_calc_power` of Linux computes it: `C f V^2`, in microwatts for C in uW/MHz/V^2 (cpus.yaml). A table
    /// that has powers itself goes first, as in `dev_pm_opp_of_register_em`.
    pub fn power(&self, coefficient: Option<u32>) -> Option<(Hz, Watts)> {
        let computed = || {
            let volts = f64::from(self.microvolts?) / 1e6;
            Some(f64::from(coefficient?) * self.frequency.0 as f64 / 1e6 * volts * volts)
        };
        let microwatts = self.microwatts.map(f64::from).or_else(computed)?;
        Some((self.frequency, Watts(microwatts / 1e6)))
    }
}

/// Powers that can be, ascending by frequency, each frequency once and none above the highest that the CPU can be set to.
pub(crate) fn plausible(powers: &[(Hz, Watts)], highest: Option<Hz>) -> CpuPowers {
    let can_be = |(hz, watts): &&(Hz, Watts)| {
        (1_000_000..=20_000_000_000).contains(&hz.0)
            && highest.is_none_or(|highest| *hz <= highest)
            && watts.0 > 0.0
            && *watts <= MOST
    };
    let mut powers: CpuPowers = powers.iter().filter(can_be).copied().collect();
    powers.sort_by_key(|(hz, _)| *hz);
    powers.dedup_by_key(|(hz, _)| *hz);
    powers
}

//! The first-order model of throughput and power on which work-pacing and work-sprinting rest (Torng et al.,
//! "Asymmetry-Aware Work-Stealing Runtimes", ISCA 2016, II; its Equations 1 to 7).
//!
//! Frequency is linear in voltage, throughput linear in frequency, power cubic in voltage. Total throughput within a power
//! target is largest where another instruction per second costs the same power on every core: the law of equi-marginal
//! utility. The paper's two core types are the case of two [`Group`]s here.
//!
//! Units: volts, hertz, watts, instructions per second; a system made from [`Parameters`] has relative watts and instructions,
//! since the paper gives ratios only.

mod curves;
mod optimum;
mod parameters;
mod table;

pub use curves::{Balance, Frontier, Heat, balance, heat, pareto, power_curve};
pub use optimum::{Optimum, Range};
pub use parameters::Parameters;
pub use table::Table;

use crate::{CoreType, CoreTypeId, Machine, Volts, Watts};

/// The cores of one type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// How many.
    pub cores: usize,
    /// Instructions per cycle.
    pub ipc: f64,
    /// Switching activity: watts for each instruction per second, at 1 V.
    pub activity: f64,
    /// Leakage current of a core, in amperes.
    pub leakage: f64,
    /// `k1`: hertz per volt.
    pub slope: f64,
    /// `k2`: hertz.
    pub offset: f64,
    /// The lowest voltage at which a core works; waiting cores rest there.
    pub lowest: Volts,
    /// The voltage at which cores run by default.
    pub nominal: Volts,
    /// The highest voltage.
    pub highest: Volts,
}

/// A machine as the model sees it: groups of cores, the biggest type first.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Core types.
    pub groups: Vec<Group>,
}

impl Group {
    /// Equation 1, in hertz.
    pub fn frequency(&self, volts: Volts) -> f64 {
        (self.slope * volts.0 + self.offset).max(0.0)
    }

    /// Equation 2: what an active core achieves, in instructions per second.
    pub fn throughput(&self, volts: Volts) -> f64 {
        self.ipc * self.frequency(volts)
    }

    /// Equation 1 solved for the voltage, within those at which the core works. Where frequency does not depend on voltage, the highest.
    pub fn voltage_for(&self, hertz: f64) -> Volts {
        let volts = (hertz - self.offset) / self.slope;
        if volts.is_finite() { Volts(volts.clamp(self.lowest.0, self.highest.0)) } else { self.highest }
    }

    /// Equation 4: the power of a core, `a IPC f V^2 + V I_leak`. A waiting core searches for work all the time, so it uses that, too.
    pub fn power(&self, volts: Volts) -> Watts {
        Watts(self.activity * self.throughput(volts) * volts.0 * volts.0 + volts.0 * self.leakage)
    }

    /// Equation 7, `dP/dIPS`: what another instruction per second costs at a voltage, in watts for each.
    pub fn marginal_cost(&self, volts: Volts) -> f64 {
        let v = volts.0;
        let switching = self.activity * self.ipc * (3.0 * self.slope * v * v + 2.0 * self.offset * v);
        (switching + self.leakage) / (self.ipc * self.slope)
    }

    /// The voltage with this marginal cost, the inverse of [`Self::marginal_cost`]. Where nothing is as cheap as that, the voltage
    /// where it is cheapest.
    pub fn voltage_at(&self, cost: f64) -> Volts {
        let constant = (cost * self.ipc * self.slope - self.leakage) / (self.activity * self.ipc);
        let root = (self.offset * self.offset + 3.0 * self.slope * constant).max(0.0).sqrt();
        Volts((root - self.offset) / (3.0 * self.slope))
    }
}

impl System {
    /// A machine of this project in terms of the model. Its operating points give the linear law of Equation 1 by least squares; how
    /// many instructions a cycle has is that of the reference code. `nominal` says at which voltage cores of a type run by
    /// default. A type with a single operating point stays there.
    pub fn of(machine: &Machine, nominal: impl Fn(&CoreType) -> Volts) -> Self {
        let group = |(id, kind): (usize, &CoreType)| {
            let id = CoreTypeId(id as u8);
            let (slope, offset) = line(kind);
            let nominal = nominal(kind);
            let top = kind.max_frequency();
            let rate = 1e9 * machine.rate(id, top, &crate::Behaviour::REFERENCE);
            // Machine files have ascending frequencies, but nothing says that voltages ascend with them.
            let volts = || kind.opps.iter().map(|opp| opp.voltage.0);
            Group {
                cores: machine.cores_of(id).len(),
                ipc: rate / top.0 as f64,
                activity: kind.activity / 1e9,
                leakage: kind.leakage,
                slope,
                offset,
                lowest: Volts(volts().fold(f64::INFINITY, f64::min)),
                nominal,
                highest: Volts(volts().fold(0.0, f64::max)),
            }
        };
        Self { groups: machine.core_types.iter().enumerate().map(group).collect() }
    }

    /// Equation 3: instructions per second of all active cores, each group at its voltage.
    pub fn throughput(&self, active: &[usize], volts: &[Volts]) -> f64 {
        let of = |((group, active), volts): ((&Group, &usize), &Volts)| *active as f64 * group.throughput(*volts);
        self.groups.iter().zip(active).zip(volts).map(of).sum()
    }

    /// Equation 5: the power of all cores, active ones at their group's voltage and waiting ones at the lowest.
    pub fn power(&self, active: &[usize], volts: &[Volts]) -> Watts {
        let of = |((group, active), volts): ((&Group, &usize), &Volts)| {
            let waiting = group.cores.saturating_sub(*active);
            Watts(*active as f64 * group.power(*volts).0 + waiting as f64 * group.power(group.lowest).0)
        };
        self.groups.iter().zip(active).zip(volts).map(of).sum()
    }

    /// Equation 6: the power of all cores at nominal voltage.
    pub fn target(&self) -> Watts {
        self.groups.iter().map(|group| Watts(group.cores as f64 * group.power(group.nominal).0)).sum()
    }

    /// How many cores there are of each type: all of them active.
    pub fn all(&self) -> Vec<usize> {
        self.groups.iter().map(|group| group.cores).collect()
    }

    /// The nominal voltage of each type.
    pub fn nominal(&self) -> Vec<Volts> {
        self.groups.iter().map(|group| group.nominal).collect()
    }
}

/// The straight line through the operating points, in hertz per volt and hertz, so high that the volts of the highest are enough
/// for it. Where more hertz do not take more volts there is none, and frequency is taken to be proportional.
fn line(kind: &CoreType) -> (f64, f64) {
    let top = kind.highest_opp();
    let proportional = (top.frequency.0 as f64 / top.voltage.0, 0.0);
    if kind.opps.iter().all(|opp| opp.voltage == top.voltage) {
        return proportional;
    }
    let count = kind.opps.len() as f64;
    let points = || kind.opps.iter().map(|opp| (opp.voltage.0, opp.frequency.0 as f64));
    let (volts, hertz) = (points().map(|p| p.0).sum::<f64>() / count, points().map(|p| p.1).sum::<f64>() / count);
    let spread: f64 = points().map(|(v, _)| (v - volts) * (v - volts)).sum();
    let slope = points().map(|(v, f)| (v - volts) * (f - hertz)).sum::<f64>() / spread;
    let offset = (hertz - slope * volts).max(top.frequency.0 as f64 - slope * top.voltage.0);
    if slope.is_finite() && slope > 0.0 { (slope, offset) } else { proportional }
}

#[cfg(test)]
mod tests;

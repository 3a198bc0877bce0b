//! Voltages for the most throughput within the power target.
//!
//! Throughput is linear and power convex in the voltages, so the point where all marginal costs are equal is the best one; a
//! core whose voltage is bounded stays at its bound. Power grows with the common marginal cost, which bisection finds.

use super::{Group, System};
use crate::{Volts, Watts};

/// Which voltages may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Any at which the clock runs: the optimum of II.
    Unbounded,
    /// From the lowest to the highest of each type: the feasible optimum of II.
    Feasible,
}

/// Voltages, and what comes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The voltage of the active cores of each type. Without an active core of a type it means nothing.
    pub volts: Vec<Volts>,
    /// Instructions per second of all active cores.
    pub throughput: f64,
    /// Power of all cores, waiting ones included.
    pub power: Watts,
    /// Throughput over that of the same cores at nominal voltage.
    pub speedup: f64,
}

/// Beyond this no search goes, in volts; far above what silicon takes.
const MOST: f64 = 10.0;
/// Halvings of the search for the marginal cost: more than the digits of a double.
const STEPS: u32 = 100;

impl Range {
    fn clamp(self, group: &Group, volts: Volts) -> Volts {
        let (least, most) = match self {
            Self::Unbounded => ((-group.offset / group.slope).max(0.0), MOST),
            Self::Feasible => (group.lowest.0, group.highest.0),
        };
        Volts(volts.0.clamp(least, most))
    }
}

impl System {
    /// The most throughput of so many active cores of each type, within the power target of Equation 6. If even the lowest
    /// voltages need more than that, returns these.
    pub fn optimum(&self, active: &[usize], range: Range) -> Optimum {
        self.optimum_within(self.target(), active, range)
    }

    /// The same for another target.
    pub fn optimum_within(&self, target: Watts, active: &[usize], range: Range) -> Optimum {
        let volts_at = |cost: f64| -> Vec<Volts> {
            self.groups.iter().map(|group| range.clamp(group, group.voltage_at(cost))).collect()
        };
        let most = self.groups.iter().map(|group| group.marginal_cost(Volts(MOST))).fold(0.0, f64::max);
        let (mut low, mut high) = (0.0, most);
        if self.power(active, &volts_at(high)) <= target {
            low = high;
        }
        for _ in 0..STEPS {
            let cost = f64::midpoint(low, high);
            if self.power(active, &volts_at(cost)) <= target {
                low = cost;
            } else {
                high = cost;
            }
        }
        self.at(active, volts_at(low))
    }

    /// What comes of given voltages.
    pub fn at(&self, active: &[usize], volts: Vec<Volts>) -> Optimum {
        let throughput = self.throughput(active, &volts);
        let nominal = self.throughput(active, &self.nominal());
        let speedup = if nominal > 0.0 { throughput / nominal } else { 1.0 };
        Optimum { throughput, power: self.power(active, &volts), speedup, volts }
    }
}

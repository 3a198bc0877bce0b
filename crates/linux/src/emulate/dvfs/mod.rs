//! Cores whose frequency can be set: files as the kernel has them in `/sys`, of which a write to `scaling_setspeed` changes how slow an
//! emulated core is. What a core of each type does and uses at a frequency is that of a machine file.

mod energy;
mod tree;
mod watch;

use evenkeel_model::{Behaviour, CoreType, CoreTypeId, Hz, Machine, Opp, Volts, Watts};

pub use energy::ClockAccount;
pub(super) use watch::{Clocked, Watcher};

/// Cores begin at the operating point that is nearest to this voltage: nominal in AAWS (II.B), and of simulated workers.
pub const NOMINAL: Volts = Volts(1.0);

/// The core types of a machine that an emulation has.
#[derive(Clone, Debug, PartialEq)]
pub struct Clocks {
    /// The machine's name.
    pub machine: String,
    /// Its fastest type.
    pub big: CoreClock,
    /// Its slowest type; the fastest where it has no other.
    pub little: CoreClock,
}

/// What a core of one type can be set to.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreClock {
    /// The name of the core type.
    pub core: String,
    /// How fast it is at its highest operating point, the fastest core of the machine being 1024.
    pub capacity: u32,
    /// Ascending by frequency; never empty.
    pub points: Vec<Point>,
    /// The point at which the core begins.
    pub nominal: usize,
}

/// An operating point of an emulated core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The frequency that its files say.
    pub frequency: Hz,
    /// How many times slower it is than the fastest core of the machine at its highest frequency.
    pub ratio: f64,
    /// What it uses with the reference code.
    pub busy: Watts,
    /// What it uses with nothing to run.
    pub idle: Watts,
}

impl Clocks {
    /// Those of a machine. Points at which a core would be slower than `slowest` times are left out.
    ///
    /// # Errors
    /// A core type of which no point is left.
    pub fn of(machine: &Machine, slowest: f64) -> Result<Self, super::Error> {
        let top = machine.core_types.iter().enumerate().map(|(id, kind)| rate(machine, id, kind.highest_opp()));
        let top = top.fold(0.0, f64::max);
        let clock = |id: usize| CoreClock::of(machine, id, top, slowest);
        let last = machine.core_types.len() - 1;
        Ok(Self { machine: machine.name.clone(), big: clock(0)?, little: clock(last)? })
    }

    /// How many times faster a big core is than a little one, both at their nominal points.
    pub fn ratio(&self) -> f64 {
        self.little.points[self.little.nominal].ratio / self.big.points[self.big.nominal].ratio
    }
}

/// What a core does, in instructions a nanosecond.
fn rate(machine: &Machine, id: usize, opp: Opp) -> f64 {
    machine.rate(CoreTypeId(id as u8), opp.frequency, &Behaviour::REFERENCE)
}

impl CoreClock {
    fn of(machine: &Machine, id: usize, top: f64, slowest: f64) -> Result<Self, super::Error> {
        let kind: &CoreType = &machine.core_types[id];
        let point = |opp: &Opp| {
            let rate = rate(machine, id, *opp);
            let idle = Watts(opp.voltage.0 * kind.leakage * kind.idle_share);
            (opp.voltage, Point { frequency: opp.frequency, ratio: top / rate, busy: kind.power(*opp, rate), idle })
        };
        let possible = kind.opps.iter().map(point).filter(|(_, point)| point.ratio <= slowest);
        let (volts, points): (Vec<Volts>, Vec<Point>) = possible.unzip();
        let off = |position: &usize| (volts[*position].0 - NOMINAL.0).abs();
        let nominal = (0..points.len()).min_by(|one, other| off(one).total_cmp(&off(other)));
        let (Some(nominal), Some(highest)) = (nominal, points.last()) else {
            return Err(super::Error::TooSlow { machine: machine.name.clone(), core: kind.name.clone(), slowest });
        };
        let capacity = (1024.0 / highest.ratio).round().max(1.0) as u32;
        Ok(Self { core: kind.name.clone(), capacity, points, nominal })
    }

    /// The point for a frequency in kHz, and whether that is one between the lowest and the highest. As cpufreq has it for the governor
    /// `userspace` (`CPUFREQ_RELATION_L`), the lowest point at or above it.
    fn point(&self, khz: u64) -> (usize, bool) {
        let last = self.points.len() - 1;
        let point = self.points.partition_point(|point| point.khz() < khz);
        (point.min(last), self.points[0].khz() <= khz && point <= last)
    }
}

impl Point {
    /// Its frequency as cpufreq has it.
    pub fn khz(&self) -> u64 {
        self.frequency.0 / 1000
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;

    use super::*;

    #[test]
    fn a_core_is_as_slow_as_its_type_at_a_frequency() {
        let clocks = Clocks::of(&machines::by_name("aaws-4B4L").unwrap(), 19.0).unwrap();
        let at = |clock: &CoreClock, khz| clock.points[clock.point(khz).0].ratio;
        for (clock, beta) in [(&clocks.big, 1.0), (&clocks.little, 2.0)] {
            assert_eq!(clock.points[clock.nominal].khz(), 333_000, "1 V");
            assert!((at(clock, 554_400) - beta).abs() < 1e-9);
            assert!((at(clock, 111_600) - beta * 554.4 / 111.6).abs() < 1e-9);
        }
        assert_eq!((clocks.big.capacity, clocks.little.capacity), (1024, 512));
        assert!((clocks.ratio() - 2.0).abs() < 1e-9);
        // P = a IPC f V^2 + V I: 0.18 * 2 * 0.333 + 0.12987 at 1 V (machines/cores.toml).
        let nominal = clocks.big.points[clocks.big.nominal];
        assert!((nominal.busy.0 - 0.24975).abs() < 1e-6 && (nominal.idle.0 - 0.12987).abs() < 1e-9, "{nominal:?}");
    }

    #[test]
    fn a_frequency_between_two_points_is_the_higher_one_and_one_outside_is_the_nearest() {
        let clock = Clocks::of(&machines::by_name("aaws-4B4L").unwrap(), 19.0).unwrap().big;
        let point = |khz| (clock.points[clock.point(khz).0].khz(), clock.point(khz).1);
        assert_eq!(point(333_000), (333_000, true));
        assert_eq!(point(333_001), (369_900, true));
        assert_eq!((point(554_400), point(554_401)), ((554_400, true), (554_400, false)));
        assert_eq!((point(111_600), point(0)), ((111_600, true), (111_600, false)));
    }

    #[test]
    fn points_that_cannot_be_are_left_out() {
        let machine = machines::by_name("aaws-4B4L").unwrap();
        let clocks = Clocks::of(&machine, 4.0).unwrap();
        assert_eq!(clocks.little.points[0].khz(), 296_100, "2 x 554.4 / 4 is 277.2 MHz");
        let none = Clocks::of(&machine, 1.5).unwrap_err().to_string();
        assert!(none.contains("aaws-little") && none.contains("aaws-4B4L"), "{none}");
    }
}

//! What a stretch of code is like, seen from the hardware.

use crate::{CoreType, Machine};

/// The properties of a phase of a program that decide how fast each core type runs it and what its counters count.
///
/// Speedup is not stored: it follows from the phase and the core ([`crate::Machine::rate`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behaviour {
    /// Instruction-level parallelism: instructions per cycle on an ideal core (about 1 to 5).
    pub ilp: f64,
    /// Time spent on misses beyond the private caches, in ns per 1000 instructions, before any overlap.
    pub memory_ns: f64,
    /// Bytes from memory per 1000 instructions; `None`: a line of 64 bytes for each 100 ns of [`Self::memory_ns`]. Code that streams has
    /// its lines fetched in time, and takes bytes without waiting for them.
    pub memory_bytes: Option<f64>,
    /// Kilobytes that the code uses again and again, for which it needs a cache that cores share; 0: none.
    pub reuse_kb: f64,
    /// Cycles in which the front end delivers nothing, whatever the core's width, per 1000 instructions: misses of the
    /// instruction cache and its TLB, restarts of the pipeline.
    pub starved: f64,
    /// Branches per 1000 instructions.
    pub branches: f64,
    /// Floating-point and SIMD instructions per 1000 instructions.
    pub fp: f64,
    /// Stores per 1000 instructions.
    pub stores: f64,
}

impl Behaviour {
    /// Compute-bound integer code in the manner of Dhrystone, which Linux uses to measure capacities.
    pub const REFERENCE: Self = Self {
        ilp: 2.0,
        memory_ns: 0.0,
        memory_bytes: None,
        reuse_kb: 0.0,
        starved: 0.0,
        branches: 150.0,
        fp: 0.0,
        stores: 100.0,
    };

    /// The time that a miss takes by which [`Self::memory_ns`] is made of them, in ns (assumed; LPDDR4 systems of the A57's time).
    pub const MISS_NS: f64 = 100.0;
    /// Bytes of a cache line.
    const LINE: f64 = 64.0;

    /// The same code where every miss takes so many times as long.
    #[must_use]
    pub fn at_distance(self, factor: f64) -> Self {
        Self { memory_ns: self.memory_ns * factor, memory_bytes: Some(1000.0 * self.bytes()), ..self }
    }

    /// Bytes from memory an instruction.
    pub fn bytes(&self) -> f64 {
        self.memory_bytes.unwrap_or(self.missed()) / 1000.0
    }

    /// Bytes from memory an instruction, where it misses a cache so many times as often. What it streams is no miss that a larger cache would
    /// save.
    pub fn bytes_missing(&self, misses: f64) -> f64 {
        self.bytes() + (misses - 1.0) * self.missed() / 1000.0
    }

    /// Bytes that misses fetch, per 1000 instructions.
    fn missed(&self) -> f64 {
        self.memory_ns / Self::MISS_NS * Self::LINE
    }
}

impl Behaviour {
    /// Compute-bound or memory-bound code that retires instructions at these rates: one for each core type of the
    /// machine at its highest frequency, in instructions per ns, `None` where it is not known.
    ///
    /// The rate on the biggest core type that is known comes back, unless no code is that fast there. So does the rate on
    /// the smallest one, if both fit together; else that comes as near as it can. One rate alone does not show why code
    /// is slow or fast: what is slower than [`Self::REFERENCE`] is taken to wait for memory, what is faster to have more
    /// parallelism.
    pub fn fitting(machine: &Machine, rates: &[Option<f64>]) -> Self {
        let mut known =
            machine.core_types.iter().zip(rates).filter_map(|(core, rate)| Some((Line::of(core), (*rate)?)));
        let Some((big, rate)) = known.next() else { return Self::REFERENCE };
        // Whatever the parallelism, memory makes up for the rest of the time on the big core.
        let time = (1.0 / rate).max(big.least);
        let memory = |x: f64| if big.memory > 0.0 { ((time - big.compute(x)) / big.memory).max(0.0) } else { 0.0 };
        let slowest = time / big.each;
        let alone = slowest.min(1.0 / Self::REFERENCE.ilp);
        let x = known.next_back().map_or(alone, |(little, rate)| {
            let on_little = |x: f64| little.compute(x) + little.memory * memory(x);
            // Between these points time on the little core grows or shrinks evenly.
            let kinks = [slowest, big.kink().min(slowest), little.kink().min(slowest)];
            meet(on_little, kinks, alone, 1.0 / rate)
        });
        Self { ilp: 1.0 / x, memory_ns: memory(x), ..Self::REFERENCE }
    }
}

/// The time of an instruction on a core type, in ns, as a function of `x = 1 / ilp` and of memory time.
struct Line {
    /// Nanoseconds that an `x` of 1 takes.
    each: f64,
    /// As wide as the core is, it takes no less.
    least: f64,
    /// The part of a unit of memory time that is not hidden.
    memory: f64,
}

impl Line {
    fn of(core: &CoreType) -> Self {
        let cycles = core.max_frequency().per_ns();
        Self {
            each: 1.0 / (core.extract * cycles),
            least: 1.0 / (core.width * cycles),
            memory: (1.0 - core.overlap) / 1000.0,
        }
    }

    fn compute(&self, x: f64) -> f64 {
        (self.each * x).max(self.least)
    }

    /// Below this, more parallelism is of no use.
    fn kink(&self) -> f64 {
        self.least / self.each
    }
}

/// Smaller shares of a value are rounding.
const ROUNDING: f64 = 1e-12;

/// The largest `x` where the piecewise linear function has `value`. If there is none, the kink with the nearest value,
/// unless that of `usual` is nearer.
fn meet(function: impl Fn(f64) -> f64, mut kinks: [f64; 3], usual: f64, value: f64) -> f64 {
    kinks.sort_by(|a, b| b.total_cmp(a));
    for pair in kinks.windows(2) {
        let (from, to) = (function(pair[0]), function(pair[1]));
        let changes = (to - from).abs() > ROUNDING * value;
        if changes && (from.min(to)..=from.max(to)).contains(&value) {
            return pair[0] + (pair[1] - pair[0]) * ((value - from) / (to - from));
        }
    }
    let miss = |x: &f64| (function(*x) - value).abs();
    let nearer = kinks.iter().copied().filter(|x| miss(x) < miss(&usual) - ROUNDING * value);
    nearer.min_by(|a, b| miss(a).total_cmp(&miss(b))).unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{CoreTypeId, machines};

    /// What a machine makes of a behaviour.
    fn rates(machine: &Machine, behaviour: &Behaviour) -> Vec<f64> {
        let rate = |(id, core): (usize, &CoreType)| machine.rate(CoreTypeId(id as u8), core.max_frequency(), behaviour);
        machine.core_types.iter().enumerate().map(rate).collect()
    }

    fn fitted(machine: &Machine, known: &[Option<f64>]) -> (Behaviour, Vec<f64>) {
        let behaviour = Behaviour::fitting(machine, known);
        assert!(behaviour.ilp > 0.0 && behaviour.ilp.is_finite(), "{behaviour:?}");
        assert!(behaviour.memory_ns >= 0.0 && behaviour.memory_ns.is_finite(), "{behaviour:?}");
        (behaviour, rates(machine, &behaviour))
    }

    fn same(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    fn machine(name: &str) -> Machine {
        machines::by_name(name).unwrap()
    }

    #[test]
    fn more_misses_fetch_more_and_streams_do_not() {
        let misses = Behaviour { memory_ns: 500.0, ..Behaviour::REFERENCE };
        assert!(same(misses.bytes(), 0.32) && same(misses.bytes_missing(1.0), 0.32));
        assert!(same(misses.bytes_missing(2.0), 0.64));
        let streams = Behaviour { memory_bytes: Some(4800.0), ..misses };
        assert!(same(streams.bytes(), 4.8) && same(streams.bytes_missing(2.0), 4.8 + 0.32));
    }

    #[test]
    fn without_rates_code_is_like_the_reference() {
        let machine = machine("odroid-xu3");
        assert_eq!(Behaviour::fitting(&machine, &[]), Behaviour::REFERENCE);
        assert_eq!(Behaviour::fitting(&machine, &[None, None]), Behaviour::REFERENCE);
        let reference: Vec<_> = rates(&machine, &Behaviour::REFERENCE).into_iter().map(Some).collect();
        assert_eq!(Behaviour::fitting(&machine, &reference[..1]), Behaviour::REFERENCE);
    }

    #[test]
    fn one_rate_means_memory_or_parallelism() {
        let machine = machine("odroid-xu3");
        let reference = rates(&machine, &Behaviour::REFERENCE);
        let [big, little] = [Some(0.3 * reference[0]), Some(0.3 * reference[1])];
        for (core, known) in [(0, [big, None]), (1, [None, little])] {
            let (slow, came) = fitted(&machine, &known);
            assert!(slow.ilp == Behaviour::REFERENCE.ilp && slow.memory_ns > 0.0, "{slow:?}");
            assert!(same(came[core], 0.3 * reference[core]));
        }
        let (fast, came) = fitted(&machine, &[Some(1.2 * reference[0]), None]);
        assert!(fast.ilp > Behaviour::REFERENCE.ilp && fast.memory_ns < 1e-9, "{fast:?}");
        assert!(same(came[0], 1.2 * reference[0]));
    }

    #[test]
    fn no_code_is_faster_than_a_core_is_wide() {
        let machine = machine("i9-13900k");
        let widest = machine.core_types[0].width * machine.core_types[0].max_frequency().per_ns();
        let (_, came) = fitted(&machine, &[Some(10.0 * widest), None]);
        assert!(same(came[0], widest));
    }

    /// On cores that are alike a second rate says nothing.
    #[test]
    fn the_same_core_twice_is_one_rate() {
        let mut machine = machine("2B2S");
        machine.core_types[1] = machine.core_types[0].clone();
        let alone = Behaviour::fitting(&machine, &[Some(0.7)]);
        assert_eq!(Behaviour::fitting(&machine, &[Some(0.7), Some(0.7)]), alone);
        assert_eq!(Behaviour::fitting(&machine, &[Some(0.7), Some(0.6)]), alone);
    }

    proptest! {
        #[test]
        fn rates_come_back(
            name in prop::sample::select(machines::names().collect::<Vec<_>>()),
            ilp in 0.2..8.0,
            memory_ns in prop_oneof![Just(0.0), 0.0..2000.0],
        ) {
            let machine = machine(name);
            let wanted = rates(&machine, &Behaviour { ilp, memory_ns, ..Behaviour::REFERENCE });
            let known: Vec<_> = wanted.iter().copied().map(Some).collect();
            let (_, came) = fitted(&machine, &known);
            prop_assert!(same(came[0], wanted[0]), "{came:?} for {wanted:?}");
            let last = wanted.len() - 1;
            prop_assert!(same(came[last], wanted[last]), "{came:?} for {wanted:?}");
        }

        /// Measured rates need not fit together. Then the big core's is right, and no code that is as fast there is nearer
        /// on the little one.
        #[test]
        fn any_rates_are_met_as_nearly_as_can_be(
            name in prop::sample::select(machines::names().collect::<Vec<_>>()),
            big in 1e-3..1e3,
            little in 1e-3..1e3,
        ) {
            let machine = machine(name);
            let mut known = vec![None; machine.core_types.len()];
            let last = known.len() - 1;
            known[last] = Some(little);
            known[0] = Some(big);
            let (_, came) = fitted(&machine, &known);
            let core = &machine.core_types[0];
            let big = big.min(core.width * core.max_frequency().per_ns());
            prop_assert!(same(came[0], big), "{came:?}");
            let miss = |rates: &[f64]| (1.0 / rates[last] - 1.0 / little).abs();
            for ilp in (1..400).map(|step| 0.05 * f64::from(step)) {
                let parallel = Behaviour { ilp, ..Behaviour::REFERENCE };
                let rest = 1.0 / big - 1.0 / rates(&machine, &parallel)[0];
                if last > 0 && rest >= 0.0 {
                    let other = Behaviour { memory_ns: 1000.0 * rest / (1.0 - core.overlap), ..parallel };
                    prop_assert!(miss(&came) <= miss(&rates(&machine, &other)) + 1e-9 / little, "{other:?} is nearer");
                }
            }
        }
    }
}

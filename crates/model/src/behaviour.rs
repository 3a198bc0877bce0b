//! What a stretch of code is like, seen from the hardware.

/// The properties of a phase of a program that decide how fast each core type runs it and what its counters count.
///
/// Speedup is not stored: it follows from the phase and the core ([`crate::Machine::rate`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behaviour {
    /// Instruction-level parallelism: instructions per cycle on an ideal core (about 1 to 5).
    pub ilp: f64,
    /// Time spent on misses beyond the private caches, in ns per 1000 instructions, before any overlap.
    pub memory_ns: f64,
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
    pub const REFERENCE: Self =
        Self { ilp: 2.0, memory_ns: 0.0, starved: 0.0, branches: 150.0, fp: 0.0, stores: 100.0 };

    /// The same code where every miss takes so many times as long.
    #[must_use]
    pub fn at_distance(self, factor: f64) -> Self {
        Self { memory_ns: self.memory_ns * factor, ..self }
    }
}

//! Synthesised performance counters: a mock of a PMU that counts what the model of the core implies, with noise.
//!
//! The counts follow from the phase and the core type through stated, assumed ratios, never from the speedup itself, so
//! that a predictor has something honest to learn.

use evenkeel_model::{Behaviour, COUNTERS, Counter, Counters, Hz, Machine};

/// L1 data refills for each that also misses the L2, and those of code without any memory time (assumed).
const L1_PER_L2: f64 = 4.0;
const L1_BASE: f64 = 0.002;
/// Cycles from a mispredicted branch to the next useful instruction, for a narrow core and for each step of width.
const REDIRECT_CYCLES: f64 = 8.0;
/// Each count is off by up to this share: multiplexing and skid (assumed).
const NOISE: f64 = 0.05;

/// Counts per instruction of a phase on a core type at a frequency, with memory so many times as far away as a core's own, and so many
/// times as long in the core's pipelines as alone.
pub(crate) fn per_instruction(
    machine: &Machine,
    core_type: evenkeel_model::CoreTypeId,
    at: Hz,
    code: &Behaviour,
    distance: f64,
    longer: f64,
) -> Counters {
    let core = &machine.core_types[core_type.index()];
    let rate = machine.rate_beside(core_type, at, &code.at_distance(distance), longer);
    let memory = code.memory_ns / 1000.0 * distance;
    let branch = code.branches / 1000.0;
    // Branchy code with little parallelism is hard to predict (assumed).
    let misses = branch * 0.08 / code.ilp;
    let l2_refills = code.memory_ns / 1000.0 / Behaviour::MISS_NS;
    let mut counts = [0.0; COUNTERS];
    let mut set = |counter: Counter, value: f64| counts[counter as usize] = value;
    set(Counter::Instructions, 1.0);
    set(Counter::Cycles, at.per_ns() / rate);
    set(Counter::Branches, branch);
    set(Counter::BranchMisses, misses);
    set(Counter::FpOps, code.fp / 1000.0);
    set(Counter::Loads, 0.22 + 0.3 * code.stores / 1000.0);
    set(Counter::Stores, code.stores / 1000.0);
    set(Counter::L1dRefills, L1_PER_L2 * l2_refills + L1_BASE);
    set(Counter::L2Refills, l2_refills);
    set(Counter::L1iRefills, 0.05 * branch);
    set(Counter::TlbRefills, 0.2 * l2_refills);
    set(Counter::MemoryStallCycles, memory * (1.0 - core.overlap) * at.per_ns());
    set(Counter::FrontendStallCycles, misses * (REDIRECT_CYCLES + 2.0 * core.width) + code.starved / 1000.0);
    set(Counter::StoreQueueFullCycles, code.stores / 1000.0 * memory * at.per_ns());
    Counters(counts)
}

/// Counts per instruction of code that waits for so many cycles more, for memory that has too much to carry, and for so many times as many
/// misses of a cache that others use, too.
pub(crate) fn waiting(per_instruction: &Counters, cycles: f64, misses: f64) -> Counters {
    let mut counts = *per_instruction;
    counts.0[Counter::L2Refills as usize] *= misses;
    for counter in [Counter::Cycles, Counter::MemoryStallCycles] {
        counts.0[counter as usize] += cycles;
    }
    counts
}

/// What the counters show after some instructions. `noise` is the thread's own stream.
pub(crate) fn read(per_instruction: &Counters, instructions: u64, noise: &mut u64) -> Counters {
    let mut counts = per_instruction.0;
    let mut bits = 0;
    for (index, count) in counts.iter_mut().enumerate() {
        if index % 8 == 0 {
            bits = split_mix(noise);
        }
        let draw = (bits & 0xff) as f64 / 127.5 - 1.0;
        bits >>= 8;
        let exact = index == Counter::Instructions as usize;
        *count *= instructions as f64 * if exact { 1.0 } else { 1.0 + NOISE * draw };
    }
    Counters(counts)
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one multiplication chain for eight small draws.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

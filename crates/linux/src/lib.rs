//! Host 2: real programs. Evenkeel samples what the Linux kernel does with the threads of a program and moves them
//! through their affinity masks. Around it: what can be used on this machine, what its threads wait for, recording, emulation.

pub mod cgroup;
mod claim;
pub mod clock;
pub mod counts;
pub mod emulate;
pub mod energy;
pub mod event;
pub mod frequency;
pub mod guard;
pub mod host;
pub mod job;
pub mod launch;
pub mod mask;
pub mod monitor;
pub mod numbers;
mod orphans;
pub mod overheads;
pub mod pins;
mod pmu;
mod presence;
pub mod probe;
pub mod process;
pub mod quote;
pub mod realtime;
pub mod record;
pub mod refusal;
pub mod sample;
pub mod scratch;
pub mod spec;
pub mod trial;
mod turns;
pub mod vm;
pub mod wait;
pub mod watch;
mod windows;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

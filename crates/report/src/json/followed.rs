//! What `run` prints.

use serde::Serialize;

/// What `run` prints.
#[derive(Debug, Serialize)]
pub struct Followed<'a> {
    /// The policy's name.
    pub policy: &'a str,
    /// The names of the core types, in the order of every `run_s`.
    pub core_types: Vec<&'a str>,
    /// From the start to the end of following, in seconds.
    pub elapsed_s: f64,
    /// Time that all threads together ran on each core type, in seconds.
    pub run_s: Vec<f64>,
    /// CPU time of the program by the kernel's own account.
    pub used_s: f64,
    /// What of that no sample saw.
    pub unseen_s: f64,
    /// The threads that began and ended between two samples, together; they are not among `threads`.
    pub short: FollowedShort,
    /// Time that all threads together were ready and did not run.
    pub delay_s: f64,
    /// Time that all threads together waited in the futex system call; null where eBPF is not available.
    pub waited_s: Option<f64>,
    /// How often a thread left a CPU.
    pub switches: u64,
    /// How often it could have gone on; null where eBPF is not available.
    pub preemptions: Option<u64>,
    /// Moves of a thread to another core type.
    pub moves: u64,
    /// How often a thread was bound to a set of cores.
    pub binds: u64,
    /// Changes of a mask that the kernel refused.
    pub refused: u64,
    /// How often all threads were sampled.
    pub samples: u64,
    /// The longest time from one sample to the next.
    pub longest_gap_s: f64,
    /// CPU time that following took.
    pub cost_s: f64,
    /// What the policy decides and affinity masks cannot enforce.
    pub unenforced: Vec<&'static str>,
    /// What could not be seen, and why; null if nothing.
    pub missing: &'a [String],
    /// The threads, those that ran longest first.
    pub threads: Vec<FollowedThread<'a>>,
    /// Who waited for whom, the longest waits first; null where eBPF is not available.
    pub waits: Option<Vec<Waits>>,
}

/// Threads that began and ended between two samples, as far as they are known.
#[derive(Debug, Serialize)]
pub struct FollowedShort {
    /// How many.
    pub threads: u64,
    /// Time that they ran on each core type.
    pub run_s: Vec<f64>,
    /// Time that they were ready and did not run.
    pub delay_s: f64,
}

/// A thread of a followed program.
#[derive(Debug, Serialize)]
pub struct FollowedThread<'a> {
    /// Its number.
    pub tid: u32,
    /// That of its process.
    pub process: u32,
    /// Its name.
    pub name: &'a str,
    /// Whether it serves a language's runtime system.
    pub service: bool,
    /// Time that it ran on each core type.
    pub run_s: Vec<f64>,
    /// Time that it was ready and did not run.
    pub delay_s: f64,
    /// Time that it waited in the futex system call.
    pub waited_s: Option<f64>,
    /// Time that others waited there until it woke them.
    pub blame_s: Option<f64>,
    /// How often it left a CPU.
    pub switches: u64,
    /// How often it could have gone on.
    pub preemptions: Option<u64>,
}

/// The waits of one thread that another one ended.
#[derive(Debug, Serialize)]
pub struct Waits {
    /// Who waited.
    pub waiter: u32,
    /// Who ended the waits.
    pub waker: u32,
    /// How long they were, together.
    pub waited_s: f64,
    /// How many they were.
    pub times: u64,
}

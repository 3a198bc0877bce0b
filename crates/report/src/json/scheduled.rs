//! What `scx` and `scx --list` print.

use serde::Serialize;

use super::LaterPolicy;

/// The document goes to standard error, when the machine has been given back; there is none if the kernel has taken it back. With
/// `--stats` one of them a line goes to standard output meanwhile.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scheduled<'a> {
    /// The policy, with its knobs, at first; absent from the lines of `--stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<&'a str>,
    /// The policies that took over in the middle, from `top`, in order; absent from the lines of `--stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<LaterPolicy<'a>>>,
    /// Where it decided, at first: `kernel` or `daemon`.
    pub path: &'static str,
    /// How long the machine has been scheduled, in seconds.
    pub elapsed_s: f64,
    /// Threads that are scheduled now.
    pub living: u64,
    /// Threads that were scheduled at some time; one that several policies had, one after the other, counts for each.
    pub threads: u64,
    /// For how long they have run on cores of the fastest type, together, in seconds.
    pub big_s: f64,
    /// For how long they have run on other cores, in seconds.
    pub little_s: f64,
    /// How often a core was told to run a thread.
    pub switches: u64,
    /// How many running threads were stopped.
    pub stops: u64,
    /// How many pairs of threads have exchanged their cores.
    pub exchanges: u64,
    /// How many decisions were stale when they were to be carried out.
    pub stale: u64,
    /// How many threads cores took by themselves, because the process that decides was late; null where the kernel
    /// decides throughout.
    pub taken_late: Option<u64>,
    /// The longest time for which a thread waited for a core, in seconds.
    pub longest_wait_s: f64,
    /// The longest time for which a core had nothing to run while a thread waited that may use it, in seconds; where
    /// the kernel decides it is checked every 4 ms.
    pub longest_idle_s: f64,
    /// The longest time for which a core of the fastest type had nothing to run while a slower one ran one and the same thread
    /// that may use it, in seconds; where the kernel decides it is checked every 4 ms.
    pub longest_misplaced_s: f64,
    /// How many threads the kernel's part had no room for, beside 32,767 others: the kernel's own rules schedule them; null
    /// where the process decides throughout.
    pub left_out: Option<u64>,
    /// How long threads waited in futex calls, together, for a thread that then woke them, in seconds.
    pub blamed_s: f64,
    /// How often the kernel's governor of frequencies, schedutil, was told how much of a core is used; null where it does not
    /// set frequencies, since no other one asks.
    pub frequencies: Option<u64>,
    /// How many events of the kernel were acted on.
    pub events: u64,
    /// CPU time that Evenkeel's thread used which decides, or labels threads for the kernel's part, in seconds; what the kernel's part
    /// used is not known.
    pub cost_s: f64,
    /// What this machine cannot tell the policy, and why; absent if that is nothing, and from the lines of `--stats`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<&'a str>,
}

/// The policies that can schedule a real kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Schedulables {
    /// One entry a policy.
    pub policies: Vec<Schedulable>,
}

/// A policy that can schedule a real kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Schedulable {
    /// Its name.
    pub name: &'static str,
    /// Whether it can decide in the kernel; if not, in the process.
    pub in_kernel: bool,
    /// One line for people.
    pub summary: &'static str,
}

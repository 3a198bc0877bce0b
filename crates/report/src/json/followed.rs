//! What `run` prints.

use serde::Serialize;

/// What a followed program did; no two runs of it are the same. The document goes to standard error, or to the file of `-o`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Followed<'a> {
    /// The policy, with its knobs, at first.
    pub policy: &'a str,
    /// The policies that took over in the middle, from `top`, in order.
    pub policies: Vec<LaterPolicy<'a>>,
    /// The names of the core types, in the order of every `run_s`.
    pub core_types: Vec<&'a str>,
    /// From the start to the end of following, in seconds.
    pub elapsed_s: f64,
    /// Time that all threads together ran on each core type, in seconds.
    pub run_s: Vec<f64>,
    /// CPU time of the program by the kernel's own account, from when it was followed, in seconds.
    pub used_s: f64,
    /// What of that no sample saw: of threads that were too short-lived, and of others before they ended, in seconds.
    pub unseen_s: f64,
    /// The threads that began and ended between two samples, together; they are not among `threads`, and are seen with eBPF
    /// only.
    pub short: FollowedShort,
    /// Time that all threads together were ready and did not run, because others had their CPU, in seconds.
    pub delay_s: f64,
    /// Time that all threads together waited in the futex system call until another thread of the program ended the wait: for locks,
    /// barriers, conditions, queues, in seconds; `null` without eBPF. Threads that idle (`idles`) are not counted.
    pub waited_s: Option<f64>,
    /// The rest of the time that threads waited there: for work, for time, until the program ended, or for themselves, in seconds; `null`
    /// without eBPF.
    pub idle_s: Option<f64>,
    /// How often a thread left a CPU, or came onto one, which is at most one more for each thread.
    pub switches: u64,
    /// How often a thread left a CPU though it was runnable; `null` without eBPF.
    pub preemptions: Option<u64>,
    /// Moves of a thread to another core type by the policy.
    pub moves: u64,
    /// How often a thread was bound to a set of cores.
    pub binds: u64,
    /// Changes of an affinity mask that the kernel refused.
    pub refused: u64,
    /// How often Evenkeel sampled all threads.
    pub samples: u64,
    /// The longest time from one sample to the next, in seconds.
    pub longest_gap_s: f64,
    /// CPU time that Evenkeel itself used, in seconds.
    pub cost_s: f64,
    /// Sentences: what the policies that decided want and affinity masks cannot enforce.
    pub unenforced: Vec<&'static str>,
    /// Sentences: what could not be seen, and why.
    pub missing: &'a [String],
    /// One entry a thread that was seen alive, those that ran longest first.
    pub threads: Vec<FollowedThread<'a>>,
    /// Which thread waited for which in the futex system call, those that idle included, the longest waits first; `null` without eBPF.
    /// Waits that a timer, a device, a thread outside of the program or its end ended are in `idle_s` and in no entry, and so is the time
    /// that a thread waited for itself: for another one that it had woken, until that was ready.
    pub waits: Option<Vec<Waits>>,
}

/// A policy that took over in the middle.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LaterPolicy<'a> {
    /// When, in seconds since the start.
    pub at_s: f64,
    /// The policy, with its knobs.
    pub policy: &'a str,
}

/// Threads that began and ended between two samples, as far as they are known.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FollowedShort {
    /// How many there were.
    pub threads: u64,
    /// Time that they ran on each core type, in seconds.
    pub run_s: Vec<f64>,
    /// Time that they were ready and did not run, in seconds.
    pub delay_s: f64,
}

/// A thread of a followed program.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FollowedThread<'a> {
    /// Its number.
    pub tid: u32,
    /// That of its process.
    pub process: u32,
    /// Its name.
    pub name: &'a str,
    /// Whether it serves a language's runtime system, as threads of a Java virtual machine do.
    pub service: bool,
    /// Whether what it waits for is taken for work, not for another thread: it serves a runtime system, or does less than 2 % of the
    /// program's work divided by the number of cores; `null` without eBPF.
    pub idles: Option<bool>,
    /// Time that it ran on each core type, in seconds.
    pub run_s: Vec<f64>,
    /// Time that it was ready and did not run, in seconds.
    pub delay_s: f64,
    /// Time that it waited in the futex system call, in seconds; `null` without eBPF.
    pub waited_s: Option<f64>,
    /// Time that others, apart from those that idle, waited there for it, in seconds; `null` without eBPF.
    pub blame_s: Option<f64>,
    /// How often it left a CPU, or came onto one, which is at most one more.
    pub switches: u64,
    /// How often it left a CPU though it was runnable; `null` without eBPF.
    pub preemptions: Option<u64>,
}

/// The waits of one thread for another.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Waits {
    /// The number of the thread that waited.
    pub waiter: u32,
    /// The number of the thread that it waited for: the one that ended the wait, for the time since that one's own last wait was over, and
    /// before that the one that ended that wait.
    pub waker: u32,
    /// How long the waits were, together, in seconds.
    pub waited_s: f64,
    /// How many waits there were.
    pub times: u64,
}

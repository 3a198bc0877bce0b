//! What `top` prints.

use serde::Serialize;

/// A moment of a host that schedules real threads; shares are of the time since the last document, in the first one since the host
/// began. Each document is a line on standard output.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Watched<'a> {
    /// What the host is: `run` or `scx`.
    pub host: &'a str,
    /// Its process.
    pub pid: u32,
    /// The policy, with its knobs.
    pub policy: &'a str,
    /// How long it has scheduled, in seconds.
    pub elapsed_s: f64,
    /// Which part of a CPU it used itself.
    pub cost: f64,
    /// The names of the core types, the biggest first.
    pub core_types: Vec<&'a str>,
    /// One entry a core.
    pub cores: Vec<WatchedCore>,
    /// One entry a thread that lives and that `--filter` leaves, in the order of `--sort`.
    pub threads: Vec<WatchedThread<'a>>,
    /// Sentences: what the host cannot do or see, and why.
    pub missing: &'a [String],
}

/// A core that is scheduled.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WatchedCore {
    /// The kernel's number of it.
    pub cpu: u16,
    /// Which of `core_types` it is, from 0 on.
    pub core_type: usize,
    /// How fast it is clocked, where the kernel says it.
    pub frequency_hz: Option<u64>,
    /// Which part of the time it had something to do, of any program; `null` in the first document.
    pub busy: Option<f64>,
    /// The number of the thread that it runs; `null` if that is none of the host's.
    pub tid: Option<u32>,
}

/// A thread that the host schedules.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WatchedThread<'a> {
    /// Its number.
    pub tid: u32,
    /// That of its process.
    pub process: u32,
    /// Its name.
    pub name: &'a str,
    /// Whether it serves a language's runtime system, as threads of a Java virtual machine do.
    pub service: bool,
    /// `running`, `ready` (it could run, and has no core) or `waiting`.
    pub state: &'static str,
    /// The CPU that it runs on, waits for, or was on last.
    pub cpu: u16,
    /// What the policy thinks of it: `big`, `little`, `critical` (others wait for it) or `any`.
    pub label: &'static str,
    /// How much faster it is on the biggest core type than on the smallest, if that was measured.
    pub speedup: Option<f64>,
    /// Which part of the time it had a core.
    pub run: f64,
    /// Which part of that it had one of the biggest type; `null` if it did not run.
    pub big: Option<f64>,
    /// Which part of the time it was ready without a core.
    pub ready: f64,
    /// How long others waited for it in futex calls, in seconds a second, under `colab` and `wash` as the knob `culprit` has it; `null` without eBPF.
    pub blame: Option<f64>,
    /// The CPUs that it has been pinned to from `top`.
    pub pinned: &'a [u16],
}

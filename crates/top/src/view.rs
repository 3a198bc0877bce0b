//! What there is to be seen: rates since the last snapshot, with names and frequencies.

use std::collections::BTreeMap;

use evenkeel_linux::event::Tid;
use evenkeel_linux::monitor::{Label, Snapshot, State, ThreadNow};
use evenkeel_model::{Hz, Ns};

use crate::facts::Facts;

/// A moment of a host, and what has happened since the one before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The host's command and process.
    pub host: String,
    /// Its process.
    pub pid: Tid,
    /// The policy.
    pub policy: String,
    /// How long it has scheduled.
    pub elapsed: Ns,
    /// Which part of a CPU it used itself.
    pub cost: f64,
    /// The names of the core types, the biggest first.
    pub core_types: Vec<String>,
    /// The cores.
    pub cores: Vec<CoreRow>,
    /// The threads.
    pub threads: Vec<ThreadRow>,
    /// What the host cannot do or see, and why.
    pub missing: Vec<String>,
}

/// A core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreRow {
    /// The kernel's number of it.
    pub cpu: u16,
    /// Which of [`View::core_types`] it is.
    pub core_type: usize,
    /// How fast it is clocked, where that can be read.
    pub frequency: Option<Hz>,
    /// Which part of the time it had something to do, of any program.
    pub busy: Option<f64>,
    /// The name and number of the thread that it runs.
    pub thread: Option<(String, Tid)>,
}

/// A thread. Shares are of the time since the last snapshot; in the first one, since the host began.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadRow {
    /// Its number.
    pub tid: Tid,
    /// That of its process.
    pub process: Tid,
    /// Its name.
    pub name: String,
    /// It serves a language's runtime system.
    pub service: bool,
    /// What it does.
    pub state: State,
    /// The CPU that it runs on, waits for, or was on last.
    pub cpu: u16,
    /// What the policy thinks of it.
    pub label: Label,
    /// How much faster it is on the biggest core type than on the smallest, if that was measured.
    pub speedup: Option<f64>,
    /// Which part of the time it had a core.
    pub run: f64,
    /// Which part of that it had one of the biggest type, if it ran.
    pub big: Option<f64>,
    /// Which part of the time it was ready without a core.
    pub ready: f64,
    /// How long others waited for it, in seconds a second; `None` where that is not seen.
    pub blame: Option<f64>,
    /// The CPUs that it is pinned to; empty if it is not.
    pub pinned: Vec<u16>,
}

impl View {
    /// What a snapshot shows, given the one before.
    pub fn new(before: Option<&Snapshot>, now: &Snapshot, facts: &mut Facts) -> Self {
        let names = facts.names(now.threads.iter().map(|thread| (thread.tid, thread.process)));
        let busy = facts.busy();
        let known: BTreeMap<Tid, &ThreadNow> =
            before.iter().flat_map(|before| &before.threads).map(|thread| (thread.tid, thread)).collect();
        let time = now.elapsed.since(before.map_or(Ns::ZERO, |before| before.elapsed));
        let share = |part: Ns| part.0 as f64 / time.0.max(1) as f64;
        let name = |tid: Tid| names.get(&tid).cloned().unwrap_or_default();
        let core = |core: &evenkeel_linux::monitor::CoreNow| CoreRow {
            cpu: core.cpu,
            core_type: usize::from(core.core_type),
            frequency: facts.frequency(core.cpu),
            busy: busy.get(&core.cpu).copied(),
            thread: core.thread.map(|tid| (name(tid), tid)),
        };
        let cores = now.cores.iter().map(core).collect();
        let thread = |thread: &ThreadNow| {
            // Another thread of that number, or a host that has taken over anew, counts from zero.
            let before = known.get(&thread.tid).filter(|before| !counts_anew(before, thread));
            let ran = |on: usize| {
                let earlier = before.and_then(|before| before.run.get(on)).copied().unwrap_or_default();
                thread.run.get(on).copied().unwrap_or_default().since(earlier)
            };
            let all = Ns((0..thread.run.len()).map(|on| ran(on).0).sum());
            ThreadRow {
                tid: thread.tid,
                process: thread.process,
                name: name(thread.tid),
                service: thread.service,
                state: thread.state,
                cpu: thread.cpu,
                label: thread.label,
                speedup: thread.speedup,
                run: share(all),
                big: (all > Ns::ZERO).then(|| ran(0).0 as f64 / all.0 as f64),
                ready: share(thread.delay.since(before.map_or(Ns::ZERO, |before| before.delay))),
                blame: thread
                    .blame
                    .map(|blame| share(blame.since(before.and_then(|before| before.blame).unwrap_or_default()))),
                pinned: thread.pinned.clone(),
            }
        };
        Self {
            host: now.host.clone(),
            pid: now.pid,
            policy: now.policy.clone(),
            elapsed: now.elapsed,
            cost: share(now.cost.since(before.map_or(Ns::ZERO, |before| before.cost))),
            core_types: now.core_types.clone(),
            cores,
            threads: now.threads.iter().map(thread).collect(),
            missing: now.missing.clone(),
        }
    }
}

fn counts_anew(before: &ThreadNow, now: &ThreadNow) -> bool {
    now.delay < before.delay || now.run.iter().zip(&before.run).any(|(now, before)| now < before)
}

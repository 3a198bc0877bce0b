//! What threads have done, and which ran where when: for a page about machines that may be scheduled for weeks, so that memory is bounded.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;

use evenkeel_linux::clock::clock;
use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{Name, Timeline};
use evenkeel_linux::monitor::{State, ThreadNow};
use evenkeel_linux::process;
use evenkeel_linux::sample::{MAX_TYPES, Sample, ThreadState};
use evenkeel_model::Ns;
use evenkeel_sched::policy::Judgement;
use evenkeel_topology::root;

use crate::moments::Moment;
use crate::session::Plan;

/// Of more threads that have ended the half that ran for the shortest time is forgotten.
const KEPT: usize = 8192;

/// What was seen of the threads of a session.
pub struct Observed {
    moments: Receiver<Moment>,
    timeline: Timeline,
    takeovers: usize,
    threads: BTreeMap<Tid, Known>,
    /// When the last moment was.
    at: Ns,
    forgotten: u64,
}

/// What a thread has done.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedThread {
    /// Its number. Of threads that had one number, one after the other, the last is meant.
    pub tid: Tid,
    /// The name of its process's first thread.
    pub program: String,
    /// Its name.
    pub name: String,
    /// It serves a language's runtime system.
    pub service: bool,
    /// How long it has run on each core type.
    pub run: [Ns; MAX_TYPES],
    /// How long it has been ready without a core.
    pub delay: Ns,
    /// How long others have waited for it; `None` where that is not seen.
    pub blame: Option<Ns>,
    /// What was thought of it when it was last seen.
    pub judgement: Judgement,
}

/// A thread that was seen at some moment. It has ended if that was not the last one.
struct Known {
    last: ThreadNow,
    /// What it had done when the counts began anew.
    before: Did,
    name: Name,
    /// When it was started, which tells it from a later one with its number.
    started: Option<u64>,
    seen: Ns,
}

/// What counts from a takeover.
#[derive(Clone, Copy, Default)]
struct Did {
    run: [Ns; MAX_TYPES],
    delay: Ns,
    blame: Option<Ns>,
}

impl Observed {
    /// Nothing yet of what is scheduled as planned from a time on.
    pub(crate) fn new(plan: &Plan, began: Ns, moments: Receiver<Moment>) -> Self {
        let highest = plan.cpus.iter().copied().max().unwrap_or_default();
        let mut type_of = vec![0; usize::from(highest) + 1];
        for (core, cpu) in plan.machine.cores.iter().zip(&plan.cpus) {
            type_of[usize::from(*cpu)] = core.core_type.0;
        }
        Self {
            moments,
            timeline: Timeline::new(began, type_of).with_clocks(&root(), &plan.machine, &plan.cpus),
            takeovers: 0,
            threads: BTreeMap::new(),
            at: began,
            forgotten: 0,
        }
    }

    /// Takes in what has been noted since the last call, and reads the names of new threads, and clocks.
    pub fn update(&mut self) {
        while let Ok(moment) = self.moments.try_recv() {
            self.add(&moment);
        }
        self.timeline.read_clocks(clock());
    }

    /// Which thread ran where when. Times count from the beginning of the session.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Every thread that has run and was seen before it ended, the ones that ran longest first.
    pub fn threads(&self) -> Vec<ObservedThread> {
        let name = |process: Tid| self.threads.get(&process).map(|first| first.name.as_str());
        // One that has ended at once has no name.
        let program = |process: Tid| name(process).filter(|name| !name.is_empty()).map(str::to_owned);
        let thread = |known: &Known| {
            let ThreadNow { tid, process, service, label, speedup, .. } = known.last;
            let Did { run, delay, blame } = known.did();
            let program = program(process).unwrap_or_else(|| format!("process {process}"));
            let (name, judgement) = (known.name.as_str().to_owned(), Judgement { label, speedup });
            ObservedThread { tid, program, name, service, run, delay, blame, judgement }
        };
        let ran = self.threads.values().filter(|known| known.total() > Ns::ZERO);
        let mut threads: Vec<ObservedThread> = ran.map(thread).collect();
        threads.sort_by_key(|thread| (Reverse(thread.run.iter().map(|run| run.0).sum::<u64>()), thread.tid));
        threads
    }

    /// How many threads that had ended are not kept any more.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn add(&mut self, moment: &Moment) {
        let Moment { at, takeovers, living, gone } = moment;
        if std::mem::replace(&mut self.takeovers, *takeovers) != *takeovers {
            // All counts begin anew, and the kernel's own scheduler had the machine in between.
            self.timeline.sample(*at, &[], &[]);
            self.threads.values_mut().for_each(Known::begin_anew);
        }
        for thread in gone {
            // One that was never seen alive has no name either.
            if let Some(known) = self.threads.get_mut(&thread.tid) {
                known.last.clone_from(thread);
                known.begin_anew();
            }
        }
        for thread in living {
            self.see(thread, *at);
        }
        self.at = *at;
        let samples = |threads: &[ThreadNow]| threads.iter().map(sample).collect::<Vec<_>>();
        self.timeline.sample(*at, &samples(living), &samples(gone));
        self.bound(living.len() + KEPT);
    }

    fn see(&mut self, thread: &ThreadNow, at: Ns) {
        let before = self.at;
        let same = |known: &&mut Known| {
            let stays = known.seen == before && known.last.process == thread.process;
            stays || known.started.is_some() && known.started == process::started(thread.tid)
        };
        if let Some(known) = self.threads.get_mut(&thread.tid).filter(same) {
            known.last.clone_from(thread);
            known.name.read_again(thread.process, thread.tid, at);
            known.seen = at;
            return;
        }
        let first = self.threads.get(&thread.process).map(|first| &first.name);
        let name = Name::of(thread.process, thread.tid, at, first);
        let started = process::started(thread.tid);
        let known = Known { last: thread.clone(), before: Did::default(), name, started, seen: at };
        self.threads.insert(thread.tid, known);
    }

    /// Forgets threads that have ended, if there are more than so many threads.
    fn bound(&mut self, most: usize) {
        if self.threads.len() <= most {
            return;
        }
        let ended = self.threads.iter().filter(|(_, known)| known.seen != self.at);
        let mut ended: Vec<(Ns, Tid)> = ended.map(|(tid, known)| (known.total(), *tid)).collect();
        ended.sort_unstable();
        for (_, tid) in &ended[..ended.len().div_ceil(2)] {
            self.threads.remove(tid);
            self.forgotten += 1;
        }
    }
}

impl Known {
    fn did(&self) -> Did {
        let mut did = self.before;
        did.run.iter_mut().zip(&self.last.run).for_each(|(sum, run)| *sum += *run);
        did.delay += self.last.delay;
        did.blame = self.last.blame.map(|blame| blame + did.blame.unwrap_or_default()).or(did.blame);
        did
    }

    fn total(&self) -> Ns {
        Ns(self.did().run.iter().map(|run| run.0).sum())
    }

    /// What it does from now on counts from zero.
    fn begin_anew(&mut self) {
        self.before = self.did();
        (self.last.delay, self.last.blame) = (Ns::ZERO, None);
        self.last.run.clear();
    }
}

fn sample(thread: &ThreadNow) -> Sample {
    let mut run = [Ns::ZERO; MAX_TYPES];
    run.iter_mut().zip(&thread.run).for_each(|(place, time)| *place = *time);
    // A thread that waits for a core ran before the one that has it now.
    let state = if thread.state == State::Running { ThreadState::Runnable } else { ThreadState::Blocked };
    let ThreadNow { tid, process, cpu, delay, .. } = *thread;
    Sample { tid, process, state, cpu, run, delay, ..Sample::default() }
}

#[cfg(test)]
mod tests;

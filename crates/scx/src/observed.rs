//! What threads have done, and which ran where when: for a page about machines that may be scheduled for weeks, so that memory is bounded.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Receiver;

use evenkeel_linux::clock::clock;
use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{Name, Timeline, does_little};
use evenkeel_linux::monitor::{State, ThreadNow};
use evenkeel_linux::process;
use evenkeel_linux::sample::{MAX_TYPES, PairWaits, Sample, ThreadState};
use evenkeel_model::Ns;
use evenkeel_sched::policy::Judgement;
use evenkeel_topology::root;

use crate::moments::{Did, Moment};
use crate::pairs::Pairs;
use crate::session::Plan;

/// Of more threads that have ended the half that ran for the shortest time is forgotten.
const KEPT: usize = 8192;

/// What was seen of the threads of a session.
pub struct Observed {
    moments: Receiver<Moment>,
    timeline: Timeline,
    cores: usize,
    takeovers: usize,
    threads: BTreeMap<Tid, Known>,
    /// Which thread waited for which, and what of it was counted at the last moment.
    pairs: Pairs,
    counted: Pairs,
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
    /// How long others have waited for it, by [`Observed::pairs`].
    pub blame: Ns,
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
            timeline: Timeline::new(began, type_of).with_meters(&root(), &plan.machine, &plan.cpus),
            cores: plan.machine.cores.len(),
            takeovers: 0,
            threads: BTreeMap::new(),
            pairs: Pairs::default(),
            counted: Pairs::default(),
            at: began,
            forgotten: 0,
        }
    }

    /// Takes in what has been noted since the last call, and reads the names of new threads, clocks and power.
    pub fn update(&mut self) {
        while let Ok(moment) = self.moments.try_recv() {
            self.add(moment);
        }
        self.timeline.read_meters(clock());
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
        let mut blame: BTreeMap<Tid, Ns> = BTreeMap::new();
        self.pairs().iter().for_each(|pair| *blame.entry(pair.waker).or_default() += pair.waited);
        let thread = |known: &Known| {
            let ThreadNow { tid, process, service, label, speedup, .. } = known.last;
            let Did { run, delay } = known.did();
            let blame = blame.get(&tid).copied().unwrap_or_default();
            let program = program(process).unwrap_or_else(|| format!("process {process}"));
            let (name, judgement) = (known.name.as_str().to_owned(), Judgement { label, speedup });
            ObservedThread { tid, program, name, service, run, delay, blame, judgement }
        };
        let ran = self.threads.values().filter(|known| known.total() > Ns::ZERO);
        let mut threads: Vec<ObservedThread> = ran.map(thread).collect();
        threads.sort_by_key(|thread| (Reverse(thread.run.iter().map(|run| run.0).sum::<u64>()), thread.tid));
        threads
    }

    /// Which thread waited for which, the longest waits first: whatever the policies blamed, without those that waited for work, and without
    /// those that are not kept any more.
    pub fn pairs(&self) -> Vec<PairWaits> {
        let idle = self.idle();
        let mut pairs = self.pairs.longest_first();
        pairs.retain(|pair| !idle.contains(&pair.waiter));
        pairs
    }

    /// Threads that wait for work where they wait, as under `run`: those that do next to nothing of what their processes do.
    fn idle(&self) -> BTreeSet<Tid> {
        let mut executed: BTreeMap<Tid, Ns> = BTreeMap::new();
        for known in self.threads.values().filter(|known| !known.last.service) {
            *executed.entry(known.last.process).or_default() += known.total();
        }
        let of = |process: Tid| executed.get(&process).copied().unwrap_or_default();
        let idles =
            |known: &Known| known.last.service || does_little(known.total(), of(known.last.process), self.cores);
        self.threads.iter().filter(|(_, known)| idles(known)).map(|(tid, _)| *tid).collect()
    }

    /// How many threads that had ended are not kept any more.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn add(&mut self, moment: Moment) {
        let Moment { at, takeovers, living, gone, pairs } = moment;
        if std::mem::replace(&mut self.takeovers, takeovers) != takeovers {
            // All counts begin anew, and the kernel's own scheduler had the machine in between.
            self.timeline.sample(at, &[], &[]);
            self.threads.values_mut().for_each(Known::begin_anew);
            self.counted = Pairs::default();
        }
        for thread in &gone {
            // One that was never seen alive has no name either.
            if let Some(known) = self.threads.get_mut(&thread.tid) {
                known.last.clone_from(thread);
                known.begin_anew();
            }
        }
        let new: BTreeSet<Tid> = living.iter().filter(|thread| self.see(thread, at)).map(|thread| thread.tid).collect();
        // What was counted under their numbers before is of threads that have ended.
        self.pairs.end(&new);
        // Counts only grow until a takeover: none at all means that they could not be read.
        if !pairs.is_empty() {
            let counted = pairs.into_iter().collect();
            self.pairs.add_since(&self.counted, &counted);
            self.counted = counted;
        }
        self.at = at;
        let samples = |threads: &[ThreadNow]| threads.iter().map(sample).collect::<Vec<_>>();
        self.timeline.sample(at, &samples(&living), &samples(&gone));
        self.bound(living.len() + KEPT);
    }

    /// Returns whether the thread is a new one.
    fn see(&mut self, thread: &ThreadNow, at: Ns) -> bool {
        let before = self.at;
        let same = |known: &&mut Known| {
            let stays = known.seen == before && known.last.process == thread.process;
            stays || known.started.is_some() && known.started == process::started(thread.tid)
        };
        if let Some(known) = self.threads.get_mut(&thread.tid).filter(same) {
            known.last.clone_from(thread);
            known.name.read_again(thread.process, thread.tid, at);
            known.seen = at;
            return false;
        }
        let first = self.threads.get(&thread.process).map(|first| &first.name);
        let name = Name::of(thread.process, thread.tid, at, first);
        let started = process::started(thread.tid);
        let known = Known { last: thread.clone(), before: Did::default(), name, started, seen: at };
        self.threads.insert(thread.tid, known);
        true
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
        did
    }

    fn total(&self) -> Ns {
        Ns(self.did().run.iter().map(|run| run.0).sum())
    }

    /// What it does from now on counts from zero.
    fn begin_anew(&mut self) {
        self.before = self.did();
        self.last.delay = Ns::ZERO;
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

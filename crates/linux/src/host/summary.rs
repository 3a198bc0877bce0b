//! What a followed program did, and what following it cost.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::Ns;
use evenkeel_sched::ThreadKind;
use evenkeel_sched::policy::Judgement;

use super::timeline::Timeline;
use crate::event::Tid;
use crate::sample::{Inside, MAX_TYPES, PairWaits, Sample};

/// The account of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// From the start to the end of following.
    pub elapsed: Ns,
    /// Every thread that was seen, the ones that ran longest first.
    pub threads: Vec<ThreadSummary>,
    /// The threads that began and ended between two samples, as far as they are known.
    pub short: Short,
    /// The CPU time that the program has used by the kernel's account, from when it was followed.
    pub used: Ns,
    /// What of that no sample saw.
    pub unseen: Ns,
    /// No thread could be moved, although the policy wanted to.
    pub powerless: bool,
    /// Time that all threads together ran, by core type.
    pub run: [Ns; MAX_TYPES],
    /// Time that all threads together were ready and did not run.
    pub delay: Ns,
    /// How often a thread left a CPU, or came onto one.
    pub switches: u64,
    /// Which thread waited for which in the futex system call, the longest waits first; `None` if it could not be seen. Without the waits of idle threads
    /// ([`ThreadSummary::idle`]).
    pub pairs: Option<Vec<PairWaits>>,
    /// The policies that have taken over in the middle, and when, in order.
    pub policies: Vec<(Ns, String)>,
    /// How often a thread was moved to another core type.
    pub moves: u64,
    /// How often a thread was bound to a set of cores.
    pub binds: u64,
    /// How often the kernel refused a change of a mask.
    pub refused: u64,
    /// How often the host sampled all threads.
    pub samples: u64,
    /// The longest time from one sample to the next.
    pub longest_gap: Ns,
    /// The CPU time that the host itself used.
    pub cost: Ns,
    /// What could not be observed, and why.
    pub missing: Vec<String>,
    /// What ran where, if the plan wants it.
    pub timeline: Option<Timeline>,
}

/// The account of the threads that began and ended between two samples, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Short {
    /// How many.
    pub threads: u64,
    /// Time that they ran, by core type.
    pub run: [Ns; MAX_TYPES],
    /// Time that they waited for a core.
    pub delay: Ns,
    /// How often one left a CPU, or came onto one.
    pub switches: u64,
    /// Time that they waited in the futex system call.
    pub waited: Ns,
    /// How often one was preempted.
    pub preempted: u64,
}

impl Short {
    /// One more such thread, by its last sample.
    pub(crate) fn add(&mut self, sample: &Sample) {
        self.threads += 1;
        for (sum, run) in self.run.iter_mut().zip(sample.run) {
            *sum += run;
        }
        self.delay += sample.delay;
        self.switches += sample.switches;
        if let Some(inside) = sample.inside {
            self.waited += inside.waited;
            self.preempted += inside.preempted;
        }
    }

    /// Time that they ran, on any core.
    pub fn total(&self) -> Ns {
        Ns(self.run.iter().map(|run| run.0).sum())
    }
}

/// The account of a thread.
#[derive(Clone, Debug)]
pub struct ThreadSummary {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub process: Tid,
    /// Its name.
    pub name: String,
    /// Application or service.
    pub kind: ThreadKind,
    /// Time that it ran, by core type.
    pub run: [Ns; MAX_TYPES],
    /// Time that it waited for a core.
    pub delay: Ns,
    /// How often it left a CPU, or came onto one.
    pub switches: u64,
    /// What only eBPF sees.
    pub inside: Option<Inside>,
    /// What was thought of it at its last sample, if the plan wants a timeline.
    pub judgement: Judgement,
}

/// A thread that waits in the futex system call for so many times as long as it runs waits for something to do: it is a spare one of a pool, or waits for the end of
/// all others (assumed).
const IDLE: u64 = 100;

impl ThreadSummary {
    /// Time that it ran, on any core.
    pub fn total(&self) -> Ns {
        Ns(self.run.iter().map(|run| run.0).sum())
    }

    /// Whether it waited for something to do, and not for what others did, as what serves a runtime system always does. No thread is to be blamed for that.
    pub fn idle(&self) -> bool {
        let spare = self.waited().0 > IDLE * self.total().0;
        spare || self.kind == ThreadKind::Service && self.waited() > Ns::ZERO
    }

    fn waited(&self) -> Ns {
        self.inside.map_or(Ns::ZERO, |inside| inside.waited)
    }
}

/// What the program did by the kernel's account of each switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenInside {
    /// Time that threads waited in the futex system call for others, all of them together.
    pub waited: Ns,
    /// Time that idle threads waited there.
    pub idle: Ns,
    /// How often a thread was preempted.
    pub preempted: u64,
}

impl Summary {
    /// What all threads together waited in the futex system call, and how often they were preempted; `None` if it could not
    /// be seen.
    pub fn inside(&self) -> Option<SeenInside> {
        self.pairs.as_ref()?;
        let mut seen = SeenInside { waited: self.short.waited, idle: Ns::ZERO, preempted: self.short.preempted };
        for thread in &self.threads {
            *(if thread.idle() { &mut seen.idle } else { &mut seen.waited }) += thread.waited();
            seen.preempted += thread.inside.map_or(0, |inside| inside.preempted);
        }
        Some(seen)
    }

    /// Sums up and sorts, given the CPU time that the program has used by the kernel's account.
    pub(crate) fn finish(&mut self, used: Ns) {
        self.threads.sort_by_key(|thread| (std::cmp::Reverse(thread.total()), thread.tid));
        self.blame_for_no_idleness();
        if let Some(pairs) = &mut self.pairs {
            pairs.sort_by_key(|pair| (std::cmp::Reverse(pair.waited), pair.waiter, pair.waker));
        }
        (self.run, self.delay, self.switches) = (self.short.run, self.short.delay, self.short.switches);
        for thread in &self.threads {
            self.delay += thread.delay;
            self.switches += thread.switches;
            for (sum, run) in self.run.iter_mut().zip(thread.run) {
                *sum += run;
            }
        }
        let seen = Ns(self.run.iter().map(|run| run.0).sum());
        (self.used, self.unseen) = (used.max(seen), used.since(seen));
    }

    /// Leaves out the waits of idle threads: what wakes one gives it something to do, and often is but the first or the last of all threads.
    fn blame_for_no_idleness(&mut self) {
        let Some(pairs) = &mut self.pairs else { return };
        let idle: BTreeSet<Tid> = self.threads.iter().filter(|thread| thread.idle()).map(|thread| thread.tid).collect();
        let mut excused: BTreeMap<Tid, Ns> = BTreeMap::new();
        pairs.retain(|pair| {
            let is_idle = idle.contains(&pair.waiter);
            if is_idle {
                *excused.entry(pair.waker).or_default() += pair.waited;
            }
            !is_idle
        });
        for thread in &mut self.threads {
            if let (Some(inside), Some(excused)) = (&mut thread.inside, excused.get(&thread.tid)) {
                inside.blame = inside.blame.since(*excused);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Turn;

    fn thread(tid: Tid, ran: u64, waited: u64, blame: u64) -> ThreadSummary {
        let mut run = [Ns::ZERO; MAX_TYPES];
        run[1] = Ns::from_ms(ran);
        let (waited, blame) = (Ns::from_ms(waited), Ns::from_ms(blame));
        let inside = Inside { turn: Turn::Off(Ns::ZERO), preempted: 2, waited, blame };
        ThreadSummary {
            tid,
            process: 1,
            name: String::new(),
            kind: ThreadKind::Application,
            run,
            delay: Ns::from_ms(1),
            switches: 0,
            inside: Some(inside),
            judgement: Judgement::default(),
        }
    }

    fn pair(waiter: Tid, waker: Tid, ms: u64) -> PairWaits {
        PairWaits { waiter, waker, waited: Ns::from_ms(ms), times: 1 }
    }

    /// A spare thread of a pool is woken once, at the end, by the thread that ends it.
    #[test]
    fn waiting_for_something_to_do_is_no_thread_s_fault() {
        let threads = vec![thread(1, 500, 100, 1250), thread(2, 300, 400, 100), thread(3, 2, 900, 0)];
        let pairs = Some(vec![pair(3, 1, 900), pair(2, 1, 350), pair(1, 2, 100)]);
        let mut summary = Summary { threads, pairs, ..Summary::default() };
        summary.finish(Ns::ZERO);
        let idle: Vec<bool> = summary.threads.iter().map(ThreadSummary::idle).collect();
        assert_eq!(idle, [false, false, true]);
        let seen = SeenInside { waited: Ns::from_ms(500), idle: Ns::from_ms(900), preempted: 6 };
        assert_eq!(summary.inside(), Some(seen));
        assert_eq!(summary.pairs, Some(vec![pair(2, 1, 350), pair(1, 2, 100)]));
        let blame: Vec<Ns> = summary.threads.iter().map(|thread| thread.inside.unwrap().blame).collect();
        assert_eq!(blame, [Ns::from_ms(350), Ns::from_ms(100), Ns::ZERO]);
    }
}

//! What a followed program did, and what following it cost.

use std::collections::BTreeSet;

use evenkeel_model::Ns;
use evenkeel_sched::ThreadKind;
use evenkeel_sched::policy::Judgement;

use super::timeline::Timeline;
use super::waits::{self, Waits};
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
    /// Which thread waited for which in the futex system call, the longest waits first; `None` if it could not be seen.
    pub pairs: Option<Vec<PairWaits>>,
    /// How long all threads together waited there, and for what; `None` if it could not be seen.
    pub waits: Option<Waits>,
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
    /// What only eBPF sees. The blame is for what threads waited that do not idle.
    pub inside: Option<Inside>,
    /// Whether what it waits for is work, not another thread ([`Waits::idle`]).
    pub idles: bool,
    /// What was thought of it at its last sample, if the plan wants a timeline.
    pub judgement: Judgement,
}

impl ThreadSummary {
    /// Time that it ran, on any core.
    pub fn total(&self) -> Ns {
        Ns(self.run.iter().map(|run| run.0).sum())
    }
}

impl Summary {
    /// How often all threads together were preempted; `None` if it could not be seen.
    pub fn preempted(&self) -> Option<u64> {
        self.pairs.as_ref()?;
        let seen = self.threads.iter().filter_map(|thread| thread.inside);
        Some(seen.map(|inside| inside.preempted).sum::<u64>() + self.short.preempted)
    }

    /// [`Self::pairs`] without those that waited for work.
    pub fn waiting_pairs(&self) -> impl Iterator<Item = &PairWaits> {
        let idle: BTreeSet<Tid> = self.threads.iter().filter(|thread| thread.idles).map(|thread| thread.tid).collect();
        self.pairs.iter().flatten().filter(move |pair| !idle.contains(&pair.waiter))
    }

    /// Sums up and sorts, given the CPU time that the program has used by the kernel's account, and how many cores there are.
    pub(crate) fn finish(&mut self, used: Ns, cores: usize) {
        self.threads.sort_by_key(|thread| (std::cmp::Reverse(thread.total()), thread.tid));
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
        waits::tell_apart(self, cores);
        let seen = Ns(self.run.iter().map(|run| run.0).sum());
        (self.used, self.unseen) = (used.max(seen), used.since(seen));
    }
}

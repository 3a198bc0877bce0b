//! What a followed program did, and what following it cost.

use evenkeel_model::Ns;
use evenkeel_sched::Kind;

use super::sample::MAX_TYPES;
use crate::event::Tid;

/// The account of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// From the start to the end of following.
    pub elapsed: Ns,
    /// Every thread that was seen, the ones that ran longest first.
    pub threads: Vec<ThreadSummary>,
    /// Time that all threads together ran, by core type.
    pub run: [Ns; MAX_TYPES],
    /// How often a thread was moved to another core type.
    pub moves: u64,
    /// How often a thread was bound to a set of cores.
    pub binds: u64,
    /// How often the kernel refused a change of a mask.
    pub refused: u64,
    /// How often the host looked.
    pub looks: u64,
    /// The longest time from one look to the next.
    pub longest_gap: Ns,
    /// The CPU time that the host itself used.
    pub cost: Ns,
    /// What could not be observed, and why.
    pub missing: Option<String>,
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
    pub kind: Kind,
    /// Time that it ran, by core type.
    pub run: [Ns; MAX_TYPES],
    /// Time that it waited for a core.
    pub delay: Ns,
}

impl ThreadSummary {
    /// Time that it ran, on any core.
    pub fn total(&self) -> Ns {
        Ns(self.run.iter().map(|run| run.0).sum())
    }
}

impl Summary {
    /// Sums up and sorts.
    pub(crate) fn finish(&mut self) {
        self.threads.sort_by_key(|thread| (std::cmp::Reverse(thread.total()), thread.tid));
        for thread in &self.threads {
            for (sum, run) in self.run.iter_mut().zip(thread.run) {
                *sum += run;
            }
        }
    }
}

//! The threads of a pool: how they start, and how they end.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evenkeel_model::stealing::Techniques;
use evenkeel_topology::Topology;

use crate::asymmetry::{self, Asymmetry, AsymmetryOptions, Uneven};
use crate::enter::unbind_forked;
use crate::error::Shortage;
use crate::fork::{self, Process};
use crate::missing::Missing;
use crate::state::PoolState;
use crate::thread::{Body, PoolThread};
use crate::worker::Worker;

/// How long a pool exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until it is dropped, which puts back what was changed.
    Scoped,
    /// Until the process ends, which is not announced: nothing must be changed that outlives it.
    Process,
}

/// What a pool has decided on, so that it can start its workers, in a forked process as well.
#[derive(Clone, Debug)]
pub(crate) struct PoolPlan {
    /// With the calling thread.
    pub(crate) threads: usize,
    pub(crate) name: String,
    pub(crate) cores: Option<Topology>,
    pub(crate) techniques: Option<Techniques>,
    pub(crate) turns: bool,
    pub(crate) times: bool,
    pub(crate) events: bool,
    pub(crate) on_missing: Option<fn(&Missing)>,
    pub(crate) lifetime: Lifetime,
}

/// The threads of a pool in one process, and what they share.
pub(crate) struct Workers {
    pub(crate) state: Arc<PoolState>,
    threads: Vec<PoolThread>,
    pub(crate) shortage: Option<Shortage>,
    pub(crate) missing: Vec<Missing>,
    /// Samples workers where cores differ: lets tasks take turns, and slows cores down that have less to do.
    turns: Option<PoolThread>,
}

thread_local! {
    /// Workers of pools that tasks of this thread have dropped.
    static DROPPED: RefCell<Vec<Workers>> = const { RefCell::new(Vec::new()) };
    /// Whether there are any. It has no destructor, so reading it is one load.
    static HAS_DROPPED: Cell<bool> = const { Cell::new(false) };
}

impl Default for PoolPlan {
    fn default() -> PoolPlan {
        PoolPlan {
            threads: 1,
            name: "evenkeel".to_owned(),
            cores: None,
            techniques: None,
            turns: true,
            times: false,
            events: false,
            on_missing: None,
            lifetime: Lifetime::Scoped,
        }
    }
}

impl PoolPlan {
    /// The asymmetry of a pool, if it has any.
    pub(crate) fn asymmetry(&self) -> (Option<Asymmetry>, Vec<Missing>) {
        let own = || asymmetry::this_machine_as_it_is().ok();
        let Some(topology) = self.cores.clone().or_else(|| (self.threads > 1).then(own).flatten()) else {
            return (None, Vec::new());
        };
        // The files of cpufreq belong to the parent. Those of an emulated machine end with it, so that nothing has to be put back.
        let temporary = self.lifetime == Lifetime::Scoped || evenkeel_topology::elsewhere();
        let files = temporary && !Process::is_child();
        asymmetry::asymmetry(AsymmetryOptions {
            topology: &topology,
            workers: self.threads,
            techniques: self.techniques,
            times: self.times,
            events: self.events,
            files,
            on_missing: self.on_missing,
        })
    }

    /// What the thread does that samples the workers, if the pool needs one.
    pub(crate) fn sampler(&self, state: &Arc<PoolState>) -> Option<Body> {
        let uneven = state.asymmetry.as_deref().and_then(Asymmetry::uneven);
        let takes_turns = self.turns && uneven.is_some_and(Uneven::mugs);
        let own = Arc::clone(state);
        let samples = takes_turns || uneven.is_some_and(Uneven::scales);
        samples.then(|| -> Body { Box::new(move || own.sample(takes_turns)) })
    }

    /// Starts the workers; fewer if the system refuses threads.
    pub(crate) fn start(&self) -> Workers {
        self.start_with(PoolThread::start)
    }

    /// As [`start`](Self::start), with threads from elsewhere.
    pub(crate) fn start_with(&self, mut spawn: impl FnMut(String, Body) -> io::Result<PoolThread>) -> Workers {
        fork::count_forks();
        if Process::is_child() {
            unbind_forked();
        }
        let PoolPlan { threads: wanted, name, .. } = self;
        let wanted = *wanted;
        let (asymmetry, missing) = self.asymmetry();
        let state = PoolState::new(wanted, asymmetry.map(Arc::new), None);
        let mut threads = Vec::with_capacity(wanted - 1);
        let mut shortage = None;
        for index in 1..wanted {
            let own = Arc::clone(&state);
            match spawn(format!("{name}-{index}"), Box::new(move || own.work(index))) {
                Ok(thread) => threads.push(thread),
                Err(reason) => {
                    shortage = Some(Shortage { got: index, wanted, reason });
                    break;
                }
            }
        }
        state.sleep.begin(1..threads.len() + 1);
        state.alone.store(threads.is_empty(), Ordering::Relaxed);
        let turns = self.sampler(&state).map(|body| spawn(format!("{name}-turns"), body));
        // Without that thread tasks stay where they are, and no core is slowed down. It counts as one of the missing threads.
        let turns = match turns {
            Some(Err(reason)) => {
                shortage.get_or_insert(Shortage { got: threads.len() + 1, wanted, reason });
                None
            }
            turns => turns.and_then(Result::ok),
        };
        Workers { state, threads, shortage, missing, turns }
    }
}

impl Workers {
    /// How many there are, the calling thread included.
    pub(crate) fn count(&self) -> usize {
        self.threads.len() + 1
    }

    /// Lets the workers finish and end.
    ///
    /// A task does not wait for that: any of these workers may wait for what this thread is doing, by a chain of tasks in any number of pools, or for the thread itself. The
    /// thread that called [`Pool::install`](crate::Pool::install) waits when it is back; a thread of a pool does not.
    pub(crate) fn end(self) {
        self.state.close();
        match Worker::outermost() {
            None => self.join(),
            // It is a thread of a pool, or its own pool is the one that ends: they end by themselves.
            Some(outermost) if outermost.has_thread() || Worker::slot_in(&self.state).is_some() => {}
            Some(_) => DROPPED.with_borrow_mut(|dropped| {
                dropped.retain(|workers| !workers.are_finished());
                dropped.push(self);
                HAS_DROPPED.set(true);
            }),
        }
    }

    fn are_finished(&self) -> bool {
        self.threads.iter().chain(&self.turns).all(PoolThread::is_finished)
    }

    fn join(mut self) {
        if self.state.is_lost() {
            // There is no such thread here.
            std::mem::forget(self);
            return;
        }
        for thread in self.threads.drain(..).chain(self.turns.take()) {
            thread.join();
        }
    }
}

/// At its end, panic or not, a thread that is in no pool any more waits for the workers of pools that it has dropped in tasks.
pub(crate) struct JoinDropped;

impl Drop for JoinDropped {
    #[inline]
    fn drop(&mut self) {
        if HAS_DROPPED.get() {
            join_dropped();
        }
    }
}

#[cold]
fn join_dropped() {
    while Worker::outermost().is_none() {
        // At the end of the thread they are gone already, and their threads are not waited for.
        match DROPPED.try_with(|dropped| dropped.borrow_mut().pop()) {
            Ok(Some(workers)) => workers.join(),
            Ok(None) | Err(_) => return HAS_DROPPED.set(false),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A search goes through all queues, so one search by each worker would make N workers cost N squared.
    #[test]
    fn workers_start_and_end_without_a_search() {
        for threads in [1, 2, 300] {
            let workers = PoolPlan { threads, ..PoolPlan::default() }.start();
            assert_eq!(workers.count(), threads);
            let state = Arc::clone(&workers.state);
            workers.end();
            let searches: u64 = state.slots.iter().map(|slot| slot.stats().failed_steals).sum();
            assert_eq!(searches, 0, "{threads} threads");
            assert_eq!(Arc::strong_count(&state), 1, "all have ended");
        }
    }
}

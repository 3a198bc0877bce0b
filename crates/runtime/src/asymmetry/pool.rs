//! The asymmetry of one pool: what its workers report, and what they get back.

use evenkeel_model::CoreTypeId;

use super::accounts::{Account, Accounts};
use super::activity::{Activities, Activity, Failures};
use super::placement::PoolCore;
use super::uneven::Uneven;
use crate::affinity::{self, Affinity, KernelAffinity, Mask};
use crate::missing::Missing;
use crate::trace::Event;

/// What a pool knows of its workers and cores, and does about them. See the module.
pub(crate) struct Asymmetry {
    pub(crate) activities: Activities,
    /// Where cores differ, and workers may be bound to them.
    uneven: Option<Uneven>,
    accounts: Option<Accounts>,
    /// The type of each CPU, for accounts of workers that are not bound.
    kinds: Vec<(u16, CoreTypeId)>,
}

impl Asymmetry {
    /// For so many workers; `None` if their cores do not differ and nothing is recorded.
    pub fn new(
        workers: usize,
        uneven: Option<Uneven>,
        accounts: Option<Accounts>,
        kinds: Vec<(u16, CoreTypeId)>,
    ) -> Option<Self> {
        (uneven.is_some() || accounts.is_some()).then(|| Self {
            activities: Activities::new(workers),
            uneven,
            accounts,
            kinds,
        })
    }

    /// The calling thread begins to be a worker, with a task or without, and goes to its core if it is free to. Returns what [`Self::leave`] needs.
    pub fn arrive(&self, worker: usize, free: bool, activity: Activity) -> Option<Mask> {
        let bound = self.uneven.as_ref().filter(|_| free);
        let before = bound.and_then(|uneven| uneven.arrive(worker, &self.activities, self.accounts.as_ref()));
        if activity == Activity::Active
            && let Some(uneven) = &self.uneven
        {
            uneven.serial(worker, true);
        }
        self.set(worker, activity);
        before
    }

    /// The calling thread is this worker no more, and may run wherever it might before.
    pub fn leave(&self, worker: usize, before: Option<Mask>) {
        if let (Some(uneven), Some(mask)) = (&self.uneven, before) {
            uneven.leave(worker, &mask, &self.activities, self.accounts.as_ref());
        }
        self.set(worker, Activity::Away);
    }

    /// The calling thread may go where it might before, in a process that has none of its pool's workers.
    pub fn unbind(before: &Mask) {
        let _ = KernelAffinity.restrict(affinity::own(), before);
    }

    /// The worker that waits on a bigger core, to which one that has failed so often leaves the tasks that there are (work-biasing, III.C).
    pub fn holds_back(&self, worker: usize, failed: u32) -> Option<usize> {
        self.uneven.as_ref()?.holds_back(worker, failed, &self.activities)
    }

    /// The worker to wake first of these, as a position among them: one whose core has no task, there the one on the biggest core, and of equals the last to fall
    /// asleep, whose caches are the warmest. `None` only if there are none.
    pub fn first_to_wake(&self, sleepers: &[usize]) -> Option<usize> {
        let order = |worker: usize| {
            let uneven = self.uneven.as_ref()?;
            Some((!uneven.has_its_core(worker, &self.activities), uneven.kind(worker)))
        };
        (0..sleepers.len()).rev().min_by_key(|place| order(sleepers[*place]))
    }

    /// The worker to steal from. `tasks` says how many are in a worker's queue.
    pub fn victim(&self, thief: usize, tasks: impl Fn(usize) -> usize) -> Option<usize> {
        let distance = |worker| match &self.uneven {
            Some(uneven) => uneven.distance(thief, worker),
            None => evenkeel_model::stealing::ring_distance(thief, worker, self.activities.workers()),
        };
        let others = (0..self.activities.workers()).filter(|worker| *worker != thief);
        evenkeel_model::stealing::victim(others.map(|worker| evenkeel_model::stealing::Queue {
            worker,
            tasks: tasks(worker),
            distance: distance(worker),
        }))
    }

    /// Notes a failed search. Returns true if the worker should stay awake to mug. Calls `away` before it leaves its core; if `away` returns false, it does
    /// not mug.
    pub fn failed(
        &self,
        worker: usize,
        failures: &mut Failures,
        tasks: impl Fn(usize) -> usize,
        away: impl FnOnce() -> bool,
    ) -> bool {
        if !evenkeel_model::stealing::waits(failures.failed) {
            return false;
        }
        self.set(worker, Activity::Waiting);
        let Some(uneven) = &self.uneven else { return false };
        uneven.mug(worker, failures, &self.activities, tasks, away, self.accounts.as_ref())
    }

    /// A worker has a task, or what it waits for is done. Returns the worker to wake because of that: one that waits on a bigger core, and may mug this one.
    pub fn found(&self, worker: usize) -> Option<usize> {
        // A worker that is active already, as most are, costs a load. An exchange, since the worker may get up by itself, and leave, while another thread
        // calls this.
        if self.activities.get(worker) != Activity::Waiting
            || !self.activities.exchange(worker, Activity::Waiting, Activity::Active)
        {
            return None;
        }
        self.changed(worker, Activity::Waiting, Activity::Active);
        self.uneven.as_ref()?.bigger_that_could_mug(worker, &self.activities)
    }

    /// What happens on cores that differ, if they do.
    pub fn uneven(&self) -> Option<&Uneven> {
        self.uneven.as_ref()
    }

    /// Samples workers once a quantum until [`Uneven::stop`] is called: slows cores down that have less to do, and, with `turns`, lets long tasks take turns on the bigger cores. `marks` changes when a worker gets another task, and `more` says whether
    /// there are tasks that no worker has begun.
    pub fn sample(&self, turns: bool, marks: impl Fn(usize) -> (isize, isize, u64), more: impl Fn() -> bool) {
        if let Some(uneven) = &self.uneven {
            uneven.sample(turns, &self.activities, marks, more, self.accounts.as_ref());
        }
    }

    /// What a worker did until now.
    pub fn account(&self, worker: usize) -> Option<Account> {
        self.accounts.as_ref().map(|accounts| accounts.account(worker))
    }

    /// What all workers did, by time.
    pub fn events(&self) -> Vec<Event> {
        self.accounts.as_ref().map(Accounts::events).unwrap_or_default()
    }

    /// What has turned out to be missing since the pool was made.
    pub fn missing(&self) -> Vec<Missing> {
        self.uneven.as_ref().map(Uneven::missing).unwrap_or_default()
    }

    pub(super) fn set(&self, worker: usize, activity: Activity) {
        let before = self.activities.set(worker, activity);
        if before != activity {
            self.changed(worker, before, activity);
        }
    }

    /// What follows from a change.
    fn changed(&self, worker: usize, before: Activity, activity: Activity) {
        if let Some(accounts) = &self.accounts {
            accounts.note(worker, || (self.activities.get(worker), self.core(worker)));
        }
        // Without a task it makes no difference to voltages and turns whether there is a thread: N of them may start without each concerning all others.
        if let Some(uneven) = &self.uneven
            && (before == Activity::Active || activity == Activity::Active)
        {
            uneven.changed(activity, &self.activities);
        }
    }

    pub(super) fn core(&self, worker: usize) -> PoolCore {
        if let Some(uneven) = &self.uneven {
            return uneven.core(worker);
        }
        let cpu = affinity::here();
        let kind = self.kinds.iter().find(|(other, _)| *other == cpu).map_or(CoreTypeId(0), |(_, kind)| *kind);
        PoolCore::at(cpu, kind)
    }
}

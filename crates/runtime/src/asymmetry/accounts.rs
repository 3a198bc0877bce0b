//! What each worker did, when and where: for counters by core type, and for traces. Kept only if [`Record`](crate::Record) wants it.

use crossbeam_utils::CachePadded;
use evenkeel_model::Ns;

use super::activity::Activity;
use super::placement::PoolCore;
use crate::clock;
use crate::sync::{Mutex, lock};
use crate::trace::{Event, What};

/// Accounts of all workers.
pub(crate) struct Accounts {
    accounts: Box<[CachePadded<Mutex<WorkerAccount>>]>,
    traced: bool,
}

/// The account of one worker.
struct WorkerAccount {
    activity: Activity,
    core: Option<PoolCore>,
    since: Ns,
    spans: Vec<Spans>,
    mugs: u64,
    turns: u64,
    events: Vec<Event>,
}

/// Time on the cores of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// With a task.
    pub busy: Ns,
    /// Searching for one, or asleep.
    pub waiting: Ns,
}

/// What a worker has done since its pool was made, or all workers of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Times on the cores of each type, the biggest first.
    pub spans: Vec<Spans>,
    /// How often it has taken over the core of a smaller worker, for that worker's task.
    pub mugs: u64,
    /// How often it has got a bigger core because its task was behind another.
    pub turns: u64,
}

impl WorkerAccount {
    /// Accounts for what was until now.
    fn close(&mut self, now: Ns) {
        let span = now.since(self.since);
        self.since = now;
        if let Some(of) = self.core.and_then(|core| self.spans.get_mut(core.kind.index())) {
            match self.activity {
                Activity::Active => of.busy += span,
                Activity::Waiting => of.waiting += span,
                Activity::Away => {}
            }
        }
    }
}

impl Accounts {
    /// Empty ones.
    pub fn new(workers: usize, kinds: usize, traced: bool) -> Self {
        let account = || WorkerAccount {
            activity: Activity::Away,
            core: None,
            since: Ns::ZERO,
            spans: vec![Spans::default(); kinds],
            mugs: 0,
            turns: 0,
            events: Vec::new(),
        };
        Self { accounts: (0..workers).map(|_| CachePadded::new(Mutex::new(account()))).collect(), traced }
    }

    /// From now on a worker does what `is` says, on that core. It is called under the lock: several threads may note what
    /// one worker does, and what is noted last has to be the latest.
    pub fn note(&self, worker: usize, is: impl FnOnce() -> (Activity, PoolCore)) {
        let mut account = lock(&self.accounts[worker]);
        let (activity, core) = is();
        let now = clock::now();
        account.close(now);
        (account.activity, account.core) = (activity, Some(core));
        if self.traced {
            let what = match activity {
                Activity::Away => What::Leaves,
                Activity::Active => What::Runs,
                Activity::Waiting => What::Waits,
            };
            account.events.push(Event { at: now, worker, cpu: core.cpu, what });
        }
    }

    /// A worker that waits has taken over the core of another for that one's task.
    pub fn mugs(&self, worker: usize) {
        lock(&self.accounts[worker]).mugs += 1;
    }

    /// A worker has got a bigger core for its task, in turn.
    pub fn turns(&self, worker: usize) {
        lock(&self.accounts[worker]).turns += 1;
    }

    /// What a worker did until now.
    pub fn account(&self, worker: usize) -> Account {
        let mut account = lock(&self.accounts[worker]);
        account.close(clock::now());
        Account { spans: account.spans.clone(), mugs: account.mugs, turns: account.turns }
    }

    /// All events of all workers by time.
    pub fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = self.accounts.iter().flat_map(|account| lock(account).events.clone()).collect();
        events.sort_by_key(|event| event.at);
        events
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use evenkeel_model::CoreTypeId;

    use super::*;

    #[test]
    fn what_a_worker_does_is_read_when_no_other_thread_can_note_it() {
        let accounts = Accounts::new(1, 1, true);
        accounts.note(0, || {
            assert!(accounts.accounts[0].try_lock().is_err(), "another note could come in between");
            (Activity::Active, PoolCore::at(3, CoreTypeId(0)))
        });
        let noted: Vec<_> = accounts.events().iter().map(|event| (event.what, event.cpu)).collect();
        assert_eq!(noted, [(What::Runs, 3)]);
    }
}

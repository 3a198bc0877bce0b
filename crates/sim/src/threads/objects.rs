//! What threads share: locks, barriers, queues, conditions, semaphores, events, timers. Who waits is kept in order of
//! arrival; whether a woken thread gets the object is decided when it runs again, as with futexes. Each lock, barrier, queue and
//! semaphore is a cache line, which is where it was written last.

use std::collections::VecDeque;

use evenkeel_model::{CoreId, Machine, Ns, ThreadId};

use crate::threads::code::{Code, Extent};
use crate::threads::split::Split;

#[derive(Debug, Default)]
pub(crate) struct Lock {
    pub holder: Option<ThreadId>,
    pub waiters: VecDeque<ThreadId>,
    pub written_on: Option<CoreId>,
}

#[derive(Debug)]
pub(crate) struct Barrier {
    pub parties: usize,
    pub waiters: VecDeque<ThreadId>,
    pub written_on: Option<CoreId>,
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub items: u64,
    pub capacity: u64,
    pub open_producers: u32,
    pub getters: VecDeque<ThreadId>,
    pub putters: VecDeque<ThreadId>,
    pub taken: u64,
    pub written_on: Option<CoreId>,
    /// Items x time in the queue so far, in item-nanoseconds; by Little's law the sum of all waits.
    pub waited: u64,
    changed: Ns,
}

impl Queue {
    /// Adds or removes an item.
    pub(crate) fn change(&mut self, now: Ns, items: u64) {
        self.waited += self.items * now.since(self.changed).0;
        self.changed = now;
        self.taken += self.items.saturating_sub(items);
        self.items = items;
    }

    /// No item is left and none will come.
    pub(crate) fn finished(&self) -> bool {
        self.items == 0 && self.open_producers == 0
    }
}

#[derive(Debug)]
pub(crate) struct Semaphore {
    pub count: u64,
    pub waiters: VecDeque<ThreadId>,
    pub written_on: Option<CoreId>,
}

/// All shared objects of a run.
#[derive(Debug)]
pub(crate) struct Objects {
    pub locks: Vec<Lock>,
    pub barriers: Vec<Barrier>,
    pub queues: Vec<Queue>,
    pub conditions: Vec<VecDeque<ThreadId>>,
    pub semaphores: Vec<Semaphore>,
    /// How many items of each list are taken.
    pub lists: Vec<usize>,
    pub events: Vec<VecDeque<ThreadId>>,
    pub splits: Vec<Split>,
    /// The latest expiry of each timer, once it was used.
    pub timers: Vec<Option<Ns>>,
}

impl Objects {
    pub(crate) fn new(code: &Code, machine: &Machine) -> Self {
        let barrier = |(_, parties): &(String, u32)| Barrier {
            parties: *parties as usize,
            waiters: VecDeque::new(),
            written_on: None,
        };
        let queue = |queue: &evenkeel_workload::program::Queue| Queue {
            items: queue.filled,
            capacity: queue.capacity,
            open_producers: queue.producers,
            getters: VecDeque::new(),
            putters: VecDeque::new(),
            taken: 0,
            written_on: None,
            waited: 0,
            changed: Ns::ZERO,
        };
        let semaphore =
            |(_, count): &(String, u64)| Semaphore { count: *count, waiters: VecDeque::new(), written_on: None };
        Self {
            locks: code.locks.iter().map(|_| Lock::default()).collect(),
            barriers: code.barriers.iter().map(barrier).collect(),
            queues: code.queues.iter().map(queue).collect(),
            conditions: code.conditions.iter().map(|_| VecDeque::new()).collect(),
            semaphores: code.semaphores.iter().map(semaphore).collect(),
            lists: vec![0; code.lists.len()],
            events: code.events.iter().map(|_| VecDeque::new()).collect(),
            splits: code.splits.iter().map(|threads| Split::new(machine, *threads as usize)).collect(),
            timers: vec![None; code.timers],
        }
    }

    /// Those of one program as they were at the start: it begins again, and what its last run left behind is gone. What
    /// went through its queues stays counted.
    pub(crate) fn reset(&mut self, now: Ns, code: &Code, of: &Extent) {
        self.locks[of.locks.clone()].fill_with(Lock::default);
        self.barriers[of.barriers.clone()].iter_mut().for_each(|barrier| barrier.waiters.clear());
        for (queue, new) in self.queues[of.queues.clone()].iter_mut().zip(&code.queues[of.queues.clone()]) {
            queue.change(now, new.filled);
            queue.open_producers = new.producers;
            queue.getters.clear();
            queue.putters.clear();
        }
        self.conditions[of.conditions.clone()].iter_mut().for_each(VecDeque::clear);
        for (semaphore, new) in
            self.semaphores[of.semaphores.clone()].iter_mut().zip(&code.semaphores[of.semaphores.clone()])
        {
            semaphore.count = new.1;
            semaphore.waiters.clear();
        }
        self.lists[of.lists.clone()].fill(0);
        self.events[of.events.clone()].iter_mut().for_each(VecDeque::clear);
        self.splits[of.splits.clone()].iter_mut().for_each(Split::forget);
        self.timers[of.timers.clone()].fill(None);
    }
}

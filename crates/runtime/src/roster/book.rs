//! What each worker did, when and where: for counters by core type, and for traces. Kept only where somebody asked for it.

use std::sync::Mutex;

use crossbeam_utils::CachePadded;
use evenkeel_model::Ns;

use super::places::Seat;
use super::{Doing, lock};
use crate::clock;
use crate::trace::{Event, What};

/// Books of all workers.
pub(crate) struct Books {
    pages: Box<[CachePadded<Mutex<Page>>]>,
    traced: bool,
}

/// The book of one worker.
struct Page {
    doing: Doing,
    seat: Option<Seat>,
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
    /// Looking for one, or asleep.
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

impl Page {
    /// Accounts for what was until now.
    fn turn(&mut self, now: Ns) {
        let span = now.since(self.since);
        self.since = now;
        if let Some(of) = self.seat.and_then(|seat| self.spans.get_mut(seat.kind.index())) {
            match self.doing {
                Doing::Active => of.busy += span,
                Doing::Waiting => of.waiting += span,
                Doing::Away => {}
            }
        }
    }
}

impl Books {
    /// Empty ones.
    pub fn new(workers: usize, kinds: usize, traced: bool) -> Self {
        let page = || Page {
            doing: Doing::Away,
            seat: None,
            since: Ns::ZERO,
            spans: vec![Spans::default(); kinds],
            mugs: 0,
            turns: 0,
            events: Vec::new(),
        };
        Self { pages: (0..workers).map(|_| CachePadded::new(Mutex::new(page()))).collect(), traced }
    }

    /// From now on a worker does this, on this core.
    pub fn note(&self, worker: usize, doing: Doing, seat: Seat) {
        let now = clock::now();
        let mut page = lock(&self.pages[worker]);
        page.turn(now);
        (page.doing, page.seat) = (doing, Some(seat));
        if self.traced {
            let what = match doing {
                Doing::Away => What::Leaves,
                Doing::Active => What::Runs,
                Doing::Waiting => What::Waits,
            };
            page.events.push(Event { at: now, worker, cpu: seat.cpu, what });
        }
    }

    /// A worker has taken over the core of another, on which it waits no more, and from now on waits on this one.
    pub fn mugs(&self, worker: usize) {
        lock(&self.pages[worker]).mugs += 1;
    }

    /// A worker has got a bigger core, and its task goes on there.
    pub fn turns(&self, worker: usize) {
        lock(&self.pages[worker]).turns += 1;
    }

    /// What a worker's book says now.
    pub fn account(&self, worker: usize) -> Account {
        let mut page = lock(&self.pages[worker]);
        page.turn(clock::now());
        Account { spans: page.spans.clone(), mugs: page.mugs, turns: page.turns }
    }

    /// All events of all workers by time.
    pub fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = self.pages.iter().flat_map(|page| lock(page).events.clone()).collect();
        events.sort_by_key(|event| event.at);
        events
    }
}

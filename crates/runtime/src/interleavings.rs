//! The queue and the sleepers under every interleaving that loom finds: `scripts/races loom`.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::thread;

use crate::asking::Asking;
use crate::deque::{Deque, Steal};
use crate::fence;
use crate::latch::Latch;
use crate::roster::{Books, Roster};
use crate::sleep::Sleep;

/// Tasks that count how often they were taken, and a queue for them.
struct Table {
    tasks: [AtomicUsize; 3],
    deque: Deque<AtomicUsize>,
}

impl Table {
    fn new() -> Arc<Table> {
        Arc::new(Table { tasks: Default::default(), deque: Deque::new() })
    }

    fn push(&self, task: usize) -> isize {
        // SAFETY: called by the thread of the model that is the owner.
        unsafe { self.deque.push(NonNull::from(&self.tasks[task])) }
    }

    fn steal(&self) {
        if let Steal::Task(task) = self.deque.steal() {
            took(task);
        }
    }

    /// Empties the queue, and checks that each of the first `count` tasks was taken once.
    fn check(&self, count: usize) {
        // SAFETY: the owner again.
        while let Some(task) = unsafe { self.deque.pop(0) } {
            took(task);
        }
        for (index, task) in self.tasks.iter().enumerate() {
            assert_eq!(task.load(Relaxed), usize::from(index < count), "task {index}");
        }
    }
}

fn took(task: NonNull<AtomicUsize>) {
    // SAFETY: the table has them.
    unsafe { task.as_ref() }.fetch_add(1, Relaxed);
}

#[test]
fn owner_and_thief() {
    loom::model(|| {
        let table = Table::new();
        let other = Arc::clone(&table);
        let thief = thread::spawn(move || {
            other.steal();
            other.steal();
        });
        table.push(0);
        table.push(1);
        // SAFETY: this thread is the owner.
        if let Some(task) = unsafe { table.deque.pop(0) } {
            took(task);
        }
        // SAFETY: as above.
        if let Some(task) = unsafe { table.deque.pop(0) } {
            took(task);
        }
        thief.join().unwrap();
        table.check(2);
    });
}

#[test]
fn the_last_task_of_a_join() {
    loom::model(|| {
        let table = Table::new();
        let thieves = [0, 1].map(|_| {
            let other = Arc::clone(&table);
            thread::spawn(move || other.steal())
        });
        let ticket = table.push(0);
        // SAFETY: this thread is the owner, and the model's fences are what `pop_at` expects.
        if unsafe { table.deque.pop_at(ticket) } {
            took(NonNull::from(&table.tasks[0]));
        }
        table.push(1);
        for thief in thieves {
            thief.join().unwrap();
        }
        table.check(2);
    });
}

#[test]
fn growing_while_being_robbed() {
    loom::model(|| {
        let table = Table::new();
        let other = Arc::clone(&table);
        let thief = thread::spawn(move || {
            other.steal();
            other.steal();
        });
        for task in 0..3 {
            table.push(task);
        }
        thief.join().unwrap();
        table.check(3);
    });
}

/// An owner who answers after every push, and a thief who asks, loses its patience at any time, and then takes by itself.
#[test]
fn who_asks_and_who_answers() {
    loom::model(|| {
        let table = Table::new();
        let asking = Arc::new([Asking::new(), Asking::new()]);
        let (other, asked) = (Arc::clone(&table), Arc::clone(&asking));
        let thief = thread::spawn(move || {
            let mut looks = 0;
            let patient = || {
                thread::yield_now();
                looks += 1;
                looks < 2
            };
            match asked[1].ask(&asked[0], 1, patient) {
                Some(Some(task)) => took(task),
                Some(None) => {}
                None => other.steal(),
            }
        });
        for task in 0..2 {
            table.push(task);
            if let Some(asker) = asking[0].asker() {
                // SAFETY: this thread is the owner.
                asking[asker].answer(unsafe { table.deque.give() });
            }
        }
        // SAFETY: as above.
        if let Some(task) = unsafe { table.deque.pop(0) } {
            took(task);
        }
        thief.join().unwrap();
        table.check(2);
    });
}

/// Workers that take one task each, and sleep when there is none.
struct Crew {
    sleep: Sleep,
    tasks: AtomicUsize,
}

/// Decides who is called first, as on cores that differ.
fn roster(workers: usize) -> std::sync::Arc<Roster> {
    std::sync::Arc::new(Roster::new(workers, None, Some(Books::new(workers, 1, false)), Vec::new()).unwrap())
}

impl Crew {
    fn new(workers: usize) -> Arc<Crew> {
        Crew::under(None, workers)
    }

    fn under(roster: Option<std::sync::Arc<Roster>>, workers: usize) -> Arc<Crew> {
        Arc::new(Crew { sleep: Sleep::new(workers, roster), tasks: AtomicUsize::new(0) })
    }

    fn push(&self) {
        // Only one thread of the model pushes.
        self.tasks.fetch_add(1, Release);
        fence::free();
        if self.sleep.is_alarmed() {
            self.sleep.notify();
        }
    }

    fn take(&self) -> bool {
        self.tasks.fetch_update(SeqCst, SeqCst, |tasks| tasks.checked_sub(1)).is_ok()
    }

    fn work(&self, worker: usize) {
        let mut called = false;
        while !self.take() {
            called |= self.sleep.sleep(worker, || self.tasks.load(Acquire) > 0);
        }
        if called {
            self.sleep.pass_on(|| self.tasks.load(Acquire) > 0);
        }
    }
}

#[test]
fn a_sleeper_is_called() {
    loom::model(|| {
        let crew = Crew::new(1);
        let other = Arc::clone(&crew);
        let worker = thread::spawn(move || other.work(0));
        crew.push();
        worker.join().unwrap();
    });
}

/// A worker that gets up by itself leaves the alarm on and the list empty. A push that finds nobody there turns the alarm off; the one after it calls the
/// worker, which may have lain down again by then.
#[test]
fn a_call_that_finds_nobody_loses_no_call_after_it() {
    for chosen in [false, true] {
        loom::model(move || {
            let crew = Crew::under(chosen.then(|| roster(1)), 1);
            assert!(!crew.sleep.sleep(0, || true), "it was not called");
            let other = Arc::clone(&crew);
            let worker = thread::spawn(move || {
                other.work(0);
                other.work(0);
            });
            crew.push();
            crew.push();
            worker.join().unwrap();
        });
    }
}

#[test]
fn two_sleepers_are_called_for_two_tasks() {
    [false, true].into_iter().for_each(two_sleepers);
}

fn two_sleepers(chosen: bool) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let crew = Crew::under(chosen.then(|| roster(2)), 2);
        let workers = [0, 1].map(|worker| {
            let crew = Arc::clone(&crew);
            thread::spawn(move || crew.work(worker))
        });
        crew.push();
        crew.push();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn an_opened_latch_wakes_its_sleeper() {
    loom::model(|| {
        let shared = Arc::new((Crew::new(1), Latch::new()));
        let other = Arc::clone(&shared);
        let worker = thread::spawn(move || {
            let (crew, latch) = &*other;
            while !latch.is_open() {
                if latch.doze(0) {
                    let _ = crew.sleep.sleep(0, || latch.is_open());
                    latch.rise(0);
                }
            }
        });
        let (crew, latch) = &*shared;
        // SAFETY: `shared` has it.
        if let Some(sleeper) = unsafe { Latch::open(latch) } {
            crew.sleep.wake(sleeper);
        }
        worker.join().unwrap();
    });
}

//! The queue, the sleepers and what workers do under every interleaving that loom finds: `scripts/races loom`.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::thread;

use crate::asymmetry::{Accounts, Activity, Asymmetry};
use crate::deque::{Deque, StealResult};
use crate::fence;
use crate::latch::Latch;
use crate::sleep::Sleep;
use crate::steal_request::StealRequest;
use crate::trace::What;

/// Tasks that count how often they were taken, and a queue for them.
struct QueueModel {
    tasks: [AtomicUsize; 3],
    deque: Deque<AtomicUsize>,
}

impl QueueModel {
    fn new() -> Arc<QueueModel> {
        Arc::new(QueueModel { tasks: Default::default(), deque: Deque::new() })
    }

    fn push(&self, task: usize) -> isize {
        // SAFETY: called by the thread of the model that is the owner.
        unsafe { self.deque.push(NonNull::from(&self.tasks[task])) }
    }

    fn steal(&self) {
        if let StealResult::Task(task) = self.deque.steal() {
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
    // SAFETY: the model has them.
    unsafe { task.as_ref() }.fetch_add(1, Relaxed);
}

#[test]
fn owner_and_thief() {
    loom::model(|| {
        let model = QueueModel::new();
        let other = Arc::clone(&model);
        let thief = thread::spawn(move || {
            other.steal();
            other.steal();
        });
        model.push(0);
        model.push(1);
        // SAFETY: this thread is the owner.
        if let Some(task) = unsafe { model.deque.pop(0) } {
            took(task);
        }
        // SAFETY: as above.
        if let Some(task) = unsafe { model.deque.pop(0) } {
            took(task);
        }
        thief.join().unwrap();
        model.check(2);
    });
}

#[test]
fn the_last_task_of_a_join() {
    loom::model(|| {
        let model = QueueModel::new();
        let thieves = [0, 1].map(|_| {
            let other = Arc::clone(&model);
            thread::spawn(move || other.steal())
        });
        let ticket = model.push(0);
        // SAFETY: this thread is the owner, and the model's fences are what `pop_at` expects.
        if unsafe { model.deque.pop_at(ticket) } {
            took(NonNull::from(&model.tasks[0]));
        }
        model.push(1);
        for thief in thieves {
            thief.join().unwrap();
        }
        model.check(2);
    });
}

#[test]
fn growing_while_being_robbed() {
    loom::model(|| {
        let model = QueueModel::new();
        let other = Arc::clone(&model);
        let thief = thread::spawn(move || {
            other.steal();
            other.steal();
        });
        for task in 0..3 {
            model.push(task);
        }
        thief.join().unwrap();
        model.check(3);
    });
}

/// An owner that replies after every push, and a thief that requests a task, takes the request back at any time, and then takes by itself.
#[test]
fn a_request_and_its_reply() {
    loom::model(|| {
        let model = QueueModel::new();
        let requests = Arc::new([StealRequest::new(), StealRequest::new()]);
        let (other, theirs) = (Arc::clone(&model), Arc::clone(&requests));
        let thief = thread::spawn(move || {
            let mut tries = 0;
            let wait = || {
                thread::yield_now();
                tries += 1;
                tries < 2
            };
            match theirs[1].request(&theirs[0], 1, wait) {
                Some(Some(task)) => took(task),
                Some(None) => {}
                None => other.steal(),
            }
        });
        for task in 0..2 {
            model.push(task);
            if let Some(thief) = requests[0].accept() {
                // SAFETY: this thread is the owner.
                requests[thief].reply(unsafe { model.deque.give() });
            }
        }
        // SAFETY: as above.
        if let Some(task) = unsafe { model.deque.pop(0) } {
            took(task);
        }
        thief.join().unwrap();
        model.check(2);
    });
}

/// Workers that take one task each, and sleep when there is none.
struct SleepModel {
    sleep: Sleep,
    tasks: AtomicUsize,
}

/// Decides which sleeper is woken first, as on cores that differ.
fn asymmetry(workers: usize) -> std::sync::Arc<Asymmetry> {
    std::sync::Arc::new(Asymmetry::new(workers, None, Some(Accounts::new(workers, 1, true)), Vec::new()).unwrap())
}

impl SleepModel {
    fn new(workers: usize) -> Arc<SleepModel> {
        SleepModel::under(None, workers)
    }

    fn under(asymmetry: Option<std::sync::Arc<Asymmetry>>, workers: usize) -> Arc<SleepModel> {
        Arc::new(SleepModel { sleep: Sleep::new(workers, asymmetry), tasks: AtomicUsize::new(0) })
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
        self.work_from(worker, false);
    }

    /// Takes one task. It may have been woken for that already.
    fn work_from(&self, worker: usize, mut woken: bool) {
        while !self.take() {
            woken |= self.sleep.sleep(worker, || self.tasks.load(Acquire) > 0);
        }
        if woken {
            self.sleep.pass_on(|| self.tasks.load(Acquire) > 0);
        }
    }
}

#[test]
fn a_sleeper_is_woken() {
    loom::model(|| {
        let crew = SleepModel::new(1);
        let other = Arc::clone(&crew);
        let worker = thread::spawn(move || other.work(0));
        crew.push();
        worker.join().unwrap();
    });
}

/// A worker that gets up by itself leaves the alarm on and the list empty. A push that finds the list empty turns the alarm off; the one after it wakes the
/// worker, which may sleep again by then.
#[test]
fn a_push_that_finds_no_sleeper_loses_no_wake_up_after_it() {
    for chosen in [false, true] {
        loom::model(move || {
            let crew = SleepModel::under(chosen.then(|| asymmetry(1)), 1);
            assert!(!crew.sleep.sleep(0, || true), "no push has woken it");
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
fn two_sleepers_are_woken_for_two_tasks() {
    [false, true].into_iter().for_each(two_sleepers);
}

fn two_sleepers(chosen: bool) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let crew = SleepModel::under(chosen.then(|| asymmetry(2)), 2);
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
        let shared = Arc::new((SleepModel::new(1), Latch::new()));
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
            crew.sleep.wake_for_latch(sleeper);
        }
        worker.join().unwrap();
    });
}

/// What a worker waits for is done just when it gets up by itself, and leaves.
#[test]
fn a_worker_that_has_left_is_not_active() {
    loom::model(|| {
        let asymmetry = asymmetry(1);
        asymmetry.arrive(0, false, Activity::Waiting);
        let other = std::sync::Arc::clone(&asymmetry);
        let waker = thread::spawn(move || other.found(0));
        asymmetry.found(0);
        asymmetry.leave(0, None);
        waker.join().unwrap();
        assert_eq!(asymmetry.activities.get(0), Activity::Away);
        assert_eq!(asymmetry.events().last().map(|event| event.what), Some(What::Leaves), "that is noted last");
    });
}

impl SleepModel {
    /// What a thread of a pool does, from its start to the end of the pool.
    fn live(&self, worker: usize, closed: &Latch) {
        let mut woken = self.sleep.first(worker);
        while !closed.is_open() {
            if self.take() {
                if std::mem::take(&mut woken) {
                    self.sleep.pass_on(|| self.tasks.load(Acquire) > 0);
                }
            } else if closed.doze(worker) {
                woken |= self.sleep.sleep(worker, || closed.is_open() || self.tasks.load(Acquire) > 0);
                closed.rise(worker);
            }
        }
        if !self.sleep.closed_at_rest() {
            while self.take() {}
        }
    }
}

/// Workers begin asleep, on the list before they run: a push that comes first wakes one of them all the same.
#[test]
fn workers_that_begin_asleep_are_woken() {
    [false, true].into_iter().for_each(|chosen| {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let crew = SleepModel::under(chosen.then(|| asymmetry(2)), 2);
            crew.sleep.begin(0..2);
            let workers = [0, 1].map(|worker| {
                let crew = Arc::clone(&crew);
                thread::spawn(move || crew.work_from(worker, crew.sleep.first(worker)))
            });
            crew.push();
            crew.push();
            for worker in workers {
                worker.join().unwrap();
            }
        });
    });
}

/// A pool that is dropped, with a task or without: its workers end, and leave no task.
#[test]
fn closing_wakes_all_workers_and_leaves_no_task() {
    for tasks in 0..2 {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(move || {
            let shared = Arc::new((SleepModel::new(2), [Latch::new(), Latch::new()]));
            shared.0.sleep.begin(0..2);
            let workers = [0, 1].map(|worker| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.0.live(worker, &shared.1[worker]))
            });
            let (crew, closed) = &*shared;
            (0..tasks).for_each(|_| crew.push());
            for latch in closed {
                // SAFETY: `shared` has it.
                let _ = unsafe { Latch::open(latch) };
            }
            crew.sleep.close();
            for worker in workers {
                worker.join().unwrap();
            }
            assert!(!crew.take(), "a task is left");
        });
    }
}

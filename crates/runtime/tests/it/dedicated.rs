//! Dedicated pools: what Rayon's own tests (`scripts/rayon`) do not see, most of all such pools beside others.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use evenkeel_runtime::Pool;
use evenkeel_runtime::dedicated::{DedicatedOptions, DedicatedPool, Handlers, Here, Settled, WorkerStart, here};

fn thread_for(worker: WorkerStart) -> io::Result<()> {
    thread::Builder::new().spawn(|| worker.run()).map(drop)
}

/// Releases its pool, and waits for the threads.
struct Scoped(DedicatedPool);

impl Scoped {
    fn new(threads: usize) -> Scoped {
        let options = DedicatedOptions { threads, ..DedicatedOptions::default() };
        Scoped(DedicatedPool::start(options, thread_for).expect("threads start"))
    }
}

impl Drop for Scoped {
    fn drop(&mut self) {
        self.0.release();
        self.0.wait_until_stopped();
    }
}

#[test]
fn a_thread_from_outside_waits_outside() {
    let Scoped(pool) = &Scoped::new(2);
    let me = thread::current().id();
    assert_eq!(pool.index(), None);
    assert!(here(|worker| worker.is_none()));
    let (index, id) = pool.install(|| (pool.index(), thread::current().id()));
    assert!(index.is_some_and(|index| index < 2));
    assert_ne!(id, me);
    let panic = catch_unwind(AssertUnwindSafe(|| pool.install(|| panic!("on"))));
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"on"));
}

#[test]
fn what_was_spawned_is_run_before_the_threads_end() {
    let done = &*Box::leak(Box::new(AtomicUsize::new(0)));
    {
        let Scoped(pool) = &Scoped::new(2);
        for _ in 0..10 {
            let inner = pool.clone();
            pool.spawn(move || {
                thread::yield_now();
                inner.spawn_fifo(|| _ = done.fetch_add(1, Relaxed));
                inner.spawn_broadcast(|_| _ = done.fetch_add(1, Relaxed));
            });
        }
        pool.release();
        pool.release();
    }
    assert_eq!(done.load(Relaxed), 10 + 2 * 10);
}

/// It waits for what comes after the join, and may: the other half has been run elsewhere.
#[test]
fn a_join_that_is_done_does_not_run_what_was_spawned_meanwhile() {
    let Scoped(pool) = &Scoped::new(2);
    let late = &*Box::leak(Box::new(AtomicUsize::new(0)));
    for _ in 0..20 {
        let (sends, receives) = channel::<()>();
        let elsewhere = AtomicBool::new(false);
        pool.install(|| {
            let spawns = |_| {
                while !elsewhere.load(Acquire) {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(2));
                let waits = move || {
                    late.fetch_add(usize::from(receives.recv_timeout(Duration::from_secs(5)).is_err()), Relaxed)
                };
                pool.spawn(move || _ = waits());
            };
            here(|worker| worker.expect("this is a worker").join(spawns, |_| elsewhere.store(true, Release)));
            sends.send(()).expect("it is waited for");
        });
    }
    assert_eq!(late.load(Relaxed), 0);
}

/// Each waits for the other: the task in the queue below the place where its worker waits has to be run there.
#[test]
fn a_worker_that_waits_for_another_pool_runs_what_it_has_spawned_before() {
    let (Scoped(first), Scoped(second)) = (&Scoped::new(1), &Scoped::new(1));
    let (sends, receives) = channel();
    let received = first.install(|| {
        first.spawn(move || sends.send(7).unwrap());
        second.install(move || receives.recv().unwrap())
    });
    assert_eq!(received, 7);
}

#[test]
fn a_yield_in_the_first_half_of_a_join_may_run_the_second() {
    let Scoped(pool) = &Scoped::new(1);
    let ((), migrated) = pool.install(|| {
        here(|worker| {
            let worker = worker.unwrap();
            worker.join(|_| while !here(|worker| worker.unwrap().yield_local()) {}, |migrated| migrated)
        })
    });
    assert!(migrated, "it was called by another frame");
}

#[test]
fn a_broadcast_reaches_workers_that_are_in_other_pools() {
    let Scoped(pool) = &Scoped::new(2);
    let other = Pool::new(1).unwrap();
    let indices = pool.install(|| other.install(|| pool.broadcast(|context| context.index())));
    assert_eq!(indices, [0, 1]);
    let sum = AtomicUsize::new(0);
    pool.install(|| {
        other.install(|| {
            pool.in_place_scope(|scope| {
                scope.spawn(|_| _ = sum.fetch_add(pool.index().map_or(0, |_| 1), Relaxed));
                scope.spawn_broadcast(|_, _| _ = sum.fetch_add(1, Relaxed));
            });
            assert!(here(|worker| worker.unwrap().dedicated().is_none()), "a worker of the other pool now");
            pool.install(|| assert!(here(|worker| worker.and_then(Here::dedicated).is_some())));
        });
    });
    assert_eq!(sum.into_inner(), 3);
}

#[test]
fn two_broadcasts_are_run_in_one_order_by_all() {
    let Scoped(pool) = &Scoped::new(3);
    let logs: Vec<_> = (0..3).map(|_| Mutex::new(Vec::new())).collect();
    thread::scope(|scope| {
        for number in 0..20 {
            let logs = &logs;
            scope.spawn(move || pool.broadcast(|context| logs[context.index()].lock().unwrap().push(number)));
        }
    });
    let logs: Vec<_> = logs.into_iter().map(|log| log.into_inner().unwrap()).collect();
    assert_eq!(logs[0].len(), 20);
    assert!(logs.iter().all(|log| *log == logs[0]), "{logs:?}");
}

#[test]
fn panics_that_no_thread_waits_for_go_to_the_handler() {
    let (sends, receives) = channel();
    let panic =
        move |panic: Box<dyn std::any::Any + Send>| sends.send(panic.downcast_ref() == Some(&"of a task")).unwrap();
    let handlers = Handlers { panic: Some(Box::new(panic)), ..Handlers::default() };
    let options = DedicatedOptions { handlers, ..DedicatedOptions::default() };
    let pool = Scoped(DedicatedPool::start(options, thread_for).unwrap());
    pool.0.spawn(|| panic!("of a task"));
    assert_eq!(receives.recv(), Ok(true));
}

#[test]
fn a_thread_settles_once() {
    let settled = thread::spawn(|| {
        let start = |worker: WorkerStart| {
            if worker.index() == 0 {
                return worker.settle();
            }
            thread_for(worker).unwrap();
            Ok(())
        };
        let options = || DedicatedOptions { threads: 2, ..DedicatedOptions::default() };
        let pool = DedicatedPool::start(options(), start).unwrap();
        assert_eq!(pool.index(), Some(0));
        assert_eq!(DedicatedPool::start(options(), start).err(), Some(Settled));
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
        // A pool of the other kind, whose first slot this thread takes meanwhile.
        assert_eq!(Pool::new(2).unwrap().install(|| pool.install(|| pool.index())), Some(0));
        pool.release();
        pool.wait_until_stopped();
    });
    settled.join().unwrap();
}

#[test]
fn a_pool_that_could_not_be_started_ends() {
    let started = Mutex::new(None);
    let pool = DedicatedPool::start(DedicatedOptions { threads: 3, ..DedicatedOptions::default() }, |worker| {
        if worker.index() == 1 {
            return Err("no more");
        }
        let pool = worker.pool().clone();
        *started.lock().unwrap() = Some((pool, thread::spawn(|| worker.run())));
        Ok(())
    });
    assert_eq!(pool.err(), Some("no more"));
    let (pool, thread) = started.into_inner().unwrap().unwrap();
    thread.join().unwrap();
    drop(pool);
}

#[test]
fn the_oldest_is_begun_first_where_that_is_wanted() {
    let options = DedicatedOptions { breadth_first: true, ..DedicatedOptions::default() };
    let pool = Scoped(DedicatedPool::start(options, thread_for).unwrap());
    let order = Mutex::new(Vec::new());
    pool.0.install(|| {
        here(|worker| {
            worker.unwrap().scope(|scope| {
                for number in 0..5 {
                    let order = &order;
                    scope.spawn(move |_| order.lock().unwrap().push(number));
                }
            });
        });
    });
    assert_eq!(order.into_inner().unwrap(), [0, 1, 2, 3, 4]);
}

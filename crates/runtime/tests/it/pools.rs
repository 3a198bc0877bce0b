//! Pools come and go, and threads come into them from everywhere.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use evenkeel_runtime::{BuildError, MAX_THREADS, Pool, PoolBuilder, join, par_map_reduce, scope};

#[test]
fn a_pool_has_a_thread() {
    assert_eq!(Pool::new(0).err(), Some(BuildError::ZeroThreads));
    assert_eq!(Pool::new(MAX_THREADS + 1).err(), Some(BuildError::TooManyThreads(MAX_THREADS + 1)));
    let pool = Pool::new(3).unwrap();
    assert_eq!(pool.threads(), 3);
    assert_eq!(pool.stats().len(), 3);
    assert!(pool.shortage().is_none());
}

#[test]
fn threads_are_named() {
    let nameless = PoolBuilder::new().threads(2).name("sai\0or").build();
    assert_eq!(nameless.err(), Some(BuildError::Name("sai\0or".to_owned())));
    let pool = PoolBuilder::new().threads(2).name("sailor").build().unwrap();
    let (send, receive) = mpsc::channel();
    pool.spawn(move || send.send(thread::current().name().map(str::to_owned)).unwrap());
    assert_eq!(receive.recv().unwrap().as_deref(), Some("sailor-1"));
}

#[test]
fn the_calling_thread_takes_part() {
    let me = thread::current().id();
    assert_eq!(Pool::new(4).unwrap().install(|| thread::current().id()), me);
}

#[test]
fn several_threads_install_at_once() {
    for threads in 1..4 {
        let pool = Pool::new(threads).unwrap();
        let begin = Barrier::new(4);
        thread::scope(|scope| {
            for caller in 0..4usize {
                let (pool, begin) = (&pool, &begin);
                scope.spawn(move || {
                    begin.wait();
                    for round in 0..50 {
                        let sum = pool.par_map_reduce(0..100, || 0, |i| i + caller + round, |a, b| a + b);
                        assert_eq!(sum, 4950 + 100 * (caller + round));
                    }
                });
            }
        });
    }
}

#[test]
fn a_thread_that_waits_for_the_first_slot_gets_it() {
    // The pool has no thread of its own, so the second caller waits until the first one leaves.
    let pool = Pool::new(1).unwrap();
    let (inside, is_inside) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.install(|| {
                inside.send(()).unwrap();
                thread::sleep(Duration::from_millis(20));
            });
        });
        is_inside.recv().unwrap();
        assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    });
}

#[test]
fn pools_that_call_each_other_do_not_wait_for_ever() {
    for threads in 1..3 {
        let (a, b) = (Pool::new(threads).unwrap(), Pool::new(threads).unwrap());
        let begin = Barrier::new(2);
        thread::scope(|scope| {
            for (first, second) in [(&a, &b), (&b, &a)] {
                let begin = &begin;
                scope.spawn(move || {
                    begin.wait();
                    for _ in 0..100 {
                        let nested = || second.install(|| first.install(|| second.install(|| join(|| 1, || 2))));
                        assert_eq!(first.install(|| join(nested, nested)), ((1, 2), (1, 2)));
                    }
                });
            }
        });
    }
}

#[test]
fn a_worker_that_has_gone_to_another_pool_runs_what_its_own_is_sent() {
    // `a` has no thread but the calling one, which waits in `b` for a task that waits for `a`.
    let (a, b) = (Pool::new(1).unwrap(), Pool::new(2).unwrap());
    let rounds = if cfg!(miri) { 2 } else { 100 };
    for round in 0..rounds {
        let stolen = AtomicUsize::new(0);
        let left = || {
            while stolen.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
            // Sometimes it is awake when the job comes, sometimes not.
            thread::sleep(Duration::from_micros(20 * round));
        };
        let right = || {
            stolen.store(1, Ordering::SeqCst);
            a.install(|| join(|| 1, || 2))
        };
        assert_eq!(a.install(|| b.join(left, right)), ((), (1, 2)));
    }
}

#[test]
fn a_thread_that_leaves_a_pool_runs_what_others_wait_for_there() {
    // The only slot of `a` is left while a worker of `b`, which cannot come itself, waits for what it has sent there.
    let (a, b) = (Pool::new(1).unwrap(), Pool::new(2).unwrap());
    let (inside, sends) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let until = |one: &AtomicUsize| {
        while one.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
    };
    let left = || {
        a.install(|| {
            inside.store(1, Ordering::SeqCst);
            until(&sends);
            // Most likely it has sent it by then. If not, the slot is free when it comes.
            thread::sleep(Duration::from_millis(20));
        });
    };
    let right = || {
        until(&inside);
        sends.store(1, Ordering::SeqCst);
        a.install(|| join(|| 1, || 2))
    };
    assert_eq!(b.join(left, right), ((), (1, 2)));
}

#[test]
fn dropping_a_pool_waits_for_what_was_spawned() {
    for threads in 1..5 {
        let ran = Arc::new(AtomicUsize::new(0));
        let pool = Pool::new(threads).unwrap();
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            pool.spawn(move || {
                let (a, b) = join(|| 1, || par_map_reduce(0..100, || 0, |_| 1, |a, b| a + b));
                ran.fetch_add(a + b, Ordering::Relaxed);
            });
        }
        drop(pool);
        assert_eq!(ran.load(Ordering::Relaxed), 100 * 101);
    }
}

#[test]
fn a_chain_of_spawned_tasks_needs_no_stack() {
    fn spawn_next(pool: &Arc<Pool>, left: usize, end: mpsc::Sender<()>) {
        let own = Arc::clone(pool);
        pool.spawn(move || match left {
            0 => end.send(()).unwrap(),
            _ => spawn_next(&own, left - 1, end),
        });
    }
    let links = if cfg!(miri) { 100 } else { 100_000 };
    for threads in 1..3 {
        let (send, receive) = mpsc::channel();
        spawn_next(&Arc::new(Pool::new(threads).unwrap()), links, send);
        receive.recv().unwrap();
    }
}

#[test]
fn a_pool_may_be_dropped_by_its_own_task() {
    for threads in 1..4 {
        let (send, receive) = mpsc::channel();
        let pool = Arc::new(Pool::new(threads).unwrap());
        let own = Arc::clone(&pool);
        let (go, wait) = mpsc::channel::<()>();
        thread::spawn(move || {
            pool.spawn(move || {
                // Until the other handle is gone, if that one does not wait for this.
                let _ = wait.recv_timeout(Duration::from_millis(20));
                drop(own);
                send.send(()).unwrap();
            });
            drop(pool);
            drop(go);
        });
        receive.recv().unwrap();
    }
}

#[test]
fn the_task_that_drops_a_pool_may_be_waited_for_in_it() {
    let pool = Arc::new(Mutex::new(Some(Pool::new(3).unwrap())));
    let (send, receive) = mpsc::channel();
    let own = Arc::clone(&pool);
    let task = move || {
        // The left half waits until the right one was stolen: its thread waits for the one that drops the pool.
        let stolen = AtomicUsize::new(0);
        let left = || {
            while stolen.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
        };
        join(left, || {
            stolen.store(1, Ordering::SeqCst);
            let pool = own.lock().unwrap().take();
            drop(pool);
        });
        send.send(()).unwrap();
    };
    if let Some(pool) = &*pool.lock().unwrap() {
        pool.spawn(task);
    }
    assert_eq!(receive.recv_timeout(Duration::from_secs(20)), Ok(()), "the two wait for each other");
}

/// Ends the process if `f` hangs, and returns what `f` does.
fn within_a_minute<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(f()));
    receive.recv_timeout(Duration::from_secs(60)).expect("they wait for each other")
}

/// A pool that a task drops while others may still know it.
type Dropped = Arc<Mutex<Option<Pool>>>;

fn dropped(threads: usize) -> Dropped {
    Arc::new(Mutex::new(Pool::new(threads).ok()))
}

fn spawn_in(pool: &Dropped, task: impl FnOnce() + Send + 'static) {
    if let Ok(pool) = pool.lock()
        && let Some(pool) = &*pool
    {
        pool.spawn(task);
    }
}

fn drop_it(pool: &Dropped) {
    let pool = pool.lock().ok().and_then(|mut pool| pool.take());
    assert!(pool.is_some());
}

/// Has `task` run by a thread of `pool`, while the calling thread waits for that.
fn by_a_thread_of(pool: &Pool, task: impl FnOnce() + Send) {
    let stolen = AtomicUsize::new(0);
    let left = || {
        while stolen.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
    };
    pool.join(left, || {
        stolen.store(1, Ordering::SeqCst);
        task();
    });
}

#[test]
fn a_pool_may_be_dropped_by_a_task_of_another_pool_that_its_worker_waits_for() {
    within_a_minute(|| {
        let (pool, (send, receive)) = (dropped(2), mpsc::channel());
        let own = Arc::clone(&pool);
        spawn_in(&pool, move || {
            by_a_thread_of(&Pool::new(2).unwrap(), || drop_it(&own));
            send.send(()).unwrap();
        });
        receive.recv().unwrap();
    });
}

#[test]
fn a_pool_may_be_dropped_at_the_end_of_a_chain_of_pools() {
    within_a_minute(|| {
        let (pool, (send, receive)) = (dropped(3), mpsc::channel());
        let own = Arc::clone(&pool);
        let others = [2, 2, 3].map(|threads| Pool::new(threads).unwrap());
        spawn_in(&pool, move || {
            let [second, third, fourth] = &others;
            by_a_thread_of(second, || by_a_thread_of(third, || by_a_thread_of(fourth, || drop_it(&own))));
            send.send(()).unwrap();
        });
        receive.recv().unwrap();
    });
}

#[test]
fn a_pool_may_be_dropped_by_a_task_of_its_scope_that_another_pool_runs() {
    within_a_minute(|| {
        let (pool, (send, receive)) = (dropped(2), mpsc::channel());
        let (own, other) = (Arc::clone(&pool), Pool::new(2).unwrap());
        spawn_in(&pool, move || {
            let own = &own;
            scope(|scope| by_a_thread_of(&other, || scope.spawn(move |_| drop_it(own))));
            send.send(()).unwrap();
        });
        receive.recv().unwrap();
    });
}

#[test]
fn two_pools_may_be_dropped_by_each_other_s_tasks() {
    within_a_minute(|| {
        let (one, other, (send, receive)) = (dropped(2), dropped(2), mpsc::channel());
        let both = Arc::new(Barrier::new(2));
        for (pool, dropped) in [(&one, &other), (&other, &one)] {
            let (dropped, both, send) = (Arc::clone(dropped), Arc::clone(&both), send.clone());
            spawn_in(pool, move || {
                both.wait();
                drop_it(&dropped);
                send.send(()).unwrap();
            });
        }
        receive.recv().unwrap();
        receive.recv().unwrap();
    });
}

#[test]
fn install_waits_for_a_pool_that_the_calling_thread_has_dropped_in_a_task() {
    within_a_minute(|| {
        for _ in 0..20 {
            let ran = Arc::new(AtomicUsize::new(0));
            let outer = Pool::new(2).unwrap();
            outer.install(|| {
                let inner = Pool::new(2).unwrap();
                for _ in 0..100 {
                    let ran = Arc::clone(&ran);
                    inner.spawn(move || _ = ran.fetch_add(1, Ordering::Relaxed));
                }
            });
            assert_eq!(ran.load(Ordering::Relaxed), 100);
        }
    });
}

#[test]
fn a_pool_may_be_dropped_by_a_task_of_one_that_it_waits_for() {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let (outer, inner) = (Arc::new(Pool::new(1).unwrap()), Pool::new(2).unwrap());
        let own = Arc::clone(&outer);
        outer.install(|| {
            inner.spawn(move || own.install(|| send.send(()).unwrap()));
            drop(inner);
        });
    });
    assert_eq!(receive.recv_timeout(Duration::from_secs(20)), Ok(()), "the two wait for each other");
}

#[test]
fn pools_start_and_stop_quickly_and_often() {
    for round in 0..200 {
        let pool = Pool::new(1 + round % 4).unwrap();
        if round % 3 > 0 {
            assert_eq!(pool.join(|| 1, || 2), (1, 2));
        }
    }
}

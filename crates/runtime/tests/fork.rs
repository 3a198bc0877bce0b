//! What a forked process has of the runtime. One test, in a process of its own: a fork copies what all threads of the process are doing.
#![cfg(unix)]
#![expect(unsafe_code, reason = "forking is")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "support/forked.rs"]
mod forked;

use std::fs::File;
use std::io::{Read, Write, pipe};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};

use evenkeel_runtime::{Pool, PoolBuilder, join, par_for, par_map_reduce, scope};

use forked::{End, forked, works};

fn the_global_pool_works_in_a_child_and_in_its_child() {
    let child = || {
        works(Pool::global());
        assert_eq!(Pool::global().threads(), 3, "as it was configured");
        assert!(PoolBuilder::new().build_global().is_err());
        par_for(0..100, |_| ());
        assert_eq!(forked(|| works(Pool::global())), End::well());
        works(Pool::global());
    };
    assert_eq!(forked(child), End::well());
    assert_eq!(forked(child), End::well());
    works(Pool::global());
}

fn other_pools_work_in_a_child_and_can_be_dropped_on_both_sides() {
    let pool = PoolBuilder::new().threads(2).name("forked").build().unwrap();
    let unused = Pool::new(4).unwrap();
    let child = || {
        // SAFETY: this process ends without dropping the parent's.
        let (pool, unused) = unsafe { (std::ptr::read(&pool), std::ptr::read(&unused)) };
        drop(unused);
        works(&pool);
        assert_eq!(pool.threads(), 2);
        let (send, receive) = mpsc::channel();
        pool.spawn(move || send.send(std::fs::read_to_string("/proc/thread-self/comm")).unwrap());
        if let Ok(name) = receive.recv().unwrap() {
            assert_eq!(name.trim_end(), "forked-1");
        }
        let end = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&end);
        pool.spawn(move || ends.store(true, Ordering::SeqCst));
        drop(pool);
        assert!(end.load(Ordering::SeqCst), "dropping it waits for what was spawned");
        works(&Pool::new(2).unwrap());
    };
    assert_eq!(forked(child), End::well());
    works(&pool);
}

fn tasks_of_the_parent_run_in_the_parent_alone() {
    const TASKS: usize = 20;
    let (mut reads, writes) = pipe().unwrap();
    let writes = Arc::new(File::from(OwnedFd::from(writes)));
    let pool = Pool::new(2).unwrap();
    let (held, hold) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (holds, until) = (Arc::clone(&held), Arc::clone(&hold));
    pool.spawn(move || {
        holds.wait();
        until.wait();
    });
    held.wait();
    // The one thread of the pool is held, so these wait.
    for _ in 0..TASKS {
        let writes = Arc::clone(&writes);
        pool.spawn(move || (&*writes).write_all(b"x").unwrap());
    }
    assert_eq!(forked(|| works(&pool)), End::well());
    // A task that has spawned others, and then forks.
    pool.install(|| {
        for _ in 0..TASKS {
            let writes = Arc::clone(&writes);
            pool.spawn(move || (&*writes).write_all(b"y").unwrap());
        }
        assert_eq!(forked(|| scope(|scope| scope.spawn(|_| ()))), End::well());
    });
    hold.wait();
    drop((pool, writes));
    let mut ran = String::new();
    reads.read_to_string(&mut ran).unwrap();
    assert_eq!((ran.matches('x').count(), ran.matches('y').count()), (TASKS, TASKS));
}

fn a_task_goes_on_in_the_child_that_it_forks() {
    let pool = Pool::new(3).unwrap();
    let child = || {
        let mut sum = 0;
        scope(|scope| {
            let (left, right) = join(|| 1, || par_map_reduce(0..100, || 0, |i| i, |a, b| a + b));
            let sum = &mut sum;
            scope.spawn(move |_| *sum = left + right);
        });
        assert_eq!(sum, 4951);
        let mut value = 1;
        evenkeel_runtime::graph(|graph| {
            let value = graph.region(&mut value);
            graph.task(value.write()).priority(3).spawn(|value| *value += 1);
            assert_eq!(graph.task(value.read()).now(|value| *value), 2);
        });
        works(&pool);
        works(Pool::global());
    };
    for _ in 0..20 {
        assert_eq!(pool.install(|| forked(child)), End::well(), "by the calling thread");
        let (send, receive) = mpsc::channel();
        pool.scope(|scope| scope.spawn(|_| send.send(forked(child)).unwrap()));
        assert_eq!(receive.recv(), Ok(End::well()));
    }
    works(&pool);
}

fn a_child_that_waits_for_a_task_of_its_parent_says_so_and_ends() {
    let pool = Pool::new(2).unwrap();
    let (taken, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let until = |one: &AtomicBool| {
        while !one.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    };
    let mut end = None;
    let mut parent = true;
    let left = || {
        until(&taken);
        let (mut says, writes) = pipe().unwrap();
        // SAFETY: as in `forked`.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            parent = false;
            // SAFETY: as in `forked`.
            unsafe {
                libc::alarm(60);
                libc::dup2(writes.as_raw_fd(), 2);
            }
            // Leaves the task, and finds the other half gone.
            return;
        }
        drop(writes);
        let mut text = String::new();
        says.read_to_string(&mut text).unwrap();
        let mut status = 0;
        // SAFETY: the status is there.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        end = Some((libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)), text));
        ended.store(true, Ordering::SeqCst);
    };
    let right = || {
        taken.store(true, Ordering::SeqCst);
        until(&ended);
    };
    pool.join(left, right);
    if !parent {
        // SAFETY: not reached.
        unsafe { libc::_exit(0) };
    }
    let (signal, text) = end.unwrap();
    assert_eq!(signal, Some(libc::SIGABRT), "{text}");
    assert!(text.starts_with("evenkeel: this process was forked by a task and waits for another task"), "{text}");
}

fn no_lock_that_others_held_at_the_fork_is_waited_for() {
    let pool = Pool::new(3).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    pool.install(|| par_for(0..100, |_| ()));
                    Pool::global().spawn(|| ());
                    drop(Pool::new(2).unwrap());
                }
            });
        }
        for _ in 0..100 {
            let end = forked(|| {
                works(&pool);
                works(Pool::global());
            });
            assert_eq!(end, End::well());
        }
        over.store(true, Ordering::SeqCst);
    });
}

#[test]
fn forks() {
    PoolBuilder::new().threads(3).build_global().unwrap();
    the_global_pool_works_in_a_child_and_in_its_child();
    other_pools_work_in_a_child_and_can_be_dropped_on_both_sides();
    tasks_of_the_parent_run_in_the_parent_alone();
    a_task_goes_on_in_the_child_that_it_forks();
    a_child_that_waits_for_a_task_of_its_parent_says_so_and_ends();
    no_lock_that_others_held_at_the_fork_is_waited_for();
}

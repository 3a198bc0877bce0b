//! Nothing is allocated per event: a run of ten times the length allocates as often and as much as the short one, apart
//! from vectors that grow to their size.
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{compute, machine, play, program, thread, with_costs, workload};
use evenkeel_model::Ns;
use evenkeel_sim::Options;
use evenkeel_workload::program::{Barrier, BarrierId, LockId, Queue, QueueId, Spread};
use evenkeel_workload::{Op, Workload};

/// Counts the allocations of each thread, so that tests beside this one do not disturb it.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

// SAFETY: every call is passed on unchanged to the system's allocator, which upholds the contract; the counter is a
// plain thread-local cell without a destructor, whose access neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|cell| cell.set((cell.get().0 + 1, cell.get().1 + layout.size() as u64)));
        // SAFETY: the caller's obligations are those of `System.alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System.alloc` with this layout, since `alloc` hands out nothing else.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Six threads that compute, lock, sleep, meet, and feed a queue, so many rounds long.
fn busy(rounds: u64) -> Workload {
    let worker = |i: u64| {
        let body = vec![
            compute(1 + i % 3),
            Op::Lock(LockId(0)),
            compute(1),
            Op::Unlock(LockId(0)),
            Op::Put(QueueId(0)),
            Op::Sleep { span: Ns::from_us(300), spread: Spread::Uniform(0.5) },
            Op::Barrier(BarrierId(0)),
        ];
        thread(&format!("w{i}"), vec![Op::Repeat { times: Some(rounds), body }, Op::Close(QueueId(0))])
    };
    let mut threads: Vec<_> = (0..6).map(worker).collect();
    threads.push(thread("consumer", vec![Op::Drain { queue: QueueId(0), body: vec![compute(1)] }]));
    let mut p = program("p", threads);
    p.locks.push("m".into());
    p.barriers.push(Barrier { name: "b".into(), parties: 6 });
    p.queues.push(Queue { name: "q".into(), capacity: 3, filled: 0, producers: 6 });
    workload(vec![p])
}

fn allocations(policy: &str, rounds: u64, delay: Ns) -> (u64, u64, u64) {
    let (machine, workload) = (with_costs(machine(2, 2)), busy(rounds));
    let options = Options { delay, oracle: true, noise: true, ..Options::default() };
    let before = ALLOCATIONS.with(Cell::get);
    let outcome = play(&machine, &workload, policy, &options).expect("runs");
    let after = ALLOCATIONS.with(Cell::get);
    (after.0 - before.0, after.1 - before.1, outcome.events)
}

#[test]
fn ten_times_the_events_need_no_more_memory() {
    for policy in common::policies(&machine(2, 2)) {
        for delay in [Ns::ZERO, Ns::from_us(100)] {
            let short = allocations(policy, 300, delay);
            let long = allocations(policy, 3000, delay);
            assert!(long.2 > 8 * short.2, "{policy}: {} and {} events", short.2, long.2);
            // A queue of waiters may reach its greatest length late: a handful of doublings, never one an event. What is
            // written down in a rehearsal grows with the run: a few doublings more, of a vector for each thread.
            let rehearses = common::policy(policy).foresight();
            let doublings = if rehearses { 60 } else { 12 };
            assert!(long.0 <= short.0 + doublings, "{policy}: {} allocations, {} in ten times the time", short.0, long.0);
            let bytes = rehearses || long.1 <= short.1 + 16_384;
            assert!(bytes, "{policy}: {} bytes, {} in ten times the time", short.1, long.1);
        }
    }
}

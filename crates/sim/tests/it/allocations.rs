//! Nothing is allocated per event: a run of ten times the length allocates as often and as much as the short one, apart
//! from vectors that grow to their size.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::common;
use crate::common::{compute, machine, play, program, thread, with_costs, workload};
use evenkeel_model::Ns;
use evenkeel_sim::Options;
use evenkeel_workload::program::{
    Barrier, BarrierId, LockId, Queue, QueueId, ReadyQueue, RegionId, Spread, Task, Tasking,
};
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

/// So many rounds of tasks that depend on each other.
fn busy_with_tasks(rounds: u64, ready: ReadyQueue) -> Workload {
    let task = |reads: u32, writes: u32| {
        let (reads, writes) = (vec![RegionId(reads)], vec![RegionId(writes)]);
        Op::Task(Box::new(Task { name: "t".into(), reads, writes, body: vec![compute(1)] }))
    };
    let body = vec![task(0, 1), task(1, 2), task(0, 3), task(3, 0), task(2, 2), Op::Taskwait, compute(1)];
    let mut p = program("p", vec![thread("main", vec![Op::Repeat { times: Some(rounds), body }])]);
    p.regions = vec![String::new(); 4];
    p.tasking = Some(Tasking { ready, ..Tasking::default() });
    workload(vec![p])
}

fn allocations(policy: &str, workload: &Workload, delay: Ns) -> (u64, u64, u64) {
    let machine = with_costs(machine(2, 2));
    let options = Options { delay, oracle: true, noise: true, ..Options::default() };
    let before = ALLOCATIONS.with(Cell::get);
    let outcome = play(&machine, workload, policy, &options).expect("runs");
    let after = ALLOCATIONS.with(Cell::get);
    (after.0 - before.0, after.1 - before.1, outcome.events)
}

#[test]
fn ten_times_the_events_need_no_more_memory() {
    for policy in common::policies(&machine(2, 2)) {
        for delay in [Ns::ZERO, Ns::from_us(100)] {
            let short = allocations(policy, &busy(300), delay);
            let long = allocations(policy, &busy(3000), delay);
            assert!(long.2 > 8 * short.2, "{policy}: {} and {} events", short.2, long.2);
            // A queue of waiters may reach its greatest length late: a handful of doublings, never one an event. What is
            // written down in a rehearsal grows with the run: a few doublings more, of a vector for each thread.
            let rehearses = common::policy(policy).description().foresight;
            let doublings = if rehearses { 60 } else { 12 };
            assert!(
                long.0 <= short.0 + doublings,
                "{policy}: {} allocations, {} in ten times the time",
                short.0,
                long.0
            );
            let bytes = rehearses || long.1 <= short.1 + 16_384;
            assert!(bytes, "{policy}: {} bytes, {} in ten times the time", short.1, long.1);
        }
    }
}

#[test]
fn ten_times_the_tasks_need_a_larger_graph_and_nothing_else() {
    for ready in [ReadyQueue::Fifo, ReadyQueue::Steal, ReadyQueue::Cats, ReadyQueue::Heft] {
        // A plan is made stretch by stretch before the run.
        let planned = if ready == ReadyQueue::Heft { 20 } else { 0 };
        let short = allocations("cfs", &busy_with_tasks(300, ready), Ns::ZERO);
        let long = allocations("cfs", &busy_with_tasks(3000, ready), Ns::ZERO);
        assert!(long.2 > 8 * short.2, "{ready:?}: {} and {} events", short.2, long.2);
        let most = short.0 + 30 + 2700 * planned;
        assert!(long.0 <= most, "{ready:?}: {} allocations, {} for ten times the tasks", short.0, long.0);
    }
}

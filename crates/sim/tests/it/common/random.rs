//! Random programs: threads that compute, spin, lock, sleep and yield between barriers, and hand items to a consumer.

use evenkeel_model::Ns;
use evenkeel_workload::program::{
    Barrier, BarrierId, LockId, PhaseId, Queue, QueueId, Semaphore, SemaphoreId, Spread, Start, ThreadIndex, Work,
};
use evenkeel_workload::{Op, Workload};
use proptest::prelude::*;

use super::{compute, program, thread, with_memory_phase, workload};

/// What a thread of a random program does in each of its rounds.
#[derive(Clone, Copy, Debug)]
enum Act {
    Compute(u64),
    Memory(u64),
    Spin(u64),
    Locked(u64),
    Sleep(u64),
    Yield,
    Post,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (1..5_000_000u64).prop_map(Act::Compute),
        (1..1_000_000u64).prop_map(Act::Memory),
        (1..200_000u64).prop_map(Act::Spin),
        (1..300_000u64).prop_map(Act::Locked),
        (1..3_000_000u64).prop_map(Act::Sleep),
        Just(Act::Yield),
        Just(Act::Post),
    ]
}

fn instructions(count: u64) -> Op {
    Op::Compute { phase: PhaseId(0), work: Work::Instructions(count), spread: Spread::None }
}

fn ops(act: Act) -> Vec<Op> {
    match act {
        Act::Compute(count) => vec![instructions(count)],
        Act::Memory(count) => {
            vec![Op::Compute { phase: PhaseId(1), work: Work::Instructions(count), spread: Spread::None }]
        }
        Act::Spin(ns) => vec![Op::Spin(Ns(ns))],
        Act::Locked(count) => vec![Op::Lock(LockId(0)), instructions(count), Op::Unlock(LockId(0))],
        Act::Sleep(ns) => vec![Op::Sleep { span: Ns(ns), spread: Spread::None }],
        Act::Yield => vec![Op::Yield],
        // As many posts as acquires, the post first: never blocks for ever.
        Act::Post => vec![Op::Post(SemaphoreId(0)), Op::Acquire(SemaphoreId(0))],
    }
}

/// Threads that do random things, meet at a barrier after each round, and hand items to a consumer that is spawned and
/// joined by the first of them.
pub fn random_workload() -> impl Strategy<Value = (Workload, u64)> {
    let threads = prop::collection::vec(prop::collection::vec(act(), 1..6), 1..7);
    let programs = prop::collection::vec((threads, 1..4u64), 1..3);
    programs.prop_map(|programs| {
        let mut work = 0;
        let build = |(index, (threads, rounds)): (usize, (Vec<Vec<Act>>, u64))| {
            let parties = threads.len() as u32;
            let producer = |(index, acts): (usize, Vec<Act>)| {
                for act in &acts {
                    if let Act::Compute(count) | Act::Memory(count) | Act::Locked(count) = act {
                        work += count * rounds;
                    }
                }
                let mut body: Vec<Op> = acts.into_iter().flat_map(ops).collect();
                body.push(Op::Put(QueueId(0)));
                body.push(Op::Barrier(BarrierId(0)));
                let mut all = vec![Op::Repeat { times: Some(rounds), body }, Op::Close(QueueId(0))];
                if index == 0 {
                    all.insert(0, Op::Spawn(ThreadIndex(parties)));
                    all.push(Op::Join(ThreadIndex(parties)));
                }
                thread(&format!("t{index}"), all)
            };
            let mut threads: Vec<_> = threads.into_iter().enumerate().map(producer).collect();
            work += u64::from(parties) * rounds * 1_000_000;
            let mut consumer = thread("consumer", vec![Op::Drain { queue: QueueId(0), body: vec![compute(1)] }]);
            consumer.start = Start::Spawned;
            threads.push(consumer);
            let mut p = with_memory_phase(program(&format!("p{index}"), threads));
            p.locks.push("lock".into());
            p.barriers.push(Barrier { name: "barrier".into(), parties });
            p.queues.push(Queue { name: "queue".into(), capacity: 2, filled: 0, producers: parties });
            p.semaphores.push(Semaphore { name: "semaphore".into(), count: 0 });
            p
        };
        let programs = programs.into_iter().enumerate().map(build).collect();
        (workload(programs), work)
    })
}

//! How often the threads of a program are spawned.

use std::collections::BTreeMap;

use crate::program::{Op, Program, QueueId, Start, ThreadIndex};

/// By thread.
type Counts = BTreeMap<ThreadIndex, u64>;

/// How often each thread is spawned, at most.
pub(crate) fn lives(program: &Program) -> Counts {
    let (items, mut counts, mut drains) = (items(program), Counts::new(), BTreeMap::new());
    program.threads.iter().for_each(|thread| spawns(&thread.ops, 1, &mut counts, &mut drains));
    // One thread gets each item, however many drain the queue.
    for (queue, each) in drains {
        for (thread, times) in each {
            add(&mut counts, thread, times.saturating_mul(items[queue.index()]));
        }
    }
    counts
}

fn add(counts: &mut Counts, thread: ThreadIndex, times: u64) {
    let count = counts.entry(thread).or_default();
    *count = count.saturating_add(times);
}

/// Counts how often each thread is spawned by operations that are run `times` times; apart, how often by one item of a queue.
fn spawns(ops: &[Op], times: u64, counts: &mut Counts, drains: &mut BTreeMap<QueueId, Counts>) {
    for op in ops {
        match op {
            Op::Spawn(thread) => add(counts, *thread, times),
            Op::Repeat { times: rounds, body } => {
                spawns(body, times.saturating_mul(rounds.unwrap_or(u64::MAX)), counts, drains);
            }
            Op::Drain { queue, body } if times > 0 => {
                let mut item = Counts::new();
                spawns(body, 1, &mut item, drains);
                let most = drains.entry(*queue).or_default();
                for (thread, times) in item {
                    let known = most.entry(thread).or_default();
                    *known = times.max(*known);
                }
            }
            _ => {}
        }
    }
}

/// How many items there are of each queue in all, at most.
fn items(program: &Program) -> Vec<u64> {
    let mut items: Vec<u64> = program.queues.iter().map(|queue| queue.filled).collect();
    for thread in &program.threads {
        // How often one that is spawned runs is not known here.
        puts(&thread.ops, if thread.start == Start::Spawned { u64::MAX } else { 1 }, &mut items);
    }
    items
}

/// Adds the items that are put by operations that are run `times` times.
fn puts(ops: &[Op], times: u64, items: &mut [u64]) {
    for op in ops {
        match op {
            Op::Put(queue) => items[queue.index()] = items[queue.index()].saturating_add(times),
            Op::Repeat { times: Some(rounds), body } => puts(body, times.saturating_mul(*rounds), items),
            // How many items of another queue there will be is not known.
            Op::Repeat { times: None, body } | Op::Drain { body, .. } => {
                puts(body, times.saturating_mul(u64::MAX), items);
            }
            _ => {}
        }
    }
}

//! Whether the threads of a recording fit together.
//!
//! Only a thread itself takes from its semaphore, so no thread can take a wake-up away from another, and the order in
//! which threads advance cannot decide whether all come to their end. Nor can it at a barrier, which always waits for the
//! same threads. It is enough to let them advance in one order.

use std::collections::BTreeMap;

use super::groups::{barriers, pools};
use super::recorded::Recording;
use super::step::Step;
use crate::program::Start;

/// The thread that is meant, if it is one, and what is wrong with it.
type Fault = (Option<usize>, String);

/// Checks every reference, and that every thread comes to its end.
pub(super) fn check(recording: &Recording) -> Result<(), Fault> {
    let threads = &recording.threads;
    if threads.is_empty() {
        return Err((None, "no threads: nothing was recorded".into()));
    }
    if !recording.counted
        && let Some(position) = threads.iter().position(|thread| !thread.rates.is_empty())
    {
        let what = "has \"rates\", which are of instructions: the header needs \"counted\": true";
        return Err((Some(position), what.into()));
    }
    let mut spawned = vec![false; threads.len()];
    for (position, thread) in threads.iter().enumerate() {
        for step in &thread.steps {
            let (Step::Wake(other) | Step::Spawn(other)) = *step else { continue };
            let fault = |what: String| Err((Some(position), what));
            let Some(target) = threads.get(other as usize) else {
                return fault(format!("refers to thread {other}, but there are threads 0 to {}", threads.len() - 1));
            };
            if let Step::Spawn(_) = step {
                if target.start != Start::Spawned {
                    return fault(format!("spawns thread {other}, which starts by itself: it needs \"spawned\": true"));
                }
                if std::mem::replace(&mut spawned[other as usize], true) {
                    return fault(format!("spawns thread {other}, which is spawned already: a thread starts once"));
                }
            }
        }
    }
    if let Some((barrier, parties)) = barriers(threads).iter().find(|(_, parties)| parties.len() < 2) {
        let what = format!("only this thread comes to barrier {barrier}: a barrier needs two");
        return Err((parties.first().copied(), what));
    }
    let shared = pools(threads);
    if let Some(pool) = recording.pools.keys().find(|pool| !shared.contains_key(pool)) {
        return Err((None, format!("\"pools\": no thread shares pool {pool}")));
    }
    for (number, pool) in shared {
        if let [thread] = pool.threads[..] {
            return Err((Some(thread), format!("only this thread shares pool {number}: a pool needs two")));
        }
        if let Some(twice) = pool.threads.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err((Some(twice[0]), format!("shares pool {number} twice: a thread takes part once")));
        }
    }
    let all = || threads.iter().enumerate();
    if let Some((position, _)) = all().find(|(position, thread)| thread.start == Start::Spawned && !spawned[*position])
    {
        return Err((Some(position), "waits to be spawned, but no thread spawns it".into()));
    }
    advance(recording)
}

/// Lets every thread go as far as it can, until nothing moves. Waits have no cost and amounts do not matter.
fn advance(recording: &Recording) -> Result<(), Fault> {
    let threads = &recording.threads;
    let parties = barriers(threads);
    // Who has come to each barrier.
    let mut come: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut next = vec![0; threads.len()];
    let mut wakes = vec![0_u64; threads.len()];
    let mut started: Vec<bool> = threads.iter().map(|thread| thread.start != Start::Spawned).collect();
    let mut movable: Vec<usize> = (0..threads.len()).filter(|thread| started[*thread]).collect();
    while let Some(thread) = movable.pop() {
        while let Some(step) = threads[thread].steps.get(next[thread]) {
            match *step {
                Step::Wait if wakes[thread] == 0 => break,
                Step::Wait => wakes[thread] -= 1,
                Step::Wake(other) => {
                    wakes[other as usize] += 1;
                    if started[other as usize] && other as usize != thread {
                        movable.push(other as usize);
                    }
                }
                Step::Spawn(other) => {
                    started[other as usize] = true;
                    movable.push(other as usize);
                }
                Step::Barrier(barrier) => {
                    let come = come.entry(barrier).or_default();
                    if come.contains(&thread) {
                        break;
                    }
                    come.push(thread);
                    let parties = &parties[&barrier];
                    if come.len() < parties.len() {
                        break;
                    }
                    come.clear();
                    for other in parties.iter().filter(|other| **other != thread) {
                        next[*other] += 1;
                        movable.push(*other);
                    }
                }
                Step::Run(_) | Step::Share { .. } | Step::Sleep(_) | Step::Io(_) => {}
            }
            next[thread] += 1;
        }
    }
    let stuck = |thread: &usize| next[*thread] < threads[*thread].steps.len();
    // A thread that never started is the fault of one that waits for ever, unless threads spawn each other in a circle.
    let all = || (0..threads.len()).filter(stuck);
    match all().find(|thread| started[*thread]).or_else(|| all().next()) {
        None => Ok(()),
        Some(thread) if started[thread] => {
            let what = match threads[thread].steps[next[thread]] {
                Step::Barrier(barrier) => format!("waits at barrier {barrier} for a thread that does not come again"),
                _ => "waits for a wake-up that never comes".into(),
            };
            let what = format!("operation {} {what}", next[thread] + 1);
            Err((Some(thread), what))
        }
        Some(thread) => Err((Some(thread), "is spawned only by threads that wait for it to be spawned".into())),
    }
}

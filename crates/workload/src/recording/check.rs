//! Whether the threads and items of a recording fit together.

use std::collections::BTreeMap;

use super::advance::advance;
use super::groups::{List, barriers, lists, pools};
use super::recorded::Recording;
use super::step::Step;
use crate::program::Start;

/// The thread or item that is meant, if it is one, and what is wrong with it.
pub(super) type Fault = (Option<usize>, String);

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
    let all = threads.len() + recording.items.len();
    for (position, steps) in sequences(recording).enumerate() {
        check_locks(steps).map_err(|what| (Some(position), what))?;
        for step in steps {
            let (Step::Wake(other) | Step::Spawn(other) | Step::Result(other)) = *step else { continue };
            let fault = |what: String| Err((Some(position), what));
            if !matches!(step, Step::Spawn(_)) && (threads.len()..all).contains(&(other as usize)) {
                continue;
            }
            let Some(target) = threads.get(other as usize) else {
                let items = if all > threads.len() {
                    format!(", and items {} to {}", threads.len(), all - 1)
                } else {
                    String::new()
                };
                return fault(format!("refers to {other}, but there are threads 0 to {}{items}", threads.len() - 1));
            };
            if let Step::Result(_) = step {
                return fault(format!("waits for the result of thread {other}: expected that of an item"));
            }
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
    let lists = lists(recording);
    check_lists(recording, &lists)?;
    let all = || threads.iter().enumerate();
    if let Some((position, _)) = all().find(|(position, thread)| thread.start == Start::Spawned && !spawned[*position])
    {
        return Err((Some(position), "waits to be spawned, but no thread spawns it".into()));
    }
    advance(recording, &lists)
}

/// What each thread does, and then each item.
pub(super) fn sequences(recording: &Recording) -> impl Iterator<Item = &[Step]> {
    let threads = recording.threads.iter().map(|thread| &*thread.steps);
    threads.chain(recording.items.iter().map(|item| &*item.steps))
}

/// Who has a lock does nothing that could take for ever, and takes no other one: then no two wait for each other.
fn check_locks(steps: &[Step]) -> Result<(), String> {
    let mut owned = None;
    for (number, step) in (1..).zip(steps) {
        match (*step, owned) {
            (Step::Lock(lock), None) => owned = Some(lock),
            (Step::Unlock(lock), Some(own)) if lock == own => owned = None,
            (Step::Unlock(lock), _) => {
                return Err(format!("operation {number} gives up lock {lock}, which it does not have"));
            }
            (Step::Run(_) | Step::Wake(_), _) | (_, None) => {}
            (step, Some(own)) => {
                let name = step.name();
                return Err(format!(
                    "operation {number} is \"{name}\" while it has lock {own}: expected \"run\", \"wake\" or \"unlock\" until then"
                ));
            }
        }
    }
    match owned {
        Some(lock) => Err(format!("never gives up lock {lock}")),
        None => Ok(()),
    }
}

fn check_lists(recording: &Recording, lists: &BTreeMap<u32, List>) -> Result<(), Fault> {
    let count = recording.threads.len();
    for (position, item) in recording.items.iter().enumerate() {
        let fault = |what: String| Err((Some(count + position), what));
        if item.by as usize >= count {
            return fault(format!("was done by thread {}, but there are threads 0 to {}", item.by, count - 1));
        }
        let own = |step: &Step| {
            matches!(
                step,
                Step::Run(_)
                    | Step::Wait
                    | Step::Wake(_)
                    | Step::Sleep(_)
                    | Step::Io(_)
                    | Step::Lock(_)
                    | Step::Unlock(_)
            )
        };
        if !item.steps.iter().all(own) {
            return fault(
                "does what only a thread can: expected \"run\", \"wait\", \"wake\", \"sleep\", \"io\", \"lock\" or \"unlock\"".into(),
            );
        }
    }
    for (number, List { takers, items }) in lists {
        match (&takers[..], items.first()) {
            ([], Some(first)) => return Err((Some(count + first), format!("no thread takes from list {number}"))),
            ([taker, ..], None) => return Err((Some(*taker), format!("takes from list {number}, which has no items"))),
            _ => {}
        }
        if let Some(twice) = takers.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err((
                Some(twice[0]),
                format!("takes from list {number} twice: a thread does so until it is empty"),
            ));
        }
    }
    Ok(())
}

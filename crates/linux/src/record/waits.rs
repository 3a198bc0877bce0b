//! Whether a thread that was woken had a reason to wake up: who waits for its turn, or for an item that another one gets, waits again at once.

use evenkeel_workload::recording::Step;

use super::pools::work;
use super::thread::Done;

/// A thread waits again at once if it works for less than such a part of what it does between two waits in the mean, and waits for at most so many
/// other things before (assumed).
const AT_ONCE: f64 = 0.1;
const OTHERS: usize = 4;

/// How much work a thread does between two waits, in the mean of what is not less than the mean: who is often woken in vain does little then.
pub(super) fn between_waits(done: &[Done]) -> f64 {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let mut each: Vec<f64> = done.split_inclusive(|done| done.step == Some(Step::Wait)).map(work).collect();
    let all = mean(&each);
    each.retain(|one| *one >= all);
    mean(&each)
}

/// Whether a thread waits again after one of its waits, at the same word and without having done anything. Who goes on from a barrier that has a
/// mutex may wait for that first.
pub(super) fn waits_at_once(done: &[Done], wait: usize, between_waits: f64) -> bool {
    let (word, mut worked, mut others) = (done[wait].word, 0.0, 0);
    for next in &done[wait + 1..] {
        worked += next.work.time;
        if word == 0 || worked >= AT_ONCE * between_waits || others > OTHERS {
            break;
        }
        if next.step == Some(Step::Wait) {
            if next.word == word {
                return true;
            }
            others += 1;
        }
    }
    false
}

/// How often a thread has waited, and how often of these it waited again at once.
pub(super) fn in_vain(done: &[Done]) -> (u32, u32) {
    let between = between_waits(done);
    let waits = (0..done.len()).filter(|at| done[*at].step == Some(Step::Wait));
    waits.fold((0, 0), |(all, vain), at| (all + 1, vain + u32::from(waits_at_once(done, at, between))))
}

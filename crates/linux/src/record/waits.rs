//! Whether a thread that was woken had a reason to wake up: who waits for its turn, or for an item that another one gets, waits again at once.

use evenkeel_workload::recording::Step;

use super::pools::work;
use super::thread::Done;

/// A thread waits again at once if it works for less than such a part of what it does between two waits in the mean (assumed).
const AT_ONCE: f64 = 0.1;

/// How much work a thread does between two waits, in the mean.
pub(super) fn between_waits(done: &[Done]) -> f64 {
    let waits = done.iter().filter(|done| done.step == Some(Step::Wait)).count();
    work(done) / waits.max(1) as f64
}

/// Whether what a thread does after a wait begins with the next one, as it were.
pub(super) fn waits_at_once(next: &[Done], between_waits: f64) -> bool {
    let again = next.iter().position(|done| done.step == Some(Step::Wait));
    again.is_some_and(|again| work(&next[..=again]) < AT_ONCE * between_waits)
}

/// How often a thread has waited, and how often of these it waited again at once.
pub(super) fn in_vain(done: &[Done]) -> (u32, u32) {
    let between = between_waits(done);
    let waits = (0..done.len()).filter(|at| done[*at].step == Some(Step::Wait));
    waits.fold((0, 0), |(all, vain), at| (all + 1, vain + u32::from(waits_at_once(&done[at + 1..], between))))
}

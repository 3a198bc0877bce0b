//! A thief asks before it takes by itself, which spares everybody a heavy fence.
//!
//! A heavy fence interrupts every worker that runs: a third of a microsecond on a quiet machine, 15 us between the processors of a virtual one. A victim with small
//! tasks comes by its queue every few nanoseconds, and can hand over its oldest one at once. A victim with large tasks does not come by, but beside those a
//! fence is cheap. So a thief waits for an answer as long as a fence takes, and then takes by itself: at worst it takes twice as long as one that had known.
//!
//! What is handed over has been stolen as far as everybody else can see: it leaves the queue over `top`.

use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::sync::{AtomicPtr, AtomicUsize};

/// What a worker is asked, and what it was answered.
pub(crate) struct Asking<T> {
    /// The worker that asks this one for a task, plus one.
    asker: AtomicUsize,
    /// What the worker that this one has asked gave: null before it has answered, [`nothing`] if it had nothing.
    answer: AtomicPtr<T>,
}

/// No task lies at the lowest address that a task could have.
fn nothing<T>() -> *mut T {
    NonNull::dangling().as_ptr()
}

impl<T> Asking<T> {
    pub(crate) fn new() -> Asking<T> {
        Asking { asker: AtomicUsize::new(0), answer: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Whether somebody asks. Relaxed: who is late is seen next time.
    #[inline(always)]
    pub(crate) fn is_asked(&self) -> bool {
        self.asker.load(Relaxed) != 0
    }

    /// Who asks, if somebody does. The caller is this worker, and owes an [`answer`](Self::answer).
    pub(crate) fn asker(&self) -> Option<usize> {
        self.asker.swap(0, AcqRel).checked_sub(1)
    }

    /// Answers this worker, which has asked.
    pub(crate) fn answer(&self, task: Option<NonNull<T>>) {
        // Release: pairs with `hear`.
        self.answer.store(task.map_or(nothing(), NonNull::as_ptr), Release);
    }

    /// Asks `victim` in the name of this worker, which is number `me`, and waits while `patient` says so. `None`: there was no answer, and none will come.
    pub(crate) fn ask(
        &self,
        victim: &Asking<T>,
        me: usize,
        mut patient: impl FnMut() -> bool,
    ) -> Option<Option<NonNull<T>>> {
        // One at a time. Whoever is second is too impatient already.
        victim.asker.compare_exchange(0, me + 1, AcqRel, Relaxed).ok()?;
        loop {
            let heard = self.hear();
            if heard.is_some() {
                return heard;
            }
            // If it cannot be taken back the victim has read it, and the answer is on its way.
            if !patient() && victim.asker.compare_exchange(me + 1, 0, AcqRel, Relaxed).is_ok() {
                return None;
            }
        }
    }

    fn hear(&self) -> Option<Option<NonNull<T>>> {
        let answer = self.answer.load(Acquire);
        if answer.is_null() {
            return None;
        }
        self.answer.store(ptr::null_mut(), Relaxed);
        Some(NonNull::new(answer).filter(|task| task.as_ptr() != nothing()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_heard_once_and_what_is_taken_back_is_not_answered() {
        let (thief, victim) = (Asking::<u64>::new(), Asking::<u64>::new());
        assert_eq!(thief.ask(&victim, 3, || false), None);
        assert!(!victim.is_asked(), "taken back");
        assert_eq!(victim.asker(), None);

        let task = NonNull::from(&7);
        let answer = |given: Option<NonNull<u64>>| {
            let busy = || {
                if victim.is_asked() {
                    assert_eq!(victim.asker(), Some(3));
                    thief.answer(given);
                }
                true
            };
            thief.ask(&victim, 3, busy)
        };
        assert_eq!(answer(Some(task)), Some(Some(task)));
        assert_eq!(answer(None), Some(None), "there was nothing");
        assert_eq!(thief.hear(), None);
    }

    #[test]
    fn one_asks_at_a_time() {
        let (first, second, victim) = (Asking::<u64>::new(), Asking::<u64>::new(), Asking::<u64>::new());
        let while_the_first_waits = || {
            assert_eq!(second.ask(&victim, 1, || panic!("does not even wait")), None);
            false
        };
        assert_eq!(first.ask(&victim, 0, while_the_first_waits), None);
    }
}

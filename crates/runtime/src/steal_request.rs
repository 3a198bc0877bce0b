//! A thief requests a task before it takes one by itself, which spares all workers a heavy fence.
//!
//! A heavy fence interrupts every worker that runs: a third of a microsecond on a quiet machine, 15 us between the processors of a virtual one. A victim with small
//! tasks pushes every few nanoseconds, and can then hand over its oldest task at once. A victim with large tasks does not, but beside those a
//! fence is cheap. So a thief waits for a reply as long as a fence takes, and then takes by itself: at worst it takes twice as long as with the right choice.
//!
//! A task that is handed over counts as stolen for all others: it leaves the queue over `top`.

use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::sync::{AtomicPtr, AtomicUsize};

/// The request that a worker gets, and the reply to its own.
pub(crate) struct StealRequest<T> {
    /// The thief that requests a task from this worker, plus one.
    thief: AtomicUsize,
    /// What the victim of this worker gave: null before it has replied, [`nothing`] if it had nothing.
    reply: AtomicPtr<T>,
}

/// No task lies at the lowest address that a task could have.
fn nothing<T>() -> *mut T {
    NonNull::dangling().as_ptr()
}

impl<T> StealRequest<T> {
    pub(crate) fn new() -> StealRequest<T> {
        StealRequest { thief: AtomicUsize::new(0), reply: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Whether a thief requests a task. Relaxed: a late request is seen next time.
    #[inline(always)]
    pub(crate) fn is_requested(&self) -> bool {
        self.thief.load(Relaxed) != 0
    }

    /// The thief that requests a task, if there is one. The caller is this worker, and owes it a [`reply`](Self::reply).
    pub(crate) fn accept(&self) -> Option<usize> {
        self.thief.swap(0, AcqRel).checked_sub(1)
    }

    /// Replies to this worker, whose request was accepted.
    pub(crate) fn reply(&self, task: Option<NonNull<T>>) {
        // Release: pairs with `receive`.
        self.reply.store(task.map_or(nothing(), NonNull::as_ptr), Release);
    }

    /// Requests a task from `victim` for this worker, which is number `me`, and waits while `wait` returns true. `None`: there was no reply, and none will come.
    pub(crate) fn request(
        &self,
        victim: &StealRequest<T>,
        me: usize,
        mut wait: impl FnMut() -> bool,
    ) -> Option<Option<NonNull<T>>> {
        // One at a time. A second thief would have to wait for longer than a fence takes.
        victim.thief.compare_exchange(0, me + 1, AcqRel, Relaxed).ok()?;
        loop {
            let received = self.receive();
            if received.is_some() {
                return received;
            }
            // If it cannot be taken back the victim has accepted it, and the reply is on its way.
            if !wait() && victim.thief.compare_exchange(me + 1, 0, AcqRel, Relaxed).is_ok() {
                return None;
            }
        }
    }

    fn receive(&self) -> Option<Option<NonNull<T>>> {
        let reply = self.reply.load(Acquire);
        if reply.is_null() {
            return None;
        }
        self.reply.store(ptr::null_mut(), Relaxed);
        Some(NonNull::new(reply).filter(|task| task.as_ptr() != nothing()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_received_once_and_a_request_that_is_taken_back_gets_none() {
        let (thief, victim) = (StealRequest::<u64>::new(), StealRequest::<u64>::new());
        assert_eq!(thief.request(&victim, 3, || false), None);
        assert!(!victim.is_requested(), "taken back");
        assert_eq!(victim.accept(), None);

        let task = NonNull::from(&7);
        let reply = |given: Option<NonNull<u64>>| {
            let busy = || {
                if victim.is_requested() {
                    assert_eq!(victim.accept(), Some(3));
                    thief.reply(given);
                }
                true
            };
            thief.request(&victim, 3, busy)
        };
        assert_eq!(reply(Some(task)), Some(Some(task)));
        assert_eq!(reply(None), Some(None), "there was nothing");
        assert_eq!(thief.receive(), None);
    }

    #[test]
    fn one_thief_at_a_time() {
        let (first, second, victim) =
            (StealRequest::<u64>::new(), StealRequest::<u64>::new(), StealRequest::<u64>::new());
        let while_the_first_waits = || {
            assert_eq!(second.request(&victim, 1, || panic!("does not even wait")), None);
            false
        };
        assert_eq!(first.request(&victim, 0, while_the_first_waits), None);
    }
}

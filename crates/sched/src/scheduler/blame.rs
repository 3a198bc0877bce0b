//! Who made a thread wait.
//!
//! Problem: COLAB blames the thread that ends a wait for all of it (4.1). But where a lock is passed on from one waiter to the next, that
//! thread held it only at the end, and waited before, as the others did. WASH looks for "the lock-holding thread that is delaying
//! the most work" (4), and a kernel does not see which thread holds a lock that is made of futexes.
//!
//! Approach: the thread that ends a wait is to blame for the time since its own last wait for others ended; the thread that ended
//! that one, for the time before; and so on. Only who wakes whom needs to be known. If one of them has exited, the thread that has its
//! number now is blamed.

use evenkeel_model::{Ns, ThreadId};

use super::Scheduler;
use crate::policy::Culprit;
use crate::thread::Release;

/// Waits are followed back over so many threads: in longer queues the last of them is blamed for the rest (assumed; the same inside the
/// kernel, where loops are bounded).
const LINKS: usize = 16;

/// A wait that is over and is followed back.
struct EndedWait {
    from: Ns,
    /// What is left of it ends then, and this thread is to blame.
    to: Ns,
    link: Option<ThreadId>,
    left: usize,
}

impl EndedWait {
    /// Followed over so many threads.
    fn new(now: Ns, by: Option<ThreadId>, waited: Ns, left: usize) -> Self {
        Self { from: now.since(waited), to: now, link: by, left }
    }

    /// The next one to blame, and for how long.
    fn next(&mut self, sched: &Scheduler) -> Option<(ThreadId, Ns)> {
        let blamed = self.link?;
        self.left -= 1;
        let last = sched.state.thread(blamed).released.filter(|_| self.left > 0);
        let before = last.filter(|last| self.from < last.at && last.at < self.to);
        let began = before.map_or(self.from, |before| before.at);
        let time = self.to.since(began);
        (self.to, self.link) = (began, before.map(|before| before.by));
        Some((blamed, time))
    }
}

impl Scheduler {
    /// A thread's wait for others is over at `now` and has lasted for `waited`; `by` ended it, if a thread did.
    pub fn released(&mut self, now: Ns, thread: ThreadId, by: Option<ThreadId>, waited: Ns) {
        let links = if self.culprit == Culprit::Holders { LINKS } else { 1 };
        let mut wait = EndedWait::new(now, by, waited, links);
        while let Some((blamed, time)) = wait.next(self) {
            self.blame(blamed, time);
        }
        self.state.threads[thread.index()].released = by.map(|by| Release { by, at: now });
    }

    /// Which threads made another one wait that [`Self::released`] is about to be told of, and each for how much of it: whatever the policy
    /// blames.
    pub fn holders(&self, now: Ns, by: Option<ThreadId>, waited: Ns) -> impl Iterator<Item = (ThreadId, Ns)> {
        let mut wait = EndedWait::new(now, by, waited, LINKS);
        std::iter::from_fn(move || wait.next(self))
    }

    /// Others waited for a thread, for so long: for a host whose part in the kernel counts that as [`Self::released`] does.
    pub fn blame(&mut self, thread: ThreadId, waited: Ns) {
        self.state.threads[thread.index()].blame += waited;
    }

    /// Which threads are blamed.
    pub fn culprit(&self) -> Culprit {
        self.culprit
    }

    /// From now on these are blamed, for another policy that looks on from beside.
    pub fn set_culprit(&mut self, culprit: Culprit) {
        self.culprit = culprit;
    }
}

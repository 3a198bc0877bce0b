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

impl Scheduler {
    /// A thread's wait for others is over at `now` and has lasted for `waited`; `by` ended it, if a thread did.
    pub fn released(&mut self, now: Ns, thread: ThreadId, by: Option<ThreadId>, waited: Ns) {
        let (from, mut to, mut link) = (now.since(waited), now, by);
        for left in (0..LINKS).rev() {
            let Some(blamed) = link else { break };
            let last = self.state.thread(blamed).released;
            let before =
                last.filter(|last| self.culprit == Culprit::Holders && left > 0 && from < last.at && last.at < to);
            let began = before.map_or(from, |before| before.at);
            self.blame(blamed, to.since(began));
            (to, link) = (began, before.map(|before| before.by));
        }
        self.state.threads[thread.index()].released = by.map(|by| Release { by, at: now });
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

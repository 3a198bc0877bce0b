//! Finds which masks of new threads are inherited from a thread whose mask Evenkeel had changed.
//!
//! A new thread has the mask that its parent had when the kernel copied it, at some moment `copied` of the fork. The thread
//! has a start time, `born`, and can be seen, a little later: `copied <= born <= copied + IN_FLIGHT`. If the mask is one that
//! Evenkeel gave, it comes from a thread that had it in a span which is kept here as a [`Grant`]; but not always at once. The
//! parent may have inherited it too, and may have ended before a sample has seen it. Then the thread was born long after the
//! span, and no relative of it may be left.
//!
//! Threads that no sample has seen live less than the time from one sample to the next. So the first of them was copied no
//! earlier than at the sample before the thread itself was, or at the one before that if a fork was in flight meanwhile. Every
//! new thread whose mask was granted to any thread since then counts as one that has inherited it. If the thread's process or
//! parent process was seen before that, only grants to that process count.
//! A thread that has inherited a mask has had it since it was born: until it is widened it has a grant of its own. One case is
//! not found: a process of the program that adopts orphans (`PR_SET_CHILD_SUBREAPER`) is taken for their parent.
//!
//! If both are possible, the mask counts as inherited. A thread that chose that very mask then loses it; otherwise a thread
//! could stay bound for life. eBPF reports the program's own mask of each thread, so that none of this is needed.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::RangeInclusive;

use evenkeel_model::Ns;
use rustix::thread::CpuSet;

use crate::event::Tid;
use crate::mask;

/// A fork takes no longer than this from the copy of the mask until the new thread can be seen.
pub const IN_FLIGHT: Ns = Ns::from_ms(50);
/// How many samples before a new thread its first unseen ancestor may have been copied: one, and another one for forks in
/// flight and for threads that a sample has missed.
const UNSEEN: usize = 2;
/// The times of so many samples are remembered, for threads that several have missed.
const SAMPLES: usize = 12;

/// A mask that a thread has had because Evenkeel gave it, or because it inherited such a mask.
#[derive(Clone, Copy, Debug)]
struct Grant {
    tid: Tid,
    process: Tid,
    from: Ns,
    /// [`Ns::NEVER`] as long as it lasts.
    to: Ns,
    /// What the program wants the thread to have.
    own: CpuSet,
    mask: CpuSet,
}

/// A thread that is seen for the first time.
#[derive(Clone, Debug)]
pub struct Newborn {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub process: Tid,
    /// The process that started it, if it is the first of its own and that process is still its parent.
    pub parent: Option<Tid>,
    /// When it may have been born.
    pub born: RangeInclusive<Ns>,
    /// The mask that it has.
    pub mask: CpuSet,
}

impl Newborn {
    /// The process that its parent belongs to: its own, or the one that started its process.
    fn family(&self) -> Option<Tid> {
        if self.tid == self.process { self.parent } else { Some(self.process) }
    }
}

/// All grants that a thread not seen yet may have inherited from.
#[derive(Default)]
pub struct Grants {
    grants: Vec<Grant>,
    /// When the last samples were taken.
    samples: VecDeque<Ns>,
}

impl Grants {
    /// A thread gets a mask that is not its own.
    pub fn begin(&mut self, tid: Tid, process: Tid, from: Ns, own: CpuSet, mask: CpuSet) {
        self.grants.push(Grant { tid, process, from, to: Ns::NEVER, own, mask });
    }

    /// A thread has its own mask again, or is gone.
    pub fn end(&mut self, tid: Tid, to: Ns) {
        for grant in self.grants.iter_mut().filter(|grant| grant.tid == tid && grant.to == Ns::NEVER) {
            grant.to = to;
        }
    }

    /// Finds the new threads that have inherited a mask. `processes` has since when each process has been known. `widen`
    /// gives each of them its own mask and returns when that was done. Returns the other threads.
    ///
    /// # Errors
    /// Those of `widen`.
    pub fn adopt(
        &mut self,
        mut newborn: Vec<Newborn>,
        processes: &BTreeMap<Tid, Ns>,
        mut widen: impl FnMut(&Newborn, &CpuSet) -> io::Result<Ns>,
    ) -> io::Result<Vec<Newborn>> {
        // A thread that has inherited a mask may have started others of these.
        loop {
            let (before, mut rest) = (newborn.len(), Vec::new());
            for thread in newborn {
                let Some(own) = self.own(&thread, processes) else {
                    rest.push(thread);
                    continue;
                };
                self.begin(thread.tid, thread.process, *thread.born.start(), own, thread.mask);
                let widened = widen(&thread, &own)?;
                self.end(thread.tid, widened);
            }
            if rest.len() == before {
                return Ok(rest);
            }
            newborn = rest;
        }
    }

    /// What the program wants a new thread to have, if it has inherited a mask.
    fn own(&self, newborn: &Newborn, processes: &BTreeMap<Tid, Ns>) -> Option<CpuSet> {
        let (start, end) = (*newborn.born.start(), *newborn.born.end());
        // The first unseen ancestor was not copied before this. Several samples may have been taken while it was in flight.
        let copied = start.since(IN_FLIGHT);
        let before = self.samples.iter().rev().filter(|at| at.0 <= copied.0);
        let since = before.copied().nth(UNSEEN - 1).unwrap_or(Ns::ZERO);
        let since = since.since(IN_FLIGHT);
        let family = newborn.family().filter(|family| processes.get(family).is_some_and(|known| *known < since));
        let may_come_from = |grant: &&Grant| {
            grant.tid != newborn.tid
                && (grant.from <= end && since <= grant.to)
                && family.is_none_or(|family| grant.process == family)
                && mask::still(&newborn.mask, &grant.mask)
        };
        self.grants.iter().rev().find(may_come_from).map(|grant| grant.own)
    }

    /// A sample was taken, and its threads were adopted.
    pub fn seen(&mut self, at: Ns) {
        self.samples.push_back(at);
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
            let oldest = self.samples[0].since(IN_FLIGHT);
            self.grants.retain(|grant| grant.to >= oldest);
        }
    }
}

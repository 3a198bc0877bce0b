//! Tells which masks of new threads are inherited from a thread whose mask Evenkeel had changed.
//!
//! A new thread has the mask that its parent had when the kernel copied it, at some moment `copied` of the fork. The thread
//! has a start time, `born`, and can be seen, a little later: `copied <= born <= copied + IN_FLIGHT`. If the mask is one that
//! Evenkeel gave, `copied` lies in a span in which the parent had it, which is kept here as a [`Grant`]. So `born` lies in
//! that span or at most [`IN_FLIGHT`] after it. Every new thread of which that may be true counts as one that has inherited.
//! It has had the mask since it was born, and may have started threads meanwhile: until it is widened it has a grant of its
//! own. By induction over the births every thread that has inherited a mask that Evenkeel gave is found, whatever the order in
//! which threads are seen.
//!
//! What cannot be told apart is decided for inheritance: a thread that chose its mask, and chose just the one that a thread
//! which may be its parent was given at that time, loses it. A thread that stayed bound by mistake would stay so for life.
//! eBPF tells the program's own mask of each thread, so that none of this is needed.

use std::io;
use std::ops::RangeInclusive;

use evenkeel_model::Ns;
use rustix::thread::CpuSet;

use crate::event::Tid;

/// A fork takes no longer than this from the copy of the mask until the new thread can be seen.
pub const IN_FLIGHT: Ns = Ns::from_ms(50);
/// Starting a thread of the same process copies no memory.
pub(super) const THREAD_IN_FLIGHT: Ns = Ns::from_ms(10);

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
    fn first(&self) -> bool {
        self.tid == self.process
    }

    /// Whether a thread with this grant may be the one that started it.
    fn may_inherit(&self, grant: &Grant) -> bool {
        let related = match self.parent {
            _ if !self.first() => grant.process == self.process,
            Some(parent) => grant.process == parent,
            None => true,
        };
        let late = if self.first() { IN_FLIGHT } else { THREAD_IN_FLIGHT };
        let until = Ns(grant.to.0.saturating_add(late.0));
        related && grant.tid != self.tid && grant.mask == self.mask && self.overlaps(grant.from, until)
    }

    fn overlaps(&self, from: Ns, to: Ns) -> bool {
        from <= *self.born.end() && *self.born.start() <= to
    }
}

/// All grants that a thread not seen yet may have inherited from.
#[derive(Default)]
pub struct Grants(Vec<Grant>);

impl Grants {
    /// A thread gets a mask that is not its own.
    pub fn begin(&mut self, tid: Tid, process: Tid, from: Ns, own: CpuSet, mask: CpuSet) {
        self.0.push(Grant { tid, process, from, to: Ns::NEVER, own, mask });
    }

    /// A thread has its own mask again, or is gone.
    pub fn end(&mut self, tid: Tid, to: Ns) {
        for grant in self.0.iter_mut().filter(|grant| grant.tid == tid && grant.to == Ns::NEVER) {
            grant.to = to;
        }
    }

    /// Finds those of new threads that have inherited a mask. `widen` gives each its own and returns when that was done. The
    /// other threads are returned.
    ///
    /// # Errors
    /// Those of `widen`.
    pub fn adopt(
        &mut self,
        mut newborn: Vec<Newborn>,
        mut widen: impl FnMut(&Newborn, &CpuSet) -> io::Result<Ns>,
    ) -> io::Result<Vec<Newborn>> {
        // One that has inherited a mask may have started others of these.
        loop {
            let (before, mut rest) = (newborn.len(), Vec::new());
            for thread in newborn {
                let Some(own) = self.own(&thread) else {
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
    fn own(&self, newborn: &Newborn) -> Option<CpuSet> {
        self.0.iter().rev().find(|grant| newborn.may_inherit(grant)).map(|grant| grant.own)
    }

    /// Every thread that could be seen before this time has been.
    pub fn seen(&mut self, before: Ns) {
        self.0.retain(|grant| grant.to.0.saturating_add(IN_FLIGHT.0) >= before.0);
    }
}

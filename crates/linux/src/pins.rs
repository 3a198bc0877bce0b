//! Threads that are kept to some CPUs until this is dropped, or this process ends, however that happens.

use std::collections::BTreeMap;

use evenkeel_model::Ns;
use evenkeel_topology::list;
use rustix::process::Pid;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use crate::clock::clock;
use crate::event::Tid;
use crate::guard::{Change, Guard, Slot, undo_now};
use crate::{mask, process};

/// Masks that were given to threads, for the time being.
#[derive(Default)]
pub struct Pins {
    /// None until something is pinned. Dropped, it gives every mask back.
    guard: Option<Guard>,
    pinned: BTreeMap<Tid, Pinned>,
}

struct Pinned {
    change: Change,
    slot: Slot,
    since: Ns,
}

impl Pins {
    /// Keeps a thread to those of some CPUs that its program allows it; to none: no longer.
    ///
    /// # Errors
    /// Why not, in a sentence: it is not there, its program allows it none of them, or this user may not.
    pub fn pin(&mut self, tid: Tid, cpus: &[u16]) -> Result<(), String> {
        let gone = || format!("there is no thread {tid}");
        let (Some(started), Some(process)) = (process::started(tid), process::of(tid)) else { return Err(gone()) };
        let pid = Pid::from_raw(tid as i32);
        let present = sched_getaffinity(pid).map_err(|_| gone())?;
        let same = |change: &Change| change.started == started && mask::still(&present, &change.after);
        let earlier = self.pinned.get(&tid).map(|pinned| pinned.change).filter(same);
        let before = earlier.map_or(present, |change| change.before);
        let after = mask::of(allowed(tid, &mask::cpus(&before).collect::<Vec<_>>(), cpus)?);
        let failed = |error| format!("cannot keep a guard that gives affinity masks back: {error}");
        if let (Some(Pinned { change, slot, since }), Some(guard)) = (self.pinned.remove(&tid), &mut self.guard) {
            undo_now(&change, since);
            guard.forget(slot).map_err(failed)?;
        }
        if cpus.is_empty() {
            return Ok(());
        }
        let guard = match &mut self.guard {
            Some(guard) => {
                guard.renew().map_err(failed)?;
                guard
            }
            none => {
                let guard = Guard::spawn().map_err(failed)?;
                // Threads that a pinned one starts from now on inherit its mask, and lose it with it.
                guard.seen(clock()).map_err(failed)?;
                none.insert(guard)
            }
        };
        let change = Change { tid, started, process, before, after, inherited: false };
        let (slot, since) = (guard.record(&change).map_err(failed)?, clock());
        if let Err(error) = sched_setaffinity(pid, &after) {
            guard.forget(slot).map_err(failed)?;
            return Err(format!("cannot pin thread {tid}: {error}"));
        }
        self.pinned.insert(tid, Pinned { change, slot, since });
        Ok(())
    }

    /// The CPUs that each thread is pinned to, and that it has not left by itself.
    pub fn pinned(&mut self) -> BTreeMap<Tid, Vec<u16>> {
        // What those that have ended have started may have inherited their masks: they stay on record.
        self.pinned.retain(|tid, pinned| process::started(*tid) == Some(pinned.change.started));
        let kept = |tid: &Tid, change: &Change| {
            mask::of_thread(*tid).is_ok_and(|present| mask::still(&present, &change.after))
        };
        let pinned = self.pinned.iter().filter(|(tid, pinned)| kept(tid, &pinned.change));
        pinned.map(|(tid, pinned)| (*tid, mask::cpus(&pinned.change.after).collect())).collect()
    }
}

/// Those of some CPUs that a thread may be pinned to, given its own.
///
/// # Errors
/// Its program allows it none of them: that, in a sentence.
pub(crate) fn allowed(tid: Tid, own: &[u16], cpus: &[u16]) -> Result<Vec<u16>, String> {
    let allowed: Vec<u16> = cpus.iter().copied().filter(|cpu| own.contains(cpu)).collect();
    if allowed.is_empty() && !cpus.is_empty() {
        let (own, cpus) = (list::text(own), list::text(cpus));
        return Err(format!("its program allows thread {tid} CPU {own} only, not {cpus}"));
    }
    Ok(allowed)
}

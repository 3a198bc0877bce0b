//! Threads that are kept to some CPUs until this is dropped, or this process ends, however that happens.

use std::collections::BTreeMap;

use evenkeel_topology::list;
use rustix::process::Pid;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use crate::clock::clock;
use crate::event::Tid;
use crate::guard::{Change, Guard, Slot};
use crate::{mask, process};

/// Masks that were given to threads, for the time being.
#[derive(Default)]
pub struct Pins {
    /// None until something is pinned. Dropped, it gives every mask back.
    guard: Option<Guard>,
    pinned: BTreeMap<Tid, (Change, Slot)>,
}

impl Pins {
    /// Keeps a thread to those of some CPUs that its program allows it; to none: no longer.
    ///
    /// # Errors
    /// Why not, in a sentence: it is not there, its program allows it none of them, or this user may not.
    pub fn pin(&mut self, tid: Tid, cpus: &[u16]) -> Result<(), String> {
        let pid = Pid::from_raw(tid as i32);
        let gone = || format!("there is no thread {tid}");
        let present = sched_getaffinity(pid).map_err(|_| gone())?;
        let earlier = self.pinned.get(&tid).map(|(change, _)| *change).filter(|change| change.after == present);
        let before = earlier.map_or(present, |change| change.before);
        let after = mask::of(cpus.iter().copied().filter(|cpu| before.is_set(usize::from(*cpu))));
        if !cpus.is_empty() && mask::cpus(&after).next().is_none() {
            let own = list::text(&mask::cpus(&before).collect::<Vec<_>>());
            return Err(format!("its program allows thread {tid} CPU {own} only, not {}", list::text(cpus)));
        }
        let set = |mask| sched_setaffinity(pid, mask).map_err(|error| format!("cannot pin thread {tid}: {error}"));
        if earlier.is_some() {
            set(&before)?;
        }
        let failed = |error| format!("cannot keep a guard that gives affinity masks back: {error}");
        if let (Some((_, slot)), Some(guard)) = (self.pinned.remove(&tid), &mut self.guard) {
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
        let (Some(started), Some(process)) = (process::started(tid), process::of(tid)) else { return Err(gone()) };
        let change = Change { tid, started, process, before, after, inherited: false };
        let slot = guard.record(&change).map_err(failed)?;
        if let Err(refusal) = set(&after) {
            guard.forget(slot).map_err(failed)?;
            return Err(refusal);
        }
        self.pinned.insert(tid, (change, slot));
        Ok(())
    }

    /// The CPUs that each thread is pinned to. Forgets those that have ended.
    pub fn pinned(&mut self) -> BTreeMap<Tid, Vec<u16>> {
        let ended = |tid: &Tid, change: &Change| process::started(*tid) != Some(change.started);
        let ended: Vec<Tid> =
            self.pinned.iter().filter(|(tid, (change, _))| ended(tid, change)).map(|(tid, _)| *tid).collect();
        for tid in ended {
            if let (Some((_, slot)), Some(guard)) = (self.pinned.remove(&tid), &mut self.guard) {
                let _ = guard.forget(slot);
            }
        }
        let cpus = |(tid, (change, _)): (&Tid, &(Change, Slot))| (*tid, mask::cpus(&change.after).collect());
        self.pinned.iter().map(cpus).collect()
    }
}

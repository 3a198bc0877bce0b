//! Changes affinity masks, and gives them back.
//!
//! A move narrows the mask to one CPU, which makes the kernel move the thread at once, and widens it again right after:
//! the thread stays where it is, the kernel stays free to use an idle CPU for it, and a program that reads its mask later
//! sees its own. Only masks of policies that bind threads stay, and those are given back at the end.
//!
//! # The program's own masks
//! A mask that the program sets wins. With eBPF every such call is seen when it begins, before the mask is in place
//! ([`Sampler::wish`]). So after each change here the program's wishes are read: one that came before the change may have
//! been overwritten, and is set once more; one that comes after is carried out by the kernel. Without eBPF a mask that is
//! not what it was left as is the program's.
//!
//! # No thread stays bound
//! A thread that is started while its parent's mask is changed inherits the changed mask, at any depth, and before a sample
//! can see it (`docs/run.md`). So a new thread's mask says nothing about what the program wants. With eBPF the kernel part
//! keeps the program's own mask of every thread. Without eBPF [`inherit`] decides, and errs on the side of the wider mask.
//!
//! At the end every mask is given back. Then new threads are searched for until none that was copied before can be in flight
//! ([`Affinity::settled`]). After `kill -9` the guard does the same by its records: a change stays recorded until no thread
//! that has inherited it can be in flight.

mod inherit;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;

use evenkeel_model::{CoreId, CoreSet, Ns};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::sampler::Sampler;
use crate::clock::clock;
use crate::event::Tid;
use crate::guard::{Change, Guard, Slot};
use crate::realtime::Urgent;
use crate::sample::Sample;
use crate::{mask, process};
use inherit::{Grants, IN_FLIGHT, Newborn};

/// A process is left unbound for so long: programs count their CPUs when they start, and would count too few.
const GRACE: Ns = Ns::from_ms(100);
/// A process is not moved for so long: while a thread is moved its mask is one CPU, and what counts CPUs when it is loaded, such
/// as OpenMP's runtime, would find one for life. Without eBPF threads that choose masks when they are started would be
/// misjudged, too.
const YOUNG: Ns = Ns::from_ms(30);

/// Changes masks. Without [`Affinity::release`] its guard undoes everything when it is dropped.
pub struct Affinity {
    guard: Guard,
    cpus: Vec<u16>,
    /// The mask of the first thread: for threads of which nothing better is known.
    first: CpuSet,
    bound: BTreeMap<Tid, Bound>,
    wanted: BTreeMap<Tid, Wanted>,
    grants: Grants,
    /// Changes that are over and may have been inherited.
    over: Vec<(Ns, Slot)>,
    /// When a mask was last given back.
    changed: Ns,
    /// The time of the last sample.
    sampled: Ns,
    refused: u64,
}

/// A binding that is to come.
#[derive(Clone, Copy)]
struct Wanted {
    cores: CoreSet,
    process: Tid,
    due: Ns,
}

struct Bound {
    change: Change,
    slot: Slot,
}

/// What became of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The thread is there.
    Done,
    /// The program itself allows only these cores.
    Forbidden(CoreSet),
    /// The thread is gone, or may not be changed by this user.
    Not,
    /// It is too early.
    Later,
}

impl Affinity {
    /// For a machine whose core `i` is the CPU `cpus[i]`. `process` is the one to be followed.
    pub fn new(guard: Guard, cpus: Vec<u16>, process: Tid) -> Self {
        Self {
            guard,
            first: sched_getaffinity(pid(process)).unwrap_or_else(|_| mask::of(cpus.iter().copied())),
            cpus,
            bound: BTreeMap::new(),
            wanted: BTreeMap::new(),
            grants: Grants::default(),
            over: Vec::new(),
            changed: Ns::ZERO,
            sampled: Ns::NEVER,
            refused: 0,
        }
    }

    /// Takes note of new threads and the cores that the program allows each. What has inherited a mask gets its own at once.
    /// `processes` has since when each process has been known. Returns whether any thread had inherited a mask.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn adopt(
        &mut self,
        threads: &[Sample],
        processes: &BTreeMap<Tid, Ns>,
        sampler: &mut Sampler,
        cores: &mut BTreeMap<Tid, CoreSet>,
    ) -> io::Result<bool> {
        let mut newborn = Vec::new();
        let mut inherited = false;
        for Sample { tid, process, .. } in threads {
            let Ok(present) = sched_getaffinity(pid(*tid)) else {
                cores.insert(*tid, self.cores(&self.first));
                continue;
            };
            match sampler.wish(*tid).or_else(|| sampler.own_mask(*tid)) {
                Some(own) => {
                    let usable = self.usable(own);
                    let mut found = self.cores(&usable);
                    // It may have more: what has come since is none of those.
                    if mask::cpus(&usable).any(|cpu| !present.is_set(usize::from(cpu))) {
                        inherited = true;
                        // The kernel refuses a mask without a CPU that it could use.
                        let some = mask::cpus(&usable).any(|cpu| own.is_set(usize::from(cpu)));
                        let meant = if some { own } else { usable };
                        found = self.settle(*tid, &meant, sampler)?.1.unwrap_or(found);
                    }
                    cores.insert(*tid, found);
                }
                None => {
                    let (parent, born) = (sampler.parent(*tid, *process), process::started_between(*tid));
                    newborn.push(Newborn { tid: *tid, process: *process, parent, born, mask: present });
                }
            }
        }
        let mut grants = std::mem::take(&mut self.grants);
        let found = newborn.len();
        let chose = grants.adopt(newborn, processes, |thread, own| {
            self.settle(thread.tid, own, sampler)?;
            cores.insert(thread.tid, self.cores(own));
            Ok(clock())
        });
        self.grants = grants;
        let chose = chose?;
        inherited |= chose.len() < found;
        cores.extend(chose.iter().map(|thread| (thread.tid, self.cores(&thread.mask))));
        if inherited {
            self.changed = clock();
        }
        Ok(inherited)
    }

    /// What the kernel makes of a mask that the program wants, as far as that is known.
    fn usable(&self, own: CpuSet) -> CpuSet {
        let limit = mask::limit();
        let usable = mask::and(&own, &limit);
        if mask::cpus(&usable).next().is_some() { usable } else { self.first }
    }

    /// The program has given a thread this mask, or others since. Nothing else is wanted of the thread any more. Returns the
    /// cores that it now allows; `None` if the kernel refuses that mask, so that all is as it was.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn chosen(&mut self, tid: Tid, own: CpuSet, sampler: &mut Sampler) -> io::Result<Option<CoreSet>> {
        let (mut next, mut cores) = (Some(own), None);
        // What is set here may overwrite what the program sets meanwhile.
        while let Some(own) = next {
            // The kernel does the same to the program's call, now or a moment before. It refuses one without a usable CPU.
            let there = sched_getaffinity(pid(tid)).is_ok_and(|present| present == self.usable(own));
            if there || sched_setaffinity(pid(tid), &own) != Err(Errno::INVAL) {
                self.wanted.remove(&tid);
                self.unbound(tid)?;
                cores = Some(self.cores(&own));
            }
            next = sampler.wish(tid);
        }
        Ok(cores)
    }

    /// Puts a thread, which started at a time (see [`process::started`]), on a core, if that is one of its own choice.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn put(&mut self, thread: Moving, core: usize, sampler: &mut Sampler) -> io::Result<Moved> {
        let Moving { tid, process, started, process_since } = thread;
        if let Some(own) = sampler.wish(tid)
            && let Some(cores) = self.chosen(tid, own, sampler)?
        {
            return Ok(Moved::Forbidden(cores));
        }
        let from = clock();
        if from.since(process_since) < YOUNG {
            return Ok(Moved::Later);
        }
        let Ok(present) = sched_getaffinity(pid(tid)) else { return Ok(Moved::Not) };
        let binding = self.bound.get(&tid).map(|bound| bound.change);
        let binding = binding.filter(|change| mask::still(&present, &change.after));
        let cpu = self.cpus[core];
        if !present.is_set(usize::from(cpu)) {
            // The program has not set this mask: a policy moves to where it binds only after that.
            return Ok(if binding.is_some() { Moved::Later } else { Moved::Forbidden(self.cores(&present)) });
        }
        let after = mask::of([cpu]);
        if present == after {
            return Ok(Moved::Done);
        }
        let before = binding.map_or_else(|| mask::lasting(present), |change| change.after);
        let slot = self.guard.record(&Change { tid, started, process, before, after, inherited: false })?;
        // On a busy machine this thread would wait for a CPU while the mask is narrow, for many ms.
        let urgent = Urgent::this_thread();
        let own = self.bound.get(&tid).map_or(before, |bound| bound.change.before);
        self.grants.begin(tid, process, from, own, after);
        let mut moved = self.set(tid, &after);
        if moved == Moved::Done {
            match sched_getaffinity(pid(tid)) {
                Ok(own) if own != after => moved = Moved::Forbidden(self.cores(&own)),
                _ => {
                    if let (_, Some(own)) = self.settle(tid, &before, sampler)? {
                        moved = Moved::Forbidden(own);
                    }
                }
            }
        }
        drop(urgent);
        self.grants.end(tid, clock());
        self.retire(slot)?;
        if let Some(bound) = self.bound.get(&tid) {
            self.grants.begin(tid, process, from, own, bound.change.after);
        }
        Ok(moved)
    }

    /// Keeps a thread to some cores from now on, or from when its process is old enough.
    pub fn bind(&mut self, tid: Tid, cores: CoreSet, process: Tid, process_since: Ns) {
        self.wanted.insert(tid, Wanted { cores, process, due: process_since + GRACE });
    }

    /// Binds what is due. `changed` is called for threads whose program has set a mask of its own.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn bind_due(
        &mut self,
        now: Ns,
        sampler: &mut Sampler,
        mut changed: impl FnMut(Tid, CoreSet),
    ) -> io::Result<u64> {
        let mut binds = 0;
        while let Some((tid, Wanted { cores, process, .. })) =
            self.wanted.iter().find(|(_, wanted)| wanted.due <= now).map(|(tid, wanted)| (*tid, *wanted))
        {
            self.wanted.remove(&tid);
            if let Some(own) = sampler.wish(tid)
                && let Some(cores) = self.chosen(tid, own, sampler)?
            {
                changed(tid, cores);
                continue;
            }
            let Ok(present) = sched_getaffinity(pid(tid)) else { continue };
            let own = match self.unbound(tid)? {
                Some(change) if mask::still(&present, &change.after) => change.before,
                Some(_) => {
                    changed(tid, self.cores(&present));
                    present
                }
                None => present,
            };
            let after =
                mask::of(cores.iter().map(|core| self.cpus[core.index()]).filter(|cpu| own.is_set(usize::from(*cpu))));
            let whole = self.cores(&own) == self.cores(&after) || mask::cpus(&after).next().is_none();
            if whole && own == present {
                continue;
            }
            if !whole {
                let Some(started) = process::started(tid) else { continue };
                let before = mask::lasting(own);
                let change = Change { tid, started, process, before, after, inherited: false };
                let slot = self.guard.record(&change)?;
                self.bound.insert(tid, Bound { change, slot });
                self.grants.begin(tid, process, clock(), before, after);
            }
            let (done, chosen) = self.settle(tid, if whole { &own } else { &after }, sampler)?;
            match chosen {
                Some(own) => changed(tid, own),
                None => binds += u64::from(!whole && done == Moved::Done),
            }
        }
        Ok(binds)
    }

    /// Keeps a thread no longer to any cores. Returns those that its program allows.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn unbind(&mut self, tid: Tid, sampler: &mut Sampler) -> io::Result<CoreSet> {
        self.wanted.remove(&tid);
        let present = sched_getaffinity(pid(tid)).unwrap_or(self.first);
        let Some(change) = self.unbound(tid)? else { return Ok(self.cores(&present)) };
        // Its program has chosen since.
        if !mask::still(&present, &change.after) {
            return Ok(self.cores(&present));
        }
        let (_, chosen) = self.settle(tid, &change.before, sampler)?;
        Ok(chosen.unwrap_or_else(|| self.cores(&change.before)))
    }

    /// The cores that a program allows a thread.
    pub fn own(&self, tid: Tid) -> CoreSet {
        let present = || sched_getaffinity(pid(tid)).unwrap_or(self.first);
        self.cores(&self.bound.get(&tid).filter(|_| self.binds(tid)).map_or_else(present, |bound| bound.change.before))
    }

    /// Whether a thread is kept to some cores: its program may have chosen others since.
    pub fn binds(&self, tid: Tid) -> bool {
        let still = |bound: &Bound| sched_getaffinity(pid(tid)).is_ok_and(|now| mask::still(&now, &bound.change.after));
        self.bound.get(&tid).is_some_and(still)
    }

    /// Whether its program has given a thread another mask than one by which it is kept to some cores.
    pub fn left(&self, tid: Tid, cores: CoreSet) -> bool {
        match self.bound.get(&tid) {
            Some(_) => !self.binds(tid),
            // No mask is needed where its program allowed it no others.
            None => !self.wanted.contains_key(&tid) && self.own(tid) != cores,
        }
    }

    /// A thread is not bound any more.
    fn unbound(&mut self, tid: Tid) -> io::Result<Option<Change>> {
        let Some(Bound { change, slot }) = self.bound.remove(&tid) else { return Ok(None) };
        self.retire(slot)?;
        self.grants.end(tid, clock());
        Ok(Some(change))
    }

    /// A change is over. Threads that have inherited it may still come.
    fn retire(&mut self, slot: Slot) -> io::Result<()> {
        self.changed = clock();
        self.guard.over(&slot)?;
        self.over.push((self.changed, slot));
        Ok(())
    }

    /// A thread is gone.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn gone(&mut self, tid: Tid) -> io::Result<()> {
        self.wanted.remove(&tid);
        self.unbound(tid).map(|_| ())
    }

    /// Every thread that could be seen at this time was adopted.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn seen(&mut self, at: Ns) -> io::Result<()> {
        self.grants.seen(at);
        // One sample may miss a thread.
        self.guard.seen(std::mem::replace(&mut self.sampled, at))?;
        let past = |(over, _): &mut (Ns, Slot)| *over + IN_FLIGHT < at;
        for (_, slot) in self.over.extract_if(.., past) {
            self.guard.forget(slot)?;
        }
        Ok(())
    }

    /// The guard's process.
    pub fn guard(&self) -> Tid {
        self.guard.pid()
    }

    /// Sees to it that there is a guard. Returns whether it had to be replaced.
    ///
    /// # Errors
    /// No process can be started.
    pub fn guarded(&mut self) -> io::Result<bool> {
        self.guard.renew()
    }

    /// Gives every mask back. New threads with such a mask may still come, until [`Self::settled`].
    pub fn release(&mut self, sampler: &mut Sampler) {
        self.wanted.clear();
        for (tid, Bound { change, slot }) in std::mem::take(&mut self.bound) {
            let same = process::started(tid) == Some(change.started) && sampler.wish(tid).is_none();
            if same && sched_getaffinity(pid(tid)).is_ok_and(|now| mask::still(&now, &change.after)) {
                let _ = self.settle(tid, &change.before, sampler);
            }
            let _ = self.retire(slot);
            self.grants.end(tid, clock());
        }
    }

    /// Nothing is left to be undone: the guard ends and leaves threads alone that have chosen masks since.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn done(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.over).into_iter().try_for_each(|(_, slot)| self.guard.forget(slot))
    }

    /// Whether every thread that has inherited a mask could be seen before this time.
    pub fn settled(&self, at: Ns) -> bool {
        self.changed == Ns::ZERO || at >= self.changed + IN_FLIGHT
    }

    /// The CPU that a core is.
    pub fn cpu(&self, core: CoreId) -> u16 {
        self.cpus[core.index()]
    }

    /// How often the kernel refused a change.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Sets a mask, and over it what the program wishes meanwhile, which is returned as well.
    fn settle(&mut self, tid: Tid, mask: &CpuSet, sampler: &mut Sampler) -> io::Result<(Moved, Option<CoreSet>)> {
        let moved = self.set(tid, mask);
        let chosen = match sampler.wish(tid) {
            Some(own) => self.chosen(tid, own, sampler)?,
            None => None,
        };
        Ok((moved, chosen))
    }

    fn set(&mut self, tid: Tid, mask: &CpuSet) -> Moved {
        match sched_setaffinity(pid(tid), mask) {
            Ok(()) => Moved::Done,
            Err(error) => {
                self.refused += u64::from(is_refusal(error));
                Moved::Not
            }
        }
    }

    fn cores(&self, mask: &CpuSet) -> CoreSet {
        let cores = (0..self.cpus.len()).filter(|core| mask.is_set(usize::from(self.cpus[*core])));
        cores.map(|core| CoreId(core as u16)).collect()
    }
}

/// A thread that is to be moved.
#[derive(Clone, Copy, Debug)]
pub struct Moving {
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub process: Tid,
    /// When the thread started, as [`process::started`] has it.
    pub started: u64,
    /// Since when its process has been followed.
    pub process_since: Ns,
}

/// Whether this user may not set a mask: the thread is there, and not of the class SCHED_DEADLINE, whose threads must be free to use every CPU
/// (`dl_task_check_affinity`).
fn is_refusal(error: Errno) -> bool {
    !matches!(error, Errno::SRCH | Errno::BUSY)
}

fn pid(tid: Tid) -> Option<Pid> {
    Pid::from_raw(tid as i32)
}

//! Changes affinity masks, and gives them back.
//!
//! A move narrows the mask to one CPU, which makes the kernel move the thread at once, and widens it again right after:
//! the thread stays where it is, the kernel stays free to use an idle CPU for it, and a program that asks for its mask sees
//! its own. Only policies that bind threads leave masks behind, and those are given back at the end.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use evenkeel_model::{CoreId, CoreSet, Ns};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::clock;
use super::sample::Sample;
use crate::event::Tid;
use crate::guard::{Change, Guard, Slot};
use crate::mask;

/// A process is left unbound for so long: programs count their CPUs when they start, and would count too few.
const GRACE: Ns = Ns::from_ms(100);

/// For so long it is remembered that a mask was narrowed, since a thread that was started meanwhile has inherited it.
const MEMORY: Ns = Ns::from_secs(1);
/// Without a look at the very start of a thread, it counts as started meanwhile if it turns up this soon.
const SOON: Ns = Ns::from_ms(50);

/// Changes masks. Everything is undone when it is dropped.
pub struct Hands {
    guard: Guard,
    cpus: Vec<u16>,
    bound: BTreeMap<Tid, Bound>,
    wanted: BTreeMap<Tid, (CoreSet, Ns)>,
    narrowed: VecDeque<Narrowed>,
    refused: u64,
}

/// A mask that was narrowed for a moment.
struct Narrowed {
    tid: Tid,
    process: Tid,
    from: Ns,
    to: Ns,
    before: CpuSet,
    after: CpuSet,
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
}

impl Hands {
    /// Hands for a machine whose core `i` is the CPU `cpus[i]`.
    pub fn new(guard: Guard, cpus: Vec<u16>) -> Self {
        Self { guard, cpus, bound: BTreeMap::new(), wanted: BTreeMap::new(), narrowed: VecDeque::new(), refused: 0 }
    }

    /// The cores that a new thread's program allows: its mask, unless that is one that was given to the thread that
    /// started it. A mask that was narrowed for a moment is widened at once.
    pub fn allowed(&mut self, sample: &Sample, now: Ns) -> CoreSet {
        let tid = sample.tid;
        let Ok(present) = sched_getaffinity(pid(tid)) else { return CoreSet::first(self.cpus.len()) };
        self.narrowed.retain(|narrowed| now.since(narrowed.to) < MEMORY);
        let meanwhile = |narrowed: &&Narrowed| match sample.birth {
            Some(birth) => birth.parent == narrowed.tid && (narrowed.from..=narrowed.to).contains(&birth.at),
            None => sample.process == narrowed.process && now.since(narrowed.to) < SOON,
        };
        let narrowed = self.narrowed.iter().rev().filter(|narrowed| narrowed.after == present).find(meanwhile);
        if let Some(before) = narrowed.map(|narrowed| narrowed.before) {
            self.set(tid, &before);
            return self.cores(&before);
        }
        let inherited = self.bound.values().find(|bound| bound.change.after == present).map(|bound| bound.change);
        let Some(change) = inherited else { return self.cores(&present) };
        let original = self.cores(&change.before);
        if let Some(started) = mask::started(tid)
            && let Ok(slot) = self.guard.record(&Change { tid, started, ..change })
        {
            self.bound.insert(tid, Bound { change: Change { tid, started, ..change }, slot });
            self.wanted.insert(tid, (original, now));
        }
        original
    }

    /// Puts a thread, which started at a time (see [`mask::started`]), on a core, if that is one of its own choice.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn put(&mut self, tid: Tid, process: Tid, started: u64, core: usize) -> io::Result<Moved> {
        let Ok(before) = sched_getaffinity(pid(tid)) else { return Ok(Moved::Not) };
        let cpu = self.cpus[core];
        if !before.is_set(usize::from(cpu)) {
            return Ok(Moved::Forbidden(self.cores(&before)));
        }
        let after = mask::of([cpu]);
        let slot = self.guard.record(&Change { tid, started, before, after, inherited: false })?;
        let from = clock();
        let moved = self.set(tid, &after);
        if moved == Moved::Done {
            self.set(tid, &before);
            self.narrowed.push_back(Narrowed { tid, process, from, to: clock(), before, after });
        }
        self.guard.forget(slot)?;
        Ok(moved)
    }

    /// Keeps a thread to some cores from now on, or from when its process is old enough.
    pub fn bind(&mut self, tid: Tid, cores: CoreSet, process_since: Ns) {
        self.wanted.insert(tid, (cores, process_since + GRACE));
    }

    /// Binds what is due. `changed` hears of threads whose program has set a mask of its own.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn bind_due(&mut self, now: Ns, mut changed: impl FnMut(Tid, CoreSet)) -> io::Result<u64> {
        let mut binds = 0;
        while let Some((tid, cores)) =
            self.wanted.iter().find(|(_, (_, due))| *due <= now).map(|(tid, (cores, _))| (*tid, *cores))
        {
            self.wanted.remove(&tid);
            let Ok(present) = sched_getaffinity(pid(tid)) else { continue };
            let previous = self.bound.remove(&tid);
            let own = match previous {
                Some(Bound { change, slot }) => {
                    self.guard.forget(slot)?;
                    if change.after == present {
                        change.before
                    } else {
                        changed(tid, self.cores(&present));
                        present
                    }
                }
                None => present,
            };
            let after =
                mask::of(cores.iter().map(|core| self.cpus[core.index()]).filter(|cpu| own.is_set(usize::from(*cpu))));
            let whole = self.cores(&own) == self.cores(&after) || mask::cpus(&after).next().is_none();
            if whole {
                if own != present {
                    self.set(tid, &own);
                }
                continue;
            }
            let Some(started) = mask::started(tid) else { continue };
            let change = Change { tid, started, before: own, after, inherited: false };
            let slot = self.guard.record(&change)?;
            binds += u64::from(self.set(tid, &after) == Moved::Done);
            self.bound.insert(tid, Bound { change, slot });
        }
        Ok(binds)
    }

    /// A thread is gone.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn gone(&mut self, tid: Tid) -> io::Result<()> {
        self.wanted.remove(&tid);
        self.bound.remove(&tid).map_or(Ok(()), |bound| self.guard.forget(bound.slot))
    }

    /// The CPU that a core is.
    pub fn cpu(&self, core: CoreId) -> u16 {
        self.cpus[core.index()]
    }

    /// How often the kernel refused a change.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn set(&mut self, tid: Tid, mask: &CpuSet) -> Moved {
        match sched_setaffinity(pid(tid), mask) {
            Ok(()) => Moved::Done,
            Err(Errno::SRCH) => Moved::Not,
            Err(_) => {
                self.refused += 1;
                Moved::Not
            }
        }
    }

    fn cores(&self, mask: &CpuSet) -> CoreSet {
        let cores = (0..self.cpus.len()).filter(|core| mask.is_set(usize::from(self.cpus[*core])));
        cores.map(|core| CoreId(core as u16)).collect()
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        for (tid, bound) in std::mem::take(&mut self.bound) {
            let same = mask::started(tid) == Some(bound.change.started);
            if same && sched_getaffinity(pid(tid)).is_ok_and(|now| now == bound.change.after) {
                self.set(tid, &bound.change.before);
            }
            let _ = self.guard.forget(bound.slot);
        }
    }
}

fn pid(tid: Tid) -> Option<Pid> {
    Pid::from_raw(tid as i32)
}

//! Changes affinity masks, and gives them back.
//!
//! A move narrows the mask to one CPU, which makes the kernel move the thread at once, and widens it again right after:
//! the thread stays where it is, the kernel stays free to use an idle CPU for it, and a program that asks for its mask sees
//! its own. Only policies that bind threads leave masks behind, and those are given back at the end.
//!
//! A mask that the program sets wins. With eBPF every such call is seen when it begins, before the mask is in place
//! ([`Eyes::wish`]). So after each change here the program's wishes are asked for: one that came before the change may have
//! been overwritten, and is set once more; one that comes after is carried out by the kernel. Without eBPF a mask that is
//! not what it was left as is the program's; one that a new thread chooses and that is what another one was given when it
//! started cannot be told from an inherited one.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::RangeInclusive;

use evenkeel_model::{CoreId, CoreSet, Ns};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::clock;
use super::eyes::Eyes;
use super::sample::{Birth, Sample};
use crate::event::Tid;
use crate::guard::{Change, Guard, Slot};
use crate::mask;

/// A process is left unbound for so long: programs count their CPUs when they start, and would count too few.
const GRACE: Ns = Ns::from_ms(100);

/// For so long it is remembered that a mask was narrowed, since a thread that was started meanwhile has inherited it.
const MEMORY: Ns = Ns::from_secs(1);
/// A thread that is on its way to another CPU for less than this hardly starts another one meanwhile: a new thread with
/// such a mask whose start nobody saw has chosen it.
const MOMENT: Ns = Ns::from_ms(1);
/// Starting a thread takes no longer than this.
const SOON: Ns = Ns::from_ms(50);

/// Changes masks. Without [`Hands::release`] its guard undoes everything when it is dropped.
pub struct Hands {
    guard: Guard,
    cpus: Vec<u16>,
    bound: BTreeMap<Tid, Bound>,
    wanted: BTreeMap<Tid, Wanted>,
    narrowed: VecDeque<Narrowed>,
    refused: u64,
}

/// A binding that is to come.
#[derive(Clone, Copy)]
struct Wanted {
    cores: CoreSet,
    process: Tid,
    due: Ns,
}

/// A mask that was narrowed for some time, which is over.
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
    process: Tid,
    since: Ns,
}

/// Where a thread comes from.
struct Origin {
    parent: Option<Tid>,
    /// If nobody saw who started it: another thread of its process, or of any, if it is the first of its own.
    process: Option<Tid>,
    at: RangeInclusive<Ns>,
}

impl Origin {
    fn of(sample: &Sample) -> Self {
        match sample.birth {
            // The kernel copies the mask a moment before it tells of the new thread.
            Some(Birth { parent, at }) => {
                Self { parent: Some(parent), process: None, at: Ns(at.0.saturating_sub(SOON.0))..=at }
            }
            None => {
                let process = Some(sample.process).filter(|process| *process != sample.tid);
                Self { parent: None, process, at: mask::started_between(sample.tid) }
            }
        }
    }

    fn may_be(&self, tid: Tid, process: Tid) -> bool {
        self.parent.is_none_or(|parent| parent == tid) && self.process.is_none_or(|own| own == process)
    }

    fn within(&self, from: Ns, to: Ns) -> bool {
        from <= *self.at.end() && *self.at.start() <= to
    }
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
    ///
    /// # Errors
    /// The guard has gone.
    pub fn allowed(&mut self, sample: &Sample, now: Ns, eyes: &mut Eyes) -> io::Result<CoreSet> {
        let tid = sample.tid;
        if let Some(own) = eyes.wish(tid) {
            return Ok(self.cores(&own));
        }
        let Ok(present) = sched_getaffinity(pid(tid)) else { return Ok(CoreSet::first(self.cpus.len())) };
        self.narrowed.retain(|narrowed| now.since(narrowed.to) < MEMORY);
        let origin = Origin::of(sample);
        let meanwhile = |narrowed: &&Narrowed| {
            let likely = origin.parent.is_some() || narrowed.to.since(narrowed.from) >= MOMENT;
            likely && origin.may_be(narrowed.tid, narrowed.process) && origin.within(narrowed.from, narrowed.to)
        };
        let narrowed = self.narrowed.iter().rev().filter(|narrowed| narrowed.after == present).find(meanwhile);
        if let Some(before) = narrowed.map(|narrowed| narrowed.before) {
            let chosen = self.settle(tid, &before, eyes)?.1;
            return Ok(chosen.unwrap_or(self.cores(&before)));
        }
        let parents = self.bound.iter().filter(|(tid, bound)| origin.may_be(**tid, bound.process));
        let inherited = parents
            .map(|(_, bound)| bound)
            .find(|bound| bound.change.after == present && origin.within(bound.since, now));
        let Some(change) = inherited.map(|bound| bound.change) else { return Ok(self.cores(&present)) };
        let original = self.cores(&change.before);
        if let Some(started) = mask::started(tid) {
            let change = Change { tid, started, ..change };
            let slot = self.guard.record(&change)?;
            self.bound.insert(tid, Bound { change, slot, process: sample.process, since: *origin.at.start() });
            self.wanted.insert(tid, Wanted { cores: original, process: sample.process, due: now });
        }
        Ok(original)
    }

    /// The program has given a thread this mask. Nothing else is wanted of it any more.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn chosen(&mut self, tid: Tid, mask: &CpuSet) -> io::Result<CoreSet> {
        self.wanted.remove(&tid);
        self.narrowed.retain(|narrowed| narrowed.tid != tid);
        if let Some(bound) = self.bound.remove(&tid) {
            self.guard.forget(bound.slot)?;
        }
        Ok(self.cores(mask))
    }

    /// Puts a thread, which started at a time (see [`mask::started`]), on a core, if that is one of its own choice.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn put(&mut self, tid: Tid, process: Tid, started: u64, core: usize, eyes: &mut Eyes) -> io::Result<Moved> {
        if let Some(own) = eyes.wish(tid) {
            return self.chosen(tid, &own).map(Moved::Forbidden);
        }
        let Ok(before) = sched_getaffinity(pid(tid)) else { return Ok(Moved::Not) };
        let cpu = self.cpus[core];
        if !before.is_set(usize::from(cpu)) {
            return Ok(Moved::Forbidden(self.cores(&before)));
        }
        let after = mask::of([cpu]);
        let slot = self.guard.record(&Change { tid, started, before, after, inherited: false })?;
        let from = clock();
        let mut moved = self.set(tid, &after);
        if moved == Moved::Done {
            match sched_getaffinity(pid(tid)) {
                Ok(own) if own != after => moved = Moved::Forbidden(self.cores(&own)),
                _ => {
                    self.narrowed.push_back(Narrowed { tid, process, from, to: clock(), before, after });
                    if let (_, Some(own)) = self.settle(tid, &before, eyes)? {
                        moved = Moved::Forbidden(own);
                    }
                }
            }
        }
        self.guard.forget(slot)?;
        Ok(moved)
    }

    /// Keeps a thread to some cores from now on, or from when its process is old enough.
    pub fn bind(&mut self, tid: Tid, cores: CoreSet, process: Tid, process_since: Ns) {
        self.wanted.insert(tid, Wanted { cores, process, due: process_since + GRACE });
    }

    /// Binds what is due. `changed` hears of threads whose program has set a mask of its own.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn bind_due(&mut self, now: Ns, eyes: &mut Eyes, mut changed: impl FnMut(Tid, CoreSet)) -> io::Result<u64> {
        let mut binds = 0;
        while let Some((tid, Wanted { cores, process, .. })) =
            self.wanted.iter().find(|(_, wanted)| wanted.due <= now).map(|(tid, wanted)| (*tid, *wanted))
        {
            self.wanted.remove(&tid);
            if let Some(own) = eyes.wish(tid) {
                changed(tid, self.chosen(tid, &own)?);
                continue;
            }
            let Ok(present) = sched_getaffinity(pid(tid)) else { continue };
            let own = match self.unbound(tid, now)? {
                Some(change) if change.after == present => change.before,
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
                let Some(started) = mask::started(tid) else { continue };
                let change = Change { tid, started, before: own, after, inherited: false };
                let slot = self.guard.record(&change)?;
                self.bound.insert(tid, Bound { change, slot, process, since: now });
            }
            let (done, chosen) = self.settle(tid, if whole { &own } else { &after }, eyes)?;
            match chosen {
                Some(own) => changed(tid, own),
                None => binds += u64::from(!whole && done == Moved::Done),
            }
        }
        Ok(binds)
    }

    /// A thread is not bound any more. What it has started meanwhile has inherited its mask.
    fn unbound(&mut self, tid: Tid, now: Ns) -> io::Result<Option<Change>> {
        let Some(Bound { change, slot, process, since }) = self.bound.remove(&tid) else { return Ok(None) };
        self.guard.forget(slot)?;
        let (before, after) = (change.before, change.after);
        self.narrowed.push_back(Narrowed { tid, process, from: since, to: now, before, after });
        Ok(Some(change))
    }

    /// A thread is gone.
    ///
    /// # Errors
    /// The guard has gone.
    pub fn gone(&mut self, tid: Tid, now: Ns) -> io::Result<()> {
        self.wanted.remove(&tid);
        self.unbound(tid, now).map(|_| ())
    }

    /// Every thread that began before this time was asked for its mask ([`Hands::allowed`]).
    ///
    /// # Errors
    /// The guard has gone.
    pub fn looked(&self, at: Ns) -> io::Result<()> {
        self.guard.looked(at)
    }

    /// Gives every mask back.
    pub fn release(&mut self, eyes: &mut Eyes) {
        for (tid, bound) in std::mem::take(&mut self.bound) {
            let same = mask::started(tid) == Some(bound.change.started) && eyes.wish(tid).is_none();
            if same && sched_getaffinity(pid(tid)).is_ok_and(|now| now == bound.change.after) {
                let _ = self.settle(tid, &bound.change.before, eyes);
            }
            let _ = self.guard.forget(bound.slot);
        }
    }

    /// The CPU that a core is.
    pub fn cpu(&self, core: CoreId) -> u16 {
        self.cpus[core.index()]
    }

    /// How often the kernel refused a change.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Sets a mask, and over it what the program wishes meanwhile, which is answered as well.
    fn settle(&mut self, tid: Tid, mask: &CpuSet, eyes: &mut Eyes) -> io::Result<(Moved, Option<CoreSet>)> {
        let (moved, mut chosen) = (self.set(tid, mask), None);
        while let Some(own) = eyes.wish(tid) {
            self.set(tid, &own);
            chosen = Some(self.chosen(tid, &own)?);
        }
        Ok((moved, chosen))
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

fn pid(tid: Tid) -> Option<Pid> {
    Pid::from_raw(tid as i32)
}

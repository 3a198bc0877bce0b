//! Samples threads in the best way that this machine and this user's privileges allow.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

use evenkeel_model::Ns;
use evenkeel_sched::policy::Culprit;
use rustix::thread::CpuSet;

use super::proc::{ProcSampler, started_by};
use crate::event::Tid;
use crate::process;
use crate::sample::{Blame, PairWaits, Sample};
use crate::watch::{Options, Watch};

/// Samples threads.
pub(super) enum Sampler {
    /// Through eBPF.
    Watch {
        watch: Box<Watch>,
        /// The blame of each thread at the last sample.
        blame: BTreeMap<Tid, Ns>,
    },
    /// Through `/proc`, and why.
    Proc { sampler: ProcSampler, why: String },
}

impl Sampler {
    /// Follows a process and all that it has started. CPUs of `big` that go idle end a wait.
    pub fn open(process: Tid, type_of: Vec<u8>, big: Vec<u16>) -> io::Result<Self> {
        match Watch::new(Options { type_of: type_of.clone(), alarm_idle: big, ..Options::default() }) {
            Ok(mut watch) => {
                watch.follow(process)?;
                // Parents first: what these start from then on is followed by itself.
                let mut children = started_by(process);
                while let Some(child) = children.pop() {
                    // It may have ended.
                    let _ = watch.follow(child);
                    children.extend(started_by(child));
                }
                Ok(Self::Watch { watch: Box::new(watch), blame: BTreeMap::new() })
            }
            Err(error) => Ok(Self::Proc { sampler: ProcSampler::new(process, type_of), why: error.to_string() }),
        }
    }

    /// Replaces `living` by all living threads, and adds to `gone` the last of those that have exited, as far as it can
    /// be seen.
    /// `orphans` are processes of the program that others than its processes are parents of.
    pub fn sample(&mut self, now: Ns, orphans: &[Tid], living: &mut Vec<Sample>, gone: &mut Vec<Sample>) {
        living.clear();
        match self {
            Self::Watch { watch, .. } => watch.sample(now, living, gone),
            Self::Proc { sampler, .. } => sampler.sample(orphans, living),
        }
    }

    /// The threads that the last sample found to have been given a mask by their program that [`Self::wish`] has not returned.
    pub fn wished(&mut self) -> Vec<Tid> {
        match self {
            Self::Watch { watch, .. } => watch.wished(),
            Self::Proc { .. } => Vec::new(),
        }
    }

    /// A thread serves a language's runtime system.
    pub fn serves(&mut self, tid: Tid) {
        if let Self::Watch { watch, .. } = self {
            watch.serves(tid);
        }
    }

    /// The mask that the program has given one of its threads, or is about to, if this has not returned it before.
    pub fn wish(&mut self, tid: Tid) -> Option<CpuSet> {
        match self {
            Self::Watch { watch, .. } => watch.wish(tid),
            Self::Proc { .. } => None,
        }
    }

    /// The mask that the program wants one of its threads to have, whatever mask it has now.
    pub fn own_mask(&self, tid: Tid) -> Option<CpuSet> {
        match self {
            Self::Watch { watch, .. } => watch.own_mask(tid),
            Self::Proc { .. } => None,
        }
    }

    /// The followed process that started the process of a thread, if the thread is the first one of it.
    pub fn parent(&self, tid: Tid, process: Tid) -> Option<Tid> {
        match self {
            Self::Proc { sampler, .. } if tid == process => {
                process::parent(process).filter(|parent| sampler.follows(*parent))
            }
            _ => None,
        }
    }

    /// Which threads are blamed for waits from now on.
    pub fn set_culprit(&mut self, culprit: Culprit) {
        if let Self::Watch { watch, .. } = self {
            watch.set_culprit(culprit);
        }
    }

    /// Passes to `each` how long each thread made others wait since the last call, by the last sample.
    pub fn blame<'a>(&mut self, seen: impl Iterator<Item = &'a Sample>, mut each: impl FnMut(Blame)) {
        let Self::Watch { blame, .. } = self else { return };
        for sample in seen {
            let Some(inside) = sample.inside else { continue };
            let before = blame.insert(sample.tid, inside.blame).unwrap_or_default();
            let waited = inside.blame.since(before);
            if waited > Ns::ZERO {
                each(Blame { waker: sample.tid, waited });
            }
        }
    }

    /// Which thread waited for which since the beginning; `None` if it cannot be seen.
    pub fn pairs(&self) -> Option<Vec<PairWaits>> {
        match self {
            Self::Watch { watch, .. } => Some(watch.pairs()),
            Self::Proc { .. } => None,
        }
    }

    /// Becomes readable when a big core goes idle.
    pub fn alarm(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Watch { watch, .. } => Some(watch.alarm()),
            Self::Proc { .. } => None,
        }
    }

    /// Resets the alarm.
    pub fn silence(&mut self) -> io::Result<()> {
        match self {
            Self::Watch { watch, .. } => watch.events(|_| {}),
            Self::Proc { .. } => Ok(()),
        }
    }

    /// What cannot be seen, and why.
    pub fn missing(&self) -> Option<String> {
        let why = match self {
            Self::Watch { watch, .. } => return watch.missing(),
            Self::Proc { why, .. } => why,
        };
        Some(format!("No eBPF: {why}. Without it which thread waits for which is not seen, and sampling costs more."))
    }
}

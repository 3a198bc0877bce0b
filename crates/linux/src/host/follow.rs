//! Following a program: samples its threads, lets the policy decide, moves them, and keeps account of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use evenkeel_model::{CoreSet, Machine, Ns};
use evenkeel_sched::policy::Judgement;
use evenkeel_sched::{Class, Setup, ThreadKind};
use evenkeel_topology::{list, root};

use super::affinity::{Affinity, Moved, Moving};
use super::counters::{Perf, ThreadCounters};
use super::driver::{Driver, Newcomer, Order};
use super::name::Name;
use super::pace::{Pace, SOONEST};
use super::proc::started_by;
use super::sampler::Sampler;
use super::service::kind;
use super::summary::{Summary, ThreadSummary};
use super::timeline::Timeline;
use super::used::Used;
use super::watched::Watched;
use crate::clock::{clock, thread_time};
use crate::event::Tid;
use crate::guard::Guard;
use crate::orphans::Orphans;
use crate::sample::{Blame, Sample};
use crate::wait::poll;
use crate::{mask, process};

/// Periods may be this long.
pub const PERIODS: std::ops::RangeInclusive<Ns> = SOONEST..=Ns::from_secs(10);
/// When all masks are given back, threads that are still being started are waited for, but not longer than this.
const PATIENCE: Ns = Ns::from_secs(2);
const ROUND: Duration = Duration::from_millis(5);
/// How often masks that leave out cores are read again.
const READ_AGAIN: Ns = Ns::from_ms(100);

/// How a program is to be followed.
pub struct Plan {
    /// The machine.
    pub machine: Machine,
    /// The CPU that each of its cores is.
    pub cpus: Vec<u16>,
    /// The policy.
    pub policy: Setup,
    /// The time from one sample to the next, unless that costs too much; one of [`PERIODS`].
    pub period: Ns,
    /// Whether to keep which thread ran where when.
    pub timeline: bool,
}

/// Follows a process, its threads and its descendants.
pub(super) struct Follow {
    pub(super) driver: Driver,
    pub(super) affinity: Affinity,
    pub(super) sampler: Sampler,
    /// Of what the policy reads, if it reads anything.
    pub(super) counters: Option<ThreadCounters>,
    /// What was not counted for policies that decide no more.
    pub(super) uncounted: Vec<String>,
    pub(super) samples: Vec<Sample>,
    gone: Vec<Sample>,
    pub(super) known: BTreeMap<Tid, Known>,
    pub(super) processes: BTreeMap<Tid, Ns>,
    pace: Pace,
    pub(super) began: Ns,
    pub(super) cost_at_start: Ns,
    used: Used,
    orphans: Option<Orphans>,
    timeline: Option<Timeline>,
    /// The cores of threads whose masks were found to leave out some.
    pub(super) narrow: BTreeMap<Tid, CoreSet>,
    /// When these masks were last read again.
    read: Ns,
    /// Why no thread can be moved.
    pub(super) barred: Option<String>,
    renewed: u32,
    pub(super) watched: Watched,
    pub(super) summary: Summary,
}

/// What the host remembers of a living thread.
pub(super) struct Known {
    pub(super) name: Name,
    started: u64,
    pub(super) last: Sample,
    judgement: Judgement,
}

impl Follow {
    /// Gets everything in place. Nothing happens before the first [`Self::step`].
    ///
    /// # Errors
    /// There is no such process.
    pub fn new(plan: &Plan, process: Tid, used: Used, orphans: Option<Orphans>, guard: Guard) -> io::Result<Self> {
        let highest = plan.cpus.iter().copied().max().unwrap_or_default();
        let mut type_of = vec![0; usize::from(highest) + 1];
        for (core, cpu) in plan.machine.cores.iter().zip(&plan.cpus) {
            type_of[usize::from(*cpu)] = core.core_type.0;
        }
        let big = plan.machine.big().iter().map(|core| plan.cpus[core.index()]).collect();
        let mut sampler = Sampler::open(process, type_of.clone(), big)?;
        // Opening it takes some ms, before the program runs.
        let now = clock();
        let timeline =
            plan.timeline.then(|| Timeline::new(now, type_of).with_meters(&root(), &plan.machine, &plan.cpus));
        let driver = Driver::new(plan.machine.clone(), &plan.cpus, &plan.policy, now);
        sampler.set_culprit(driver.culprit());
        let steers = driver.steers();
        Ok(Self {
            counters: driver.counters(Box::new(Perf::of_this_machine())),
            uncounted: Vec::new(),
            driver,
            affinity: Affinity::new(guard, plan.cpus.clone(), process),
            sampler,
            samples: Vec::new(),
            gone: Vec::new(),
            known: BTreeMap::new(),
            processes: BTreeMap::new(),
            pace: Pace::new(plan.period, plan.cpus.len(), now),
            began: now,
            cost_at_start: thread_time(),
            used,
            orphans,
            timeline,
            narrow: BTreeMap::new(),
            read: now,
            barred: barred(process).or_else(|| apart(process, &plan.cpus)).filter(|_| steers),
            renewed: 0,
            watched: Watched::new(process, plan),
            summary: Summary::default(),
        })
    }

    /// Why no thread can be moved.
    pub fn barred(&self) -> Option<&str> {
        self.barred.as_deref()
    }

    /// Samples once and does what follows.
    ///
    /// # Errors
    /// The guard that undoes changes has gone and cannot be replaced; nothing is changed without it.
    pub fn step(&mut self) -> io::Result<()> {
        let before = thread_time();
        self.renewed += u32::from(self.affinity.guarded()?);
        self.end_pins(clock())?;
        self.obey_watchers(clock())?;
        let now = clock();
        let newcomers = self.sample(now);
        self.used.update(&self.samples);
        if let Some(counters) = &mut self.counters {
            for sample in &mut self.samples {
                sample.counts = counters.count(sample.tid);
            }
        }
        self.remember(now);
        self.obey(now)?;
        self.read_again(now);
        let mut cores = BTreeMap::new();
        self.affinity.adopt(&newcomers, &self.processes, &mut self.sampler, &mut cores)?;
        self.affinity.seen(now)?;
        let all = self.driver.machine().all();
        self.narrow.extend(cores.iter().filter(|(_, cores)| **cores != all));
        for sample in &newcomers {
            self.introduce(sample, now);
        }
        let known = &self.known;
        self.driver.step(now, &self.samples, |sample| {
            let kind = known.get(&sample.tid).map_or(ThreadKind::Application, |known| kind(known.name.as_str()));
            let cores = cores.get(&sample.tid).copied().unwrap_or_default();
            Newcomer { kind, class: Class::fair(0), cores }
        });
        let driver = &mut self.driver;
        self.sampler.blame(self.gone.iter().chain(&self.samples), |blame: Blame| driver.blame(blame));
        if let Some(timeline) = &mut self.timeline {
            timeline.sample(now, &self.samples, &self.gone);
            timeline.read_meters(now);
            for sample in &self.samples {
                if let Some(known) = self.known.get_mut(&sample.tid) {
                    known.judgement = self.driver.judgement(sample.tid);
                }
            }
        }
        let gap = self.pace.sampled(now, thread_time().since(before), self.driver.steady());
        self.summary.longest_gap = self.summary.longest_gap.max(gap);
        self.carry_out(now)?;
        for tid in self.driver.gone().to_vec() {
            self.affinity.gone(tid)?;
            if let Some(counters) = &mut self.counters {
                counters.gone(tid);
            }
            if let Some(known) = self.known.remove(&tid) {
                self.summary.threads.push(known.summary(tid));
            }
            self.watched.unpinned(tid);
            self.narrow.remove(&tid);
        }
        if !self.driver.gone().is_empty() {
            // Another process may get the number of one that has ended.
            let living: BTreeSet<Tid> = self.samples.iter().map(|sample| sample.process).collect();
            self.processes.retain(|process, _| living.contains(process));
        }
        self.summary.samples += 1;
        self.tell_watchers(now);
        Ok(())
    }

    /// Gives known threads the masks that their program has given them since the last sample.
    fn obey(&mut self, now: Ns) -> io::Result<()> {
        for tid in self.sampler.wished() {
            // Those of new threads are read when they are adopted.
            if self.known.contains_key(&tid)
                && let Some(own) = self.sampler.wish(tid)
                && let Some(cores) = self.affinity.chosen(tid, own, &mut self.sampler)?
            {
                self.driver.allow(now, tid, cores);
                self.watched.unpinned(tid);
            }
        }
        Ok(())
    }

    /// Learns which masks have changed that left out cores: without eBPF nothing else tells that one is wider again.
    fn read_again(&mut self, now: Ns) {
        if now.since(self.read) < READ_AGAIN {
            return;
        }
        self.read = now;
        for (tid, cores) in &mut self.narrow {
            let own = self.affinity.own(*tid);
            if own != *cores && !self.affinity.binds(*tid) && !self.watched.pinned(*tid) {
                *cores = own;
                self.driver.allow(now, *tid, own);
            }
        }
    }

    /// Samples all threads, keeps account of those that are gone, and returns those that were not seen before.
    fn sample(&mut self, now: Ns) -> Vec<Sample> {
        self.gone.clear();
        let guard = self.affinity.guard();
        let orphans = self.orphans.as_ref().map(|orphans| orphans.living(guard)).unwrap_or_default();
        self.sampler.sample(now, &orphans, &mut self.samples, &mut self.gone);
        for sample in &self.gone {
            match self.known.get_mut(&sample.tid) {
                Some(known) => known.last = *sample,
                None => self.summary.short.add(sample),
            }
        }
        self.samples.iter().filter(|sample| !self.known.contains_key(&sample.tid)).copied().collect()
    }

    /// Remembers a thread that is seen for the first time.
    fn introduce(&mut self, sample: &Sample, now: Ns) {
        let first = self.known.get(&sample.process).map(|first| &first.name);
        let name = Name::of(sample.process, sample.tid, now, first);
        let started = process::started(sample.tid).unwrap_or_default();
        self.processes.entry(sample.process).or_insert(now);
        if kind(name.as_str()) == ThreadKind::Service {
            self.sampler.serves(sample.tid);
        }
        let known = Known { name, started, last: *sample, judgement: Judgement::default() };
        self.known.insert(sample.tid, known);
    }

    /// Waits until it is time to sample again, or until the process of `process` has ended.
    ///
    /// # Errors
    /// None in practice.
    pub fn wait(&mut self, process: BorrowedFd<'_>) -> io::Result<()> {
        let (next, soonest) = self.pace.next();
        let (Some(alarm), Some(soonest)) = (self.sampler.alarm(), soonest) else {
            return poll(&[process], next.since(clock())).map(|_| ());
        };
        let ended = poll(&[process, alarm], next.since(clock()))?;
        self.sampler.silence()?;
        let rest = soonest.since(clock());
        if !ended && rest > Ns::ZERO {
            poll(&[process], rest)?;
        }
        Ok(())
    }

    /// Gives every mask back and returns what happened.
    pub fn finish(mut self) -> Summary {
        let now = clock();
        self.release(now);
        self.used.update(&self.samples);
        // Not those of a process that has ended since: the kernel has added their time to that of its parent.
        let living = self.samples.iter().filter(|sample| Path::new(&format!("/proc/{}", sample.process)).exists());
        let living = Ns(living.map(|sample| self.used.of_living(sample).0).sum());
        for (tid, known) in std::mem::take(&mut self.known) {
            self.summary.threads.push(known.summary(tid));
        }
        self.summary.elapsed = now.since(self.began);
        self.summary.cost = thread_time().since(self.cost_at_start);
        self.summary.refused = self.affinity.refused();
        let renewed = (self.renewed > 0).then(|| {
            format!("The guard was killed and started again ({} times); no mask was lost by that.", self.renewed)
        });
        let moved = self.summary.moves + self.summary.binds > 0;
        self.summary.powerless = !moved && (self.barred.is_some() || self.summary.refused > 0);
        let barred = self.barred.take().filter(|_| !moved).map(|why| format!("Nothing was moved: {why}."));
        let seen = [barred].into_iter().chain(self.missing()).flatten();
        for note in seen.chain(std::mem::take(&mut self.uncounted)).chain(renewed) {
            // Of two policies it may be the same.
            if !self.summary.missing.contains(&note) {
                self.summary.missing.push(note);
            }
        }
        self.summary.pairs = self.sampler.pairs();
        self.summary.timeline = self.timeline;
        self.summary.finish(self.used.total(living), self.driver.machine().cores.len());
        self.summary
    }

    /// What cannot be seen, and why.
    pub(super) fn missing(&self) -> [Option<String>; 2] {
        [self.sampler.missing(), self.counters.as_ref().and_then(ThreadCounters::missing)]
    }

    /// Gives every mask back, also those of threads that are on their way.
    fn release(&mut self, began: Ns) {
        self.affinity.release(&mut self.sampler);
        loop {
            let now = clock();
            let newcomers = self.sample(now);
            self.remember(now);
            let inherited = self.obey(now).and_then(|()| {
                self.affinity.adopt(&newcomers, &self.processes, &mut self.sampler, &mut BTreeMap::new())
            });
            self.affinity.seen(now).unwrap_or_default();
            newcomers.iter().for_each(|sample| self.introduce(sample, now));
            let done = self.samples.is_empty() || self.affinity.settled(now);
            if matches!(inherited, Ok(false) | Err(_)) && done {
                let _ = self.affinity.done();
                return;
            }
            if now.since(began) > PATIENCE {
                return;
            }
            thread::sleep(ROUND);
        }
    }

    /// Updates what is known of each thread.
    fn remember(&mut self, now: Ns) {
        for sample in &self.samples {
            let Some(known) = self.known.get_mut(&sample.tid) else { continue };
            known.last = *sample;
            if known.name.read_again(sample.process, sample.tid, now) {
                let kind = kind(known.name.as_str());
                self.driver.set_kind(sample.tid, kind);
                if kind == ThreadKind::Service {
                    self.sampler.serves(sample.tid);
                }
            }
        }
    }

    fn carry_out(&mut self, now: Ns) -> io::Result<()> {
        let mut own_masks: Vec<(Tid, CoreSet)> = Vec::new();
        for order in self.driver.orders() {
            let (Order::Move { tid, .. } | Order::Bind { tid, .. }) = *order;
            let process = self.known.get(&tid).map_or(tid, |known| known.last.process);
            let process_since = self.processes.get(&process).copied().unwrap_or(now);
            match *order {
                Order::Move { tid, to } => {
                    let started = self.known.get(&tid).map_or(0, |known| known.started);
                    let thread = Moving { tid, process, started, process_since };
                    match self.affinity.put(thread, to.index(), &mut self.sampler)? {
                        Moved::Done => {
                            self.summary.moves += 1;
                            if let Some(timeline) = &mut self.timeline {
                                timeline.moved(now, tid, self.affinity.cpu(to));
                            }
                        }
                        Moved::Forbidden(cores) => own_masks.push((tid, cores)),
                        Moved::Not | Moved::Later => {}
                    }
                }
                Order::Bind { tid, cores } => self.affinity.bind(tid, cores, process, process_since),
            }
        }
        self.summary.binds +=
            self.affinity.bind_due(now, &mut self.sampler, |tid, cores| own_masks.push((tid, cores)))?;
        for (tid, cores) in own_masks {
            self.driver.allow(now, tid, cores);
            self.narrow.insert(tid, cores);
            self.watched.unpinned(tid);
        }
        Ok(())
    }
}

impl Known {
    fn summary(self, tid: Tid) -> ThreadSummary {
        let Sample { process, run, delay, switches, inside, .. } = self.last;
        let (name, judgement) = (self.name.as_str().to_owned(), self.judgement);
        ThreadSummary { tid, process, kind: kind(&name), name, run, delay, switches, inside, idles: false, judgement }
    }
}

/// Why no thread of a process can be moved.
pub(super) fn barred(process: Tid) -> Option<String> {
    (!mask::changeable(process)).then(|| {
        format!("process {process} is another user's; moving its threads needs root, its owner or CAP_SYS_NICE")
    })
}

/// Why no thread of a process, or of what it has started, can be moved between some CPUs: they may use none of them.
fn apart(process: Tid, cpus: &[u16]) -> Option<String> {
    let (mut tids, mut processes) = (Vec::new(), vec![process]);
    while let Some(one) = processes.pop() {
        processes.extend(started_by(one));
        tids.extend(process::threads(one).unwrap_or_default());
    }
    let masks = tids.into_iter().filter_map(|tid| mask::of_thread(tid).ok());
    let own: BTreeSet<u16> = masks.flat_map(|mask| mask::cpus(&mask).collect::<Vec<_>>()).collect();
    let (may, between) = (list::text(&Vec::from_iter(own.iter().copied())), list::text(cpus));
    (!own.is_empty() && !own.iter().any(|cpu| cpus.contains(cpu)))
        .then(|| format!("process {process} may only use CPU {may}, and threads are moved between CPU {between}"))
}

//! The host itself: looks, asks the policy, moves threads, and keeps account of it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use evenkeel_model::{CoreSet, Machine, Ns};
use evenkeel_sched::{Class, Kind, Setup};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::counters::{Bank, Perf};
use super::driver::{Driver, Newcomer, Order};
use super::eyes::Eyes;
use super::hands::{Hands, Moved};
use super::sample::{Blame, Sample};
use super::service;
use super::summary::{Summary, ThreadSummary};
use super::timeline::Timeline;
use crate::event::Tid;
use crate::guard::Guard;
use crate::mask;

/// Looking and deciding may use this share of the machine's time. The host keeps to that by looking more rarely, but not
/// more rarely than once in so many periods.
const COST: f64 = 0.005;
const STRETCH: u64 = 8;
/// While nothing changes, there is no hurry: every look that finds all as it was doubles the time to the next, up to so
/// many periods.
const CALM: u64 = 4;
/// What was not used may be used later, up to this.
const SAVED: f64 = 10e6;
/// Big cores that go idle bring forward the next look, but not to sooner than this.
const SOONEST: Ns = Ns::from_ms(1);
/// The usual time from one look to the next.
pub const PERIOD: Ns = Ns::from_ms(10);
/// Periods may be this long.
pub const PERIODS: std::ops::RangeInclusive<Ns> = SOONEST..=Ns::from_secs(10);
/// A thread's name is read again at these ages, since many programs name their threads after they have started.
const NAMED_AFTER: [Ns; 2] = [Ns::from_ms(50), Ns::from_ms(500)];

/// How a program is to be followed.
pub struct Plan {
    /// The machine.
    pub machine: Machine,
    /// The CPU that each of its cores is.
    pub cpus: Vec<u16>,
    /// The policy.
    pub policy: Setup,
    /// The time from one look to the next, unless that costs too much; one of [`PERIODS`].
    pub period: Ns,
    /// Whether to keep which thread ran where when.
    pub timeline: bool,
}

/// Follows a process, its threads and its descendants.
pub struct Follow {
    driver: Driver,
    hands: Hands,
    eyes: Eyes,
    counters: Bank,
    /// The policy wants to know speedups, and there are any.
    counts: bool,
    samples: Vec<Sample>,
    gone: Vec<Sample>,
    known: BTreeMap<Tid, Known>,
    processes: BTreeMap<Tid, Ns>,
    period: Ns,
    /// How many periods are to go by until the next look.
    periods: u64,
    cores: usize,
    /// The time in ns that looking may still use.
    budget: f64,
    looked: Ns,
    steps: u64,
    began: Ns,
    cost_at_start: Ns,
    timeline: Option<Timeline>,
    /// Why no thread can be moved.
    barred: Option<String>,
    summary: Summary,
}

/// What the host remembers of a living thread.
struct Known {
    name: String,
    started: u64,
    since: Ns,
    names_read: usize,
    last: Sample,
}

impl Follow {
    /// Gets everything in place. Nothing happens before the first [`Self::step`].
    ///
    /// # Errors
    /// There is no such process.
    pub fn new(plan: &Plan, process: Tid, guard: Guard) -> io::Result<Self> {
        let highest = plan.cpus.iter().copied().max().unwrap_or_default();
        let mut type_of = vec![0; usize::from(highest) + 1];
        for (core, cpu) in plan.machine.cores.iter().zip(&plan.cpus) {
            type_of[usize::from(*cpu)] = core.core_type.0;
        }
        let big = plan.machine.big().iter().map(|core| plan.cpus[core.index()]).collect();
        let eyes = Eyes::open(process, type_of.clone(), big)?;
        // Opening them takes some ms, before the program runs.
        let now = clock();
        let timeline = plan.timeline.then(|| Timeline::new(now, type_of));
        let driver = Driver::new(plan.machine.clone(), &plan.cpus, &plan.policy, now);
        Ok(Self {
            counts: driver.wants_counters(),
            driver,
            hands: Hands::new(guard, plan.cpus.clone()),
            eyes,
            counters: Bank::new(Box::new(Perf::new(Path::new("/")))),
            samples: Vec::new(),
            gone: Vec::new(),
            known: BTreeMap::new(),
            processes: BTreeMap::new(),
            period: plan.period,
            periods: 1,
            cores: plan.cpus.len(),
            budget: SAVED,
            looked: now,
            steps: 0,
            began: now,
            cost_at_start: own_cost(),
            timeline,
            barred: (!mask::changeable(process)).then(|| {
                format!(
                    "Nothing is moved: process {process} is another user's; that needs root, its owner or CAP_SYS_NICE."
                )
            }),
            summary: Summary::default(),
        })
    }

    /// Looks once and does what follows.
    ///
    /// # Errors
    /// The guard that undoes changes has gone; nothing is changed without it.
    pub fn step(&mut self) -> io::Result<()> {
        let before = own_cost();
        let now = clock();
        self.gone.clear();
        self.eyes.look(now, &mut self.samples, &mut self.gone);
        if self.counts {
            self.counters.look(&mut self.samples);
        }
        self.look(now);
        for tid in self.eyes.wished() {
            // Those of new threads are asked for below.
            if self.driver.thread(tid).is_some()
                && let Some(own) = self.eyes.wish(tid)
            {
                let cores = self.hands.chosen(tid, &own)?;
                self.driver.allow(now, tid, cores);
            }
        }
        let (hands, known, eyes) = (&mut self.hands, &mut self.known, &mut self.eyes);
        let mut guarded = Ok(());
        self.driver.step(now, &self.samples, |sample| {
            // A thread that has ended already is called like its process.
            let leader = |known: &BTreeMap<Tid, Known>| known.get(&sample.process).map(|leader| leader.name.clone());
            let name = name(sample).or_else(|| leader(known)).unwrap_or_default();
            let kind = kind(&name);
            let cores = hands.allowed(sample, now, eyes).unwrap_or_else(|error| {
                guarded = Err(error);
                CoreSet::default()
            });
            let started = mask::started(sample.tid).unwrap_or_default();
            known.insert(sample.tid, Known { name, started, since: now, names_read: 0, last: *sample });
            Newcomer { kind, class: Class::fair(0), cores }
        });
        guarded?;
        self.hands.looked(now)?;
        let driver = &mut self.driver;
        self.eyes.blame(self.gone.iter().chain(&self.samples), |blame: Blame| driver.blame(blame));
        if let Some(timeline) = &mut self.timeline {
            timeline.look(now, &self.samples, &self.gone);
        }
        self.periods = if self.driver.steady() { (2 * self.periods).min(CALM) } else { 1 };
        self.account(now, own_cost().since(before));
        self.carry_out(now)?;
        for sample in &self.gone {
            if let Some(known) = self.known.get_mut(&sample.tid) {
                known.last = *sample;
            }
        }
        for tid in self.driver.gone().to_vec() {
            self.hands.gone(tid, now)?;
            self.counters.gone(tid);
            if let Some(known) = self.known.remove(&tid) {
                self.summary.threads.push(known.summary(tid));
            }
        }
        self.steps += 1;
        Ok(())
    }

    fn account(&mut self, now: Ns, cost: Ns) {
        self.summary.longest_gap = self.summary.longest_gap.max(now.since(self.looked));
        let earned = now.since(self.looked).0 as f64 * COST * self.cores as f64;
        self.budget = (self.budget + earned - cost.0 as f64).clamp(-SAVED, SAVED);
        self.looked = now;
    }

    /// Waits until it is time to look again, or until the process of `process` has ended.
    ///
    /// # Errors
    /// None in practice.
    pub fn wait(&mut self, process: BorrowedFd<'_>) -> io::Result<()> {
        let debt = Ns((-self.budget.min(0.0) / COST / self.cores as f64) as u64);
        let debt = debt.min(Ns(STRETCH * self.period.0));
        let until = |time: Ns, looked: Ns| time.since(clock().since(looked));
        let regular = Ns(self.periods * self.period.0);
        let (Some(alarm), true) = (self.eyes.alarm(), debt < self.period) else {
            return poll(&[process], until(regular.max(debt), self.looked)).map(|_| ());
        };
        let ended = poll(&[process, alarm], until(regular, self.looked))?;
        self.eyes.silence()?;
        let rest = until(SOONEST, self.looked);
        if !ended && rest > Ns::ZERO {
            poll(&[process], rest)?;
        }
        Ok(())
    }

    /// Gives every mask back and tells what happened.
    pub fn finish(mut self) -> Summary {
        let now = clock();
        self.hands.release(&mut self.eyes);
        for (tid, known) in std::mem::take(&mut self.known) {
            self.summary.threads.push(known.summary(tid));
        }
        self.summary.elapsed = now.since(self.began);
        self.summary.cost = own_cost().since(self.cost_at_start);
        self.summary.looks = self.steps;
        self.summary.refused = self.hands.refused();
        let missing = [self.barred.take(), self.eyes.missing(), self.counters.missing()];
        self.summary.missing = missing.into_iter().flatten().collect();
        self.summary.pairs = self.eyes.pairs();
        self.summary.timeline = self.timeline;
        self.summary.finish();
        self.summary
    }

    /// Brings what is remembered of each thread up to date.
    fn look(&mut self, now: Ns) {
        for sample in &self.samples {
            self.processes.entry(sample.process).or_insert(now);
            let Some(known) = self.known.get_mut(&sample.tid) else { continue };
            known.last = *sample;
            let due = NAMED_AFTER.get(known.names_read).is_some_and(|age| now.since(known.since) >= *age);
            if due {
                known.names_read += 1;
                known.name = name(sample).unwrap_or(std::mem::take(&mut known.name));
                self.driver.set_kind(sample.tid, kind(&known.name));
            }
        }
    }

    fn carry_out(&mut self, now: Ns) -> io::Result<()> {
        let process = |tid: Tid| self.known.get(&tid).map_or(tid, |known| known.last.process);
        let started = |tid: Tid| self.known.get(&tid).map_or(0, |known| known.started);
        let mut own_masks: Vec<(Tid, CoreSet)> = Vec::new();
        for order in self.driver.orders() {
            match *order {
                Order::Move { tid, to } => {
                    match self.hands.put(tid, process(tid), started(tid), to.index(), &mut self.eyes)? {
                        Moved::Done => {
                            self.summary.moves += 1;
                            if let Some(timeline) = &mut self.timeline {
                                timeline.moved(now, tid, self.hands.cpu(to));
                            }
                        }
                        Moved::Forbidden(cores) => own_masks.push((tid, cores)),
                        Moved::Not => {}
                    }
                }
                Order::Bind { tid, cores } => {
                    let since = self.processes.get(&process(tid)).copied();
                    self.hands.bind(tid, cores, process(tid), since.unwrap_or(now));
                }
            }
        }
        self.summary.binds += self.hands.bind_due(now, &mut self.eyes, |tid, cores| own_masks.push((tid, cores)))?;
        for (tid, cores) in own_masks {
            self.driver.allow(now, tid, cores);
        }
        Ok(())
    }
}

impl Known {
    fn summary(self, tid: Tid) -> ThreadSummary {
        let Sample { process, run, delay, switches, inside, .. } = self.last;
        ThreadSummary { tid, process, kind: kind(&self.name), name: self.name, run, delay, switches, inside }
    }
}

/// `None` when it has ended.
fn name(sample: &Sample) -> Option<String> {
    let path = format!("/proc/{}/task/{}/comm", sample.process, sample.tid);
    fs::read_to_string(path).ok().map(|name| name.trim_end().to_owned())
}

fn kind(name: &str) -> Kind {
    if service::of_jvm(name) { Kind::Service } else { Kind::Application }
}

/// Waits until one of these has something to say, or the time is over; answers whether the first one has.
pub(crate) fn poll(fds: &[BorrowedFd<'_>], time: Ns) -> io::Result<bool> {
    let mut fds: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let time = Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 };
    match rustix::event::poll(&mut fds, Some(&time)) {
        // Whoever waits looks what the signal was.
        Err(Errno::INTR) => Ok(true),
        polled => polled.map(|_| !fds[0].revents().is_empty()).map_err(io::Error::from),
    }
}

/// `CLOCK_MONOTONIC`, the clock of every event of the kernel.
pub(crate) fn clock() -> Ns {
    let now = clock_gettime(ClockId::Monotonic);
    Ns(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// The CPU time that this thread has used; others of this process may be there to slow cores down.
fn own_cost() -> Ns {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Ns(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64)
}

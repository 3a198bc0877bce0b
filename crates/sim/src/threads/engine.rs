//! The event loop. Events are totally ordered: by time, then cores before the calendar, then core number or sequence.
//! Nothing is allocated per event once the run's vectors have grown to their size.

use evenkeel_model::{CoreId, CoreSet, CoreTypeId, Counters, Machine, Ns, Opp, ThreadId, Watts};
use evenkeel_sched::Scheduler;
use evenkeel_sched::policy::Judgement;
use evenkeel_sched::protocol::{self, Requests};
use evenkeel_workload::program::{self, Calibration, Memory, Start, Work};
use evenkeel_workload::{Program, Workload};

use crate::threads::beside::Beside;
use crate::threads::caches::Caches;
use crate::threads::calendar::{Calendar, Entry};
use crate::threads::code::Code;
use crate::threads::core::Core;
use crate::threads::earliest::Earliest;
use crate::threads::error::Error;
use crate::threads::foresight::{Foresight, Score};
use crate::threads::hardware::NOISE_BURST;
use crate::threads::lower::lower;
use crate::threads::memory::Ways;
use crate::threads::objects::Objects;
use crate::threads::observer::{Event, Observer, Stop};
use crate::threads::options::Options;
use crate::threads::outcome::{Ended, Latency};
use crate::threads::report;
use crate::threads::speeds::Speeds;
use crate::threads::tasking::Runtime;
use crate::threads::thread::{On, RunState, Thread};

/// So many operations or decisions at one point in time mean that time has stopped.
pub(crate) const STUCK: u32 = 10_000_000;

/// After so many events a run says how far it is: about a millisecond.
const REPORT: u64 = 1 << 14;

/// A run in progress.
pub(crate) struct Engine<'a> {
    pub(crate) now: Ns,
    pub(crate) machine: &'a Machine,
    pub(crate) workload: &'a Workload,
    pub(crate) options: &'a Options,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) watched: bool,
    /// What an observer was last told of what is thought of each thread.
    judged: Vec<Judgement>,
    pub(crate) sched: Scheduler,
    pub(crate) code: Code,
    pub(crate) objects: Objects,
    pub(crate) threads: Vec<Thread>,
    pub(crate) runtimes: Vec<Runtime>,
    pub(crate) cores: Vec<Core>,
    /// When something happens on each core by itself: the earlier of completion and tick.
    pub(crate) due: Earliest,
    pub(crate) calendar: Calendar,
    pub(crate) requests: Requests,
    /// Current operating point of each cluster.
    pub(crate) opps: Vec<Opp>,
    /// What an observer was last told of each cluster's power.
    pub(crate) powers: Vec<Watts>,
    /// How fast code runs at the current operating points.
    pub(crate) speeds: Speeds,
    /// By core: the hardware threads that share its pipelines, and how many of them ran when it was last decided how fast it is. The first is
    /// empty on machines whose cores have one each.
    pub(crate) siblings: Vec<CoreSet>,
    pub(crate) running: Vec<u8>,
    /// What its threads' memory carries.
    pub(crate) ways: Ways,
    /// What its caches hold.
    pub(crate) caches: Caches,
    /// Speedup of the biggest over the smallest core type by phase.
    pub(crate) speedups: Vec<f64>,
    /// What becomes of every thread, for policies that need it.
    pub(crate) foresight: Option<Foresight>,
    /// Who steers the threads from beside, if anyone does.
    pub(crate) beside: Option<Beside<'a>>,
    /// In a rehearsal: what is written down.
    pub(crate) score: Option<Score>,
    pub(crate) noise: fastrand::Rng,
    /// Threads that are there or still to come at their time.
    pub(crate) alive: usize,
    /// By program: threads that will end and have not, and when the last of them did.
    pub(crate) unfinished: Vec<usize>,
    pub(crate) turnaround: Vec<Option<Ns>>,
    pub(crate) read: Vec<Counters>,
    stuck: u32,
    pub(crate) ended: Option<Ended>,
    pub(crate) events: u64,
    /// Events up to which the meter knows of them, and after how many the limits are checked next.
    reported: u64,
    check_at: u64,
    pub(crate) migrations: u64,
    pub(crate) context_switches: u64,
    pub(crate) missed_timers: u64,
    pub(crate) wakeup_latency: Latency,
}

impl<'a> Engine<'a> {
    /// A run on `machine` of a workload that was made for machine `origin`: how much work a time of work is, and what a
    /// speedup is, depends on that one.
    pub(crate) fn new(
        machine: &'a Machine,
        origin: &Machine,
        workload: &'a Workload,
        sched: Scheduler,
        options: &'a Options,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, Error> {
        let calibrate = |program: &_, behaviour: &_, work| instructions(origin, program, behaviour, work);
        let code = lower(workload, origin, &calibrate).map_err(Error::Invalid)?;
        let new = |index| Thread::new(&code, index, machine.core_types.len(), options.seed);
        let reuses =
            |program: &Program| program.phases.iter().map(|phase| phase.behaviour.reuse_kb).fold(0.0, f64::max);
        let caches = Caches::new(machine, &workload.programs.iter().map(reuses).collect::<Vec<_>>());
        let mut unfinished = vec![0; workload.programs.len()];
        let at_start = |thread: &&crate::threads::code::ThreadCode| thread.start != Start::Spawned;
        for thread in code.threads.iter().filter(at_start) {
            unfinished[thread.program] += usize::from(thread.counts_for_the_end());
        }
        let smallest = evenkeel_model::CoreTypeId(origin.core_types.len() as u8 - 1);
        let mut engine = Self {
            now: Ns::ZERO,
            machine,
            workload,
            options,
            watched: observer.watches(),
            judged: vec![Judgement::default(); if observer.watches() { code.threads.len() } else { 0 }],
            observer,
            sched,
            objects: Objects::new(&code, machine),
            threads: (0..code.threads.len()).map(new).collect(),
            runtimes: code.runtimes.iter().map(|runtime| Runtime::new(&code, runtime, options.seed)).collect(),
            cores: machine.cores.iter().map(|_| Core::default()).collect(),
            due: Earliest::new(machine.cores.len()),
            calendar: Calendar::default(),
            requests: Requests::new(machine.cores.len()),
            opps: machine
                .clusters
                .iter()
                .map(|cluster| machine.core_types[cluster.core_type.index()].highest_opp())
                .collect(),
            powers: vec![Watts(0.0); machine.clusters.len()],
            speeds: Speeds::default(),
            siblings: match machine.siblings.is_empty() {
                true => Vec::new(),
                false => machine.all().iter().map(|core| machine.siblings(core)).collect(),
            },
            running: vec![0; machine.cores.len()],
            ways: Ways::new(machine, code.behaviours.iter(), caches.worst()),
            caches,
            speedups: code.behaviours.iter().map(|phase| origin.speedup_over(smallest, phase)).collect(),
            foresight: None,
            beside: None,
            score: None,
            noise: fastrand::Rng::with_seed(options.seed ^ 0x6e6f_6973_6521),
            turnaround: vec![None; workload.programs.len()],
            unfinished,
            alive: code.threads.iter().filter(at_start).count(),
            read: vec![Counters::default(); if options.counters { code.threads.len() } else { 0 }],
            code,
            stuck: 0,
            ended: None,
            events: 0,
            reported: 0,
            check_at: 0,
            migrations: 0,
            context_switches: 0,
            missed_timers: 0,
            wakeup_latency: Latency::default(),
        };
        let counting = options.counters || engine.sched.wants_counters();
        engine.speeds = Speeds::new(machine, &engine.code, &engine.opps, counting);
        engine.introduce_threads();
        Ok(engine)
    }

    /// Runs to the end.
    pub(crate) fn run(&mut self) -> Result<(), Error> {
        while self.ended.is_none() {
            if self.events >= self.check_at && self.check()? == Some(Ended::Interrupted) {
                break;
            }
            let (core, at) = self.due.first();
            let due = self.calendar.due();
            let next = at.min(due);
            if next == Ns::NEVER || (at == Ns::NEVER && !self.calendar.can_revive() && self.workload.duration.is_none())
            {
                return Err(report::deadlock(self));
            }
            if next > self.options.max_time {
                return Err(report::max_time(self));
            }
            self.stuck = if next > self.now { 0 } else { self.stuck + 1 };
            if self.stuck > STUCK {
                return Err(report::stuck(self));
            }
            self.now = next;
            self.events += 1;
            if at <= due {
                self.core_event(core)?;
            } else if let Some(entry) = self.calendar.pop() {
                self.calendar_event(entry)?;
            }
            // A thread that exits at once and starts again keeps this going, too.
            self.stuck += protocol::drain(self, STUCK + 1 - self.stuck)?;
            if self.stuck > STUCK {
                return Err(report::stuck(self));
            }
            self.watch_idle();
        }
        self.tell();
        self.close_books();
        Ok(())
    }

    /// Says how far the run is.
    fn tell(&mut self) {
        if let Some(meter) = &self.options.meter {
            meter.report(self.events - self.reported, self.now, self.workload.duration);
            self.reported = self.events;
        }
    }

    /// Says how far the run is, and ends it if it shall stop or has had too many events.
    fn check(&mut self) -> Result<Option<Ended>, Error> {
        self.tell();
        if self.options.meter.as_ref().is_some_and(|meter| meter.stopped()) {
            self.ended = Some(Ended::Interrupted);
            return Ok(self.ended);
        }
        if self.events >= self.options.max_events {
            return Err(report::max_events(self));
        }
        self.check_at = (self.events + REPORT).min(self.options.max_events);
        Ok(None)
    }

    fn core_event(&mut self, core: CoreId) -> Result<(), Error> {
        if self.cores[core.index()].done_at <= self.now {
            return self.advance(core);
        }
        self.settle(core);
        protocol::tick(self, core);
        self.cores[core.index()].tick_at = self.now + self.machine.costs.tick;
        self.set_due(core);
        Ok(())
    }

    fn calendar_event(&mut self, entry: Entry) -> Result<(), Error> {
        match entry {
            Entry::Wake(thread, sleep) => {
                let t = &self.threads[thread.index()];
                match t.state {
                    RunState::Absent if t.sleep == sleep && t.exited.is_none() => self.start(thread, None),
                    RunState::Blocked(On::Sleep) if t.sleep == sleep => self.wake(thread, None),
                    _ => {}
                }
            }
            Entry::Switch(core, thread) => return protocol::arrive(self, core, thread),
            Entry::Act(action) => self.requests.arrived(action),
            Entry::Refresh => {
                for core in self.machine.all().iter() {
                    self.settle(core);
                }
                protocol::refresh(self);
                self.observe_judgements();
                if let Some(period) = self.sched.period() {
                    self.calendar.push(self.now + period, Entry::Refresh);
                }
            }
            Entry::Look(at) => return self.look(at),
            Entry::Noise(core) => {
                let burst = Ns(self.noise.u64(1..=NOISE_BURST.0));
                self.delay_core(core, burst);
                let at = self.next_noise();
                self.calendar.push(at, Entry::Noise(core));
            }
            Entry::End => self.ended = Some(Ended::Duration),
        }
        Ok(())
    }

    /// Tells an observer what is thought of threads, where that has changed: by what steers them, if anything does.
    pub(crate) fn observe_judgements(&mut self) {
        for (thread, told) in (0..).map(ThreadId).zip(&mut self.judged) {
            let judgement = match &self.beside {
                Some(beside) => beside.judgement(thread),
                None => self.sched.judgement(thread),
            };
            if *told != judgement {
                *told = judgement;
                self.observer.observe(self.now, &Event::Judged { thread, judgement });
            }
        }
    }

    /// A core begins to run a thread.
    pub(crate) fn begin(&mut self, core: CoreId, thread: ThreadId) -> Result<(), Error> {
        self.settle(core);
        let costs = &self.machine.costs;
        let c = &mut self.cores[core.index()];
        let t = &mut self.threads[thread.index()];
        t.waited += self.now.since(t.since);
        if let Some(woken) = t.woken.take() {
            if c.left < self.now {
                c.stall += costs.wake;
            }
            // It may have been queued anew since.
            let waited = self.now.since(woken);
            self.wakeup_latency.count += 1;
            self.wakeup_latency.total += waited;
            self.wakeup_latency.max = self.wakeup_latency.max.max(waited);
        }
        if c.last != Some(thread) {
            self.context_switches += 1;
            c.stall += costs.context_switch;
            // An idle core keeps the translations of the program that ran last.
            let process = (t.program, self.code.threads[thread.index()].process);
            if c.process.replace(process).is_some_and(|last| last != process) && !std::mem::replace(&mut t.cold, true) {
                c.stall += costs.process_switch;
            }
        }
        let taken = std::mem::take(&mut t.taken);
        if let Some(last) = t.last_core.filter(|last| *last != core) {
            if taken {
                c.stall += costs.take;
            }
            self.migrations += 1;
            t.migrations += 1;
            let near = self.sched.state().domains[core.index()][0].contains(last);
            c.stall += if near { costs.migrate_in_cluster } else { costs.migrate_across_clusters };
        }
        let node = self.machine.clusters[self.machine.cores[core.index()].cluster.index()].node;
        // First touch: a thread's memory is where it first ran.
        t.remote = *t.home.get_or_insert(node) != node && self.workload.programs[t.program].memory == Memory::Local;
        t.last_core = Some(core);
        t.state = RunState::On(core);
        c.current = Some(thread);
        c.last = Some(thread);
        if c.tick_at == Ns::NEVER || c.tick_at <= self.now {
            c.tick_at = Ns((self.now.0 / costs.tick.0 + 1) * costs.tick.0);
        }
        if self.watched {
            self.observer.observe(self.now, &Event::Run { core, thread });
        }
        let t = &self.threads[thread.index()];
        if self.cores[core.index()].stall + t.owes == Ns::ZERO && t.remaining == 0 {
            self.cores[core.index()].done_at = self.now;
            return self.advance(core);
        }
        self.set_completion(core);
        self.observe_power(core);
        Ok(())
    }

    /// The current computation of a core is complete: goes through the thread's operations to the next one.
    fn advance(&mut self, core: CoreId) -> Result<(), Error> {
        self.settle(core);
        let Some(thread) = self.cores[core.index()].current else { return Ok(()) };
        if self.threads[thread.index()].remaining > 0 {
            self.set_completion(core);
            return Ok(());
        }
        if let Some(on) = self.threads[thread.index()].polls.take() {
            self.block(core, thread, on);
            return Ok(());
        }
        self.step(core, thread)?;
        if self.cores[core.index()].current == Some(thread) {
            self.set_completion(core);
            self.observe_power(core);
        }
        Ok(())
    }

    /// Takes a thread off its core. What becomes of it is for the caller to report.
    pub(crate) fn stop(&mut self, core: CoreId, why: Stop<'_>) {
        self.settle(core);
        let c = &mut self.cores[core.index()];
        let Some(thread) = c.current.take() else { return };
        c.stall = Ns::ZERO;
        self.threads[thread.index()].owes += std::mem::take(&mut c.owed);
        c.left = self.now;
        if let Some(beside) =
            self.beside.as_mut().filter(|_| self.machine.cores[core.index()].core_type == CoreTypeId(0))
        {
            beside.leaves();
        }
        c.done_at = Ns::NEVER;
        c.tick_at = Ns::NEVER;
        self.due.set(core, Ns::NEVER);
        self.share_hardware(core);
        self.threads[thread.index()].since = self.now;
        if self.watched {
            self.observer.observe(self.now, &Event::Stop { core, thread, why });
            self.observe_power(core);
        }
    }
}

/// Work in instructions; a time of work is what the program's calibration core does in it at its highest frequency.
fn instructions(
    machine: &Machine,
    program: &program::Program,
    behaviour: &evenkeel_model::Behaviour,
    work: Work,
) -> u64 {
    match work {
        Work::Instructions(instructions) => instructions,
        Work::Time(span) => {
            let core_type = match program.calibration {
                Calibration::Biggest => evenkeel_model::CoreTypeId(0),
                Calibration::Core(core) => {
                    machine.cores.get(usize::from(core)).map_or(evenkeel_model::CoreTypeId(0), |core| core.core_type)
                }
            };
            let frequency = machine.core_types[core_type.index()].max_frequency();
            libm::round(span.0 as f64 * machine.rate(core_type, frequency, behaviour)) as u64
        }
    }
}

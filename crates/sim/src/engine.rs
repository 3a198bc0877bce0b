//! The event loop. Events are totally ordered: by time, then cores before the calendar, then core number or sequence.
//! Nothing is allocated per event once the run's vectors have grown to their size.

use std::collections::VecDeque;

use evenkeel_model::{ClusterId, CoreId, CoreSet, Counters, Hz, Instructions, Machine, Ns, Opp, ThreadId, Watts};
use evenkeel_sched::{Action, Clamp, Class, NewThread, Next, Scheduler, Span, Wait, Why};
use evenkeel_workload::Workload;
use evenkeel_workload::program::{self, Calibration, SchedParams, Start, ThreadKind, Work};

use crate::calendar::{Calendar, Entry};
use crate::code::Code;
use crate::core::Core;
use crate::objects::Objects;
use crate::observer::{Event, Observer, Stop};
use crate::outcome::{Ended, Latency};
use crate::run::{Error, Options};
use crate::task::{On, Place, SPIN, Task};
use crate::{pmu, report};

/// Mean time between two bursts of background work on a core, and their longest duration (assumed: kernel threads and
/// interrupts of a quiet Linux machine).
const NOISE_INTERVAL: Ns = Ns::from_ms(10);
const NOISE_BURST: Ns = Ns::from_us(50);

/// So many operations or answers at one point in time mean that time has stopped.
const STUCK: u32 = 10_000_000;

/// A run in progress.
pub(crate) struct Engine<'a, O: Observer + ?Sized> {
    pub(crate) now: Ns,
    pub(crate) machine: &'a Machine,
    pub(crate) workload: &'a Workload,
    pub(crate) options: &'a Options,
    pub(crate) observer: &'a mut O,
    pub(crate) watched: bool,
    pub(crate) sched: Scheduler,
    pub(crate) code: Code,
    pub(crate) objects: Objects,
    pub(crate) tasks: Vec<Task>,
    pub(crate) cores: Vec<Core>,
    /// When something happens on each core by itself: the earlier of completion and tick.
    due: Vec<Ns>,
    calendar: Calendar,
    pending: VecDeque<Action>,
    /// Current operating point of each cluster.
    opps: Vec<Opp>,
    /// Instructions per ns by phase and cluster, at the current operating points.
    rates: Vec<f64>,
    /// Counts per instruction, in the same order; empty if nobody reads counters.
    counts: Vec<Counters>,
    /// Speedup of the biggest over the smallest core type by phase.
    speedups: Vec<f64>,
    noise: fastrand::Rng,
    /// Threads that are there or still to come at their time.
    alive: usize,
    /// By program: threads that will end and have not, and when the last of them did.
    unfinished: Vec<usize>,
    pub(crate) turnaround: Vec<Option<Ns>>,
    pub(crate) read: Vec<Counters>,
    stuck: u32,
    pub(crate) ended: Option<Ended>,
    pub(crate) events: u64,
    pub(crate) migrations: u64,
    pub(crate) context_switches: u64,
    pub(crate) preemptions: u64,
    pub(crate) stale_answers: u64,
    pub(crate) missed_timers: u64,
    pub(crate) wakeup_latency: Latency,
}

impl<'a, O: Observer + ?Sized> Engine<'a, O> {
    pub(crate) fn new(
        machine: &'a Machine,
        workload: &'a Workload,
        sched: Scheduler,
        options: &'a Options,
        observer: &'a mut O,
    ) -> Self {
        let code = Code::new(workload, &|program, behaviour, work| instructions(machine, program, behaviour, work));
        let task = |(index, thread): (usize, &crate::code::ThreadCode)| {
            Task::new(index, thread.program, thread.slots, machine.core_types.len(), options.seed)
        };
        let mut unfinished = vec![0; workload.programs.len()];
        let at_start = |thread: &&crate::code::ThreadCode| thread.start != Start::Spawned;
        for thread in code.threads.iter().filter(at_start) {
            unfinished[thread.program] += usize::from(counts_for_the_end(thread));
        }
        let smallest = evenkeel_model::CoreTypeId(machine.core_types.len() as u8 - 1);
        let mut engine = Self {
            now: Ns::ZERO,
            machine,
            workload,
            options,
            watched: observer.watches(),
            observer,
            sched,
            objects: Objects::new(&code),
            tasks: code.threads.iter().enumerate().map(task).collect(),
            cores: machine.cores.iter().map(|_| Core::default()).collect(),
            due: vec![Ns::NEVER; machine.cores.len()],
            calendar: Calendar::default(),
            pending: VecDeque::new(),
            opps: machine.clusters.iter().map(|cluster| highest_opp(machine, cluster)).collect(),
            rates: Vec::new(),
            counts: Vec::new(),
            speedups: code.behaviours.iter().map(|phase| machine.speedup_over(smallest, phase)).collect(),
            noise: fastrand::Rng::with_seed(options.seed ^ 0x6e6f_6973_6521),
            turnaround: vec![None; workload.programs.len()],
            unfinished,
            alive: code.threads.iter().filter(at_start).count(),
            read: vec![Counters::default(); if options.counters { code.threads.len() } else { 0 }],
            code,
            stuck: 0,
            ended: None,
            events: 0,
            migrations: 0,
            context_switches: 0,
            preemptions: 0,
            stale_answers: 0,
            missed_timers: 0,
            wakeup_latency: Latency::default(),
        };
        engine.set_rates();
        engine.introduce_threads();
        engine
    }

    /// Tells the scheduler of every thread and puts the first events into the calendar.
    fn introduce_threads(&mut self) {
        for index in 0..self.code.threads.len() {
            let thread = &self.code.threads[index];
            let kind = match thread.kind {
                ThreadKind::Application => evenkeel_sched::Kind::Application,
                ThreadKind::Service => evenkeel_sched::Kind::Service,
            };
            let (class, clamp) = (class(&thread.sched), clamp(&thread.sched));
            let cores = cores_of(self.machine, &thread.sched);
            let program = evenkeel_model::ProgramId(thread.program as u32);
            let id = self.sched.create(&NewThread { program, kind, class, cores, clamp });
            if self.watched {
                let program = &self.workload.programs[thread.program].name;
                let event = Event::Created { thread: id, program, name: &thread.name };
                self.observer.observe(self.now, &event);
            }
            if let Start::At(at) = thread.start {
                self.calendar.push(at, Entry::Wake(id, 0));
            }
        }
        if self.watched {
            for cluster in 0..self.opps.len() {
                let event =
                    Event::Frequency { cluster: ClusterId(cluster as u8), frequency: self.opps[cluster].frequency };
                self.observer.observe(self.now, &event);
            }
        }
        if let Some(period) = self.sched.period() {
            self.calendar.push(period, Entry::Refresh);
        }
        if self.options.noise {
            for core in self.machine.all().iter() {
                let at = self.next_noise();
                self.calendar.push(at, Entry::Noise(core));
            }
        }
        if let Some(duration) = self.workload.duration {
            self.calendar.push(duration, Entry::End);
        }
    }

    /// Runs to the end.
    pub(crate) fn run(&mut self) -> Result<(), Error> {
        while self.ended.is_none() {
            let (core, at) = self.earliest_core();
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
            while let Some(action) = self.pending.pop_front() {
                self.perform(action)?;
            }
        }
        self.close_books();
        Ok(())
    }

    fn earliest_core(&self) -> (CoreId, Ns) {
        let mut earliest = (0, Ns::NEVER);
        for (core, due) in self.due.iter().enumerate() {
            if *due < earliest.1 {
                earliest = (core, *due);
            }
        }
        (CoreId(earliest.0 as u16), earliest.1)
    }

    fn core_event(&mut self, core: CoreId) -> Result<(), Error> {
        if self.cores[core.index()].done_at <= self.now {
            return self.advance(core);
        }
        self.settle(core);
        self.sched.tick(self.now, core);
        self.cores[core.index()].tick_at = self.now + self.machine.costs.tick;
        self.set_due(core);
        self.collect();
        Ok(())
    }

    fn calendar_event(&mut self, entry: Entry) -> Result<(), Error> {
        match entry {
            Entry::Wake(thread, sleep) => {
                let task = &self.tasks[thread.index()];
                match task.place {
                    Place::Absent if sleep == 0 && task.exited.is_none() => self.start(thread, None),
                    Place::Blocked(On::Sleep) if task.sleep == sleep => self.wake(thread, None),
                    _ => {}
                }
            }
            Entry::Start(core, thread) => {
                self.cores[core.index()].awaiting = false;
                let fresh = self.tasks[thread.index()].place == Place::Ready
                    && self.cores[core.index()].current.is_none()
                    && self.sched.state().core(core).current == Some(thread);
                if fresh {
                    return self.begin(core, thread);
                }
                self.stale_answers += 1;
                if self.tasks[thread.index()].place == Place::Ready {
                    self.report_ready(thread, Why::Preempted);
                }
                self.pending.push_back(Action::Reschedule(core));
            }
            Entry::Act(action) => self.pending.push_back(action),
            Entry::Refresh => {
                for core in self.machine.all().iter() {
                    self.settle(core);
                }
                self.sched.refresh(self.now);
                self.collect();
                if let Some(period) = self.sched.period() {
                    self.calendar.push(self.now + period, Entry::Refresh);
                }
            }
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

    /// Carries out what the scheduler, or an event, asks for.
    fn perform(&mut self, action: Action) -> Result<(), Error> {
        match action {
            Action::Reschedule(core) => {
                if let Some(thread) = self.cores[core.index()].current {
                    self.stop(core, Stop::Preempted);
                    self.report_ready(thread, Why::Preempted);
                    self.ask(core)?;
                    self.preemptions += u64::from(self.cores[core.index()].current != Some(thread));
                    return Ok(());
                }
                self.ask(core)
            }
            Action::Take { thread, from, to } => {
                if self.cores[from.index()].current != Some(thread) || self.cores[to.index()].current.is_some() {
                    self.stale_answers += 1;
                    return self.ask(to);
                }
                self.stop(from, Stop::Taken);
                self.report_ready(thread, Why::Taken { by: to });
                self.ask(to)?;
                self.ask(from)
            }
            Action::Affinity { thread, cores } => {
                if self.watched {
                    self.observer.observe(self.now, &Event::Affinity { thread, cores });
                }
                Ok(())
            }
            Action::Frequency { cluster, frequency } => {
                self.set_frequency(cluster, frequency);
                Ok(())
            }
        }
    }

    /// Asks what a core without a thread runs next, and begins it.
    fn ask(&mut self, core: CoreId) -> Result<(), Error> {
        if self.cores[core.index()].awaiting || self.cores[core.index()].current.is_some() {
            return Ok(());
        }
        let answer = self.sched.next(self.now, core);
        self.collect();
        let Next::Run { thread, .. } = answer else { return Ok(()) };
        if self.options.delay > Ns::ZERO {
            self.cores[core.index()].awaiting = true;
            self.calendar.push(self.now + self.options.delay, Entry::Start(core, thread));
            return Ok(());
        }
        self.begin(core, thread)
    }

    /// Moves the scheduler's requests to where they are carried out: now, or after the delay.
    pub(crate) fn collect(&mut self) {
        while let Some(action) = self.sched.action() {
            if self.options.delay > Ns::ZERO {
                self.calendar.push(self.now + self.options.delay, Entry::Act(action));
            } else {
                self.pending.push_back(action);
            }
        }
    }

    /// A core begins to run a thread.
    fn begin(&mut self, core: CoreId, thread: ThreadId) -> Result<(), Error> {
        self.settle(core);
        let costs = &self.machine.costs;
        let c = &mut self.cores[core.index()];
        let task = &mut self.tasks[thread.index()];
        let waited = self.now.since(task.since);
        task.waited += waited;
        if std::mem::take(&mut task.woken) {
            self.wakeup_latency.count += 1;
            self.wakeup_latency.total += waited;
            self.wakeup_latency.max = self.wakeup_latency.max.max(waited);
        }
        if c.last != Some(thread) {
            self.context_switches += 1;
            c.stall += costs.context_switch;
        }
        if let Some(last) = task.last_core.filter(|last| *last != core) {
            self.migrations += 1;
            task.migrations += 1;
            let same = self.machine.cores[last.index()].cluster == self.machine.cores[core.index()].cluster;
            c.stall += if same { costs.migrate_in_cluster } else { costs.migrate_across_clusters };
        }
        task.last_core = Some(core);
        task.place = Place::On(core);
        c.current = Some(thread);
        c.last = Some(thread);
        if c.tick_at == Ns::NEVER || c.tick_at <= self.now {
            c.tick_at = Ns((self.now.0 / costs.tick.0 + 1) * costs.tick.0);
        }
        if self.watched {
            self.observer.observe(self.now, &Event::Run { core, thread });
        }
        if self.cores[core.index()].stall == Ns::ZERO && self.tasks[thread.index()].remaining == 0 {
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
        if self.tasks[thread.index()].remaining > 0 {
            self.set_completion(core);
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
        c.done_at = Ns::NEVER;
        c.tick_at = Ns::NEVER;
        self.due[core.index()] = Ns::NEVER;
        self.tasks[thread.index()].since = self.now;
        if self.watched {
            self.observer.observe(self.now, &Event::Stop { core, thread, why });
            self.observe_power(core);
        }
    }

    pub(crate) fn report_ready(&mut self, thread: ThreadId, why: Why) {
        let task = &mut self.tasks[thread.index()];
        task.place = Place::Ready;
        task.since = self.now;
        let core = self.sched.ready(self.now, thread, why);
        if self.watched {
            let by = match why {
                Why::New { by } | Why::Woken { by } => by,
                Why::Preempted | Why::Yielded | Why::Taken { .. } => None,
            };
            self.observer.observe(self.now, &Event::Ready { thread, core, by });
        }
        self.collect();
    }

    /// Starts a thread that another one spawns.
    pub(crate) fn spawn(&mut self, thread: ThreadId, by: ThreadId) {
        self.alive += 1;
        let code = &self.code.threads[thread.index()];
        self.unfinished[code.program] += usize::from(counts_for_the_end(code));
        self.start(thread, Some(by));
    }

    /// Starts a thread from its beginning.
    fn start(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        let task = &mut self.tasks[thread.index()];
        task.pc = self.code.threads[thread.index()].entry;
        task.started = self.now;
        task.exited = None;
        self.report_ready(thread, Why::New { by });
    }

    /// Ends a wait.
    pub(crate) fn wake(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        let task = &mut self.tasks[thread.index()];
        task.woken = true;
        let waited = self.now.since(task.since);
        if let Some(by) = by {
            self.sched.blame(by, waited);
        }
        self.report_ready(thread, Why::Woken { by });
    }

    /// Takes the running thread off its core to wait.
    pub(crate) fn block(&mut self, core: CoreId, thread: ThreadId, on: On) {
        let name = if self.watched { report::waits_for(self, on) } else { String::new() };
        self.stop(core, Stop::Blocked(&name));
        self.tasks[thread.index()].place = Place::Blocked(on);
        let wait = if on == On::Sleep { Wait::Sleep } else { Wait::Futex };
        self.sched.blocked(self.now, thread, wait);
        self.pending.push_back(Action::Reschedule(core));
    }

    /// Takes the running thread off its core and sends it to sleep until a time.
    pub(crate) fn sleep_until(&mut self, core: CoreId, thread: ThreadId, until: Ns) {
        self.tasks[thread.index()].sleep += 1;
        let sleep = self.tasks[thread.index()].sleep;
        self.calendar.push(until, Entry::Wake(thread, sleep));
        self.block(core, thread, On::Sleep);
    }

    pub(crate) fn give_way(&mut self, core: CoreId, thread: ThreadId) {
        self.stop(core, Stop::Yielded);
        self.report_ready(thread, Why::Yielded);
        // sched_yield is a trip through the scheduler even when nobody else waits.
        self.cores[core.index()].last = None;
        self.pending.push_back(Action::Reschedule(core));
    }

    /// The running thread is done.
    pub(crate) fn exit(&mut self, core: CoreId, thread: ThreadId) {
        self.stop(core, Stop::Exited);
        self.pending.push_back(Action::Reschedule(core));
        self.remove(thread);
        if self.tasks[thread.index()].respawns > 0 {
            self.tasks[thread.index()].respawns -= 1;
            self.spawn(thread, thread);
        }
        let mut joiners = std::mem::take(&mut self.tasks[thread.index()].joiners);
        for joiner in joiners.drain(..) {
            self.wake(joiner, Some(thread));
        }
        self.tasks[thread.index()].joiners = joiners;
        let program = self.tasks[thread.index()].program;
        let counts = counts_for_the_end(&self.code.threads[thread.index()]);
        self.unfinished[program] -= usize::from(counts);
        if counts && self.unfinished[program] == 0 {
            self.turnaround[program] = Some(self.now);
            if self.workload.duration.is_none() {
                self.end_program(program);
            }
        }
        self.end_run();
    }

    /// The run is over when no thread is left, or, without a duration, none that will end.
    fn end_run(&mut self) {
        let waiting = self.workload.duration.is_none() && self.unfinished.iter().any(|threads| *threads > 0);
        if self.alive == 0 || self.workload.duration.is_none() && !waiting {
            self.ended = Some(Ended::Finished);
        }
    }

    fn remove(&mut self, thread: ThreadId) {
        let task = &mut self.tasks[thread.index()];
        task.place = Place::Absent;
        task.exited = Some(self.now);
        self.alive -= 1;
        self.sched.exited(self.now, thread);
    }

    /// The threads that end have ended: what is left of the program (endless and service threads) ends with it.
    fn end_program(&mut self, program: usize) {
        for index in 0..self.tasks.len() {
            let thread = ThreadId(index as u32);
            if self.tasks[index].program != program || self.tasks[index].place == Place::Absent {
                continue;
            }
            if let Place::On(core) = self.tasks[index].place {
                self.stop(core, Stop::Exited);
                self.pending.push_back(Action::Reschedule(core));
            }
            self.remove(thread);
        }
    }

    /// Accounts for the time on a core since the last time, and reports it to the scheduler.
    pub(crate) fn settle(&mut self, core: CoreId) {
        let cluster = self.machine.cores[core.index()].cluster.index();
        let c = &mut self.cores[core.index()];
        let elapsed = self.now.since(c.since);
        c.since = self.now;
        if elapsed == Ns::ZERO {
            return;
        }
        let Some(thread) = c.current else {
            c.idle += elapsed;
            c.pending.2 += elapsed;
            return;
        };
        let task = &mut self.tasks[thread.index()];
        let overhead = c.stall.min(elapsed);
        c.stall -= overhead;
        c.overhead += overhead;
        c.busy += elapsed;
        let ran = elapsed - overhead;
        let spin = task.phase == SPIN;
        let reference = self.rates[(self.rates.len() - self.opps.len()) + cluster];
        let rate_at = if spin { 0 } else { task.phase as usize * self.opps.len() + cluster };
        let rate = if spin { 1.0 } else { self.rates[rate_at] };
        let done = if self.now >= c.done_at { task.remaining } else { (ran.0 as f64 * rate) as u64 };
        let done = done.min(task.remaining);
        task.remaining -= done;
        let retired = if spin { (done as f64 * reference) as u64 } else { done };
        task.instructions += Instructions(retired);
        let on = self.machine.cores[core.index()].core_type.index();
        task.on_type[on] += elapsed;
        c.pending.0 += retired + (overhead.0 as f64 * reference) as u64;
        c.pending.1 += elapsed;
        let mut span = Span { time: elapsed, instructions: Some(Instructions(retired)), counters: None, speedup: None };
        if !self.counts.is_empty() && retired > 0 {
            let at = if spin { self.counts.len() - self.opps.len() + cluster } else { rate_at };
            let counters = pmu::read(&self.counts[at], retired, &mut task.noise);
            span.counters = Some(counters);
            if let Some(read) = self.read.get_mut(thread.index()) {
                *read += &counters;
            }
        }
        if self.options.oracle && !spin {
            span.speedup = Some(self.speedups[task.phase as usize]);
        }
        self.sched.ran(self.now, thread, core, &span);
    }

    /// When the current computation of a core will be complete.
    fn set_completion(&mut self, core: CoreId) {
        let cluster = self.machine.cores[core.index()].cluster.index();
        let c = &mut self.cores[core.index()];
        let Some(thread) = c.current else { return };
        let task = &self.tasks[thread.index()];
        let rate = match task.phase {
            SPIN => 1.0,
            phase => self.rates[phase as usize * self.opps.len() + cluster],
        };
        let needs = libm::ceil(task.remaining as f64 / rate) as u64;
        c.done_at = self.now + c.stall + Ns(needs);
        self.set_due(core);
    }

    fn set_due(&mut self, core: CoreId) {
        let c = &self.cores[core.index()];
        self.due[core.index()] = c.done_at.min(c.tick_at);
    }

    /// Overhead hits a core: noise, a change of frequency. Without effect on an idle core.
    fn delay_core(&mut self, core: CoreId, overhead: Ns) {
        self.settle(core);
        if self.cores[core.index()].current.is_some() {
            self.cores[core.index()].stall += overhead;
            self.set_completion(core);
        }
    }

    fn set_frequency(&mut self, cluster: ClusterId, frequency: Hz) {
        let kind = &self.machine.core_types[self.machine.clusters[cluster.index()].core_type.index()];
        let opp = kind.opps.iter().find(|opp| opp.frequency >= frequency).or(kind.opps.last()).copied();
        let Some(opp) = opp.filter(|opp| *opp != self.opps[cluster.index()]) else { return };
        for core in self.machine.clusters[cluster.index()].cores.iter() {
            self.settle(core);
            self.cores[core.index()].settle_energy(kind, self.opps[cluster.index()]);
        }
        self.opps[cluster.index()] = opp;
        self.set_rates();
        for core in self.machine.clusters[cluster.index()].cores.iter() {
            self.delay_core(core, self.machine.costs.dvfs_transition);
        }
        if self.watched {
            self.observer.observe(self.now, &Event::Frequency { cluster, frequency: opp.frequency });
        }
    }

    /// Fills the tables of rates and counts for the current operating points. The last row is the reference code.
    fn set_rates(&mut self) {
        self.rates.clear();
        self.counts.clear();
        let counting = self.options.counters || self.sched.wants_counters();
        let reference = evenkeel_model::Behaviour::REFERENCE;
        for behaviour in self.code.behaviours.iter().chain([&reference]) {
            for (cluster, opp) in self.machine.clusters.iter().zip(&self.opps) {
                self.rates.push(self.machine.rate(cluster.core_type, opp.frequency, behaviour));
                if counting {
                    let counts = pmu::per_instruction(self.machine, cluster.core_type, opp.frequency, behaviour);
                    self.counts.push(counts);
                }
            }
        }
    }

    /// Tells an observer the power of the cluster of a core: what runs there now.
    fn observe_power(&mut self, core: CoreId) {
        if !self.watched {
            return;
        }
        let cluster = self.machine.cores[core.index()].cluster;
        let opp = self.opps[cluster.index()];
        let kind = self.machine.core_type(core);
        let volts = opp.voltage.0;
        let mut watts = 0.0;
        for core in self.machine.clusters[cluster.index()].cores.iter() {
            let Some(thread) = self.cores[core.index()].current else {
                watts += volts * kind.leakage * kind.idle_share;
                continue;
            };
            let phase = self.tasks[thread.index()].phase;
            let row = if phase == SPIN { self.code.behaviours.len() } else { phase as usize };
            let rate = self.rates[row * self.opps.len() + cluster.index()];
            watts += kind.activity * rate * volts * volts + volts * kind.leakage;
        }
        self.observer.observe(self.now, &Event::Power { cluster, power: Watts(watts) });
    }

    fn next_noise(&mut self) -> Ns {
        let draw = -libm::log(1.0 - self.noise.f64());
        self.now + Ns((NOISE_INTERVAL.0 as f64 * draw) as u64 + 1)
    }

    pub(crate) fn set_params(&mut self, core: CoreId, thread: ThreadId, params: u32) {
        let params = &self.code.params[params as usize];
        let (class, cores, clamp) = (class(params), cores_of(self.machine, params), clamp(params));
        self.settle(core);
        self.sched.set_params(self.now, thread, class, cores, clamp);
        self.collect();
    }

    fn close_books(&mut self) {
        for core in self.machine.all().iter() {
            self.settle(core);
            let kind = self.machine.core_type(core);
            let cluster = self.machine.cores[core.index()].cluster;
            self.cores[core.index()].settle_energy(kind, self.opps[cluster.index()]);
        }
        for queue in &mut self.objects.queues {
            let items = queue.items;
            queue.change(self.now, items);
        }
    }
}

/// Service and endless threads end with their program; it is not they who are waited for.
fn counts_for_the_end(thread: &crate::code::ThreadCode) -> bool {
    thread.kind == ThreadKind::Application && !thread.endless
}

/// The cores of a mask that exist here, as `sched_setaffinity` takes it.
pub(crate) fn cores_of(machine: &Machine, params: &SchedParams) -> CoreSet {
    let Some(cpus) = &params.cpus else { return machine.all() };
    let there = cpus.iter().filter(|cpu| usize::from(**cpu) < machine.cores.len());
    there.map(|cpu| CoreId(*cpu)).collect()
}

fn clamp(params: &SchedParams) -> Clamp {
    let all = Clamp::default();
    Clamp { min: params.util_min.unwrap_or(all.min), max: params.util_max.unwrap_or(all.max) }
}

fn class(params: &SchedParams) -> Class {
    match params.class {
        program::Class::Fair { nice } => Class::fair(nice),
        program::Class::Idle => Class::idle(),
        program::Class::RealTime { priority } => Class::RealTime { priority: priority.min(100) },
    }
}

fn highest_opp(machine: &Machine, cluster: &evenkeel_model::Cluster) -> Opp {
    let opps = &machine.core_types[cluster.core_type.index()].opps;
    opps[opps.len() - 1]
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

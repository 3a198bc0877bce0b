//! The workers at work: the event loop, stealing and mugging.

use std::collections::VecDeque;

use evenkeel_model::stealing::{self, Active, Queue, Techniques, Waiting};
use evenkeel_model::{CoreTypeId, Machine, Ns};
use evenkeel_workload::kernels::Kernel;

use super::control::Control;
use super::core::{Core, Spent, Type};
use super::outcome::{Activity, Outcome, Parts, Watch};
use super::tree::Region;
use super::{Options, TooManyEvents, system};

/// Searching the queues of all others once, in cycles of a little core (assumed: one or two lines from the L2).
const SEARCH: f64 = 60.0;
/// Taking the task that was found (assumed: its queue and its data come from the L2).
const STEAL: f64 = 60.0;
/// Changing places besides the interrupt: 80 instructions and 35 registers through memory (IV.D); two cycles an instruction, assumed.
const SWAP: f64 = 160.0;
/// A core that takes over a task fills its L1 with the task's data: a line for each 100 instructions that are left (assumed), 20 cycles from
/// the L2, at most the 256 lines of the L1D (Table I).
const LINE_EVERY: f64 = 100.0;
const LINE: f64 = 20.0;
const LINES: f64 = 256.0;

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// It has failed to steal and keeps searching, which is not simulated step by step.
    Nothing,
    /// It searches the queues of others.
    Searching,
    Running(u32),
    /// Thread 0 outside of parallel regions.
    Serial,
}

/// A logical thread with its task queue.
#[derive(Debug)]
struct Worker {
    queue: VecDeque<u32>,
    doing: Doing,
    /// What is left of that, in ns of a little core at nominal voltage.
    left: f64,
    failed: u32,
    /// The hint that it gives.
    waits: bool,
    core: usize,
}

/// A core, the worker that it runs, and the overhead that it has yet to spend.
#[derive(Debug)]
struct OnCore {
    core: Core,
    worker: usize,
    /// Overhead before the worker continues, in the same unit.
    stall: f64,
    /// When that, or what the worker does, is done.
    due: Ns,
}

/// A run in progress.
pub(super) struct Crew<'a, W: Watch + ?Sized> {
    now: Ns,
    techniques: Techniques,
    workers: Vec<Worker>,
    on_cores: Vec<OnCore>,
    control: Control,
    /// Ns of a little core in an instruction, and in a cycle.
    instruction_ns: f64,
    cycle_ns: f64,
    interrupt: f64,
    regions: &'a [Region],
    /// The present region, and how many of its tasks are not done.
    region: usize,
    left: usize,
    /// Whether thread 0 is outside of parallel regions.
    serial: bool,
    /// Which part of the time this is (Figure 8).
    part: fn(&mut Parts) -> &mut Ns,
    draws: fastrand::Rng,
    outcome: Outcome,
    max_events: u64,
    watch: &'a mut W,
}

impl<'a, W: Watch + ?Sized> Crew<'a, W> {
    pub fn new(machine: &Machine, kernel: &Kernel, regions: &'a [Region], options: &Options, watch: &'a mut W) -> Self {
        let system = system(machine, options.nominal);
        let cycles = kernel.work * kernel.serial_mcycles / kernel.minst;
        let types = Type::all(&system.groups, kernel, cycles);
        let cycle_ns = system.groups.last().map_or(1.0, |little| 1e9 / little.frequency(little.nominal));
        let on = |(worker, core): (usize, &evenkeel_model::Core)| OnCore {
            core: Core::new(core.core_type.index(), types[core.core_type.index()]),
            worker,
            stall: 0.0,
            due: Ns::NEVER,
        };
        let worker =
            |core| Worker { queue: VecDeque::new(), doing: Doing::Nothing, left: 0.0, failed: 0, waits: true, core };
        Self {
            now: Ns::ZERO,
            techniques: options.techniques,
            workers: (0..machine.cores.len()).map(worker).collect(),
            on_cores: machine.cores.iter().enumerate().map(on).collect(),
            control: Control::new(&system, options.techniques, options.step),
            instruction_ns: cycles * cycle_ns,
            cycle_ns,
            interrupt: options.interrupt_cycles,
            regions,
            region: 0,
            left: 0,
            serial: true,
            part: |parts| &mut parts.serial,
            draws: fastrand::Rng::with_seed(options.seed ^ 0x776f_726b_6572_7321),
            outcome: Outcome::default(),
            max_events: options.max_events,
            watch,
        }
    }

    pub fn run(mut self) -> Result<Outcome, TooManyEvents> {
        let work = |region: &Region| region.serial + region.tasks.iter().map(|task| task.work).sum::<f64>();
        self.outcome.instructions = self.regions.iter().map(work).sum();
        self.begin_serial();
        self.react();
        while self.region < self.regions.len() {
            let Some((core, at)) = self.next() else { break };
            *(self.part)(&mut self.outcome.parts) += at.since(self.now);
            self.now = at;
            if self.outcome.events >= self.max_events {
                let (left, tasks) = (self.left, self.regions[self.region].tasks.len());
                return Err(TooManyEvents { limit: self.max_events, at: self.now, left, tasks });
            }
            self.outcome.events += 1;
            self.event(core);
        }
        (0..self.on_cores.len()).for_each(|core| self.settle(core));
        self.outcome.time = self.now;
        self.outcome.energy = self.on_cores.iter().map(|on| on.core.joules).sum();
        Ok(self.outcome)
    }

    /// The core where something happens next, and when.
    fn next(&self) -> Option<(usize, Ns)> {
        let at = |on: &OnCore| on.due.min(on.core.moving.map_or(Ns::NEVER, |(_, until)| until));
        let (core, at) = self.on_cores.iter().map(at).enumerate().min_by_key(|(_, at)| *at)?;
        (at < Ns::NEVER).then_some((core, at))
    }

    fn event(&mut self, core: usize) {
        self.settle(core);
        let on = &mut self.on_cores[core];
        if let Some((to, _)) = on.core.moving.filter(|(_, until)| *until <= self.now) {
            on.core.volts = to;
            on.core.moving = None;
            self.set_voltage(core);
            return self.schedule(core);
        }
        if on.stall > 0.0 {
            on.stall = 0.0;
            self.schedule(core);
            // The worker that it runs now can mug, or be mugged.
            return self.react();
        }
        let worker = on.worker;
        match self.workers[worker].doing {
            Doing::Nothing => {}
            Doing::Searching => self.search(worker),
            Doing::Running(task) => self.finish(worker, task),
            Doing::Serial => self.end_serial(),
        }
        self.react();
    }

    /// Thread 0 begins what comes before the next region.
    fn begin_serial(&mut self) {
        self.serial = true;
        let others = (1..self.workers.len()).map(|worker| Waiting { worker, core_type: self.type_of(worker) });
        if let Some(other) = self.techniques.home(self.type_of(0), others) {
            self.swap(0, other);
        }
        self.begin(0, Doing::Serial, self.regions[self.region].serial * self.instruction_ns);
    }

    fn end_serial(&mut self) {
        self.left = self.regions[self.region].tasks.len();
        if self.left == 0 {
            self.region += 1;
        } else {
            self.serial = false;
            self.execute(0, 0);
        }
    }

    fn execute(&mut self, worker: usize, task: u32) {
        let work = self.regions[self.region].tasks[task as usize].work;
        self.begin(worker, Doing::Running(task), work * self.instruction_ns);
    }

    /// A task has done its own work. The worker spawns its children and runs the first next, or else with the newest of its
    /// queue, or searches for one.
    fn finish(&mut self, worker: usize, task: u32) {
        let (first, count) = self.regions[self.region].tasks[task as usize].children;
        self.left -= 1;
        let queue = &mut self.workers[worker].queue;
        queue.extend((first..first + count).skip(1));
        let next = if count > 0 { Some(first) } else { queue.pop_back() };
        match next {
            Some(next) => self.execute(worker, next),
            None => self.begin(worker, Doing::Searching, SEARCH * self.cycle_ns),
        }
        if self.left == 0 {
            self.region += 1;
            self.begin_serial();
        }
    }

    /// A worker has searched the queues of the others, and takes the task that it has found.
    fn search(&mut self, thief: usize) {
        let workers = self.workers.len();
        let may = self.may_steal(thief);
        let others = self.workers.iter().enumerate().filter(|(worker, _)| *worker != thief);
        let queues = others.map(|(worker, other)| Queue {
            worker,
            tasks: other.queue.len(),
            distance: stealing::ring_distance(thief, worker, workers),
        });
        let victim = if may { stealing::victim(queues) } else { None };
        if let Some(task) = victim.and_then(|victim| self.workers[victim].queue.pop_front()) {
            self.outcome.steals += 1;
            self.execute(thief, task);
            return self.delay(self.workers[thief].core, STEAL);
        }
        self.outcome.failed_steals += 1;
        let worker = &mut self.workers[thief];
        worker.failed += 1;
        worker.waits |= stealing::waits(worker.failed);
        let doing = if worker.waits { Doing::Nothing } else { Doing::Searching };
        self.begin(thief, doing, SEARCH * self.cycle_ns);
    }

    /// What follows from who is active now: waiting workers find tasks or mug others, voltages change, and time counts as another part.
    fn react(&mut self) {
        self.begin_searches();
        self.mug();
        let region = self.region();
        let active = self.workers.iter().filter(|worker| !worker.waits);
        self.control.update(region, active.map(|worker| self.on_cores[worker.core].core.core_type));
        (0..self.on_cores.len()).for_each(|core| self.set_voltage(core));
        self.part = self.part_of(region);
    }

    /// Waiting workers search the queues again and again. As many of them as there are tasks will find one; which are first is
    /// chance, and so is how far each is in its search.
    fn begin_searches(&mut self) {
        let tasks: usize = self.workers.iter().map(|worker| worker.queue.len()).sum();
        let searching = self.workers.iter().filter(|worker| worker.doing == Doing::Searching).count();
        for _ in searching..tasks {
            // Each of so many seen so far is chosen with the same chance.
            let (mut chosen, mut seen) = (None, 0);
            for worker in 0..self.workers.len() {
                if self.workers[worker].doing == Doing::Nothing && self.may_steal(worker) {
                    seen += 1;
                    if self.draws.usize(..seen) == 0 {
                        chosen = Some(worker);
                    }
                }
            }
            let Some(worker) = chosen else { return };
            let left = SEARCH * self.cycle_ns * self.draws.f64();
            self.begin(worker, Doing::Searching, left);
        }
    }

    /// Waiting workers on bigger cores take over tasks of smaller ones.
    fn mug(&mut self) {
        for core in 0..self.on_cores.len() {
            let mugger = self.on_cores[core].worker;
            let w = &self.workers[mugger];
            if w.doing != Doing::Nothing || self.on_cores[core].stall > 0.0 {
                continue;
            }
            // A core that exchanges workers has its interrupts off.
            let active = self.workers.iter().enumerate().filter(|(_, other)| {
                matches!(other.doing, Doing::Running(_)) && self.on_cores[other.core].stall == 0.0
            });
            let active = active.map(|(worker, other)| Active {
                worker,
                core_type: self.core_type(other.core),
                load: other.queue.len(),
            });
            if let Some(muggee) = self.techniques.muggee(self.core_type(core), w.failed, active) {
                self.swap(mugger, muggee);
            }
        }
    }

    /// Two workers exchange their cores.
    fn swap(&mut self, one: usize, other: usize) {
        self.outcome.mugs += 1;
        let cores = [self.workers[one].core, self.workers[other].core];
        cores.into_iter().for_each(|core| self.settle(core));
        (self.workers[one].core, self.workers[other].core) = (cores[1], cores[0]);
        for worker in [one, other] {
            let w = &self.workers[worker];
            let (core, instructions) = (w.core, w.left / self.instruction_ns);
            self.on_cores[core].worker = worker;
            let lines = match w.doing {
                Doing::Running(_) => (instructions / LINE_EVERY).min(LINES),
                _ => 0.0,
            };
            self.delay(core, self.interrupt + SWAP + lines * LINE);
        }
    }

    fn may_steal(&self, worker: usize) -> bool {
        self.techniques.may_steal(self.type_of(worker), self.waiting(worker).map(|waiting| waiting.core_type))
    }

    /// The workers that wait, besides one.
    fn waiting(&self, besides: usize) -> impl Iterator<Item = Waiting> {
        let waiting = self.workers.iter().enumerate().filter(move |(worker, w)| *worker != besides && w.waits);
        waiting.map(|(worker, w)| Waiting { worker, core_type: self.core_type(w.core) })
    }

    fn core_type(&self, core: usize) -> CoreTypeId {
        CoreTypeId(self.on_cores[core].core.core_type as u8)
    }

    fn type_of(&self, worker: usize) -> CoreTypeId {
        self.core_type(self.workers[worker].core)
    }

    fn region(&self) -> stealing::Region {
        if self.serial {
            stealing::Region::Serial
        } else if self.workers.iter().all(|worker| !worker.waits) {
            stealing::Region::HighParallel
        } else {
            stealing::Region::LowParallel
        }
    }

    fn part_of(&self, region: stealing::Region) -> fn(&mut Parts) -> &mut Ns {
        let big = |worker: &&Worker| self.on_cores[worker.core].core.core_type == 0;
        let big_inactive = self.workers.iter().filter(big).filter(|worker| worker.waits).count();
        let little_active = self.workers.iter().filter(|worker| !big(worker) && !worker.waits).count();
        match region {
            stealing::Region::Serial => |parts| &mut parts.serial,
            stealing::Region::HighParallel => |parts| &mut parts.high,
            stealing::Region::LowParallel if big_inactive == 0 || little_active == 0 => |parts| &mut parts.other,
            stealing::Region::LowParallel if big_inactive < little_active => |parts| &mut parts.scarce,
            stealing::Region::LowParallel => |parts| &mut parts.ample,
        }
    }

    /// A worker begins something.
    fn begin(&mut self, worker: usize, doing: Doing, left: f64) {
        let core = self.workers[worker].core;
        self.settle(core);
        let w = &mut self.workers[worker];
        (w.doing, w.left) = (doing, left);
        if matches!(doing, Doing::Running(_) | Doing::Serial) {
            (w.failed, w.waits) = (0, false);
        }
        self.schedule(core);
    }

    /// A core does so many cycles of overhead more before its worker continues.
    fn delay(&mut self, core: usize, cycles: f64) {
        self.settle(core);
        self.on_cores[core].stall += cycles * self.cycle_ns;
        self.schedule(core);
    }

    /// Begins to change a core's voltage, if it is not the one wanted. While it changes there are no new decisions (IV.D).
    fn set_voltage(&mut self, core: usize) {
        let on = &self.on_cores[core];
        if on.core.moving.is_none() {
            let wanted = self.control.wanted(&on.core, !self.workers[on.worker].waits);
            if wanted != on.core.volts {
                self.settle(core);
                self.outcome.transitions += 1;
                let until = self.now + self.control.transition(self.on_cores[core].core.volts, wanted);
                self.on_cores[core].core.moving = Some((wanted, until));
                self.schedule(core);
            }
        }
    }

    /// What takes the core's time.
    fn spends(&self, core: usize) -> Spent {
        let on = &self.on_cores[core];
        match self.workers[on.worker].doing {
            Doing::Running(_) | Doing::Serial if on.stall == 0.0 => Spent::Work,
            _ => Spent::Overhead,
        }
    }

    /// Accounts for a core's time up to now.
    fn settle(&mut self, core: usize) {
        let kind = self.spends(core);
        let on = &mut self.on_cores[core];
        let done = on.core.rate(kind) * on.core.settle(self.now, kind).0 as f64;
        if on.stall > 0.0 {
            on.stall = (on.stall - done).max(f64::MIN_POSITIVE);
        } else {
            let left = &mut self.workers[on.worker].left;
            *left = (*left - done).max(0.0);
        }
    }

    /// When a core's next event is, after something has changed there. Its time is accounted for.
    fn schedule(&mut self, core: usize) {
        let kind = self.spends(core);
        let on = &self.on_cores[core];
        let worker = &self.workers[on.worker];
        let amount = if on.stall > 0.0 { on.stall } else { worker.left };
        let nothing = worker.doing == Doing::Nothing && on.stall == 0.0;
        let due = if nothing { Ns::NEVER } else { self.now + on.core.time(kind, amount) };
        let state = match kind {
            Spent::Work => Activity::Works,
            Spent::Overhead if worker.waits => Activity::Waits,
            Spent::Overhead => Activity::Overhead,
        };
        let volts = on.core.moving.map_or(on.core.volts, |(to, _)| to);
        self.on_cores[core].due = due;
        self.watch.change(self.now, core, state, volts);
    }
}

//! From tasks and phases to threads of operations.

use std::collections::BTreeSet;

use evenkeel_model::{Behaviour, Ns};

use super::event::{Action, Event};
use super::file::File;
use super::fork::{COPIES, Threads};
use super::notes::{Notes, RtAppError};
use super::objects::{Objects, Parking, is_unique};
use super::task::{Phase, RtAppTask};
use crate::program::{Op, Phase as Code, PhaseId, Program, SchedParams, Spread, TimerMode, Work, Workload};

/// More operations than this are taken for a mistake.
const MOST_OPS: usize = 1 << 20;
/// When a file ends that does not end by itself.
const ENDLESS: Ns = Ns::from_secs(10);
/// What is said of the times of forked threads.
const FROM_THE_FORK: &str = "counts from the fork here; in rt-app from the start of the run";

/// Makes the workload of a file.
pub(super) fn lower(file: &File, notes: &mut Notes) -> Result<Workload, RtAppError> {
    let objects = Objects::new(file, notes)?;
    let code = vec![Code { name: "run".to_owned(), behaviour: Behaviour::REFERENCE }];
    let mut lowering =
        Lowering { file, notes, objects, code, threads: Threads::default(), ops: 0, elsewhere: BTreeSet::new() };
    for (position, task) in file.tasks.iter().enumerate() {
        for _ in 0..task.instances {
            if lowering.threads.add(&file.tasks, position, None).is_none() {
                return Err(lowering.too_many(task.line, "threads"));
            }
        }
    }
    if lowering.threads.list.is_empty() {
        let message = "no thread starts: expected a task with an \"instance\" of at least 1";
        return Err(lowering.notes.error(file.tasks_line, message));
    }
    let mut next = 0;
    while next < lowering.threads.list.len() {
        lowering.thread(next)?;
        next += 1;
    }
    Ok(lowering.finish())
}

struct Lowering<'f, 'n> {
    file: &'f File,
    notes: &'n mut Notes,
    objects: Objects<'f>,
    code: Vec<Code>,
    threads: Threads,
    ops: usize,
    /// Lines and texts of suspends that wait for something else than a resume of their own task.
    elsewhere: BTreeSet<(u32, String)>,
}

impl Lowering<'_, '_> {
    fn finish(self) -> Workload {
        let name = self.notes.stem();
        let global = &self.file.global;
        let mut duration = global.duration;
        if duration.is_none() && self.threads.list.iter().any(|thread| is_endless(&thread.ops)) {
            let message = format!("runs for ever; stopped after {ENDLESS}; set \"duration\" in \"global\"");
            self.notes.warn(self.file.tasks_line, "tasks", message);
            duration = Some(ENDLESS);
        }
        if let Some((line, _)) = self.elsewhere.first() {
            let names: BTreeSet<String> = self.elsewhere.iter().map(|(_, name)| format!("\"{name}\"")).collect();
            let message = format!(
                "waits for a resume of the name that it gives, as in rt-app until May 2025 (here and further down: {}); \
                 since then rt-app ignores the name and waits for a resume of the task",
                names.into_iter().collect::<Vec<_>>().join(", ")
            );
            self.notes.warn(*line, "suspend", message);
        }
        let mut program = Program { name: name.clone(), calibration: global.calibration, ..Program::default() };
        program.phases = self.code;
        program.threads = self.threads.list;
        self.objects.fill(&mut program);
        Workload { name, programs: vec![program], duration, ..Workload::default() }
    }

    fn too_many(&self, line: u32, what: &str) -> RtAppError {
        self.notes.error(line, format!("too many {what}: lower an \"instance\" or a \"loop\" that forks"))
    }

    /// Lowers one thread: its scheduling parameters and its phases.
    fn thread(&mut self, thread: usize) -> Result<(), RtAppError> {
        let origin = self.threads.origin(thread);
        let task = &self.file.tasks[origin.task];
        let mut ops = Vec::new();
        if origin.parent.is_some() && task.delay > Ns::ZERO {
            self.notes.warn(task.line, "delay", FROM_THE_FORK);
            ops.push(Op::Sleep { span: task.delay, spread: Spread::None });
        }
        let (start, first, later) = self.parameters(task)?;
        let last = first.last().unwrap_or(&start);
        match task.times {
            Some(0) => {}
            Some(1) => ops.extend(self.body(thread, task, &first, &[&start])?),
            times if first == later => {
                let forks = task.events().any(is_fork);
                let body = |this: &mut Self| this.body(thread, task, &first, &[&start, last]);
                ops.extend(self.repeat(times, forks, task.line, &task.name, body)?);
            }
            // What the last phase set is in force when the phases begin again.
            times => {
                let forks = task.events().any(is_fork);
                ops.extend(self.body(thread, task, &first, &[&start])?);
                let body = |this: &mut Self| this.body(thread, task, &later, &[last]);
                ops.extend(self.repeat(times.map(|times| times - 1), forks, task.line, &task.name, body)?);
            }
        }
        let thread = &mut self.threads.list[thread];
        thread.ops = ops;
        thread.sched = start;
        Ok(())
    }

    /// The parameters that a task starts with, those in each phase of its first iteration, and those in each phase of
    /// every later one. Class and clamps stay until a phase changes them; cores come from the phase or else the task.
    fn parameters(
        &mut self,
        task: &RtAppTask,
    ) -> Result<(SchedParams, Vec<SchedParams>, Vec<SchedParams>), RtAppError> {
        let mut policy = self.file.global.policy;
        let start = task.requested.resolve(&mut policy, self.notes)?.apply(&SchedParams::default(), task.cpus.clone());
        let mut changes = Vec::new();
        for phase in &task.phases {
            changes
                .push((phase.requested.resolve(&mut policy, self.notes)?, phase.cpus.as_ref().or(task.cpus.as_ref())));
        }
        let through = |from: &SchedParams| {
            let mut state = from.clone();
            let mut states = Vec::new();
            for (change, cpus) in &changes {
                state = change.apply(&state, cpus.cloned());
                states.push(state.clone());
            }
            states
        };
        let first = through(&start);
        let later = first.last().map(&through).unwrap_or_default();
        Ok((start, first, later))
    }

    /// All phases once. `before` are the parameters that can be in force when they begin.
    fn body(
        &mut self,
        thread: usize,
        task: &RtAppTask,
        states: &[SchedParams],
        before: &[&SchedParams],
    ) -> Result<Vec<Op>, RtAppError> {
        let mut ops = Vec::new();
        let mut held = BTreeSet::new();
        let mut before = before.to_vec();
        for (phase, state) in task.phases.iter().zip(states) {
            if before.iter().any(|before| *before != state) {
                ops.push(Op::Set(state.clone()));
            }
            before = vec![state];
            let forks = phase.events.iter().any(is_fork);
            let events = |this: &mut Self| this.events(thread, phase, &mut held);
            ops.extend(self.repeat(phase.times, forks, phase.line, &task.name, events)?);
            if phase.times.is_none() {
                break;
            }
        }
        let endless = task.phases.iter().position(|phase| phase.times.is_none());
        if let Some(unreached) = endless.and_then(|endless| task.phases.get(endless + 1)) {
            self.notes.warn(
                unreached.line,
                &task.name,
                "this phase is never reached: the one before it loops for ever",
            );
        }
        Ok(ops)
    }

    /// A loop. If it forks, the first iterations get threads of their own, which later ones use in turn.
    fn repeat(
        &mut self,
        times: Option<u64>,
        forks: bool,
        line: u32,
        task: &str,
        mut body: impl FnMut(&mut Self) -> Result<Vec<Op>, RtAppError>,
    ) -> Result<Vec<Op>, RtAppError> {
        match times {
            Some(0) => return Ok(Vec::new()),
            Some(1) => return body(self),
            _ => {}
        }
        let copies = if forks { times.unwrap_or(COPIES).min(COPIES) } else { 1 };
        let bodies = (0..copies).map(|_| body(self)).collect::<Result<Vec<_>, _>>()?;
        let (rounds, rest) = (times.map(|times| times / copies), times.unwrap_or(0) % copies);
        if forks && (rounds != Some(1) || rest > 0) {
            let message = format!(
                "forks in a long loop: {COPIES} threads are forked in turn, each again only once it has exited; \
                 rt-app makes a new thread every time and gives up after 1024"
            );
            self.notes.warn(line, "fork", message);
        }
        let once = bodies.concat();
        if times.is_none() && !once.iter().any(|op| self.takes_time(op)) {
            let message = format!("\"{task}\" loops for ever and takes no time in it: add a run, a sleep or a timer");
            return Err(self.notes.error(line, message));
        }
        let mut ops = if rounds == Some(1) { once } else { vec![Op::Repeat { times: rounds, body: once }] };
        ops.extend(bodies[..rest as usize].concat());
        Ok(ops)
    }

    fn takes_time(&self, op: &Op) -> bool {
        match op {
            Op::Compute { .. } | Op::Spin(_) | Op::Sleep { .. } => true,
            Op::Timer { period, .. } => *period > Ns::ZERO,
            Op::Suspend(_) | Op::Wait { .. } | Op::Acquire(_) => true,
            Op::Barrier(barrier) => self.objects.parties_of(*barrier) > 1,
            Op::Repeat { body, .. } => body.iter().any(|op| self.takes_time(op)),
            _ => false,
        }
    }

    /// The events of a phase once. `held` are the mutexes that the thread holds here.
    fn events(&mut self, thread: usize, phase: &Phase, held: &mut BTreeSet<String>) -> Result<Vec<Op>, RtAppError> {
        let mut ops = Vec::new();
        for event in &phase.events {
            self.ops += 1;
            if self.ops > MOST_OPS {
                return Err(self.too_many(event.line, "events"));
            }
            self.event(thread, event, held, &mut ops)?;
        }
        Ok(ops)
    }

    fn event(
        &mut self,
        thread: usize,
        event: &Event,
        held: &mut BTreeSet<String>,
        ops: &mut Vec<Op>,
    ) -> Result<(), RtAppError> {
        let spread = Spread::None;
        match &event.action {
            Action::Run(Ns::ZERO) | Action::Runtime(Ns::ZERO) | Action::Sleep(Ns::ZERO) => {}
            Action::Run(time) => ops.push(Op::Compute { phase: PhaseId(0), work: Work::Time(*time), spread }),
            Action::Runtime(time) => ops.push(Op::Spin(*time)),
            Action::Sleep(span) => ops.push(Op::Sleep { span: *span, spread }),
            Action::Memory(memory) => {
                let cost = memory.cost(self.file.global.buffer, self.file.global.real_device);
                if cost.instructions > 0 {
                    let work = Work::Instructions(cost.instructions);
                    let phase = self.code(Code { name: cost.phase, behaviour: cost.behaviour });
                    ops.push(Op::Compute { phase, work, spread });
                }
                if cost.sleep > Ns::ZERO {
                    ops.push(Op::Sleep { span: cost.sleep, spread });
                }
            }
            Action::Lock(name) => {
                held.insert(name.clone());
                ops.push(Op::Lock(self.objects.lock(name)));
            }
            Action::Unlock(name) => {
                held.remove(name);
                ops.push(Op::Unlock(self.objects.lock(name)));
            }
            Action::Signal(name) => ops.push(Op::Signal(self.objects.condition(name))),
            Action::Broadcast(name) => ops.push(Op::Broadcast(self.objects.condition(name))),
            Action::Wait { condition, lock } => self.wait(event, condition, lock, false, held, ops),
            Action::Sync { condition, lock } => self.wait(event, condition, lock, true, held, ops),
            Action::Post(name) => ops.push(Op::Post(self.objects.semaphore(name))),
            Action::Acquire(name) => ops.push(Op::Acquire(self.objects.semaphore(name))),
            Action::Yield => ops.push(Op::Yield),
            Action::Barrier(name) => self.barrier(thread, event, name, ops)?,
            Action::Timer { timer, period, .. } => {
                let origin = self.threads.origin(thread);
                // A shared one counts from the start of the first thread that uses it, which mostly is none that is forked.
                if origin.parent.is_some() && is_unique(timer) {
                    self.notes.warn(event.line, &event.key, FROM_THE_FORK);
                }
                let name = &self.threads.list[thread].name;
                let (timer, absolute) = self.objects.timer(thread, name, origin.task, timer);
                let mode = if absolute { TimerMode::Absolute } else { TimerMode::Relative };
                ops.push(Op::Timer { timer, period: *period, mode });
            }
            Action::Suspend(text) => self.suspend(thread, event, text, ops),
            Action::Resume(name) => match self.objects.parking(name) {
                Parking::Event(id) => ops.push(Op::Resume(id)),
                Parking::Condition(condition, lock) => {
                    ops.extend([Op::Lock(lock), Op::Broadcast(condition), Op::Unlock(lock)]);
                }
            },
            Action::Fork(name) => ops.push(self.fork(thread, event, name)?),
        }
        Ok(())
    }

    /// The position of a kind of code in the program.
    fn code(&mut self, code: Code) -> PhaseId {
        let found = self.code.iter().position(|known| *known == code);
        PhaseId(found.unwrap_or_else(|| {
            self.code.push(code);
            self.code.len() - 1
        }) as u32)
    }

    /// rt-app leaves it to the file to hold the mutex; its tutorial says that `sync` takes and releases it. So it is
    /// taken here only where the file does not.
    fn wait(
        &mut self,
        event: &Event,
        condition: &str,
        lock: &str,
        signals: bool,
        held: &BTreeSet<String>,
        ops: &mut Vec<Op>,
    ) {
        let (taken, condition) = (held.contains(lock), self.objects.condition(condition));
        let lock_id = self.objects.lock(lock);
        if !taken {
            let message = format!("waits without holding the mutex \"{lock}\": taken and released around it here");
            self.notes.warn(event.line, &event.key, message);
            ops.push(Op::Lock(lock_id));
        }
        if signals {
            ops.push(Op::Signal(condition));
        }
        ops.push(Op::Wait { condition, lock: lock_id });
        if !taken {
            ops.push(Op::Unlock(lock_id));
        }
    }

    fn barrier(&mut self, thread: usize, event: &Event, name: &str, ops: &mut Vec<Op>) -> Result<(), RtAppError> {
        let parties = self.objects.parties(name);
        if parties == 0 {
            let message = format!("the barrier \"{name}\" is met by forked threads only, which rt-app does not count");
            return Err(self.notes.error(event.line, message));
        }
        if self.threads.origin(thread).parent.is_some() {
            let message = format!("forked threads are not counted: \"{name}\" opens whenever {parties} have arrived");
            self.notes.warn(event.line, &event.key, message);
        }
        ops.push(Op::Barrier(self.objects.barrier(name)));
        Ok(())
    }

    fn suspend(&mut self, thread: usize, event: &Event, text: &str, ops: &mut Vec<Op>) {
        let task = &self.file.tasks[self.threads.origin(thread).task].name;
        let name = self.objects.suspension(text, task);
        if name != task {
            self.elsewhere.insert((event.line, name.to_owned()));
        }
        match self.objects.parking(name) {
            Parking::Event(id) => ops.push(Op::Suspend(id)),
            Parking::Condition(condition, lock) => {
                ops.extend([Op::Lock(lock), Op::Wait { condition, lock }, Op::Unlock(lock)]);
            }
        }
    }

    fn fork(&mut self, thread: usize, event: &Event, name: &str) -> Result<Op, RtAppError> {
        let tasks = &self.file.tasks;
        let Some(task) = tasks.iter().position(|task| task.name == name) else {
            return Err(self.notes.error(event.line, format!("unknown task \"{name}\"")));
        };
        if let Some(ancestor) = self.threads.ancestor(thread, task) {
            let message = format!("\"{name}\" forks itself: here it starts again only once it has exited");
            self.notes.warn(event.line, &event.key, message);
            return Ok(Op::Spawn(ancestor));
        }
        let added = self.threads.add(tasks, task, Some(thread));
        added.map(Op::Spawn).ok_or_else(|| self.too_many(event.line, "threads"))
    }
}

fn is_fork(event: &Event) -> bool {
    matches!(event.action, Action::Fork(_))
}

fn is_endless(ops: &[Op]) -> bool {
    ops.iter().any(|op| matches!(op, Op::Repeat { times, body } if times.is_none() || is_endless(body)))
}

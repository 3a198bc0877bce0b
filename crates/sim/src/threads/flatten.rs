//! The operations of a program as instructions: loops become jumps, and its objects get their numbers in the workload.

use evenkeel_model::{Behaviour, ThreadId};
use evenkeel_workload::program::{Program, Spread, Work};
use evenkeel_workload::{Op, graph};

use crate::threads::code::{Code, Extent, Instr};
use crate::threads::tasking::Act;

/// Converts a time of work on a program's calibration core into instructions of a phase.
pub(crate) type Calibrate<'a> = &'a dyn Fn(&Program, &Behaviour, Work) -> u64;

/// The offsets of a program's objects among those of the workload.
pub(crate) struct Flatten<'a> {
    pub program: &'a Program,
    calibrate: Calibrate<'a>,
    /// The thread that creates tasks, if one does.
    pub creator: Option<usize>,
    /// By phase of the program, and last that of the creation of tasks if it creates any.
    phases: Vec<u32>,
    locks: u32,
    barriers: u32,
    queues: u32,
    conditions: u32,
    semaphores: u32,
    lists: u32,
    events: u32,
    splits: u32,
    timers: u32,
    pub threads: u32,
    pub runtime: u32,
}

impl<'a> Flatten<'a> {
    /// For the program that comes next.
    pub(crate) fn new(code: &mut Code, program: &'a Program, calibrate: Calibrate<'a>) -> Self {
        let creator = graph::creator(program);
        let behaviours = program.phases.iter().map(|phase| phase.behaviour);
        let behaviours = behaviours.chain(creator.map(|_| Behaviour::REFERENCE));
        Self {
            program,
            calibrate,
            creator,
            phases: behaviours.map(|behaviour| code.phase(behaviour, program.memory)).collect(),
            locks: code.locks.len() as u32,
            barriers: code.barriers.len() as u32,
            queues: code.queues.len() as u32,
            conditions: code.conditions.len() as u32,
            semaphores: code.semaphores.len() as u32,
            lists: code.lists.len() as u32,
            events: code.events.len() as u32,
            splits: code.splits.len() as u32,
            timers: code.timers as u32,
            threads: code.threads.len() as u32,
            runtime: code.runtimes.len() as u32,
        }
    }

    /// From where the program begins to where the code ends now.
    pub(crate) fn extent(&self, code: &Code) -> Extent {
        let range = |first: u32, end: usize| first as usize..end;
        Extent {
            threads: range(self.threads, code.threads.len()),
            locks: range(self.locks, code.locks.len()),
            barriers: range(self.barriers, code.barriers.len()),
            queues: range(self.queues, code.queues.len()),
            conditions: range(self.conditions, code.conditions.len()),
            semaphores: range(self.semaphores, code.semaphores.len()),
            lists: range(self.lists, code.lists.len()),
            events: range(self.events, code.events.len()),
            splits: range(self.splits, code.splits.len()),
            timers: range(self.timers, code.timers),
            runtimes: range(self.runtime, code.runtimes.len()),
            stream: self.program.stream.map_or(code.extents.len() as u64, u64::from),
        }
    }

    /// The phase of the runtime system's own code stands behind those of the program.
    pub(crate) fn runtime_phase(&self) -> u32 {
        self.phases[self.program.phases.len()]
    }

    /// Work in instructions of a phase.
    pub(crate) fn instructions(&self, behaviour: &Behaviour, work: Work) -> u64 {
        (self.calibrate)(self.program, behaviour, work)
    }

    /// A step of the program's runtime system.
    pub(crate) fn act(&self, act: Act) -> Instr {
        Instr::Tasks { runtime: self.runtime, act }
    }

    pub(crate) fn ops(&self, code: &mut Code, ops: &[Op], depth: u32, slots: &mut u32) {
        for op in ops {
            self.op(code, op, depth, slots);
        }
    }

    /// The items of the program's lists.
    pub(crate) fn lists(&self, code: &mut Code) {
        for list in &self.program.lists {
            let item = |ops: &Vec<Op>| {
                let entry = code.instrs.len() as u32;
                self.ops(code, ops, 0, &mut 0);
                code.instrs.push(Instr::Back);
                entry
            };
            let entries = list.items.iter().map(item).collect();
            code.lists.push(entries);
        }
    }

    fn op(&self, code: &mut Code, op: &Op, depth: u32, slots: &mut u32) {
        let here = code.instrs.len() as u32;
        let instr = match *op {
            Op::Compute { phase, work, spread } => {
                let behaviour = &self.program.phases[phase.index()].behaviour;
                let work = self.instructions(behaviour, work);
                Instr::Compute { phase: self.phases[phase.index()], work, spread }
            }
            Op::Split { split, member, phase, work } => {
                let work = self.instructions(&self.program.phases[phase.index()].behaviour, work);
                let split = self.splits + split.0;
                code.instrs.push(Instr::Split { split, member, phase: self.phases[phase.index()], work });
                Instr::Joined { split, member }
            }
            Op::Spin(span) => Instr::Spin(span.0),
            Op::Lock(lock) => Instr::Lock(self.locks + lock.0),
            Op::Unlock(lock) => Instr::Unlock(self.locks + lock.0),
            Op::Barrier(barrier) => Instr::Barrier(self.barriers + barrier.0),
            Op::Put(queue) => Instr::Put(self.queues + queue.0),
            Op::Get(queue) => Instr::Get(self.queues + queue.0),
            Op::Close(queue) => Instr::Close(self.queues + queue.0),
            Op::Wait { condition, lock } => {
                let lock = self.locks + lock.0;
                code.instrs.push(Instr::Wait { condition: self.conditions + condition.0, lock });
                Instr::Lock(lock)
            }
            Op::Signal(condition) => Instr::Signal(self.conditions + condition.0),
            Op::Broadcast(condition) => Instr::Broadcast(self.conditions + condition.0),
            Op::Post(semaphore) => Instr::Post(self.semaphores + semaphore.0),
            Op::Acquire(semaphore) => Instr::Acquire(self.semaphores + semaphore.0),
            Op::Take(list) => Instr::Take(self.lists + list.0),
            Op::Suspend(event) => Instr::Suspend(self.events + event.0),
            Op::Resume(event) => Instr::Resume(self.events + event.0),
            Op::Sleep { span, spread } => Instr::Sleep { span: span.0, spread },
            Op::Timer { timer, period, mode } => Instr::Timer { timer: self.timers + timer.0, period: period.0, mode },
            Op::Yield => Instr::Yield,
            Op::Spawn(thread) => Instr::Spawn(ThreadId(self.threads + thread.0)),
            Op::Join(thread) => Instr::Join(ThreadId(self.threads + thread.0)),
            Op::Set(ref params) => {
                code.params.push(params.clone());
                Instr::Set(code.params.len() as u32 - 1)
            }
            Op::Task(_) => {
                let create = self.program.tasking.as_ref().map_or(Work::Instructions(0), |tasking| tasking.create);
                let work = self.instructions(&Behaviour::REFERENCE, create);
                code.instrs.push(self.act(Act::Window));
                code.instrs.push(Instr::Compute { phase: self.runtime_phase(), work, spread: Spread::None });
                self.act(Act::Create)
            }
            Op::Taskwait => self.act(Act::Wait),
            Op::Drain { queue, ref body } => {
                code.instrs.push(Instr::Jump(0));
                self.ops(code, body, depth, slots);
                let exit = code.instrs.len() as u32 + 1;
                code.instrs[here as usize] = Instr::Drain { queue: self.queues + queue.0, exit };
                Instr::Again(here)
            }
            Op::Repeat { times: None, ref body } => {
                self.ops(code, body, depth, slots);
                Instr::Jump(here)
            }
            Op::Repeat { times: Some(0), .. } => return,
            Op::Repeat { times: Some(times), ref body } => {
                *slots = (*slots).max(depth + 1);
                code.instrs.push(Instr::Loop { slot: depth, times });
                self.ops(code, body, depth + 1, slots);
                Instr::Next { slot: depth, start: here + 1 }
            }
        };
        code.instrs.push(instr);
    }
}

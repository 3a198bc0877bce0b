//! Programs flattened for the event loop: one array of instructions, jumps instead of nesting, global object numbers.

use std::ops::Range;

use evenkeel_model::{Behaviour, Machine, ThreadId};
use evenkeel_workload::program::{Memory, Program, SchedParams, Spread, Start, ThreadKind, TimerMode, Work};
use evenkeel_workload::{Op, Workload, graph};

use crate::threads::tasking::{Act, RuntimeCode, layout};

/// One flat instruction. Objects and phases are numbered across the workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Instr {
    Compute {
        phase: u32,
        work: u64,
        spread: Spread,
    },
    Spin(u64),
    Lock(u32),
    Unlock(u32),
    Barrier(u32),
    Put(u32),
    Get(u32),
    Close(u32),
    /// Takes an item, or jumps to `exit` if the queue is finished.
    Drain {
        queue: u32,
        exit: u32,
    },
    /// Releases the lock and waits for the condition; the instruction behind it takes the lock again.
    Wait {
        condition: u32,
        lock: u32,
    },
    Signal(u32),
    Broadcast(u32),
    Post(u32),
    Acquire(u32),
    Suspend(u32),
    Resume(u32),
    Sleep {
        span: u64,
        spread: Spread,
    },
    Timer {
        timer: u32,
        period: u64,
        mode: TimerMode,
    },
    Yield,
    Spawn(ThreadId),
    Join(ThreadId),
    /// Position in [`Code::params`].
    Set(u32),
    /// Sets the loop counter in `slot` to `times`.
    Loop {
        slot: u32,
        times: u64,
    },
    /// Counts down and jumps to `start` until the counter is zero.
    Next {
        slot: u32,
        start: u32,
    },
    Jump(u32),
    Exit,
    /// A step of a runtime system; position in [`Code::runtimes`].
    Tasks {
        runtime: u32,
        act: Act,
    },
}

/// A workload, flattened.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub instrs: Vec<Instr>,
    pub params: Vec<SchedParams>,
    /// Phases, those of equal code and memory once.
    pub behaviours: Vec<Behaviour>,
    /// Where the memory of each of those phases is.
    pub memory: Vec<Memory>,
    pub extents: Vec<Extent>,
    pub threads: Vec<ThreadCode>,
    pub locks: Vec<String>,
    pub barriers: Vec<(String, u32)>,
    pub queues: Vec<evenkeel_workload::program::Queue>,
    pub conditions: Vec<String>,
    pub semaphores: Vec<(String, u64)>,
    pub events: Vec<String>,
    pub timers: usize,
    pub runtimes: Vec<RuntimeCode>,
}

/// The objects of a program among those of the workload.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    pub locks: Range<usize>,
    pub barriers: Range<usize>,
    pub queues: Range<usize>,
    pub conditions: Range<usize>,
    pub semaphores: Range<usize>,
    pub events: Range<usize>,
    pub timers: Range<usize>,
    pub runtimes: Range<usize>,
}

/// A thread of the flattened workload.
#[derive(Clone, Debug)]
pub(crate) struct ThreadCode {
    pub program: usize,
    pub name: String,
    pub start: Start,
    pub kind: ThreadKind,
    pub sched: SchedParams,
    pub entry: u32,
    /// How many loop counters it needs.
    pub slots: u32,
    /// It never comes to an end by itself.
    pub endless: bool,
}

impl ThreadCode {
    /// Service and endless threads end with their program: the run does not wait for them.
    pub(crate) fn counts_for_the_end(&self) -> bool {
        self.kind == ThreadKind::Application && !self.endless
    }
}

/// Converts a time of work on a program's calibration core into instructions of a phase.
pub(crate) type Calibrate<'a> = &'a dyn Fn(&Program, &Behaviour, Work) -> u64;

impl Code {
    /// The number of a phase.
    fn phase(&mut self, behaviour: Behaviour, memory: Memory) -> u32 {
        let known = self.behaviours.iter().zip(&self.memory).position(|known| known == (&behaviour, &memory));
        known.unwrap_or_else(|| {
            self.behaviours.push(behaviour);
            self.memory.push(memory);
            self.behaviours.len() - 1
        }) as u32
    }

    /// # Errors
    /// A task graph that is too large.
    pub(crate) fn new(workload: &Workload, machine: &Machine, calibrate: Calibrate<'_>) -> Result<Self, String> {
        let mut code = Self::default();
        for (index, program) in workload.programs.iter().enumerate() {
            let creator = graph::creator(program);
            let behaviours = program.phases.iter().map(|phase| phase.behaviour);
            let behaviours = behaviours.chain(creator.map(|_| Behaviour::REFERENCE));
            let flatten = Flatten {
                program,
                calibrate,
                phases: behaviours.map(|behaviour| code.phase(behaviour, program.memory)).collect(),
                locks: code.locks.len() as u32,
                barriers: code.barriers.len() as u32,
                queues: code.queues.len() as u32,
                conditions: code.conditions.len() as u32,
                semaphores: code.semaphores.len() as u32,
                events: code.events.len() as u32,
                timers: code.timers as u32,
                threads: code.threads.len() as u32,
                runtime: code.runtimes.len() as u32,
            };
            code.locks.extend(program.locks.iter().cloned());
            code.barriers.extend(program.barriers.iter().map(|barrier| (barrier.name.clone(), barrier.parties)));
            code.queues.extend(program.queues.iter().cloned());
            code.conditions.extend(program.conditions.iter().cloned());
            code.semaphores.extend(program.semaphores.iter().map(|one| (one.name.clone(), one.count)));
            code.events.extend(program.events.iter().cloned());
            code.timers += program.timers.len();
            for (position, thread) in program.threads.iter().enumerate() {
                let entry = code.instrs.len() as u32;
                let mut slots = 0;
                flatten.ops(&mut code, &thread.ops, 0, &mut slots);
                if creator == Some(position) {
                    code.instrs.extend([Act::Wait, Act::End].map(|act| flatten.act(act)));
                }
                code.instrs.push(Instr::Exit);
                code.threads.push(ThreadCode {
                    program: index,
                    name: thread.name.clone(),
                    start: thread.start,
                    kind: thread.kind,
                    sched: thread.sched.clone(),
                    entry,
                    slots,
                    endless: endless(&thread.ops),
                });
            }
            if let Some(creator) = creator {
                layout::add(&mut code, &flatten, machine, creator).map_err(|why| format!("{}: {why}", program.name))?;
            }
            code.extents.push(flatten.extent(&code));
        }
        Ok(code)
    }
}

/// Whether the operations never end.
pub(crate) fn endless(ops: &[Op]) -> bool {
    ops.iter().any(|op| match op {
        Op::Repeat { times: None, .. } => true,
        Op::Repeat { body, .. } | Op::Drain { body, .. } => endless(body),
        _ => false,
    })
}

/// The offsets of a program's objects among those of the workload.
pub(crate) struct Flatten<'a> {
    pub program: &'a Program,
    pub calibrate: Calibrate<'a>,
    /// By phase of the program, and last that of the creation of tasks if it creates any.
    phases: Vec<u32>,
    locks: u32,
    barriers: u32,
    queues: u32,
    conditions: u32,
    semaphores: u32,
    events: u32,
    timers: u32,
    pub threads: u32,
    pub runtime: u32,
}

impl Flatten<'_> {
    /// From where the program begins to where the code ends now.
    fn extent(&self, code: &Code) -> Extent {
        let range = |first: u32, end: usize| first as usize..end;
        Extent {
            locks: range(self.locks, code.locks.len()),
            barriers: range(self.barriers, code.barriers.len()),
            queues: range(self.queues, code.queues.len()),
            conditions: range(self.conditions, code.conditions.len()),
            semaphores: range(self.semaphores, code.semaphores.len()),
            events: range(self.events, code.events.len()),
            timers: range(self.timers, code.timers),
            runtimes: range(self.runtime, code.runtimes.len()),
        }
    }

    /// The phase of the runtime system's own code stands behind those of the program.
    pub(crate) fn runtime_phase(&self) -> u32 {
        self.phases[self.program.phases.len()]
    }

    fn act(&self, act: Act) -> Instr {
        Instr::Tasks { runtime: self.runtime, act }
    }

    pub(crate) fn ops(&self, code: &mut Code, ops: &[Op], depth: u32, slots: &mut u32) {
        for op in ops {
            self.op(code, op, depth, slots);
        }
    }

    fn op(&self, code: &mut Code, op: &Op, depth: u32, slots: &mut u32) {
        let here = code.instrs.len() as u32;
        let instr = match *op {
            Op::Compute { phase, work, spread } => {
                let behaviour = &self.program.phases[phase.index()].behaviour;
                let work = (self.calibrate)(self.program, behaviour, work);
                Instr::Compute { phase: self.phases[phase.index()], work, spread }
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
                let work = (self.calibrate)(self.program, &Behaviour::REFERENCE, create);
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
                Instr::Jump(here)
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

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_workload::program::QueueId;

    #[test]
    fn nesting_becomes_jumps() {
        let inner = Op::Repeat { times: Some(2), body: vec![Op::Yield] };
        let drain = Op::Drain { queue: QueueId(0), body: vec![inner] };
        let thread = evenkeel_workload::Thread {
            name: "t".into(),
            ops: vec![Op::Repeat { times: Some(3), body: vec![drain] }],
            start: Start::Spawned,
            kind: ThreadKind::Application,
            sched: SchedParams::default(),
        };
        let program = Program { threads: vec![thread], ..Program::default() };
        let workload = Workload { name: "w".into(), programs: vec![program], ..Workload::default() };
        let machine = evenkeel_model::machines::by_name("2B2S").unwrap();
        let code = Code::new(&workload, &machine, &|_, _, _| 0).unwrap();
        assert_eq!(
            code.instrs,
            [
                Instr::Loop { slot: 0, times: 3 },
                Instr::Drain { queue: 0, exit: 6 },
                Instr::Loop { slot: 1, times: 2 },
                Instr::Yield,
                Instr::Next { slot: 1, start: 3 },
                Instr::Jump(1),
                Instr::Next { slot: 0, start: 1 },
                Instr::Exit,
            ]
        );
        assert_eq!(code.threads[0].slots, 2);
    }
}

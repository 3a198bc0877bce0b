//! A runtime system at work: what exists of the graph, who does what, and where the main thread is.

use evenkeel_model::{CoreId, CoreTypeId, ThreadId};
use evenkeel_workload::program::ReadyQueue;

use super::code::{Act, RuntimeCode};
use super::ready::{Crew, Ready, Worker};
use super::{cats, fifo, heft, steal};
use crate::threads::code::Code;
use crate::threads::engine::Engine;
use crate::threads::error::Error;
use crate::threads::observer::Event;
use crate::threads::thread::{On, Thread};

/// What becomes of a worker after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Continue,
    /// It computes, or has left its core.
    Leave,
}

/// The state of a runtime system.
#[derive(Debug)]
pub(crate) struct Runtime {
    ready: Box<dyn Ready>,
    crew: Crew,
    /// By worker.
    workers: Vec<WorkerState>,
    /// By task: how many that it depends on are not done, and whether it is done itself.
    missing: Vec<u32>,
    done: Vec<bool>,
    created: usize,
    unfinished: usize,
    main: Main,
    aside: Aside,
    seed: u64,
}

/// What a worker does, and what it has yet to put in.
#[derive(Debug, Default)]
struct WorkerState {
    job: Option<Job>,
    /// Tasks that it has made ready and not yet put in.
    released: Vec<u32>,
    /// Where it continues after that.
    back: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Main,
    Task(u32),
    Exit,
}

/// Where the main thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Main {
    /// A worker carries it.
    Carried,
    /// It waits until no more than this many tasks are unfinished.
    Waits(usize),
    /// It waits for this worker, or for any.
    Ready(Option<usize>),
    /// It has come to its end.
    Over,
}

/// The main thread while no worker carries it: where it continues, its loop counters and its draws.
#[derive(Debug)]
struct Aside {
    pc: u32,
    slots: Vec<u64>,
    draws: fastrand::Rng,
}

impl Aside {
    /// Exchanges loop counters and draws with the worker that begins or ends to carry the main thread.
    fn swap(&mut self, worker: &mut Thread) {
        std::mem::swap(&mut self.slots, &mut worker.slots);
        std::mem::swap(&mut self.draws, &mut worker.draws);
    }
}

impl Runtime {
    pub(crate) fn new(code: &Code, runtime: &RuntimeCode, seed: u64) -> Self {
        let (tasks, workers) = (runtime.graph.len(), runtime.workers);
        // Draws of its own for each program, as each thread has.
        let seed = code.seed(runtime.main.index(), seed, 0xd1b5_4a32_d192_ed03);
        let ready: Box<dyn Ready> = match runtime.tasking.ready {
            ReadyQueue::Fifo => Box::new(fifo::Fifo::default()),
            ReadyQueue::Steal => Box::new(steal::Steal::new(workers, seed)),
            ReadyQueue::Cats => Box::new(cats::Cats::new(tasks)),
            ReadyQueue::Heft => Box::new(heft::Heft::new(&runtime.graph, &runtime.costs)),
        };
        let slots = vec![0; code.threads[runtime.main.index()].slots as usize];
        Self {
            ready,
            crew: Crew {
                workers: vec![Worker { big: false, idle: false }; workers],
                draws: fastrand::Rng::with_seed(!seed),
            },
            workers: (0..workers).map(|_| WorkerState::default()).collect(),
            missing: vec![0; tasks],
            done: vec![false; tasks],
            created: 0,
            unfinished: 0,
            main: Main::Carried,
            aside: Aside { pc: 0, slots, draws: fastrand::Rng::with_seed(seed) },
            seed,
        }
    }

    /// The main thread has created the next task. Returns whether that is ready.
    fn create(&mut self, code: &RuntimeCode, worker: usize) -> bool {
        let task = self.created;
        self.created += 1;
        self.unfinished += 1;
        let missing = code.graph.predecessors(task).iter().filter(|before| !self.done[**before as usize]).count();
        self.missing[task] = missing as u32;
        self.ready.created(&code.graph, task, &self.done);
        if missing == 0 {
            self.workers[worker].released.push(task as u32);
        }
        missing == 0
    }

    /// A worker has done a task. Returns whether others are ready now.
    fn finish(&mut self, code: &RuntimeCode, worker: usize, task: u32) -> bool {
        self.done[task as usize] = true;
        self.unfinished -= 1;
        let released = &mut self.workers[worker].released;
        for next in code.graph.successors(task as usize).iter().filter(|next| (**next as usize) < self.created) {
            let missing = &mut self.missing[*next as usize];
            *missing -= 1;
            if *missing == 0 {
                released.push(*next);
            }
        }
        !released.is_empty()
    }

    /// What a worker does next.
    fn choose(&mut self, worker: usize) -> Option<Job> {
        match self.main {
            Main::Over => Some(Job::Exit),
            Main::Ready(who) if who.is_none_or(|who| who == worker) => {
                self.main = Main::Carried;
                Some(Job::Main)
            }
            _ => self.ready.take(worker, &self.crew).map(Job::Task),
        }
    }

    /// The draws of a task do not depend on who runs it.
    fn draws_of(&self, task: u32) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed ^ (u64::from(task) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

impl Engine<'_> {
    /// A step of a worker that runs on a core.
    pub(crate) fn task_step(&mut self, core: CoreId, thread: ThreadId, number: u32, act: Act) -> Result<Then, Error> {
        let code = &self.code.runtimes[number as usize];
        let runtime = &mut self.runtimes[number as usize];
        let worker = code.worker(thread);
        match act {
            Act::Window if runtime.unfinished >= code.window() => self.put_aside(thread, number, code.window() / 2),
            Act::Wait if runtime.unfinished > 0 => self.put_aside(thread, number, 0),
            Act::Window | Act::Wait => {}
            Act::Create => {
                if runtime.create(code, worker) {
                    self.put_in(thread, number);
                }
            }
            Act::Gather => {
                let t = &mut self.threads[thread.index()];
                t.phase = code.phase;
                t.remaining = code.queue * runtime.workers[worker].released.len() as u64;
                return Ok(if t.remaining > 0 { Then::Leave } else { Then::Continue });
            }
            Act::Push => self.push(thread, number),
            Act::Return => self.threads[thread.index()].pc = runtime.workers[worker].back,
            Act::Take => return self.take(core, thread, number),
            Act::Enter => self.enter(core, thread, number),
            Act::Done => self.done(core, thread, number),
            Act::End => {
                runtime.main = Main::Over;
                for other in 0..code.workers {
                    self.wake_worker(number, other, thread);
                }
            }
        }
        Ok(Then::Continue)
    }

    /// The worker that carries the main thread goes to work until few enough tasks are unfinished.
    fn put_aside(&mut self, thread: ThreadId, number: u32, until: usize) {
        let runtime = &mut self.runtimes[number as usize];
        let t = &mut self.threads[thread.index()];
        runtime.main = Main::Waits(until);
        runtime.aside.pc = std::mem::replace(&mut t.pc, self.code.runtimes[number as usize].loop_at);
        runtime.aside.swap(t);
    }

    /// Sends a worker to put in what it has made ready, and back to where it is now.
    fn put_in(&mut self, thread: ThreadId, number: u32) {
        let code = &self.code.runtimes[number as usize];
        let state = &mut self.runtimes[number as usize].workers[code.worker(thread)];
        state.back = std::mem::replace(&mut self.threads[thread.index()].pc, code.push_at);
    }

    fn push(&mut self, thread: ThreadId, number: u32) {
        self.locate_workers(number);
        let worker = self.code.runtimes[number as usize].worker(thread);
        let runtime = &mut self.runtimes[number as usize];
        let mut released = std::mem::take(&mut runtime.workers[worker].released);
        for task in released.drain(..) {
            let graph = &self.code.runtimes[number as usize].graph;
            let runtime = &mut self.runtimes[number as usize];
            if let Some(idle) = runtime.ready.push(graph, task, worker, &mut runtime.crew) {
                self.wake_worker(number, idle, thread);
            }
        }
        self.runtimes[number as usize].workers[worker].released = released;
    }

    fn take(&mut self, core: CoreId, thread: ThreadId, number: u32) -> Result<Then, Error> {
        self.locate_workers(number);
        let code = &self.code.runtimes[number as usize];
        let runtime = &mut self.runtimes[number as usize];
        let worker = code.worker(thread);
        let job = runtime.choose(worker);
        runtime.workers[worker].job = job;
        if job.is_some() {
            return Ok(Then::Continue);
        }
        runtime.crew.workers[worker].idle = true;
        self.threads[thread.index()].pc = code.loop_at;
        if let Some(lock) = code.lock {
            self.unlock(thread, lock)?;
        }
        self.block(core, thread, On::Task);
        Ok(Then::Leave)
    }

    fn enter(&mut self, core: CoreId, thread: ThreadId, number: u32) {
        let code = &self.code.runtimes[number as usize];
        let runtime = &mut self.runtimes[number as usize];
        let t = &mut self.threads[thread.index()];
        match runtime.workers[code.worker(thread)].job {
            Some(Job::Main) => {
                t.pc = runtime.aside.pc;
                runtime.aside.swap(t);
            }
            Some(Job::Task(number)) => {
                let (name, entry) = &code.tasks[code.graph.site(number as usize)];
                t.pc = *entry;
                t.draws = runtime.draws_of(number);
                // Who runs which task can be drawn, too.
                t.drew = true;
                if self.watched {
                    self.observer.observe(self.now, &Event::TaskBegan { core, thread, task: number, name });
                }
            }
            Some(Job::Exit) | None => t.pc = code.exit_at,
        }
    }

    fn done(&mut self, core: CoreId, thread: ThreadId, number: u32) {
        let code = &self.code.runtimes[number as usize];
        let runtime = &mut self.runtimes[number as usize];
        let worker = code.worker(thread);
        self.threads[thread.index()].pc = code.loop_at;
        let Some(Job::Task(task)) = runtime.workers[worker].job.take() else { return };
        if self.watched {
            self.observer.observe(self.now, &Event::TaskEnded { core, thread, task });
        }
        let others_ready = runtime.finish(code, worker, task);
        if matches!(runtime.main, Main::Waits(until) if runtime.unfinished <= until) {
            let carrier = if code.main_stays() { Some(0) } else { runtime.crew.any_idle(|_| true) };
            runtime.main = Main::Ready(carrier);
            if let Some(carrier) = carrier {
                self.wake_worker(number, carrier, thread);
            }
        }
        if others_ready {
            self.put_in(thread, number);
        }
    }

    fn wake_worker(&mut self, number: u32, worker: usize, by: ThreadId) {
        let code = &self.code.runtimes[number as usize];
        let thread = code.thread(worker);
        let runtime = &mut self.runtimes[number as usize];
        if std::mem::take(&mut runtime.crew.workers[worker].idle) {
            if runtime.main == Main::Over {
                self.threads[thread.index()].pc = code.exit_at;
            }
            self.wake(thread, Some(by));
        }
    }

    /// Updates, for the ready queue, which workers are on big cores.
    fn locate_workers(&mut self, number: u32) {
        let code = &self.code.runtimes[number as usize];
        let workers = &mut self.runtimes[number as usize].crew.workers;
        for (number, worker) in workers.iter_mut().enumerate() {
            let core = self.threads[code.thread(number).index()].last_core;
            worker.big = core.is_some_and(|core| self.machine.cores[core.index()].core_type == CoreTypeId(0));
        }
    }
}

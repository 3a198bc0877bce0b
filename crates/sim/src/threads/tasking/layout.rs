//! A runtime system as instructions of the simulator: the loop of its workers, and the tasks that they run.

use evenkeel_model::{Behaviour, CoreTypeId, Machine, ThreadId};
use evenkeel_workload::graph::{TaskGraph, sites};
use evenkeel_workload::program::{MainThread, ReadyQueue, Spread, Tasking};

use super::code::{Act, RuntimeCode};
use super::costs::Costs;
use crate::threads::code::{Code, Instr, ThreadCode};
use crate::threads::flatten::Flatten;

/// Adds the runtime system of a program whose threads are in the code already; the one at `creator` creates tasks.
///
/// # Errors
/// A graph that is too large.
pub(crate) fn add(code: &mut Code, flatten: &Flatten<'_>, machine: &Machine, creator: usize) -> Result<(), String> {
    let program = flatten.program;
    let Some(tasking) = &program.tasking else { return Ok(()) };
    let tasks = sites(&program.threads[creator].ops);
    let workers = workers(machine, tasking);

    // Queues of its own a worker reaches without a lock; those that all share have one.
    let shared = matches!(tasking.ready, ReadyQueue::Fifo | ReadyQueue::Cats);
    code.locks.extend(shared.then(|| "ready queue".to_owned()));
    let lock = shared.then(|| code.locks.len() as u32 - 1);
    let phase = flatten.runtime_phase();
    let queue = flatten.instructions(&Behaviour::REFERENCE, tasking.queue);
    let spend = Instr::Compute { phase, work: queue, spread: Spread::None };
    let loop_at = locked(code, lock, [spend, flatten.act(Act::Take)]);
    code.instrs.push(flatten.act(Act::Enter));
    let push_at = locked(code, lock, [flatten.act(Act::Gather), flatten.act(Act::Push)]);
    code.instrs.push(flatten.act(Act::Return));
    let exit_at = code.instrs.len() as u32;
    code.instrs.push(Instr::Exit);

    let main = flatten.threads as usize + creator;
    let mut slots = code.threads[main].slots;
    let mut entries = Vec::with_capacity(tasks.len());
    for task in &tasks {
        entries.push((task.name.clone(), code.instrs.len() as u32));
        flatten.ops(code, &task.body, 0, &mut slots);
        code.instrs.push(flatten.act(Act::Done));
    }

    // Any worker may carry the main thread, so each has room for its loop counters.
    code.threads[main].slots = slots;
    let others = ThreadId(code.threads.len() as u32);
    for number in 1..workers.len() {
        let name = format!("worker-{number}");
        code.threads.push(ThreadCode { name, entry: loop_at, ..code.threads[main].clone() });
    }
    let ids = std::iter::once(main).chain(others.index()..);
    for (thread, cores) in ids.zip(&workers) {
        let cpus = &mut code.threads[thread].sched.cpus;
        *cpus = cores.clone().or(cpus.take());
    }
    let costs = match tasking.ready {
        ReadyQueue::Heft => {
            let calibrate = |behaviour: &Behaviour, work| flatten.instructions(behaviour, work);
            Costs::new(machine, &program.phases, &calibrate, tasking.create, &tasks, &workers)
        }
        _ => Costs::default(),
    };
    code.runtimes.push(RuntimeCode {
        graph: TaskGraph::new(program)?,
        tasking: tasking.clone(),
        main: ThreadId(main as u32),
        others,
        workers: workers.len(),
        lock,
        loop_at,
        push_at,
        exit_at,
        tasks: entries,
        phase,
        queue,
        costs,
    });
    Ok(())
}

/// Two instructions, under a lock if there is one. Returns where they begin.
fn locked(code: &mut Code, lock: Option<u32>, instrs: [Instr; 2]) -> u32 {
    let begin = code.instrs.len() as u32;
    code.instrs.extend(lock.map(Instr::Lock));
    code.instrs.extend(instrs);
    code.instrs.extend(lock.map(Instr::Unlock));
    begin
}

/// The cores that each worker is tied to; `None` for a worker that may run where the program allows.
///
/// A tied worker has a core of its own: the first one core 0 (flexible system software, V.D), or the first of the type
/// that the main thread is tied to, the others the rest in the order of their numbers. A plan of what runs on which core
/// means nothing without that, so `heft` always ties.
fn workers(machine: &Machine, tasking: &Tasking) -> Vec<Option<Vec<u16>>> {
    let cores = machine.cores.len();
    let types = || machine.cores.iter().map(|core| core.core_type);
    let of_type = |wanted: Option<CoreTypeId>| -> Vec<u16> {
        types().enumerate().filter(|(_, core_type)| Some(*core_type) == wanted).map(|(core, _)| core as u16).collect()
    };
    let main = match tasking.main {
        MainThread::Default => None,
        MainThread::Big => Some(of_type(types().min())),
        MainThread::Little => Some(of_type(types().max())),
    };
    let count = tasking.workers.map_or(cores, |workers| workers as usize);
    if !tasking.tied && tasking.ready != ReadyQueue::Heft {
        return std::iter::once(main).chain(std::iter::repeat(None)).take(count).collect();
    }
    let first = main.map_or(0, |cores| cores[0]);
    let rest = (0..cores as u16).filter(|core| *core != first);
    let homes: Vec<u16> = std::iter::once(first).chain(rest).collect();
    homes.iter().cycle().take(count).map(|core| Some(vec![*core])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tied_workers_have_cores_of_their_own_and_the_first_is_the_main_threads() {
        // Four little cores, then four big ones.
        let machine = evenkeel_model::machines::by_name("odroid-xu3").unwrap();
        let homes = |main, count| -> Vec<u16> {
            let tasking = Tasking { main, tied: true, workers: count, ..Tasking::default() };
            workers(&machine, &tasking).into_iter().flatten().flatten().collect()
        };
        assert_eq!(homes(MainThread::Default, None), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(homes(MainThread::Big, None), [4, 0, 1, 2, 3, 5, 6, 7]);
        assert_eq!(homes(MainThread::Little, Some(10)), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]);
    }

    #[test]
    fn workers_that_are_not_tied_go_anywhere_but_for_the_main_thread() {
        let machine = evenkeel_model::machines::by_name("odroid-xu3").unwrap();
        let big = Tasking { main: MainThread::Big, workers: Some(2), ..Tasking::default() };
        assert_eq!(workers(&machine, &big), [Some(vec![4, 5, 6, 7]), None]);
        let planned = Tasking { ready: ReadyQueue::Heft, workers: Some(2), ..Tasking::default() };
        assert_eq!(workers(&machine, &planned), [Some(vec![0]), Some(vec![1])], "a plan is for cores");
    }
}

//! Task-parallel programs: dependences hold, every task runs once, schedules keep to what theory says of them, and the
//! ready queues do what their papers say.

use crate::common;
use crate::common::{compute, machine, policy, program, thread, with_costs, workload};
use evenkeel_model::{CoreId, Machine, Ns, ThreadId};
use evenkeel_sim::{Event, Observer, Options, Outcome, Stop, run};
use evenkeel_workload::graph::TaskGraph;
use evenkeel_workload::program::{
    Class, MainThread, PhaseId, ReadyQueue, RegionId, SchedParams, Spread, Task, Tasking, Work,
};
use evenkeel_workload::{Op, Workload, format, validate};
use proptest::prelude::*;

const QUEUES: [ReadyQueue; 4] = [ReadyQueue::Fifo, ReadyQueue::Steal, ReadyQueue::Cats, ReadyQueue::Heft];

/// When and where each task ran, and who waited for the lock of the ready queue how often.
#[derive(Default)]
struct Diary {
    tasks: Vec<Entry>,
    lock_waits: usize,
}

#[derive(Clone, Debug)]
struct Entry {
    task: u32,
    name: String,
    core: CoreId,
    thread: ThreadId,
    from: Ns,
    to: Option<Ns>,
}

impl Observer for Diary {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        match *event {
            Event::TaskBegan { core, thread, task, name } => {
                self.tasks.push(Entry { task, name: name.into(), core, thread, from: at, to: None });
            }
            Event::TaskEnded { task, .. } => {
                let entry = self.tasks.iter_mut().find(|entry| entry.task == task && entry.to.is_none());
                entry.expect("a task ends that began").to = Some(at);
            }
            Event::Stop { why: Stop::Blocked(on), .. } => self.lock_waits += usize::from(on.contains("ready queue")),
            _ => {}
        }
    }
}

impl Diary {
    fn of(&self, task: usize) -> &Entry {
        self.tasks.iter().find(|entry| entry.task == task as u32).expect("every task ran")
    }

    /// The cores that ran tasks of this name, each once.
    fn cores(&self, name: &str) -> Vec<u16> {
        let mut cores: Vec<u16> =
            self.tasks.iter().filter(|entry| entry.name == name).map(|entry| entry.core.0).collect();
        cores.sort_unstable();
        cores.dedup();
        cores
    }
}

/// A runtime system without costs, its workers tied to their cores.
fn free(ready: ReadyQueue) -> Tasking {
    let nothing = Work::Instructions(0);
    Tasking { ready, tied: true, window: 10_000, create: nothing, queue: nothing, ..Tasking::default() }
}

fn task(name: &str, reads: &[u32], writes: &[u32], million: u64) -> Op {
    let regions = |list: &[u32]| list.iter().copied().map(RegionId).collect();
    let (reads, writes) = (regions(reads), regions(writes));
    Op::Task(Box::new(Task { name: name.into(), reads, writes, body: vec![compute(million)] }))
}

fn tasks(ops: Vec<Op>, tasking: Tasking) -> Workload {
    let mut p = program("p", vec![thread("main", ops)]);
    p.regions = vec![String::from("r"); 16];
    p.tasking = Some(tasking);
    let workload = workload(vec![p]);
    validate::workload(&workload).expect("valid");
    workload
}

fn play(machine: &Machine, workload: &Workload, name: &str, options: &Options) -> (Outcome, Diary) {
    let mut diary = Diary::default();
    let outcome = run(machine, workload, policy(name), None, options, &mut diary).expect("runs");
    (outcome, diary)
}

fn makespan(machine: &Machine, workload: &Workload) -> f64 {
    play(machine, workload, "cfs", &Options::default()).0.makespan.as_secs_f64() * 1000.0
}

/// A graph as a file writes it.
fn bundled(name: &str) -> Workload {
    let text = include_str!("../../../../workloads/task-graphs.toml");
    let mut all = format::load("graphs", text, "task-graphs.toml", None).expect("loads");
    all.programs.retain(|program| program.name == name);
    all
}

fn with(mut workload: Workload, change: impl Fn(&mut Tasking)) -> Workload {
    workload.programs.iter_mut().filter_map(|program| program.tasking.as_mut()).for_each(change);
    workload
}

fn graph(workload: &Workload) -> TaskGraph {
    TaskGraph::new(&workload.programs[0]).expect("small")
}

/// Every task ran once, and after all that it depends on.
fn check_order(diary: &Diary, graph: &TaskGraph) {
    assert_eq!(diary.tasks.len(), graph.len());
    for task in 0..graph.len() {
        let entry = diary.of(task);
        assert!(entry.to.is_some(), "task {task} came to its end");
        for before in graph.predecessors(task) {
            let before = diary.of(*before as usize);
            assert!(before.to <= Some(entry.from), "{entry:?} before the end of {before:?}");
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Task(Vec<u32>, Vec<u32>, u64),
    Wait,
    Serial(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let regions = || prop::collection::vec(0..16u32, 0..4);
    prop_oneof![
        12 => (regions(), regions(), 0..20u64).prop_map(|(reads, writes, work)| Step::Task(reads, writes, work)),
        1 => Just(Step::Wait),
        1 => (1..5u64).prop_map(Step::Serial),
    ]
}

fn ops(steps: &[Step]) -> Vec<Op> {
    let op = |step: &Step| match step {
        Step::Task(reads, writes, work) => task("t", reads, writes, *work),
        Step::Wait => Op::Taskwait,
        Step::Serial(work) => compute(*work),
    };
    steps.iter().map(op).collect()
}

fn random_tasking() -> impl Strategy<Value = Tasking> {
    let main = prop_oneof![Just(MainThread::Default), Just(MainThread::Big), Just(MainThread::Little)];
    let workers = prop_oneof![Just(None), (1..9u32).prop_map(Some)];
    let cost = || prop_oneof![Just(0u64), 1..100_000u64];
    let parts = (0..4usize, main, workers, any::<bool>(), 1..20u32, cost(), cost());
    parts.prop_map(|(ready, main, workers, tied, window, create, queue)| Tasking {
        ready: QUEUES[ready],
        main,
        workers,
        tied,
        window,
        create: Work::Instructions(create),
        queue: Work::Instructions(queue),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn dependences_hold_and_every_task_runs_once(
        steps in prop::collection::vec(step(), 1..60),
        tasking in random_tasking(),
        (big, little) in (0..4u16, 0..4u16).prop_filter("a machine has cores", |(big, little)| big + little > 0),
        delay in prop_oneof![Just(0u64), 1..200_000u64],
        costly: bool, noise: bool, seed: u64, chosen: prop::sample::Index,
    ) {
        prop_assume!(steps.iter().any(|step| matches!(step, Step::Task(..))));
        let machine = if costly { with_costs(machine(big, little)) } else { machine(big, little) };
        let name = *chosen.get(&common::policies(&machine).collect::<Vec<_>>());
        let workload = tasks(ops(&steps), tasking);
        let options = Options { seed, noise, delay: Ns(delay), oracle: true, ..Options::default() };
        let (outcome, diary) = play(&machine, &workload, name, &options);
        check_order(&diary, &graph(&workload));
        // Wherever it ran, all work was done: at the top speed of 2 instructions a ns on a big core, 1 on a little one.
        let work: u64 = steps.iter().map(|step| match step {
            Step::Task(_, _, work) | Step::Serial(work) => work * 1_000_000,
            Step::Wait => 0,
        }).sum();
        let done: u64 = outcome.threads.iter().map(|thread| thread.instructions.0).sum();
        prop_assert!(done >= work);
        let capacity = f64::from(big) * 2.0 + f64::from(little);
        prop_assert!(outcome.makespan.0 as f64 >= work as f64 / capacity - 1.0, "Equation 4");
        let (again, _) = play(&machine, &workload, name, &options);
        prop_assert_eq!(outcome, again, "same seed, same run");
    }

    /// Graham: a schedule that leaves no core idle while a task is ready takes at most `W/m + (1 - 1/m) CP`; none is
    /// shorter than the critical path, nor than the work on all cores.
    #[test]
    fn greedy_queues_stay_within_grahams_bound(
        steps in prop::collection::vec(step().prop_filter("tasks", |step| !matches!(step, Step::Serial(_))), 1..60),
        cores in 1..6u16, queue in 0..3usize,
    ) {
        prop_assume!(steps.iter().any(|step| matches!(step, Step::Task(..))));
        let workload = tasks(ops(&steps), free(QUEUES[queue]));
        let graph = graph(&workload);
        let costs: Vec<f64> = steps.iter().filter_map(|step| match step {
            Step::Task(_, _, work) => Some(*work as f64),
            _ => None,
        }).collect();
        let (work, path) = (costs.iter().sum::<f64>(), graph.critical_path(|task| costs[graph.site(task)]));
        let (m, machine) = (f64::from(cores), machine(0, cores));
        let took = makespan(&machine, &workload);
        prop_assert!(took >= path.max(work / m) - 1e-3, "{} < {} or {}", took, path, work / m);
        prop_assert!(took <= work / m + (1.0 - 1.0 / m) * path + 1e-3, "{} > bound of {} and {}", took, work, path);
    }
}

#[test]
fn every_bundled_graph_runs_under_every_queue_and_main_thread() {
    let machine = with_costs(machine(2, 2));
    for name in ["chain", "fork-join", "cholesky", "wavefront"] {
        for ready in QUEUES {
            for main in [MainThread::Default, MainThread::Big, MainThread::Little] {
                let workload = with(bundled(name), |tasking| {
                    tasking.ready = ready;
                    tasking.main = main;
                });
                let (_, diary) = play(&machine, &workload, "gts", &Options::default());
                check_order(&diary, &graph(&workload));
            }
        }
    }
}

/// A chain of 8 tasks that each need 10 ms on a little core and 5 ms on a big one, and 4 such tasks on their own.
fn chain_and_others(ready: ReadyQueue) -> Workload {
    let mut ops = vec![task("link", &[], &[0], 10)];
    ops.extend((1..5).map(|region| task("other", &[], &[region], 10)));
    ops.extend((1..8).map(|_| task("link", &[], &[0], 10)));
    tasks(ops, free(ready))
}

#[test]
fn cats_keeps_the_critical_path_on_the_big_core() {
    let machine = machine(1, 1);
    // The big core does the 8 links, 5 ms each, while the little one does the others, 10 ms each.
    let (outcome, diary) = play(&machine, &chain_and_others(ReadyQueue::Cats), "cfs", &Options::default());
    assert_eq!(outcome.makespan, Ns::from_ms(40));
    assert_eq!((diary.cores("link"), diary.cores("other")), (vec![0], vec![1]));
    // In order of readiness the second link comes after the others: it begins at 15 ms, and seven take 35.
    let (outcome, _) = play(&machine, &chain_and_others(ReadyQueue::Fifo), "cfs", &Options::default());
    assert_eq!(outcome.makespan, Ns::from_ms(50));
}

#[test]
fn heft_ranks_by_cost_and_takes_the_earliest_finish() {
    // Mean costs of 7.5 ms: the last link has the rank of the others, which were created before it. The fourth of them
    // ends at 40 ms on either core and gets the big one, from 35 ms on; the last link comes after it.
    let (outcome, diary) = play(&machine(1, 1), &chain_and_others(ReadyQueue::Heft), "cfs", &Options::default());
    assert_eq!((outcome.makespan, diary.cores("link"), diary.cores("other")), (Ns::from_ms(45), vec![0], vec![0, 1]));
}

#[test]
fn a_shared_queue_is_a_bottleneck_for_small_tasks() {
    // 10 us of work a task and 2 us for each access: one queue cannot feed eight cores.
    let small = Op::Compute { phase: PhaseId(0), work: Work::Instructions(10_000), spread: Spread::None };
    let one = Task { name: "small".into(), reads: vec![], writes: vec![], body: vec![small] };
    let ops = vec![Op::Repeat { times: Some(2000), body: vec![Op::Task(Box::new(one))] }];
    let with = |ready| {
        let tasking = Tasking { create: Work::Instructions(0), queue: Work::Instructions(2_000), ..free(ready) };
        let (outcome, diary) = play(&machine(0, 8), &tasks(ops.clone(), tasking), "cfs", &Options::default());
        (outcome.makespan.as_secs_f64() * 1e3, diary.lock_waits)
    };
    let ((fifo, waits), (steal, none)) = (with(ReadyQueue::Fifo), with(ReadyQueue::Steal));
    // Every task takes the lock twice, in whatever order: 2000 x 2 x 2 us.
    assert!(fifo >= 8.0, "{fifo} ms");
    assert!(waits > 1000, "{waits} times a worker found the lock taken");
    assert!(none == 0 && steal < 0.75 * fifo, "stealing takes {steal} ms, the shared queue {fifo} ms");
}

/// Three tasks of 10 ms on a little core, 5 ms on a big one, and serial work of the same length after them.
fn round_and_serial(main: MainThread) -> Workload {
    let mut ops: Vec<Op> = (0..3).map(|region| task("t", &[], &[region], 10)).collect();
    ops.extend([Op::Taskwait, compute(10)]);
    tasks(ops, Tasking { main, ..free(ReadyQueue::Fifo) })
}

#[test]
fn the_main_thread_goes_on_where_it_is_told() {
    // A big and two little cores, one of which ends the last task at 10 ms. The others are idle by then, and one of
    // them goes on with the main thread: on the big core until 15 ms, on a little one until 20 ms.
    let ends = |main| {
        let end = |seed| {
            let options = Options { seed, ..Options::default() };
            let (outcome, diary) = play(&machine(1, 2), &round_and_serial(main), "cfs", &options);
            assert!(
                diary.tasks.iter().any(|entry| entry.thread == ThreadId(0)),
                "at the wait the main thread works, too"
            );
            outcome.makespan.0 / 1_000_000
        };
        (1..20).map(end).collect::<std::collections::BTreeSet<u64>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(ends(MainThread::Default), [15, 20]);
    assert_eq!(ends(MainThread::Big), [15]);
    assert_eq!(ends(MainThread::Little), [20]);
}

#[test]
fn the_main_thread_does_not_run_ahead_for_ever() {
    let ops: Vec<Op> = (0..100).map(|_| task("t", &[], &[], 1)).collect();
    let begins = |window| {
        let create = Work::Instructions(1_000_000);
        let tasking = Tasking { workers: Some(1), window, create, ..free(ReadyQueue::Fifo) };
        let (_, diary) = play(&machine(0, 1), &tasks(ops.clone(), tasking), "cfs", &Options::default());
        diary.of(0).from
    };
    assert_eq!((begins(1000), begins(10)), (Ns::from_ms(100), Ns::from_ms(10)));
}

#[test]
fn a_task_does_the_same_work_on_any_worker() {
    let varied = Op::Compute { phase: PhaseId(0), work: Work::Instructions(1_000_000), spread: Spread::Exponential };
    let one = Task { name: "t".into(), reads: vec![], writes: vec![], body: vec![varied] };
    let ops = vec![Op::Repeat { times: Some(40), body: vec![Op::Task(Box::new(one))] }];
    let machine = machine(2, 2);
    let work = |ready, name, seed| {
        let workload = tasks(ops.clone(), Tasking { tied: false, ..free(ready) });
        let options = Options { seed, ..Options::default() };
        let (outcome, _) = play(&machine, &workload, name, &options);
        outcome.programs[0].instructions
    };
    for ready in QUEUES {
        assert!(common::policies(&machine).all(|name| work(ready, name, 7) == work(ReadyQueue::Fifo, "cfs", 7)));
    }
    assert_ne!(work(ReadyQueue::Fifo, "cfs", 7), work(ReadyQueue::Fifo, "cfs", 8));
}

/// The cores that the first thread ran on.
#[derive(Default)]
struct CoresOfTheFirst(Vec<CoreId>);

impl Observer for CoresOfTheFirst {
    fn observe(&mut self, _: Ns, event: &Event<'_>) {
        if let Event::Run { core, thread: ThreadId(0) } = *event
            && !self.0.contains(&core)
        {
            self.0.push(core);
        }
    }
}

#[test]
fn a_set_leaves_a_tied_main_thread_on_its_core() {
    let machine = evenkeel_model::machines::by_name("odroid-xu3").expect("bundled");
    let nicer = Op::Set(SchedParams { class: Class::fair(-5), ..SchedParams::default() });
    let mut workload = tasks(vec![nicer, task("t", &[], &[0], 20), compute(400)], free(ReadyQueue::Fifo));
    // Beside it on its core, while others are idle.
    let mut busy = thread("busy", vec![compute(1000)]);
    busy.sched.cpus = Some(vec![0]);
    workload.programs.push(program("beside", vec![busy; 2]));
    let mut cores = CoresOfTheFirst::default();
    run(&machine, &workload, policy("cfs"), None, &Options::default(), &mut cores).expect("runs");
    assert_eq!(cores.0, [CoreId(0)]);
}

#[test]
fn workers_that_no_core_is_tied_to_are_scheduled_like_any_thread() {
    // Static threading leaves half of four workers on each kind of core; a global scheduler moves them as it likes.
    let workload = with(bundled("chain"), |tasking| tasking.workers = Some(4));
    let on_little = |name: &str| {
        let (outcome, _) = play(&machine(4, 4), &workload, name, &Options::default());
        outcome.threads.iter().map(|thread| thread.on_type[1]).sum::<Ns>()
    };
    assert_ne!(on_little("static"), on_little("gts"));
    assert_eq!(workload.programs[0].threads.len(), 1, "the others are the machine's");
}

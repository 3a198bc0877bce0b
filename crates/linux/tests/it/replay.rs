//! Recordings of simulated runs, played again.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{Pmu, Tap, damage, play, record, there_and_back};
use evenkeel_model::{Behaviour, CoreSet, CoreTypeId, Machine, Ns, machines};
use evenkeel_workload::program::{
    Barrier, BarrierId, List, ListId, LockId, Phase, PhaseId, Queue, QueueId, SchedParams, Semaphore, SemaphoreId,
    Spread, Start, ThreadIndex, ThreadKind, Work,
};
use evenkeel_workload::recording::{RecordedItem, RecordedThread, Recording, Step};
use evenkeel_workload::{Op, Program, Thread, Workload, suite};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// What a thread of a random program does in each of its rounds.
#[derive(Clone, Copy, Debug)]
enum Act {
    Compute(u64),
    Locked(u64),
    Sleep(u64),
    Yield,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (1_000..3_000_000_u64).prop_map(Act::Compute),
        2 => (100..300_000_u64).prop_map(Act::Locked),
        1 => (1_000..1_000_000_u64).prop_map(Act::Sleep),
        1 => Just(Act::Yield),
    ]
}

fn compute(ns: u64) -> Op {
    Op::Compute { phase: PhaseId(0), work: Work::Time(Ns(ns)), spread: Spread::None }
}

fn ops(act: Act) -> Vec<Op> {
    match act {
        Act::Compute(ns) => vec![compute(ns)],
        Act::Locked(ns) => vec![Op::Lock(LockId(0)), compute(ns), Op::Unlock(LockId(0))],
        Act::Sleep(ns) => vec![Op::Sleep { span: Ns(ns), spread: Spread::None }],
        Act::Yield => vec![Op::Yield],
    }
}

fn thread(name: &str, start: Start, ops: Vec<Op>) -> Thread {
    let (name, kind, sched) = (name.to_owned(), ThreadKind::Application, SchedParams::default());
    Thread { name, process: 0, ops, start, kind, sched }
}

/// A main thread that spawns workers and waits for them. The workers do random things, meet at a barrier after each
/// round, and hand an item to a consumer.
fn workload(workers: Vec<Vec<Act>>, rounds: u64, item: u64) -> Workload {
    let count = workers.len() as u32;
    let mut main = Vec::new();
    main.extend((1..=count + 1).map(|worker| Op::Spawn(ThreadIndex(worker))));
    main.push(compute(100_000));
    main.extend((1..=count + 1).map(|worker| Op::Join(ThreadIndex(worker))));
    let mut threads = vec![thread("main", Start::At(Ns::ZERO), main)];
    for acts in workers {
        let mut body: Vec<Op> = acts.into_iter().flat_map(ops).collect();
        body.extend([Op::Put(QueueId(0)), Op::Barrier(BarrierId(0))]);
        let all = vec![Op::Repeat { times: Some(rounds), body }, Op::Close(QueueId(0))];
        threads.push(thread("worker", Start::Spawned, all));
    }
    let consume = vec![Op::Drain { queue: QueueId(0), body: vec![compute(item)] }];
    threads.push(thread("consumer", Start::Spawned, consume));
    let program = Program {
        name: "random".into(),
        phases: vec![Phase { name: "code".into(), behaviour: Behaviour::REFERENCE }],
        threads,
        locks: vec!["lock".into()],
        barriers: vec![Barrier { name: "barrier".into(), parties: count }],
        queues: vec![Queue { name: "queue".into(), capacity: 2, filled: 0, producers: count }],
        ..Program::default()
    };
    Workload { name: "random".into(), programs: vec![program], ..Workload::default() }
}

fn random() -> impl Strategy<Value = Workload> {
    let workers = prop::collection::vec(prop::collection::vec(act(), 1..6), 1..7);
    (workers, 1..20_u64, 1_000..500_000_u64).prop_map(|(workers, rounds, item)| workload(workers, rounds, item))
}

fn bundled(name: &str) -> Machine {
    machines::by_name(name).unwrap()
}

/// Big cores of a bundled machine, so many.
fn symmetric(name: &str, cores: usize) -> Machine {
    let mut machine = bundled(name).symmetric(CoreTypeId(0));
    machine.cores.truncate(cores);
    machine.clusters[0].cores = CoreSet::first(cores);
    machine
}

/// By how much a replay misses, as a share of the recorded run.
fn deviation(machine: &Machine, workload: &Workload) -> f64 {
    let (first, again) = there_and_back(machine, workload, Tap::default());
    again.0 as f64 / first.0 as f64 - 1.0
}

/// Programs whose work is dealt out as it comes: how much a thread does depends on how fast it is.
const DYNAMIC: [&str; 2] = ["dedup", "ferret"];

/// How far replays of the programs are off, on machines whose cores are alike or differ.
fn deviations(of: impl Fn(Machine) -> Machine) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for machine in [bundled("2B2S"), bundled("odroid-xu3"), bundled("i9-13900k"), symmetric("2B2S", 2)].map(of) {
        for program in suite::table_3().filter(|program| !DYNAMIC.contains(&program.name)) {
            let workload = evenkeel_workload::by_name(program.name).unwrap();
            all.push((format!("{} on {}", program.name, machine.name), deviation(&machine, &workload)));
        }
    }
    all
}

/// Its barriers poll, and what threads poll is work in a recording.
const POLLS: &str = "fluidanimate";

/// But for rounding: a wake-up preempts or not by a nanosecond, and one program may take another course from there on.
#[test]
fn programs_take_as_long_as_recorded() {
    let free = |mut machine: Machine| {
        let costs = &mut machine.costs;
        (costs.futex, costs.line_in_cluster, costs.line_across_clusters) = (Ns::ZERO, Ns::ZERO, Ns::ZERO);
        machine
    };
    let all = deviations(free);
    let (polls, waits): (Vec<_>, Vec<_>) = all.iter().partition(|(name, _)| name.starts_with(POLLS));
    assert!(polls.iter().all(|(_, off)| off.abs() < 0.015), "{polls:?}");
    let off: Vec<_> = waits.iter().filter(|(_, off)| off.abs() > 0.005).collect();
    assert!(off.len() <= 1 && off.iter().all(|(_, off)| off.abs() < 0.04), "{off:?}");
}

/// What waits for locks and fetches their lines is time that was measured, and work when it is played again: a replay is exact but for
/// rounding. In `lu_cb` on 2B2S two threads come to a barrier in the same nanosecond, and whether the big or the little core is idle first decides
/// which one fetches the thread that waits.
#[test]
fn what_locks_cost_is_not_charged_again() {
    let mut all = deviations(|machine| machine);
    all.retain(|(_, off)| off.abs() >= 0.02);
    assert!(all.len() <= 1 && all.iter().all(|(_, off)| off.abs() < 0.13), "{all:?}");
}

#[test]
fn pipelines_take_as_long_as_recorded_where_cores_are_alike() {
    for machine in [1, 2, 3, 4].map(|cores| symmetric("2B2S", cores)).into_iter().chain([symmetric("i9-13900k", 16)]) {
        for program in DYNAMIC {
            let workload = evenkeel_workload::by_name(program).unwrap();
            let off = deviation(&machine, &workload);
            assert!(off.abs() < 0.1, "{program} on {}: {off}", machine.name);
        }
    }
}

/// Where threads compete for cores, a nanosecond can decide which goes first, and a barrier makes much of that. What one
/// program gains, another loses.
#[test]
fn crowded_machines_take_as_long_as_recorded_in_the_middle() {
    for machine in [symmetric("2B2S", 1), symmetric("2B2S", 2), symmetric("2B2S", 4), bundled("2B2S")] {
        let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let mut next = || random().new_tree(&mut runner).unwrap().current();
        let mut all: Vec<f64> = (0..500).map(|_| deviation(&machine, &next())).collect();
        all.sort_by(f64::total_cmp);
        let name = format!("{} cores of {}", machine.cores.len(), machine.name);
        assert!(all[250].abs() < 0.005, "{name}: the median is {}", all[250]);
        let near = all.iter().filter(|off| off.abs() < 0.1).count();
        assert!(near > 450, "{name}: {near} of 500 are within 10 %");
    }
}

/// The phases of a random program become different: code that computes, that waits for memory, that does neither well.
/// Every thread has its own.
fn mixed(mut workload: Workload) -> Workload {
    let code =
        |ilp, memory_ns| Phase { name: "code".into(), behaviour: Behaviour { ilp, memory_ns, ..Behaviour::REFERENCE } };
    let program = &mut workload.programs[0];
    program.phases = vec![code(2.5, 0.0), code(1.5, 400.0), code(0.5, 100.0), code(1.9, 40.0)];
    for (position, thread) in program.threads.iter_mut().enumerate() {
        recode(&mut thread.ops, PhaseId(position as u32 % 4));
    }
    workload
}

fn recode(ops: &mut [Op], to: PhaseId) {
    for op in ops {
        match op {
            Op::Compute { phase, work, .. } => {
                *phase = to;
                // So many instructions on every machine.
                if let Work::Time(span) = *work {
                    *work = Work::Instructions(span.0);
                }
            }
            Op::Repeat { body, .. } | Op::Drain { body, .. } => recode(body, to),
            _ => {}
        }
    }
}

/// By how much the replay of a run whose instructions were counted misses.
fn counted_deviation(machine: &Machine, workload: &Workload) -> f64 {
    let (first, again) = there_and_back(machine, workload, Tap::counting(Pmu::new(machine, workload)));
    again.0 as f64 / first.0 as f64 - 1.0
}

#[test]
fn counted_programs_take_as_long_as_recorded() {
    for machine in [symmetric("2B2S", 2), bundled("2B2S"), bundled("i9-13900k")] {
        let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let mut next = || mixed(random().new_tree(&mut runner).unwrap().current());
        let mut all: Vec<f64> = (0..200).map(|_| counted_deviation(&machine, &next()).abs()).collect();
        all.sort_by(f64::total_cmp);
        assert!(all[100] < 0.01 && all[180] < 0.1, "{}: {} and {}", machine.name, all[100], all[180]);
    }
}

/// Four threads that take 400 pieces of a millisecond out of one list, or get a hundred each.
fn shared_out(anew: bool) -> Workload {
    let mut workload = workload(vec![vec![]; 4], 1, 0);
    let program = &mut workload.programs[0];
    let pieces = Queue { name: "list".into(), capacity: 400, filled: 400, producers: 0 };
    program.queues.push(pieces);
    for worker in &mut program.threads[1..=4] {
        let body = vec![compute(1_000_000)];
        let work = if anew { Op::Drain { queue: QueueId(1), body } } else { Op::Repeat { times: Some(100), body } };
        worker.ops = vec![work, Op::Close(QueueId(0))];
    }
    workload
}

#[test]
fn what_threads_share_out_as_they_run_is_shared_out_anew() {
    let there = bundled("2B2S");
    let shares = |recording: &Recording| {
        let steps = recording.threads.iter().flat_map(|thread| &thread.steps);
        steps.filter(|step| matches!(step, Step::Share { .. })).count()
    };
    for (anew, parts) in [(true, 4), (false, 0)] {
        let workload = shared_out(anew);
        let mut tap = Tap::default();
        play(&there, &workload, "cfs", &mut tap).unwrap();
        let recording = record(&there, &tap);
        assert_eq!(shares(&recording), parts);
        for elsewhere in [symmetric("2B2S", 4), symmetric("2B2S", 3), bundled("2B4S")] {
            let makespan =
                |workload: &Workload| play(&elsewhere, workload, "cfs", &mut Tap::default()).unwrap().makespan.0 as f64;
            let off = makespan(&recording.workload("test", Some(&there))) / makespan(&workload) - 1.0;
            assert!(
                off.abs() < 0.03,
                "{} pieces anew on {}: {off}",
                if anew { "taken" } else { "dealt out" },
                elsewhere.name
            );
        }
    }
}

/// A reader, so many workers, and a writer, with bounded queues between them.
fn farm(workers: usize) -> Workload {
    let mut workload = workload(vec![vec![]; workers + 1], 1, 50_000);
    let program = &mut workload.programs[0];
    let queue = |name: &str, producers| Queue { name: name.into(), capacity: 4, filled: 0, producers };
    program.queues = vec![queue("read", 1), queue("written", workers as u32)];
    let [read, written] = [QueueId(0), QueueId(1)];
    let [reader, others @ .., writer] = &mut program.threads[1..] else { panic!("{workload:?}") };
    let body = vec![compute(50_000), Op::Put(read)];
    reader.ops = vec![Op::Repeat { times: Some(400), body }, Op::Close(read)];
    for worker in others {
        worker.ops =
            vec![Op::Drain { queue: read, body: vec![compute(1_000_000), Op::Put(written)] }, Op::Close(written)];
    }
    writer.ops = vec![Op::Drain { queue: written, body: vec![compute(50_000)] }];
    workload
}

/// One thread starts all others.
fn started(mut workload: Workload) -> Workload {
    let threads = &mut workload.programs[0].threads;
    let count = threads.len() as u32;
    threads.iter_mut().for_each(|thread| thread.start = Start::Spawned);
    let each = |op: fn(ThreadIndex) -> Op| (0..count).map(move |thread| op(ThreadIndex(thread)));
    threads.push(thread("main", Start::At(Ns::ZERO), each(Op::Spawn).chain(each(Op::Join)).collect()));
    workload
}

/// Recorded on 2B2S, where the threads of a stage are on unlike cores, and played elsewhere, against the program itself there: most by so much, and
/// the same with each item where it went.
#[test]
fn what_threads_take_from_queues_is_taken_anew() {
    let there = bundled("2B2S");
    let ferret = started(evenkeel_workload::by_name("ferret:4").unwrap());
    // With more workers than cores a wake-up preempts one of them or not by a nanosecond.
    let farms = [(2, 0.02), (3, 0.02), (4, 0.02), (6, 0.04)].map(|(workers, most)| (farm(workers), workers, most));
    let programs = farms.into_iter().chain([(ferret, 16, 0.07)]);
    for (workload, takers, most) in programs {
        let mut tap = Tap::default();
        play(&there, &workload, "cfs", &mut tap).unwrap();
        let taken = record(&there, &tap);
        let takes = |step: &&Step| matches!(step, Step::Take(_));
        let all = taken.threads.iter().flat_map(|thread| &thread.steps).filter(takes).count();
        assert_eq!(all, takers, "{}: {}", workload.name, taken.to_text());
        tap.forget_calls();
        let fixed = record(&there, &tap);
        assert!(fixed.items.is_empty());
        let mut worst: f64 = 0.0;
        for elsewhere in [symmetric("2B2S", 4), symmetric("2B2S", 3), there.clone(), bundled("2B4S")] {
            for policy in ["cfs", "pfs", "colab"] {
                let makespan = |workload: &Workload| {
                    play(&elsewhere, workload, policy, &mut Tap::default()).unwrap().makespan.0 as f64
                };
                let truth = makespan(&workload);
                let off = |recording: &Recording| makespan(&recording.workload("test", Some(&there))) / truth - 1.0;
                let what = format!("{} of {takers} on {} under {policy}", workload.name, elsewhere.name);
                assert!(off(&taken).abs() < most, "{what}: {}", off(&taken));
                worst = worst.max(off(&fixed));
            }
        }
        assert!(worst > 0.2, "{} of {takers}: {worst}", workload.name);
    }
}

/// A thread gives four workers what they do, by one word, and has at most four of these unfinished. It takes the results in order, or those that are
/// there.
fn ordered(in_order: bool) -> Workload {
    const ITEMS: u32 = 200;
    let mut workload = workload(vec![vec![]; 4], 1, 0);
    let program = &mut workload.programs[0];
    let semaphore = |name: String| Semaphore { name, count: 0 };
    let results = (0..ITEMS).map(|item| format!("queue of result {}", if in_order { item } else { 0 }));
    program.semaphores = (0..ITEMS).map(|_| "queue".to_owned()).chain(results).map(semaphore).collect();
    let (ready, result) = (SemaphoreId, |item: u32| SemaphoreId(ITEMS + if in_order { item } else { 0 }));
    let item = |item: u32| vec![Op::Acquire(ready(item)), compute(1_000_000), Op::Post(result(item))];
    program.lists = vec![List { name: "list".into(), items: (0..ITEMS).map(item).collect() }];
    for worker in &mut program.threads[1..=4] {
        worker.ops = vec![Op::Take(ListId(0)), Op::Close(QueueId(0))];
    }
    let give = |item: u32| {
        let oldest = item.checked_sub(3).map(|oldest| Op::Acquire(result(oldest)));
        [compute(30_000), Op::Post(ready(item))].into_iter().chain(oldest)
    };
    let main = &mut program.threads[0].ops;
    let join = main.len() - 5;
    main.splice(join..join, (0..ITEMS).flat_map(give));
    workload
}

/// Also where other items are the slow ones. Under `cfs` a big core waits most of the time until a little one has done the oldest.
#[test]
fn results_that_are_taken_in_order_are_waited_for_in_order() {
    let there = bundled("2B2S");
    for in_order in [true, false] {
        let workload = ordered(in_order);
        let mut tap = Tap::default();
        play(&there, &workload, "cfs", &mut tap).unwrap();
        let recording = record(&there, &tap);
        let of_threads = || recording.threads.iter().flat_map(|thread| &thread.steps);
        assert_eq!(of_threads().filter(|step| matches!(step, Step::Take(_))).count(), 4, "in order: {in_order}");
        assert_eq!(of_threads().filter(|step| matches!(step, Step::Result(_))).count() > 100, in_order);
        let most = if in_order { 0.02 } else { 0.06 };
        for elsewhere in [symmetric("2B2S", 4), symmetric("2B2S", 3), there.clone(), bundled("2B4S")] {
            for policy in ["cfs", "pfs", "colab"] {
                let makespan = |workload: &Workload| {
                    play(&elsewhere, workload, policy, &mut Tap::default()).unwrap().makespan.0 as f64
                };
                let off = makespan(&recording.workload("test", Some(&there))) / makespan(&workload) - 1.0;
                assert!(off.abs() < most, "in order: {in_order}; on {} under {policy}: {off}", elsewhere.name);
            }
        }
    }
}

/// The rates of threads on both core types show what their code is like, and so how fast it is on other cores. Their time
/// alone does not.
#[test]
fn counted_programs_take_as_long_elsewhere_as_they_would() {
    let there = bundled("2B2S");
    let workload = mixed(workload(vec![vec![Act::Compute(20_000_000)]; 7], 10, 3_000_000));
    let mut tap = Tap::counting(Pmu::new(&there, &workload));
    play(&there, &workload, "cfs", &mut tap).unwrap();
    let counted = record(&there, &tap);
    tap.events.iter_mut().for_each(|event| event.instructions = None);
    let timed = record(&there, &tap);
    assert!(counted.counted && !timed.counted);
    let both = counted.threads.iter().filter(|thread| thread.rates.iter().all(Option::is_some));
    assert!(both.count() >= 4, "the slow threads ran on both types");
    for elsewhere in ["odroid-xu3", "i9-13900k"] {
        let elsewhere = bundled(elsewhere);
        let makespan = |workload: &Workload| play(&elsewhere, workload, "cfs", &mut Tap::default()).unwrap().makespan;
        let truth = makespan(&workload).0 as f64;
        let off = |recording: &Recording| makespan(&recording.workload("test", Some(&there))).0 as f64 / truth - 1.0;
        assert!(off(&counted).abs() < 0.01, "{}: {}", elsewhere.name, off(&counted));
        assert!(off(&timed).abs() > 0.05, "{}: {}", elsewhere.name, off(&timed));
    }
}

/// Threads that wake each other and take from a list, whose items do that too. About one in five of such recordings loads.
fn with_list() -> impl Strategy<Value = Recording> {
    let step = |count: u32| prop_oneof![2 => (0..count).prop_map(Step::Wake), 1 => Just(Step::Wait), 1 => (1..2_000_000_u64).prop_map(Step::Run)];
    let items = prop::collection::vec((0..3_u32, prop::collection::vec(step(8), 0..4)), 1..6);
    let threads = prop::collection::vec(
        (prop::collection::vec(step(8), 0..4), 0..4_usize, any::<bool>(), prop::option::weighted(0.2, 3..8_u32)),
        3,
    );
    (threads, items).prop_map(|(threads, items)| {
        let count = (threads.len() + items.len()) as u32;
        let known = |steps: Vec<Step>| -> Vec<Step> {
            steps.into_iter().filter(|step| !matches!(step, Step::Wake(other) if *other >= count)).collect()
        };
        let thread = |(steps, at, takes, result): (Vec<Step>, usize, bool, Option<u32>)| {
            let mut steps = known(steps);
            steps.splice(0..0, result.filter(|item| *item < count).map(Step::Result));
            if takes {
                steps.insert(at.min(steps.len()), Step::Take(0));
            }
            let (name, kind, start) = ("thread".into(), ThreadKind::Application, Start::At(Ns::ZERO));
            RecordedThread { name, process: 0, kind, start, rates: Vec::new(), steps }
        };
        let item = |(by, steps)| RecordedItem { list: 0, by, steps: known(steps) };
        Recording {
            threads: threads.into_iter().map(thread).collect(),
            items: items.into_iter().map(item).collect(),
            ..Recording::default()
        }
    })
}

/// With a core for every thread a replay takes as long. What threads take from a queue is told by how they wake each other (`record/lists.rs`), and
/// one program in thousands looks as if its threads took from one where they do not.
#[test]
fn with_a_core_for_every_thread_a_replay_takes_as_long() {
    let machine = symmetric("i9-13900k", 10);
    for counted in [false, true] {
        let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let cases = runner.config().cases.max(1000);
        let mut wrong = Vec::new();
        for case in 0..cases {
            let workload = random().new_tree(&mut runner).unwrap().current();
            let (first, again) = if counted {
                let workload = mixed(workload);
                there_and_back(&machine, &workload, Tap::counting(Pmu::new(&machine, &workload)))
            } else {
                there_and_back(&machine, &workload, Tap::default())
            };
            if first.0.abs_diff(again.0) > first.0 / 20 + 50_000 {
                wrong.push(format!("case {case}: {first} became {again}"));
            }
        }
        assert!(wrong.len() as u32 <= cases / 1000, "instructions counted: {counted}; of {cases}: {wrong:#?}");
    }
}

proptest! {
    /// Whichever thread is faster, and whichever takes what.
    #[test]
    fn what_loads_ends_on_every_machine(recording in with_list(), cores in 1..4_usize) {
        if let Ok(recording) = Recording::from_text(&recording.to_text(), "test.ek") {
            for machine in [symmetric("2B2S", cores), bundled("2B2S")] {
                let ended = play(&machine, &recording.workload("test", None), "cfs", &mut Tap::default());
                prop_assert!(ended.is_ok(), "{:?}", ended.err());
            }
        }
    }

    #[test]
    fn whatever_is_lost_or_late_a_replay_ends(
        workload in prop_oneof![
            3 => random(),
            1 => (1..6_usize).prop_map(farm),
            1 => any::<bool>().prop_map(ordered),
            1 => (2..8_u32, any::<u64>()).prop_map(|(threads, seed)| locking(threads, 90_000, 30_000, &mut Lcg(seed))),
        ],
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8), 1..30),
    ) {
        let machine = bundled("2B2S");
        let mut tap = Tap::default();
        play(&machine, &workload, "cfs", &mut tap).unwrap();
        damages.into_iter().for_each(|(at, how)| damage(&mut tap.events, at, how));
        let recording = record(&machine, &tap);
        if !tap.events.is_empty() {
            let again = Recording::from_text(&recording.to_text(), "test.ek");
            prop_assert_eq!(again.as_ref(), Ok(&recording));
            prop_assert!(play(&machine, &recording.workload("test", None), "cfs", &mut Tap::default()).is_ok());
        }
    }
}

/// Threads that each do something, then something else under a lock, again and again: from nothing to twice these amounts of ns.
fn locking(threads: u32, free: u64, locked: u64, random: &mut Lcg) -> Workload {
    let all = || (1..=threads).map(ThreadIndex);
    let main = all().map(Op::Spawn).chain(all().map(Op::Join)).collect();
    let mut program = Program {
        name: "locks".into(),
        phases: vec![Phase { name: "code".into(), behaviour: Behaviour::REFERENCE }],
        threads: vec![thread("main", Start::At(Ns::ZERO), main)],
        locks: vec!["lock".into()],
        ..Program::default()
    };
    for _ in 0..threads {
        let mut ops = Vec::new();
        for _ in 0..400 {
            ops.push(compute(random.below(2 * free)));
            ops.extend([Op::Lock(LockId(0)), compute(random.below(2 * locked)), Op::Unlock(LockId(0))]);
        }
        program.threads.push(thread("worker", Start::Spawned, ops));
    }
    Workload { name: "locks".into(), programs: vec![program], ..Workload::default() }
}

/// Numbers that are drawn (Knuth's generator, MMIX).
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Recorded on two big and two little cores, where little ones do a third; against the program itself there and elsewhere.
#[test]
fn locks_are_taken_anew() {
    let (recorded_on, mut random) = (bundled("2B2S"), Lcg(1));
    let elsewhere = [
        (bundled("2B2S"), "eevdf"),
        (bundled("2B2S"), "pfs"),
        (bundled("2B2S"), "colab"),
        (bundled("2B4S"), "pfs"),
        (symmetric("4B4S", 4), "cfs"),
    ];
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for case in 0..24_u32 {
        let locked = 50_000 + random.below(1_000_000);
        let free = locked * (2 + random.below(8));
        let workload = locking(3 + case % 6, free, locked, &mut random);
        let mut tap = Tap::default();
        play(&recorded_on, &workload, "eevdf", &mut tap).unwrap();
        let recording = record(&recorded_on, &tap);
        assert!(
            recording.threads.iter().flat_map(|one| &one.steps).any(|step| matches!(step, Step::Lock(_))),
            "{case}"
        );
        assert_eq!(Recording::from_text(&recording.to_text(), "locks.ek").unwrap(), recording);
        tap.forget_calls();
        let in_order = record(&recorded_on, &tap);
        for (machine, policy) in &elsewhere {
            let makespan =
                |workload: &Workload| play(machine, workload, policy, &mut Tap::default()).unwrap().makespan.0 as f64;
            let own = makespan(&workload);
            let off =
                |recording: &Recording| (makespan(&recording.workload("locks", Some(&recorded_on))) / own - 1.0).abs();
            with.push(off(&recording));
            without.push(off(&in_order));
        }
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let far = with.iter().filter(|off| **off > 0.1).count();
    assert!(mean(&with) < 0.02 && far <= 2, "{} in the mean, {far} of {} by more than 10 %", mean(&with), with.len());
    assert!(mean(&without) > 0.15, "in the recorded order {}", mean(&without));
}

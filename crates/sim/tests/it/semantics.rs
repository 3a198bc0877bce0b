//! Operations and faults, each with a schedule short enough to work out by hand: a little core does 1 M instructions a
//! ms, a big core 2 M.

use crate::common;
use crate::common::{compute, machine, play, policy, program, thread, workload};
use evenkeel_model::{Counter, Ns, ThreadId};
use evenkeel_sim::{Ended, Event, Observer, Options, Outcome, run};
use evenkeel_workload::program::{
    Barrier, BarrierId, ConditionId, EventId, List, ListId, LockId, Queue, QueueId, SchedParams, Semaphore,
    SemaphoreId, Spread, Start, ThreadIndex, ThreadKind, TimerId, TimerMode,
};
use evenkeel_workload::{Op, Program, Thread, Workload};

pub fn on(machine: &evenkeel_model::Machine, p: Program) -> Outcome {
    play(machine, &workload(vec![p]), "cfs", &Options::default()).expect("runs")
}

pub fn exits(outcome: &Outcome) -> Vec<u64> {
    outcome.threads.iter().map(|thread| thread.exited.map_or(0, |at| at.0 / 1_000_000)).collect()
}

fn sleep(ms: u64) -> Op {
    Op::Sleep { span: Ns::from_ms(ms), spread: Spread::None }
}

fn error(w: &Workload, options: &Options) -> String {
    play(&machine(1, 1), w, "cfs", options).expect_err("a fault of the workload").to_string()
}

#[test]
fn work_scales_with_the_core_and_time_does_not() {
    let p = |op: Op| program("p", vec![thread("t", vec![op])]);
    assert_eq!(on(&machine(1, 0), p(compute(10))).makespan, Ns::from_ms(5));
    assert_eq!(on(&machine(0, 1), p(compute(10))).makespan, Ns::from_ms(10));
    assert_eq!(on(&machine(1, 0), p(Op::Spin(Ns::from_ms(7)))).makespan, Ns::from_ms(7));
}

#[test]
fn a_wake_up_takes_its_time_on_an_idle_core_only() {
    let pause = Op::Sleep { span: Ns::from_ms(5), spread: Spread::None };
    let mut slow = machine(0, 1);
    slow.costs.wake = Ns::from_ms(1);
    let alone = program("p", vec![thread("t", vec![compute(1), pause.clone(), compute(1)])]);
    assert_eq!(exits(&on(&slow, alone)), [1 + 5 + 1 + 1]);
    // The other one keeps the core awake.
    let beside = program("p", vec![thread("t", vec![pause, compute(1)]), thread("busy", vec![compute(5)])]);
    assert_eq!(exits(&on(&slow, beside)), [6, 5]);
}

/// It wakes at 1 ms and waits behind b. After 4 ms a is 4 ms ahead of it, and they change places.
#[test]
fn a_wake_up_takes_until_the_thread_runs_also_if_it_is_queued_anew() {
    let woken = thread("woken", vec![sleep(1), compute(1)]);
    let p = program("p", vec![thread("a", vec![compute(20)]), woken, thread("b", vec![compute(20)])]);
    let outcome = play(&machine(1, 1), &workload(vec![p]), "pfs:lag=3500us", &Options::default()).expect("runs");
    let latency = outcome.wakeup_latency;
    assert_eq!((latency.count, latency.max), (1, Ns::from_ms(3)));
}

/// Spans that vary, noise, and counters that a policy reads are drawn from the seed; nothing else is.
#[test]
fn a_run_says_whether_its_seed_matters() {
    let machine = machine(1, 1);
    let p = |spread: Spread| {
        let work = |ms| vec![Op::Sleep { span: Ns::from_ms(1), spread }, compute(ms)];
        workload(vec![program("p", vec![thread("a", work(10)), thread("b", work(20)), thread("c", work(30))])])
    };
    let runs = |w: &Workload, policy: &str, options: Options| -> [Outcome; 2] {
        [1, 2].map(|seed| play(&machine, w, policy, &Options { seed, ..options.clone() }).unwrap())
    };
    let [one, other] = runs(&p(Spread::None), "cfs", Options::default());
    assert!(!one.drawn && one == other);
    for [one, other] in [
        runs(&p(Spread::Uniform(0.5)), "cfs", Options::default()),
        runs(&p(Spread::None), "cfs", Options { noise: true, ..Options::default() }),
    ] {
        assert!(one.drawn && other.drawn && one != other);
    }
    let [one, other] = runs(&p(Spread::None), "cfs", Options { counters: true, ..Options::default() });
    assert!(one.drawn && one.threads[0].counters != other.threads[0].counters);
}

#[test]
fn a_switch_to_another_program_costs_more_than_one_within_a_program() {
    let mut machine = machine(0, 1);
    (machine.costs.context_switch, machine.costs.process_switch) = (Ns::from_us(10), Ns::from_us(300));
    let end = |programs: &[&[u64]]| {
        let program = |ms: &&[u64]| program("p", ms.iter().map(|ms| thread("t", vec![compute(*ms)])).collect());
        let outcome = play(&machine, &workload(programs.iter().map(program).collect()), "fcf", &Options::default());
        outcome.unwrap().makespan
    };
    let after =
        |ms: u64, within: u64, between: u64| Ns::from_ms(ms) + Ns::from_us(10 * (within + between) + 300 * between);
    assert_eq!(end(&[&[1, 1, 1]]), after(3, 3, 0));
    // The first program on a core finds nothing of another one.
    assert_eq!(end(&[&[1], &[1]]), after(2, 1, 1));
    // A recording is one program, of several processes.
    let process = |process: u32| Thread { process, ..thread("t", vec![compute(1)]) };
    let recording = program("p", vec![process(0), process(1)]);
    let outcome = play(&machine, &workload(vec![recording]), "fcf", &Options::default());
    assert_eq!(outcome.unwrap().makespan, after(2, 1, 1));
    // Also where a turn is over before the switch is: each gets on in the next one.
    machine.costs.process_switch = machine.costs.tick + machine.costs.tick;
    let processes = program("p", vec![process(0), process(1), process(2)]);
    let outcome = play(&machine, &workload(vec![processes]), "eevdf", &Options::default());
    assert!(outcome.unwrap().makespan < Ns::from_ms(100));
}

#[test]
fn taking_a_thread_costs_where_it_runs_and_fetching_a_waiting_one_does_not() {
    let takes_long = |mut machine: evenkeel_model::Machine| {
        machine.costs.take = Ns::from_ms(3);
        machine
    };
    let ends = |machine, ms: &[u64], name: &str| {
        let threads = ms.iter().map(|ms| thread("t", vec![compute(*ms)])).collect();
        let outcome = play(&machine, &workload(vec![program("p", threads)]), name, &Options::default()).unwrap();
        (outcome.makespan, outcome.migrations)
    };
    // The big core is free after 2 ms, and takes the other thread, which has 18 of 20 ms to go.
    assert_eq!(ends(machine(1, 1), &[4, 20], "colab"), (Ns::from_ms(2 + 9), 1));
    assert_eq!(ends(takes_long(machine(1, 1)), &[4, 20], "colab"), (Ns::from_ms(2 + 3 + 9), 1));
    // The core with the short ones fetches a long one, which waits.
    let fetched = ends(machine(0, 2), &[2, 10, 2, 10], "eevdf");
    assert!(fetched.1 > 0 && ends(takes_long(machine(0, 2)), &[2, 10, 2, 10], "eevdf") == fetched, "{fetched:?}");
}

#[test]
fn a_lock_is_held_by_one_at_a_time_and_the_holder_is_blamed() {
    let section = vec![Op::Lock(LockId(0)), compute(4), Op::Unlock(LockId(0))];
    let mut p = program("p", vec![thread("a", section.clone()), thread("b", section)]);
    p.locks.push("m".into());
    let outcome = on(&machine(0, 2), p);
    assert_eq!(exits(&outcome), [4, 8]);
    assert_eq!([outcome.threads[0].blame, outcome.threads[1].blame], [Ns::from_ms(4), Ns::ZERO]);
    let waited = [outcome.threads[0].waited_for_locks, outcome.threads[1].waited_for_locks];
    assert_eq!(waited, [Ns::ZERO, Ns::from_ms(4)]);
}

#[test]
fn a_barrier_opens_when_the_last_arrives() {
    let ops = |ms| vec![compute(ms), Op::Barrier(BarrierId(0)), compute(1)];
    let mut p = program("p", vec![thread("a", ops(2)), thread("b", ops(5)), thread("c", ops(3))]);
    p.barriers.push(Barrier { name: "b".into(), parties: 3 });
    let outcome = on(&machine(0, 3), p);
    assert_eq!(exits(&outcome), [6, 6, 6]);
    assert_eq!(outcome.threads[1].blame, Ns::from_ms(3 + 2));
    assert!(outcome.threads.iter().all(|thread| thread.waited_for_locks == Ns::ZERO), "a barrier is no lock");
}

#[test]
fn a_bounded_queue_holds_the_producer_back() {
    // The producer could be done after 3 ms; with room for one item it has to wait for the consumer, 2 ms an item.
    let produce = Op::Repeat { times: Some(3), body: vec![compute(1), Op::Put(QueueId(0))] };
    let producer = thread("producer", vec![produce, Op::Close(QueueId(0))]);
    let consumer = thread("consumer", vec![Op::Drain { queue: QueueId(0), body: vec![compute(2)] }]);
    let mut p = program("p", vec![producer, consumer]);
    p.queues.push(Queue { name: "q".into(), capacity: 1, filled: 0, producers: 1 });
    let outcome = on(&machine(0, 2), p);
    assert_eq!(exits(&outcome), [3, 7]);
    assert_eq!(outcome.queues[0].taken, 3);
    assert_eq!(outcome.queues[0].waited, Ns::from_ms(1 + 2), "items 2 and 3 waited 1 and 2 ms");
}

#[test]
fn a_filled_queue_is_a_shared_loop() {
    let worker = |i| thread(&format!("w{i}"), vec![Op::Drain { queue: QueueId(0), body: vec![compute(1)] }]);
    let mut p = program("p", vec![worker(0), worker(1)]);
    p.queues.push(Queue { name: "iterations".into(), capacity: 9, filled: 9, producers: 0 });
    let outcome = on(&machine(1, 1), p);
    assert_eq!(outcome.makespan, Ns::from_ms(3), "6 on the big core, 3 on the little one");
}

#[test]
fn conditions_events_spawn_and_join() {
    let (lock, condition) = (LockId(0), ConditionId(0));
    let waiter = vec![Op::Lock(lock), Op::Wait { condition, lock }, Op::Unlock(lock), compute(1)];
    let suspended = vec![Op::Suspend(EventId(0)), compute(2)];
    let main = vec![
        Op::Spawn(ThreadIndex(1)),
        Op::Spawn(ThreadIndex(2)),
        compute(3),
        Op::Signal(condition),
        Op::Resume(EventId(0)),
        Op::Join(ThreadIndex(1)),
        Op::Join(ThreadIndex(2)),
    ];
    let mut p = program("p", vec![thread("main", main), thread("waiter", waiter), thread("suspended", suspended)]);
    p.threads[1].start = Start::Spawned;
    p.threads[2].start = Start::Spawned;
    p.locks.push("m".into());
    p.conditions.push("c".into());
    p.events.push("e".into());
    assert_eq!(exits(&on(&machine(0, 3), p)), [5, 4, 5]);
}

#[test]
fn relative_timers_forgive_a_late_round_and_absolute_ones_do_not() {
    // Rounds of 4, 14, 4, 4 ms under a timer of 10 ms (rt-app's tutorial, "timer").
    let run = |mode| {
        let timer = Op::Timer { timer: TimerId(0), period: Ns::from_ms(10), mode };
        let ops = [4, 14, 4, 4].into_iter().flat_map(|ms| [compute(ms), timer.clone()]).collect();
        let mut p = program("p", vec![thread("t", ops)]);
        p.timers.push("t".into());
        on(&machine(0, 1), p)
    };
    let relative = run(TimerMode::Relative);
    assert_eq!((exits(&relative), relative.missed_timers), (vec![44], 1), "10, 24 (missed), 34, 44");
    let absolute = run(TimerMode::Absolute);
    assert_eq!((exits(&absolute), absolute.missed_timers), (vec![40], 1), "10, 20 (missed), 30, 40");
}

#[test]
fn a_real_time_thread_preempts_and_runs_first() {
    let mut p = program("p", vec![thread("fair", vec![compute(10)]), thread("rt", vec![sleep(2), compute(3)])]);
    p.threads[1].sched.class = evenkeel_workload::program::Class::RealTime { priority: 10 };
    let outcome = on(&machine(0, 1), p);
    assert_eq!((exits(&outcome), outcome.preemptions), (vec![13, 5], 2), "at its start and when it wakes");
}

fn real_time(priority: u8, ops: Vec<Op>) -> Thread {
    let class = evenkeel_workload::program::Class::RealTime { priority };
    Thread { sched: SchedParams { class, ..SchedParams::default() }, ..thread("rt", ops) }
}

#[test]
fn a_thread_that_gives_up_its_priority_gives_way_to_a_real_time_thread() {
    let first = real_time(10, vec![compute(5), Op::Set(SchedParams::default()), compute(20)]);
    let p = program("p", vec![first, real_time(5, vec![compute(10)])]);
    assert_eq!(exits(&on(&machine(0, 1), p)), [35, 15]);
}

/// The real-time thread waits (1 ms when it continues). The other one pays for waking it, though it is preempted before it has.
#[test]
fn a_preempted_thread_still_pays_for_its_operations() {
    let mut costly = machine(0, 1);
    costly.costs.futex = Ns::from_ms(1);
    let fair = thread("fair", vec![compute(1), Op::Post(SemaphoreId(0)), compute(1)]);
    let mut p = program("p", vec![fair, real_time(10, vec![Op::Acquire(SemaphoreId(0)), compute(1)])]);
    p.semaphores.push(Semaphore { name: "s".into(), count: 0 });
    assert_eq!(exits(&on(&costly, p)), [5, 3]);
}

#[test]
fn a_thread_that_starts_again_has_not_run_on_any_core() {
    let (spawn, join) = (|| Op::Spawn(ThreadIndex(1)), || Op::Join(ThreadIndex(1)));
    let to = |core: u16| SchedParams { cpus: Some(vec![core]), ..SchedParams::default() };
    let twice = |core: u16, ops: Vec<Op>| {
        let mut slow = machine(0, 2);
        slow.costs.context_switch = Ns::from_ms(1);
        let main = Thread { sched: to(0), ..thread("main", vec![spawn(), join(), sleep(10), spawn(), join()]) };
        on(&slow, program("p", vec![main, Thread { start: Start::Spawned, sched: to(core), ..thread("child", ops) }]))
    };
    // Three switches: to main, and twice to the child, whose core had nothing else.
    assert_eq!(exits(&twice(1, vec![compute(1)])), [1 + 2 + 10 + 2, 1 + 2 + 10 + 2]);
    // It moves once in each life.
    assert_eq!(twice(0, vec![Op::Set(to(1)), compute(1)]).threads[1].migrations, 2);
}

#[test]
fn a_join_waits_for_all_that_was_spawned() {
    let spawns = Op::Repeat { times: Some(3), body: vec![Op::Spawn(ThreadIndex(1))] };
    let main = thread("main", vec![spawns, Op::Join(ThreadIndex(1)), compute(1)]);
    let worker = Thread { start: Start::Spawned, ..thread("worker", vec![compute(10)]) };
    assert_eq!(exits(&on(&machine(0, 2), program("p", vec![main, worker]))), [31, 30]);
}

#[test]
fn a_mask_of_the_program_is_kept_by_every_policy() {
    for policy in common::policies(&machine(1, 2)) {
        let threads = (0..4).map(|i| {
            let mut t = thread(&format!("t{i}"), vec![compute(20)]);
            t.sched = SchedParams { cpus: Some(vec![1]), ..SchedParams::default() };
            t
        });
        let w = workload(vec![program("p", threads.collect())]);
        let outcome = play(&machine(1, 2), &w, policy, &Options::default()).expect("runs");
        assert_eq!(outcome.cores[1].busy, Ns::from_ms(80), "{policy}");
    }
}

#[test]
fn a_mask_without_a_core_of_the_machine_is_an_error() {
    let mut p = program("p", vec![thread("t", vec![compute(1)])]);
    p.threads[0].sched.cpus = Some(vec![7]);
    let text = error(&workload(vec![p]), &Options::default());
    assert_eq!(text, "p/t may run on cores [7] only, but 1B1S has cores 0 to 1");
}

#[test]
fn a_clamped_thread_is_taken_for_as_busy_as_it_asks() {
    let busy = |max: u32| {
        // GTS moves a thread down when it wakes up.
        let nap = Op::Sleep { span: Ns::from_us(100), spread: Spread::None };
        let turns = Op::Repeat { times: Some(30), body: vec![compute(10), nap] };
        let mut p = program("p", vec![thread("t", vec![turns])]);
        p.threads[0].sched.clamp.max = max;
        play(&machine(1, 1), &workload(vec![p]), "gts", &Options::default()).expect("runs").threads[0].on_type[0]
    };
    assert!(busy(1024) > Ns::from_ms(140), "a busy thread lives on the big core");
    assert!(busy(100) < Ns::from_ms(10), "one that is to be taken for idle does not");
}

#[test]
fn endless_and_service_threads_end_with_their_program() {
    let endless = vec![Op::Repeat { times: None, body: vec![compute(1), sleep(1)] }];
    let mut p = program("p", vec![thread("main", vec![compute(5)]), thread("tick", endless.clone())]);
    let mut collector = thread("gc", endless);
    collector.kind = ThreadKind::Service;
    p.threads.push(collector);
    let outcome = on(&machine(0, 3), p);
    assert_eq!((outcome.ended, exits(&outcome)), (Ended::Finished, vec![5, 5, 5]));
}

/// A real-time thread that does this, and one that is ready beside it and never gets the core.
fn hogged(ops: Vec<Op>) -> Program {
    let endless = vec![Op::Repeat { times: None, body: vec![compute(1)] }];
    let mut p = program("p", vec![thread("hog", ops), thread("fair", endless)]);
    p.threads[0].sched.class = evenkeel_workload::program::Class::RealTime { priority: 10 };
    p
}

#[test]
fn a_thread_that_never_gets_a_core_has_waited_until_it_or_the_run_ends() {
    let waited = |ops: Vec<Op>, duration: Option<Ns>| {
        let w = Workload { duration, ..workload(vec![hogged(ops)]) };
        let outcome = play(&machine(0, 1), &w, "cfs", &Options::default()).expect("runs");
        [0, 1].map(|index| outcome.threads[index].waited)
    };
    assert_eq!(waited(vec![compute(5)], None), [Ns::ZERO, Ns::from_ms(5)]);
    let endless = vec![Op::Repeat { times: None, body: vec![compute(1)] }];
    assert_eq!(waited(endless, Some(Ns::from_secs(1))), [Ns::ZERO, Ns::from_secs(1)]);
}

#[test]
fn threads_without_a_core_that_end_with_their_program_are_observed() {
    struct Gone(Vec<(Ns, ThreadId)>);
    impl Observer for Gone {
        fn observe(&mut self, at: Ns, event: &Event<'_>) {
            if let Event::Gone { thread } = *event {
                self.0.push((at, thread));
            }
        }
    }
    let mut p = hogged(vec![compute(5)]);
    let mut sleeper = thread("sleeper", vec![Op::Repeat { times: None, body: vec![sleep(100)] }]);
    sleeper.sched.class = evenkeel_workload::program::Class::RealTime { priority: 20 };
    p.threads.push(sleeper);
    let (w, mut gone) = (workload(vec![p]), Gone(Vec::new()));
    run(&machine(0, 1), &w, policy("cfs"), None, &Options::default(), &mut gone).expect("runs");
    assert_eq!(gone.0, [1, 2].map(|thread| (Ns::from_ms(5), ThreadId(thread))));
}

#[test]
fn programs_that_are_rerun_end_when_each_has_ended_once() {
    let pair = |short: u64, long: u64| {
        let programs = [short, long].map(|ms| program("p", vec![thread("t", vec![compute(ms)])]));
        Workload { rerun: true, ..workload(programs.into()) }
    };
    let outcome = play(&machine(0, 2), &pair(10, 25), "cfs", &Options::default()).expect("runs");
    assert_eq!((outcome.ended, outcome.makespan), (Ended::Finished, Ns::from_ms(25)));
    let programs: Vec<_> = outcome.programs.iter().map(|p| (p.turnaround, p.instructions.0)).collect();
    assert_eq!(programs, [(Some(Ns::from_ms(10)), 25_000_000), (Some(Ns::from_ms(25)), 25_000_000)]);
    assert!(outcome.cores.iter().all(|core| core.idle == Ns::ZERO));
    // A duration comes first.
    let mut cut_off = pair(10, 25);
    cut_off.duration = Some(Ns::from_ms(42));
    let outcome = play(&machine(0, 2), &cut_off, "cfs", &Options::default()).expect("runs");
    assert_eq!((outcome.makespan, outcome.programs[0].instructions.0), (Ns::from_ms(42), 42_000_000));
}

/// What a thread slept for when its program ended is over: it begins again as it began first.
#[test]
fn what_slept_when_its_program_ended_is_not_woken_in_the_next_round() {
    let service = |start: Start, ops: Vec<Op>| Thread { kind: ThreadKind::Service, start, ..thread("service", ops) };
    let endless = |ops: Vec<Op>| vec![Op::Repeat { times: None, body: ops }];
    let short = |start: Start| {
        let main = vec![compute(30), Op::Spawn(ThreadIndex(1)), compute(1)];
        let spawned = service(Start::Spawned, endless(vec![compute(1), sleep(5)]));
        let later = service(start, vec![compute(7), sleep(1000)]);
        program("short", vec![thread("main", main), spawned, later])
    };
    for start in [Start::At(Ns::from_ms(20)), Start::At(Ns::from_ms(40))] {
        let long = program("long", vec![thread("t", vec![compute(310)])]);
        let w = Workload { rerun: true, ..workload(vec![short(start), long]) };
        let outcome = play(&machine(0, 4), &w, "cfs", &Options::default()).expect("runs");
        assert_eq!((outcome.ended, outcome.makespan), (Ended::Finished, Ns::from_ms(310)));
        let [main, spawned, later] = [0, 1, 2].map(|index| outcome.threads[index].instructions.0 / 1_000_000);
        // Ten rounds of 31 ms; the one that starts after 40 ms never does.
        assert_eq!((main, spawned, later), (310, 10, if start == Start::At(Ns::from_ms(20)) { 70 } else { 0 }));
    }
    // Nor does it without rounds, once its program has ended.
    let w = workload(vec![short(Start::At(Ns::from_ms(40))), program("long", vec![thread("t", vec![compute(310)])])]);
    let outcome = play(&machine(0, 4), &w, "cfs", &Options::default()).expect("runs");
    assert_eq!((outcome.makespan, outcome.threads[2].instructions.0), (Ns::from_ms(310), 0));
}

#[test]
fn a_program_that_is_rerun_finds_its_objects_as_they_were() {
    // A pipeline whose consumer is spawned and joined, a service thread that is cut off inside a lock, a barrier.
    let producer = vec![
        Op::Spawn(ThreadIndex(1)),
        Op::Repeat { times: Some(4), body: vec![compute(1), Op::Put(QueueId(0)), Op::Post(SemaphoreId(0))] },
        Op::Close(QueueId(0)),
        Op::Join(ThreadIndex(1)),
    ];
    let mut consumer = thread("consumer", vec![Op::Drain { queue: QueueId(0), body: vec![compute(1)] }]);
    consumer.start = Start::Spawned;
    let held = vec![Op::Lock(LockId(0)), Op::Acquire(SemaphoreId(0)), compute(1), Op::Unlock(LockId(0))];
    let mut service = thread("service", vec![Op::Repeat { times: None, body: held }]);
    service.kind = ThreadKind::Service;
    let mut p = program("p", vec![thread("producer", producer), consumer, service]);
    p.locks.push("l".into());
    p.semaphores.push(Semaphore { name: "s".into(), count: 0 });
    p.queues.push(Queue { name: "q".into(), capacity: 2, filled: 0, producers: 1 });
    let once = on(&machine(0, 3), p.clone());
    let long = program("long", vec![thread("t", vec![compute(3 * 5)])]);
    let w = Workload { rerun: true, ..workload(vec![p, long]) };
    let outcome = play(&machine(0, 4), &w, "cfs", &Options::default()).expect("runs");
    assert_eq!(once.makespan, Ns::from_ms(5));
    assert_eq!(outcome.programs[0].turnaround, Some(Ns::from_ms(5)));
    assert_eq!(outcome.queues[0].taken, 3 * 4);
    assert_eq!(outcome.programs[0].instructions.0, 3 * once.programs[0].instructions.0);
}

/// Two threads take 4, 2 and 2 ms from one list, and are done after 4. Of the next one the first item waits for the second, which takes 1 ms.
fn takers() -> Program {
    let takes = || thread("t", vec![Op::Take(ListId(0)), Op::Take(ListId(1))]);
    let mut p = program("p", vec![takes(), takes()]);
    p.semaphores.push(Semaphore { name: "s".into(), count: 0 });
    let list = |name: &str, items: Vec<Vec<Op>>| List { name: name.into(), items };
    let s = SemaphoreId(0);
    p.lists = vec![
        list("first", [4, 2, 2].map(|ms| vec![compute(ms)]).into()),
        list("second", vec![vec![Op::Acquire(s), compute(3)], vec![compute(1), Op::Post(s)]]),
    ];
    p
}

#[test]
fn items_of_a_list_are_done_by_the_thread_that_is_free() {
    let outcome = on(&machine(0, 2), takers());
    let mut ends = exits(&outcome);
    ends.sort_unstable();
    assert_eq!(ends, [4 + 1, 4 + 1 + 3]);
    // The big core does the first item in 2 ms, and the third.
    assert_eq!(on(&machine(1, 1), takers()).makespan, Ns::from_us(3_000 + 1_000 / 2 + 3_000));
    // Under one lock the second item waits for the first.
    let take = || thread("t", vec![Op::Take(ListId(0))]);
    let section = || vec![Op::Lock(LockId(0)), compute(4), Op::Unlock(LockId(0))];
    let mut locked = program("p", vec![take(), take()]);
    locked.locks.push("m".into());
    locked.lists.push(List { name: "l".into(), items: vec![section(), section()] });
    ends = exits(&on(&machine(0, 2), locked));
    ends.sort_unstable();
    assert_eq!(ends, [4, 8]);
    let stuck =
        Program { lists: vec![List { name: "l".into(), items: vec![vec![Op::Acquire(SemaphoreId(0))]] }], ..takers() };
    let stuck = Program { threads: vec![thread("t", vec![Op::Take(ListId(0))])], ..stuck };
    assert!(error(&workload(vec![stuck]), &Options::default()).contains("semaphore"));
}

#[test]
fn lists_are_those_of_their_program_and_whole_again_when_it_is_rerun() {
    let long = program("long", vec![thread("t", vec![compute(3 * 8)])]);
    let w = Workload { rerun: true, ..workload(vec![takers(), takers(), long]) };
    let outcome = play(&machine(0, 5), &w, "cfs", &Options::default()).expect("runs");
    for taker in &outcome.programs[..2] {
        assert_eq!((taker.turnaround, taker.instructions.0), (Some(Ns::from_ms(8)), 3 * 12_000_000));
    }
}

#[test]
fn starved_cycles_are_the_same_number_on_every_core() {
    let mut p = program("p", vec![thread("t", vec![compute(10)])]);
    p.phases[0].behaviour.starved = 500.0;
    let count = |machine| {
        let options = Options { counters: true, ..Options::default() };
        let outcome = play(&machine, &workload(vec![p.clone()]), "cfs", &options).expect("runs");
        (outcome.makespan, outcome.threads[0].counters.expect("asked for").get(Counter::FrontendStallCycles))
    };
    let (big, little) = (count(machine(1, 0)), count(machine(0, 1)));
    assert_eq!((big.0, little.0), (Ns::from_us(7500), Ns::from_ms(15)), "half a cycle more for each instruction");
    assert!((big.1 / 5e6 - 1.0).abs() < 0.1 && (little.1 / 5e6 - 1.0).abs() < 0.1, "{big:?}, {little:?}");
}

#[test]
fn a_duration_cuts_the_run_off() {
    let endless = vec![Op::Repeat { times: None, body: vec![compute(1)] }];
    let mut w = workload(vec![program("p", vec![thread("t", endless)])]);
    w.duration = Some(Ns::from_ms(12));
    let outcome = play(&machine(0, 1), &w, "cfs", &Options::default()).expect("runs");
    assert_eq!((outcome.ended, outcome.makespan), (Ended::Duration, Ns::from_ms(12)));
    assert_eq!(outcome.programs[0].turnaround, None);
    assert_eq!(outcome.programs[0].instructions.0, 12_000_000);
}

#[test]
fn a_deadlock_names_its_cycle() {
    let both = |first, second| vec![Op::Lock(LockId(first)), sleep(1), Op::Lock(LockId(second))];
    let mut p = program("p", vec![thread("a", both(0, 1)), thread("b", both(1, 0))]);
    p.locks = vec!["left".into(), "right".into()];
    let text = error(&workload(vec![p]), &Options::default());
    assert!(text.contains("deadlock") && text.contains(r#"p/a waits for lock "right", held by p/b"#), "{text}");
    assert!(text.contains(r#"p/b waits for lock "left", held by p/a"#), "{text}");
}

#[test]
fn a_barrier_that_no_thread_joins_is_named() {
    let mut p = program("p", vec![thread("a", vec![Op::Barrier(BarrierId(0))])]);
    p.barriers.push(Barrier { name: "meet".into(), parties: 2 });
    let text = error(&workload(vec![p]), &Options::default());
    assert!(text.contains(r#"p/a waits for barrier "meet" (1 of 2 there)"#), "{text}");
}

#[test]
fn a_stranger_may_not_unlock() {
    let mut p = program("p", vec![thread("a", vec![Op::Unlock(LockId(0))])]);
    p.locks.push("m".into());
    let text = error(&workload(vec![p]), &Options::default());
    assert!(text.contains(r#"p/a releases lock "m" at 0 ns, which no thread holds"#), "{text}");
}

#[test]
fn a_loop_without_work_and_a_run_without_end_are_errors() {
    let too_much = "p/a does more than 1000000 operations in a row without computing, waiting or sleeping";
    let nothing = Op::Repeat { times: None, body: vec![Op::Signal(ConditionId(0))] };
    let mut p = program("p", vec![thread("a", vec![nothing]), thread("b", vec![compute(1)])]);
    p.conditions.push("c".into());
    assert!(error(&workload(vec![p]), &Options::default()).contains(too_much));
    let posts = Op::Repeat { times: Some(600_000), body: vec![Op::Post(SemaphoreId(0))] };
    let mut p = program("p", vec![thread("a", vec![posts])]);
    p.semaphores.push(Semaphore { name: "s".into(), count: 0 });
    assert!(error(&workload(vec![p]), &Options::default()).contains(too_much), "a loop that would end");

    let yields = Op::Repeat { times: None, body: vec![Op::Yield] };
    let p = program("p", vec![thread("a", vec![compute(1)]), thread("b", vec![yields])]);
    let with_cost = common::with_costs(machine(0, 1));
    let done = play(&with_cost, &workload(vec![p]), "cfs", &Options::default()).expect("ends with its program");
    assert_eq!(done.ended, Ended::Finished);

    let endless = Op::Repeat { times: None, body: vec![compute(1)] };
    let text = error(&workload(vec![program("p", vec![thread("a", vec![endless])])]), &Options::default());
    assert_eq!(text, "p never ends: give the workload a duration, or a loop an end");

    let again = Thread { start: Start::Spawned, ..thread("b", vec![Op::Spawn(ThreadIndex(1))]) };
    let spawner = thread("a", vec![Op::Spawn(ThreadIndex(1)), compute(1)]);
    let text = error(&workload(vec![program("p", vec![spawner, again])]), &Options::default());
    assert!(text.starts_with("time stands still at "), "{text}");

    let long = workload(vec![program("p", vec![thread("a", vec![compute(500)])])]);
    let text = error(&long, &Options { max_time: Ns::from_ms(100), ..Options::default() });
    assert!(text.contains("still running after 100.000 ms: p/a runs on core 0"), "{text}");

    let late = workload(vec![program(
        "p",
        vec![Thread { start: Start::At(Ns::from_secs(2)), ..thread("a", vec![compute(1)]) }],
    )]);
    let text = error(&late, &Options { max_time: Ns::from_secs(1), ..Options::default() });
    assert!(text.contains("still running after 1.000 s: p/a starts later"), "{text}");
}

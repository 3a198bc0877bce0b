//! What each policy promises, seen from outside on runs small enough to reason about. Speedups are the oracle's.

use crate::common;
use crate::common::{compute, machine, play, program, thread, with_memory_phase, workload};
use evenkeel_model::{Class, ClusterId, CoreId, CoreSet, Machine, Ns, ThreadId};
use evenkeel_sched::policy::{Description, hooks};
use evenkeel_sim::{Event, Observer, Options, Outcome, run};
use evenkeel_workload::program::{
    Barrier, BarrierId, LockId, PhaseId, SchedParams, Spread, Start, ThreadIndex, ThreadKind, Work,
};
use evenkeel_workload::{Op, Program, Thread, Workload};

fn oracle() -> Options {
    Options { oracle: true, ..Options::default() }
}

fn on(machine: &Machine, p: Program, policy: &str) -> Outcome {
    play(machine, &workload(vec![p]), policy, &oracle()).expect("runs")
}

/// The share of a thread's time that it spent on big cores.
fn big_share(outcome: &Outcome, thread: usize) -> f64 {
    let on_type = &outcome.threads[thread].on_type;
    on_type[0].0 as f64 / on_type.iter().map(|time| time.0).sum::<u64>() as f64
}

fn sleeper() -> Vec<Op> {
    let body = vec![compute(1), Op::Sleep { span: Ns::from_ms(20), spread: Spread::None }];
    vec![Op::Repeat { times: Some(40), body }]
}

fn memory(instructions: u64) -> Op {
    Op::Compute { phase: PhaseId(1), work: Work::Instructions(instructions), spread: Spread::None }
}

#[test]
fn static_deals_threads_to_cores_and_keeps_them_in_their_cluster() {
    let threads = (0..4).map(|i| thread(&format!("t{i}"), vec![compute(40)])).collect();
    let outcome = on(&machine(2, 2), program("p", threads), "static");
    assert_eq!([0, 1, 2, 3].map(|t| big_share(&outcome, t)), [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(outcome.makespan, Ns::from_ms(40), "the big cores are done after 20 ms and wait");
}

#[test]
fn gts_sends_the_busy_to_the_big_core_and_the_idle_to_the_little_one() {
    let p = program("p", vec![thread("sleeper", sleeper()), thread("busy", vec![compute(1600)])]);
    let outcome = on(&machine(1, 1), p, "gts");
    assert!(big_share(&outcome, 1) > 0.95, "busy: {}", big_share(&outcome, 1));
    assert!(big_share(&outcome, 0) < 0.25, "sleeper: {}", big_share(&outcome, 0));
}

#[test]
fn gts_uses_little_cores_when_there_are_more_busy_threads_than_big_cores() {
    let threads = (0..4).map(|i| thread(&format!("t{i}"), vec![compute(200)])).collect();
    let outcome = on(&machine(2, 2), program("p", threads), "gts");
    assert!(outcome.cores.iter().all(|core| core.busy > Ns::from_ms(50)), "{:?}", outcome.cores);
}

/// The waiter begins on a little core and may use all from 1 ms on; then it is 99 ms too early at every barrier. The worker keeps the other
/// little core.
#[test]
fn gts_takes_a_thread_that_polls_at_a_barrier_for_busy() {
    let only = |core: u16| SchedParams { cpus: Some(vec![core]), ..SchedParams::default() };
    let three = |body: Vec<Op>| Op::Repeat { times: Some(3), body };
    let waits = three(vec![Op::Barrier(BarrierId(0)), compute(1)]);
    let waiter = thread("waiter", vec![compute(1), Op::Set(SchedParams::default()), waits]);
    let worker = thread("worker", vec![three(vec![compute(100), Op::Barrier(BarrierId(0))])]);
    let mut p = program("p", vec![Thread { sched: only(1), ..waiter }, Thread { sched: only(2), ..worker }]);
    p.barriers.push(Barrier { name: "b".into(), parties: 2 });
    assert_eq!(big_share(&on(&machine(1, 2), p.clone(), "gts"), 0), 0.0, "it sleeps, and is idle");
    p.spin = Ns::from_ms(200);
    let polls = on(&machine(1, 2), p, "gts");
    assert!(big_share(&polls, 0) > 0.95, "{}", big_share(&polls, 0));
}

#[test]
fn pfs_lets_equal_threads_make_equal_progress() {
    let threads = (0..4).map(|i| thread(&format!("t{i}"), vec![compute(3000)])).collect();
    let outcome = on(&machine(2, 2), program("p", threads), "pfs");
    // Two big cores and two at half the speed: Equation 4's ideal is 4 x 3000 / 3 / 2, in ms.
    let ideal = Ns::from_ms(2000);
    assert!(outcome.makespan.0 as f64 <= 1.02 * ideal.0 as f64, "{}", outcome.makespan);
    for t in 0..4 {
        assert!((0.35..0.65).contains(&big_share(&outcome, t)), "thread {t}: {}", big_share(&outcome, t));
    }
}

#[test]
fn pfs_shares_out_more_threads_than_cores_by_capacity() {
    let threads = (0..9).map(|i| thread(&format!("t{i}"), vec![compute(1000)])).collect();
    let outcome = on(&machine(2, 2), program("p", threads), "pfs");
    let ends: Vec<Ns> = outcome.threads.iter().filter_map(|thread| thread.exited).collect();
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    assert!(first.0 as f64 > 0.85 * last.0 as f64, "{ends:?}");
}

#[test]
fn pfs_takes_over_the_thread_of_a_little_core_when_a_big_one_has_nothing_to_do() {
    let p = program("p", vec![thread("short", vec![compute(10)]), thread("long", vec![compute(30)])]);
    let outcome = on(&machine(1, 1), p, "pfs");
    // The long one does a third of its work on the little core in 10 ms / 2, the rest on the big one.
    assert!(outcome.makespan <= Ns::from_us(17_600), "{}", outcome.makespan);
}

#[test]
fn wash_gives_few_threads_the_big_cores() {
    let threads = (0..2).map(|i| thread(&format!("t{i}"), vec![compute(100)])).collect();
    let outcome = on(&machine(2, 4), program("p", threads), "wash");
    assert_eq!(outcome.makespan, Ns::from_ms(50));
}

/// The affinities that a policy sets, by thread: the last one counts.
#[derive(Default)]
struct Affinities(Vec<(ThreadId, CoreSet)>);

impl Observer for Affinities {
    fn observe(&mut self, _at: Ns, event: &Event<'_>) {
        if let Event::Affinity { thread, cores } = event {
            self.0.push((*thread, *cores));
        }
    }
}

impl Affinities {
    fn last(&self, thread: u32) -> Option<CoreSet> {
        self.0.iter().rev().find(|(id, _)| id.0 == thread).map(|(_, cores)| *cores)
    }
}

#[test]
fn wash_leaves_scalable_programs_to_the_operating_system_and_keeps_service_threads_little() {
    let mut threads: Vec<_> = (0..4).map(|i| thread(&format!("t{i}"), vec![compute(200)])).collect();
    let mut collector = thread("gc", vec![Op::Repeat { times: None, body: vec![compute(1)] }]);
    collector.kind = ThreadKind::Service;
    threads.push(collector);
    let machine = machine(2, 2);
    let mut affinities = Affinities::default();
    let w = workload(vec![program("p", threads)]);
    let mut w = w;
    w.duration = Some(Ns::from_ms(50));
    let outcome = run(&machine, &w, common::policy("wash"), None, &oracle(), &mut affinities).expect("runs");
    for thread in 0..4 {
        assert_eq!(affinities.last(thread), Some(machine.all()), "no contention: all cores");
    }
    assert_eq!(affinities.last(4), Some(machine.little()));
    assert_eq!(big_share(&outcome, 4), 0.0);
}

/// Three workers that mostly wait at a barrier for a fourth with nine times the work: contended, and one to blame.
fn gated() -> Program {
    let worker = |work| {
        let body = vec![compute(work), Op::Barrier(BarrierId(0))];
        vec![Op::Repeat { times: Some(30), body }]
    };
    let mut p = program(
        "p",
        vec![thread("a", worker(1)), thread("b", worker(1)), thread("c", worker(1)), thread("slow", worker(9))],
    );
    p.barriers.push(Barrier { name: "b".into(), parties: 4 });
    p
}

#[test]
fn wash_and_colab_find_the_bottleneck_and_cfs_does_not() {
    // Little core first, so that the oblivious scheduler has no lucky order: the slow thread begins on whatever core.
    let little_first = machine(1, 3).ordered(evenkeel_model::CoreOrder::LittleFirst);
    for policy in ["wash", "colab"] {
        let outcome = on(&little_first, gated(), policy);
        assert!(big_share(&outcome, 3) > 0.8, "{policy}: {}", big_share(&outcome, 3));
    }
    let blind = on(&little_first, gated(), "cfs").makespan;
    assert!(blind > on(&little_first, gated(), "colab").makespan);
}

#[test]
fn a_big_core_without_work_takes_over_from_a_little_one_under_colab_only() {
    // The short thread frees the big core after 10 ms; the long one began on the little core.
    let p = || program("p", vec![thread("short", vec![compute(20)]), thread("long", vec![compute(100)])]);
    let colab = on(&machine(1, 1), p(), "colab");
    assert_eq!(colab.makespan, Ns::from_ms(10 + (100 - 10) / 2), "10 ms little, then the rest at twice the speed");
    assert_eq!(on(&machine(1, 1), p(), "cfs").makespan, Ns::from_ms(100));
}

#[test]
fn colab_makes_threads_progress_equally_on_a_shared_big_core() {
    // Two threads of one core each get the same work done though one gains twice as much: slices count by speedup.
    let p = program("p", vec![thread("gains", vec![compute(2000)]), thread("does not", vec![memory(100_000_000)])]);
    let mut w = workload(vec![with_memory_phase(p)]);
    w.duration = Some(Ns::from_ms(400));
    for (policy, expected) in [("cfs", 0.5), ("colab", 1.0 / 3.0)] {
        let mut pinned = w.clone();
        for thread in &mut pinned.programs[0].threads {
            thread.sched.cpus = Some(vec![0]);
        }
        let outcome = play(&machine(1, 1), &pinned, policy, &oracle()).expect("runs");
        let share = outcome.threads[0].on_type[0].as_secs_f64() / 0.4;
        assert!((share - expected).abs() < 0.05, "{policy}: the thread that gains 2 x gets {share} of the core");
    }
}

#[test]
fn fcf_uses_the_big_cores_first() {
    let threads = |count| (0..count).map(|i| thread(&format!("t{i}"), vec![compute(100)])).collect();
    let little_first = machine(2, 2).ordered(evenkeel_model::CoreOrder::LittleFirst);
    let outcome = on(&little_first, program("p", threads(2)), "fcf");
    assert_eq!((outcome.makespan, big_share(&outcome, 0), big_share(&outcome, 1)), (Ns::from_ms(50), 1.0, 1.0));
    // Two of three have 50 ms on the big cores; the third takes over there after 50 of its 100 M instructions.
    let outcome = on(&machine(2, 2), program("p", threads(3)), "fcf");
    assert_eq!(outcome.makespan, Ns::from_ms(75));
}

/// Of eight threads on four cores those that are nice begin on two of them, and the others on the other two. Where any may run
/// on any core, the nice ones make room (sched(7), "The nice value": it says how much of the machine's time a thread has).
#[test]
fn nice_threads_make_room_on_all_cores() {
    let everywhere = |nice| SchedParams { class: Class::fair(nice), ..SchedParams::default() };
    let hog = |nice, cores: [u16; 2]| {
        let mut hog = thread("hog", vec![compute(10), Op::Set(everywhere(nice)), compute(390)]);
        hog.sched = SchedParams { cpus: Some(cores.into()), ..everywhere(nice) };
        hog
    };
    let threads = |count, nice, cores| vec![hog(nice, cores); count];
    let programs = [program("first", threads(4, -20, [0, 1])), program("nice", threads(4, 19, [2, 3]))];
    // Static threads stay, and COLAB deals only those that wake up.
    for policy in ["cfs", "eevdf", "pfs", "gts", "eas", "fcf", "bias"] {
        let outcome = play(&machine(4, 0), &workload(programs.clone().into()), policy, &oracle()).expect("runs");
        let ends = outcome.programs[0].turnaround.unwrap();
        // 210 ms with a core for each from 20 ms on, 400 ms if they stay where they are. Busy cores balance every 128 ms.
        assert!(ends < Ns::from_ms(340), "{policy}: {ends}");
    }
}

#[test]
fn fcf_gives_a_core_of_twice_the_capacity_twice_the_threads() {
    let threads = (0..6).map(|i| thread(&format!("t{i}"), vec![compute(200)])).collect();
    let outcome = on(&machine(2, 2), program("p", threads), "fcf");
    assert_eq!(outcome.makespan, Ns::from_ms(200), "two threads on a big core get as much done as one on a little one");
}

/// Half a second of each kind of code in turn, as on a big core; `first` is the position of the kind that begins.
fn alternating(name: &str, first: usize) -> evenkeel_workload::Thread {
    let kinds = [compute(1000), memory(5_000_000)];
    let body = vec![kinds[first].clone(), kinds[1 - first].clone()];
    thread(name, vec![Op::Repeat { times: Some(6), body }])
}

#[test]
fn bias_gives_the_big_core_to_the_thread_that_can_use_it_just_now() {
    let pair = with_memory_phase(program("p", vec![alternating("a", 0), alternating("b", 1)]));
    let w = workload(vec![pair]);
    let machine = machine(1, 1);
    for delay in [Ns::ZERO, Ns::from_ms(1)] {
        let options = Options { delay, ..Options::default() };
        let outcome = play(&machine, &w, "bias:window=0.002", &options).expect("runs");
        // At best every phase takes half a second; each of 12 changes is seen after at most 64 ms and two ticks.
        assert!(outcome.makespan < Ns::from_ms(6000 + 12 * 66), "{}", outcome.makespan);
        assert!((12..40).contains(&outcome.migrations), "{}", outcome.migrations);
    }
    let fair = play(&machine, &w, "cfs", &Options::default()).expect("runs").makespan;
    assert!(fair >= Ns::from_ms(6 * 1500), "who is on the little core stays there: {fair}");
}

#[test]
fn a_lock_that_is_released_late_is_the_holders_blame_under_every_policy() {
    let section = |ms| vec![Op::Lock(LockId(0)), compute(ms), Op::Unlock(LockId(0))];
    let mut p = program("p", vec![thread("holder", section(50)), thread("waiter", section(1))]);
    p.locks.push("m".into());
    for policy in common::policies(&machine(0, 2)) {
        let outcome = on(&machine(0, 2), p.clone(), policy);
        assert!(outcome.threads[0].blame >= Ns::from_ms(49), "{policy}: {}", outcome.threads[0].blame);
        assert_eq!(outcome.threads[1].blame, Ns::ZERO, "{policy}");
    }
}

/// To the policy a thread that begins again is a new one; the account is of all its lives.
#[test]
fn what_others_waited_for_a_thread_is_summed_over_its_lives() {
    let section = vec![Op::Lock(LockId(0)), compute(4), Op::Unlock(LockId(0))];
    let mut short = program("short", vec![thread("a", section.clone()), thread("b", section)]);
    short.locks.push("m".into());
    let long = program("long", vec![thread("t", vec![compute(17)])]);
    let w = Workload { rerun: true, ..workload(vec![short, long]) };
    let outcome = play(&machine(0, 3), &w, "cfs", &Options::default()).expect("runs");
    let blame: Ns = outcome.threads.iter().map(|thread| thread.blame).sum();
    assert_eq!(blame, Ns::from_ms(2 * 4), "two rounds of 8 ms, and one that is cut off");
}

#[test]
fn delayed_answers_go_stale_and_nothing_is_lost() {
    // Short rounds, so that a thread that a big core wants to take over has often blocked when the decision arrives.
    let body = vec![compute(1), Op::Barrier(BarrierId(0))];
    let threads = (0..3).map(|i| thread(&format!("t{i}"), vec![Op::Repeat { times: Some(300), body: body.clone() }]));
    let mut p = program("p", threads.collect());
    p.barriers.push(Barrier { name: "b".into(), parties: 3 });
    let options = Options { delay: Ns::from_us(700), oracle: true, ..Options::default() };
    let outcome = play(&machine(1, 2), &workload(vec![p]), "colab", &options).expect("runs");
    assert!(outcome.stale_answers > 0, "the case that is to be tested happens");
    assert_eq!(outcome.threads.iter().map(|t| t.instructions.0).sum::<u64>(), 3 * 300 * 1_000_000);
}

/// A policy that changes frequencies, to see that the machine follows.
struct Slow;

#[hooks]
impl evenkeel_sched::Policy for Slow {
    fn description(&self) -> &'static Description {
        static SLOW: Description = Description::of::<Slow>("slow", |_| Box::new(Slow));
        &SLOW
    }

    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(10))
    }

    fn refresh(&mut self, s: &evenkeel_sched::State, changes: &mut evenkeel_sched::policy::Changes) {
        changes.frequency(ClusterId(0), s.machine.core_type(CoreId(0)).opps[0].frequency);
    }
}

#[test]
fn a_frequency_change_slows_the_work_and_saves_energy() {
    let mut fast = machine(1, 0);
    let half =
        evenkeel_model::Opp { frequency: evenkeel_model::Hz::from_mhz(1000), voltage: evenkeel_model::Volts(0.5) };
    fast.core_types[0].opps.insert(0, half);
    let w = workload(vec![program("p", vec![thread("t", vec![compute(40)])])]);
    let run_as = |policy: Box<dyn evenkeel_sched::Policy>| {
        run(&fast, &w, policy, None, &Options::default(), &mut ()).expect("runs")
    };
    let (slow, fast) = (run_as(Box::new(Slow)), run_as(common::policy("cfs")));
    assert_eq!((fast.makespan, slow.makespan), (Ns::from_ms(20), Ns::from_ms(10 + 20)));
    // 40 M instructions at 1 V and 1 nJ each, and 20 ms of 0.1 W; against half of them at 0.25 nJ, and less leakage.
    assert!((fast.energy.0 - (0.040 + 0.002)).abs() < 1e-6, "{:?}", fast.energy);
    assert!((slow.energy.0 - (0.020 + 0.001 + 0.005 + 0.001)).abs() < 1e-6, "{:?}", slow.energy);
}

#[test]
fn a_spawn_of_a_running_thread_starts_it_again() {
    let mut p = program(
        "p",
        vec![
            thread("main", vec![Op::Spawn(ThreadIndex(1)), Op::Spawn(ThreadIndex(1)), compute(1)]),
            thread("child", vec![compute(5)]),
        ],
    );
    p.threads[1].start = Start::Spawned;
    let outcome = on(&machine(0, 2), p, "cfs");
    assert_eq!(outcome.makespan, Ns::from_ms(10));
}

/// What a thread sets is over with it, also where its program begins again.
#[test]
fn a_thread_that_starts_again_may_run_where_it_first_might() {
    let to = |core| SchedParams { cpus: Some(vec![core]), ..SchedParams::default() };
    let kept = |core, ops| Thread { sched: to(core), ..thread("t", ops) };
    let child = || Thread { start: Start::Spawned, ..kept(0, vec![compute(3), Op::Set(to(1)), compute(5)]) };
    let (spawn, join) = (|| Op::Spawn(ThreadIndex(1)), || Op::Join(ThreadIndex(1)));
    for main in [vec![spawn(), spawn()], vec![spawn(), join(), spawn(), join()]] {
        let p = program("p", vec![kept(0, main), child()]);
        let busy = |outcome: &Outcome| [0, 1].map(|core| outcome.cores[core].busy);
        assert_eq!(busy(&on(&machine(0, 2), p.clone(), "cfs")), [6, 10].map(Ns::from_ms));
        let long = program("long", vec![kept(2, vec![compute(3 * 16)])]);
        let w = Workload { rerun: true, ..workload(vec![p, long]) };
        let outcome = play(&machine(0, 3), &w, "cfs", &Options::default()).expect("runs");
        assert_eq!(busy(&outcome), [18, 30].map(Ns::from_ms));
    }
}

#[test]
fn cfs_evens_out_clusters_in_the_end() {
    // Two threads on the little cores, while the big ones are idle from the start: what a mask keeps there for 50 ms.
    let mut p = program(
        "p",
        (0..2)
            .map(|i| thread(&format!("t{i}"), vec![compute(50), Op::Set(SchedParams::default()), compute(200)]))
            .collect(),
    );
    for thread in &mut p.threads {
        thread.sched.cpus = Some(vec![2, 3]);
    }
    let freed = on(&machine(2, 2), p.clone(), "cfs");
    let shares = [big_share(&freed, 0), big_share(&freed, 1)];
    assert!(shares.iter().any(|share| *share > 0.3), "one of them is moved: {shares:?}");
    assert!(freed.makespan > Ns::from_ms(50 + 100), "but not at once, and not both: {}", freed.makespan);
}

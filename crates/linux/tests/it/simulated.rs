//! The host that `evenkeel run` is, beside a simulated kernel.

use evenkeel_linux::host::Simulated;
use evenkeel_model::{Machine, Ns, machines};
use evenkeel_sched::Setup;
use evenkeel_sim::{Options, Outcome, run, run_steered};
use evenkeel_workload::program::{Phase, PhaseId, SchedParams, Spread, Start, ThreadIndex, ThreadKind, Work};
use evenkeel_workload::{Op, Program, Thread, Workload};

/// Threads of so many million instructions, each of which may use some cores or all.
fn workload(threads: &[(u64, Option<Vec<u16>>)]) -> Workload {
    let thread = |(million, cpus): &(u64, Option<Vec<u16>>)| Thread {
        name: "t".into(),
        process: 0,
        ops: vec![Op::Compute {
            phase: PhaseId(0),
            work: Work::Instructions(million * 1_000_000),
            spread: Spread::None,
        }],
        start: Start::At(Ns::ZERO),
        kind: ThreadKind::Application,
        sched: SchedParams { cpus: cpus.clone(), ..SchedParams::default() },
    };
    let phase = Phase { name: "code".into(), behaviour: evenkeel_model::Behaviour::REFERENCE };
    let threads = threads.iter().map(thread).collect();
    let program = Program { name: "p".into(), threads, phases: vec![phase], ..Program::default() };
    Workload { name: "test".into(), programs: vec![program], ..Workload::default() }
}

fn linux() -> Box<dyn evenkeel_sched::Policy> {
    Setup::parse("eevdf").expect("a policy of the registry").make()
}

fn steered(machine: &Machine, workload: &Workload, policy: &str) -> Outcome {
    let mut host = Simulated::new(machine, &Setup::parse(policy).expect("a policy of the registry"), Ns::from_us(20));
    run_steered(machine, workload, linux(), &mut host, &Options::default(), &mut ()).expect("it ends")
}

#[test]
fn equal_threads_take_turns_on_big_cores() {
    let (machine, four) = (machines::by_name("2B2S").unwrap(), workload(&[const { (1000, None) }; 4]));
    let alone = run(&machine, &four, linux(), None, &Options::default(), &mut ()).unwrap();
    let beside = steered(&machine, &four, "pfs");
    assert!(beside.makespan.0 * 100 < alone.makespan.0 * 65, "{} instead of {}", beside.makespan, alone.makespan);
    assert!(beside.migrations > 4, "{}", beside.migrations);
    assert_eq!(beside, steered(&machine, &four, "pfs"), "the same again");
}

/// A thread that starts 50 others, one after the other, or one 50 times, beside three that never end.
fn one_at_a_time(again: bool) -> Workload {
    let others = if again { 1 } else { 50 };
    let mut workload = workload(&vec![(100, None); 4 + others]);
    let threads = &mut workload.programs[0].threads;
    let start = |life: usize| {
        let thread = ThreadIndex((4 + life % others) as u32);
        [Op::Spawn(thread), Op::Join(thread), Op::Sleep { span: Ns::from_ms(20), spread: Spread::None }]
    };
    threads[0].ops = (0..50).flat_map(start).collect();
    for endless in &mut threads[1..4] {
        let body = std::mem::take(&mut endless.ops);
        endless.ops = vec![Op::Repeat { times: None, body }];
    }
    threads[4..].iter_mut().for_each(|spawned| spawned.start = Start::Spawned);
    workload
}

#[test]
fn a_thread_that_starts_again_is_treated_as_another_one() {
    let machine = machines::by_name("2B2S").unwrap();
    let [again, others] = [true, false].map(|again| steered(&machine, &one_at_a_time(again), "pfs").makespan);
    assert!(again.0.abs_diff(others.0) * 20 < others.0, "{again} instead of {others}");
}

#[test]
fn programs_masks_are_kept_and_policies_masks_hold() {
    let machine = machines::by_name("2B2S").unwrap();
    let little = Some(vec![2]);
    for policy in ["pfs", "colab", "wash", "gts", "bind-vm", "static"] {
        let outcome = steered(&machine, &workload(&[(300, little.clone()), (300, None), (300, None)]), policy);
        assert_eq!(outcome.threads[0].on_type[0], Ns::ZERO, "{policy}: {:?}", outcome.threads[0]);
        assert!(outcome.threads.iter().all(|thread| thread.exited.is_some()), "{policy}");
    }
    // WASH leaves a program of one thread the big cores.
    let one = steered(&machine, &workload(&[(3000, None)]), "wash");
    assert!(one.threads[0].on_type[1].0 * 10 < one.makespan.0, "{:?}", one.threads[0].on_type);
}

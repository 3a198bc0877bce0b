//! The runner on a machine of the test's own.

use std::sync::atomic::Ordering;

use evenkeel_model::{Behaviour, Cluster, ClusterId, Core, CoreId, CoreType, CoreTypeId, Costs, Hz, Ns, Opp, Volts};
use evenkeel_workload::program::{Calibration, Phase, PhaseId, SchedParams, Spread, Start, ThreadKind, Work};
use evenkeel_workload::{Op, Program, Thread};

use super::*;

/// Two big and two little cores, the big ones three times as fast on reference code.
fn machine() -> Machine {
    let core_type = |name: &str, width, extract, mhz| CoreType {
        name: name.into(),
        width,
        extract,
        overlap: 0.0,
        opps: vec![Opp { frequency: Hz::from_mhz(mhz), voltage: Volts(1.0) }],
        activity: 1.0,
        leakage: 0.1,
        idle_share: 0.1,
        smt: 1.0,
    };
    let cluster = |name: &str, id: u8, cores: [u16; 2]| Cluster {
        name: name.into(),
        core_type: CoreTypeId(id),
        cores: cores.into_iter().map(CoreId).collect(),
        node: 0,
        cache: id.into(),
        cache_mb: None,
        memory_gbps: None,
    };
    let core = |id: u8| Core { core_type: CoreTypeId(id), cluster: ClusterId(id.into()) };
    let us = Ns::from_us;
    Machine {
        name: "test".into(),
        description: String::new(),
        core_types: vec![core_type("big", 3.0, 1.0, 1500), core_type("little", 2.0, 0.5, 1000)],
        clusters: vec![cluster("big", 0, [0, 1]), cluster("little", 1, [2, 3])],
        cores: vec![core(0), core(0), core(1), core(1)],
        siblings: Vec::new(),
        memory_gbps: None,
        costs: Costs {
            context_switch: us(1),
            process_switch: Ns::ZERO,
            wake: Ns::ZERO,
            take: Ns::ZERO,
            futex: Ns::ZERO,
            line_in_cluster: Ns::ZERO,
            line_across_clusters: Ns::ZERO,
            migrate_in_cluster: us(5),
            migrate_across_clusters: us(20),
            remote_memory: 1.0,
            dvfs_transition: us(100),
            tick: Ns::from_ms(4),
        },
    }
}

/// One thread that computes what core 3 (a little one) does in 30 ms.
fn workload(name: &str, calibration: Calibration) -> Workload {
    let compute = Op::Compute { phase: PhaseId(0), work: Work::Time(Ns::from_ms(30)), spread: Spread::None };
    let thread = Thread {
        name: "t".into(),
        process: 0,
        ops: vec![compute],
        start: Start::At(Ns::ZERO),
        kind: ThreadKind::Application,
        sched: SchedParams::default(),
    };
    let phase = Phase { name: "p".into(), behaviour: Behaviour::REFERENCE };
    let program =
        Program { name: name.into(), phases: vec![phase], threads: vec![thread], calibration, ..Program::default() };
    Workload { name: name.into(), programs: vec![program], ..Workload::default() }
}

fn plan(workloads: Vec<Workload>) -> Plan {
    Plan { workloads, machines: vec![machine()], policies: vec![catalog::policy("cfs").unwrap()], ..Plan::default() }
}

#[test]
fn work_calibrated_on_a_little_core_is_the_same_work_in_every_order_and_on_big_cores_only() {
    let plan = plan(vec![workload("a", Calibration::Core(3))]);
    let control = Control::default();
    let runs = Runner::new(plan, &control).unwrap().run_all(&control).unwrap().runs;
    let [big, little] = &runs[..] else { panic!("two orders") };
    // Alone the thread takes 10 ms on a big core and 30 ms on a little one.
    assert!((big.measurement.h_antt - 1.0).abs() < 0.01, "{big:?}");
    let makespan = big.measurement.makespan;
    assert!(makespan > Ns::from_us(9_900) && makespan < Ns::from_us(10_200), "{big:?}");
    assert!((little.measurement.h_antt - 3.0).abs() < 0.05, "{little:?}");
    assert!((little.measurement.h_stp * little.measurement.h_antt - 1.0).abs() < 1e-12);
}

#[test]
fn equal_programs_at_the_same_place_share_one_reference_run() {
    let mix = |name: &str, programs: [&str; 2]| Workload {
        name: name.into(),
        programs: programs.map(|name| workload(name, Calibration::Biggest).programs.remove(0)).into(),
        ..Workload::default()
    };
    let plan = plan(vec![mix("one", ["a", "b"]), mix("two", ["b", "b"])]);
    assert_eq!(Runner::new(plan, &Control::default()).unwrap().alone.len(), 3);
}

/// Alone the second thread of a mix is the first.
#[test]
fn a_program_does_the_same_alone_as_among_others() {
    let varying = |name: &str| {
        let mut program = workload(name, Calibration::Biggest).programs.remove(0);
        let work = Work::Time(Ns::from_ms(30));
        program.threads[0].ops = vec![Op::Compute { phase: PhaseId(0), work, spread: Spread::Exponential }];
        program
    };
    let mix = Workload { name: "mix".into(), programs: ["a", "b"].map(varying).into(), ..Workload::default() };
    let plan = Plan { machines: vec![machine().symmetric(CoreTypeId(0))], ..plan(vec![mix]) };
    let control = Control::default();
    let runs = Runner::new(plan, &control).unwrap().run_all(&control).unwrap().runs;
    assert!(!runs.is_empty() && runs.iter().all(|run| run.measurement.h_antt == 1.0), "{runs:?}");
}

#[test]
fn a_stopped_run_shows_what_was_reached_and_whole_results_leave_it_out() {
    let meter = Arc::new(Meter::default());
    let control = Control { meter: Some(&meter), ..Control::default() };
    let runner = Runner::new(plan(vec![workload("a", Calibration::Biggest)]), &control).unwrap();
    let (all, none) = runner.run_all_until_stopped(&control).unwrap();
    assert_eq!((all.runs.len(), none.is_none()), (2, true));
    meter.stop().store(true, Ordering::Relaxed);
    let job = runner.plan().jobs()[0];
    let run = runner.run_until_stopped(job, &mut ()).unwrap();
    assert_eq!((run.ended, run.events), (Ended::Interrupted, 0));
    let (results, stopped) = runner.run_all_until_stopped(&control).unwrap();
    assert!(results.runs.is_empty() && matches!(stopped, Some(Error::Stopped { done: 0, of: 2 })), "{stopped:?}");
    assert!(matches!(runner.run(job, &mut ()), Err(Error::Stopped { .. })));
    assert!(matches!(runner.run_all(&control), Err(Error::Stopped { done: 0, of: 2 })));
}

#[test]
fn what_draws_nothing_from_its_seed_is_run_for_one_of_them() {
    let control = Control::default();
    let runner = |noise: bool| {
        let conditions = Conditions { noise, ..Conditions::default() };
        let workloads = vec![workload("a", Calibration::Biggest)];
        Runner::new(Plan { seeds: vec![1, 2], conditions, ..plan(workloads) }, &control).unwrap()
    };
    let quiet = runner(false);
    let (first, second) = (quiet.plan().jobs()[0], quiet.plan().jobs()[1]);
    let run = quiet.run_once(first).unwrap();
    assert_eq!((run.seed, run.drawn, quiet.alike[0].get()), (1, false, Some(&run)));
    assert_eq!(quiet.run_once(second).unwrap(), quiet.run(second, &mut ()).unwrap());
    // It was not run again: what is known is taken.
    let marked = runner(false);
    marked.alike[0].set(Run { events: 7, ..run }).unwrap();
    assert_eq!(marked.run_once(second).unwrap().events, 7);
    let noisy = runner(true);
    assert!(noisy.run_once(first).unwrap().drawn && noisy.alike[0].get().is_none());
}

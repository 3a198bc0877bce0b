//! Evenkeel's side of `make bench`: plays one case and prints its events, bursts and seconds as a line of JSON.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod many;

use std::time::Instant;

use evenkeel_model::{Machine, Ns, machines};

use evenkeel_sim::{Options, run};
use evenkeel_workload::program::{Phase, PhaseId, SchedParams, Spread, Start, ThreadKind, Work};
use evenkeel_workload::{Op, Program, Thread, Workload};

/// 64 threads share 4 cores: each computes for 1 ms and gives up its core, so many times.
fn shared(bursts: u64) -> (Machine, Workload, &'static str) {
    let machine = machines::by_name("2B2S").expect("bundled").symmetric(evenkeel_model::CoreTypeId(0));
    let burst = Op::Compute { phase: PhaseId(0), work: Work::Time(Ns::from_ms(1)), spread: Spread::None };
    let thread = |index: u32| Thread {
        name: format!("thread{index}"),
        process: 0,
        ops: vec![Op::Repeat { times: Some(bursts), body: vec![burst.clone(), Op::Yield] }],
        start: Start::At(Ns::ZERO),
        kind: ThreadKind::Application,
        sched: SchedParams::default(),
    };
    let phase = Phase { name: "burst".into(), behaviour: evenkeel_model::Behaviour::REFERENCE };
    let program = Program {
        name: "shared".into(),
        threads: (0..64).map(thread).collect(),
        phases: vec![phase],
        ..Program::default()
    };
    (machine, Workload { name: "shared".into(), programs: vec![program], ..Workload::default() }, "cfs")
}

fn bundled(workload: &str, policy: &'static str) -> (Machine, Workload, &'static str) {
    let machine = machines::by_name("4B4S").expect("bundled");
    (machine, evenkeel_workload::by_name(workload).expect("bundled"), policy)
}

/// `CORES:POLICY:LOAD`: three runs, of which the fastest counts, since others only make it slower.
fn many_cores(case: &str) {
    let parts: Vec<&str> = case.split(':').collect();
    let [cores, policy, load] = parts[..] else { panic!("expected CORES:POLICY:LOAD, not {case}") };
    let cores = cores.parse().expect("a number of cores");
    let load = if load == "light" { many::Load::Light } else { many::Load::Heavy };
    let (machine, workload) = (many::machine(cores), many::workload(cores, load));
    let policy = evenkeel_sched::Setup::parse(policy).expect("of the registry");
    let (mut events, mut seconds) = (0, f64::INFINITY);
    for _ in 0..3 {
        let begin = Instant::now();
        events = run(&machine, &workload, policy.make(), None, &Options::default(), &mut ()).expect("runs").events;
        seconds = seconds.min(begin.elapsed().as_secs_f64());
    }
    println!(r#"{{"events":{events},"bursts":0,"seconds":{seconds}}}"#);
}

fn main() {
    let case = std::env::args().nth(1).unwrap_or_default();
    let bursts = 5_000;
    if let Some(many) = case.strip_prefix("many-cores:") {
        return many_cores(many);
    }
    let (machine, workload, policy) = match case.as_str() {
        "shared" => shared(bursts),
        "locks" => bundled("fluidanimate:8", "cfs"),
        "many-threads" => bundled("Rand-9", "cfs"),
        "colab" => bundled("Rand-9", "colab"),
        other => {
            eprintln!(
                "unknown case {other:?}: expected shared, locks, many-threads, colab or many-cores:CORES:POLICY:LOAD"
            );
            std::process::exit(2);
        }
    };
    let policy = evenkeel_sched::Setup::parse(policy).expect("of the registry");
    // Short cases are played again and again for a second and a half, so that the clock has something to measure.
    let (mut events, mut rounds, begin) = (0, 0, Instant::now());
    while begin.elapsed().as_secs_f64() < 1.5 {
        let outcome = run(&machine, &workload, policy.make(), None, &Options::default(), &mut ()).expect("runs");
        events += outcome.events;
        rounds += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let bursts = if case == "shared" { 64 * bursts * rounds } else { 0 };
    println!(r#"{{"events":{events},"bursts":{bursts},"seconds":{seconds}}}"#);
}

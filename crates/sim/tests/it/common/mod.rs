//! Small machines and programs for tests, with round numbers so that schedules can be worked out by hand.

use evenkeel_model::{Behaviour, Machine, Ns};
use evenkeel_sim::{Error, Options, Outcome, run};
use evenkeel_workload::program::{Phase, PhaseId, SchedParams, Spread, Start, ThreadKind, Work};
use evenkeel_workload::{Op, Program, Thread, Workload};

pub mod random;

pub use evenkeel_conformance::machine;

/// Switches and moves cost what they cost on a phone.
pub fn with_costs(mut machine: Machine) -> Machine {
    machine.costs.context_switch = Ns::from_us(2);
    machine.costs.migrate_in_cluster = Ns::from_us(10);
    machine.costs.migrate_across_clusters = Ns::from_us(50);
    machine
}

/// Work of so many million instructions: 1 ms on a little core each.
pub fn compute(million: u64) -> Op {
    Op::Compute { phase: PhaseId(0), work: Work::Instructions(million * 1_000_000), spread: Spread::None }
}

pub fn thread(name: &str, ops: Vec<Op>) -> Thread {
    Thread {
        name: name.into(),
        process: 0,
        ops,
        start: Start::At(Ns::ZERO),
        kind: ThreadKind::Application,
        sched: SchedParams::default(),
    }
}

/// A program of one phase that gains the full factor 2 from a big core.
pub fn program(name: &str, threads: Vec<Thread>) -> Program {
    let phase = Phase { name: "code".into(), behaviour: Behaviour { ilp: 8.0, ..Behaviour::REFERENCE } };
    Program { name: name.into(), threads, phases: vec![phase], ..Program::default() }
}

/// A second phase, which a big core does not run faster: all of it is memory time.
pub fn with_memory_phase(mut p: Program) -> Program {
    let behaviour = Behaviour { ilp: 8.0, memory_ns: 100_000.0, ..Behaviour::REFERENCE };
    p.phases.push(Phase { name: "memory".into(), behaviour });
    p
}

pub fn workload(programs: Vec<Program>) -> Workload {
    Workload { name: "test".into(), programs, ..Workload::default() }
}

pub fn policy(name: &str) -> Box<dyn evenkeel_sched::Policy> {
    evenkeel_sched::Setup::parse(name).expect("a policy of the registry").make()
}

pub fn play(machine: &Machine, workload: &Workload, name: &str, options: &Options) -> Result<Outcome, Error> {
    run(machine, workload, policy(name), None, options, &mut ())
}

/// Every policy of the registry that accepts a machine: what holds for all holds for the next one too.
pub fn policies(machine: &Machine) -> impl Iterator<Item = &'static str> {
    let accepted = |name: &&str| policy(name).accepts(machine).is_ok();
    evenkeel_sched::POLICIES.iter().map(|policy| policy.name).filter(accepted)
}

/// The same, and each with each of its switches and other words set.
pub fn setups(machine: &Machine) -> Vec<String> {
    use evenkeel_sched::policy::{Value, by_name};
    let knobs = |name| by_name(name).expect("a policy of the registry").knobs;
    let set = policies(machine).flat_map(|name| {
        let word = move |knob: &evenkeel_sched::policy::Knob| match knob.value {
            Value::Switch => vec![format!("{name}:{}", knob.name)],
            Value::Word(words) => words[1..].iter().map(|word| format!("{name}:{}={word}", knob.name)).collect(),
            Value::Time(_) | Value::Number { .. } | Value::Whole { .. } => Vec::new(),
        };
        std::iter::once(name.to_owned()).chain(knobs(name).iter().flat_map(word))
    });
    set.collect()
}

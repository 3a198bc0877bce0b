//! Small machines and programs for tests, with round numbers so that schedules can be worked out by hand.
#![allow(dead_code)]

use evenkeel_model::{Behaviour, Machine, Ns};
use evenkeel_sim::{Error, Options, Outcome, run};
use evenkeel_workload::program::{Phase, PhaseId, SchedParams, Spread, Start, ThreadKind, Work};
use evenkeel_workload::{Op, Program, Thread, Workload};

pub mod random;

#[path = "../../../sched/tests/common/mod.rs"]
mod scheduler;

pub use scheduler::machine;

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

pub fn workload(programs: Vec<Program>) -> Workload {
    Workload { name: "test".into(), programs, duration: None }
}

pub fn policy(name: &str) -> Box<dyn evenkeel_sched::Policy> {
    evenkeel_sched::Setup::parse(name).expect("a policy of the registry").make()
}

pub fn play(machine: &Machine, workload: &Workload, name: &str, options: &Options) -> Result<Outcome, Error> {
    run(machine, workload, policy(name), None, options, &mut ())
}

/// Every policy of the registry: what holds for all holds for the next one too.
pub fn policies() -> impl Iterator<Item = &'static str> {
    evenkeel_sched::POLICIES.iter().map(|policy| policy.name)
}

//! Small machines and programs for tests, with round numbers so that schedules can be worked out by hand.
#![allow(dead_code)]

use evenkeel_model::{
    Behaviour, Cluster, ClusterId, Core, CoreId, CoreSet, CoreType, CoreTypeId, Costs, Hz, Machine, Ns, Opp, Volts,
};
use evenkeel_sim::{Error, Options, Outcome, run};
use evenkeel_workload::program::{Phase, PhaseId, SchedParams, Spread, Start, ThreadKind, Work};
use evenkeel_workload::{Op, Program, Thread, Workload};

/// A core that retires one instruction a ns per GHz of `mhz / 1000`, with code of unlimited parallelism.
fn core_type(name: &str, mhz: u64) -> CoreType {
    CoreType {
        name: name.into(),
        width: 1.0,
        extract: 1.0,
        overlap: 0.0,
        opps: vec![Opp { frequency: Hz::from_mhz(mhz), voltage: Volts(1.0) }],
        activity: 1.0,
        leakage: 0.1,
        idle_share: 0.5,
    }
}

/// `big` cores at 2 instructions a ns, `little` ones at 1, no costs, a tick of 1 ms.
pub fn machine(big: u16, little: u16) -> Machine {
    let kinds = [(big, "big", 2000), (little, "little", 1000)];
    let mut machine = Machine {
        name: format!("{big}B{little}S"),
        description: String::new(),
        core_types: Vec::new(),
        clusters: Vec::new(),
        cores: Vec::new(),
        costs: Costs {
            context_switch: Ns::ZERO,
            migrate_in_cluster: Ns::ZERO,
            migrate_across_clusters: Ns::ZERO,
            dvfs_transition: Ns::ZERO,
            tick: Ns::from_ms(1),
        },
    };
    for (count, name, mhz) in kinds.into_iter().filter(|kind| kind.0 > 0) {
        let id = machine.clusters.len() as u8;
        let first = machine.cores.len() as u16;
        machine.core_types.push(core_type(name, mhz));
        let cores: CoreSet = (first..first + count).map(CoreId).collect();
        machine.clusters.push(Cluster { name: name.into(), core_type: CoreTypeId(id), cores, node: 0 });
        let core = Core { core_type: CoreTypeId(id), cluster: ClusterId(id) };
        machine.cores.extend(std::iter::repeat_n(core, count.into()));
    }
    machine
}

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
    (evenkeel_sched::policy::by_name(name).expect("a policy of the registry").make)()
}

pub fn play(machine: &Machine, workload: &Workload, name: &str, options: &Options) -> Result<Outcome, Error> {
    run(machine, workload, policy(name), None, options, &mut ())
}

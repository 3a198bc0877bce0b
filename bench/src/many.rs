//! Machines of any size, with work that grows with them, to show what an event costs on many cores.
//!
//! Half of the cores are big. Eight of a kind share a clock and a last-level cache, and 128 a memory node, as in servers. For
//! each four cores there is one set of programs, so that a core has the same to do whatever the size of the machine.

use evenkeel_model::{Behaviour, Machine, Ns};
use evenkeel_workload::program::{
    Barrier, BarrierId, LockId, Phase, PhaseId, Queue, QueueId, SchedParams, Spread, Start, ThreadKind, Work,
};
use evenkeel_workload::{Op, Program, Thread, Workload};

/// How many cores share a clock and a last-level cache, and how many a memory node.
const CLUSTER: usize = 8;
const NODE: usize = 128;

/// A machine of so many cores, a multiple of four.
///
/// # Panics
/// A machine cannot have so many cores.
pub fn machine(cores: usize) -> Machine {
    let cluster = CLUSTER.min(cores / 2);
    let mut text = format!("name = \"{cores} cores\"\ndescription = \"half of them big\"\n");
    for (number, first) in (0..cores).step_by(cluster).enumerate() {
        let core = ["cortex-a76", "cortex-a55"][number % 2];
        let (node, numbers) = (first / NODE, (first..first + cluster).collect::<Vec<_>>());
        text += &format!("[[cluster]]\nname = \"{core}-{number}\"\ncore = \"{core}\"\nnode = {node}\n");
        text += &format!("cores = {{ value = {numbers:?}, source = \"assumed\" }}\n");
    }
    text += "[costs]\n";
    let costs = [
        ("context_switch_us", 2),
        ("migrate_in_cluster_us", 5),
        ("migrate_across_clusters_us", 20),
        ("remote_memory", 2),
        ("dvfs_transition_us", 50),
        ("tick_us", 4000),
    ];
    for (cost, value) in costs {
        text += &format!("{cost} = {{ value = {value}, source = \"assumed\" }}\n");
    }
    Machine::from_toml(&text, "many").expect("a valid machine")
}

/// What a machine has to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// A third of it: threads that sleep most of the time, so that cores go idle and threads wake up all the time.
    Light,
    /// More than all of it: teams that meet at barriers and pipelines besides, so that threads wait for cores.
    Heavy,
}

/// Work for so many cores. It lasts the shorter the more cores there are: about as many events in all.
pub fn workload(cores: usize, load: Load) -> Workload {
    let mut programs = Vec::new();
    for _ in 0..cores / 4 {
        programs.push(requests());
        if load == Load::Heavy {
            programs.extend([team(), pipeline()]);
        }
    }
    let duration = Some(Ns(256_000_000_000 / cores as u64));
    Workload { name: "many".into(), programs, duration, ..Workload::default() }
}

/// Four threads that sleep, compute, and hold a lock for a moment.
fn requests() -> Program {
    let sleep = Op::Sleep { span: Ns::from_ms(1), spread: Spread::Exponential };
    let lock = LockId(0);
    let body =
        vec![sleep, compute(200, Spread::Exponential), Op::Lock(lock), compute(10, Spread::None), Op::Unlock(lock)];
    Program { locks: vec!["lock".into()], ..program("requests", vec![body; 4]) }
}

/// Three threads that compute and meet at a barrier.
fn team() -> Program {
    let body = vec![compute(500, Spread::Uniform(0.3)), Op::Barrier(BarrierId(0))];
    let barriers = vec![Barrier { name: "barrier".into(), parties: 3 }];
    Program { barriers, ..program("team", vec![body; 3]) }
}

/// One thread that makes items and one that consumes them.
fn pipeline() -> Program {
    let work = compute(300, Spread::Exponential);
    let ends = vec![vec![work.clone(), Op::Put(QueueId(0))], vec![Op::Get(QueueId(0)), work]];
    let queues = vec![Queue { name: "items".into(), capacity: 4, filled: 0, producers: 1 }];
    Program { queues, ..program("pipeline", ends) }
}

fn compute(us: u64, spread: Spread) -> Op {
    Op::Compute { phase: PhaseId(0), work: Work::Time(Ns::from_us(us)), spread }
}

/// A program whose threads repeat their operations for ever.
fn program(name: &str, bodies: Vec<Vec<Op>>) -> Program {
    let thread = |(number, body): (usize, Vec<Op>)| Thread {
        name: format!("thread{number}"),
        process: 0,
        ops: vec![Op::Repeat { times: None, body }],
        start: Start::At(Ns::ZERO),
        kind: ThreadKind::Application,
        sched: SchedParams::default(),
    };
    Program {
        name: name.into(),
        phases: vec![Phase { name: "work".into(), behaviour: Behaviour::REFERENCE }],
        threads: bodies.into_iter().enumerate().map(thread).collect(),
        ..Program::default()
    }
}

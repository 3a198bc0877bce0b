//! What tasks cost on the cores of tied workers, for a plan that is made before the program begins.

use evenkeel_model::{Behaviour, Machine, Ns};
use evenkeel_workload::Op;
use evenkeel_workload::program::{Phase, Task, Work};

/// What each kind of task, and the creation of a task, costs on each worker's core at its highest frequency.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    /// By site of the graph and worker.
    pub tasks: Vec<Vec<Ns>>,
    /// By worker.
    pub create: Vec<Ns>,
}

impl Costs {
    /// For workers that are tied to one core each. `calibrate` gives work in instructions of a phase.
    pub fn new(
        machine: &Machine,
        phases: &[Phase],
        calibrate: &impl Fn(&Behaviour, Work) -> u64,
        create: Work,
        tasks: &[&Task],
        workers: &[Option<Vec<u16>>],
    ) -> Self {
        let homes = workers.iter().flatten().map(|cores| machine.cores[usize::from(cores[0])].core_type);
        let homes: Vec<_> = homes.collect();
        let time = |home, behaviour: &Behaviour, work: Work| {
            let instructions = calibrate(behaviour, work) as f64;
            instructions / machine.rate(home, machine.core_types[usize::from(home.0)].max_frequency(), behaviour)
        };
        let phase = |op: &Op| match op {
            Op::Compute { phase, work, .. } => Some((&phases[phase.index()].behaviour, *work)),
            _ => None,
        };
        let on = |task: &Task, home| {
            let compute = |op: &Op| phase(op).map_or(0.0, |(behaviour, work)| time(home, behaviour, work));
            Ns(length(&task.body, &compute) as u64)
        };
        let of_task = |task: &&Task| homes.iter().map(|home| on(task, *home)).collect();
        let create = |home: &_| Ns(time(*home, &Behaviour::REFERENCE, create) as u64);
        Self { tasks: tasks.iter().map(of_task).collect(), create: homes.iter().map(create).collect() }
    }
}

/// How long operations take in ns, given how long a computation does.
fn length(ops: &[Op], compute: &impl Fn(&Op) -> f64) -> f64 {
    let one = |op: &Op| match op {
        Op::Spin(span) | Op::Sleep { span, .. } => span.0 as f64,
        Op::Repeat { times, body } => times.unwrap_or(1) as f64 * length(body, compute),
        op => compute(op),
    };
    ops.iter().map(one).sum()
}

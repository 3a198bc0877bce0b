//! Work that a file gives as time on a certain core, turned into instructions.
//!
//! rt-app calibrates on a core that it names ([`Calibration::Core`]). That core exists on the machine as its file
//! declares it, but neither on the big-only machine of the reference runs nor, under that number, when the cores are
//! numbered in another order. So the amount of work is fixed before anything runs.

use evenkeel_model::{CoreId, Machine};
use evenkeel_workload::program::{Calibration, Work};
use evenkeel_workload::{Op, Program, Workload};

/// The workload with the work of programs that name a calibration core given in instructions.
pub fn resolve(workload: &Workload, machine: &Machine) -> Workload {
    let mut workload = workload.clone();
    for program in &mut workload.programs {
        // A core that the machine lacks is left for the simulator to refuse.
        if let Calibration::Core(core) = program.calibration
            && usize::from(core) < machine.cores.len()
        {
            fix(program, machine, CoreId(core));
        }
    }
    workload
}

fn fix(program: &mut Program, machine: &Machine, core: CoreId) {
    let core_type = machine.cores[core.index()].core_type;
    let frequency = machine.core_type(core).max_frequency();
    let rates: Vec<f64> =
        program.phases.iter().map(|phase| machine.rate(core_type, frequency, &phase.behaviour)).collect();
    for thread in &mut program.threads {
        fix_ops(&mut thread.ops, &rates);
    }
    for item in program.lists.iter_mut().flat_map(|list| &mut list.items) {
        fix_ops(item, &rates);
    }
    program.calibration = Calibration::Biggest;
}

fn fix_ops(ops: &mut [Op], rates: &[f64]) {
    for op in ops {
        match op {
            Op::Compute { phase, work, .. } | Op::Split { phase, work, .. } => {
                if let (Work::Time(span), Some(rate)) = (*work, rates.get(phase.index())) {
                    *work = Work::Instructions((span.0 as f64 * rate).round() as u64);
                }
            }
            Op::Drain { body, .. } | Op::Repeat { body, .. } => fix_ops(body, rates),
            Op::Task(task) => fix_ops(&mut task.body, rates),
            _ => {}
        }
    }
}

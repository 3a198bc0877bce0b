//! From a workload to code: its programs one after the other, each with its runtime system if it creates tasks.

use evenkeel_model::Machine;
use evenkeel_workload::{Op, Workload};

use crate::threads::code::{Code, Instr, ThreadCode};
use crate::threads::flatten::{Calibrate, Flatten};
use crate::threads::tasking::{Act, layout};

/// Lowers a workload of the machine.
///
/// # Errors
/// A task graph that is too large.
pub(crate) fn lower(workload: &Workload, machine: &Machine, calibrate: Calibrate<'_>) -> Result<Code, String> {
    let mut code = Code::default();
    for (index, program) in workload.programs.iter().enumerate() {
        let flatten = Flatten::new(&mut code, program, calibrate);
        code.locks.extend(program.locks.iter().cloned());
        code.barriers.extend(program.barriers.iter().map(|barrier| (barrier.name.clone(), barrier.parties)));
        code.queues.extend(program.queues.iter().cloned());
        code.conditions.extend(program.conditions.iter().cloned());
        code.semaphores.extend(program.semaphores.iter().map(|one| (one.name.clone(), one.count)));
        code.events.extend(program.events.iter().cloned());
        code.splits.extend(&program.splits);
        code.timers += program.timers.len();
        flatten.lists(&mut code);
        for (position, thread) in program.threads.iter().enumerate() {
            let entry = code.instrs.len() as u32;
            let mut slots = 0;
            flatten.ops(&mut code, &thread.ops, 0, &mut slots);
            if flatten.creator == Some(position) {
                code.instrs.extend([Act::Wait, Act::End].map(|act| flatten.act(act)));
            }
            code.instrs.push(Instr::Exit);
            code.threads.push(ThreadCode {
                program: index,
                process: thread.process,
                name: thread.name.clone(),
                start: thread.start,
                kind: thread.kind,
                sched: thread.sched.clone(),
                entry,
                slots,
                endless: endless(&thread.ops),
            });
        }
        if let Some(creator) = flatten.creator {
            layout::add(&mut code, &flatten, machine, creator).map_err(|why| format!("{}: {why}", program.name))?;
        }
        code.extents.push(flatten.extent(&code));
    }
    Ok(code)
}

/// Whether the operations never end.
pub(crate) fn endless(ops: &[Op]) -> bool {
    ops.iter().any(|op| match op {
        Op::Repeat { times: None, .. } => true,
        Op::Repeat { body, .. } | Op::Drain { body, .. } => endless(body),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use evenkeel_workload::program::{Program, QueueId, SchedParams, Start, ThreadKind};

    use super::*;

    #[test]
    fn nesting_becomes_jumps() {
        let inner = Op::Repeat { times: Some(2), body: vec![Op::Yield] };
        let drain = Op::Drain { queue: QueueId(0), body: vec![inner] };
        let thread = evenkeel_workload::Thread {
            name: "t".into(),
            process: 0,
            ops: vec![Op::Repeat { times: Some(3), body: vec![drain] }],
            start: Start::Spawned,
            kind: ThreadKind::Application,
            sched: SchedParams::default(),
        };
        let program = Program { threads: vec![thread], ..Program::default() };
        let workload = Workload { name: "w".into(), programs: vec![program], ..Workload::default() };
        let machine = evenkeel_model::machines::by_name("2B2S").unwrap();
        let code = lower(&workload, &machine, &|_, _, _| 0).unwrap();
        assert_eq!(
            code.instrs,
            [
                Instr::Loop { slot: 0, times: 3 },
                Instr::Drain { queue: 0, exit: 6 },
                Instr::Loop { slot: 1, times: 2 },
                Instr::Yield,
                Instr::Next { slot: 1, start: 3 },
                Instr::Again(1),
                Instr::Next { slot: 0, start: 1 },
                Instr::Exit,
            ]
        );
        assert_eq!(code.threads[0].slots, 2);
    }
}

//! What is run: regions with all cores active, with some of them, and with one thread.

use evenkeel_kernels::{Evenkeel, Row};
use evenkeel_runtime::{Pool, par_for, scope};
use std::hint::black_box;

/// How often the regions of a case are repeated: then a run takes one or two seconds, beside which its start is short.
pub const REPEATS: u32 = 4;
/// Pieces of a loop.
pub const PIECES: u32 = 2000;

/// Runs a case on a pool.
pub type Run = Box<dyn Fn(&Pool)>;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Case {
    /// Regions of so many equal tasks, and before each so many tasks' work by the one thread.
    Regions { name: &'static str, serial: u32, tasks: u32, work: u32 },
    /// A kernel of the paper, at a multiple of the paper's input, so many times.
    Kernel { name: &'static str, scale: f64, runs: u32 },
}

/// All of them. The work of a region is that of so many coarse tasks; a loop is the same in pieces.
pub const CASES: [Case; 6] = [
    Case::Regions { name: "2 tasks", serial: 0, tasks: 2, work: 2 },
    Case::Regions { name: "3 tasks", serial: 0, tasks: 3, work: 3 },
    Case::Regions { name: "loop", serial: 0, tasks: PIECES, work: 3 },
    Case::Regions { name: "serial, loop", serial: 1, tasks: PIECES, work: 2 },
    Case::Kernel { name: "radix-2", scale: 20.0, runs: 12 },
    Case::Kernel { name: "cilksort", scale: 20.0, runs: 12 },
];

impl Case {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regions { name, .. } | Self::Kernel { name, .. } => name,
        }
    }

    /// Returns what runs it on a pool, once everything that it needs is there; `steps` is the work of a coarse task.
    pub fn ready(self, steps: u64) -> Result<Run, String> {
        match self {
            Self::Regions { serial, tasks, work, .. } => Ok(Box::new(move |pool| {
                for _ in 0..REPEATS {
                    spin(u64::from(serial) * steps);
                    let piece = u64::from(work) * steps / u64::from(tasks);
                    pool.install(|| match tasks {
                        PIECES => par_for(0..tasks as usize, |_| _ = spin(piece)),
                        _ => scope(|scope| (0..tasks).for_each(|_| scope.spawn(move |_| _ = spin(piece)))),
                    });
                }
            })),
            Self::Kernel { name, scale, runs } => {
                let row = Row::by_name(name).ok_or_else(|| format!("no kernel {name}"))?;
                let problem = row.problem(scale);
                Ok(Box::new(move |pool| {
                    for _ in 0..runs {
                        black_box(pool.install(|| problem.run(&Evenkeel)));
                    }
                }))
            }
        }
    }
}

/// Work that only takes time: so many steps of a generator.
pub fn spin(steps: u64) -> u64 {
    let mut state = black_box(1_u64);
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(state)
}

//! How fast code runs and what it counts on each cluster at its present operating point: tables, so that an event neither
//! divides nor searches. Clusters of one core type at one operating point share a column.

use evenkeel_model::{Behaviour, ClusterId, CoreTypeId, Counters, Machine, Opp};
use evenkeel_workload::program::Memory;

use crate::threads::code::Code;
use crate::threads::pmu;
use crate::threads::thread::{SPIN, Thread};

/// The tables.
#[derive(Debug, Default)]
pub(crate) struct Speeds {
    /// Whether counts are wanted.
    counting: bool,
    /// Phases, and how many rows a column has: all phases with near memory and the reference code (for [`SPIN`]), then the
    /// same with memory of another node where there are several; and all that again for each number of hardware threads that run on a core.
    phases: usize,
    distances: usize,
    rows: usize,
    /// The most hardware threads of a core.
    threads: usize,
    /// The core type and operating point of each column, and where each cluster's column begins.
    columns: Vec<(CoreTypeId, Opp)>,
    of: Vec<usize>,
    /// Instructions per ns, for how many ns of an instruction memory keeps the core, and counts per instruction if they are wanted.
    rates: Vec<f64>,
    stalls: Vec<f64>,
    counts: Vec<Counters>,
}

/// Where in the tables the values are for what a thread does on a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell(usize);

impl Speeds {
    /// Tables for clusters at these operating points.
    pub(crate) fn new(machine: &Machine, code: &Code, opps: &[Opp], counting: bool) -> Self {
        let distances = if machine.nodes() > 1 { 2 } else { 1 };
        let phases = code.behaviours.len();
        let threads = machine.threads_of_a_core();
        let rows = threads * distances * (phases + 1);
        let of = vec![0; opps.len()];
        let mut speeds = Self { counting, phases, distances, rows, threads, of, ..Self::default() };
        for (cluster, opp) in (0..).map(ClusterId).zip(opps) {
            speeds.set(machine, code, cluster, *opp);
        }
        speeds
    }

    /// A cluster runs at another operating point.
    pub(crate) fn set(&mut self, machine: &Machine, code: &Code, cluster: ClusterId, opp: Opp) {
        let column = (machine.clusters[cluster.index()].core_type, opp);
        let known = self.columns.iter().position(|known| *known == column);
        let column = known.unwrap_or_else(|| {
            self.add(machine, code, column);
            self.columns.len() - 1
        });
        self.of[cluster.index()] = column * self.rows;
    }

    fn add(&mut self, machine: &Machine, code: &Code, column: (CoreTypeId, Opp)) {
        self.columns.push(column);
        let (on, at) = (column.0, column.1.frequency);
        let reference = (&Behaviour::REFERENCE, &Memory::Local);
        for running in 1..=self.threads {
            let longer = machine.core_types[on.index()].longer(running);
            for remote in [false, true].into_iter().take(self.distances) {
                for (behaviour, memory) in code.behaviours.iter().zip(&code.memory).chain([reference]) {
                    let distance = match (memory, remote) {
                        (Memory::Interleaved, _) => machine.interleaved_memory(),
                        (Memory::Local, false) => 1.0,
                        (Memory::Local, true) => machine.costs.remote_memory,
                    };
                    self.rates.push(machine.rate_beside(on, at, &behaviour.at_distance(distance), longer));
                    self.stalls.push(machine.core_types[on.index()].stall(&behaviour.at_distance(distance)));
                    if self.counting {
                        self.counts.push(pmu::per_instruction(machine, on, at, behaviour, distance, longer));
                    }
                }
            }
        }
    }

    /// What a thread does now, on a cluster, where so many hardware threads of its core run.
    pub(crate) fn cell(&self, t: &Thread, cluster: ClusterId, running: u8) -> Cell {
        let phase = if t.phase == SPIN { self.phases } else { t.phase as usize };
        self.place(phase, t.remote, cluster, running)
    }

    fn place(&self, phase: usize, remote: bool, cluster: ClusterId, running: u8) -> Cell {
        let block = usize::from(running.max(1) - 1) * self.distances + usize::from(remote);
        Cell(self.of[cluster.index()] + block * (self.phases + 1) + phase)
    }

    /// The rate of a phase with near memory on a cluster.
    pub(crate) fn near(&self, phase: u32, cluster: usize) -> f64 {
        self.rates[self.of[cluster] + phase as usize]
    }

    /// The rate of the reference code on a cluster, where so many hardware threads of its core run.
    pub(crate) fn reference(&self, cluster: ClusterId, running: u8) -> f64 {
        self.rate(self.place(self.phases, false, cluster, running))
    }

    /// Instructions per ns.
    pub(crate) fn rate(&self, at: Cell) -> f64 {
        self.rates[at.0]
    }

    /// For how long memory keeps the core, in ns an instruction.
    pub(crate) fn stall(&self, at: Cell) -> f64 {
        self.stalls[at.0]
    }

    /// Counts per instruction, if they are wanted.
    pub(crate) fn counts(&self, at: Cell) -> Option<&Counters> {
        self.counts.get(at.0)
    }
}

//! The CPUs that a program was recorded on: how fast they are, which thread runs, what a switch costs.

use evenkeel_model::{Behaviour, Costs, Machine, Ns};

#[derive(Debug)]
struct Cpu {
    /// Speed as a share of that of the biggest core.
    speed: f64,
    core_type: usize,
    cluster: usize,
    running: Option<usize>,
    /// When a thread last left it.
    left: Ns,
    /// The recorded thread that ran last.
    last: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Cpus {
    list: Vec<Cpu>,
    /// How many core types there are.
    pub types: usize,
    costs: Costs,
}

impl Cpus {
    pub(super) fn new(machine: &Machine) -> Self {
        let cpu = |core: &evenkeel_model::Core| Cpu {
            speed: 1.0 / machine.speedup_over(core.core_type, &Behaviour::REFERENCE),
            core_type: core.core_type.index(),
            cluster: core.cluster.index(),
            running: None,
            left: Ns::ZERO,
            last: None,
        };
        let list = machine.cores.iter().map(cpu).collect();
        Self { list, types: machine.core_types.len(), costs: machine.costs }
    }

    /// What a CPU does in a nanosecond, in nanoseconds of the biggest core. A CPU that the machine lacks counts as big.
    pub(super) fn speed(&self, cpu: u16) -> f64 {
        self.list.get(usize::from(cpu)).map_or(1.0, |cpu| cpu.speed)
    }

    /// The type of a CPU, by the same rule.
    pub(super) fn core_type(&self, cpu: u16) -> usize {
        self.list.get(usize::from(cpu)).map_or(0, |cpu| cpu.core_type)
    }

    pub(super) fn running(&self, cpu: u16) -> Option<usize> {
        self.list.get(usize::from(cpu)).and_then(|cpu| cpu.running)
    }

    /// A thread begins to run. Returns how long its CPU is busy with the switch and with the thread's cold caches.
    pub(super) fn put_on(&mut self, cpu: u16, thread: usize, before: Option<u16>) -> Ns {
        let cluster = |cpu: u16| self.list.get(usize::from(cpu)).map(|cpu| cpu.cluster);
        let moved = match before {
            Some(before) if before == cpu => Ns::ZERO,
            Some(before) if cluster(before) == cluster(cpu) => self.costs.migrate_in_cluster,
            Some(_) => self.costs.migrate_across_clusters,
            None => Ns::ZERO,
        };
        let Some(cpu) = self.list.get_mut(usize::from(cpu)) else { return moved };
        let switch = if cpu.last == Some(thread) { Ns::ZERO } else { self.costs.context_switch };
        cpu.running = Some(thread);
        cpu.last = Some(thread);
        switch + moved
    }

    pub(super) fn take_off(&mut self, cpu: u16, thread: usize, now: Ns) {
        if let Some(cpu) = self.list.get_mut(usize::from(cpu)).filter(|cpu| cpu.running == Some(thread)) {
            cpu.running = None;
            cpu.left = now;
        }
    }

    /// When a thread last left a CPU.
    pub(super) fn left(&self, cpu: u16) -> Ns {
        self.list.get(usize::from(cpu)).map_or(Ns::ZERO, |cpu| cpu.left)
    }
}

//! The CPUs that a program was recorded on: how fast they are, which thread runs, what a switch costs.

use evenkeel_model::{Behaviour, CoreId, Costs, Machine, Ns};

#[derive(Debug)]
struct Cpu {
    /// Speed as a share of that of the biggest core.
    speed: f64,
    core_type: usize,
    cluster: usize,
    running: Option<usize>,
    /// When a thread last left it.
    left: Ns,
    /// The recorded thread that ran last, and its process.
    last: Option<(usize, u32)>,
    /// The other hardware threads of its core, and how many times as long work takes beside one of them.
    siblings: Vec<u16>,
    longer: f64,
    /// For how long one of them had run in all, and since when one does.
    beside: Ns,
    beside_since: Option<Ns>,
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
        let cpu = |(id, core): (CoreId, &evenkeel_model::Core)| {
            let siblings: Vec<u16> =
                machine.siblings(id).iter().filter(|other| *other != id).map(|other| other.0).collect();
            Cpu {
                speed: 1.0 / machine.speedup_over(core.core_type, &Behaviour::REFERENCE),
                core_type: core.core_type.index(),
                cluster: core.cluster.index(),
                running: None,
                left: Ns::ZERO,
                last: None,
                siblings,
                longer: machine.core_type(id).longer(2),
                beside: Ns::ZERO,
                beside_since: None,
            }
        };
        let list = (0..).map(CoreId).zip(&machine.cores).map(cpu).collect();
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

    /// A thread of a process begins to run. Returns how long its CPU is busy with the switch and with the thread's cold caches.
    pub(super) fn put_on(&mut self, cpu: u16, thread: usize, process: u32, before: Option<u16>, now: Ns) -> Ns {
        let cluster = |cpu: u16| self.list.get(usize::from(cpu)).map(|cpu| cpu.cluster);
        let moved = match before {
            Some(before) if before == cpu => Ns::ZERO,
            Some(before) if cluster(before) == cluster(cpu) => self.costs.migrate_in_cluster,
            Some(_) => self.costs.migrate_across_clusters,
            None => Ns::ZERO,
        };
        let Some(on) = self.list.get_mut(usize::from(cpu)) else { return moved };
        let switch = match on.last.replace((thread, process)) {
            Some((last, _)) if last == thread => Ns::ZERO,
            Some((_, last)) if last != process => self.costs.context_switch + self.costs.process_switch,
            _ => self.costs.context_switch,
        };
        on.running = Some(thread);
        self.tell_siblings(cpu, now);
        switch + moved
    }

    pub(super) fn take_off(&mut self, cpu: u16, thread: usize, now: Ns) {
        if let Some(from) = self.list.get_mut(usize::from(cpu)).filter(|cpu| cpu.running == Some(thread)) {
            from.running = None;
            from.left = now;
            self.tell_siblings(cpu, now);
        }
    }

    /// Whether a CPU runs a thread has changed.
    fn tell_siblings(&mut self, cpu: u16, now: Ns) {
        for place in 0..self.list[usize::from(cpu)].siblings.len() {
            let sibling = usize::from(self.list[usize::from(cpu)].siblings[place]);
            let beside =
                self.list[sibling].siblings.iter().any(|other| self.list[usize::from(*other)].running.is_some());
            let sibling = &mut self.list[sibling];
            match sibling.beside_since {
                None if beside => sibling.beside_since = Some(now),
                Some(since) if !beside => {
                    sibling.beside += now.since(since);
                    sibling.beside_since = None;
                }
                _ => {}
            }
        }
    }

    /// For how long another hardware thread of a CPU's core has run in all, up to now.
    pub(super) fn beside(&self, cpu: u16, now: Ns) -> Ns {
        let running = |cpu: &Cpu| cpu.beside_since.map_or(Ns::ZERO, |since| now.since(since));
        self.list.get(usize::from(cpu)).map_or(Ns::ZERO, |cpu| cpu.beside + running(cpu))
    }

    /// How many times as long work takes on a CPU beside another hardware thread.
    pub(super) fn longer(&self, cpu: u16) -> f64 {
        self.list.get(usize::from(cpu)).map_or(1.0, |cpu| cpu.longer)
    }

    /// When a thread last left a CPU.
    pub(super) fn left(&self, cpu: u16) -> Ns {
        self.list.get(usize::from(cpu)).map_or(Ns::ZERO, |cpu| cpu.left)
    }
}

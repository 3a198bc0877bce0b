//! A kernel that does what `scx.bpf.c` does.

use std::collections::VecDeque;

use super::*;
use crate::event::Described;

/// What the part in the kernel keeps.
#[derive(Default)]
pub(super) struct Kernel {
    pub cpus: Vec<Cpu>,
    pub threads: BTreeMap<Tid, Task>,
    pub events: VecDeque<Event>,
    /// Cores that were told of their assignment, and whether to stop for it.
    pub kicks: Vec<(u16, bool)>,
    /// Where threads are that must not migrate now, which the process is not told.
    pub held: BTreeMap<Tid, usize>,
    /// What the governor of frequencies was told last.
    pub levels: BTreeMap<u16, u32>,
    pub now: Ns,
}

#[derive(Clone, Default)]
pub(super) struct Cpu {
    pub runs: Option<Tid>,
    /// What ran before another thread of the local queue had its turn, which is no event.
    interrupted: Option<Tid>,
    local: VecDeque<Tid>,
    assignment: Option<Assignment>,
}

/// A thread of the kernel.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub location: Where,
    pub weight: u32,
    mask: u64,
    /// It is to leave its core.
    leaves: bool,
    /// What it had run when it began to run, and when that was.
    ran: Ns,
    since: Ns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Blocked,
    Waits,
    Local,
    Runs,
}

impl Orders for Kernel {
    fn send(&mut self, cpu: u16, assignment: Assignment) {
        // In place of an older assignment of a thread that another core has taken meanwhile.
        self.cpus[usize::from(cpu)].assignment = Some(assignment);
        self.kicks.push((cpu, false));
    }

    fn stop(&mut self, cpu: u16, tid: Tid) {
        if self.cpu_of(tid) == Some(usize::from(cpu)) {
            self.threads.get_mut(&tid).unwrap().leaves = true;
            self.kicks.push((cpu, true));
        }
    }

    fn perform(&mut self, cpu: u16, level: u32) {
        self.levels.insert(cpu, level);
    }
}

impl Kernel {
    pub fn new(cpus: usize) -> Self {
        Self { cpus: vec![Cpu::default(); cpus], ..Self::default() }
    }

    fn tell(&mut self, tid: Tid, cpu: usize, what: What) {
        let ran = self.threads.get(&tid).map_or(Ns::ZERO, |task| match task.location {
            Where::Runs => task.ran + self.now.since(task.since),
            _ => task.ran,
        });
        let weight = self.threads.get(&tid).map_or(0, |task| task.weight);
        self.events.push_back(Event { at: self.now, ran, tid, cpu: cpu as u16, weight, what });
    }

    /// Where a thread is from now on.
    fn place(&mut self, tid: Tid, location: Where) {
        let now = self.now;
        let task = self.threads.get_mut(&tid).unwrap();
        if task.location == Where::Runs {
            task.ran += now.since(task.since);
        }
        (task.location, task.since) = (location, now);
        task.leaves &= location == Where::Runs;
    }

    pub fn ready(&mut self, tid: Tid, cpu: usize, woken: bool) {
        self.place(tid, Where::Waits);
        self.tell(tid, cpu, What::Ready { woken, by: None, waited: Ns::ZERO, yielded: false });
    }

    /// Another thread wakes one that has waited for it in a futex call.
    pub fn woken(&mut self, tid: Tid, by: Tid, waited: Ns) {
        self.place(tid, Where::Waits);
        self.tell(tid, 0, What::Ready { woken: true, by: Some(by), waited, yielded: false });
    }

    pub fn begin(&mut self, tid: Tid, mask: u64) {
        self.threads.insert(
            tid,
            Task { location: Where::Blocked, weight: 1024, mask, leaves: false, ran: Ns::ZERO, since: self.now },
        );
        self.tell(tid, mask.trailing_zeros() as usize, What::Enabled(described(mask)));
    }

    /// A thread is given another mask. The kernel takes it off its queue for that and queues it again, a running one, too,
    /// which then leaves if it runs elsewhere.
    pub fn mask(&mut self, tid: Tid, mask: u64) {
        let task = self.threads.get_mut(&tid).unwrap();
        task.mask = mask;
        let (waits, first) = (task.location == Where::Waits, mask.trailing_zeros() as usize);
        self.tell(tid, first, What::Mask(described(mask)));
        if waits {
            self.ready(tid, first, false);
        }
        if let Some(cpu) = self.cpu_of(tid).filter(|cpu| mask >> cpu & 1 == 0) {
            let core = &mut self.cpus[cpu];
            if core.runs == Some(tid) {
                core.runs = None
            } else {
                core.interrupted = None
            }
            self.ready(tid, cpu, false);
            self.tell(tid, cpu, What::Runs);
            self.ready(tid, first, false);
        }
    }

    /// A thread of another class keeps a core, or does no more.
    pub fn taken(&mut self, cpu: usize, is: bool) {
        self.tell(0, cpu, if is { What::Offline } else { What::Online });
    }

    /// A running thread goes on elsewhere.
    pub fn moves(&mut self, tid: Tid, to: usize) {
        let from = self.cpu_of(tid).unwrap();
        (self.cpus[from].runs, self.cpus[to].runs) = (None, Some(tid));
        self.tell(tid, to, What::Runs);
    }

    /// The core that runs a thread.
    pub fn cpu_of(&self, tid: Tid) -> Option<usize> {
        self.cpus.iter().position(|cpu| cpu.runs == Some(tid) || cpu.interrupted == Some(tid))
    }

    pub fn may_use(&self, tid: Tid, cpu: usize) -> bool {
        self.threads[&tid].mask >> cpu & 1 == 1 && self.held.get(&tid).is_none_or(|held| *held == cpu)
    }

    /// What a core does when it is kicked, or its thread's slice is over. If the process is late, it helps itself.
    pub fn dispatch(&mut self, cpu: usize, late: bool) {
        if let Some(Assignment { tid, number, .. }) = self.cpus[cpu].assignment.take() {
            match self.threads.get(&tid).map(|task| task.location) {
                Some(Where::Waits) if self.may_use(tid, cpu) => {
                    self.place(tid, Where::Local);
                    self.cpus[cpu].local.push_back(tid);
                }
                Some(Where::Waits) => self.tell(tid, cpu, What::Keeps(number)),
                _ => self.tell(tid, cpu, What::Refused(number)),
            }
        } else if late {
            let waits = |(tid, task): &(&Tid, &Task)| task.location == Where::Waits && self.may_use(**tid, cpu);
            let waits = self.threads.iter().filter(waits).min_by_key(|(_, task)| task.since).map(|(tid, _)| *tid);
            if let Some(tid) = waits {
                self.place(tid, Where::Local);
                self.cpus[cpu].local.push_back(tid);
                // Threads take turns.
                if let Some(task) = self.cpus[cpu].runs.and_then(|runs| self.threads.get_mut(&runs)) {
                    task.leaves = true;
                }
            }
        }
        if let Some(tid) = self.cpus[cpu].runs.filter(|tid| self.threads[tid].leaves) {
            self.cpus[cpu].runs = None;
            self.ready(tid, cpu, false);
        }
        let interrupts = !self.cpus[cpu].local.is_empty() && self.cpus[cpu].interrupted.is_none();
        if let Some(tid) = self.cpus[cpu].runs.take_if(|_| interrupts) {
            self.place(tid, Where::Runs);
            self.cpus[cpu].interrupted = Some(tid);
        } else {
            // They take turns.
            let other = self.cpus[cpu].runs.take();
            self.resume(cpu);
            if let Some(tid) = other {
                self.place(tid, Where::Runs);
                let core = &mut self.cpus[cpu];
                if core.runs.is_none() { core.runs = other } else { core.interrupted = other }
            }
        }
        if self.cpus[cpu].runs.is_none()
            && let Some(tid) = self.cpus[cpu].local.pop_front()
        {
            if !self.may_use(tid, cpu) {
                return self.ready(tid, self.threads[&tid].mask.trailing_zeros() as usize, false);
            }
            self.cpus[cpu].runs = Some(tid);
            self.place(tid, Where::Runs);
            self.tell(tid, cpu, What::Runs);
        }
    }

    /// What was interrupted goes on, unless it was to leave.
    fn resume(&mut self, cpu: usize) {
        let Some(tid) = self.cpus[cpu].interrupted.take() else { return };
        self.threads.get_mut(&tid).unwrap().since = self.now;
        if self.threads[&tid].leaves {
            return self.ready(tid, cpu, false);
        }
        self.cpus[cpu].runs = Some(tid);
    }

    /// The thread of a core calls exec. The first one of its process, which waits for its end, is none any more.
    pub fn exec(&mut self, cpu: usize, first: Tid) {
        let Some(tid) = self.cpus[cpu].runs else { return };
        if let Some(task) = self.threads.remove(&tid) {
            self.threads.insert(first, task);
            self.cpus[cpu].runs = Some(first);
            // Two CPUs may find it out at once.
            (0..2).for_each(|_| self.tell(first, cpu, What::Renamed { before: tid, slot: 0 }));
        }
    }

    /// Something that comes first, such as the process that decides, had the core of a thread for so long.
    pub fn interrupts(&mut self, tid: Tid, time: Ns) {
        self.threads.get_mut(&tid).unwrap().since += time;
    }

    pub fn blocks(&mut self, cpu: usize, exits: bool) {
        let Some(tid) = self.cpus[cpu].runs.take() else { return };
        self.place(tid, Where::Blocked);
        self.tell(tid, cpu, What::Blocks { futex: false });
        if exits {
            self.tell(tid, cpu, What::Disabled { slot: 0 });
            self.threads.remove(&tid);
        }
    }
}

fn described(mask: u64) -> Box<Described> {
    let mut words = [0; 16];
    words[0] = mask;
    Box::new(Described { process: 1, mask: words, name: "thread".into(), ..Described::default() })
}

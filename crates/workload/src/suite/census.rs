//! What a program amounts to, counted from its operations without running it.

use evenkeel_model::Behaviour;

use crate::program::{Op, Program, QueueId, Thread, Work};

/// Totals over a whole run of a program. An amount that varies counts with its mean. Infinite loops count as infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Census {
    /// Instructions, of work that is given in instructions.
    pub instructions: f64,
    /// Operations that can block on another thread: lock, barrier, put, get, wait, acquire, and taking an item of a
    /// drain. What only wakes (unlock, close, signal, post) is not counted again.
    pub synchronisations: f64,
    /// Memory time before any overlap, in ns.
    pub memory_ns: f64,
    /// The part of the memory time that falls on data which other threads wrote, in ns.
    pub exchange_ns: f64,
    /// Operations executed.
    pub operations: f64,
}

impl Census {
    /// Operations that can block, per million instructions.
    pub fn synchronisations_per_minst(&self) -> f64 {
        self.synchronisations / self.instructions * 1e6
    }

    /// Memory time on other threads' data, in ns per 1000 instructions.
    pub fn exchange_ns_per_kinst(&self) -> f64 {
        self.exchange_ns / self.instructions * 1e3
    }
}

/// Counts a program. `exchanges` says of a phase, by its name, whether it mostly reads what other threads wrote.
///
/// Threads that drain a queue together are taken to get equal numbers of its items. Tasks count for the thread that
/// creates them.
pub fn census(program: &Program, exchanges: impl Fn(&str) -> bool) -> Census {
    let mut census = Census::default();
    let exchanges: Vec<bool> = program.phases.iter().map(|phase| exchanges(&phase.name)).collect();
    let queues = Queues::new(program);
    for thread in &program.threads {
        executions(&queues, thread, &mut |op, times| {
            census.operations += times;
            match op {
                Op::Compute { phase, work, .. } | Op::Split { phase, work, .. } => {
                    let instructions = mean(program, op, *work).0 * times;
                    let memory_ns = instructions / 1e3 * program.phases[phase.index()].behaviour.memory_ns;
                    census.instructions += instructions;
                    census.memory_ns += memory_ns;
                    census.exchange_ns += if exchanges[phase.index()] { memory_ns } else { 0.0 };
                }
                Op::Lock(_) | Op::Barrier(_) | Op::Put(_) | Op::Get(_) | Op::Wait { .. } | Op::Acquire(_) => {
                    census.synchronisations += times;
                }
                // The last attempt of a drain finds the queue finished.
                Op::Drain { queue, .. } => census.synchronisations += times * (1.0 + queues.share(*queue)),
                _ => {}
            }
        });
    }
    census
}

/// How long each thread would run, alone on a core that retires `rate` instructions per ns of a behaviour. Sleep and
/// waiting are not counted. In ns, in the order of the threads.
pub fn busy_ns(program: &Program, rate: impl Fn(&Behaviour) -> f64) -> Vec<f64> {
    let rates: Vec<f64> = program.phases.iter().map(|phase| rate(&phase.behaviour)).collect();
    let queues = Queues::new(program);
    let busy = |thread: &Thread| {
        let mut busy = 0.0;
        executions(&queues, thread, &mut |op, times| match op {
            Op::Compute { phase, work, .. } | Op::Split { phase, work, .. } => {
                let (instructions, ns) = mean(program, op, *work);
                busy += (instructions / rates[phase.index()] + ns) * times;
            }
            Op::Spin(span) => busy += span.0 as f64 * times,
            _ => {}
        });
        busy
    };
    program.threads.iter().map(busy).collect()
}

/// How many instructions of an operation's work are a thread's, or how many ns: of a loop that is split an equal part, which is what threads have on average.
fn mean(program: &Program, op: &Op, work: Work) -> (f64, f64) {
    let threads = match op {
        Op::Split { split, .. } => f64::from(program.splits[split.index()]),
        _ => 1.0,
    };
    match work {
        Work::Instructions(amount) => (amount as f64 / threads, 0.0),
        Work::Time(span) => (0.0, span.0 as f64 / threads),
    }
}

/// Calls `visit` with every operation of a thread and how often it is executed.
fn executions(queues: &Queues, thread: &Thread, visit: &mut impl FnMut(&Op, f64)) {
    weighted(&thread.ops, 1.0, &|queue| queues.share(queue), visit);
}

fn weighted(ops: &[Op], times: f64, share: &dyn Fn(QueueId) -> f64, visit: &mut impl FnMut(&Op, f64)) {
    for op in ops {
        visit(op, times);
        match op {
            Op::Drain { queue, body } => weighted(body, times * share(*queue), share, visit),
            Op::Repeat { times: rounds, body } => {
                let rounds = rounds.map_or(f64::INFINITY, |rounds| rounds as f64);
                weighted(body, times * rounds, share, visit);
            }
            Op::Task(task) => weighted(&task.body, times, share, visit),
            _ => {}
        }
    }
}

/// How many items go through each queue, and how many drains share them.
struct Queues {
    items: Vec<f64>,
    drains: Vec<f64>,
}

impl Queues {
    /// Items come from drains of other queues, so the counts settle after as many rounds as a pipeline has stages.
    fn new(program: &Program) -> Self {
        let mut drains = vec![0.0; program.queues.len()];
        for thread in &program.threads {
            crate::validate::walk(&thread.ops, &mut |op| {
                if let Op::Drain { queue, .. } = op {
                    drains[queue.index()] += 1.0;
                }
            });
        }
        let filled: Vec<f64> = program.queues.iter().map(|queue| queue.filled as f64).collect();
        let mut queues = Self { items: filled.clone(), drains };
        for _ in 0..=program.queues.len() {
            let mut items = filled.clone();
            for thread in &program.threads {
                executions(&queues, thread, &mut |op, times| {
                    if let Op::Put(queue) = op {
                        items[queue.index()] += times;
                    }
                });
            }
            if items == queues.items {
                break;
            }
            queues.items = items;
        }
        queues
    }

    /// How many items one drain of a queue gets.
    fn share(&self, queue: QueueId) -> f64 {
        self.items[queue.index()] / self.drains[queue.index()].max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_followed_through_a_pipeline() {
        let text = r#"
[[program]]
name = "p"
phases.x = { ilp = 2.0, memory_ns = 100 }
queues = { a = 4, b = 4 }
[[program.threads]]
name = "last"
do = [{ drain = "b", do = [{ compute = "1 kinst" }] }]
[[program.threads]]
name = "middle"
count = 2
do = [{ drain = "a", do = [{ repeat = 3, do = [{ put = "b" }] }] }, { close = "b" }]
[[program.threads]]
name = "first"
do = [{ repeat = 10, do = [{ put = "a" }] }, { close = "a" }]
"#;
        let program = crate::format::load("p", text, "p.toml", None).unwrap().programs.remove(0);
        let census = census(&program, |_| true);
        assert_eq!(census.instructions, 30_000.0);
        assert_eq!(census.synchronisations, 10.0 + 12.0 + 30.0 + 31.0, "puts, takes and the last attempts");
        assert_eq!(census.exchange_ns, 3_000.0);
        assert_eq!(busy_ns(&program, |_| 2.0)[0], 15_000.0);
    }
}

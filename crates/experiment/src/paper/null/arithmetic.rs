//! What arithmetic on the inputs alone makes of a set.
//!
//! Nothing waits, queues, moves or meets here. Cores are shared out by a rule ([`Sharing`]), and a thread takes as long as its work
//! does at its share. So everything follows from the speeds of cores, the numbers of threads, and their work.

use evenkeel_model::marginal::{Parameters, Range};
use evenkeel_model::stealing::Techniques;
use evenkeel_model::{Behaviour, Cluster, CoreTypeId, Machine, metrics};
use evenkeel_workload::kernels::{Kernel, Table};
use evenkeel_workload::program::{Program, ThreadKind};
use evenkeel_workload::suite::busy_ns;
use serde::Deserialize;

use crate::error::Result;
use crate::paper::equations;
use crate::paper::file::{Carrier, Experiment, Set};
use crate::paper::metric::Metric;
use crate::paper::sample::{Measured, Reckoned, Sample};
use crate::paper::workers;
use crate::plan::Plan;

/// Who has which cores, under a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Each thread has a core by chance, where it stays; with more threads than cores all have the same share of all cores.
    Chance,
    /// All threads have the same share of the fastest cores, of as many as there are threads.
    Equal,
    /// The fastest cores belong to the threads that gain most from them.
    Gain,
    /// All threads have the same share of the cores of the fastest type, and no others.
    Big,
}

/// What arithmetic makes of a set, for the policies of which the experiment says how they share out cores.
pub fn samples(experiment: &Experiment, set: &Set, plan: &Plan) -> Result<Vec<Sample>> {
    if matches!(set.carrier, Carrier::Equations) {
        return equations::run(experiment.policies_of(set), set);
    }
    let mut samples = Vec::new();
    for member in &set.workloads {
        for machine in &plan.machines {
            for policy in experiment.policies_of(set) {
                let workload = plan.workloads.iter().find(|workload| workload.name == member.name);
                let measured = match (set.carrier, workload) {
                    (Carrier::Workers(_), _) => Some(kernel(workers::kernel(&member.name)?, machine, policy)?),
                    (_, Some(workload)) => {
                        let rule = experiment.sharing(policy).map(|sharing| Rule::of(policy, sharing));
                        rule.map(|rule| threads(&workload.programs, machine, rule))
                    }
                    _ => None,
                };
                samples.extend(measured.map(|measured| Sample {
                    workload: member.name.clone(),
                    machine: machine.name.clone(),
                    policy: policy.clone(),
                    seed: 0,
                    measured,
                }));
            }
        }
    }
    Ok(samples)
}

/// Whom a way to share out cores is for.
#[derive(Clone, Copy)]
struct Rule {
    sharing: Sharing,
    /// The operating system has the other programs on all cores, and all threads on each core take turns (CGO 2016, 8.6).
    first_program: bool,
}

impl Rule {
    fn of(policy: &str, sharing: Sharing) -> Self {
        Self { sharing, first_program: policy.split(':').any(|knob| knob == "first-program") }
    }

    /// How all threads share a machine, and how long each program takes.
    fn apply(self, machine: &Machine, demands: &[Demand]) -> (Shares, Vec<f64>) {
        let threads: usize = demands.iter().map(|demand| demand.0.len()).sum();
        let shares = Shares::new(machine, if self.first_program { Sharing::Equal } else { self.sharing }, threads);
        let mut times = shares.times(demands);
        if let (true, Some(first)) = (self.first_program, demands.first()) {
            let own = first.0.len();
            let among = Shares { beside: threads - own, ..Shares::new(machine, self.sharing, own) };
            times[0] = among.times(std::slice::from_ref(first))[0];
        }
        (shares, times)
    }
}

/// Programs that start together.
fn threads(programs: &[Program], machine: &Machine, rule: Rule) -> Measured {
    let demands: Vec<Demand> = programs.iter().map(|program| Demand::of(program, machine)).collect();
    let (shares, times) = rule.apply(machine, &demands);
    // Alone, with only big cores (COLAB 5.1).
    let on_big = machine.symmetric(CoreTypeId(0));
    let alone = |demand: &Demand| Shares::new(&on_big, Sharing::Equal, demand.0.len()).time(demand);
    let pairs: Vec<(f64, f64)> = times.iter().zip(&demands).map(|(time, demand)| (*time, alone(demand))).collect();
    let makespan = times.iter().copied().fold(0.0, f64::max);
    let energy = |cluster: &Cluster| {
        let kind = &machine.core_types[cluster.core_type.index()];
        let opp = kind.highest_opp();
        let busy = kind.power(opp, machine.rate(cluster.core_type, opp.frequency, &Behaviour::REFERENCE)).0;
        let idle = opp.voltage.0 * kind.leakage * kind.idle_share;
        let used = shares.used(cluster.core_type);
        cluster.cores.len() as f64 * makespan * (used * busy + (1.0 - used) * idle)
    };
    Measured::Reckoned(Reckoned {
        programs: programs.iter().map(|program| program.name.clone()).zip(times).collect(),
        clusters: machine.clusters.iter().map(|cluster| (cluster.name.clone(), energy(cluster))).collect(),
        h_antt: metrics::h_antt(&pairs).unwrap_or(f64::NAN),
        h_stp: metrics::h_stp(&pairs),
    })
}

/// What the threads of a program have to do: for how long each would run on a core of each type, in seconds.
struct Demand(Vec<Vec<f64>>);

impl Demand {
    fn of(program: &Program, machine: &Machine) -> Self {
        let on = |id: usize| {
            let (id, frequency) = (CoreTypeId(id as u8), machine.core_types[id].max_frequency());
            busy_ns(program, |behaviour| machine.rate(id, frequency, behaviour))
        };
        let by_type: Vec<Vec<f64>> = (0..machine.core_types.len()).map(on).collect();
        // Services run for as long as the program does.
        let works = |thread: &usize| {
            let busy = by_type[0][*thread];
            program.threads[*thread].kind == ThreadKind::Application && busy.is_finite() && busy > 0.0
        };
        let of_thread = |thread: usize| by_type.iter().map(|busy| busy[thread] / 1e9).collect();
        let mut threads: Vec<Vec<f64>> = (0..program.threads.len()).filter(works).map(of_thread).collect();
        if program.tasking.is_some() {
            // Workers, one a core, share out all tasks.
            let cores = machine.cores.len();
            let total = |id: usize| threads.iter().map(|busy| busy[id]).sum::<f64>();
            let each: Vec<f64> = (0..by_type.len()).map(|id| total(id) / cores as f64).collect();
            threads = vec![each; cores];
        }
        Self(threads)
    }
}

/// How a number of threads shares a machine.
struct Shares {
    sharing: Sharing,
    threads: usize,
    /// Threads that are on all cores, so that each has as many threads as any other.
    beside: usize,
    /// By core type, the fastest first: how many cores there are, and how many of them are used.
    cores: Vec<usize>,
    used: Vec<usize>,
}

impl Shares {
    fn new(machine: &Machine, sharing: Sharing, threads: usize) -> Self {
        let count = |id: usize| machine.cores_of(CoreTypeId(id as u8)).len();
        let cores: Vec<usize> = (0..machine.core_types.len()).map(count).collect();
        let mut left = match sharing {
            Sharing::Chance => usize::MAX,
            Sharing::Equal | Sharing::Gain => threads,
            Sharing::Big => cores[0],
        };
        let take = |cores: &usize| {
            let taken = left.min(*cores);
            left -= taken;
            taken
        };
        Self { used: cores.iter().map(take).collect(), sharing, threads, beside: 0, cores }
    }

    /// How many cores are used.
    fn all_used(&self) -> usize {
        self.used.iter().sum()
    }

    /// How many threads take turns on a core: its own, and where those are fewer than on other cores, some beside them.
    fn turns(&self) -> f64 {
        let own = self.threads as f64 / self.all_used() as f64;
        let all = (self.threads + self.beside) as f64 / self.cores.iter().sum::<usize>() as f64;
        own.max(all).max(1.0)
    }

    /// The share of time for which a core of a type is busy.
    fn used(&self, core_type: CoreTypeId) -> f64 {
        let busy = (self.threads as f64 / self.all_used().max(1) as f64).min(1.0);
        busy * self.used[core_type.index()] as f64 / self.cores[core_type.index()].max(1) as f64
    }

    /// How long each program takes, in seconds.
    fn times(&self, demands: &[Demand]) -> Vec<f64> {
        match self.sharing {
            Sharing::Gain => self.by_gain(demands),
            _ => demands.iter().map(|demand| self.time(demand)).collect(),
        }
    }

    /// How long a program takes if its threads are like all others.
    fn time(&self, demand: &Demand) -> f64 {
        if self.sharing == Sharing::Chance && self.threads + self.beside <= self.all_used() {
            return self.longest_by_chance(demand);
        }
        // The time of a thread if that is divided between the types as the cores are.
        let part = |(busy, cores): (&f64, &usize)| *cores as f64 / self.all_used() as f64 / busy;
        let mixed = |busy: &Vec<f64>| 1.0 / busy.iter().zip(&self.used).map(part).sum::<f64>();
        let mean = demand.0.iter().map(mixed).sum::<f64>() / demand.0.len() as f64 * self.turns();
        // Whatever the others do, no thread is done sooner than on a core of its own.
        demand.0.iter().map(|busy| busy[0]).fold(mean, f64::max)
    }

    /// The expected time of the thread that takes longest, each on a core of its own, of any type.
    fn longest_by_chance(&self, demand: &Demand) -> f64 {
        let done_by = |time: f64| -> f64 {
            // On how many cores each thread is done by then: those of the fastest type, and of the next ones.
            let done_on = |busy: &Vec<f64>| -> usize {
                (0..busy.len()).filter(|id| busy[*id] <= time).map(|id| self.cores[id]).sum()
            };
            let mut fit: Vec<usize> = demand.0.iter().map(done_on).collect();
            fit.sort_unstable();
            // One after the other has one of those that are left, the one with the least choice first.
            let taken = |(before, cores): (usize, usize)| {
                cores.saturating_sub(before) as f64 / (self.all_used() - before) as f64
            };
            fit.into_iter().enumerate().map(taken).product()
        };
        let mut times: Vec<f64> = demand.0.iter().flatten().copied().collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let mut before = 0.0;
        let expected = times.into_iter().map(|time| {
            let by_now = done_by(time);
            time * (by_now - std::mem::replace(&mut before, by_now))
        });
        expected.sum()
    }

    /// The threads of all programs by what they gain from the fastest type, on the cores from the fastest on.
    fn by_gain(&self, demands: &[Demand]) -> Vec<f64> {
        let of_program = |(program, demand): (usize, &Demand)| (0..demand.0.len()).map(move |thread| (program, thread));
        let busy = |(program, thread): (usize, usize)| &demands[program].0[thread];
        let gain = |at: (usize, usize)| busy(at).last().copied().unwrap_or_default() / busy(at)[0];
        let mut order: Vec<(usize, usize)> = demands.iter().enumerate().flat_map(of_program).collect();
        order.sort_by(|a, b| gain(*b).total_cmp(&gain(*a)));
        let turns = self.turns();
        let types: Vec<usize> = (0..).zip(&self.used).flat_map(|(id, cores)| vec![id; *cores]).collect();
        let mut times = vec![0.0_f64; demands.len()];
        for (rank, at) in order.into_iter().enumerate() {
            let core = (rank as f64 / turns) as usize;
            times[at.0] = times[at.0].max(busy(at)[types[core.min(types.len() - 1)]] * turns);
        }
        times
    }
}

/// A kernel that workers play: its serial part on a big core, the rest on all of them, and where voltages are set, all of that
/// faster by what the first-order model says of a machine whose cores are all active. Power is the same, so that energy is as time.
fn kernel(kernel: &Kernel, machine: &Machine, policy: &str) -> Result<Measured> {
    let techniques: Techniques = workers::techniques(policy)?;
    let (big, little) = (machine.big().len(), machine.little().len());
    let paced = || Parameters::MATCHED.system(big, little).optimum(&[big, little], Range::Feasible).speedup;
    let faster = if techniques.pacing { paced() } else { 1.0 };
    let serial = Table::iii().serial;
    let parallel = (1.0 - serial) / (big as f64 * kernel.beta + little as f64) / faster;
    // Of the time of the serial program on a little core.
    let time = kernel.work * (serial / kernel.beta + parallel);
    Ok(Measured::Values(vec![
        (Metric::Time, time),
        (Metric::Energy, time),
        (Metric::Edp, time * time),
        (Metric::OverLittle, 1.0 / time),
        (Metric::OverBig, 1.0 / (time * kernel.beta)),
    ]))
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;

    use super::*;
    use crate::catalog;

    /// Threads of one and the same work on two big cores, twice as fast as two little ones.
    fn shares(sharing: Sharing, threads: usize) -> Shares {
        let used = match (sharing, threads) {
            (Sharing::Big, _) | (Sharing::Equal | Sharing::Gain, 2) => vec![2, 0],
            _ => vec![2, 2],
        };
        Shares { sharing, threads, beside: 0, cores: vec![2, 2], used }
    }

    fn equal(threads: usize) -> Demand {
        Demand(vec![vec![1.0, 2.0]; threads])
    }

    #[test]
    fn a_program_ends_with_the_thread_that_chance_put_on_a_little_core() {
        let time = shares(Sharing::Chance, 4).time(&equal(4));
        assert!((time - 2.0).abs() < 1e-12, "two big cores have two threads at the most: {time}");
        let two = shares(Sharing::Chance, 2).time(&equal(2));
        assert!((two - (2.0 - 1.0 / 6.0)).abs() < 1e-12, "both on big cores once in six: {two}");
        assert_eq!(shares(Sharing::Chance, 1).time(&equal(1)), 1.5);
    }

    #[test]
    fn equal_shares_are_what_all_cores_give() {
        let four_thirds = 4.0 / 3.0;
        assert!((shares(Sharing::Equal, 4).time(&equal(4)) - four_thirds).abs() < 1e-12);
        assert_eq!(shares(Sharing::Equal, 2).time(&equal(2)), 1.0);
        assert_eq!(shares(Sharing::Big, 4).time(&equal(4)), 2.0);
        for sharing in [Sharing::Equal, Sharing::Chance] {
            let time = shares(sharing, 8).time(&equal(8));
            assert!((time - 2.0 * four_thirds).abs() < 1e-12, "with queues nobody is left to chance: {time}");
        }
        let one_long = Demand(vec![vec![5.0, 10.0], vec![0.1, 0.2]]);
        assert_eq!(shares(Sharing::Equal, 2).time(&one_long), 5.0);
    }

    #[test]
    fn fast_cores_go_to_those_that_gain() {
        let gains = Demand(vec![vec![1.0, 3.0]]);
        let does_not = Demand(vec![vec![1.0, 1.2]; 3]);
        assert_eq!(shares(Sharing::Gain, 4).times(&[does_not, gains]), [1.2, 1.0]);
    }

    /// As WASH's adversary, which the operating system has on all cores: one thread of 1 s on the big core, beside 20 others.
    #[test]
    fn a_rule_for_the_first_program_leaves_the_others_on_all_cores() {
        let machine = catalog::machine("phenom-1B5S").unwrap().machine;
        let demands = [1, 20].map(|threads| Demand(vec![vec![1.0, 3.5]; threads]));
        let time = |policy| Rule::of(policy, Sharing::Big).apply(&machine, &demands).1;
        assert_eq!(time("bind-vm"), [21.0, 21.0], "all of them on the big core");
        let [first, others] = time("bind-vm:first-program")[..] else { panic!("two programs") };
        assert_eq!(first, 21.0 / 6.0);
        let all_cores = 21.0 / (1.0 + 5.0 / 3.5);
        assert!((others - all_cores).abs() < 1e-12, "{others}, {all_cores}");
    }

    #[test]
    fn services_and_tasks_are_not_threads_of_the_program() {
        let machine = machines::by_name("2B2S").unwrap();
        let of = |name: &str| Demand::of(&catalog::workload(name).unwrap().workload.programs[0], &machine).0;
        assert_eq!(of("radix").len(), 4);
        let tasks = of("cholesky");
        assert!(tasks.len() == 4 && tasks.iter().all(|busy| *busy == tasks[0]), "{tasks:?}");
    }
}

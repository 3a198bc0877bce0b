//! What is to be run: workloads on machines under policies, and the conditions of every run.

use std::path::Path;

use evenkeel_model::predict::Predictor;
use evenkeel_model::{CoreOrder, Machine, Ns};
use evenkeel_sched::steering::Steering;
use evenkeel_sched::{Governor, Setup};
use evenkeel_workload::program::{MainThread, ReadyQueue};
use evenkeel_workload::{Workload, validate};

use crate::catalog;
use crate::error::{Error, Result, TaskSetting};
use crate::training::Training;

/// Everything that is to be run: the product of its lists.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Workloads.
    pub workloads: Vec<Workload>,
    /// Machines.
    pub machines: Vec<Machine>,
    /// Policies.
    pub policies: Vec<Setup>,
    /// Orders in which the operating system numbers the cores.
    pub orders: Vec<CoreOrder>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// How every run is carried out.
    pub conditions: Conditions,
}

/// One run of a plan, by position in its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Position of the workload.
    pub workload: usize,
    /// Position of the machine.
    pub machine: usize,
    /// Position of the policy.
    pub policy: usize,
    /// The core order.
    pub order: CoreOrder,
    /// The seed.
    pub seed: u64,
}

impl Default for Plan {
    /// Nothing yet, in the two core orders that COLAB 5.1 averages over, with seed 1.
    fn default() -> Self {
        Self {
            workloads: Vec::new(),
            machines: Vec::new(),
            policies: Vec::new(),
            orders: vec![CoreOrder::BigFirst, CoreOrder::LittleFirst],
            seeds: vec![1],
            conditions: Conditions::default(),
        }
    }
}

impl Plan {
    /// The core orders that are wanted, each once. Without any both of COLAB 5.1, but the declared one if a workload means certain
    /// cores (`names_cores`), of which another order makes other ones.
    pub fn orders_for(wanted: &[CoreOrder], names_cores: bool) -> Vec<CoreOrder> {
        let mut orders = Vec::new();
        for order in wanted {
            if !orders.contains(order) {
                orders.push(*order);
            }
        }
        match orders[..] {
            [] if names_cores => vec![CoreOrder::Declared],
            [] => Self::default().orders,
            _ => orders,
        }
    }

    /// Policies with the one that they are compared with, which comes first unless it is among them, by its name.
    pub fn with_baseline(mut policies: Vec<Setup>, baseline: &Setup) -> Vec<Setup> {
        if !policies.iter().any(|policy| policy.name() == baseline.name()) {
            policies.insert(0, baseline.clone());
        }
        policies
    }

    /// The runs, in the order workload, machine, policy, core order, seed.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for workload in 0..self.workloads.len() {
            for machine in 0..self.machines.len() {
                for policy in 0..self.policies.len() {
                    for &order in &self.orders {
                        jobs.extend(self.seeds.iter().map(|&seed| Job { workload, machine, policy, order, seed }));
                    }
                }
            }
        }
        jobs
    }

    /// How many runs a workload on a machine under a policy has: core orders x seeds.
    pub fn repetitions(&self) -> usize {
        self.orders.len() * self.seeds.len()
    }
}

/// What steers the threads of a machine as a policy says.
pub type Beside = fn(&Machine, &Setup) -> Box<dyn Steering>;

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Every action of the scheduler takes effect this much later, as with an asynchronous host. Zero: at once.
    pub delay: Ns,
    /// Policies do not schedule, but steer the threads of Linux' own scheduler from beside it; that itself is not steered. `None`: policies
    /// schedule.
    pub beside: Option<Beside>,
    /// Background noise: short kernel work and interrupts, drawn from the seed, which also decides from which core programs
    /// are started.
    pub noise: bool,
    /// What sets the frequencies of the clusters.
    pub governor: Governor,
    /// Policies see the true speedup of every thread instead of the predicted one.
    pub oracle: bool,
    /// A predictor that was trained before; `None`: one is trained where a policy wants it.
    pub predictor: Option<GivenPredictor>,
    /// What predictors learn from.
    pub training: Training,
    /// A run that takes longer than this in simulated time ends with an error.
    pub max_time: Ns,
    /// How programs made of tasks are run.
    pub tasks: Tasks,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            delay: Ns::ZERO,
            beside: None,
            noise: false,
            governor: Governor::default(),
            oracle: false,
            predictor: None,
            training: Training::default(),
            max_time: evenkeel_sim::Options::default().max_time,
            tasks: Tasks::default(),
        }
    }
}

/// A predictor, and what errors call it.
#[derive(Clone, Debug)]
pub struct GivenPredictor {
    /// What errors call it, such as its file.
    pub name: String,
    /// The predictor.
    pub predictor: Predictor,
}

impl GivenPredictor {
    /// From a file of `evenkeel train`.
    ///
    /// # Errors
    /// It cannot be read, or has a mistake.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let predictor = Predictor::from_toml(&catalog::read(&name)?, &name)?;
        Ok(Self { name, predictor })
    }
}

/// How a program made of tasks is run, in place of what the program says. `None`: as it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    /// Which ready task a worker takes.
    pub ready: Option<ReadyQueue>,
    /// Where the thread runs that creates the tasks.
    pub main: Option<MainThread>,
}

impl Tasks {
    /// Changes a workload.
    ///
    /// # Errors
    /// There is something to change, but no task in it, or a program cannot be run so.
    pub fn apply(self, workload: &mut Workload) -> Result<()> {
        let setting = match self {
            Self { ready: Some(_), .. } => TaskSetting::ReadyQueue,
            Self { main: Some(_), .. } => TaskSetting::MainThread,
            Self { ready: None, main: None } => return Ok(()),
        };
        let mut found = false;
        for tasking in workload.programs.iter_mut().filter_map(|program| program.tasking.as_mut()) {
            found = true;
            tasking.ready = self.ready.unwrap_or(tasking.ready);
            tasking.main = self.main.unwrap_or(tasking.main);
        }
        if !found {
            return Err(Error::NoTasks { setting, workload: workload.name.clone() });
        }
        let unfit = |problem: validate::Problem| Error::Unfit(evenkeel_sim::Error::Invalid(problem.to_string()));
        validate::workload(workload).map_err(unfit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Control, Runner};

    #[test]
    fn a_baseline_is_there_once() {
        let names = |wanted: &[&str], baseline: &str| {
            let wanted = wanted.iter().map(|name| catalog::policy(name).unwrap()).collect();
            let policies = Plan::with_baseline(wanted, &catalog::policy(baseline).unwrap());
            policies.iter().map(|policy| policy.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&["gts", "colab"], "cfs"), ["cfs", "gts", "colab"]);
        assert_eq!(names(&["gts", "cfs"], "cfs"), ["gts", "cfs"]);
        assert_eq!(names(&["colab:takeover=none"], "colab"), ["colab", "colab:takeover=none"]);
    }

    #[test]
    fn the_cores_of_a_main_thread_are_not_dropped_for_others() {
        let text = "[[program]]\nname = \"p\"\nphases.x = { ilp = 2.0 }\n[[program.threads]]\nname = \"main\"\n\
            cpus = [0]\ndo = [{ task = \"t\", do = [{ compute = \"1 Minst\" }] }]\n";
        let workload = evenkeel_workload::format::load("w", text, "w.toml", None).unwrap();
        let complaint = |tasks| {
            let plan = Plan {
                workloads: vec![workload.clone()],
                machines: vec![catalog::machine("2B2S").unwrap().machine],
                policies: vec![catalog::policy("cfs").unwrap()],
                conditions: Conditions { tasks, ..Conditions::default() },
                ..Plan::default()
            };
            Runner::new(plan, &Control::default()).err().map(|error| error.to_string())
        };
        let refused = "p, thread main: is tied to a core already: leave out its cpus";
        let tasks = |ready, main| Tasks { ready: Some(ready), main };
        assert_eq!(complaint(tasks(ReadyQueue::Steal, None)), None);
        assert_eq!(complaint(tasks(ReadyQueue::Heft, None)).as_deref(), Some(refused));
        assert_eq!(complaint(tasks(ReadyQueue::Fifo, Some(MainThread::Big))).as_deref(), Some(refused));
    }
}

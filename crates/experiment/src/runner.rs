//! Carries out a plan: resolves what depends on the machine, keeps the reference runs, measures.

use std::sync::{Arc, OnceLock};

use evenkeel_model::Machine;
use evenkeel_sim::{Ended, Meter, Observer, Options};
use evenkeel_workload::Workload;

use crate::control::{Control, Stage};
use crate::error::{Error, Result};
use crate::plan::{Conditions, Job, Plan};
use crate::predictors::Predictors;
use crate::reference::{Alone, References};
use crate::run::{ClusterEnergy, Measurement, ProgramTime, Results, Run, ThreadTime};
use crate::training::Lessons;
use crate::{calibration, catalog};

/// The policy that stands for Linux' own scheduler, since 6.6.
pub const LINUX: &str = "eevdf";

/// A plan with its reference runs done and its predictors trained.
pub struct Runner {
    plan: Plan,
    /// Every workload for every machine (`workload * machines + machine`), with its work resolved.
    resolved: Vec<Workload>,
    predictors: Predictors,
    /// The programs that ran alone, for each of those and each seed (`resolved * seeds + seed`).
    alone: Alone,
    /// For the seeds of each workload, machine, policy and core order, a run that drew nothing from its seed.
    alike: Vec<OnceLock<Run>>,
    meter: Option<Arc<Meter>>,
    max_events: u64,
}

impl Runner {
    /// Does the reference runs of a plan and trains the predictors that its policies want, spread over all cores.
    ///
    /// # Errors
    /// A policy cannot schedule a machine, a workload cannot run on one, a reference run does not end.
    pub fn new(plan: Plan, control: &Control<'_>) -> Result<Self> {
        Self::knowing(plan, &Lessons::default(), control)
    }

    /// As [`Self::new`], for one of many plans: what predictors learn from is observed once for each machine.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn knowing(plan: Plan, lessons: &Lessons, control: &Control<'_>) -> Result<Self> {
        let foresees = |policy: &&evenkeel_sched::Setup| policy.description().foresight;
        if let Some(policy) = plan.policies.iter().find(foresees).filter(|_| plan.conditions.beside.is_some()) {
            let what = "must know the future, which nothing beside a scheduler does: expected another one, such as pfs";
            return Err(Error::Refused(format!("policy {} {what}", policy.name())));
        }
        for machine in &plan.machines {
            plan.policies.iter().try_for_each(|policy| catalog::accepted(policy, machine))?;
        }
        let mut resolved = Vec::new();
        let mut references = References::default();
        for workload in &plan.workloads {
            for machine in &plan.machines {
                catalog::fits(workload, machine)?;
                let mut workload = calibration::resolve(workload, machine);
                plan.conditions.tasks.apply(&mut workload)?;
                references.add(&workload, machine, &plan.seeds);
                resolved.push(workload);
            }
        }
        let alone = references.run(&plan, control)?;
        let predictors = Predictors::new(&plan, lessons, control)?;
        let (meter, max_events) = (control.meter.cloned(), control.max_events);
        let groups = resolved.len() * plan.policies.len() * plan.orders.len();
        let alike = std::iter::repeat_with(OnceLock::new).take(groups).collect();
        Ok(Self { plan, resolved, predictors, alone, alike, meter, max_events })
    }

    /// What is run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Does every run of the plan, spread over all cores. The order of the results does not depend on their number.
    ///
    /// # Errors
    /// A run does not end.
    pub fn run_all(&self, control: &Control<'_>) -> Result<Results> {
        let runs = control.each(Stage::Runs, &self.plan.jobs(), |job| self.run_once(*job))?;
        Ok(self.results(runs))
    }

    /// Does every run of the plan, as [`Self::run_all`] does, until [`Control`] stops the work. The results are those of
    /// the workloads and machines all of whose runs were done; the error that comes with them says how many runs were.
    ///
    /// # Errors
    /// A run does not end.
    pub fn run_all_until_stopped(&self, control: &Control<'_>) -> Result<(Results, Option<Error>)> {
        let (mut runs, stopped) =
            control.each_until_stopped(Stage::Runs, &self.plan.jobs(), |job| self.run_once(*job))?;
        let cell = (self.plan.repetitions() * self.plan.policies.len()).max(1);
        let cells = runs.chunks_mut(cell).filter(|cell| cell.iter().all(Option::is_some));
        let runs = cells.flatten().filter_map(Option::take).collect();
        Ok((self.results(runs), stopped))
    }

    /// Does one run of the plan, unless another seed gave the same: a run that draws nothing is that of every seed.
    ///
    /// # Errors
    /// As [`Self::run`].
    ///
    /// # Panics
    /// The plan has no such run.
    pub fn run_once(&self, job: Job) -> Result<Run> {
        let plan = &self.plan;
        let cell = job.workload * plan.machines.len() + job.machine;
        let order = plan.orders.iter().position(|order| *order == job.order).unwrap_or(0);
        let known = &self.alike[(cell * plan.policies.len() + job.policy) * plan.orders.len() + order];
        if let Some(run) = known.get()
            && self.alone.same(self.reference(job.seed, cell), self.reference(run.seed, cell))
        {
            return Ok(Run { seed: job.seed, ..run.clone() });
        }
        let run = self.run(job, &mut ())?;
        if !run.drawn {
            // Which of several threads is first does not matter: they all have the same.
            let _ = known.set(run.clone());
        }
        Ok(run)
    }

    /// Where the programs of a workload on a machine that ran alone with a seed are.
    fn reference(&self, seed: u64, cell: usize) -> usize {
        let seeds = &self.plan.seeds;
        cell * seeds.len() + seeds.iter().position(|&known| known == seed).unwrap_or(0)
    }

    fn results(&self, runs: Vec<Run>) -> Results {
        let events = self.alone.events + runs.iter().map(|run| run.events).sum::<u64>();
        Results { runs, events }
    }

    /// The machine of a run, its cores in the run's order.
    pub fn machine(&self, job: Job) -> Machine {
        self.plan.machines[job.machine].ordered(job.order)
    }

    /// Does one run of the plan while `observer` watches.
    ///
    /// # Errors
    /// The run does not end, or [`Control`] stopped it.
    ///
    /// # Panics
    /// The plan has no such run.
    pub fn run(&self, job: Job, observer: &mut dyn Observer) -> Result<Run> {
        let run = self.run_until_stopped(job, observer)?;
        if run.ended == Ended::Interrupted { Err(Error::INTERRUPTED) } else { Ok(run) }
    }

    /// Does one run of the plan, as [`Self::run`] does. One that [`Control`] stopped is [`Ended::Interrupted`], and what it
    /// measured is of the time until then.
    ///
    /// # Errors
    /// The run does not end.
    ///
    /// # Panics
    /// The plan has no such run.
    pub fn run_until_stopped(&self, job: Job, observer: &mut dyn Observer) -> Result<Run> {
        let plan = &self.plan;
        let cell = job.workload * plan.machines.len() + job.machine;
        let workload = &self.resolved[cell];
        let policy = &plan.policies[job.policy];
        let machine = self.machine(job);
        let predict = self.predictors.of(policy, job.machine, job.workload);
        let options = self.options(job);
        let outcome = match plan.conditions.beside.filter(|_| policy.description().name != LINUX) {
            None => evenkeel_sim::run(&machine, workload, policy.make_for(job.seed), predict, &options, observer),
            Some(beside) => {
                let (linux, mut steering) = (catalog::policy(LINUX)?.make(), beside(&machine, policy));
                evenkeel_sim::run_steered(&machine, workload, linux, steering.as_mut(), &options, observer)
            }
        };
        let outcome = outcome.map_err(|source| {
            let what = format!("{} on {} under {}", workload.name, machine.name, policy.name());
            Error::Run { what, source }
        })?;
        let pairs = self.alone.pairs(&outcome, workload.rerun, self.reference(job.seed, cell));
        Ok(Run {
            workload: workload.name.clone(),
            machine: plan.machines[job.machine].name.clone(),
            policy: policy.name().to_string(),
            order: job.order,
            seed: job.seed,
            ended: outcome.ended,
            measurement: Measurement::of(&outcome, &pairs),
            programs: outcome.programs.iter().map(ProgramTime::from).collect(),
            threads: outcome.threads.iter().map(ThreadTime::from).collect(),
            clusters: ClusterEnergy::of(&machine, &outcome),
            drawn: outcome.drawn || policy.may_draw(),
            events: outcome.events,
            cores: outcome.cores,
        })
    }

    /// Simulator events of the reference runs.
    pub fn reference_events(&self) -> u64 {
        self.alone.events
    }

    /// The one place where the options of a measured run are put together.
    fn options(&self, job: Job) -> Options {
        let Conditions { delay, noise, governor, oracle, max_time, .. } = self.plan.conditions;
        Options {
            seed: job.seed,
            max_time,
            max_events: self.max_events,
            meter: self.meter.clone(),
            delay,
            noise,
            governor,
            oracle,
            counters: false,
        }
    }
}

#[cfg(test)]
mod tests;

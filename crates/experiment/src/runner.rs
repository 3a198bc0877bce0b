//! Carries out a plan: resolves what depends on the machine, keeps the reference runs, measures.

use evenkeel_model::Machine;
use evenkeel_sim::{Observer, Options};
use evenkeel_workload::Workload;

use crate::control::{Control, Stage};
use crate::error::{Error, Result};
use crate::plan::{Conditions, Job, Plan};
use crate::predictors::Predictors;
use crate::reference::{Alone, References};
use crate::run::{ClusterEnergy, Measurement, ProgramTime, Results, Run};
use crate::{calibration, catalog};

/// A plan with its reference runs done and its predictors trained.
pub struct Runner {
    plan: Plan,
    /// Every workload for every machine (`workload * machines + machine`), with its work resolved.
    resolved: Vec<Workload>,
    predictors: Predictors,
    /// The programs that ran alone, for each of those and each seed (`resolved * seeds + seed`).
    alone: Alone,
}

impl Runner {
    /// Does the reference runs of a plan and trains the predictors that its policies want, spread over all cores.
    ///
    /// # Errors
    /// A policy cannot schedule a machine, a workload cannot run on one, a reference run does not end.
    pub fn new(plan: Plan, control: &Control<'_>) -> Result<Self> {
        for machine in &plan.machines {
            plan.policies.iter().try_for_each(|policy| catalog::accepted(policy, machine))?;
        }
        let mut resolved = Vec::new();
        let mut references = References::default();
        for workload in &plan.workloads {
            for machine in &plan.machines {
                evenkeel_sim::check(machine, workload).map_err(Error::Unfit)?;
                let mut workload = calibration::resolve(workload, machine);
                plan.conditions.tasks.apply(&mut workload)?;
                references.add(&workload, machine, &plan.seeds);
                resolved.push(workload);
            }
        }
        let alone = references.run(&plan, control)?;
        let predictors = Predictors::new(&plan, control)?;
        Ok(Self { plan, resolved, predictors, alone })
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
        let runs = control.each(Stage::Runs, &self.plan.jobs(), |job| self.run(*job, &mut ()))?;
        let events = self.alone.events + runs.iter().map(|run| run.events).sum::<u64>();
        Ok(Results { runs, events })
    }

    /// The machine of a run, its cores in the run's order.
    pub fn machine(&self, job: Job) -> Machine {
        self.plan.machines[job.machine].ordered(job.order)
    }

    /// Does one run of the plan while `observer` watches.
    ///
    /// # Errors
    /// The run does not end.
    ///
    /// # Panics
    /// The plan has no such run.
    pub fn run(&self, job: Job, observer: &mut dyn Observer) -> Result<Run> {
        let plan = &self.plan;
        let cell = job.workload * plan.machines.len() + job.machine;
        let workload = &self.resolved[cell];
        let policy = &plan.policies[job.policy];
        let machine = self.machine(job);
        let predict = self.predictors.of(policy, job.machine);
        let outcome = evenkeel_sim::run(&machine, workload, policy.make(), predict, &self.options(job), observer)
            .map_err(|source| {
                let what = format!("{} on {} under {}", workload.name, machine.name, policy.name());
                Error::Run { what, source }
            })?;
        let seed = plan.seeds.iter().position(|&seed| seed == job.seed).unwrap_or(0);
        let pairs = self.alone.pairs(&outcome.programs, cell * plan.seeds.len() + seed);
        Ok(Run {
            workload: workload.name.clone(),
            machine: plan.machines[job.machine].name.clone(),
            policy: policy.name().to_string(),
            order: job.order,
            seed: job.seed,
            ended: outcome.ended,
            measurement: Measurement::of(&outcome, &pairs),
            programs: outcome.programs.iter().map(ProgramTime::from).collect(),
            clusters: ClusterEnergy::of(&machine, &outcome),
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
        Options { seed: job.seed, max_time, delay, noise, governor, oracle, counters: false }
    }
}

#[cfg(test)]
mod tests;

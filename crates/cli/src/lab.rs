//! Carries out runs: resolves what depends on the machine, keeps the reference runs, measures.

use anyhow::{Context, Result, anyhow, bail};
use evenkeel_model::predict::{MachinePredictor, Predictor, Quality};
use evenkeel_model::{Cluster, CoreOrder, CoreTypeId, Joules, Machine, metrics};
use evenkeel_sched::{Predict, Setup};
use evenkeel_sim::{Observer, Options, Outcome, ProgramOutcome};
use evenkeel_workload::{Program, Workload};
use rayon::prelude::*;

use crate::args::Conditions;
use crate::{calibration, catalog, files, json, progress, training};

/// Everything that is to be run: the product of its lists.
pub struct Plan {
    /// Workloads.
    pub workloads: Vec<Workload>,
    /// Machines.
    pub machines: Vec<Machine>,
    /// Policies.
    pub policies: Vec<Setup>,
    /// Core orders.
    pub orders: Vec<CoreOrder>,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// How every run is carried out.
    pub conditions: Conditions,
}

/// One run of a plan, by position in its lists.
#[derive(Clone, Copy, Debug)]
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

/// What a plan produced.
pub struct Results {
    /// One entry a run, in the order of [`Plan::jobs`].
    pub runs: Vec<json::Run>,
    /// Simulator events, those of the reference runs included.
    pub events: u64,
}

impl Plan {
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
}

/// A plan with its reference runs done.
pub struct Lab<'a> {
    plan: &'a Plan,
    /// Every workload for every machine (`workload * machines + machine`), with its work resolved.
    resolved: Vec<Workload>,
    /// The references of the programs of each of those, for each seed (`resolved * seeds + seed`), in `alone`.
    references: Vec<Vec<usize>>,
    /// The speedup predictor of every machine, for each quality that a policy of the plan wants.
    predictors: Vec<(Quality, Vec<Option<MachinePredictor>>)>,
    /// What became of every program that ran alone.
    alone: Vec<ProgramOutcome>,
    events: u64,
}

/// A program alone on as many cores as the machine has, all of them big, under CFS: `T_SB` of COLAB 5.1. Threads are
/// part of the program, so equal references are run once.
struct Reference {
    machine: Machine,
    workload: Workload,
    seed: u64,
}

impl Reference {
    /// Without noise and delay, which belong to the run that is measured.
    fn run(&self, plan: &Plan) -> Result<Outcome> {
        let options = Options { seed: self.seed, max_time: plan.conditions.max_time, ..Options::default() };
        let policy = catalog::policy("cfs")?;
        evenkeel_sim::run(&self.machine, &self.workload, policy.make(), None, &options, &mut ())
            .map_err(advise)
            .with_context(|| format!("{} alone on {}", self.workload.name, self.machine.name))
    }
}

impl<'a> Lab<'a> {
    /// Does the reference runs of a plan, spread over all cores.
    pub fn new(plan: &'a Plan) -> Result<Self> {
        for machine in &plan.machines {
            plan.policies.iter().try_for_each(|policy| catalog::accepted(policy, machine))?;
        }
        let mut resolved = Vec::new();
        let mut wanted: Vec<Reference> = Vec::new();
        let mut references: Vec<Vec<usize>> = Vec::new();
        for workload in &plan.workloads {
            for machine in &plan.machines {
                evenkeel_sim::check(machine, workload)?;
                let mut workload = calibration::resolve(workload, machine);
                plan.conditions.tasks.apply(&mut workload)?;
                let symmetric = machine.symmetric(CoreTypeId(0));
                for &seed in &plan.seeds {
                    let of_programs = workload.programs.iter().map(|program| {
                        let alone = alone(&workload, program);
                        // Two machines of a plan may share their big cores, such as 2B4S and 4B2S.
                        let same = |known: &Reference| {
                            known.seed == seed && known.workload == alone && same_hardware(&known.machine, &symmetric)
                        };
                        wanted.iter().position(same).unwrap_or_else(|| {
                            wanted.push(Reference { machine: symmetric.clone(), workload: alone, seed });
                            wanted.len() - 1
                        })
                    });
                    references.push(of_programs.collect());
                }
                resolved.push(workload);
            }
        }
        let bar = progress::bar("alone on big cores", wanted.len());
        let outcomes: Vec<Result<Outcome>> = wanted
            .par_iter()
            .map(|reference| {
                let outcome = reference.run(plan);
                bar.inc(1);
                outcome
            })
            .collect();
        bar.finish_and_clear();
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>>>()?;
        let events = outcomes.iter().map(|outcome| outcome.events).sum();
        let alone = outcomes.into_iter().flat_map(|outcome| outcome.programs).collect();
        let mut predictors = Vec::new();
        for policy in plan.policies.iter().map(Setup::make).filter(|policy| policy.counters()) {
            let quality = policy.predictor();
            // Perfect knowledge needs no predictor.
            if !plan.conditions.oracle && predictors.iter().all(|(known, _)| *known != quality) {
                predictors.push((quality, predictors_of(plan, quality)?));
            }
        }
        Ok(Self { plan, resolved, references, predictors, alone, events })
    }

    /// Does every run of the plan, spread over all cores. The order of the results does not depend on their number.
    pub fn run_all(&self, what: &'static str) -> Result<Results> {
        let jobs = self.plan.jobs();
        let bar = progress::bar(what, jobs.len());
        let done: Vec<Result<(json::Run, Outcome)>> = jobs
            .par_iter()
            .map(|job| {
                let done = self.run(*job, &mut ());
                bar.inc(1);
                done
            })
            .collect();
        bar.finish_and_clear();
        let mut results = Results { runs: Vec::with_capacity(done.len()), events: self.events };
        for done in done {
            let (run, outcome) = done?;
            results.events += outcome.events;
            results.runs.push(run);
        }
        Ok(results)
    }

    /// The machine of a run, its cores in the run's order.
    pub fn machine(&self, job: Job) -> Machine {
        self.plan.machines[job.machine].ordered(job.order)
    }

    /// Does one run of the plan while `observer` watches.
    pub fn run(&self, job: Job, observer: &mut dyn Observer) -> Result<(json::Run, Outcome)> {
        let plan = self.plan;
        let cell = job.workload * plan.machines.len() + job.machine;
        let workload = &self.resolved[cell];
        let policy = &plan.policies[job.policy];
        let machine = self.machine(job);
        let outcome =
            evenkeel_sim::run(&machine, workload, policy.make(), self.predict(job), &self.options(job), observer)
                .map_err(advise)
                .with_context(|| format!("{} on {} under {}", workload.name, machine.name, policy.name()))?;
        let seed = plan.seeds.iter().position(|&seed| seed == job.seed).unwrap_or(0);
        let alone = self.references[cell * plan.seeds.len() + seed].iter().map(|&program| &self.alone[program]);
        let pairs = against_alone(&outcome.programs, alone);
        let run = json::Run {
            workload: workload.name.clone(),
            machine: plan.machines[job.machine].name.clone(),
            policy: policy.name().to_string(),
            order: json::order_name(job.order),
            seed: job.seed,
            metrics: measure(&outcome, &pairs),
            programs: outcome.programs.iter().map(program).collect(),
            clusters: machine.clusters.iter().map(|of| cluster(of, &outcome)).collect(),
            measures: Vec::new(),
        };
        Ok((run, outcome))
    }

    /// Simulator events of the reference runs.
    pub fn reference_events(&self) -> u64 {
        self.events
    }

    /// The predictor of the job's machine, for policies that want one.
    fn predict(&self, job: Job) -> Option<Predict> {
        let wanted = self.plan.policies[job.policy].make().predictor();
        let (_, predictors) = self.predictors.iter().find(|(quality, _)| *quality == wanted)?;
        let predictor = predictors[job.machine].clone()?;
        Some(Box::new(move |core_type, counters| predictor.predict(core_type, counters)))
    }

    /// The one place where the options of a measured run are put together.
    fn options(&self, job: Job) -> Options {
        let Conditions { delay, noise, governor, oracle, max_time, .. } = self.plan.conditions;
        Options { seed: job.seed, max_time, delay, noise, governor, oracle, counters: false }
    }
}

/// What to do about a run that was cut off.
fn advise(error: evenkeel_sim::Error) -> anyhow::Error {
    match error {
        evenkeel_sim::Error::MaxTime { .. } => anyhow!("{error}; --max-time allows more"),
        error => error.into(),
    }
}

/// The predictor of every machine, trained once for machines with the same core types.
fn predictors_of(plan: &Plan, quality: Quality) -> Result<Vec<Option<MachinePredictor>>> {
    let mut trained = Predictor::default();
    let given = &plan.conditions.predictor;
    if let Some(path) = given {
        let path = path.display().to_string();
        if quality != Quality::Best {
            bail!("a policy asks for a worse predictor than {path}, which takes training: leave out --predictor");
        }
        trained = Predictor::from_toml(&files::read(&path)?, &path)?;
    }
    let predictor = |machine: &Machine| {
        // Cores of one type have nothing to be predicted.
        if machine.core_types.len() < 2 {
            return Ok(None);
        }
        if let (Some(path), None) = (given, trained.for_machine(machine)) {
            let (path, name) = (path.display(), &machine.name);
            bail!(
                "{path} has no model for the core types of {name}: make one with `evenkeel train --machine {name} -o {path}`"
            );
        }
        if trained.for_machine(machine).is_none() {
            trained.extend(training::learn(machine, &training::observe(machine)?, quality)?);
        }
        Ok(trained.for_machine(machine))
    };
    plan.machines.iter().map(predictor).collect()
}

/// A workload of one program out of several.
fn alone(workload: &Workload, program: &Program) -> Workload {
    Workload { name: program.name.clone(), programs: vec![program.clone()], ..workload.clone() }
}

/// Whether two machines differ in their names only.
fn same_hardware(a: &Machine, b: &Machine) -> bool {
    a.cores == b.cores && a.core_types == b.core_types && a.clusters == b.clusters && a.costs == b.costs
}

/// `T_M` and `T_SB` of every program (COLAB 5.1), whose ratio is its slowdown. A program that the end of the run cuts
/// off has no turnaround; since both runs then last equally long, the work done takes its place: the ratio is then work
/// alone / work here, infinite for a program that got nothing done here.
fn against_alone<'a>(here: &[ProgramOutcome], alone: impl IntoIterator<Item = &'a ProgramOutcome>) -> Vec<(f64, f64)> {
    let pair = |(here, alone): (&ProgramOutcome, &ProgramOutcome)| match (here.turnaround, alone.turnaround) {
        (Some(here), Some(alone)) if alone.0 > 0 => (here.as_secs_f64(), alone.as_secs_f64()),
        _ if alone.instructions == here.instructions => (1.0, 1.0),
        _ => (alone.instructions.0 as f64, here.instructions.0 as f64),
    };
    here.iter().zip(alone).map(pair).collect()
}

fn measure(outcome: &Outcome, pairs: &[(f64, f64)]) -> json::Metrics {
    let makespan_s = outcome.makespan.as_secs_f64();
    let wakeups = outcome.wakeup_latency;
    json::Metrics {
        makespan_s,
        h_antt: metrics::h_antt(pairs).unwrap_or(f64::NAN),
        h_stp: metrics::h_stp(pairs),
        energy_j: outcome.energy.0,
        edp: metrics::edp(outcome.energy.0, makespan_s),
        migrations: outcome.migrations,
        context_switches: outcome.context_switches,
        preemptions: outcome.preemptions,
        wakeup_mean_s: (wakeups.count > 0).then(|| wakeups.total.as_secs_f64() / wakeups.count as f64),
        wakeup_max_s: wakeups.max.as_secs_f64(),
        missed_timers: outcome.missed_timers,
        stale_answers: outcome.stale_answers,
        finished_programs: outcome.programs.iter().filter(|program| program.turnaround.is_some()).count() as u64,
    }
}

fn cluster(cluster: &Cluster, outcome: &Outcome) -> json::Cluster {
    let energy: Joules = cluster.cores.iter().map(|core| outcome.cores[core.index()].energy).sum();
    json::Cluster { name: cluster.name.clone(), energy_j: energy.0 }
}

fn program(outcome: &ProgramOutcome) -> json::Program {
    json::Program { name: outcome.name.clone(), turnaround_s: outcome.turnaround.map(evenkeel_model::Ns::as_secs_f64) }
}

#[cfg(test)]
mod tests;

//! The speedup predictors that the policies of a plan want.

use evenkeel_model::Machine;
use evenkeel_model::predict::{MachinePredictor, Predictor, Quality};
use evenkeel_sched::policy::Reads;
use evenkeel_sched::{Predict, Setup};
use evenkeel_workload::Workload;

use crate::control::Control;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::training::{self, Lessons};

/// For each quality that a policy of the plan wants the predictors of every machine: one for all workloads, or one for each.
pub struct Predictors(Vec<(Quality, Vec<Option<Vec<MachinePredictor>>>)>);

impl Predictors {
    /// Trains what is wanted, or takes what the plan gives.
    pub fn new(plan: &Plan, lessons: &Lessons, control: &Control<'_>) -> Result<Self> {
        let mut predictors: Vec<(Quality, _)> = Vec::new();
        for policy in
            plan.policies.iter().map(Setup::make).filter(|policy| policy.description().reads != Reads::Nothing)
        {
            let quality = policy.predictor();
            // Perfect knowledge needs no predictor.
            if !plan.conditions.oracle && predictors.iter().all(|(known, _)| *known != quality) {
                predictors.push((quality, of_machines(plan, quality, lessons, control)?));
            }
        }
        Ok(Self(predictors))
    }

    /// That of a machine of the plan for one of its workloads, for a policy that wants one.
    pub fn of(&self, policy: &Setup, machine: usize, workload: usize) -> Option<Predict> {
        let wanted = policy.make().predictor();
        let (_, predictors) = self.0.iter().find(|(quality, _)| *quality == wanted)?;
        let of_machine = predictors[machine].as_ref()?;
        let predictor = of_machine.get(workload).or(of_machine.first())?.clone();
        Some(Box::new(move |core_type, counters| predictor.predict(core_type, counters)))
    }
}

/// The predictors of every machine, trained once for those that differ only in which cores they have.
fn of_machines(
    plan: &Plan,
    quality: Quality,
    lessons: &Lessons,
    control: &Control<'_>,
) -> Result<Vec<Option<Vec<MachinePredictor>>>> {
    let given = plan.conditions.predictor.as_ref();
    if let Some(given) = given.filter(|_| quality != Quality::Best) {
        return Err(Error::WorsePredictor { predictor: given.name.clone() });
    }
    let training = &plan.conditions.training;
    let programs = |workload: &'_ Workload| workload.programs.iter().map(|program| program.name.clone()).collect();
    let left_out: Vec<Vec<String>> =
        if training.leave_one_out { plan.workloads.iter().map(programs).collect() } else { vec![Vec::new()] };
    let train = |machine: &Machine| {
        let observed = lessons.of(machine, training, control)?;
        let learn = |left_out: &Vec<String>| {
            let left_out: Vec<&str> = left_out.iter().map(String::as_str).collect();
            training::learn(machine, &observed, &left_out, training.counters, quality)
        };
        left_out.iter().map(learn).collect::<Result<Vec<_>>>()
    };
    let mut trained: Vec<(&Machine, Vec<Predictor>)> = Vec::new();
    let mut all = Vec::new();
    for machine in &plan.machines {
        // Cores of one type have nothing to be predicted.
        if machine.core_types.len() < 2 {
            all.push(None);
            continue;
        }
        if let Some(given) = given {
            let no_model = || Error::NoModel { predictor: given.name.clone(), machine: machine.name.clone() };
            all.push(Some(vec![given.predictor.for_machine(machine).ok_or_else(no_model)?]));
            continue;
        }
        if trained.iter().all(|(other, _)| !alike(other, machine)) {
            trained.push((machine, train(machine)?));
        }
        let of_machine = trained.iter().find(|(other, _)| alike(other, machine));
        all.push(of_machine.map(|(_, all)| all.iter().filter_map(|one| one.for_machine(machine)).collect()));
    }
    Ok(all)
}

/// Whether machines have the same types of cores, of which programs ask as much: COLAB learns once for all numbers of them (4.1).
fn alike(one: &Machine, other: &Machine) -> bool {
    one.core_types == other.core_types && one.memory_gbps == other.memory_gbps && one.costs == other.costs
}

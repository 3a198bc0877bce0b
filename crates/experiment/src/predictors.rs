//! The speedup predictors that the policies of a plan want.

use evenkeel_model::Machine;
use evenkeel_model::predict::{MachinePredictor, Predictor, Quality};
use evenkeel_sched::policy::Reads;
use evenkeel_sched::{Predict, Setup};

use crate::control::Control;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::training;

/// For each quality that a policy of the plan wants the predictor of every machine.
pub struct Predictors(Vec<(Quality, Vec<Option<MachinePredictor>>)>);

impl Predictors {
    /// Trains what is wanted, or takes what the plan gives.
    pub fn new(plan: &Plan, control: &Control<'_>) -> Result<Self> {
        let mut predictors: Vec<(Quality, _)> = Vec::new();
        for policy in
            plan.policies.iter().map(Setup::make).filter(|policy| policy.description().reads != Reads::Nothing)
        {
            let quality = policy.predictor();
            // Perfect knowledge needs no predictor.
            if !plan.conditions.oracle && predictors.iter().all(|(known, _)| *known != quality) {
                predictors.push((quality, of_machines(plan, quality, control)?));
            }
        }
        Ok(Self(predictors))
    }

    /// That of a machine of the plan, for a policy that wants one.
    pub fn of(&self, policy: &Setup, machine: usize) -> Option<Predict> {
        let wanted = policy.make().predictor();
        let (_, predictors) = self.0.iter().find(|(quality, _)| *quality == wanted)?;
        let predictor = predictors[machine].clone()?;
        Some(Box::new(move |core_type, counters| predictor.predict(core_type, counters)))
    }
}

/// The predictor of every machine, trained once for machines with the same core types.
fn of_machines(plan: &Plan, quality: Quality, control: &Control<'_>) -> Result<Vec<Option<MachinePredictor>>> {
    let given = plan.conditions.predictor.as_ref();
    if let Some(given) = given.filter(|_| quality != Quality::Best) {
        return Err(Error::WorsePredictor { predictor: given.name.clone() });
    }
    let mut trained = given.map_or_else(Predictor::default, |given| given.predictor.clone());
    let predictor = |machine: &Machine| {
        // Cores of one type have nothing to be predicted.
        if machine.core_types.len() < 2 {
            return Ok(None);
        }
        if trained.for_machine(machine).is_none() {
            if let Some(given) = given {
                return Err(Error::NoModel { predictor: given.name.clone(), machine: machine.name.clone() });
            }
            trained.extend(training::learn(machine, &training::observe(machine, control)?, quality)?);
        }
        Ok(trained.for_machine(machine))
    };
    plan.machines.iter().map(predictor).collect()
}

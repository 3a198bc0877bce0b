//! What the speedup predictor learns from: programs, alone, on a machine of big cores only and on one of little cores only
//! (COLAB 4.1), and on one of any core type between, whose counters differ again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_model::predict::{Predictor, Quality, Sample, Validation, leave_one_out};
use evenkeel_model::{CoreTypeId, Counter, Counters, Instructions, Machine, Ns};
use evenkeel_sim::{Options, Outcome};
use evenkeel_workload::{Workload, suite};
use serde::Deserialize;

use crate::catalog;
use crate::control::{Control, Stage};
use crate::error::{Error, Result};
use crate::reference::run_alone;
use crate::thresholds::Thresholds;

/// The seed of the counters' noise in training. A constant, so that a machine has one predictor.
const SEED: u64 = 1;

/// A thread with fewer instructions gives no sample: its start would outweigh the rest.
const FEW_INSTRUCTIONS: Instructions = Instructions(1_000_000);

/// Which programs predictors learn from, and how.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Training {
    /// The suites of the programs.
    pub suites: Vec<String>,
    /// How many counters a model reads, which is how many a core has at a time.
    pub counters: usize,
    /// A thread gives a sample if it makes up this share of the time for which all threads of its program run.
    pub least_share: f64,
    /// Whether each program is predicted by what was learnt from the others.
    pub leave_one_out: bool,
}

impl Default for Training {
    /// As COLAB does (4.1): all programs of its Table 3, six counters.
    fn default() -> Self {
        let suites = ["parsec", "splash2"].map(str::to_owned).into();
        Self { suites, counters: 6, least_share: 0.0, leave_one_out: false }
    }
}

/// The predictor of a machine, and how well it does.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The machine's name.
    pub machine: String,
    /// The predictor.
    pub predictor: Predictor,
    /// Its models, one for each core type on which counters may be read.
    pub models: Vec<TrainedModel>,
    /// When bias scheduling takes threads to be better off on little cores of this machine.
    pub thresholds: Thresholds,
}

/// One model: for counters that were read on one core type.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedModel {
    /// The core type on which the counters are read, with its highest frequency.
    pub observed_on: String,
    /// The biggest core type: speedup is its speed over that of `slower`.
    pub faster: String,
    /// The smallest core type.
    pub slower: String,
    /// What is added to the sum of the terms.
    pub intercept: f64,
    /// Counters and their weights: speedup = intercept + sum of weight x counter / instructions.
    pub terms: Vec<(Counter, f64)>,
    /// The mean over threads of the distance from the truth, as a share of the truth.
    pub mean_error: f64,
    /// The programs, each predicted by the model of all the others.
    pub programs: Vec<PredictedProgram>,
}

/// A program, predicted by the model of the others: means over its threads.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedProgram {
    /// Its name.
    pub name: String,
    /// Its speedup.
    pub speedup: f64,
    /// What is predicted.
    pub predicted: f64,
}

/// Trains the predictor of a machine and validates it, and finds thresholds for bias scheduling, whose programs are divided at the speedup `split`
/// ([`Thresholds::of`]).
///
/// # Errors
/// The machine has one type of core, or a program does not end on it.
pub fn train(machine: &Machine, split: Option<f64>, control: &Control<'_>) -> Result<Trained> {
    if machine.core_types.len() < 2 {
        return Err(Error::OneCoreType { machine: machine.name.clone() });
    }
    let training = Training::default();
    let observed = observe(machine, &training, control)?;
    let predictor = learn(machine, &observed, &[], training.counters, Quality::Best)?;
    let mut models = Vec::new();
    for (observed, (observed_on, faster, slower, model)) in observed.iter().zip(predictor.models()) {
        let validations = leave_one_out(&observed.samples, training.counters)?;
        models.push(TrainedModel {
            observed_on: observed_on.to_string(),
            faster: faster.to_string(),
            slower: slower.to_string(),
            intercept: model.intercept,
            terms: model.terms.clone(),
            mean_error: mean_error(&validations),
            programs: by_program(&validations),
        });
    }
    let thresholds = Thresholds::of(machine, split, control)?;
    Ok(Trained { machine: machine.name.clone(), predictor, models, thresholds })
}

/// The mean over samples of the prediction's distance from the truth, as a share of the truth.
fn mean_error(validations: &[Validation]) -> f64 {
    let error = |validation: &Validation| (validation.predicted / validation.actual - 1.0).abs();
    validations.iter().map(error).sum::<f64>() / validations.len() as f64
}

/// Validations come sorted by program.
fn by_program(validations: &[Validation]) -> Vec<PredictedProgram> {
    let mean = |threads: &[Validation], value: fn(&Validation) -> f64| {
        threads.iter().map(value).sum::<f64>() / threads.len() as f64
    };
    let program = |threads: &[Validation]| PredictedProgram {
        name: threads[0].group.clone(),
        speedup: mean(threads, |thread| thread.actual),
        predicted: mean(threads, |thread| thread.predicted),
    };
    validations.chunk_by(|a, b| a.group == b.group).map(program).collect()
}

/// What the programs showed on one core type.
pub struct Observed {
    /// Where the counters were read.
    pub core_type: CoreTypeId,
    /// One sample a thread.
    pub samples: Vec<Sample>,
}

/// What was observed of machines, so that it is not observed again for the next plan.
#[derive(Default)]
pub struct Lessons(Mutex<Vec<Lesson>>);

struct Lesson {
    machine: Machine,
    training: Training,
    observed: Arc<Vec<Observed>>,
}

impl Lessons {
    /// Of so many machines: those of a plan that varies them come one after the other.
    const MOST: usize = 64;

    /// Of a machine.
    pub(crate) fn of(
        &self,
        machine: &Machine,
        training: &Training,
        control: &Control<'_>,
    ) -> Result<Arc<Vec<Observed>>> {
        let known = |lesson: &&Lesson| lesson.machine == *machine && lesson.training == *training;
        if let Some(lesson) = self.all().iter().find(known) {
            return Ok(Arc::clone(&lesson.observed));
        }
        // Not while others wait: several may observe the same, which is the same for each.
        let observed = Arc::new(observe(machine, training, control)?);
        let mut all = self.all();
        if let Some(lesson) = all.iter().find(known) {
            return Ok(Arc::clone(&lesson.observed));
        }
        if all.len() == Self::MOST {
            all.remove(0);
        }
        let lesson = Lesson { machine: machine.clone(), training: training.clone(), observed: Arc::clone(&observed) };
        all.push(lesson);
        Ok(observed)
    }

    fn all(&self) -> MutexGuard<'_, Vec<Lesson>> {
        // Nothing is half done where another thread panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What there is to learn about a machine, for each of its core types.
///
/// # Errors
/// A program does not end on the machine.
pub fn observe(machine: &Machine, training: &Training, control: &Control<'_>) -> Result<Vec<Observed>> {
    let core_types: Vec<CoreTypeId> = (0..machine.core_types.len()).map(|id| CoreTypeId(id as u8)).collect();
    let taught = suite::programs().filter(|program| training.suites.iter().any(|suite| suite == program.suite));
    let programs: Vec<&str> = taught.map(|program| program.name).collect();
    let outcomes = control.each(Stage::Training, &programs, |name| {
        let workload = catalog::workload(name)?.workload;
        core_types
            .iter()
            .map(|&core_type| count(&machine.symmetric(core_type), &workload, control))
            .collect::<Result<Vec<_>>>()
    })?;
    let mut observed: Vec<Observed> =
        core_types.iter().map(|&core_type| Observed { core_type, samples: Vec::new() }).collect();
    for (program, outcomes) in programs.iter().zip(outcomes) {
        let on_types: Vec<BTreeMap<String, Thread>> = outcomes.iter().map(threads).collect();
        let (Some(fastest), Some(slowest)) = (on_types.first(), on_types.last()) else { continue };
        let all: Ns = fastest.values().map(|thread| thread.ran).sum();
        for (name, fast) in fastest {
            let Some(slow) = slowest.get(name) else { continue };
            let few = fast.instructions < FEW_INSTRUCTIONS || slow.instructions < FEW_INSTRUCTIONS;
            if few || (fast.ran.0 as f64) < training.least_share * all.0 as f64 {
                continue;
            }
            let speedup = fast.rate() / slow.rate();
            for (observed, threads) in observed.iter_mut().zip(&on_types) {
                let Some(thread) = threads.get(name) else { continue };
                let group = (*program).to_string();
                observed.samples.push(Sample { group, counters: thread.counters, speedup });
            }
        }
    }
    Ok(observed)
}

/// The predictor of a machine, which learns nothing from programs of the names `left_out`.
///
/// # Errors
/// The samples are too few.
pub fn learn(
    machine: &Machine,
    observed: &[Observed],
    left_out: &[&str],
    counters: usize,
    quality: Quality,
) -> Result<Predictor> {
    let mut predictor = Predictor::default();
    for observed in observed {
        let taught = observed.samples.iter().filter(|sample| !left_out.contains(&sample.group.as_str()));
        let samples: Vec<Sample> = taught.cloned().collect();
        predictor
            .learn(machine, observed.core_type, &samples, counters, quality)
            .map_err(|source| Error::Untrained { machine: machine.name.clone(), source })?;
    }
    // As a file keeps it, so that a run with a predictor that was just trained and one that was read agree.
    Ok(Predictor::from_toml(&predictor.to_toml(), "trained predictor")?)
}

fn count(machine: &Machine, workload: &Workload, control: &Control<'_>) -> Result<Outcome> {
    run_alone(machine, workload, Options { seed: SEED, counters: true, ..control.options() })
}

/// What the threads of one name did together.
#[derive(Default)]
struct Thread {
    counters: Counters,
    instructions: Instructions,
    ran: Ns,
}

impl Thread {
    /// Instructions per nanosecond while it had a core.
    fn rate(&self) -> f64 {
        self.instructions.0 as f64 / self.ran.0 as f64
    }
}

/// Threads by name: their numbers follow the order of creation, which the machine may change.
fn threads(outcome: &Outcome) -> BTreeMap<String, Thread> {
    let mut threads: BTreeMap<String, Thread> = BTreeMap::new();
    for thread in &outcome.threads {
        let Some(counters) = &thread.counters else { continue };
        let sum = threads.entry(thread.name.clone()).or_default();
        sum.counters += counters;
        sum.instructions += thread.instructions;
        sum.ran += thread.on_type.iter().copied().sum();
    }
    threads
}

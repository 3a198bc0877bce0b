//! `evenkeel train`: the speedup predictor of a machine.

use anyhow::{Result, ensure};
use evenkeel_model::Machine;
use evenkeel_model::predict::{Quality, Validation};
use serde::Serialize;

use crate::args::{Format, Train};
use crate::files::Target;
use crate::{catalog, json, table, training};

/// Runs the command.
pub fn run(args: &Train) -> Result<String> {
    let target = Target::open_some(args.file.as_ref())?;
    let machine = catalog::machine(&args.machine)?;
    let kinds = machine.core_types.len();
    ensure!(kinds > 1, "{} has one type of core: there is no speedup to predict", machine.name);
    let observed = training::observe(&machine)?;
    let predictor = training::learn(&machine, &observed, Quality::Best)?;
    if let Some(target) = target {
        target.write(predictor.to_toml().as_bytes())?;
    }
    let mut models = Vec::new();
    for (observed, (observed_on, faster, slower, model)) in observed.iter().zip(predictor.models()) {
        let validations = training::validate(observed)?;
        models.push(Model {
            observed_on: observed_on.to_string(),
            faster: faster.to_string(),
            slower: slower.to_string(),
            intercept: model.intercept,
            terms: model
                .terms
                .iter()
                .map(|(counter, weight)| Term { counter: counter.name(), weight: *weight })
                .collect(),
            mean_error: mean_error(&validations),
            programs: programs(&validations),
        });
    }
    match args.output.format {
        Format::Json => json::print(&Trained { machine: &machine.name, models }),
        Format::Table => Ok(report(&machine, &models)),
    }
}

/// What `train` prints as JSON.
#[derive(Serialize)]
struct Trained<'a> {
    machine: &'a str,
    models: Vec<Model>,
}

/// One model: for counters that were read on one core type.
#[derive(Serialize)]
struct Model {
    observed_on: String,
    faster: String,
    slower: String,
    intercept: f64,
    terms: Vec<Term>,
    mean_error: f64,
    programs: Vec<Program>,
}

#[derive(Serialize)]
struct Term {
    counter: &'static str,
    weight: f64,
}

/// A program, predicted by the model of the others: means over its threads.
#[derive(Serialize)]
struct Program {
    name: String,
    speedup: f64,
    predicted: f64,
}

/// The mean over samples of the prediction's distance from the truth, as a share of the truth.
fn mean_error(validations: &[Validation]) -> f64 {
    let error = |validation: &Validation| (validation.predicted / validation.actual - 1.0).abs();
    validations.iter().map(error).sum::<f64>() / validations.len() as f64
}

/// Validations come sorted by program.
fn programs(validations: &[Validation]) -> Vec<Program> {
    let mean = |threads: &[Validation], value: fn(&Validation) -> f64| {
        threads.iter().map(value).sum::<f64>() / threads.len() as f64
    };
    let program = |threads: &[Validation]| Program {
        name: threads[0].group.clone(),
        speedup: mean(threads, |thread| thread.actual),
        predicted: mean(threads, |thread| thread.predicted),
    };
    validations.chunk_by(|a, b| a.group == b.group).map(program).collect()
}

fn report(machine: &Machine, models: &[Model]) -> String {
    let mut text = table::heading(&format!("Speedup predictor of {}", machine.name));
    for model in models {
        let terms: Vec<String> =
            model.terms.iter().map(|term| format!("{:+.4} {}", term.weight, term.counter)).collect();
        text += &format!(
            "\nRead on {}: {} over {} =\n  {:.4} + ({}) / instructions\n\n",
            model.observed_on,
            model.faster,
            model.slower,
            model.intercept,
            terms.join(" ")
        );
        let mut rows = table::new(&["program", ">speedup", ">predicted", ">error"]);
        for program in &model.programs {
            rows.add_row([
                program.name.clone(),
                format!("{:.2}", program.speedup),
                format!("{:.2}", program.predicted),
                table::percent(program.predicted / program.speedup - 1.0),
            ]);
        }
        text += &table::text(&rows);
        text += &format!("Mean error over threads: {:.1} %\n", 100.0 * model.mean_error);
    }
    text += "\nEach program is predicted by the model of all the others (leave one out).\n";
    text
}

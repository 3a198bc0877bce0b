//! `evenkeel train`: the speedup predictor of a machine, and its thresholds for bias scheduling.

use anyhow::Result;
use evenkeel_experiment::training;
use evenkeel_report::text;

use crate::args::{Format, Train};
use crate::files::{Target, Unwritten};
use crate::interrupted::stopped;
use crate::progress::Work;
use crate::{catalog, json};

/// Runs the command.
pub fn run(args: &Train) -> Result<String> {
    let target = Target::open_some(args.file.as_ref())?;
    let machine = catalog::machine(&args.machine)?;
    let work = Work::begin("training", args.limit.max_events);
    let trained = training::train(&machine, args.split, &work.control()).map_err(|error| stopped(error, &work))?;
    let written = target.map_or(Ok(()), |target| target.write(trained.predictor.to_toml().as_bytes()));
    let report = match args.output.format {
        Format::Json => json::print(&json::Trained::from(&trained))?,
        Format::Table => text::predictor(&trained),
    };
    Ok(Unwritten::report(written, report)?)
}

//! `evenkeel reproduce`: a paper's evaluation, and what it published beside what comes out here.

use anyhow::Result;
use evenkeel_experiment::Error;
use evenkeel_experiment::paper::{self, Experiment, Reproduction};
use evenkeel_report::{page, text};

use crate::args::{Format, Reproduce, command_line};
use crate::clock::Stopwatch;
use crate::files::{Target, Unwritten};
use crate::interrupted::Interrupted;
use crate::json;
use crate::progress::Work;

/// Runs the command.
pub fn run(args: &Reproduce) -> Result<String> {
    let html = Target::open_some(args.html.as_ref())?;
    let mut experiments = Experiment::by_name(&args.experiment)?;
    for with in &args.with {
        paper::substitute(&mut experiments, with)?;
    }
    if args.oracle {
        paper::check_oracle(&experiments, &args.experiment)?;
    }
    let runs = experiments.iter().map(Reproduction::runs_of).sum::<Result<_, _>>()?;
    let work = Work::begin_of("reproducing", args.limit.max_events, runs);
    let (alone, mut cut_short) = (experiments.len() == 1, false);
    let mut reproductions = Vec::new();
    let mut seconds = Vec::new();
    for experiment in experiments {
        let watch = Stopwatch::start();
        match Reproduction::run(experiment, args.oracle, &work.control()) {
            Err(Error::Stopped { .. }) => {
                cut_short = true;
                break;
            }
            reproduction => reproductions.push(reproduction?),
        }
        seconds.push(watch.seconds());
    }
    if cut_short && reproductions.is_empty() {
        return Err(Interrupted { report: String::new(), reached: work.reached() }.into());
    }
    let page = |target: Target| {
        target.write(page::reproductions(&args.experiment, &reproductions, &command_line()).as_bytes())
    };
    let written = html.filter(|_| !cut_short).map_or(Ok(()), page);
    let report = match args.output.format {
        Format::Table => text::reproductions(&reproductions),
        Format::Json => {
            let all = reproductions.iter().zip(seconds);
            let mut all: Vec<_> = all.map(|(of, seconds)| json::Reproduction::of(of, seconds)).collect();
            if alone { json::print(&all.remove(0))? } else { json::print(&json::Reproductions { experiments: all })? }
        }
    };
    if !cut_short {
        return Ok(Unwritten::report(written, report)?);
    }
    let page = if args.html.is_some() { ", and no page is written" } else { "" };
    let reached = format!("{}: {} experiments are shown{page}", work.reached(), reproductions.len());
    Err(Interrupted { report, reached }.into())
}

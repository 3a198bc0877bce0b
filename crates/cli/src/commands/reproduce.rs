//! `evenkeel reproduce`: a paper's evaluation, and what it published beside what comes out here.

use anyhow::Result;
use evenkeel_experiment::Control;
use evenkeel_experiment::paper::{self, Experiment, Reproduction};
use evenkeel_report::{page, text};

use crate::args::{Format, Reproduce, command_line};
use crate::clock::Stopwatch;
use crate::files::Target;
use crate::json;
use crate::progress::Bars;

/// Runs the command.
pub fn run(args: &Reproduce) -> Result<String> {
    let html = Target::open_some(args.html.as_ref())?;
    let experiments = Experiment::by_name(&args.experiment)?;
    if args.oracle {
        paper::check_oracle(&experiments, &args.experiment)?;
    }
    let bars = Bars::new("reproducing");
    let mut reproductions = Vec::new();
    let mut seconds = Vec::new();
    for experiment in experiments {
        let watch = Stopwatch::start();
        reproductions.push(Reproduction::run(experiment, args.oracle, &Control::with_progress(&bars))?);
        seconds.push(watch.seconds());
    }
    if let Some(target) = html {
        target.write(page::reproductions(&args.experiment, &reproductions, &command_line()).as_bytes())?;
    }
    match args.output.format {
        Format::Table => Ok(text::reproductions(&reproductions)),
        Format::Json => {
            let all = reproductions.iter().zip(seconds);
            let mut all: Vec<_> = all.map(|(of, seconds)| json::Reproduction::of(of, seconds)).collect();
            match all.len() {
                1 => json::print(&all.remove(0)),
                _ => json::print(&json::Reproductions { experiments: all }),
            }
        }
    }
}

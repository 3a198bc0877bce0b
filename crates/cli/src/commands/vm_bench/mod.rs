//! `evenkeel vm bench`: small real programs on asymmetric machines, under the guest's own kernel and under each policy.

mod predict;
mod report;

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use evenkeel_linux::spec::Spec;
use evenkeel_linux::vm::bench::{BENCHES, Bench, Caller, Measured, Plan};
use evenkeel_linux::vm::kernel;
use indicatif::ProgressBar;

use super::vm::{inside, under};
use crate::args::{Format, VmBench};
use crate::{catalog, messages, progress};

/// Runs the command.
pub fn run(args: &VmBench) -> Result<String> {
    let specs = args.machine.iter().map(|word| word.parse().map_err(anyhow::Error::msg));
    let specs = specs.collect::<Result<Vec<Spec>>>()?;
    let benches = chosen(&args.programs)?;
    for name in &args.policy {
        catalog::live_policy(name)?;
    }
    let plan = Plan {
        specs,
        benches,
        policies: args.policy.clone(),
        repeat: args.repeat,
        seconds: args.seconds,
        kernel: kernel::find(args.kernel.as_deref())?,
    };
    messages::note(format_args!("{} runs, which take about {}", plan.runs(), rounded(plan.estimate())));
    let bar = progress::slow_bar("measuring", plan.runs());
    let machines = plan.measure(&mut Command { bar: bar.clone(), format: args.output.format })?;
    bar.finish_and_clear();
    match args.output.format {
        Format::Table => Ok(report::legend()),
        Format::Json => report::json(&machines),
    }
}

fn chosen(names: &[String]) -> Result<Vec<&'static Bench>> {
    if names.is_empty() {
        return Ok(BENCHES.iter().collect());
    }
    let find = |name: &String| {
        let found = BENCHES.iter().find(|bench| bench.name == name);
        found.ok_or_else(|| catalog::unknown("program", name, BENCHES.iter().map(|bench| bench.name)).into())
    };
    names.iter().map(find).collect()
}

/// A duration for people, rounded up.
fn rounded(seconds: f64) -> String {
    if seconds < 100.0 {
        format!("{:.0} seconds", (seconds / 10.0).ceil() * 10.0)
    } else {
        format!("{:.0} minutes", (seconds / 60.0).ceil())
    }
}

/// This command, which measures.
struct Command {
    bar: ProgressBar,
    format: Format,
}

impl Caller for Command {
    type Error = anyhow::Error;

    fn recording(&self, spec: &Spec, file: &Path, command: &[String]) -> Result<Vec<String>> {
        inside(spec, &["record", "-q", "-o", &file.display().to_string()], command)
    }

    fn under(&self, spec: &Spec, policy: &str, command: &[String]) -> Result<Vec<String>> {
        under(spec, "run", policy, Format::Table, command)
    }

    fn predict(&self, recording: &Path, took: f64, schedulers: &[&str]) -> Result<Vec<f64>> {
        predict::makespans(&recording.display().to_string(), took, schedulers)
    }

    fn begins(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn done(&mut self) {
        self.bar.inc(1);
    }

    fn warn(&mut self, text: &str) {
        messages::warning(text);
    }

    /// All machines take long: what is known is printed.
    fn measured(&mut self, machine: &Measured) -> Result<()> {
        if self.format == Format::Table {
            self.bar.suspend(|| anstream::stdout().write_all(report::table(machine).as_bytes()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up() {
        assert_eq!((rounded(41.0), rounded(1201.0)), ("50 seconds".to_owned(), "21 minutes".to_owned()));
    }
}

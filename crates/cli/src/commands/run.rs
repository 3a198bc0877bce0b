//! `evenkeel run`: a real program on this machine, its threads scheduled by a policy.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Error, Result, bail};
use evenkeel_linux::host::Target::{Command, Process};
use evenkeel_linux::host::{Followed, Plan};
use evenkeel_linux::launch::{self, Launched};

use super::trial;
use crate::args::Run;
use crate::failed::Own;
use crate::files::{Target, Unwritten};
use crate::interrupted::{Broken, Interrupted, STATUS};
use crate::live::{self, Account};
use crate::{catalog, messages, openmp, page, trace};

/// Runs the command and returns the exit status.
pub fn run(args: &Run) -> Result<u8> {
    // Defaults of a file conflict with nothing but what is typed.
    if let (Some(pid), false) = (args.pid, args.command.is_empty()) {
        bail!("there is a command and a process to follow, --pid {pid}: expected one of them");
    }
    if let Some(rounds) = args.ab {
        return compare(args, rounds);
    }
    let policy = catalog::live_policy(&args.policy)?;
    let library = args.openmp.then(openmp::library).transpose()?;
    let (machine, cpus) = live::this_machine(&args.this)?;
    catalog::accepted(&policy, &machine)?;
    if machine.core_types.len() == 1 && !args.quiet {
        messages::note(
            "the cores here are all alike, so there is nothing to move; --big and --little say which are not, and \
             `evenkeel vm` and `evenkeel emulate` make some that differ",
        );
    }
    let output = Target::open_some(args.output.as_ref())?;
    let html = Target::open_some(args.html.as_ref())?;
    let trace = Target::open_some(args.trace.as_ref())?;
    Target::distinct(&[&output, &html, &trace])?;
    // That cores are alike has been said.
    let tells = !args.quiet && machine.core_types.len() > 1;
    let variables = library.map(|library| openmp::variables(&library, &machine, &cpus, tells)).unwrap_or_default();
    let plan = Plan { machine, cpus, policy, period: args.period, timeline: html.is_some() || trace.is_some() };
    let guard = live::guard()?;
    let Followed { status, summary } = match args.pid {
        Some(pid) => live::follow(&plan, Process(pid), guard)?,
        None => live::follow(&plan, Command(&mut Launched::with(&args.command, &variables)?), guard)?,
    };
    let account = Account::new(&plan, &summary);
    let text = account.text(args.format.format, live::stream(output.as_ref()))?;
    // A run cannot be had again: one output that cannot be written does not cost the others.
    let mut written = live::write(&text, output, args.quiet);
    if let Some(timeline) = &summary.timeline {
        if let Some(target) = html {
            let page = page::run(&account, timeline, &title(args));
            written = written.and(target.write(page.as_bytes()).map_err(Error::new));
        }
        if let Some(target) = trace {
            written = written.and(trace::live(&account, timeline, target));
        }
    }
    written?;
    let code = status.map_or(0, launch::exit_code);
    if summary.powerless && code == 0 {
        bail!(Own("no thread could be moved"));
    }
    Ok(code)
}

/// With the policy and without: writes how they differ.
fn compare(args: &Run, rounds: u32) -> Result<u8> {
    let output = Target::open_some(args.output.as_ref())?;
    let html = Target::open_some(args.html.as_ref())?;
    Target::distinct(&[&output, &html])?;
    match trial::ab(args, rounds, live::stream(output.as_ref()), html) {
        Ok(text) => live::write(&text, output, false).map(|()| 0),
        Err(mut error) => {
            let mut report = error.downcast_mut::<Unwritten>().map(|unwritten| std::mem::take(&mut unwritten.report));
            if let Some(broken) = error.downcast_mut::<Broken>() {
                report = Some(std::mem::take(&mut broken.report));
            }
            if let Some(report) = report {
                if let Err(unwritten) = live::write(&report, output, false) {
                    messages::warning(unwritten);
                }
                return Err(error);
            }
            let interrupted = error.downcast::<Interrupted>()?;
            // Nothing is no reason to lose the result that is there.
            if !interrupted.report.is_empty() {
                live::write(&interrupted.report, output, false)?;
            }
            messages::error(&interrupted);
            Ok(STATUS)
        }
    }
}

/// What was followed.
fn title(args: &Run) -> String {
    let name = |word: &OsString| Path::new(word).file_name().unwrap_or(word).to_string_lossy().into_owned();
    match (args.pid, args.command.first()) {
        (None, Some(word)) => name(word),
        (pid, _) => format!("process {}", pid.unwrap_or_default()),
    }
}

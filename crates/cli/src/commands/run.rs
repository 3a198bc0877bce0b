//! `evenkeel run`: a real program on this machine, its threads scheduled by a policy.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context, Error, Result, bail};
use evenkeel_linux::guard::Guard;
use evenkeel_linux::host::{Follow, Plan};
use evenkeel_linux::launch::{self, Launched};

use crate::args::Run;
use crate::files::Target;
use crate::live::{self, Account};
use crate::{catalog, page, trace};

/// Runs the command and answers the exit status.
pub fn run(args: &Run) -> Result<u8> {
    let policy = catalog::live_policy(&args.policy)?;
    let (machine, cpus) = live::machine(&args.cores)?;
    catalog::accepted(&policy, &machine)?;
    let output = Target::open_some(args.output.as_ref())?;
    let report = Target::open_some(args.report.as_ref())?;
    let trace = Target::open_some(args.trace.as_ref())?;
    Target::distinct(&[&output, &report, &trace])?;
    let plan = Plan { machine, cpus, policy, period: args.period, timeline: report.is_some() || trace.is_some() };
    // Before anything else: what follows may change masks.
    let guard = Guard::spawn().context("cannot start the process that gives affinity masks back")?;
    let (code, summary) = match args.pid {
        Some(pid) => (0, attach(&plan, pid, guard)?),
        None => launch(&plan, &args.command, guard)?,
    };
    let account = Account::new(&plan, &summary);
    let text = account.text(args.format.format)?;
    // A run cannot be had again: one output that cannot be written does not cost the others.
    let mut written = live::tell(&text, output, args.quiet);
    if let Some(timeline) = &summary.timeline {
        if let Some(target) = report {
            let page = page::run(&account, timeline, &title(args));
            written = written.and(target.write(page.as_bytes()).map_err(Error::new));
        }
        if let Some(target) = trace {
            written = written.and(trace::live(&account, timeline, target));
        }
    }
    written.map(|()| code)
}

/// What was followed.
fn title(args: &Run) -> String {
    let name = |word: &OsString| Path::new(word).file_name().unwrap_or(word).to_string_lossy().into_owned();
    match (args.pid, args.command.first()) {
        (None, Some(word)) => name(word),
        (pid, _) => format!("process {}", pid.unwrap_or_default()),
    }
}

fn launch(plan: &Plan, command: &[OsString], guard: Guard) -> Result<(u8, evenkeel_linux::host::Summary)> {
    live::find(&command[0])?;
    let launched = Launched::new(command).context("cannot start a process")?;
    live::follow(plan, launched, guard)
}

fn attach(plan: &Plan, pid: u32, guard: Guard) -> Result<evenkeel_linux::host::Summary> {
    let Some(end) = launch::end_of(pid).ok() else {
        bail!("there is no process {pid}; `ps` lists those that there are");
    };
    if launch::ended(end.as_fd())? {
        bail!("process {pid} has ended (it is a zombie: its parent has not asked how); expected one that runs");
    }
    let signals = launch::Signals::new().context("cannot listen to signals")?;
    let mut follow = Follow::new(plan, pid, guard).with_context(|| format!("cannot look at process {pid}"))?;
    loop {
        follow.step().context("the process that gives affinity masks back has gone")?;
        if launch::ended(end.as_fd())? || signals.asked_to_end().is_some() {
            return Ok(follow.finish());
        }
        follow.wait(end.as_fd())?;
    }
}

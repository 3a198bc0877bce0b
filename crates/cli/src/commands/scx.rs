//! `evenkeel scx`: this machine's threads, scheduled inside its kernel.

mod live_figures;

use std::ops::ControlFlow;

use anyhow::{Context, Result, bail};
use evenkeel_linux::clock::clock;
use evenkeel_linux::launch::{self, Launched, Signals};
use evenkeel_linux::{cgroup, process};
use evenkeel_model::Ns;
use evenkeel_report::table::{self, Stream};
use evenkeel_sched::{Description, POLICIES, Setup};
use evenkeel_scx::{Account, Bounds, End, Figures, Follow, Only, Path, Plan, Session};

use self::live_figures::LiveFigures;
use crate::args::{self, Format, Output, Scx};
use crate::failed::Unprinted;
use crate::files::Target;
use crate::page::{Scheduled, Story};
use crate::{catalog, closed, json, live, messages, ready};

/// How often what was done is noted for a page, at least.
const NOTED: Ns = Ns::from_ms(250);

/// Runs the command, if there is one, and returns the exit status.
pub fn run(args: &Scx) -> Result<u8> {
    if args.stats.is_some() && closed::output() {
        bail!(Unprinted("standard output is closed".into()));
    }
    let policy = catalog::live_policy(&args.policy)?;
    let path = path(args, &policy)?;
    let (machine, cpus) = live::this_machine(&args.this)?;
    catalog::accepted(&policy, &machine)?;
    let only = args.only.as_ref().map(only).transpose()?;
    let html = Target::open_some(args.html.as_ref())?;
    let plan = Plan {
        machine,
        cpus,
        policy,
        path,
        partial: only.is_some(),
        bounds: Bounds::default(),
        timeline: html.is_some(),
    };
    let mut command = (!args.command.is_empty()).then(|| Launched::new(&args.command)).transpose()?;
    let end = match &mut command {
        Some(command) => End::Command(command),
        None => End::Signal(Signals::new().context("cannot listen to signals")?),
    };
    let (name, first) = (plan.policy.name().to_owned(), plan.policy.description());
    let (machine, cpus) = (plan.machine.clone(), plan.cpus.clone());
    let mut session = Session::start(plan)?;
    let mut observed = session.observed();
    ready::tell(&by(&name, path));
    let began = clock();
    let mut told = LiveFigures::of(args, &by(&name, path));
    let figures = noted(told.as_ref().map(LiveFigures::every), html.is_some());
    let observes = observed.as_mut();
    let follow = Follow { end, only: only.as_ref(), time: args.time, figures, observed: observes };
    let mut story = Story::default();
    let mut unwritten = None;
    let status = session.follow(follow, |figures, elapsed| {
        story.note(elapsed, *figures);
        let Some(telling) = told.as_mut().filter(|told| told.due(elapsed)) else { return ControlFlow::Continue(()) };
        let paths = Paths::of(path, &live::deciders(first, &session.account().policies));
        match telling.tell(paths, figures, elapsed) {
            Ok(true) => return ControlFlow::Continue(()),
            Ok(false) => {}
            Err(error) => unwritten = Some(error),
        }
        // Figures that cannot be written cost neither the summary nor a command.
        told = None;
        if args.command.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    // What follows stands where a status stood.
    drop(told);
    let mut status = status.map(launch::exit_code);
    let elapsed = clock().since(began);
    let so_far = session.account();
    let (account, cut) = match session.finish() {
        Ok((account, ended)) => (account, ended.map(|ended| ended.to_string())),
        Err(error) => (so_far, Some(error.to_string())),
    };
    if let Some(observed) = &mut observed {
        // What was noted last.
        observed.update();
    }
    if let Some(cut) = &cut {
        messages::error(cut);
    }
    if let Some(command) = command.as_mut().filter(|_| status.is_none()) {
        // It runs on under the kernel's own scheduler.
        status = Some(launch::exit_code(command.finish().context("cannot wait for the command")?));
    }
    let Account { figures, policies, missing } = account;
    let paths = Paths::of(path, &live::deciders(first, &policies));
    let missing = missing.as_deref();
    story.end(elapsed, figures);
    let page = |target: Target| {
        let heading = match &cut {
            Some(cut) => format!("{}, cut short after {elapsed}: {cut}", heading(&name, path)),
            None => heading(&name, path),
        };
        let page = Scheduled {
            heading: &heading,
            machine: &machine,
            cpus: &cpus,
            policies: &policies,
            facts: &facts(paths, &figures, &policies, elapsed),
            story: &story,
            observed: observed.as_ref(),
            missing,
            end: elapsed,
        };
        target.write(page.page().as_bytes())
    };
    // What could not be written does not cost the summary.
    let written = html.map_or(Ok(()), page);
    if cut.is_some() {
        written?;
        return Ok(launch::OWN_FAILURE);
    }
    if !args.quiet {
        let text = match args.format.format {
            Format::Json => {
                let document = document(paths, &figures, elapsed);
                let policies = Some(live::later(&policies));
                json::print(&json::Scheduled { policy: Some(&name), policies, missing, ..document })?
            }
            Format::Table => summary(&heading(&name, path), &facts(paths, &figures, &policies, elapsed), missing),
        };
        messages::account(&text)?;
    }
    written?;
    unwritten.map_or(Ok(status.unwrap_or(0)), Err)
}

/// How often what was done is noted, if it is: for a page often, and so that it is told as often as it is to be.
fn noted(told: Option<Ns>, for_page: bool) -> Option<Ns> {
    if !for_page {
        return told;
    }
    let told = told.unwrap_or(NOTED);
    Some(Ns(told.0.div_ceil(told.0.div_ceil(NOTED.0))))
}

/// What is scheduled, if it is there.
fn only(chosen: &args::Chosen) -> Result<Only> {
    match chosen {
        args::Chosen::Process(process) if process::started(*process).is_some() => Ok(Only::Process(*process)),
        args::Chosen::Process(process) => bail!("there is no process {process}; `ps` lists those that there are"),
        args::Chosen::Group(name) => cgroup::find(name).map(Only::Group).with_context(|| {
            format!(
                "there is no control group \"{name}\": expected a process's number, or a group as in /proc/PID/cgroup, \
                 such as user.slice or /sys/fs/cgroup/user.slice"
            )
        }),
    }
}

/// Which policies there are for this machine's threads, and where each can decide.
pub fn list(output: Output) -> Result<String> {
    let live = POLICIES.iter().filter(|policy| !policy.foresight);
    let rows = live.map(|policy| json::Schedulable {
        name: policy.name,
        in_kernel: policy.in_kernel.is_some(),
        summary: policy.summary,
    });
    if output.format == Format::Json {
        return json::print(&json::Schedulables { policies: rows.collect() });
    }
    let mut policies = table::new(&["policy", "decides", ""]);
    for row in rows {
        let place = if row.in_kernel { "in the kernel" } else { "in this process" };
        policies.add_row([row.name, place, row.summary]);
    }
    Ok(table::text(&policies))
}

/// Where decisions are made.
fn path(args: &Scx, policy: &Setup) -> Result<Path> {
    match args.path {
        None if policy.description().in_kernel.is_some() => Ok(Path::Kernel),
        None | Some(args::Path::Daemon) => Ok(Path::Process),
        Some(args::Path::Kernel) => catalog::decides_in_kernel(policy).map(|()| Path::Kernel),
    }
}

/// Where decisions have been made, under all policies so far.
#[derive(Clone, Copy)]
struct Paths {
    first: Path,
    /// Whether in this process at some time.
    in_process: bool,
}

impl Paths {
    /// One of the later policies that the kernel's part does not have decides in this process.
    fn of(first: Path, deciders: &[&Description]) -> Self {
        let in_process = first == Path::Process || deciders.iter().any(|policy| policy.in_kernel.is_none());
        Self { first, in_process }
    }

    /// What only this process knows, and what only the kernel's part does, as far as each has decided.
    fn known<T>(self, by_process: T, by_kernel: T) -> [Option<T>; 2] {
        [self.in_process.then_some(by_process), (self.first == Path::Kernel).then_some(by_kernel)]
    }
}

/// Which part of their time threads ran on the fastest cores.
fn on_fast_cores(big: Ns, little: Ns) -> String {
    let share = 100.0 * big.0 as f64 / (big + little).0.max(1) as f64;
    format!("{share:.0} % on the fastest cores")
}

fn document(paths: Paths, figures: &Figures, elapsed: Ns) -> json::Scheduled<'static> {
    let seconds = |time: Ns| time.0 as f64 / 1e9;
    let [taken_late, left_out] = paths.known(figures.taken_late, figures.left_out);
    json::Scheduled {
        policy: None,
        policies: None,
        path: if paths.first == Path::Process { "daemon" } else { "kernel" },
        elapsed_s: seconds(elapsed),
        living: figures.living,
        threads: figures.threads,
        big_s: seconds(figures.big),
        little_s: seconds(figures.little),
        switches: figures.switches,
        stops: figures.stops,
        exchanges: figures.exchanges,
        stale: figures.stale,
        taken_late,
        longest_wait_s: seconds(figures.longest_wait),
        longest_idle_s: seconds(figures.longest_idle),
        longest_misplaced_s: seconds(figures.longest_misplaced),
        left_out,
        blamed_s: seconds(figures.blamed),
        frequencies: figures.frequencies,
        events: figures.events,
        cost_s: seconds(figures.cost),
        missing: None,
    }
}

fn by(policy: &str, path: Path) -> String {
    let place = if path == Path::Kernel { "in the kernel" } else { "in this process" };
    format!("{policy}, decided {place}")
}

fn heading(policy: &str, path: Path) -> String {
    format!("evenkeel scx: {}", by(policy, path))
}

fn summary(heading: &str, facts: &[(&'static str, String, String)], missing: Option<&str>) -> String {
    let mut rows = table::on(Stream::Errors, &["", ">", ""]);
    for (name, value, remark) in facts {
        rows.add_row([*name, value, remark]);
    }
    let missing = missing.map(|missing| format!("{missing}\n")).unwrap_or_default();
    format!("\n{}{}{missing}", table::heading(heading), table::text(&rows))
}

/// What was done: names, values, remarks.
fn facts(
    paths: Paths,
    figures: &Figures,
    policies: &[(Ns, String)],
    elapsed: Ns,
) -> Vec<(&'static str, String, String)> {
    let all = figures.big + figures.little;
    let mut rows = vec![
        ("elapsed", elapsed.to_string(), String::new()),
        ("threads", figures.threads.to_string(), "scheduled at some time".into()),
        ("time that they ran", all.to_string(), on_fast_cores(figures.big, figures.little)),
        ("switches", figures.switches.to_string(), format!("{} of them stale", figures.stale)),
        ("threads stopped", figures.stops.to_string(), String::new()),
        ("exchanges", figures.exchanges.to_string(), "of two threads' cores".into()),
        ("longest wait for a core", figures.longest_wait.to_string(), String::new()),
        ("longest idle core", figures.longest_idle.to_string(), "while a thread waited that may use it".into()),
        (
            "longest idle big core",
            figures.longest_misplaced.to_string(),
            "while a slower one ran one and the same thread that may use it".into(),
        ),
        ("waited for others", figures.blamed.to_string(), "in futex calls, all threads together".into()),
    ];
    let by_itself = paths.known(
        ("taken by cores themselves", figures.taken_late.to_string(), "because this process was late".to_owned()),
        ("left out", figures.left_out.to_string(), "threads for which there was no room".to_owned()),
    );
    rows.extend(by_itself.into_iter().flatten());
    let then = policies.iter().map(|(at, policy)| ("then", policy.clone(), format!("from {at} on")));
    rows.splice(1..1, then);
    let share = 100.0 * figures.cost.0 as f64 / elapsed.0.max(1) as f64;
    rows.push((
        "cost",
        figures.cost.to_string(),
        format!("{share:.2} % of one CPU, without what is decided in the kernel"),
    ));
    if let Some(told) = figures.frequencies {
        rows.push(("frequencies", told.to_string(), "times that schedutil was told how much of a core is used".into()));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_page_figures_are_told_as_often_as_without() {
        for (told, every) in [(100, 100), (250, 250), (300, 150), (1000, 250), (1001, 201)] {
            let ms = noted(Some(Ns::from_ms(told)), true).unwrap().0.div_ceil(1_000_000);
            assert_eq!(ms, every, "{told}");
            assert_eq!(noted(Some(Ns::from_ms(told)), false), Some(Ns::from_ms(told)));
        }
        assert_eq!((noted(None, true), noted(None, false)), (Some(NOTED), None));
    }

    #[test]
    fn what_either_path_counts_is_told_if_it_was_ever_used() {
        let known = |first: Path, later: &[&str]| {
            let pfs = catalog::live_policy("pfs").unwrap().description();
            let later: Vec<_> = later.iter().map(|name| (Ns::ZERO, (*name).to_owned())).collect();
            let document = document(Paths::of(first, &live::deciders(pfs, &later)), &Figures::default(), Ns::ZERO);
            (document.taken_late, document.left_out)
        };
        assert_eq!(known(Path::Kernel, &["gts"]), (None, Some(0)));
        assert_eq!(known(Path::Kernel, &["cluster-switch", "gts"]), (Some(0), Some(0)));
        assert_eq!(known(Path::Process, &["gts"]), (Some(0), None));
    }
}

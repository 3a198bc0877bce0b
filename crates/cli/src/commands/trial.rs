//! `evenkeel try`: which scheduler a program is fastest under here, and `evenkeel run --ab`, which asks it of one.

mod report;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use evenkeel_linux::launch::{self, Signals, exit_code};
use evenkeel_linux::trial::{Counters, Measured, Rules, STOCK, Trial, Turn};
use evenkeel_model::Ns;
use indicatif::{HumanDuration, ProgressBar};

use self::report::Report;
use crate::args::{Cores, Run, Try};
use crate::config::VARIABLE;
use crate::interrupted::Interrupted;
use crate::{catalog, live, messages, openmp, progress};

/// Looks come after so many rounds at first: fewer say nothing of what is not twice as fast.
const FIRST_LOOK: u32 = 4;
/// The libraries whose loops can be split, by the names of their files.
const SPLIT: [&str; 2] = ["/libomp", "/libiomp5"];

/// A scheduler that takes part.
struct Scheduler {
    name: String,
    /// The words before the program's own, without this program's; none for the kernel's own.
    words: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Try) -> Result<String> {
    let job = Job {
        command: &args.command,
        prepare: args.prepare.as_deref(),
        ignores_failure: args.ignore_failure,
        shows: args.show_output,
        limit: Some(args.limit),
        counters: Counters::find(Path::new("/")),
        signals: Signals::new().context("cannot listen to signals")?,
        format: args.output.format,
    };
    check(&args.policy, &args.cores)?;
    launch::find(&args.command[0])?;
    if args.openmp {
        openmp::library()?;
    }
    let options = options(&args.cores);
    let mut schedulers = vec![Scheduler { name: "stock".into(), words: Vec::new() }];
    for policy in &args.policy {
        schedulers.push(Scheduler::new(&["run", "--policy", policy], &options));
        if args.scx {
            schedulers.push(Scheduler::new(&["scx", "--policy", policy], &options));
        }
    }
    // The first run finds files that are not in memory yet, so it does not count; it says what a run takes, and what it loads.
    let warm = job.turn(&schedulers[STOCK])?;
    if args.openmp || splits(&warm.loaded) {
        schedulers.push(Scheduler::new(&["run", "--openmp", "--policy", &args.policy[0]], &options));
    }
    let rules = Rules { first: FIRST_LOOK.min(args.rounds), most: args.rounds, margin: args.margin / 100.0 };
    let round = warm.measured.wall.0 as f64 * 1e-9 * schedulers.len() as f64;
    if Ns((2.0 * round * 1e9) as u64) > args.limit {
        bail!(
            "a run takes {}, so two rounds of {} take about {}, longer than --limit {}: allow more, or try fewer policies",
            warm.measured.wall,
            schedulers.len(),
            HumanDuration(std::time::Duration::from_secs_f64(2.0 * round)),
            args.limit
        );
    }
    let time = HumanDuration(std::time::Duration::from_secs_f64(round));
    messages::note(format_args!(
        "{} schedulers take turns, about {time} a round, for {} rounds at most",
        schedulers.len(),
        rules.most
    ));
    job.measure(&schedulers, rules)
}

/// `evenkeel run --ab`: so many rounds with the policy and without. Returns the account.
pub fn ab(args: &Run, rounds: u32) -> Result<String> {
    let job = Job {
        command: &args.command,
        prepare: None,
        ignores_failure: false,
        shows: false,
        limit: None,
        counters: Counters::find(Path::new("/")),
        signals: Signals::new().context("cannot listen to signals")?,
        format: args.format.format,
    };
    check(std::slice::from_ref(&args.policy), &args.cores)?;
    launch::find(&args.command[0])?;
    let mut words = vec!["run", "--policy", args.policy.as_str()];
    if args.openmp {
        openmp::library()?;
        words.insert(1, "--openmp");
    }
    let period = format!("{}ns", args.period.0);
    let options = [options(&args.cores), vec!["--period".into(), period]].concat();
    let schedulers = [Scheduler { name: "stock".into(), words: Vec::new() }, Scheduler::new(&words, &options)];
    job.turn(&schedulers[STOCK])?;
    // Every difference counts where one is asked for.
    job.measure(&schedulers, Rules::exactly(rounds, 0.0))
}

/// Makes sure that these policies can be tried on these cores, before anything is run.
fn check(policies: &[String], cores: &Cores) -> Result<()> {
    let (machine, _) = live::machine(cores)?;
    for (nth, name) in policies.iter().enumerate() {
        catalog::accepted(&catalog::live_policy(name)?, &machine)?;
        if policies[..nth].contains(name) {
            bail!("policy {name}: named twice");
        }
    }
    if machine.core_types.len() == 1 {
        messages::note(
            "the cores here are all alike, so there is nothing to gain; --big and --little say which are not, and \
             `evenkeel vm` and `evenkeel emulate` make some that differ",
        );
    }
    Ok(())
}

/// The options for the machine, as they were given.
fn options(cores: &Cores) -> Vec<String> {
    let ratio = cores.ratio.map(|ratio| ratio.to_string());
    let all = [("--big", &cores.big), ("--little", &cores.little), ("--ratio", &ratio)];
    all.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?])).flatten().collect()
}

/// Whether a program that has this in its memory has loops that can be split.
fn splits(maps: &str) -> bool {
    SPLIT.iter().any(|library| maps.contains(library))
}

impl Scheduler {
    /// Its name is what one would type.
    fn new(words: &[&str], options: &[String]) -> Self {
        let [host, more @ .., policy] = words else { unreachable!("a command, and a policy at the end") };
        let mut name = (*policy).to_owned();
        if more.contains(&"--openmp") {
            name += " --openmp";
        }
        if *host == "scx" {
            name = format!("scx {name}");
        }
        let words = words.iter().map(|word| (*word).to_owned()).chain(options.iter().cloned()).collect();
        Self { name, words }
    }
}

/// What is to be measured.
struct Job<'a> {
    command: &'a [OsString],
    prepare: Option<&'a OsStr>,
    ignores_failure: bool,
    shows: bool,
    limit: Option<Ns>,
    counters: Counters,
    signals: Signals,
    format: crate::args::Format,
}

/// One run.
struct Ran {
    measured: Measured,
    loaded: String,
}

/// A signal has ended a run.
#[derive(Debug)]
struct Signalled;

impl std::fmt::Display for Signalled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted before anything was measured")
    }
}

impl std::error::Error for Signalled {}

impl Job<'_> {
    fn measure(&self, schedulers: &[Scheduler], rules: Rules) -> Result<String> {
        let began = evenkeel_linux::clock::clock();
        let mut trial = Trial::new(schedulers.len() - 1, rules);
        let bar = progress::slow_bar("trying", (rules.most as usize) * schedulers.len());
        let mut longest = Ns::ZERO;
        let ended = loop {
            let Some(order) = trial.next() else { break Ok(()) };
            let round = evenkeel_linux::clock::clock();
            if self.limit.is_some_and(|limit| round - began + longest > limit) {
                break Ok(());
            }
            match self.round(schedulers, &order, &bar) {
                Ok(ran) => trial.add(&ran),
                Err(error) => break Err(error),
            }
            longest = longest.max(evenkeel_linux::clock::clock() - round);
        };
        bar.finish_and_clear();
        let report = Report { command: self.command, schedulers, trial: &trial, rules };
        let text = |report: &Report<'_>| if trial.done() == 0 { Ok(String::new()) } else { report.text(self.format) };
        match ended {
            Ok(()) => text(&report),
            Err(error) if error.is::<Signalled>() => {
                let reached = format!("{} of at most {} rounds", trial.done(), rules.most);
                bail!(Interrupted { report: text(&report)?, reached })
            }
            Err(error) => Err(error),
        }
    }

    fn round(&self, schedulers: &[Scheduler], order: &[usize], bar: &ProgressBar) -> Result<Vec<(usize, Measured)>> {
        let mut ran = Vec::new();
        for &one in order {
            bar.set_message(schedulers[one].name.clone());
            ran.push((one, self.turn(&schedulers[one])?.measured));
            bar.inc(1);
        }
        Ok(ran)
    }

    fn turn(&self, scheduler: &Scheduler) -> Result<Ran> {
        if let Some(prepare) = self.prepare {
            let status = Command::new("sh").arg("-c").arg(prepare).stdin(Stdio::null()).stdout(Stdio::null()).status();
            let status = status.context("cannot start the shell for --prepare")?;
            if !status.success() {
                bail!("--prepare {}: it failed, with exit code {}", prepare.display(), exit_code(status));
            }
        }
        let mut command = Vec::new();
        if !scheduler.words.is_empty() {
            command.push(env::current_exe().context("cannot find this program's own file")?.into_os_string());
            command.extend(scheduler.words.iter().map(OsString::from));
            command.extend(["--quiet", "--"].map(OsString::from));
        }
        command.extend_from_slice(self.command);
        let turn = Turn { command: &command, shows: self.shows, counters: &self.counters, without: &[VARIABLE] };
        let ended = turn.run(&self.signals, scheduler.words.is_empty()).context("cannot start a process")?;
        if ended.signal.is_some() {
            bail!(Signalled);
        }
        if !ended.status.success() && !self.ignores_failure {
            let words = report::words(scheduler, self.command).join(" ");
            bail!(
                "the command failed under {}, with exit code {}: what it does then is no measure. See what it says \
                 (`{words}`), or give --ignore-failure if that is how it ends",
                scheduler.name,
                exit_code(ended.status)
            );
        }
        Ok(Ran { measured: ended.measured, loaded: ended.loaded })
    }
}

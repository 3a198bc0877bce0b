//! `evenkeel try`: which scheduler a program is fastest under here, and `evenkeel run --ab`, which asks it of one.

mod page;
mod report;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anstream::adapter::strip_str;
use anyhow::{Context, Result, bail};
use evenkeel_linux::clock::clock;
use evenkeel_linux::energy::Counters;
use evenkeel_linux::launch::{self, OWN_FAILURE, Signals, exit_code};
use evenkeel_linux::trial::{Ended, Measured, Rules, STOCK, Trial, Turn};
use evenkeel_linux::{host, quote};
use evenkeel_model::Ns;
use evenkeel_report::table::Stream;
use indicatif::{HumanDuration, ProgressBar};
use signal_hook::consts::SIGCONT;

use self::report::Report;
use crate::args::{Cores, Run, ThisMachine, Try};
use crate::config::VARIABLE;
use crate::files::{Target, Unwritten};
use crate::interrupted::{Broken, Interrupted};
use crate::{catalog, live, messages, openmp, progress};

/// Looks come after so many rounds at first: fewer say nothing of what is not twice as fast.
const FIRST_LOOK: u32 = 4;
/// The libraries with which `--openmp` helps, by how the names of their files begin: Python packages have their own, such as `libgomp-a49a47f9.so.1`.
const SPLIT: [&str; 4] = ["libomp.so", "libomp5.so", "libiomp5.so", "libgomp"];
/// Of these exit codes it cannot be told whether they are the program's or Evenkeel's.
const OWN: [u8; 4] = [2, OWN_FAILURE, 126, 127];
/// So many rounds, or first runs, in which Evenkeel was stopped are run again. More are the program's own doing, such as a shell's.
const AGAIN: u32 = 10;

/// A scheduler that takes part.
struct Scheduler {
    name: String,
    /// The words before the program's own, without this program's; none for the kernel's own.
    words: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Try) -> Result<String> {
    let html = Target::open_some(args.html.as_ref())?;
    let job = Job {
        prepare: args.prepare.as_deref(),
        ignores_failure: args.ignore_failure,
        shows: args.show_output,
        limit: Some(args.limit),
        ..Job::new(&args.command, args.output.format, "evenkeel try")?
    };
    launch::find(&args.command[0])?;
    check(&args.policy, &args.this)?;
    if args.scx && !Path::new("/sys/kernel/sched_ext").exists() {
        bail!(evenkeel_scx::Error::NoSchedExt);
    }
    if args.openmp {
        openmp::library()?;
    }
    let options = options(&args.this);
    let mut schedulers = vec![Scheduler { name: "stock".into(), words: Vec::new() }];
    for policy in &args.policy {
        schedulers.push(Scheduler::new(&["run", "--policy", policy], &options));
        if args.scx {
            schedulers.push(Scheduler::new(&["scx", "--policy", policy], &options));
        }
    }
    // The first run finds files that are not in memory yet, so it does not count; it says what a run takes, and what it loads.
    let (loaded, one) = job.warm(&schedulers[STOCK])?;
    if args.openmp || (splits(&loaded) && can_split()) {
        schedulers.push(Scheduler::new(&["run", "--openmp", "--policy", &args.policy[0]], &options));
    }
    if args.rounds < FIRST_LOOK {
        messages::note(format_args!("fewer than {FIRST_LOOK} rounds tell no difference from chance but a great one"));
    }
    let rules = Rules { first: FIRST_LOOK.min(args.rounds), most: args.rounds, margin: args.margin / 100.0 };
    let round = one.0 as f64 * 1e-9 * schedulers.len() as f64;
    if Ns((2.0 * round * 1e9) as u64) > args.limit {
        bail!(
            "a run takes {one}{}, so two rounds of {} take {}, longer than --limit {}: allow more, or try fewer policies",
            if args.prepare.is_some() { " with --prepare" } else { "" },
            schedulers.len(),
            about(2.0 * round),
            args.limit
        );
    }
    messages::note(format_args!(
        "{} schedulers take turns, {} a round, for {} rounds at most",
        schedulers.len(),
        about(round),
        rules.most
    ));
    job.measure(&schedulers, rules, html)
}

/// `evenkeel run --ab`: so many rounds with the policy and without. Returns the account, and writes the page.
pub fn ab(args: &Run, rounds: u32, to: Stream, html: Option<Target>) -> Result<String> {
    let job = Job { to, ..Job::new(&args.command, args.format.format, "evenkeel run --ab")? };
    launch::find(&args.command[0])?;
    check(std::slice::from_ref(&args.policy), &args.this)?;
    let mut words = vec!["run", "--policy", args.policy.as_str()];
    if args.openmp {
        openmp::library()?;
        words.insert(1, "--openmp");
    }
    let mut options = options(&args.this);
    if args.period != host::PERIOD {
        options.extend(["--period".into(), format!("{}ns", args.period.0)]);
    }
    let schedulers = [Scheduler { name: "stock".into(), words: Vec::new() }, Scheduler::new(&words, &options)];
    job.warm(&schedulers[STOCK])?;
    // Every difference counts where one is asked for.
    job.measure(&schedulers, Rules::exactly(rounds, 0.0), html)
}

/// A time for people, in seconds.
fn about(seconds: f64) -> String {
    if seconds < 100.0 {
        return Ns((seconds * 1e9) as u64).to_string();
    }
    format!("about {}", HumanDuration(Duration::from_secs_f64(seconds)))
}

/// Whether the library is there that splits loops; else says why they are not.
fn can_split() -> bool {
    let library = openmp::library();
    if let Err(why) = &library {
        messages::note(format_args!("slow cores could have less of the program's OpenMP loops, but: {why:#}"));
    }
    library.is_ok()
}

/// Makes sure that these policies can be tried on this machine, before anything is run.
fn check(policies: &[String], this: &ThisMachine) -> Result<()> {
    let (machine, _) = live::this_machine(this)?;
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
fn options(this: &ThisMachine) -> Vec<String> {
    let ThisMachine { cores: Cores { big, little, ratio }, machine } = this;
    let ratio = ratio.map(|ratio| ratio.to_string());
    let all = [("--machine", machine), ("--big", big), ("--little", little), ("--ratio", &ratio)];
    all.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?])).flatten().collect()
}

/// Whether a program that has these files in its memory has loops that can be split.
fn splits(loaded: &BTreeSet<String>) -> bool {
    loaded.iter().any(|file| SPLIT.iter().any(|library| file.starts_with(library)))
}

/// The error in what Evenkeel says, which may be styled also where no terminal shows it.
fn error_in(said: &str) -> Option<String> {
    strip_str(said).to_string().lines().find_map(|line| line.strip_prefix("error: ")).map(str::to_owned)
}

impl Scheduler {
    /// What Evenkeel says if it fails under this scheduler whatever it runs.
    fn refusal(&self) -> Option<String> {
        if self.words.is_empty() {
            return None;
        }
        let mut command = Command::new(env::current_exe().ok()?);
        command.args(&self.words).args(["--quiet", "--", "true"]).env_remove(VARIABLE).stdin(Stdio::null());
        let output = command.output().ok().filter(|output| !output.status.success())?;
        error_in(&String::from_utf8_lossy(&output.stderr))
    }

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
    /// Set when this process continues after it was stopped: that time is no program's.
    continued: Arc<AtomicBool>,
    format: crate::args::Format,
    /// Where the report is written.
    to: Stream,
    /// With which exit code the command ends under the kernel's own scheduler.
    usual: OnceCell<u8>,
    /// What was asked, for a heading.
    asked: &'static str,
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

impl<'a> Job<'a> {
    /// Of this command, without anything special.
    fn new(command: &'a [OsString], format: crate::args::Format, asked: &'static str) -> Result<Self> {
        let continued = Arc::default();
        signal_hook::flag::register(SIGCONT, Arc::clone(&continued)).context("cannot listen to signals")?;
        Ok(Self {
            command,
            prepare: None,
            ignores_failure: false,
            shows: false,
            limit: None,
            counters: Counters::find(Path::new("/")),
            signals: Signals::to_pass_on().context("cannot listen to signals")?,
            continued,
            format,
            to: Stream::Output,
            usual: OnceCell::new(),
            asked,
        })
    }

    /// The first run, which does not count: what it loads, and how long it takes.
    fn warm(&self, stock: &Scheduler) -> Result<(BTreeSet<String>, Ns)> {
        let mut again = 0;
        loop {
            self.continued.store(false, Ordering::Relaxed);
            let began = clock();
            let ended = self.turn(stock, true).map_err(|error| match error.is::<Signalled>() {
                true => Interrupted { report: String::new(), reached: "no round".into() }.into(),
                false => error,
            })?;
            let took = clock() - began;
            if again == AGAIN || !self.continued.load(Ordering::Relaxed) {
                return Ok((ended.loaded, took));
            }
            messages::note("Evenkeel was stopped in the first run (Ctrl-Z), which is run again");
            again += 1;
        }
    }

    /// Returns the report, and writes the page, also of what was measured until a signal came or the program failed.
    fn measure(&self, schedulers: &[Scheduler], rules: Rules, html: Option<Target>) -> Result<String> {
        let mut began = clock();
        let mut trial = Trial::new(schedulers.len() - 1, rules);
        let bar = progress::slow_bar("trying", (rules.most as usize) * schedulers.len());
        let (mut longest, mut again) = (Ns::ZERO, 0);
        let ended = loop {
            let Some(order) = trial.next() else { break Ok(()) };
            let (round, position) = (clock(), bar.position());
            if self.limit.is_some_and(|limit| round - began + longest > limit) {
                messages::note("no further round ends within --limit");
                break Ok(());
            }
            self.continued.store(false, Ordering::Relaxed);
            match self.round(schedulers, &order, &bar) {
                Ok(_) if again < AGAIN && self.continued.load(Ordering::Relaxed) => {
                    messages::note("Evenkeel was stopped in a round (Ctrl-Z), which does not count and is run again");
                    again += 1;
                    bar.set_position(position);
                    // It takes nothing of --limit either.
                    began += clock() - round;
                    continue;
                }
                Ok(ran) => trial.add(&ran),
                Err(error) => break Err(error),
            }
            longest = longest.max(clock() - round);
        };
        bar.finish_and_clear();
        let report = Report { asked: self.asked, command: self.command, schedulers, trial: &trial, rules, to: self.to };
        let text = |report: &Report<'_>| if trial.done() == 0 { Ok(String::new()) } else { report.text(self.format) };
        let page = || match html {
            // A page of nothing is no reason to lose the one that is there.
            Some(target) if trial.done() > 0 => target.write(page::page(&report).as_bytes()),
            _ => Ok(()),
        };
        let error = match ended {
            Ok(()) => return Ok(Unwritten::report(page(), text(&report)?)?),
            Err(error) => error,
        };
        if let Err(unwritten) = page() {
            messages::warning(unwritten);
        }
        let (report, reached) = (text(&report)?, format!("{} of at most {} rounds", trial.done(), rules.most));
        if error.is::<Signalled>() {
            bail!(Interrupted { report, reached });
        }
        if trial.done() > 0 {
            bail!(Broken { report, reached, error });
        }
        Err(error)
    }

    fn round(&self, schedulers: &[Scheduler], order: &[usize], bar: &ProgressBar) -> Result<Vec<(usize, Measured)>> {
        let mut ran = Vec::new();
        for &one in order {
            bar.set_message(schedulers[one].name.clone());
            ran.push((one, self.turn(&schedulers[one], false)?.measured));
            bar.inc(1);
        }
        Ok(ran)
    }

    /// Runs something, unless a signal wants the end.
    fn once(&self, turn: &Turn<'_>, asks_for_loaded: bool) -> Result<Ended> {
        let ended = turn.run(&self.signals, asks_for_loaded).context("cannot start a process")?;
        if ended.signal.is_some() {
            bail!(Signalled);
        }
        Ok(ended)
    }

    fn turn(&self, scheduler: &Scheduler, asks_for_loaded: bool) -> Result<Ended> {
        let (shows, counters, without) = (self.shows, &self.counters, &[VARIABLE][..]);
        if let Some(prepare) = self.prepare {
            let command = &["sh".into(), "-c".into(), prepare.to_owned()];
            let status =
                self.once(&Turn { command, shows, counters, without, hosted: false, hears: false }, false)?.status;
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
        let (command, hosted) = (&command, !scheduler.words.is_empty());
        let ended = self.once(&Turn { command, shows, counters, without, hosted, hears: true }, asks_for_loaded)?;
        let code = exit_code(ended.status);
        let usual = *self.usual.get_or_init(|| code);
        // Where Evenkeel itself fails, the command may never have run.
        if code != 0 && (!self.ignores_failure || OWN.contains(&code)) {
            if let Some(why) = scheduler.refusal() {
                bail!("{} cannot be tried: {why}", scheduler.name);
            }
            if !self.ignores_failure || code != usual {
                bail!(
                    "the command failed under {}, with exit code {code}: what it does then is no measure. See what it says: \
                     {}; `evenkeel try --ignore-failure` takes the time of a command that always ends so",
                    scheduler.name,
                    quote::line(report::words(scheduler, self.command))
                );
            }
        }
        Ok(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_found_among_warnings_whatever_its_style() {
        for said in ["error: no.\n", "warning: slow\nerror: no.\n", "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m no.\n"] {
            assert_eq!(error_in(said).as_deref(), Some("no."), "{said:?}");
        }
        assert_eq!(error_in("warning: slow\n"), None);
    }
}

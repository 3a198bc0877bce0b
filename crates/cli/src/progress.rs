//! Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere; and Ctrl-C, which ends the
//! work where it is.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use evenkeel_experiment::{Control, Progress, Stage};
use evenkeel_sim::Meter;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::clock::Stopwatch;
use crate::messages;

/// A few runs are over before a bar could be read.
const BAR: usize = 8;
/// When work counts as long, in seconds, and how often its progress is shown then.
const LONG: f64 = 2.0;
const INTERVAL: Duration = Duration::from_millis(250);
/// When the first line is printed where there is no terminal, in seconds, and the most from one line to the next.
const FIRST_LINE: f64 = 10.0;
const BETWEEN_LINES: f64 = 60.0;

/// A bar over so many `steps` with an estimate of the time left. It shows nothing when standard error is no terminal.
fn bar(what: &'static str, steps: usize, of: &'static str) -> ProgressBar {
    if steps < BAR {
        return ProgressBar::hidden();
    }
    counted_bar(what, steps, of)
}

/// A bar as [`bar`] makes it, for runs that take seconds each.
pub fn slow_bar(what: &'static str, steps: usize) -> ProgressBar {
    counted_bar(what, steps, "runs")
}

fn counted_bar(what: &'static str, steps: usize, of: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template(&format!("{{msg}} [{{bar:30}}] {{pos}}/{{len}} {of}, {{eta}} left"))
    {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    bar
}

/// Simulated runs under way, and how the terminal controls them.
pub struct Work {
    stages: Arc<Stages>,
    max_events: u64,
}

struct Stages {
    /// What the runs themselves are called.
    what: &'static str,
    meter: Arc<Meter>,
    watch: Stopwatch,
    shown: Mutex<Shown>,
}

/// The present stage.
struct Shown {
    label: &'static str,
    /// What it consists of.
    of: &'static str,
    /// How many of these it has, and how many are done.
    runs: usize,
    done: usize,
    bar: ProgressBar,
    began: Stopwatch,
    /// It has too few runs for a bar, and so far nothing is shown.
    quiet: bool,
    /// The work is over.
    over: bool,
}

impl Shown {
    fn stage(label: &'static str, runs: usize) -> Self {
        Self::counted(label, runs, "runs")
    }

    fn counted(label: &'static str, runs: usize, of: &'static str) -> Self {
        let bar = bar(label, runs, of);
        Self { label, of, runs, done: 0, bar, began: Stopwatch::start(), quiet: runs < BAR, over: false }
    }
}

impl Work {
    /// Begins work; `what` names its runs in a bar. From now on Ctrl-C stops the runs, and a second Ctrl-C ends the command
    /// at once.
    pub fn begin(what: &'static str, max_events: u64) -> Self {
        let work = Self::shown(what, max_events);
        let stop = work.stages.meter.stop();
        // If a handler cannot be set, Ctrl-C ends the command at once.
        let _ = flag::register_conditional_default(SIGINT, Arc::clone(stop));
        let _ = flag::register(SIGINT, Arc::clone(stop));
        work
    }

    /// Shows what is done before any run. Ctrl-C ends the command at once.
    pub fn before_runs() -> Self {
        Self::shown("", 0)
    }

    fn shown(what: &'static str, max_events: u64) -> Self {
        let meter = Arc::new(Meter::default());
        let shown = Mutex::new(Shown::stage(what, 1));
        let stages = Arc::new(Stages { what, meter, watch: Stopwatch::start(), shown });
        let shows = Arc::clone(&stages);
        let terminal = std::io::stderr().is_terminal();
        thread::spawn(move || if terminal { shows.draw() } else { shows.print() });
        Self { stages, max_events }
    }

    /// What the work is given.
    pub fn control(&self) -> Control<'_> {
        Control { progress: &*self.stages, meter: Some(&self.stages.meter), max_events: self.max_events }
    }

    /// How far the runs had come.
    pub fn reached(&self) -> String {
        let meter = &self.stages.meter;
        format!("{} of simulated time, {} events", meter.reached(), meter.events())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let mut shown = self.stages.shown();
        shown.over = true;
        shown.bar.finish_and_clear();
    }
}

impl Stages {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        // A bar that a panicking thread held is still a bar.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows on a terminal how fast the work is, once it has lasted a while.
    fn draw(&self) {
        loop {
            thread::sleep(INTERVAL);
            let seconds = self.watch.seconds();
            let mut shown = self.shown();
            if shown.over {
                return;
            }
            if seconds < LONG {
                continue;
            }
            if shown.quiet {
                shown.quiet = false;
                shown.bar = ProgressBar::new_spinner();
            }
            shown.bar.set_message(describe(&shown, &self.meter, seconds));
        }
    }

    /// Prints a line now and then.
    fn print(&self) {
        let mut at = FIRST_LINE;
        loop {
            thread::sleep(INTERVAL);
            let seconds = self.watch.seconds();
            let shown = self.shown();
            if shown.over {
                return;
            }
            if seconds >= at {
                messages::note(format_args!("{}{}", describe(&shown, &self.meter, seconds), progress(&shown)));
                at = next_line(seconds);
            }
        }
    }
}

/// When the line after that of `seconds` is due: twice as late, but no more than a minute later.
fn next_line(seconds: f64) -> f64 {
    seconds + seconds.min(BETWEEN_LINES)
}

/// How many runs of a stage are done, and how long the others will take.
fn progress(shown: &Shown) -> String {
    let left = match shown.done {
        0 => String::new(),
        done => {
            let seconds = shown.began.seconds() * shown.runs.saturating_sub(done) as f64 / done as f64;
            format!(", about {} left", HumanDuration(Duration::from_secs(seconds as u64)))
        }
    };
    let Shown { done, runs, of, .. } = shown;
    if *runs > 1 { format!(", {done} of {runs} {of} done{left}") } else { String::new() }
}

/// How far a stage is, after so many seconds of work.
fn describe(shown: &Shown, meter: &Meter, seconds: f64) -> String {
    let (label, speed) = (shown.label, meter.events() as f64 / seconds / 1e6);
    if meter.events() == 0 {
        return label.into();
    }
    if shown.runs > 1 {
        return format!("{label}: {speed:.1} million events a second");
    }
    let (reached, lasts) = (meter.reached(), meter.lasts());
    match lasts.filter(|lasts| *lasts > reached) {
        None => format!("{label}: {reached} simulated, {speed:.1} million events a second"),
        Some(lasts) => format!("{label}: {reached} of {lasts} simulated, {speed:.1} million events a second"),
    }
}

impl Progress for Stages {
    fn begin(&self, stage: Stage, runs: usize) {
        let (label, of) = match stage {
            Stage::Grid => ("reading the grid", "machines and workloads"),
            Stage::References => ("alone on big cores", "runs"),
            Stage::Training => ("training", "runs"),
            Stage::Runs => (self.what, "runs"),
            Stage::Writing => ("writing", "runs"),
        };
        *self.shown() = Shown::counted(label, runs, of);
    }

    fn advance(&self) {
        let mut shown = self.shown();
        shown.done += 1;
        shown.bar.inc(1);
    }

    fn end(&self) {
        let mut shown = self.shown();
        shown.bar.finish_and_clear();
        *shown = Shown::stage(self.what, 1);
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Ns;

    use super::*;

    #[test]
    fn a_stage_says_how_far_it_is_and_how_fast() {
        let meter = Meter::default();
        meter.report(6_000_000, Ns::from_ms(20), None);
        let one = Shown::stage("simulating", 1);
        assert_eq!(describe(&one, &meter, 4.0), "simulating: 20.000 ms simulated, 1.5 million events a second");
        meter.report(0, Ns::from_ms(20), Some(Ns::from_secs(1)));
        assert!(describe(&one, &meter, 4.0).contains("20.000 ms of 1.000 s simulated"));
        assert_eq!(describe(&Shown::stage("training", 9), &meter, 4.0), "training: 1.5 million events a second");
    }

    #[test]
    fn a_line_says_how_much_is_left() {
        let stage = Shown { done: 3, ..Shown::stage("sweeping", 9) };
        assert_eq!(progress(&stage), ", 3 of 9 runs done, about 0 seconds left");
        assert_eq!(progress(&Shown::stage("sweeping", 9)), ", 0 of 9 runs done");
        assert_eq!(progress(&Shown::stage("simulating", 1)), "");
    }

    #[test]
    fn lines_become_rarer_until_one_comes_a_minute() {
        let times = [5.0, 10.0, 80.0].map(next_line);
        assert_eq!(times, [10.0, 20.0, 140.0]);
    }
}

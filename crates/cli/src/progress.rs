//! Progress of long work on standard error: a bar on a terminal, a line now and then elsewhere; and Ctrl-C or SIGTERM, which
//! end the work where it is.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use evenkeel_experiment::{Control, Progress, Stage};
use evenkeel_sim::Meter;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
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

/// A bar over so many `steps`, after which its prefix stands. It shows nothing when standard error is no terminal.
fn bar(what: &'static str, steps: usize, of: &'static str) -> ProgressBar {
    if steps < BAR {
        return ProgressBar::hidden();
    }
    counted_bar(what, steps, of, "{prefix}")
}

/// A bar over so many `steps` that take seconds each, with an estimate of the time left.
pub fn slow_bar(what: &'static str, steps: usize) -> ProgressBar {
    counted_bar(what, steps, "runs", ", {eta} left")
}

/// A line of text on a terminal, cut to its width, which each new message replaces; nothing is left of it at the end.
pub fn status(message: String) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar.set_message(message);
    bar
}

fn counted_bar(what: &'static str, steps: usize, of: &'static str, left: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template(&format!("{{msg}} [{{bar:30}}] {{pos}}/{{len}} {of}{left}")) {
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
    /// What it is a part of.
    whole: Option<Whole>,
    /// It counts the runs of the whole.
    counts: bool,
    /// The work is over.
    over: bool,
}

/// The runs of all stages together, where their number is known beforehand.
#[derive(Clone, Copy)]
struct Whole {
    runs: usize,
    done: usize,
}

impl Shown {
    fn stage(label: &'static str, runs: usize) -> Self {
        Self::counted(label, runs, "runs")
    }

    fn counted(label: &'static str, runs: usize, of: &'static str) -> Self {
        let bar = bar(label, runs, of);
        let quiet = runs < BAR;
        Self {
            label,
            of,
            runs,
            done: 0,
            bar,
            began: Stopwatch::start(),
            quiet,
            whole: None,
            counts: false,
            over: false,
        }
    }

    /// The next stage with runs of a whole.
    fn part(label: &'static str, whole: Whole) -> Self {
        let part = Self { done: whole.done, whole: Some(whole), counts: true, ..Self::stage(label, whole.runs) };
        part.bar.set_position(whole.done as u64);
        part
    }

    fn advance(&mut self) {
        self.done += 1;
        self.bar.inc(1);
        if let Some(whole) = self.whole.as_mut().filter(|_| self.counts) {
            whole.done = self.done;
        }
    }
}

impl Work {
    /// Begins work; `what` names its runs in a bar. From now on Ctrl-C or SIGTERM stops the runs, and a second one ends the
    /// command at once.
    pub fn begin(what: &'static str, max_events: u64) -> Self {
        Self::interruptible(Self::shown(what, max_events, None))
    }

    /// As [`Self::begin`], for work with several stages of runs: their bar and the time left are of so many `runs`.
    pub fn begin_of(what: &'static str, max_events: u64, runs: usize) -> Self {
        Self::interruptible(Self::shown(what, max_events, Some(Whole { runs, done: 0 })))
    }

    fn interruptible(work: Self) -> Self {
        let stop = work.stages.meter.stop();
        for signal in [SIGINT, SIGTERM] {
            // If a handler cannot be set, the signal ends the command at once.
            let _ = flag::register_conditional_default(signal, Arc::clone(stop));
            let _ = flag::register(signal, Arc::clone(stop));
        }
        work
    }

    /// Shows what is done before any run. Ctrl-C ends the command at once.
    pub fn before_runs() -> Self {
        Self::shown("", 0, None)
    }

    fn shown(what: &'static str, max_events: u64, whole: Option<Whole>) -> Self {
        let meter = Arc::new(Meter::default());
        let shown = Mutex::new(Shown { whole, ..Shown::stage(what, 1) });
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
            shown.bar.set_prefix(left(&shown, seconds));
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
                messages::note(format_args!("{}{}", describe(&shown, &self.meter, seconds), progress(&shown, seconds)));
                at = next_line(seconds);
            }
        }
    }
}

/// When the line after that of `seconds` is due: twice as late, but no more than a minute later.
fn next_line(seconds: f64) -> f64 {
    seconds + seconds.min(BETWEEN_LINES)
}

/// How many runs of a stage are done, and how long the others will take, after so many seconds of work.
fn progress(shown: &Shown, seconds: f64) -> String {
    let Shown { done, runs, of, .. } = shown;
    if *runs > 1 { format!(", {done} of {runs} {of} done{}", left(shown, seconds)) } else { String::new() }
}

/// How long a stage will take, or the whole that it is a part of, after so many seconds of work.
fn left(shown: &Shown, seconds: f64) -> String {
    let (seconds, done, runs) = match shown.whole {
        Some(Whole { runs, done }) => (seconds, done, runs),
        None => (shown.began.seconds(), shown.done, shown.runs),
    };
    if done == 0 {
        return String::new();
    }
    let left = seconds * runs.saturating_sub(done) as f64 / done as f64;
    format!(", about {} left", HumanDuration(Duration::from_secs(left as u64)))
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
        let mut shown = self.shown();
        *shown = match shown.whole {
            Some(whole) if stage == Stage::Runs => Shown::part(label, whole),
            whole => Shown { whole, ..Shown::counted(label, runs, of) },
        };
    }

    fn advance(&self) {
        self.shown().advance();
    }

    fn end(&self) {
        let mut shown = self.shown();
        shown.bar.finish_and_clear();
        *shown = Shown { whole: shown.whole, ..Shown::stage(self.what, 1) };
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
        assert_eq!(progress(&stage, 60.0), ", 3 of 9 runs done, about 0 seconds left");
        assert_eq!(progress(&Shown::stage("sweeping", 9), 60.0), ", 0 of 9 runs done");
        assert_eq!(progress(&Shown::stage("simulating", 1), 60.0), "");
    }

    #[test]
    fn what_is_left_is_of_all_stages_where_their_runs_are_known() {
        let work = Work::shown("reproducing", 0, Some(Whole { runs: 40, done: 0 }));
        let stages = &work.stages;
        let line = |seconds| progress(&stages.shown(), seconds);
        stages.begin(Stage::References, 9);
        stages.advance();
        assert_eq!(line(5.0), ", 1 of 9 runs done");
        stages.end();
        stages.begin(Stage::Runs, 10);
        (0..10).for_each(|_| stages.advance());
        assert_eq!(line(20.0), ", 10 of 40 runs done, about 60 seconds left");
        stages.end();
        assert_eq!(line(20.0), "");
        stages.begin(Stage::Training, 3);
        assert_eq!(line(20.0), ", 0 of 3 runs done, about 60 seconds left");
        stages.end();
        stages.begin(Stage::Runs, 30);
        (0..10).for_each(|_| stages.advance());
        assert_eq!(line(20.0), ", 20 of 40 runs done, about 20 seconds left");
    }

    #[test]
    fn lines_become_rarer_until_one_comes_a_minute() {
        let times = [5.0, 10.0, 80.0].map(next_line);
        assert_eq!(times, [10.0, 20.0, 140.0]);
    }
}

//! Progress of long work, on standard error and only when that is a terminal.

use std::sync::Mutex;

use evenkeel_experiment::{Progress, Stage};
use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `steps` runs with an estimate of the time left. It shows nothing when standard error is no terminal.
pub fn bar(what: &'static str, steps: usize) -> ProgressBar {
    // A few runs are over before a bar could be read.
    if steps < 8 {
        return ProgressBar::hidden();
    }
    slow_bar(what, steps)
}

/// As [`bar`], for runs that take seconds each.
pub fn slow_bar(what: &'static str, steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} runs, {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    bar
}

/// A bar for each stage of an experiment.
pub struct Bars {
    what: &'static str,
    bar: Mutex<ProgressBar>,
}

impl Bars {
    /// `what` stands before the bar of the runs themselves.
    pub fn new(what: &'static str) -> Self {
        Self { what, bar: Mutex::new(ProgressBar::hidden()) }
    }

    fn present(&self) -> ProgressBar {
        // A bar that a panicking thread held is still a bar.
        self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Progress for Bars {
    fn begin(&self, stage: Stage, runs: usize) {
        let what = match stage {
            Stage::References => "alone on big cores",
            Stage::Training => "training",
            Stage::Runs => self.what,
        };
        *self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = bar(what, runs);
    }

    fn advance(&self) {
        self.present().inc(1);
    }

    fn end(&self) {
        self.present().finish_and_clear();
    }
}

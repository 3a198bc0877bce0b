//! Progress of long work, on standard error and only when that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `steps` runs with an estimate of the time left. It shows nothing when standard error is no terminal.
pub fn bar(what: &'static str, steps: usize) -> ProgressBar {
    // A handful of runs is over before a bar could be read.
    if steps < 8 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} runs, {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    bar
}

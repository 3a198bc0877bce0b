//! What `evenkeel scx` tells while it schedules: lines or documents, if it is to print them, else a status where a terminal has room for one.

use std::io::{self, ErrorKind, IsTerminal, stderr};

use anyhow::Result;
use evenkeel_linux::job;
use evenkeel_model::Ns;
use evenkeel_scx::Figures;
use indicatif::ProgressBar;

use super::{Paths, document, on_fast_cores};
use crate::args::{Format, Scx};
use crate::failed::Unprinted;
use crate::{json, progress, terminal};

/// How often a status is renewed.
const RENEWED: Ns = Ns::from_secs(1);

/// Figures on their way to a user.
pub(super) struct LiveFigures {
    way: Way,
    every: Ns,
    /// What was told last, and when.
    before: (Figures, Ns),
}

enum Way {
    /// To standard output, for people or for programs.
    Printed(Format),
    /// To the terminal that standard error is.
    Status(ProgressBar),
}

impl LiveFigures {
    /// As the user wants it. A command, or another job, has the terminal for itself.
    pub(super) fn of(args: &Scx, scheduled_by: &str) -> Option<Self> {
        let (way, every) = match args.stats {
            Some(every) => (Way::Printed(args.format.format), every),
            None if args.quiet || !args.command.is_empty() || !stderr().is_terminal() || job::in_background() => {
                return None;
            }
            None => {
                let status = progress::status(format!("{scheduled_by}; Ctrl-C gives the machine back"));
                (Way::Status(status), RENEWED)
            }
        };
        Some(Self { way, every, before: (Figures::default(), Ns::ZERO) })
    }

    /// How often there is something to tell.
    pub(super) fn every(&self) -> Ns {
        self.every
    }

    /// Whether that is so after this time.
    pub(super) fn due(&self, elapsed: Ns) -> bool {
        elapsed.since(self.before.1) >= self.every
    }

    /// Tells what has been done so far. Returns whether anything can read it.
    pub(super) fn tell(&mut self, paths: Paths, figures: &Figures, elapsed: Ns) -> Result<bool> {
        let (before, from) = std::mem::replace(&mut self.before, (*figures, elapsed));
        let line = || line(paths, &before, figures, from, elapsed);
        match &self.way {
            Way::Printed(Format::Json) => return print(&json::line(&document(paths, figures, elapsed))?),
            Way::Printed(Format::Table) => return print(&line()),
            // It was stopped, and sent to the background since.
            Way::Status(_) if job::in_background() => {}
            Way::Status(status) => status.set_message(line()),
        }
        Ok(true)
    }
}

/// A line of figures for people: what has happened since the last one.
fn line(paths: Paths, before: &Figures, figures: &Figures, from: Ns, to: Ns) -> String {
    let seconds = to.since(from).0.max(1) as f64 / 1e9;
    let rate = |count: fn(&Figures) -> u64| (count(figures) - count(before)) as f64 / seconds;
    let by_itself = paths.known(
        format!("{} taken late", figures.taken_late - before.taken_late),
        format!("{} left out", figures.left_out - before.left_out),
    );
    let by_itself = by_itself.into_iter().flatten().collect::<Vec<_>>().join("  ");
    format!(
        "{:>8.1} s  {} threads  {}  {:.0} switches/s  {:.0} stops/s  {:.0} stale/s  {by_itself}  longest wait so far {}",
        to.0 as f64 / 1e9,
        figures.living,
        on_fast_cores(figures.big.since(before.big), figures.little.since(before.little)),
        rate(|figures| figures.switches),
        rate(|figures| figures.stops),
        rate(|figures| figures.stale),
        figures.longest_wait
    )
}

fn print(line: &str) -> Result<bool> {
    Ok(is_read(terminal::print(&format!("{line}\n")))?)
}

/// Whether there is still a reader. That it went away (`| head`) is no error.
fn is_read(written: io::Result<()>) -> Result<bool, Unprinted> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).map_err(|error| Unprinted(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_went_away_is_no_error_and_a_full_disk_is_one() {
        let read = |error: ErrorKind| is_read(Err(error.into())).map_err(|error| error.to_string());
        assert_eq!((read(ErrorKind::BrokenPipe), is_read(Ok(())).ok()), (Ok(false), Some(true)));
        assert!(read(ErrorKind::StorageFull).is_err_and(|error| error.starts_with("cannot write the result: ")));
    }
}

//! What is said of a trial.

use std::ffi::OsString;

use anyhow::Result;
use evenkeel_experiment::Spread;
use evenkeel_linux::quote;
use evenkeel_linux::trial::{Measured, Rules, STOCK, Trial, Verdict};
use evenkeel_report::table::{self, Stream};

use super::Scheduler;
use crate::args::Format;
use crate::json;

/// A trial that is over.
pub struct Report<'a> {
    /// What was asked.
    pub asked: &'static str,
    /// The program.
    pub command: &'a [OsString],
    /// The schedulers, the kernel's own first.
    pub schedulers: &'a [Scheduler],
    /// What came of it.
    pub trial: &'a Trial,
    /// How long it could have gone on.
    pub rules: Rules,
    /// Where it is written.
    pub to: Stream,
}

/// The words that run a program under a scheduler, as one types them.
pub fn words(scheduler: &Scheduler, command: &[OsString]) -> Vec<String> {
    let mut words = Vec::new();
    if !scheduler.words.is_empty() {
        words.push("evenkeel".to_owned());
        words.extend(scheduler.words.iter().cloned());
        words.push("--".into());
    }
    words.extend(command.iter().map(|word| word.to_string_lossy().into_owned()));
    words
}

/// A difference above this says nothing any more.
pub const BEYOND: f64 = 10.0;

/// What to do.
pub enum Advice<'a> {
    /// Use this scheduler.
    Use {
        /// Its name.
        name: &'a str,
        /// How much less time the program takes.
        less: String,
        /// What to type.
        line: String,
        /// Others that are as fast, as far as can be told.
        as_fast: Vec<&'a str>,
    },
    /// Stay with the kernel's own scheduler, and why.
    Stay(String),
}

/// An interval; where its ends say nothing any more, that.
fn interval((low, high): (f64, f64)) -> String {
    let end = |value: f64| if value > BEYOND { "beyond +1000 %".into() } else { table::percent(value) };
    if low > BEYOND { end(low) } else { format!("{} to {}", table::percent(low), end(high)) }
}

fn mean(measured: impl Iterator<Item = Measured>, value: fn(&Measured) -> Option<f64>) -> Option<Spread> {
    let values: Option<Vec<f64>> = measured.map(|measured| value(&measured)).collect();
    values.filter(|values| !values.is_empty()).map(|values| Spread::of(&values))
}

fn seconds(measured: &Measured) -> Option<f64> {
    Some(measured.wall.0 as f64 * 1e-9)
}

impl Report<'_> {
    /// For people, or for programs.
    pub fn text(&self, format: Format) -> Result<String> {
        match format {
            Format::Table => Ok(self.table()),
            Format::Json => self.json(),
        }
    }

    pub fn name(&self, one: usize) -> &str {
        &self.schedulers[one].name
    }

    /// What to do.
    pub fn advice(&self) -> Advice<'_> {
        let faster = self.trial.faster();
        let Some(&best) = faster.first() else {
            let open: Vec<&str> = (STOCK + 1..self.schedulers.len())
                .filter(|one| self.trial.verdict(*one) == Verdict::Open)
                .map(|one| self.name(one))
                .collect();
            return Advice::Stay(if open.is_empty() {
                "Stay with the kernel's own scheduler: no other is faster here.".into()
            } else {
                format!(
                    "No scheduler is known to be faster than the kernel's own; {} cannot be told from it in {}. \
                     More rounds or a quieter machine may tell.",
                    open.join(", "),
                    self.rounds()
                )
            });
        };
        let less = self.trial.difference(best, STOCK).map_or(0.0, |difference| -difference.value);
        Advice::Use {
            name: self.name(best),
            less: format!("{:.1} % less time than under the kernel's own scheduler", less * 100.0),
            line: quote::line(words(&self.schedulers[best], self.command)),
            as_fast: self.trial.as_fast().iter().map(|one| self.name(*one)).collect(),
        }
    }

    pub fn rounds(&self) -> String {
        let done = self.trial.done();
        if done == 1 { "1 round".into() } else { format!("{done} rounds") }
    }

    /// Whether energy is counted here.
    pub fn counts_energy(&self) -> bool {
        self.trial.runs(STOCK).any(|measured| measured.energy_j.is_some())
    }

    /// The headings of the table, those of numbers with a `>`.
    pub fn columns(&self) -> Vec<&'static str> {
        let mut columns = vec!["scheduler", ">runs", ">seconds", ">time to stock", ">interval", ""];
        if self.counts_energy() {
            columns.extend([">J", ">J to stock", ">interval"]);
        }
        columns
    }

    /// The table's row of a scheduler.
    pub fn row(&self, one: usize) -> Vec<String> {
        let time = mean(self.trial.runs(one), seconds);
        let difference = self.trial.difference(one, STOCK).filter(|_| one != STOCK);
        let range = self.trial.interval(one).filter(|_| one != STOCK);
        let mut cells = vec![
            self.name(one).to_owned(),
            self.trial.runs(one).count().to_string(),
            time.map(|time| table::spread(time.mean, time.deviation)).unwrap_or_default(),
            difference.map(|difference| table::percent(difference.value)).unwrap_or_default(),
            range.map(interval).unwrap_or_default(),
            if one == STOCK { String::new() } else { self.trial.verdict(one).name().into() },
        ];
        if self.counts_energy() {
            let used = mean(self.trial.runs(one), |measured| measured.energy_j);
            cells.push(used.map(|used| table::spread(used.mean, used.deviation)).unwrap_or_default());
            let difference = self.trial.energy_difference(one).filter(|_| one != STOCK);
            cells.push(difference.map(|difference| table::percent(difference.value)).unwrap_or_default());
            let range = self.trial.energy_interval(one).filter(|_| one != STOCK);
            cells.push(range.map(interval).unwrap_or_default());
        }
        cells
    }

    /// What the table's numbers are.
    pub fn meaning(&self) -> String {
        let margin = match self.rules.margin {
            0.0 => String::new(),
            margin => format!(" Less than {:.1} % is no difference.", margin * 100.0),
        };
        format!(
            "To stock: against the kernel's own scheduler in the same round. The intervals of\nall, however often they \
             were looked at, hold with 95 %.{margin}\nTime begins with the process, so that what Evenkeel itself takes is in it."
        )
    }

    fn table(&self) -> String {
        let mut rows = table::on(self.to, &self.columns());
        for one in STOCK..self.schedulers.len() {
            rows.add_row(self.row(one));
        }
        let advice = match self.advice() {
            Advice::Stay(why) => why,
            Advice::Use { less, line, as_fast, .. } if as_fast.is_empty() => format!("Fastest: {less}:\n  {line}"),
            Advice::Use { less, line, as_fast, .. } => {
                format!("Fastest: {less}:\n  {line}\nAs fast, as far as can be told: {}.", as_fast.join(", "))
            }
        };
        format!(
            "{}\n{}\n{}\n\n{advice}\n",
            table::heading(&format!("{}: {}", self.asked, self.rounds())),
            table::text(&rows),
            self.meaning()
        )
    }

    fn json(&self) -> Result<String> {
        let scheduler = |one: usize| {
            let other = |value: Option<f64>| value.filter(|_| one != STOCK);
            let time = mean(self.trial.runs(one), seconds);
            let interval = self.trial.interval(one);
            let energy = self.trial.energy_difference(one);
            let energy_interval = self.trial.energy_interval(one);
            json::TriedScheduler {
                name: self.name(one),
                words: words(&self.schedulers[one], self.command),
                runs: self.trial.runs(one).count(),
                mean_s: time.map(|time| time.mean),
                deviation_s: time.map(|time| time.deviation),
                verdict: (one != STOCK).then(|| self.trial.verdict(one).name()),
                against_stock: other(self.trial.difference(one, STOCK).map(|difference| difference.value)),
                low: other(interval.map(|(low, _)| low)),
                high: other(interval.map(|(_, high)| high)),
                energy_j: mean(self.trial.runs(one), |measured| measured.energy_j).map(|used| used.mean),
                energy_against_stock: other(energy.map(|energy| energy.value)),
                energy_low: other(energy_interval.map(|(low, _)| low)),
                energy_high: other(energy_interval.map(|(_, high)| high)),
            }
        };
        let command: Vec<String> = self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        json::print(&json::Tried {
            command: &command,
            rounds: self.trial.done(),
            most: self.rules.most,
            margin: self.rules.margin,
            schedulers: (STOCK..self.schedulers.len()).map(scheduler).collect(),
            fastest: self.trial.faster().first().map(|best| self.name(*best)),
            as_fast: self.trial.as_fast().iter().map(|one| self.name(*one)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_says_no_more_than_it_knows() {
        assert_eq!(interval((-0.1, 0.25)), "-10.0 % to +25.0 %");
        assert_eq!(interval((0.5, 40.0)), "+50.0 % to beyond +1000 %");
        assert_eq!(interval((29.8, 40.0)), "beyond +1000 %");
    }
}

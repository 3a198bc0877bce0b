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
pub(super) mod tests {
    use evenkeel_model::Ns;
    use serde_json::Value;

    use super::*;

    /// With the joules below a run takes 40 J, 30 J, 50 J, 60 J and 20 J: what is fastest does not take least.
    const ROUNDS: [[f64; 5]; 3] = [[4.0, 3.0, 2.0, 6.0, 2.0]; 3];
    const JOULES: [f64; 5] = [10.0, 10.0, 25.0, 10.0, 10.0];

    /// What is said of rounds, each with the seconds of the kernel's own scheduler and of others, and of each the joules a second.
    pub fn said_of<const N: usize>(
        rounds: &[[f64; N]],
        joules: Option<[f64; N]>,
        say: impl Fn(&Report<'_>) -> String,
    ) -> String {
        let rules = Rules::exactly(rounds.len() as u32, 0.02);
        let mut trial = Trial::new(N - 1, rules);
        for seconds in rounds {
            let measured = |one: usize| Measured {
                wall: Ns((seconds[one] * 1e9) as u64),
                energy_j: joules.map(|joules| joules[one] * seconds[one]),
            };
            trial.add(&std::array::from_fn::<_, N, _>(|one| (one, measured(one))));
        }
        let stock = Scheduler { name: "stock".into(), words: Vec::new() };
        let policies = ["pfs", "gts", "wash", "colab"].into_iter().cycle().take(N - 1);
        let others = policies.map(|policy| Scheduler::new(&["run", "--policy", policy], &[]));
        let schedulers: Vec<Scheduler> = std::iter::once(stock).chain(others).collect();
        let command: Vec<OsString> = ["./app", "<b>"].map(OsString::from).into();
        // A file is as wide as its lines, whatever the terminal is.
        let (asked, to) = ("evenkeel try", Stream::File);
        say(&Report { asked, command: &command, schedulers: &schedulers, trial: &trial, rules, to })
    }

    fn table_of<const N: usize>(rounds: &[[f64; N]], joules: Option<[f64; N]>) -> String {
        said_of(rounds, joules, |report| report.text(Format::Table).unwrap())
    }

    fn json_of<const N: usize>(rounds: &[[f64; N]], joules: Option<[f64; N]>) -> Value {
        serde_json::from_str(&said_of(rounds, joules, |report| report.text(Format::Json).unwrap())).unwrap()
    }

    /// A scheduler's line of the table, without what aligns it.
    fn line_of(table: &str, scheduler: &str) -> String {
        let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.filter(|words| words.first() == Some(&scheduler)).map(|words| words.join(" ")).collect()
    }

    #[test]
    fn the_table_says_what_to_type_and_compares_time_and_energy() {
        let table = table_of(&ROUNDS, Some(JOULES));
        for (scheduler, line) in [
            ("stock", "stock 3 4.000 40.00"),
            ("gts", "gts 3 2.000 -50.0 % -50.0 % to -50.0 % faster 50.00 +25.0 % +25.0 % to +25.0 %"),
            ("wash", "wash 3 6.000 +50.0 % +50.0 % to +50.0 % slower 60.00 +50.0 % +50.0 % to +50.0 %"),
        ] {
            assert_eq!(line_of(&table, scheduler), line, "{table}");
        }
        let advice = "\n\nFastest: 50.0 % less time than under the kernel's own scheduler:\n  \
                      evenkeel run --policy gts -- ./app '<b>'\nAs fast, as far as can be told: colab.\n";
        assert!(table.ends_with(advice), "{table}");
    }

    #[test]
    fn where_no_energy_is_counted_and_none_is_as_fast_neither_is_mentioned() {
        let table = table_of(&[[4.0, 3.0]; 3], None);
        assert_eq!(line_of(&table, "pfs"), "pfs 3 3.000 -25.0 % -25.0 % to -25.0 % faster", "{table}");
        let advice = "\n\nFastest: 25.0 % less time than under the kernel's own scheduler:\n  \
                      evenkeel run --policy pfs -- ./app '<b>'\n";
        assert!(table.ends_with(advice), "{table}");
        let found = json_of(&[[4.0, 3.0]; 3], None);
        assert_eq!((&found["fastest"], &found["as_fast"]), (&"pfs".into(), &Value::Array(Vec::new())));
        assert_eq!(found["schedulers"][1]["energy_j"], Value::Null);
    }

    #[test]
    fn programs_are_told_which_is_fastest_and_what_each_takes() {
        let found = json_of(&ROUNDS, Some(JOULES));
        assert_eq!((&found["fastest"], &found["as_fast"]), (&"gts".into(), &serde_json::json!(["colab"])));
        let numbers = |field: &str| -> Vec<Option<f64>> {
            let all = found["schedulers"].as_array().unwrap().iter();
            all.map(|one| one[field].as_f64().map(|number| (number * 1e6).round() / 1e6)).collect()
        };
        assert_eq!(numbers("energy_j"), [40.0, 30.0, 50.0, 60.0, 20.0].map(Some));
        for field in ["against_stock", "low", "high"] {
            assert_eq!(numbers(field), [None, Some(-0.25), Some(-0.5), Some(0.5), Some(-0.5)], "{field}");
        }
        for field in ["energy_against_stock", "energy_low", "energy_high"] {
            assert_eq!(numbers(field), [None, Some(-0.25), Some(0.25), Some(0.5), Some(-0.5)], "{field}");
        }
    }

    #[test]
    fn chance_has_no_fastest_and_intervals_on_both_sides() {
        let found = json_of(&[[1.0, 0.5], [1.0, 1.5], [1.0, 0.9]], Some([10.0; 2]));
        assert_eq!((&found["fastest"], &found["as_fast"]), (&Value::Null, &Value::Array(Vec::new())));
        let number = |field: &str| found["schedulers"][1][field].as_f64().unwrap();
        for [low, value, high] in
            [["low", "against_stock", "high"], ["energy_low", "energy_against_stock", "energy_high"]]
        {
            assert!(number(low) < number(value) && number(value) < number(high), "{found}");
            assert!(number(low) < 0.0 && number(high) > 0.0, "{found}");
        }
    }

    #[test]
    fn an_interval_says_no_more_than_it_knows() {
        assert_eq!(interval((-0.1, 0.25)), "-10.0 % to +25.0 %");
        assert_eq!(interval((0.5, 40.0)), "+50.0 % to beyond +1000 %");
        assert_eq!(interval((29.8, 40.0)), "beyond +1000 %");
    }
}

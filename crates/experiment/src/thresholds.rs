//! The thresholds of bias scheduling for a machine, found by programs: "a battery of tests to compute small to big core speedups", a
//! point in their range, and what counters showed of programs on both sides of it (Koufaty et al., EuroSys 2010, 7.3).

use evenkeel_model::{Counter, Machine};

use crate::control::Control;
use crate::error::Result;
use crate::training::{Observed, Training, observe};

/// The programs that the paper's own thresholds come from (Figures 5 and 6).
const SUITE: &str = "spec2006";

/// So many significant digits: more would pretend that a few programs can tell.
const DIGITS: i32 = 3;

/// When a thread gains little from a big core, by what it stalls on.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// The speedup of a big core over a little one below which a program is biased to the little one.
    pub split: f64,
    /// Starved cycles in 1000 instructions from which on internal stalls dominate.
    pub starved: f64,
    /// Requests that leave the core, in 1000 instructions, from which on external stalls dominate.
    pub offcore: f64,
    /// The programs, in order of their speedups.
    pub programs: Vec<Stalling>,
}

/// What a program stalls on: means over the core types on which it was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Stalling {
    /// Its name.
    pub name: String,
    /// How many times faster the biggest core type runs it than the smallest one.
    pub speedup: f64,
    /// Starved cycles in 1000 instructions.
    pub starved: f64,
    /// Requests that leave the core, in 1000 instructions.
    pub offcore: f64,
    /// On so many core types the thresholds put it on the other side than its speedup does.
    pub wrong_on: usize,
}

impl Thresholds {
    /// The policy with these thresholds, as commands take it.
    pub fn policy(&self) -> String {
        format!("bias:starved={}:offcore={}", self.starved, self.offcore)
    }

    /// Of a machine with several core types. The range of speedups is divided at `split`, else at its geometric mean.
    ///
    /// # Errors
    /// A program does not end on the machine.
    pub fn of(machine: &Machine, split: Option<f64>, control: &Control<'_>) -> Result<Self> {
        let training = Training { suites: vec![SUITE.to_owned()], ..Training::default() };
        Ok(Self::from(&observe(machine, &training, control)?, split))
    }

    fn from(observed: &[Observed], split: Option<f64>) -> Self {
        let counted: Vec<(&str, Point)> = observed
            .iter()
            .flat_map(|observed| &observed.samples)
            .map(|sample| {
                let rate = |counter| 1000.0 * sample.counters.get(counter) / sample.counters.get(Counter::Instructions);
                let stalls = [rate(Counter::FrontendStallCycles), rate(Counter::L2Refills)];
                (sample.group.as_str(), Point { speedup: sample.speedup, stalls })
            })
            .collect();
        let points: Vec<Point> = counted.iter().map(|(_, point)| *point).collect();
        let split = split.unwrap_or_else(|| middle(&points));
        let thresholds = best(&points, split);
        let mut programs: Vec<Stalling> = Vec::new();
        for (name, point) in &counted {
            if programs.iter().any(|program| program.name == *name) {
                continue;
            }
            let own: Vec<Point> = counted.iter().filter(|(other, _)| other == name).map(|(_, point)| *point).collect();
            let mean = |kind: usize| own.iter().map(|point| point.stalls[kind]).sum::<f64>() / own.len() as f64;
            programs.push(Stalling {
                name: (*name).to_owned(),
                speedup: point.speedup,
                starved: mean(0),
                offcore: mean(1),
                wrong_on: own.iter().filter(|point| point.is_wrong(thresholds, split)).count(),
            });
        }
        programs.sort_by(|a, b| a.speedup.total_cmp(&b.speedup));
        Self { split, starved: thresholds[0], offcore: thresholds[1], programs }
    }
}

/// A program on a core type: internal and external stalls in 1000 instructions.
#[derive(Clone, Copy, Debug)]
struct Point {
    speedup: f64,
    stalls: [f64; 2],
}

impl Point {
    /// Whether stalls say the other thing than the speedup.
    fn is_wrong(&self, thresholds: [f64; 2], split: f64) -> bool {
        let dominated = self.stalls.iter().zip(thresholds).any(|(stalls, threshold)| *stalls >= threshold);
        dominated != (self.speedup < split)
    }
}

/// The geometric mean of the smallest and the largest speedup.
fn middle(points: &[Point]) -> f64 {
    let (least, most) = points
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), point| (least.min(point.speedup), most.max(point.speedup)));
    rounded((least * most).sqrt())
}

/// The thresholds that put the fewest points on the wrong side; of several those with most room around them.
fn best(points: &[Point], split: f64) -> [f64; 2] {
    let [internal, external] = [0, 1].map(|kind| candidates(points.iter().map(|point| point.stalls[kind])));
    let mut best = (usize::MAX, 0.0, [f64::INFINITY; 2]);
    for (starved, above) in &internal {
        for (offcore, beside) in &external {
            let thresholds = [*starved, *offcore];
            let wrong = points.iter().filter(|point| point.is_wrong(thresholds, split)).count();
            let room = above * beside;
            if wrong < best.0 || wrong == best.0 && room > best.1 {
                best = (wrong, room, thresholds);
            }
        }
    }
    best.2
}

/// Thresholds between two neighbouring values, and one above all, each with how many times the next value above is the next one below.
fn candidates(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    let mut values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    let above = values.last().map_or(1.0, |most| 4.0 * most);
    values.push(above);
    let between = values.windows(2).map(|pair| (rounded((pair[0] * pair[1]).sqrt()), pair[1] / pair[0]));
    let mut all: Vec<(f64, f64)> = between.collect();
    if all.is_empty() {
        all.push((above, 1.0));
    }
    all
}

/// To [`DIGITS`] significant digits.
fn rounded(value: f64) -> f64 {
    let scale = 10_f64.powi(DIGITS - 1 - value.log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::catalog;

    fn point(speedup: f64, internal: f64, external: f64) -> Point {
        Point { speedup, stalls: [internal, external] }
    }

    #[test]
    fn thresholds_lie_where_there_is_most_room_between_both_kinds_of_programs() {
        let points = [
            point(1.1, 30.0, 40.0),
            point(1.2, 400.0, 1.0),
            point(1.3, 20.0, 25.0),
            point(2.0, 100.0, 4.0),
            point(2.4, 10.0, 0.0),
        ];
        assert_eq!(middle(&points), 1.62);
        assert_eq!(best(&points, 1.62), [200.0, 10.0]);
    }

    #[test]
    fn a_kind_of_stall_that_says_nothing_dominates_none() {
        let points = [point(1.1, 0.0, 40.0), point(1.2, 0.0, 30.0), point(2.0, 0.0, 2.0), point(2.1, 0.0, 1.0)];
        let [internal, external] = best(&points, 1.5);
        assert_eq!(external, 7.75);
        assert!(internal > 0.0);
        assert_eq!(best(&[point(1.5, 0.0, 0.0)], 1.5), [1.0, 1.0]);
    }

    /// Those that the authors found by hand are 130 and 10, with programs divided at a speedup of 1.5 (7.1).
    #[test]
    fn on_the_papers_machine_they_are_near_the_papers() {
        let machine = catalog::machine("x5560-1B3S").unwrap().machine;
        let found = Thresholds::of(&machine, Some(1.5), &Control::default()).unwrap();
        let wrong: usize = found.programs.iter().map(|program| program.wrong_on).sum();
        assert!(wrong * 10 <= 2 * found.programs.len(), "{found:#?}");
        assert!((65.0..260.0).contains(&found.starved), "{}", found.starved);
        assert!((5.0..20.0).contains(&found.offcore), "{}", found.offcore);
        assert!(catalog::policy(&found.policy()).is_ok());
    }
}

//! What `reproduce` prints.

use evenkeel_experiment::paper::{self, Breakdown, Summary};
use serde::Serialize;

use crate::headline;

/// What `reproduce all` prints; `reproduce` of one paper prints that entry alone.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproductions<'a> {
    /// One entry a paper.
    pub experiments: Vec<Reproduction<'a>>,
}

/// A paper's evaluation. How a row is computed from the runs is written in `experiments/NAME.toml`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproduction<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    /// What separates its policy from the baseline, in a sentence; `null` if it is not told apart from that.
    pub headline: Option<String>,
    /// Events that the simulator processed, reference runs included.
    pub events: u64,
    /// Wall-clock time that the runs took, in seconds.
    pub seconds: f64,
    /// What the rows of kind `result` come to.
    pub summary: Summary,
    /// One published number a row, in the order of the experiment's file.
    pub rows: Vec<Row<'a>>,
    /// What every policy changes about every workload on every machine: the tables before the published numbers.
    pub effects: Vec<Effect<'a>>,
    /// What separates its policy from others.
    pub separation: Vec<Separation<'a>>,
    /// Power over time, where the paper shows it.
    pub power: Vec<Chart<'a>>,
    /// Where the time of every kernel goes; only where workers ran some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breakdown: Vec<Breakdown>,
}

/// A workload on a machine under a policy, against the first policy of its set.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Effect<'a> {
    /// The set of the experiment.
    pub set: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// The policy.
    pub policy: &'a str,
    /// The policy that it is compared with.
    pub against: &'a str,
    /// What is compared, the mean over core orders and seeds.
    pub metric: &'static str,
    /// A signed fraction: -0.11 is -11 %; `null` if there is nothing to compare.
    pub effect: Option<f64>,
    /// The lower end of its 95 % interval from seed to seed; `null` with one seed.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// A policy, or another form of the programs, against a policy, on the same machines with the same seeds.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Separation<'a> {
    /// The set of the experiment.
    pub set: &'a str,
    /// The policy, or what the set calls that form (`tasks`).
    pub policy: &'a str,
    /// The other one.
    pub against: &'a str,
    /// What is compared.
    pub metric: &'static str,
    /// The geometric mean over workloads and machines, less one: -0.1 is 10 % less than the other's.
    pub effect: f64,
    /// The lower end of its 95 % interval from seed to seed; `null` with one seed.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// Power over time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Chart<'a> {
    /// A sentence.
    pub what: &'a str,
    /// Section and figure.
    pub source: &'a str,
    /// The time between two samples, in seconds.
    pub every_s: f64,
    /// What is compared.
    pub lines: Vec<Line<'a>>,
}

/// A line of a chart.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Line<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The mean power of each interval, in watts.
    pub watts: Vec<f64>,
}

/// One published number and what came out here.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row<'a> {
    /// Stable name.
    pub id: &'a str,
    /// A sentence; says so where the paper gives a limit instead of a number.
    pub what: &'a str,
    /// The published number; effects are signed fractions: -0.11 is -11 %.
    pub published: f64,
    /// The same number here; `null` if nothing was run that it could come from.
    pub simulated: Option<f64>,
    /// The lower end of its 95 % interval from seed to seed; `null` with one seed, of amounts, and of what is picked out of several values.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// `simulated - published`; `null` with `simulated`.
    pub difference: Option<f64>,
    /// The number if every effect on this metric were the published one in the middle; `null` if fewer than three were published.
    pub constant: Option<f64>,
    /// The number if cores were shared out by a rule, and nothing else happened; `null` where there is no such rule.
    pub arithmetic: Option<f64>,
    /// Section and figure of the paper.
    pub source: &'a str,
    /// `result` (comes out of the mechanisms), `calibration` (a constant was chosen with it), `input` (was put in) or `again` (is counted in
    /// another row).
    pub kind: RowKind,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// Comes out of the mechanisms.
    Result,
    /// Was used to choose a constant.
    Calibration,
    /// Was put in.
    Input,
    /// Is counted in another row: the same number in another unit, or on a machine that reads the paper otherwise.
    Again,
}

impl<'a> Reproduction<'a> {
    /// Of a reproduction that took so many seconds.
    pub fn of(reproduction: &'a paper::Reproduction, seconds: f64) -> Self {
        let paper::Null { constant, arithmetic } = &reproduction.null;
        let row = |(at, row): (usize, &'a paper::Row)| Row::of(row, constant.get(at), arithmetic.get(at));
        Self {
            experiment: &reproduction.experiment.name,
            headline: headline::of_reproduction(reproduction),
            events: reproduction.events,
            seconds,
            summary: reproduction.summary(),
            rows: (0..).zip(&reproduction.rows).map(row).collect(),
            effects: reproduction.sets.iter().flat_map(effects).collect(),
            separation: reproduction.separated.iter().flat_map(separation).collect(),
            power: reproduction.power.iter().map(Chart::from).collect(),
            breakdown: reproduction.sets.iter().flat_map(paper::breakdown).collect(),
        }
    }
}

fn separation(separated: &paper::Separated) -> impl Iterator<Item = Separation<'_>> {
    separated.others.iter().map(|gap| Separation {
        set: &separated.set,
        policy: &separated.policy,
        against: &gap.policy,
        metric: separated.metric.title(),
        effect: gap.difference.value,
        low: gap.difference.interval.map(|(low, _)| low),
        high: gap.difference.interval.map(|(_, high)| high),
    })
}

fn effects(ran: &paper::Ran) -> Vec<Effect<'_>> {
    let Some((against, others)) = ran.policies.split_first() else { return Vec::new() };
    let metric = ran.set.overview;
    let mut effects = Vec::new();
    for workload in &ran.set.workloads {
        for machine in &ran.set.machines {
            effects.extend(others.iter().map(|policy| {
                let interval = ran.interval(&[workload.name.as_str()], machine, metric, policy, against);
                Effect {
                    set: &ran.set.name,
                    workload: &workload.name,
                    machine,
                    policy,
                    against,
                    metric: metric.title(),
                    effect: ran.effect(&workload.name, machine, metric, policy, against),
                    low: interval.map(|(low, _)| low),
                    high: interval.map(|(_, high)| high),
                }
            }));
        }
    }
    effects
}

impl<'a> Row<'a> {
    /// A row, and the same number by the null models.
    fn of(row: &'a paper::Row, constant: Option<&paper::Row>, arithmetic: Option<&paper::Row>) -> Self {
        Self {
            id: &row.published.id,
            what: &row.published.what,
            published: row.published.published,
            simulated: row.simulated,
            low: row.interval.map(|(low, _)| low),
            high: row.interval.map(|(_, high)| high),
            difference: row.difference(),
            constant: constant.and_then(|row| row.simulated),
            arithmetic: arithmetic.and_then(|row| row.simulated),
            source: &row.published.source,
            kind: match row.published.kind {
                paper::RowKind::Result => RowKind::Result,
                paper::RowKind::Calibration => RowKind::Calibration,
                paper::RowKind::Input => RowKind::Input,
                paper::RowKind::Again => RowKind::Again,
            },
        }
    }
}

impl<'a> From<&'a paper::Power> for Chart<'a> {
    fn from(power: &'a paper::Power) -> Self {
        let line = |line: &'a paper::MeasuredLine| Line {
            name: &line.name,
            watts: line.samples.iter().map(|sample| sample.0).collect(),
        };
        Self {
            what: &power.what,
            source: &power.source,
            every_s: power.every.as_secs_f64(),
            lines: power.lines.iter().map(line).collect(),
        }
    }
}

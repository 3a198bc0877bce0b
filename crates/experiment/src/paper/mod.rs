//! The evaluations of papers: what they ran, what they published, and the same numbers here.
//!
//! An [`Experiment`] is a file of `experiments/`. A [`Reproduction`] runs it and holds a [`Row`] for each published number.
//! How a number is computed from the samples stands in `evaluate.rs`, how it is judged in `judge.rs`, and what it has to be better
//! than in `null`.

mod breakdown;
mod equations;
mod evaluate;
mod figures;
mod file;
mod judge;
mod metric;
mod null;
mod power;
mod published;
mod ran;
mod reproduction;
mod sample;
mod separation;
mod tally;
mod workers;

pub use breakdown::{Breakdown, breakdown};
pub use evaluate::Row;
pub use figures::{FigureAxis, PaperFigure};
pub use file::{Carrier, Experiment, Member, PowerChart, PowerLine, Profile, Separation, Set, Workers, substitute};
pub use judge::Verdict;
pub use metric::Metric;
pub use null::Null;
pub use null::arithmetic::Sharing;
pub use power::{MeasuredLine, Power};
pub use published::{Aggregate, Baseline, Bound, Compare, Other, Published, RowKind, Selector, Threads};
pub use ran::Ran;
pub use reproduction::{Ranking, Reproduction, check_oracle};
pub use sample::{Measured, Part, Reckoned, Sample};
pub use separation::{Gap, Separated};
pub use tally::{NullSummary, Score, Summary};
pub use workers::{Profiled, ProfiledArm};

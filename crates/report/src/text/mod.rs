//! Results for people at a terminal. Styles are always written; the stream that prints a text removes what does not fit it.

mod breakdown;
mod comparison;
mod lists;
mod predictor;
mod reproduction;
mod run;
mod sweep;

pub use comparison::comparison;
pub use lists::{machines, policies, workloads};
pub use predictor::predictor;
pub use reproduction::{counted, no_intervals, order, published_value, remark, reproductions, scores};
pub use run::{conditions, facts, run};
pub use sweep::sweep;

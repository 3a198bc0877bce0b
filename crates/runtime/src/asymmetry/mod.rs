//! What a pool does about cores that differ: the activity of workers and the cores that they are on, and what an asymmetry-aware runtime makes of that (Torng et
//! al., "Asymmetry-Aware Work-Stealing Runtimes", ISCA 2016, III). The decisions are those of [`evenkeel_model::stealing`], which the simulator uses, too.
//!
//! A pool on equal cores that records nothing has no [`Asymmetry`]. Where there is one, workers use it while they search for work, never while they run a task.

mod accounts;
mod activity;
mod placement;
mod pool;
mod setup;
mod target;
mod turns;
mod uneven;
mod voltages;

#[cfg(loom)]
pub(crate) use accounts::Accounts;
pub use accounts::{Account, Spans};
pub(crate) use activity::{Activity, Failures};
pub(crate) use pool::Asymmetry;
pub(crate) use setup::{AsymmetryOptions, asymmetry, tell_of, wrong_powers};
pub use setup::{this_machine, this_machine_as_it_is, this_machine_with_speeds};
pub(crate) use uneven::Uneven;

#[cfg(all(test, not(loom)))]
mod tests;

//! Simulated workers: a machine on which nothing runs but the workers of a work-stealing runtime, one on each core, as in the
//! evaluation of Torng et al., "Asymmetry-Aware Work-Stealing Runtimes", ISCA 2016, IV.
//!
//! The other simulator of this crate plays threads under an operating system's scheduler. Here there is none: workers search for work in a
//! loop, take over each other's cores by user-level interrupts, and a controller sets the voltage of every core within nanoseconds.
//! What workers decide is worked out by [`evenkeel_model::stealing`], as for the real runtime; voltages come from
//! [`evenkeel_model::marginal`].
//!
//! Any machine file will do, with more than two core types, too; `Table::from_toml` reads other kernels.
//!
//! ```
//! use evenkeel_model::{machines, stealing::Techniques};
//! use evenkeel_sim::workers::{Options, run};
//! use evenkeel_workload::kernels::Table;
//!
//! let machine = machines::by_name("aaws-4B4L")?;
//! let table = Table::iii();
//! let kernel = table.kernel("radix-2").ok_or("no such kernel")?;
//! let options = Options { techniques: Techniques::BASE_PSM, ..Options::default() };
//! let outcome = run(&machine, table, kernel, &options, &mut ())?;
//! println!("{} and {} J, {} mugs", outcome.time, outcome.energy.0, outcome.mugs);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod control;
mod core;
mod crew;
mod outcome;
mod tree;

use evenkeel_model::marginal::System;
use evenkeel_model::stealing::Techniques;
use evenkeel_model::{CoreOrder, CoreType, Machine, Ns, Volts};
use evenkeel_workload::kernels::{Kernel, Table};

pub use outcome::{Activity, Outcome, Parts, Profile, Slice, Watch};

/// How a kernel is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What the runtime and the controller do.
    pub techniques: Techniques,
    /// The input's shape and what is left to chance derive from this.
    pub seed: u64,
    /// From a mug instruction until the other core takes the interrupt, in cycles of a little core (IV.D).
    pub interrupt_cycles: f64,
    /// How long a voltage takes to change by 0.15 V (IV.D).
    pub step: Ns,
    /// A run that has more events ends with [`TooManyEvents`].
    pub max_events: u64,
    /// The voltage of cores without a controller, within what their type allows.
    pub nominal: Volts,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            techniques: Techniques::BASE,
            seed: 1,
            interrupt_cycles: 20.0,
            step: Ns(40),
            max_events: crate::MAX_EVENTS,
            nominal: Volts(1.0),
        }
    }
}

/// A run had more events than [`Options::max_events`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("still running after {limit} events, at {at}, with {left} of {tasks} tasks of the region to do")]
pub struct TooManyEvents {
    /// The limit.
    pub limit: u64,
    /// The simulated time that it had reached.
    pub at: Ns,
    /// Tasks of the present parallel region that are not done.
    pub left: usize,
    /// All tasks of that region.
    pub tasks: usize,
}

/// The first-order model of a machine whose cores run at a nominal voltage.
pub fn system(machine: &Machine, nominal: Volts) -> System {
    let within = |kind: &CoreType| {
        let (lowest, highest) = (kind.opps[0].voltage.0, kind.highest_opp().voltage.0);
        Volts(nominal.0.clamp(lowest.min(highest), highest.max(lowest)))
    };
    System::of(machine, within)
}

/// Runs a kernel of a table, with a worker on every core. Thread 0 begins on a core of the biggest type.
///
/// # Errors
/// It has more events than the options allow.
pub fn run<W: Watch + ?Sized>(
    machine: &Machine,
    table: &Table,
    kernel: &Kernel,
    options: &Options,
    watch: &mut W,
) -> Result<Outcome, TooManyEvents> {
    let machine = machine.ordered(CoreOrder::BigFirst);
    let regions = tree::regions(table, kernel, options.seed);
    crew::Crew::new(&machine, kernel, &regions, options, watch).run()
}

/// How long the optimised serial program takes on a core of the smallest type at its nominal voltage, and on one of the biggest.
pub fn serial(machine: &Machine, kernel: &Kernel, options: &Options) -> (Ns, Ns) {
    let system = system(machine, options.nominal);
    let hertz = system.groups.last().map_or(1.0, |little| little.frequency(little.nominal));
    let little = kernel.serial_mcycles * 1e6 * 1e9 / hertz;
    let big = if system.groups.len() > 1 { little / kernel.beta } else { little };
    (Ns(little as u64), Ns(big as u64))
}

#[cfg(test)]
mod tests;

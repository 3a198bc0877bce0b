//! What a run of workers produced, and its observers.

use evenkeel_model::{Joules, Ns, Volts};

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// From the start to the end of the last serial part.
    pub time: Ns,
    /// Energy of all cores.
    pub energy: Joules,
    /// Where the time went.
    pub parts: Parts,
    /// Instructions of the kernel.
    pub instructions: f64,
    /// Tasks that were taken from another worker.
    pub steals: u64,
    /// Steals that found nothing, or were not allowed; those of waiting workers are not simulated one by one.
    pub failed_steals: u64,
    /// How often a core took over the task of another one, or thread 0 went back to a big core.
    pub mugs: u64,
    /// Changes of a core's voltage.
    pub transitions: u64,
    /// Events of the simulation.
    pub events: u64,
}

/// Time by what the cores were doing, as in Figure 8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Outside of parallel regions.
    pub serial: Ns,
    /// All cores active (HP).
    pub high: Ns,
    /// Fewer big cores wait than little ones are active: not all work can be mugged (BI < LA).
    pub scarce: Ns,
    /// All work of little cores could be mugged (BI >= LA).
    pub ample: Ns,
    /// Some cores wait, and there is nothing to mug (oLP).
    pub other: Ns,
}

impl Outcome {
    /// Mugs for each million instructions.
    pub fn mugs_per_million(&self) -> f64 {
        self.mugs as f64 / (self.instructions / 1e6)
    }

    /// Changes of voltage of all cores for each 10 us.
    pub fn transitions_per_10_us(&self) -> f64 {
        self.transitions as f64 / (self.time.0 as f64 / 1e4)
    }
}

/// What a core is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A task, or a serial part.
    Works,
    /// It searches for work, or changes places.
    Overhead,
    /// It has said that it waits.
    Waits,
}

/// An observer of the cores. Does nothing by default, so that a run without an observer pays nothing.
pub trait Watch {
    /// From `at` on a core is in a state; cores are numbered from the biggest type on. A voltage that is changing is given by where it
    /// goes.
    fn change(&mut self, _at: Ns, _core: usize, _state: Activity, _volts: Volts) {}
}

impl Watch for () {}

/// A stretch of a core's time in which nothing changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// When it began.
    pub from: Ns,
    /// What the core did.
    pub state: Activity,
    /// At which voltage.
    pub volts: Volts,
}

/// Who ran when at which voltage (Figure 7): the slices of every core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// By core, in order of time.
    pub cores: Vec<Vec<Slice>>,
}

impl Watch for Profile {
    fn change(&mut self, at: Ns, core: usize, state: Activity, volts: Volts) {
        if self.cores.len() <= core {
            self.cores.resize(core + 1, Vec::new());
        }
        let slices = &mut self.cores[core];
        if slices.last().is_some_and(|last| last.from == at) {
            slices.pop();
        }
        if slices.last().is_none_or(|last| last.state != state || last.volts != volts) {
            slices.push(Slice { from: at, state, volts });
        }
    }
}

//! Pages about real machines: what a program did, what a scheduler in the kernel did, what guests measured.

mod bench;
mod run;
mod scx;
#[cfg(test)]
mod tests;
mod threads;

pub use bench::page as bench;
pub use run::page as run;
pub use scx::{Scheduled, Story};

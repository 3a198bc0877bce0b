//! What every host of the scheduler must do: one suite of scenarios that each host plays in its tests.
//!
//! Problem: a policy is written once, and must mean the same in a simulator, on real threads, and inside a kernel. So the
//! same scenarios, written once as data ([`scenarios`]), are played by every host, each an [`Arm`], and judged by the
//! same expectations. The arms: the simulator ([`Simulator`]) without and with delays (`sim/tests/it/conformance.rs`), the affinity host over
//! a modelled kernel and over this one (`linux`), the kernel host over a model of its part in the kernel (`scx`) and over the
//! kernel of a guest (`cli/tests/live/scx_conformance.rs`), and a model of a host that is late everywhere
//! (`tests/it/asynchronous.rs` here), which shows what a host outside the kernel's scheduler must cope with. A new host
//! implements [`Arm`] and passes [`check`]; one whose threads are real has them play on a [`Stage`].
//!
//! Units: work is time on a big core; a little core takes [`RATIO`] times as long.

mod machine;
mod report;
mod scenario;
mod simulator;
mod stage;
mod suite;

pub use machine::{RATIO, machine};
pub use report::Report;
pub use scenario::{Arm, Facts, Played, PlayedThread, Policies, Scenario, Script, Step, mixed, scenarios};
pub use simulator::Simulator;
pub use stage::Stage;
pub use suite::{check, check_policies, judge};

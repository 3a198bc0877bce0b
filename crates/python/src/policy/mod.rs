//! Policies written in Python: the same hooks as those in Rust, and whatever is not overridden is CFS, as there.

mod adaptor;
mod base;
mod state;
mod values;

pub use adaptor::setup;
pub use base::Policy;
pub use state::{Queue, State, Thread};
pub use values::{Changes, Pick, Span, Why};

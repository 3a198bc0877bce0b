//! Real time.

use std::time::Instant;

/// Now.
#[expect(clippy::disallowed_methods, reason = "loops of real programs take real time")]
pub fn now() -> Instant {
    Instant::now()
}

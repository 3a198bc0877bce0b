//! CFS, the default of every hook and nothing else: today's oblivious scheduler, and the baseline of every figure.

use super::Policy;

/// Linux's fair scheduler as it was before it knew of capacities.
#[derive(Debug, Default)]
pub struct Cfs;

impl Policy for Cfs {
    fn name(&self) -> &'static str {
        "cfs"
    }
}

//! Who worked where and when.

use evenkeel_model::Ns;

/// A worker begins something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, since the first pool with a trace or with uneven cores was made.
    pub at: Ns,
    /// Which worker, as in [`Pool::stats`](crate::Pool::stats).
    pub worker: usize,
    /// On which CPU.
    pub cpu: u16,
    /// What it begins.
    pub what: What,
}

/// What a worker begins. Moving to another CPU begins anew what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Tasks.
    Runs,
    /// To wait: it has found no task twice in a row.
    Waits,
    /// To be somebody else's thread.
    Leaves,
}

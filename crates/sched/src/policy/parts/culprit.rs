//! Which threads are blamed for a wait (`scheduler/blame.rs`).

use crate::policy::description::{Knob, Setup, Value};

/// Where policies have a choice.
pub(crate) const CULPRIT: Knob = Knob {
    name: "culprit",
    summary: "who is blamed for a wait: the thread that ended it, for all of it (COLAB 4.1); where a lock or work was passed along, each thread for the time that it had it (WASH 4)",
    value: Value::Word(&["waker", "holders"]),
};

/// Which threads are blamed for the time for which another one waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Culprit {
    /// The one that ended the wait: "the thread releasing the futex" (COLAB 4.1).
    Waker,
    /// Each thread that a lock, or work, was passed along to, for the time that it had it: "the lock-holding thread that is delaying the
    /// most work" (WASH 4).
    #[default]
    Holders,
}

impl Culprit {
    /// As it is set up.
    pub(crate) fn of(setup: &Setup) -> Self {
        if setup.word(CULPRIT.name) == "waker" { Self::Waker } else { Self::Holders }
    }
}

//! Policies that a virtual machine has for its own threads.

use crate::policy::description::{Knob, Value};

/// For machines that are shared with programs of which the virtual machine does not know (section 8.6).
pub(crate) const FIRST_PROGRAM: Knob = Knob {
    name: "first-program",
    summary: "programs but the first are left to the operating system (8.6)",
    value: Value::Switch,
};

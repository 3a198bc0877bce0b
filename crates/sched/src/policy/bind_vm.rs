//! bindVM: application threads on the big cores, the virtual machine's service threads on the small ones (Jibaja et al.,
//! CGO 2016, sections 1, 2 and 7; after Cao et al., ISCA 2012).
//!
//! Problem: an oblivious scheduler lets a collector or a compiler have the big core while the program waits beside it on a
//! small one. Services are seldom what a program waits for, so they are bound away. The binding follows from a thread's
//! kind alone and is never looked at again; on each side CFS decides.

use evenkeel_model::{CoreSet, Ns, ProgramId, ThreadId};

use super::{Changes, Knob, Policy, Setup, Value};
use crate::state::State;
use crate::thread::Kind;

/// For machines that are shared with programs of which the virtual machine does not know (section 8.6).
pub(super) const FIRST_PROGRAM: Knob = Knob {
    name: "first-program",
    summary: "programs but the first are left to the operating system (8.6)",
    value: Value::Switch,
};

/// Binds threads by their kind.
#[derive(Debug)]
pub struct BindVm {
    first_program: bool,
}

impl BindVm {
    /// What can be set.
    pub const KNOBS: &[Knob] = &[FIRST_PROGRAM];

    /// The policy as it is set up.
    pub fn new(setup: &Setup) -> Self {
        Self { first_program: setup.switch("first-program") }
    }
}

impl Policy for BindVm {
    fn name(&self) -> &'static str {
        "bind-vm"
    }

    /// A virtual machine binds a thread when it makes it; a host outside may learn what a thread is for only later. That
    /// is what the period is for, of the length of WASH's quantum.
    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(40))
    }

    fn admit(&mut self, s: &State, thread: ThreadId) -> CoreSet {
        match s.thread(thread).kind {
            _ if self.first_program && s.thread(thread).program != ProgramId(0) => s.machine.all(),
            Kind::Application => s.big,
            Kind::Service => s.little,
        }
    }

    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        for thread in s.living() {
            let cores = self.admit(s, thread);
            changes.affinity(thread, cores);
        }
    }
}

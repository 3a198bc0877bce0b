//! bindVM: application threads on the big cores, the virtual machine's service threads on the small ones (Jibaja et al.,
//! CGO 2016, sections 1, 2 and 7; after Cao et al., ISCA 2012).
//!
//! Problem: an oblivious scheduler lets a collector or a compiler have the big core while the program waits beside it on a
//! small one. Services are seldom what a program waits for, so they are bound away. The binding follows from a thread's
//! kind alone and never changes; on each side CFS decides.

use evenkeel_model::{CoreSet, Ns, ProgramId, ThreadId, ThreadKind};

use super::description::{Description, Setup};
use super::hooks::{Changes, Policy};
use super::parts::services::FIRST_PROGRAM;
use crate::state::State;
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "application threads on big cores, a virtual machine's service threads on small ones",
    source: "Jibaja et al., \"Portable performance on asymmetric multicore processors\", CGO 2016, sections 1, 2 and 7, its baseline after Cao et al., \"The yin and yang of power and performance for asymmetric hardware and managed software\", ISCA 2012",
    knobs: &[FIRST_PROGRAM],
    ..Description::of::<BindVm>("bind-vm", |setup| Box::new(BindVm::new(setup)))
};

/// Binds threads by their kind.
#[derive(Debug)]
pub struct BindVm {
    first_program: bool,
}

impl BindVm {
    /// The policy as it is set up.
    pub fn new(setup: &Setup) -> Self {
        Self { first_program: setup.switch("first-program") }
    }
}

#[hooks]
impl Policy for BindVm {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// A virtual machine binds a thread when it makes it; a host outside may learn what a thread is for only later. That
    /// is what the period is for, of the length of WASH's quantum.
    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(40))
    }

    fn admit(&mut self, s: &State, thread: ThreadId) -> CoreSet {
        match s.thread(thread).kind {
            _ if self.first_program && s.thread(thread).program != ProgramId(0) => s.machine.all(),
            ThreadKind::Application => s.big,
            ThreadKind::Service => s.little,
        }
    }

    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        for thread in s.living() {
            let cores = self.admit(s, thread);
            changes.affinity(thread, cores);
        }
    }
}

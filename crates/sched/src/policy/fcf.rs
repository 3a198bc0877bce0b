//! Faster core first and asymmetry-aware load balancing: what an operating system needs first on cores of different speed
//! (Koufaty, Reddy, Hahn: Bias scheduling in heterogeneous multi-core architectures, EuroSys 2010, section 5.2; after Li,
//! Baumberger, Koufaty, Hahn: Efficient operating system scheduling for performance-asymmetric multi-core architectures,
//! SC 2007).
//!
//! Problem: a scheduler that takes all cores for equal leaves a big core idle while a little one works, and gives each
//! core as many threads as any other. Here big cores get work first: a thread that becomes ready goes to the fastest idle
//! core, and a core with nothing to run takes over from a slower one. And they get more of it: load is compared as threads
//! for a core's capacity, the machine's estimate of how much faster a big core is, the same for every thread.
//!
//! Which thread moves makes no difference here. It does to bias scheduling, which calls these functions with a choice of
//! its own.

use evenkeel_model::{CoreId, ThreadId};

use super::description::{Description, Guarantee};
use super::hooks::Policy;
use super::in_kernel::InKernel;
use super::parts::faster_first;
use crate::action::{Pick, Why};
use crate::state::State;
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "faster core first, and as many threads for each core as its capacity says",
    source: "Koufaty, Reddy, Hahn, \"Bias scheduling in heterogeneous multi-core architectures\", EuroSys 2010, sections 5.2 and 6.2, after Li, Baumberger, Koufaty, Hahn, \"Efficient operating system scheduling for performance-asymmetric multi-core architectures\", SC 2007",
    guarantees: &[Guarantee::TakesOver],
    in_kernel: Some(InKernel::new(1)),
    ..Description::of::<Fcf>("fcf", |_| Box::new(Fcf))
};

/// Fast cores before slow ones, load in proportion to their speed.
#[derive(Debug, Default)]
pub struct Fcf;

#[hooks]
impl Policy for Fcf {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        faster_first::place(s, thread, why, s.machine.all())
    }

    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        faster_first::pick(s, core, s.machine.all(), |candidates| candidates.next())
    }

    /// Only waiting threads are balanced. A running thread moves only when a faster core goes idle.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        let mut due = faster_first::due(s, core, s.machine.all());
        let thread = due.find_map(|domain| faster_first::pull(s, core, domain, |candidates| candidates.next()));
        thread.map_or(Pick::Idle, Pick::Queued)
    }
}

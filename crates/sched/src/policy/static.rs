//! Static threading: what parallel programs do by themselves ("Exploiting Asymmetric Multi-Core Processors with Flexible
//! System Software", section V).
//!
//! The program deals its threads to the cores one by one, as a runtime with one pinned thread a core does, and the
//! operating system never moves a thread to the other cluster. Inside the cluster CFS decides.

use std::collections::BTreeMap;

use evenkeel_model::{CoreId, CoreSet, ProgramId, ThreadId};

use super::description::Description;
use super::hooks::Policy;
use super::parts::fair;
use crate::action::Why;
use crate::state::State;
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "threads dealt to the cores one by one; none ever leaves its cluster",
    source: "\"Exploiting Asymmetric Multi-Core Processors with Flexible System Software\", section V",
    ..Description::of::<Static>("static", |_| Box::new(Static::default()))
};

/// Threads dealt to cores in turn; none leaves its cluster.
#[derive(Debug, Default)]
pub struct Static {
    /// How many threads each program has started.
    dealt: BTreeMap<ProgramId, u16>,
    /// The core dealt to the thread that is being admitted.
    core: Option<CoreId>,
}

#[hooks]
impl Policy for Static {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn admit(&mut self, s: &State, thread: ThreadId) -> CoreSet {
        let dealt = self.dealt.entry(s.thread(thread).program).or_default();
        let core = CoreId(*dealt % s.cores.len() as u16);
        *dealt += 1;
        self.core = Some(core);
        s.machine.clusters[s.machine.cores[core.index()].cluster.index()].cores
    }

    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        match (why, self.core.take()) {
            (Why::New { .. }, Some(core)) if s.thread(thread).allowed().contains(core) => core,
            _ => fair::place(s, thread, why),
        }
    }
}

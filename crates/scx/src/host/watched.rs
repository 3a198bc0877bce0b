//! What those see that watch.

use evenkeel_linux::monitor::{State, ThreadNow};
use evenkeel_linux::sample::MAX_TYPES;
use evenkeel_model::{Ns, ThreadId};
use evenkeel_sched::ThreadKind;

use super::{Driver, Location, Orders};
use crate::counting::Learnt;

impl<O: Orders> Driver<O> {
    /// The threads that live, in order of their numbers.
    pub(crate) fn threads(&self, now: Ns) -> Vec<ThreadNow> {
        self.by_tid.values().map(|id| self.thread_now(*id, now)).collect()
    }

    /// What has been measured of threads, for the policy that comes next.
    pub(crate) fn learnt(&self) -> Learnt {
        self.by_tid.iter().map(|(tid, id)| (*tid, self.threads[id.index()].rates.learnt())).collect()
    }

    /// A thread, with what it has done until now.
    pub(super) fn thread_now(&self, id: ThreadId, now: Ns) -> ThreadNow {
        let (s, own) = (self.sched.state(), &self.threads[id.index()]);
        let thread = s.thread(id);
        let (state, at) = match own.location {
            Location::Running(core) => (State::Running, core),
            Location::Elsewhere(on) => (State::Running, on.unwrap_or(thread.core)),
            Location::Waiting | Location::Sent(_) => (State::Ready, thread.core),
            Location::Blocked => (State::Waiting, thread.core),
        };
        let mut run = own.on_type;
        if let Location::Running(core) | Location::Elsewhere(Some(core)) = own.location {
            // Not accounted for yet.
            run[s.machine.cores[core.index()].core_type.index().min(MAX_TYPES - 1)] += now.since(own.since);
        }
        let judged = self.sched.judgement(id);
        let waits = if state == State::Ready { now.since(own.since) } else { Ns::ZERO };
        ThreadNow {
            tid: own.tid,
            process: own.process,
            service: thread.kind == ThreadKind::Service,
            state,
            cpu: self.cpus[at.index()],
            label: judged.label,
            speedup: judged.speedup,
            run: run[..s.machine.core_types.len().min(MAX_TYPES)].to_vec(),
            delay: own.waited + waits,
            blame: Some(thread.blame),
            pinned: Vec::new(),
        }
    }
}

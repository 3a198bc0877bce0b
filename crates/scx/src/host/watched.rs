//! What those see that watch.

use evenkeel_linux::monitor::{State, ThreadNow};
use evenkeel_linux::sample::MAX_TYPES;
use evenkeel_model::{Ns, ThreadId};
use evenkeel_sched::ThreadKind;

use super::{Driver, Location, Orders};

impl<O: Orders> Driver<O> {
    /// The threads that live, in order of their numbers.
    pub(crate) fn threads(&self) -> Vec<ThreadNow> {
        self.by_tid.values().map(|id| self.thread_now(*id)).collect()
    }

    fn thread_now(&self, id: ThreadId) -> ThreadNow {
        let (s, own) = (self.sched.state(), &self.threads[id.index()]);
        let thread = s.thread(id);
        let (state, at) = match own.location {
            Location::Running(core) => (State::Running, core),
            Location::Elsewhere(on) => (State::Running, on.unwrap_or(thread.core)),
            Location::Waiting | Location::Sent(_) => (State::Ready, thread.core),
            Location::Blocked => (State::Waiting, thread.core),
        };
        let judged = self.sched.judgement(id);
        let waits = if state == State::Ready { self.now.since(own.since) } else { Ns::ZERO };
        ThreadNow {
            tid: own.tid,
            process: own.process,
            service: thread.kind == ThreadKind::Service,
            state,
            cpu: self.cpus[at.index()],
            label: judged.label,
            speedup: judged.speedup,
            run: own.on_type[..s.machine.core_types.len().min(MAX_TYPES)].to_vec(),
            delay: own.waited + waits,
            blame: Some(thread.blame),
            pinned: Vec::new(),
        }
    }
}

//! What those see that watch.

use evenkeel_linux::monitor::{State, ThreadNow};
use evenkeel_linux::sample::MAX_TYPES;
use evenkeel_model::{Ns, ThreadId};
use evenkeel_sched::ThreadKind;

use super::{Driver, Location, Orders};
use crate::counting::Learnt;
use crate::moments::Did;

impl<O: Orders> Driver<O> {
    /// The threads that live, in order of their numbers.
    pub(crate) fn threads(&self, now: Ns) -> Vec<ThreadNow> {
        self.by_tid.values().map(|id| self.thread_now(*id, now)).collect()
    }

    /// What has been measured of threads, for the policy that comes next.
    pub(crate) fn learnt(&self) -> Learnt {
        self.by_tid.iter().map(|(tid, id)| (*tid, self.threads[id.index()].rates.learnt())).collect()
    }

    /// What a thread has done until now, under earlier numbers, too.
    pub(super) fn did(&self, id: ThreadId, now: Ns) -> Did {
        let own = &self.threads[id.index()];
        let mut did = Did { run: own.on_type, delay: own.waited };
        // Not accounted for yet.
        match own.location {
            Location::Running(core) | Location::Elsewhere(Some(core)) => {
                let on = self.sched.state().machine.cores[core.index()].core_type;
                did.run[on.index().min(MAX_TYPES - 1)] += now.since(own.since);
            }
            Location::Waiting | Location::Sent(_) => did.delay += now.since(own.since),
            Location::Blocked | Location::Elsewhere(None) => {}
        }
        did
    }

    /// A thread, with what it has done until now under its number.
    pub(super) fn thread_now(&self, id: ThreadId, now: Ns) -> ThreadNow {
        let (s, own) = (self.sched.state(), &self.threads[id.index()]);
        let thread = s.thread(id);
        let (state, at) = match own.location {
            Location::Running(core) => (State::Running, core),
            Location::Elsewhere(on) => (State::Running, on.unwrap_or(thread.core)),
            Location::Waiting | Location::Sent(_) => (State::Ready, thread.core),
            Location::Blocked => (State::Waiting, thread.core),
        };
        let judged = self.sched.judgement(id);
        let did = self.did(id, now).since(&own.before);
        ThreadNow {
            tid: own.tid,
            process: own.process,
            service: thread.kind == ThreadKind::Service,
            state,
            cpu: self.cpus[at.index()],
            label: judged.label,
            speedup: judged.speedup,
            run: did.run[..s.machine.core_types.len().min(MAX_TYPES)].to_vec(),
            delay: did.delay,
            blame: Some(thread.blame),
            pinned: Vec::new(),
        }
    }
}

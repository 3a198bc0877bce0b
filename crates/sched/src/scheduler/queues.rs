//! Where threads wait and run: into a core's queue, onto the core, to another one, and away.

use evenkeel_model::{Class, CoreId, Ns, ThreadId};

use super::Scheduler;
use crate::action::{Action, Why};
use crate::policy::parts::fair;
use crate::thread::Run;

impl Scheduler {
    /// Takes a thread out of the queue that it waits in or off the core that it runs on, if it is at either.
    pub(super) fn leave(&mut self, thread: ThreadId) {
        match self.state.thread(thread).run {
            Run::Ready => {
                self.policy.leave(&self.state, thread);
                let core = self.state.thread(thread).core;
                self.dequeue(thread, core);
            }
            Run::Running => {
                self.policy.leave(&self.state, thread);
                self.leave_core(thread);
            }
            Run::Blocked(_) | Run::Absent => {}
        }
    }

    pub(super) fn leave_core(&mut self, thread: ThreadId) {
        if self.state.thread(thread).run == Run::Running {
            let core = self.state.thread(thread).core;
            let current = &mut self.state.cores[core.index()].current;
            if *current == Some(thread) {
                *current = None;
                self.note(core);
            }
        }
    }

    /// The policy's choice for a fair thread; the real-time class goes to an idle core or to one that runs a fair thread.
    pub(super) fn choose_core(&mut self, thread: ThreadId, why: Why) -> CoreId {
        let s = &self.state;
        let t = s.thread(thread);
        let chosen = match (s.thread(thread).class, why) {
            (Class::RealTime { .. }, Why::New { .. } | Why::Woken { .. }) => {
                let fair = |core: &CoreId| {
                    let runs = s.core(*core).current.map(|current| s.thread(current).class);
                    !matches!(runs, Some(Class::RealTime { .. }))
                };
                let (allowed, previous) = (t.allowed(), t.core);
                let idle = s.whole(allowed.and(s.idle_cores())).lowest();
                idle.or(Some(previous).filter(|core| allowed.contains(*core) && fair(core)))
                    .or_else(|| allowed.iter().find(fair))
                    .unwrap_or(previous)
            }
            _ => self.policy.place(s, thread, why),
        };
        if t.may_run_on(chosen) { chosen } else { fair::least(s, t.allowed()).unwrap_or(chosen) }
    }

    pub(super) fn enqueue(&mut self, thread: ThreadId, core: CoreId) {
        let now = self.state.now;
        let t = &mut self.state.threads[thread.index()];
        t.run = Run::Ready;
        t.core = core;
        t.since = now;
        let (class, vruntime, weight) = (t.class, t.vruntime, t.weight());
        let queue = &mut self.state.cores[core.index()].queue;
        match class {
            Class::Fair { .. } => queue.push_fair(thread, vruntime, weight),
            Class::RealTime { priority } => queue.push_real_time(thread, priority, weight),
        }
        self.note(core);
        self.state.touch(thread);
    }

    pub(super) fn dequeue(&mut self, thread: ThreadId, core: CoreId) {
        if self.state.cores[core.index()].queue.remove(thread) {
            self.note(core);
        }
    }

    pub(super) fn dispatch(&mut self, thread: ThreadId, core: CoreId) {
        self.move_queue(thread, core);
        let now = self.state.now;
        let t = &mut self.state.threads[thread.index()];
        t.waited += now.since(t.since);
        t.since = now;
        t.load.update(now, true);
        t.run = Run::Running;
        t.stint = Ns::ZERO;
        self.state.cores[core.index()].current = Some(thread);
        self.state.cores[core.index()].queue.remove(thread);
        self.note(core);
        self.state.touch(thread);
        self.policy.arrive(&self.state, thread, core);
    }

    /// Moves a waiting thread to the queue of another core. Its time of waiting continues.
    pub(super) fn move_queue(&mut self, thread: ThreadId, to: CoreId) {
        let from = self.state.thread(thread).core;
        if from == to {
            return;
        }
        self.policy.leave(&self.state, thread);
        self.dequeue(thread, from);
        let vruntime = self.policy.enter(&self.state, thread, to, Why::Taken { by: to });
        let t = &mut self.state.threads[thread.index()];
        t.vruntime = vruntime;
        let since = t.since;
        self.enqueue(thread, to);
        self.state.threads[thread.index()].since = since;
    }

    pub(super) fn pull(&mut self, thread: ThreadId, core: CoreId) {
        if self.state.ready(thread) && self.may_run(thread, core) && self.state.thread(thread).core != core {
            self.move_queue(thread, core);
            self.check_preemption(thread, core);
        }
    }

    /// After a change of what a thread may use: a waiting one moves now, a running one is stopped and placed anew.
    pub(super) fn leave_forbidden_core(&mut self, thread: ThreadId) {
        let core = self.state.thread(thread).core;
        if self.may_run(thread, core) {
            return;
        }
        match self.state.thread(thread).run {
            Run::Ready => {
                let to = self.choose_core(thread, Why::Preempted);
                self.pull(thread, to);
            }
            Run::Running => self.outbox.push_back(Action::Reschedule(core)),
            Run::Blocked(_) | Run::Absent => {}
        }
    }
}

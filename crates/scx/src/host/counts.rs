//! What threads have done: for how long they ran where, and what was counted of them.

use evenkeel_linux::host::Increment;
use evenkeel_linux::sample::MAX_TYPES;
use evenkeel_model::{CoreId, Ns, ThreadId};
use evenkeel_sched::Span;
use evenkeel_sched::protocol;

use super::{Driver, Orders};

impl<O: Orders> Driver<O> {
    /// Reports what each running thread did until now. After each comes `then`, which may change what later cores run.
    pub(super) fn account_running(&mut self, mut then: impl FnMut(&mut Self, CoreId)) {
        for core in (0..self.cores.len() as u16).map(CoreId) {
            if let Some(id) = self.cores[core.index()].running {
                self.account(id, core);
                then(self, core);
            }
        }
    }

    /// Reports what a running thread did until now, by the clock.
    fn account(&mut self, id: ThreadId, core: CoreId) {
        let thread = &mut self.threads[id.index()];
        thread.clocked += self.now.since(thread.since);
        thread.since = self.now;
        let time = thread.clocked.since(thread.reported);
        thread.reported += time;
        self.ran(id, core, time);
    }

    /// Reports what a thread that leaves its core did, by the kernel's count. What was reported too much, since something that comes first
    /// had the core for a while, is taken off what it does next.
    pub(super) fn count(&mut self, id: ThreadId, core: CoreId, counted: Ns) {
        let thread = &mut self.threads[id.index()];
        let did = counted.since(thread.counted);
        let time = did.since(thread.reported);
        (thread.counted, thread.reported) = (counted, thread.reported.since(did));
        self.ran(id, core, time);
    }

    fn ran(&mut self, id: ThreadId, core: CoreId, time: Ns) {
        if time > Ns::ZERO {
            let s = self.sched.state();
            let (big, on) = (s.big.contains(core), s.machine.cores[core.index()].core_type.index());
            *(if big { &mut self.figures.big } else { &mut self.figures.little }) += time;
            let thread = &mut self.threads[id.index()];
            thread.on_type[on.min(MAX_TYPES - 1)] += time;
            // What was counted on the other type before it came here is not told.
            let span = Increment::span(thread.measured.increment.take(), on);
            let span = Span { time, speedup: thread.measured.speedup, ..span };
            self.sched.ran(self.now, id, core, &span);
            protocol::collect(self);
        }
    }

    /// What has been counted of threads, if anything is: the scheduler is told with what they run next.
    pub(super) fn measure(&mut self) {
        if !self.counting.counts() {
            return;
        }
        let types = self.sched.state().machine.core_types.len();
        for id in self.by_tid.values() {
            let thread = &mut self.threads[id.index()];
            thread.measured = self.counting.measure(thread.tid, &mut thread.rates, &thread.on_type, types);
        }
    }
}

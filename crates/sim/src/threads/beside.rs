//! What steers the threads from beside their scheduler ([`Steering`]): when it looks, what it sees, and what becomes of its orders.

use evenkeel_model::{CoreId, CoreSet, Ns, ProgramId, ThreadId};
use evenkeel_sched::policy::Judgement;
use evenkeel_sched::protocol;
use evenkeel_sched::steering::{Order, Seen, Steering};
use evenkeel_sched::{Scheduler, Wait};

use crate::threads::calendar::Entry;
use crate::threads::engine::{Engine, STUCK};
use crate::threads::error::Error;
use crate::threads::thread::{On, RunState, Thread};

/// Who steers, and when it looks.
pub(crate) struct Beside<'a> {
    steering: &'a mut dyn Steering,
    next: Ns,
    soonest: Ns,
    /// A big core has lost its thread since the last look.
    left: bool,
}

impl<'a> Beside<'a> {
    /// It looks as soon as the run begins.
    pub(crate) fn new(steering: &'a mut dyn Steering) -> Self {
        Self { steering, next: Ns::ZERO, soonest: Ns::ZERO, left: false }
    }

    /// What it thinks of a thread.
    pub(crate) fn judgement(&self, thread: ThreadId) -> Judgement {
        self.steering.judgement(thread)
    }

    /// A big core has lost its thread.
    pub(crate) fn leaves(&mut self) {
        self.left = true;
    }
}

impl Engine<'_> {
    /// Brings the next look forward if a big core has gone idle.
    pub(crate) fn watch_idle(&mut self) {
        let idle = |core: CoreId| self.cores[core.index()].current.is_none();
        let Some(beside) = &mut self.beside else { return };
        if !std::mem::take(&mut beside.left) {
            return;
        }
        let at = beside.soonest.max(self.now);
        if at < beside.next && self.machine.big().iter().any(idle) {
            beside.next = at;
            self.calendar.push(at, Entry::Look(at));
        }
    }

    /// It looks, if this is when it is to.
    pub(crate) fn look(&mut self, at: Ns) -> Result<(), Error> {
        if self.beside.as_ref().is_none_or(|beside| beside.next != at) {
            return Ok(());
        }
        self.machine.all().iter().for_each(|core| self.settle(core));
        let there = (0..).map(ThreadId).zip(&self.threads).filter(|(_, t)| t.state != RunState::Absent);
        let seen: Vec<Seen<'_>> = there.map(|(thread, t)| seen(&self.sched, self.now, thread, t)).collect();
        let Some(beside) = &mut self.beside else { return Ok(()) };
        (beside.next, beside.soonest) = beside.steering.look(self.now, &seen);
        let orders = beside.steering.orders();
        self.calendar.push(beside.next, Entry::Look(beside.next));
        self.observe_judgements();
        for order in orders {
            match order {
                Order::Move(thread, to) => {
                    let may = self.sched.state().thread(thread).allowed();
                    self.give_mask(thread, CoreSet::EMPTY.with(to).and(may))?;
                    self.give_mask(thread, may)?;
                }
                Order::Bind(thread, cores) => self.give_mask(thread, cores.and(self.threads[thread.index()].own))?,
            }
        }
        Ok(())
    }

    /// As `sched_setaffinity` does, which refuses an empty mask.
    fn give_mask(&mut self, thread: ThreadId, cores: CoreSet) -> Result<(), Error> {
        let t = self.sched.state().thread(thread);
        if cores.is_empty() || t.allowed() == cores || self.threads[thread.index()].state == RunState::Absent {
            return Ok(());
        }
        let (class, clamp) = (t.class, t.clamp);
        self.sched.set_params(self.now, thread, class, cores, clamp);
        protocol::collect(self);
        protocol::drain(self, STUCK).map(|_| ())
    }
}

fn seen<'a>(sched: &Scheduler, now: Ns, thread: ThreadId, t: &'a Thread) -> Seen<'a> {
    let known = sched.state().thread(thread);
    let waits = match t.state {
        RunState::Blocked(On::Sleep) => Some(Wait::Sleep),
        RunState::Blocked(_) => Some(Wait::Futex),
        RunState::Ready | RunState::On(_) | RunState::Absent => None,
    };
    Seen {
        thread,
        program: ProgramId(t.program as u32),
        kind: known.kind,
        class: known.class,
        cores: t.own,
        core: known.core,
        waits,
        began: t.started,
        on_type: &t.on_type,
        waited: t.waited_until(now),
        blame: known.blame,
    }
}

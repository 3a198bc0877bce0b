//! Threads that come and go, and the cores that their programs allow them.

use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{Name, Rates, kind};
use evenkeel_linux::sample::MAX_TYPES;
use evenkeel_model::{Clamp, Class, CoreId, CoreSet, Ns, ThreadId};
use evenkeel_sched::NewThread;
use evenkeel_sched::protocol;

use super::{Driver, Location, Orders};
use crate::counting::Measured;
use crate::event::{Described, Event};
use crate::moments::Did;

#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) tid: Tid,
    pub(super) process: Tid,
    pub(super) name: Name,
    pub(super) location: Location,
    /// The core that was told last to run it because it had waited for too long, and those that the kernel has not let it have since it began
    /// to wait: it must not migrate now.
    pub(super) rescued: Option<CoreId>,
    pub(super) refused: CoreSet,
    pub(super) begun: bool,
    pub(super) weight: u32,
    pub(super) mask: CoreSet,
    /// What the kernel had counted at the last event, how long it has run since by the clock, and what has been reported of that, more than it
    /// did before included.
    pub(super) counted: Ns,
    pub(super) clocked: Ns,
    pub(super) reported: Ns,
    /// When it was last accounted for, or began to wait.
    pub(super) since: Ns,
    /// How long it has waited for a core, before the present wait.
    pub(super) waited: Ns,
    /// What it has run, by core type.
    pub(super) on_type: [Ns; MAX_TYPES],
    /// What it had done when it got its number.
    pub(super) before: Did,
    pub(super) rates: Rates,
    /// What was counted and is not yet reported, and the speedup that it shows.
    pub(super) measured: Measured,
}

impl<O: Orders> Driver<O> {
    pub(super) fn begin_thread(&mut self, event: &Event, described: &Described) {
        let mask = described.cores(&self.cpus);
        let id = self.sched.create(&NewThread {
            program: self.programs.begin(described.process),
            kind: kind(&described.name),
            class: Class::Fair { weight: event.weight.into() },
            cores: self.usable(mask),
            on: self.core(event.cpu).unwrap_or(CoreId(0)),
            clamp: Clamp::default(),
        });
        let types = self.sched.state().machine.core_types.len();
        let (rates, measured) = self.counting.begin(event.tid, types);
        let thread = Thread {
            tid: event.tid,
            process: described.process,
            name: Name::known(&described.name, self.now),
            location: Location::Blocked,
            rescued: None,
            refused: CoreSet::default(),
            begun: false,
            weight: event.weight,
            mask,
            counted: event.ran,
            clocked: Ns::ZERO,
            reported: Ns::ZERO,
            since: self.now,
            waited: Ns::ZERO,
            on_type: [Ns::ZERO; MAX_TYPES],
            before: Did::default(),
            rates,
            measured,
        };
        match self.threads.get_mut(id.index()) {
            Some(place) => *place = thread,
            None => self.threads.push(thread),
        }
        self.by_tid.insert(event.tid, id);
        self.figures.threads += 1;
    }

    /// Many threads get their names only after they have started, those that serve a runtime system among them.
    pub(super) fn read_names(&mut self) {
        for id in self.by_tid.values() {
            let Thread { process, tid, name, .. } = &mut self.threads[id.index()];
            if name.read_again(*process, *tid, self.now) {
                self.sched.set_kind(*id, kind(name.as_str()));
            }
        }
    }

    /// A thread has exited, or is another scheduler's.
    pub(super) fn end(&mut self, id: ThreadId, ran: Ns) {
        self.leaves(id, ran, Location::Blocked, |sched, now| sched.exited(now, id));
        let Thread { tid, process, .. } = self.threads[id.index()];
        if self.gone.wanted() {
            self.gone.add(self.thread_now(id, self.now));
        }
        self.by_tid.remove(&tid);
        self.counting.gone(tid);
        self.elsewhere.retain(|(_, thread)| *thread != id);
        self.rescued.retain(|(_, thread)| *thread != id);
        self.programs.end(process);
        self.sched.forget(id);
    }

    /// After exec a thread gets the number of its process's first thread. If that thread still exists, it ends now.
    pub(super) fn rename(&mut self, before: Tid, tid: Tid, first: Option<ThreadId>) {
        // Told twice, the first one is the thread itself.
        let Some(id) = self.by_tid.remove(&before) else { return };
        if let Some(first) = first {
            self.end(first, Ns::ZERO);
        }
        if self.gone.wanted() {
            self.gone.add(self.thread_now(id, self.now));
        }
        let did = self.did(id, self.now);
        self.by_tid.insert(tid, id);
        (self.threads[id.index()].tid, self.threads[id.index()].before) = (tid, did);
        self.counting.gone(before);
        // It is counted anew.
        self.threads[id.index()].rates = self.threads[id.index()].rates.learnt();
        // What it was told under its old number has not reached it.
        for stop in self.stops.iter_mut().filter(|stop| stop.left.contains(&id)) {
            stop.ordered = false;
        }
    }

    /// How much it may have beside others: weights of control groups change without an event of their own. Events of cores have
    /// none.
    pub(super) fn reweigh(&mut self, id: ThreadId, weight: u32) {
        if weight > 0 && std::mem::replace(&mut self.threads[id.index()].weight, weight) != weight {
            self.set_params(id);
        }
    }

    pub(super) fn set_params(&mut self, id: ThreadId) {
        let thread = &self.threads[id.index()];
        let (class, cores) = (Class::Fair { weight: thread.weight.into() }, self.usable(thread.mask));
        self.sched.set_params(self.now, id, class, cores, Clamp::default());
        protocol::collect(self);
    }

    /// A core can be used again, or not: it is switched off, or a real-time thread has it. The thread of its assignment waits again.
    pub(super) fn switch(&mut self, cpu: u16, on: bool) {
        let Some(core) = self.core(cpu) else { return };
        if on {
            self.present.insert(core)
        } else {
            self.present.remove(core)
        }
        // Real-time threads may have all of them.
        if self.present.is_empty() {
            return;
        }
        self.online = self.present;
        let living: Vec<ThreadId> = self.by_tid.values().copied().collect();
        living.into_iter().for_each(|id| self.set_params(id));
        // Also those of the cores that were the last.
        for core in self.sched.state().machine.all().minus(self.online).iter() {
            if let Some(id) = self.cores[core.index()].sent.take() {
                self.threads[id.index()].location = Location::Waiting;
                protocol::refuse(self, core, id);
            }
        }
    }

    /// The cores of a mask that are on, or that its thread has to wait for, if none is; all that are on, if it has none of this
    /// machine's.
    pub(super) fn usable(&self, mask: CoreSet) -> CoreSet {
        let own = mask.and(self.sched.state().machine.all());
        if own.is_empty() || own.intersects(&self.online) { mask.within(self.online) } else { own }
    }
}

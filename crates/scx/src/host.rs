//! Between the kernel and the scheduler core: events become reports, decisions become assignments and orders to stop.
//!
//! The kernel says what happened some time after it did, and does what it is told some time after it was decided. So a switch is
//! under way from the assignment until the core runs the thread, and a stop until the thread has left its core: [`protocol`]'s
//! late host. What the kernel does by itself, such as running a thread where it is that must not migrate now, has that thread
//! run elsewhere until it waits or blocks again.

mod counts;
mod figures;
mod governed;
mod moves;
mod rescue;
#[cfg(test)]
mod tests;
mod threads;
mod watched;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;

use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{CoreOf, Source};
use evenkeel_linux::sample::PairWaits;
use evenkeel_model::{CoreId, CoreSet, Machine, Ns, ThreadId};
use evenkeel_sched::protocol::{self, Host, Progress, Request, Requests};
use evenkeel_sched::{Action, Scheduler, Setup, Wait, Why};

use crate::counting::Counting;
use crate::event::{Event, What};
use crate::moments::Gone;
use crate::pairs::Pairs;
use crate::programs::Programs;
use crate::speed::Speeds;

pub use figures::Figures;
use rescue::PATIENCE;
use threads::Thread;

/// How often the scheduler has its tick: HZ of Debian's kernels.
pub(crate) const TICK: Ns = Ns::from_ms(4);

/// What the host tells the kernel.
pub(crate) trait Orders {
    /// Has a core run a thread, if it still waits then. Replaces an older assignment, which had another number.
    fn send(&mut self, cpu: u16, assignment: Assignment);
    /// Has a thread leave a core, if it is still there then.
    fn stop(&mut self, cpu: u16, tid: Tid);
    /// Tells the governor of frequencies how much of a core is used, in its own units.
    fn perform(&mut self, cpu: u16, level: u32);
}

/// What a core is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The thread that it is to run.
    pub(crate) tid: Tid,
    /// How long at most, until this process decides again.
    pub(crate) slice: Ns,
    /// Each is one more than the core's last.
    pub(crate) number: u32,
}

/// Drives the scheduler core with what the kernel did.
pub(crate) struct Driver<O> {
    pub(crate) orders: O,
    sched: Scheduler,
    requests: Requests,
    now: Ns,
    /// The CPU that each core is, and the core that each CPU is.
    cpus: Vec<u16>,
    core_of: CoreOf,
    /// The cores that can be used, and those that are scheduled: the same, or the last that could be used while none can.
    present: CoreSet,
    online: CoreSet,
    cores: Vec<Core>,
    /// By number; numbers of threads that are gone are those of later ones.
    threads: Vec<Thread>,
    by_tid: BTreeMap<Tid, ThreadId>,
    programs: Programs,
    /// Requests whose threads are on their way off their cores.
    stops: Vec<Stop>,
    /// What runs where it was not sent, and has not been told to leave.
    elsewhere: Vec<(u16, ThreadId)>,
    /// What runs because it had waited for too long, until the next tick.
    rescued: Vec<(u16, ThreadId)>,
    patience: Ns,
    pub(crate) counting: Counting,
    pub(crate) gone: Gone,
    /// Which thread has waited for which, if that is wanted.
    pub(crate) pairs: Option<Pairs>,
    speeds: Speeds,
    figures: Figures,
}

#[derive(Clone, Copy, Debug, Default)]
struct Core {
    running: Option<ThreadId>,
    /// The thread of its assignment, or of the one that it is to get.
    sent: Option<ThreadId>,
    /// How long that should run at most, until the assignment is sent.
    unsent: Option<Ns>,
    /// The number of its last assignment.
    number: u32,
    /// What ran there when it had not been sent there.
    elsewhere: Option<ThreadId>,
    /// Since when it has had nothing to run while a thread waited that may use it.
    idle_since: Option<Ns>,
    /// Since when it has had nothing to run while a slower core ran a thread that may use it.
    misplaced_since: Option<Ns>,
    /// How much of it is used, as the governor of frequencies was told last; it takes a core of which it was told nothing for used to the full.
    told: Option<u32>,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    /// It waits for something, or has not begun.
    Blocked,
    /// It waits for a core.
    Waiting,
    /// A core has an assignment for it, or is to get one.
    Sent(CoreId),
    Running(CoreId),
    /// It runs where it was not sent, on that core if that is known.
    Elsewhere(Option<CoreId>),
}

/// Threads that are being stopped for a request, one after the other.
struct Stop {
    request: Request,
    /// Threads still to be stopped, slowest core first: the faster core keeps its thread until the slower one has stopped.
    left: Vec<ThreadId>,
    /// The first of them has been told.
    ordered: bool,
    /// One of them has left by itself.
    stale: bool,
    /// Other requests for one of them: stale once it has left, but that a core is to choose again, if it then runs what it ran.
    others: Vec<Request>,
}

impl<O: Orders> Driver<O> {
    /// A host for a machine whose core `i` is the CPU `cpus[i]`.
    pub(crate) fn new(orders: O, machine: Machine, cpus: Vec<u16>, policy: &Setup, speeds: Speeds, now: Ns) -> Self {
        Self {
            orders,
            requests: Requests::new(machine.cores.len()),
            present: machine.all(),
            online: machine.all(),
            cores: vec![Core::default(); machine.cores.len()],
            sched: Scheduler::new(machine, policy.make(), None).with_governor(speeds.governor()),
            now,
            core_of: CoreOf::new(&cpus),
            cpus,
            threads: Vec::new(),
            by_tid: BTreeMap::new(),
            programs: Programs::default(),
            stops: Vec::new(),
            elsewhere: Vec::new(),
            rescued: Vec::new(),
            patience: PATIENCE,
            counting: Counting::default(),
            gone: Gone::default(),
            pairs: None,
            figures: Figures { frequencies: speeds.told(0), ..Figures::default() },
            speeds,
        }
    }

    /// Counts by this source from now on what the policy reads of threads, if it reads anything.
    pub(crate) fn count_by(&mut self, source: Box<dyn Source>) {
        self.counting = Counting::by(source, &self.sched);
    }

    /// What is not counted, and why.
    pub(crate) fn missing(&self) -> Option<String> {
        self.counting.missing()
    }

    /// The time between two refreshes. A policy without one refreshes only to measure threads.
    pub(crate) fn period(&self) -> Option<Ns> {
        self.sched.period().or_else(|| self.counting.period())
    }

    /// Whether any core runs a thread.
    pub(crate) fn busy(&self) -> bool {
        self.cores.iter().any(|core| core.running.is_some())
    }

    /// Something happened.
    pub(crate) fn hear(&mut self, event: &Event) {
        self.figures.events += 1;
        // Events of two cores may come in another order than they happened in.
        self.now = self.now.max(event.at);
        let known = self.by_tid.get(&event.tid).copied();
        if let Some(id) = known {
            self.reweigh(id, event.weight);
        }
        match (&event.what, known) {
            (What::Enabled(described), known) => {
                if let Some(id) = known {
                    self.end(id, event.ran);
                }
                self.begin_thread(event, described);
            }
            (What::Online, _) => self.switch(event.cpu, true),
            (What::Offline, _) => self.switch(event.cpu, false),
            (&What::Refused(number), _) => self.refused(event.cpu, number, known, false),
            (&What::Keeps(number), _) => self.refused(event.cpu, number, known, true),
            (What::Disabled { .. }, Some(id)) => self.end(id, event.ran),
            (&What::Renamed { before, .. }, first) => self.rename(before, event.tid, first),
            (&What::Ready { woken, by, waited, yielded }, Some(id)) => {
                let by = by.and_then(|by| self.by_tid.get(&by).copied());
                if waited > Ns::ZERO {
                    let other = by.filter(|by| *by != id);
                    if let Some(pairs) = &mut self.pairs {
                        // It may have woken the one that it then waits for, which had yet to run.
                        let holders = self.sched.holders(event.at, other, waited).filter(|(holder, _)| *holder != id);
                        for (holder, waited) in holders {
                            let waker = self.threads[holder.index()].tid;
                            pairs.add(PairWaits { waiter: event.tid, waker, waited, times: 1 });
                        }
                    }
                    self.sched.released(event.at, id, other, waited);
                    self.figures.blamed += other.map_or(Ns::ZERO, |_| waited);
                }
                let why = match self.threads[id.index()].begun {
                    false => Why::New { by },
                    true if woken => Why::Woken { by },
                    true if yielded => Why::Yielded,
                    true => Why::Preempted,
                };
                self.ready(id, why, event.ran);
            }
            (What::Runs, Some(id)) => self.runs(id, event.cpu, event.ran),
            (&What::Blocks { futex }, Some(id)) => {
                self.leaves(id, event.ran, Location::Blocked, |sched, now| {
                    sched.blocked(now, id, if futex { Wait::Futex } else { Wait::Sleep });
                });
            }
            (What::Mask(described), Some(id)) => {
                self.threads[id.index()].mask = described.cores(&self.cpus);
                self.set_params(id);
                // It may be what an idle core can have now.
                for core in self.sched.state().thread(id).allowed().iter() {
                    if self.cores[core.index()].running.or(self.cores[core.index()].sent).is_none() {
                        self.requests.vacated(core);
                    }
                }
            }
            // Of a thread that is not this scheduler's any more.
            _ => {}
        }
        self.drain();
    }

    /// Tells the kernel what has been decided. What came of several events is told after all of them: the last may have made
    /// stale what came of the first.
    pub(crate) fn tell(&mut self) {
        for (core, cpu) in self.cores.iter_mut().zip(&self.cpus) {
            if let (Some(thread), Some(slice)) = (core.sent, core.unsent.take()) {
                self.figures.switches += 1;
                core.number = core.number.wrapping_add(1);
                self.orders
                    .send(*cpu, Assignment { tid: self.threads[thread.index()].tid, slice, number: core.number });
            }
        }
        for stop in self.stops.iter_mut().filter(|stop| !stop.ordered) {
            stop.ordered = true;
            for (core, thread) in stop.request.running().filter(|(_, thread)| stop.left.first() == Some(thread)) {
                self.orders.stop(self.cpus[core.index()], self.threads[thread.index()].tid);
            }
        }
        for (cpu, thread) in std::mem::take(&mut self.elsewhere) {
            // It may have gone elsewhere since, and another be told to leave that core.
            if self.threads[thread.index()].location == Location::Elsewhere(self.core(cpu)) {
                self.orders.stop(cpu, self.threads[thread.index()].tid);
            }
        }
        self.watch();
    }

    /// 1/HZ has passed.
    pub(crate) fn tick(&mut self, now: Ns) {
        self.now = self.now.max(now);
        self.elsewhere.append(&mut self.rescued);
        self.rescue();
        self.account_running(|host, core| {
            protocol::tick(host, core);
            host.drain();
        });
        self.tell_governor();
    }

    /// The policy's period is over.
    pub(crate) fn refresh(&mut self, now: Ns) {
        self.now = self.now.max(now);
        self.account_running(|_, _| {});
        self.measure();
        self.read_names();
        if self.sched.period().is_some() {
            protocol::refresh(self);
            self.drain();
        }
    }

    fn core(&self, cpu: u16) -> Option<CoreId> {
        self.core_of.get(cpu)
    }

    fn drain(&mut self) {
        protocol::collect(self);
        // A policy that decides for ever must not hang the machine (assumed: none needs more than this for what has happened).
        let most = 8 * (self.cores.len() + self.by_tid.len());
        let Ok(_) = protocol::drain(self, most as u32);
    }
}

impl<O: Orders> Host for Driver<O> {
    type Error = Infallible;

    fn scheduler(&self) -> &Scheduler {
        &self.sched
    }

    fn parts(&mut self) -> (&mut Scheduler, &mut Requests) {
        (&mut self.sched, &mut self.requests)
    }

    fn now(&self) -> Ns {
        self.now
    }

    fn running(&self, core: CoreId) -> Option<ThreadId> {
        self.cores[core.index()].running
    }

    fn waiting(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].location == Location::Waiting
    }

    fn waits(&mut self, thread: ThreadId) {
        debug_assert!(self.waiting(thread), "the scheduler is told of no thread that does not wait");
    }

    fn preempt(&mut self, request: &Request) -> Result<Progress, Infallible> {
        let leaves = |stop: &&mut Stop| request.running().any(|(_, thread)| stop.left.contains(&thread));
        if let Some(stop) = self.stops.iter_mut().find(leaves) {
            // It leaves its core already, which then picks again; and so does the core that wanted it.
            return Ok(match request.action() {
                Action::Take { .. } | Action::Reschedule(_) => {
                    stop.others.push(*request);
                    Progress::Late
                }
                _ => Progress::Stale,
            });
        }
        let mut running: Vec<_> = request.running().collect();
        let on = |core: CoreId| self.sched.state().machine.cores[core.index()].core_type;
        running.sort_by_key(|(core, _)| Reverse(on(*core)));
        let left = running.into_iter().map(|(_, thread)| thread).collect();
        self.stops.push(Stop { request: *request, left, ordered: false, stale: false, others: Vec::new() });
        Ok(Progress::Late)
    }

    fn dispatch(&mut self, core: CoreId, thread: ThreadId, slice: Ns) -> Result<Progress, Infallible> {
        if self.threads[thread.index()].location != Location::Waiting {
            return Ok(Progress::Stale);
        }
        self.threads[thread.index()].location = Location::Sent(core);
        let core = &mut self.cores[core.index()];
        (core.sent, core.unsent) = (Some(thread), Some(slice));
        Ok(Progress::Late)
    }

    fn begin(&mut self, core: CoreId, thread: ThreadId) -> Result<(), Infallible> {
        self.cores[core.index()].running = Some(thread);
        self.threads[thread.index()].location = Location::Running(core);
        Ok(())
    }
}

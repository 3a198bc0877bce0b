//! Between the kernel and the scheduler core: samples become reports, decisions become orders.
//!
//! The kernel schedules; this host samples what it did and moves threads. So the kernel is the truth: each step first reports
//! to the scheduler which thread is on which core, and then has it pick for every core. A thread that the scheduler has on
//! another core type than the kernel is ordered to move. So a policy's `place`, `pick` and `balance` decide which *core type* a
//! thread is on; between cores of one type the kernel chooses, which balances equal cores well. No kernel is needed to test
//! this file.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::convert::Infallible;

use evenkeel_model::{CoreId, CoreSet, CoreTypeId, Machine, Ns, ProgramId, ThreadId};
use evenkeel_sched::policy::{Culprit, Hook, Judgement};
use evenkeel_sched::protocol::{self, Host, Requests};
use evenkeel_sched::{Clamp, Class, NewThread, Run, Scheduler, Setup, Span, ThreadKind, Wait, Why};

use crate::event::Tid;
use crate::host::{CoreOf, Increment, Rates, Source, ThreadCounters};
use crate::sample::{Blame, MAX_TYPES, Sample, ThreadState};

/// What the host should do to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Put it on this core, now; later the kernel may move it again.
    Move {
        /// The thread.
        tid: Tid,
        /// The core.
        to: CoreId,
    },
    /// Keep it to these cores until the next such order.
    Bind {
        /// The thread.
        tid: Tid,
        /// The cores.
        cores: CoreSet,
    },
}

/// What can be known of a thread when it is first seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Newcomer {
    /// Application or service.
    pub kind: ThreadKind,
    /// Its scheduling class.
    pub class: Class,
    /// The cores that its program allows.
    pub cores: CoreSet,
}

/// Drives the scheduler core with what the kernel did.
pub struct Driver {
    sched: Scheduler,
    requests: Requests,
    now: Ns,
    /// The policy decides about core types at every wake-up and tick, not only through affinities.
    moves: bool,
    binds: bool,
    core_of: CoreOf,
    tracked: BTreeMap<Tid, Tracked>,
    tids: Vec<Tid>,
    processes: BTreeMap<Tid, ProgramId>,
    refreshed: Ns,
    /// Since the last step a thread came, went, began or ended a wait, or was moved by the kernel.
    changed: bool,
    orders: Vec<Order>,
    gone: Vec<Tid>,
}

#[derive(Clone, Copy, Debug)]
struct Tracked {
    id: ThreadId,
    seen: Sample,
    rates: Rates,
    /// The step at which it was last seen.
    at: Ns,
    /// The scheduler's count of how long it waited, then.
    waited: Ns,
    /// By how much that is ahead of the kernel's, which counts a wait when it is over.
    ahead: Ns,
}

impl Tracked {
    fn new(id: ThreadId, at: Ns) -> Self {
        Self { id, seen: Sample::default(), rates: Rates::default(), at, waited: Ns::ZERO, ahead: Ns::ZERO }
    }
}

impl Driver {
    /// A driver for a machine whose core `i` is the CPU `cpus[i]`, at a first moment.
    pub fn new(machine: Machine, cpus: &[u16], policy: &Setup, now: Ns) -> Self {
        let changes = |hooks: &[Hook]| policy.description().hooks().any(|hook| hooks.contains(&hook));
        Self {
            requests: Requests::new(machine.cores.len()),
            sched: Scheduler::new(machine, policy.make(), None),
            now,
            moves: changes(&[Hook::Place, Hook::Pick, Hook::Balance]),
            binds: changes(&[Hook::Admit, Hook::Turned, Hook::Refresh]),
            core_of: CoreOf::new(cpus),
            tracked: BTreeMap::new(),
            tids: Vec::new(),
            processes: BTreeMap::new(),
            refreshed: now,
            changed: false,
            orders: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.sched.state().machine
    }

    /// Whether the policy ever wants a thread to be elsewhere.
    pub fn steers(&self) -> bool {
        self.moves || self.binds
    }

    /// Counters from there, of what the policy reads of threads; `None` if counting changes nothing of what it does.
    pub fn counters(&self, source: Box<dyn Source>) -> Option<ThreadCounters> {
        ThreadCounters::new(source, &self.sched)
    }

    /// Which threads are to be blamed for waits.
    pub fn culprit(&self) -> Culprit {
        self.sched.culprit()
    }

    /// The scheduler's id of a thread that has been seen and is still there.
    pub fn thread(&self, tid: Tid) -> Option<ThreadId> {
        self.tracked.get(&tid).map(|tracked| tracked.id)
    }

    /// The core that a CPU is, if the machine has it.
    pub fn core(&self, cpu: u16) -> Option<CoreId> {
        self.core_of.get(cpu)
    }

    /// What the scheduler knows.
    pub fn state(&self) -> &evenkeel_sched::State {
        self.sched.state()
    }

    /// What is thought of a thread.
    pub fn judgement(&self, tid: Tid) -> Judgement {
        self.thread(tid).map_or_else(Judgement::default, |id| self.sched.judgement(id))
    }

    /// How many of the scheduler's decisions were stale when they were to be carried out.
    pub fn stale(&self) -> u64 {
        self.requests.stale()
    }

    /// A wait is over (see [`Scheduler::blame`]).
    pub fn blame(&mut self, blame: Blame) {
        if let Some(waker) = self.thread(blame.waker) {
            self.sched.blame(waker, blame.waited);
        }
    }

    /// A thread turned out to be of another kind.
    pub fn set_kind(&mut self, tid: Tid, kind: ThreadKind) {
        if let Some(thread) = self.thread(tid) {
            self.sched.set_kind(thread, kind);
        }
    }

    /// The program changed the affinity of a thread of its own.
    pub fn allow(&mut self, now: Ns, tid: Tid, cores: CoreSet) {
        let Some(id) = self.thread(tid) else { return };
        let (class, clamp) = (self.state().thread(id).class, self.state().thread(id).clamp);
        self.sched.set_params(now, id, class, cores, clamp);
    }

    /// Takes over a thread that another driver has had until now: what it did before does not count, but for how fast it was
    /// measured to be on each core type.
    pub fn take_over(&mut self, now: Ns, sample: &Sample, about: Newcomer, from: &Self) {
        self.now = now;
        let id = self.create(sample, about);
        let rates = from.tracked.get(&sample.tid).map_or_else(Rates::default, |tracked| tracked.rates.learnt());
        self.tracked.insert(sample.tid, Tracked { seen: *sample, rates, ..Tracked::new(id, now) });
        protocol::ready(self, id, Why::New { by: None });
        self.drain();
    }

    /// What the last step wants to be done.
    pub fn orders(&self) -> &[Order] {
        &self.orders
    }

    /// Whether the last step found all as the one before had left it, and leaves it so: every thread that ran or waited
    /// for a core still does, on the same core.
    pub fn steady(&self) -> bool {
        !self.changed && self.orders.is_empty()
    }

    /// The threads that the last step found gone.
    pub fn gone(&self) -> &[Tid] {
        &self.gone
    }

    /// Takes one sample of each living thread of the target, in any order. `newcomer` describes those not seen before.
    /// What the host should do is in [`Self::orders`].
    pub fn step(&mut self, now: Ns, samples: &[Sample], mut newcomer: impl FnMut(&Sample) -> Newcomer) {
        self.orders.clear();
        self.gone.clear();
        self.changed = false;
        self.now = now;
        for sample in samples {
            if let Some(tracked) = self.tracked.get(&sample.tid).copied() {
                self.account(now, &tracked, sample);
            }
        }
        self.exits(now, samples);
        self.find(now, samples);
        self.newly_ready(now, samples, &mut newcomer);
        for core in self.machine().all().iter() {
            self.dispatch_next(core);
        }
        self.drain();
        for core in self.machine().all().iter() {
            if self.running(core).is_some() {
                protocol::tick(self, core);
                self.drain();
            }
        }
        if self.sched.period().is_some_and(|period| now.since(self.refreshed) >= period) {
            self.refreshed = now;
            protocol::refresh(self);
            self.drain();
        }
        self.order_moves(samples);
    }

    /// What a known thread did since it was last seen.
    fn account(&mut self, now: Ns, tracked: &Tracked, sample: &Sample) {
        let id = tracked.id;
        let delay = sample.delay.since(tracked.seen.delay);
        // What the scheduler has counted itself, as the thread was ready to it until it was dispatched.
        let counted = tracked.ahead + self.state().thread(id).waited.since(tracked.waited);
        let (mut waited, ahead) = (delay.since(counted), counted.since(delay));
        let mut rates = tracked.rates;
        let increment = rates.count(sample.counts, &sample.run);
        let types = self.machine().core_types.len();
        let speedup = rates.speedup(types);
        let near = self.core(sample.cpu);
        let here = near.map_or(0, |core| self.machine().cores[core.index()].core_type.index());
        let ran = |core_type: usize| sample.run[core_type].since(tracked.seen.run[core_type]);
        let reported = 0..MAX_TYPES.min(types);
        let all = Ns(reported.clone().map(|core_type| ran(core_type).0).sum());
        let only_waited = all == Ns::ZERO && waited > Ns::ZERO;
        // One span ends where the next one begins, which is not known: they are taken to have been in the order of types.
        let mut later = all;
        for core_type in reported {
            let time = ran(core_type);
            if time == Ns::ZERO && !(only_waited && core_type == here) {
                continue;
            }
            later = later.since(time);
            let on = self.machine().core_of(CoreTypeId(core_type as u8), near).unwrap_or(CoreId(0));
            let span = Span { time, waited, speedup, ..Increment::span(increment, core_type) };
            self.sched.ran(now.since(later), id, on, &span);
            waited = Ns::ZERO;
        }
        let blocked = matches!(self.state().thread(id).run, Run::Blocked(_));
        let wait = match sample.state {
            ThreadState::Runnable => None,
            ThreadState::Futex => Some(Wait::Futex),
            ThreadState::Blocked => Some(Wait::Sleep),
        };
        if let Some(wait) = wait.filter(|_| !blocked) {
            self.changed = true;
            self.sched.blocked(now, id, wait);
        }
        let waited = self.state().thread(id).waited;
        self.tracked.insert(sample.tid, Tracked { id, seen: *sample, rates, at: now, waited, ahead });
    }

    fn exits(&mut self, now: Ns, samples: &[Sample]) {
        let known: Vec<(Tid, Tracked)> = self.tracked.iter().map(|(tid, tracked)| (*tid, *tracked)).collect();
        for (tid, tracked) in known {
            // Seen in this step, or only now for the first time.
            if tracked.at != now && !samples.iter().any(|sample| sample.tid == tid) {
                self.changed = true;
                self.sched.exited(now, tracked.id);
                self.tracked.remove(&tid);
                self.gone.push(tid);
            }
        }
    }

    /// Reports to the scheduler where the runnable threads are.
    fn find(&mut self, now: Ns, samples: &[Sample]) {
        for sample in samples {
            let Some(id) = self.thread(sample.tid) else { continue };
            let thread = self.state().thread(id);
            if let Some(core) = self.core(sample.cpu)
                && thread.runnable()
                && thread.core != core
                && thread.allowed().contains(core)
            {
                self.changed = true;
                self.sched.found(now, id, core);
                // First, or the scheduler would give this thread to an idle core although it runs elsewhere.
                self.dispatch_next(core);
            }
        }
    }

    fn newly_ready(&mut self, now: Ns, samples: &[Sample], newcomer: &mut impl FnMut(&Sample) -> Newcomer) {
        for sample in samples {
            let why = match self.thread(sample.tid) {
                Some(id) if sample.state == ThreadState::Runnable && !self.state().thread(id).runnable() => {
                    self.changed = true;
                    protocol::ready(self, id, Why::Woken { by: None });
                    continue;
                }
                Some(_) => continue,
                None => Why::New { by: None },
            };
            self.changed = true;
            let id = self.create(sample, newcomer(sample));
            self.tracked.insert(sample.tid, Tracked::new(id, now));
            protocol::ready(self, id, why);
            self.account(now, &Tracked::new(id, now), sample);
        }
    }

    fn create(&mut self, sample: &Sample, about: Newcomer) -> ThreadId {
        let next = ProgramId(self.processes.len() as u32);
        let program = *self.processes.entry(sample.process).or_insert(next);
        self.tids.push(sample.tid);
        self.sched.create(&NewThread {
            program,
            kind: about.kind,
            class: about.class,
            cores: about.cores,
            on: self.core(sample.cpu).unwrap_or(CoreId(0)),
            clamp: Clamp::default(),
        })
    }

    /// Gives a core without a thread the next one.
    fn dispatch_next(&mut self, core: CoreId) {
        let Ok(()) = protocol::dispatch(self, core);
    }

    /// Carries out the scheduler's decisions in its own books; masks become orders.
    fn drain(&mut self) {
        protocol::collect(self);
        // Every action comes of one decision; a policy that decides for ever must not hang the host.
        let limit = 8 * (self.state().cores.len() + self.tracked.len());
        let Ok(_) = protocol::drain(self, limit as u32);
        self.requests.clear();
    }

    /// Orders a move for each thread that the scheduler has on another core type than the kernel.
    fn order_moves(&mut self, samples: &[Sample]) {
        if !self.moves {
            return;
        }
        for sample in samples {
            let Some(id) = self.thread(sample.tid) else { continue };
            let thread = self.sched.state().thread(id);
            let machine = &self.sched.state().machine;
            let type_of = |core: CoreId| machine.cores[core.index()].core_type;
            let there = self.core_of.get(sample.cpu);
            if thread.runnable() && there.map(type_of) != Some(type_of(thread.core)) {
                self.orders.push(Order::Move { tid: sample.tid, to: thread.core });
            }
        }
    }
}

/// This host has no books of its own: what the kernel did is reported before the scheduler decides anything, and the decisions
/// become one order a thread.
impl Host for Driver {
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

    fn set_affinity(&mut self, thread: ThreadId, cores: CoreSet) {
        if self.binds {
            self.orders.push(Order::Bind { tid: self.tids[thread.index()], cores });
        }
    }
}

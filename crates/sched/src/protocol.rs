//! The protocol between the scheduler and its hosts: what becomes of an [`Action`], and when it is stale.
//!
//! Problem: the scheduler decides from past reports. When its decision reaches a core, the thread may have blocked, exited or
//! moved. Every host must then do the same, or a policy is not the same policy in each of them. So the rules are here, once,
//! over the trait [`Host`], which a host implements for what only it can do: take a thread off a core, switch a core to a
//! thread, set a mask or a frequency. The protocol itself is in `docs/ARCHITECTURE.md`, "What a host owes the scheduler".
//!
//! An action is stale if it no longer fits what runs where *in the host's books*. Then:
//!
//! | action | stale if | stale: what follows | otherwise |
//! | --- | --- | --- | --- |
//! | [`Next::Run`] | the thread does not wait any more, the core has another one, or the scheduler has changed its mind | counted; the thread, if it waits, is `ready(Preempted)`; the core is rescheduled | the core runs the thread |
//! | [`Action::Reschedule`] | what ran there has left by itself | `next` for the core all the same | what runs there is `ready(Preempted)`; then [`Scheduler::next`] for the core |
//! | [`Action::Take`] | the thread does not run on `from`, or `to` has a thread | counted; `next(to)`, since `to` may still be without work | the thread is `ready(Taken { by: to })`; `next(to)`, `next(from)` |
//! | [`Action::Swap`] | the second thread does not run on its core, or the first neither runs on nor waits for its own | counted; both stay where they are, and one that has left its core already is `ready(Preempted)` | both are `ready(Taken)` by the other's core; `next` for both cores |
//! | [`Action::Affinity`], [`Action::Frequency`] | never | | done |
//!
//! Actions are carried out in the order in which they were made; what they lead to comes after them ([`drain`]). One about
//! a core whose switch is still under way waits for it, if it was made after the pick. Otherwise it would be stale at once,
//! be made again, and so on. Messages keep their order.
//!
//! A host may be late in three places, each of which it chooses for itself: an action can reach it late
//! ([`Host::send`] keeps it, [`Requests::arrived`] brings it back), a stop can be requested now and reported later
//! ([`Host::preempt`] returns [`Progress::Late`], [`settle`] ends it), and so can a switch ([`Host::dispatch`],
//! [`arrive`]). The rules are the same: what is checked is what runs where when it arrives.

use std::collections::VecDeque;

use evenkeel_model::{ClusterId, CoreId, CoreSet, Hz, Ns, ThreadId};

use crate::action::{Action, Next, Why};
use crate::scheduler::Scheduler;

/// What a host does for the scheduler. A host without books of its own, which believes the scheduler's, implements the
/// first three methods and whatever it can enforce.
pub trait Host {
    /// Why the host cannot continue.
    type Error;

    /// The scheduler that it reports to.
    fn scheduler(&self) -> &Scheduler;

    /// The same, to report to, with what is requested and not yet carried out.
    fn parts(&mut self) -> (&mut Scheduler, &mut Requests);

    /// The host's clock.
    fn now(&self) -> Ns;

    /// The thread that runs on a core.
    fn running(&self, core: CoreId) -> Option<ThreadId> {
        self.scheduler().state().core(core).current
    }

    /// Whether a thread could run and has no core.
    fn waiting(&self, thread: ThreadId) -> bool {
        self.scheduler().state().ready(thread)
    }

    /// The scheduler is about to decide something: the last moment to report what its policy must know.
    fn before_decision(&mut self) {}

    /// A thread waits for a core from now on; the report to the scheduler follows.
    fn waits(&mut self, _thread: ThreadId) {}

    /// The scheduler has put a waiting thread into the queue of a core.
    fn queued(&mut self, _thread: ThreadId, _core: CoreId, _why: Why) {}

    /// Sends an action to where it is carried out. Returns it if that is now; a host that keeps it hands it to
    /// [`Requests::arrived`] later.
    fn send(&mut self, action: Action) -> Option<Action> {
        Some(action)
    }

    /// Takes threads off their cores, all or none, and reports [`Scheduler::ran`] for each. [`Progress::Late`] if that
    /// is only requested: [`settle`] then says what became of it.
    ///
    /// # Errors
    /// The host cannot continue.
    fn preempt(&mut self, _request: &Request) -> Result<Progress, Self::Error> {
        Ok(Progress::Done)
    }

    /// Switches a core without a thread to one that waits, now ([`Host::begin`]) or later: [`Progress::Late`] if that is
    /// only requested, and [`arrive`] when the request arrives.
    ///
    /// # Errors
    /// The host cannot continue.
    fn dispatch(&mut self, core: CoreId, thread: ThreadId, _slice: Ns) -> Result<Progress, Self::Error> {
        self.begin(core, thread)?;
        Ok(Progress::Done)
    }

    /// A core runs a thread from now on.
    ///
    /// # Errors
    /// The host cannot continue.
    fn begin(&mut self, _core: CoreId, _thread: ThreadId) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The policy changed where a thread may run.
    fn set_affinity(&mut self, _thread: ThreadId, _cores: CoreSet) {}

    /// A cluster should change its frequency.
    fn set_frequency(&mut self, _cluster: ClusterId, _frequency: Hz) {}
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is carried out.
    Done,
    /// It is under way.
    Late,
    /// It was found stale where it was to be carried out, and nothing was changed.
    Stale,
}

/// Threads to be taken off their cores for an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    action: Action,
    running: [Option<(CoreId, ThreadId)>; 2],
}

impl Request {
    /// What it is for.
    pub fn action(&self) -> Action {
        self.action
    }

    /// The cores, and the thread that runs on each.
    pub fn running(&self) -> impl Iterator<Item = (CoreId, ThreadId)> {
        self.running.into_iter().flatten()
    }
}

/// The actions that a host has yet to carry out, and how many of the others were stale.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// In order, each with its number; 0 for those that arrived late.
    pending: VecDeque<(u64, Action)>,
    numbers: u64,
    /// By core: a switch is under way, picked when the latest action had this number.
    awaited: Vec<Option<u64>>,
    /// Actions that wait for a switch of this core.
    postponed: Vec<(CoreId, u64, Action)>,
    stale: u64,
    preemptions: u64,
}

impl Requests {
    /// None yet, for a machine with so many cores.
    pub fn new(cores: usize) -> Self {
        Self { awaited: vec![None; cores], ..Self::default() }
    }

    /// How many decisions were stale when they were to be carried out.
    pub fn stale(&self) -> u64 {
        self.stale
    }

    /// How often a thread was stopped and another one, or none, took its core.
    pub fn preemptions(&self) -> u64 {
        self.preemptions
    }

    /// A thread left its core by itself: a reschedule of the core follows all that is pending.
    pub fn vacated(&mut self, core: CoreId) {
        self.push(Action::Reschedule(core));
    }

    /// An action that [`Host::send`] kept has arrived. Actions and switches arrive in the order in which they were made.
    pub fn arrived(&mut self, action: Action) {
        self.pending.push_back((0, action));
    }

    /// The core whose switch an action waits for: what it is about was picked before the action was made, and is not
    /// there yet. An older action is part of what led to the pick.
    fn waits_for(&self, number: u64, action: Action) -> Option<CoreId> {
        let cores = match action {
            Action::Reschedule(core) | Action::Take { from: core, .. } => [Some(core), None],
            Action::Swap { cores, .. } => cores.map(Some),
            Action::Affinity { .. } | Action::Frequency { .. } => [None, None],
        };
        let awaited = |core: &CoreId| self.awaited[core.index()].is_some_and(|picked| number > picked);
        cores.into_iter().flatten().find(awaited)
    }

    /// The switch of a core is over: what waits for it is pending again.
    fn switched(&mut self, core: CoreId) {
        self.awaited[core.index()] = None;
        let pending = &mut self.pending;
        self.postponed.retain(|(waits_for, number, action)| {
            let waits = *waits_for != core;
            if !waits {
                pending.push_back((*number, *action));
            }
            waits
        });
    }

    fn push(&mut self, action: Action) {
        self.numbers += 1;
        self.pending.push_back((self.numbers, action));
    }

    /// Drops what is pending: for a host that bounds how many actions follow one event.
    pub fn clear(&mut self) {
        self.pending.clear();
    }
}

/// Carries out what is pending, and what that leads to, at most so many actions. Returns how many they were.
///
/// # Errors
/// The host cannot continue.
pub fn drain<H: Host + ?Sized>(host: &mut H, most: u32) -> Result<u32, H::Error> {
    let mut performed = 0;
    while performed < most
        && let Some((number, action)) = host.parts().1.pending.pop_front()
    {
        performed += 1;
        perform(host, number, action)?;
    }
    Ok(performed)
}

/// Carries an action out, if it is not stale.
fn perform<H: Host + ?Sized>(host: &mut H, number: u64, action: Action) -> Result<(), H::Error> {
    let requests = host.parts().1;
    if let Some(core) = requests.waits_for(number, action) {
        requests.postponed.push((core, number, action));
        return Ok(());
    }
    let (running, stale) = match action {
        Action::Reschedule(core) => ([host.running(core).map(|thread| (core, thread)), None], false),
        Action::Take { thread, from, to } => {
            let fits = host.running(from) == Some(thread) && host.running(to).is_none();
            ([Some((from, thread)), None], !fits)
        }
        Action::Swap { threads, cores } => {
            let waits = waits_for(host, threads[0], cores[0]);
            let runs = |which: usize| host.running(cores[which]) == Some(threads[which]);
            let first = if waits { None } else { Some((cores[0], threads[0])) };
            ([first, Some((cores[1], threads[1]))], !(waits || runs(0)) || !runs(1))
        }
        Action::Affinity { thread } => {
            let cores = host.scheduler().state().thread(thread).allowed();
            host.set_affinity(thread, cores);
            return Ok(());
        }
        Action::Frequency { cluster, frequency } => {
            host.set_frequency(cluster, frequency);
            return Ok(());
        }
    };
    let request = Request { action, running };
    let progress = match request.running().next() {
        _ if stale => Progress::Stale,
        None => Progress::Done,
        Some(_) => host.preempt(&request)?,
    };
    settle(host, &request, progress)
}

/// Whether a thread waits for a core, for the scheduler and for the host.
fn waits_for<H: Host + ?Sized>(host: &H, thread: ThreadId, core: CoreId) -> bool {
    let state = host.scheduler().state();
    host.waiting(thread) && state.ready(thread) && state.thread(thread).core == core
}

/// Ends a request: its threads are off their cores, or it turned out to be stale. Hosts call this for those whose
/// [`Host::preempt`] was late.
///
/// # Errors
/// The host cannot continue.
pub fn settle<H: Host + ?Sized>(host: &mut H, request: &Request, progress: Progress) -> Result<(), H::Error> {
    match (request.action, progress) {
        (_, Progress::Late) | (Action::Affinity { .. } | Action::Frequency { .. }, _) => Ok(()),
        (Action::Reschedule(core), Progress::Done) => {
            let stopped = request.running[0].map(|(_, thread)| thread);
            if let Some(thread) = stopped {
                ready(host, thread, Why::Preempted);
            }
            dispatch(host, core)?;
            if stopped.is_some() && host.running(core) != stopped {
                host.parts().1.preemptions += 1;
            }
            Ok(())
        }
        // What ran there has left by itself: the core needs a thread all the same.
        (Action::Reschedule(core), Progress::Stale) => dispatch(host, core),
        (Action::Take { thread, from, to }, Progress::Done) => {
            ready(host, thread, Why::Taken { by: to });
            dispatch(host, to)?;
            dispatch(host, from)
        }
        (Action::Take { to, .. }, Progress::Stale) => {
            host.parts().1.stale += 1;
            dispatch(host, to)
        }
        (Action::Swap { threads, cores }, Progress::Done)
            if request.running[0].is_none() && !waits_for(host, threads[0], cores[0]) =>
        {
            // It waited when this was requested. What has given way for it has its turn again.
            host.parts().1.stale += 1;
            ready(host, threads[1], Why::Preempted);
            dispatch(host, cores[1])
        }
        (Action::Swap { threads, cores }, Progress::Done) => {
            ready(host, threads[0], Why::Taken { by: cores[1] });
            ready(host, threads[1], Why::Taken { by: cores[0] });
            dispatch(host, cores[0])?;
            dispatch(host, cores[1])
        }
        (Action::Swap { .. }, Progress::Stale) => {
            host.parts().1.stale += 1;
            Ok(())
        }
    }
}

/// A thread can run and has no core: reports it to the scheduler.
pub fn ready<H: Host + ?Sized>(host: &mut H, thread: ThreadId, why: Why) {
    host.waits(thread);
    host.before_decision();
    let now = host.now();
    let core = host.parts().0.ready(now, thread, why);
    host.queued(thread, core, why);
    collect(host);
}

/// Gives a core without a thread the one that the scheduler picks, unless one is on its way already.
///
/// # Errors
/// The host cannot continue.
pub fn dispatch<H: Host + ?Sized>(host: &mut H, core: CoreId) -> Result<(), H::Error> {
    if host.parts().1.awaited[core.index()].is_some() || host.running(core).is_some() {
        return Ok(());
    }
    host.before_decision();
    let now = host.now();
    let next = host.parts().0.next(now, core);
    collect(host);
    let Next::Run { thread, slice } = next else { return Ok(()) };
    match host.dispatch(core, thread, slice)? {
        Progress::Done => {}
        Progress::Late => {
            let requests = host.parts().1;
            requests.awaited[core.index()] = Some(requests.numbers);
        }
        Progress::Stale => refuse(host, core, thread),
    }
    Ok(())
}

/// A switch that [`Host::dispatch`] requested has arrived at its core. A host that learns only then that the core cannot
/// make it reports [`refuse`] instead.
///
/// # Errors
/// The host cannot continue.
pub fn arrive<H: Host + ?Sized>(host: &mut H, core: CoreId, thread: ThreadId) -> Result<(), H::Error> {
    let meant = host.scheduler().state().core(core).current == Some(thread);
    if !meant || !host.waiting(thread) || host.running(core).is_some() {
        refuse(host, core, thread);
        return Ok(());
    }
    host.parts().1.switched(core);
    host.begin(core, thread)
}

/// A core cannot run the thread that was picked for it.
pub fn refuse<H: Host + ?Sized>(host: &mut H, core: CoreId, thread: ThreadId) {
    let requests = host.parts().1;
    requests.switched(core);
    requests.stale += 1;
    if host.waiting(thread) {
        ready(host, thread, Why::Preempted);
    }
    host.parts().1.vacated(core);
}

/// 1/HZ has passed on a busy core, whose thread has been reported.
pub fn tick<H: Host + ?Sized>(host: &mut H, core: CoreId) {
    host.before_decision();
    let now = host.now();
    host.parts().0.tick(now, core);
    collect(host);
}

/// The policy's period is over, and what runs on each core has been reported.
pub fn refresh<H: Host + ?Sized>(host: &mut H) {
    host.before_decision();
    let now = host.now();
    host.parts().0.refresh(now);
    collect(host);
}

/// Moves the scheduler's actions to where they are carried out. To be called after every report that is made directly.
pub fn collect<H: Host + ?Sized>(host: &mut H) {
    while let Some(action) = host.parts().0.action() {
        if let Some(action) = host.send(action) {
            host.parts().1.push(action);
        }
    }
}

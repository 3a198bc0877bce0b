//! The scheduler itself: keeps the books that every policy needs and runs the policy's hooks where the paper decides.
//!
//! A host reports what happened; the scheduler returns [`Next`], and [`Action`]s in an outbox that the host
//! empties after every report. See `docs/ARCHITECTURE.md` for what a host owes the scheduler.
//!
//! This file has the reports. What follows from them is in submodules: where threads wait (`queues`), which give way
//! (`preemption`), what cores take from each other (`balance`), how fast clusters run (`frequencies`), and who made others wait (`blame`).

mod balance;
mod blame;
mod frequencies;
mod preemption;
mod queues;

use std::collections::VecDeque;

use evenkeel_model::{
    Clamp, Class, ClusterId, CoreId, CoreSet, CoreTypeId, Counters, Machine, Ns, ThreadId, ThreadKind,
};

use crate::action::{Action, Next, Pick, Why};
use crate::frequency;
use crate::governor::Governor;
use crate::idle::IdleTurns;
use crate::pelt::{self, Pelt};
use crate::policy::description::{Description, Reads};
use crate::policy::hooks::{Changes, Judgement, Label, Policy, Standing};
use crate::policy::parts::culprit::Culprit;
use crate::policy::parts::fair;
use crate::span::Span;
use crate::state::State;
use crate::thread::{Future, NewThread, OnType, Run, Wait};

/// Predicts the speedup of the biggest over the smallest core type from counters read on a core type.
pub type Predict = Box<dyn Fn(CoreTypeId, &Counters) -> Option<f64> + Send>;

/// The scheduler core: one for every host.
pub struct Scheduler {
    state: State,
    policy: Box<dyn Policy>,
    predict: Option<Predict>,
    outbox: VecDeque<Action>,
    changes: Changes,
    /// Numbers of threads that are forgotten, for new ones.
    free: Vec<ThreadId>,
    /// When each cluster's frequency last followed its use.
    followed: Vec<Option<Ns>>,
    idle_turns: IdleTurns,
    /// Which threads are blamed for waits.
    culprit: Culprit,
}

impl Scheduler {
    /// A scheduler for a machine. Without `predict`, policies fall back on the machine's capacities.
    pub fn new(machine: Machine, policy: Box<dyn Policy>, predict: Option<Predict>) -> Self {
        let mut scheduler = Self {
            followed: vec![None; machine.clusters.len()],
            idle_turns: IdleTurns::default(),
            state: State::new(machine, policy.busy_factor()),
            culprit: policy.culprit(),
            policy,
            predict,
            outbox: VecDeque::new(),
            changes: Changes::default(),
            free: Vec::new(),
        };
        if !scheduler.policy.knows_capacities() {
            scheduler.state.ignore_capacities();
        }
        scheduler.state.machine.all().iter().for_each(|core| scheduler.list_idle(core));
        scheduler
    }

    /// The same scheduler with a governor of frequencies. Without one, clusters run at their highest unless the policy
    /// says otherwise. To be called before anything is reported.
    #[must_use]
    pub fn with_governor(mut self, governor: Governor) -> Self {
        self.state.governor = governor;
        for cluster in (0..self.followed.len() as u16).map(ClusterId) {
            self.set_frequency(cluster, frequency::wanted(&self.state, cluster));
        }
        self
    }

    /// What the scheduler knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The time from one [`Self::refresh`] to the next.
    pub fn period(&self) -> Option<Ns> {
        self.policy.period()
    }

    /// The policy for which a host of real threads should count what it reads of them; `None` if it reads nothing, or if all cores are
    /// alike, where that changes nothing of what it does.
    pub fn counts_for(&self) -> Option<&'static Description> {
        let policy = self.policy.description();
        (policy.reads != Reads::Nothing && self.state.machine.core_types.len() > 1).then_some(policy)
    }

    /// Whether reports of [`Self::ran`] should carry counters.
    pub fn wants_counters(&self) -> bool {
        self.policy.description().reads != Reads::Nothing
    }

    /// Whether the host must call [`Self::foretell`] before every report that can lead to a decision.
    pub fn wants_foresight(&self) -> bool {
        self.policy.description().foresight
    }

    /// What is ahead of a thread; `None` if nothing depends on what it does.
    pub fn foretell(&mut self, thread: ThreadId, future: Option<Future>) {
        let t = &mut self.state.threads[thread.index()];
        t.speedup = future.map(|future| future.speedup).or(t.speedup);
        t.future = future;
    }

    /// Takes one action out of the outbox.
    pub fn action(&mut self) -> Option<Action> {
        self.outbox.pop_front()
    }

    /// Introduces a thread. It is not scheduled before [`Self::ready`].
    pub fn create(&mut self, spec: &NewThread) -> ThreadId {
        if let Some(id) = self.free.pop() {
            self.state.reintroduce(id, spec);
            return id;
        }
        let id = ThreadId(self.state.threads.len() as u32);
        self.state.introduce(spec);
        let threads = self.state.threads.len();
        if threads.is_power_of_two() {
            // Room for all threads, or on many cores for as many as are likely to wait for one (assumed: 4096 places in all).
            let room = (2 * threads).min((4096 / self.state.cores.len()).max(8));
            self.state.cores.iter_mut().for_each(|core| core.queue.reserve(room));
        }
        self.outbox.reserve(2 * threads + 2 * self.state.cores.len());
        self.changes.affinities.reserve(threads);
        id
    }

    /// A thread became ready, or was taken from the queue of another core. Returns the core that it waits for; whether to
    /// preempt there is in the outbox.
    pub fn ready(&mut self, now: Ns, thread: ThreadId, why: Why) -> CoreId {
        self.state.now = now;
        self.leave(thread);
        self.end_of_wait(thread);
        if let Why::New { .. } = why {
            self.begin(thread);
        }
        let previous = self.state.thread(thread).core;
        let core = self.choose_core(thread, why);
        if let Why::New { .. } = why {
            // post_init_entity_util_avg: it is going to need half of what there is.
            let half = self.state.capacity_now(core) / 2;
            self.state.threads[thread.index()].usage = Pelt::constant(half, now);
        }
        self.state.threads[thread.index()].vruntime = self.policy.enter(&self.state, thread, core, why);
        self.enqueue(thread, core);
        if let Why::New { .. } | Why::Woken { .. } = why {
            self.check_preemption(thread, core);
        } else if core != previous && !matches!(why, Why::Taken { .. }) {
            self.check_preemption(thread, core);
        }
        self.follow_usage(core);
        self.turned(thread);
        self.state.thread(thread).core
    }

    /// A core has nothing to run: what next?
    pub fn next(&mut self, now: Ns, core: CoreId) -> Next {
        self.state.now = now;
        let pick = match self.state.core(core).queue.first_real_time() {
            Some(thread) => Pick::Queued(thread),
            None => self.policy.pick(&self.state, core),
        };
        match pick {
            Pick::Queued(thread) if self.state.ready(thread) && self.may_run(thread, core) => {
                self.dispatch(thread, core);
                Next::Run { thread, slice: self.policy.slice(&self.state, thread, core) }
            }
            Pick::Running(thread) => {
                let from = self.state.thread(thread).core;
                if self.state.thread(thread).run == Run::Running && from != core && self.may_run(thread, core) {
                    self.outbox.push_back(Action::Take { thread, from, to: core });
                }
                Next::Idle
            }
            Pick::Queued(_) | Pick::Exchange { .. } | Pick::Idle => Next::Idle,
        }
    }

    /// A thread ran for a span on a core, and maybe still runs. Hosts report this before every tick, refresh and stop.
    pub fn ran(&mut self, now: Ns, thread: ThreadId, core: CoreId, span: &Span) {
        self.state.now = now;
        let cost = self.policy.charge(&self.state, thread, core, span.time);
        let capacity = self.state.capacity_now(core);
        let on = self.state.machine.cores[core.index()].core_type.index();
        let t = &mut self.state.threads[thread.index()];
        t.vruntime += cost.0 as i64;
        t.executed += span.time;
        t.waited += span.waited;
        t.stint += span.time;
        t.last_ran = now;
        t.load.update(Ns(now.0.saturating_sub((span.time + span.waited).0)), false);
        t.load.update(now, true);
        t.usage.accrue(Ns(now.0.saturating_sub(span.time.0)), 0);
        t.usage.accrue(now, capacity);
        t.speedup = span.speedup.or(t.speedup);
        let window = &mut t.window.on_type[on];
        window.time += span.time;
        if let Some(instructions) = span.instructions {
            *t.instructions.get_or_insert_default() += instructions;
            *window.instructions.get_or_insert_default() += instructions;
        }
        if let Some(counters) = &span.counters {
            *window.counters.get_or_insert_default() += counters;
        }
        let vruntime = t.vruntime;
        self.state.touch(thread);
        if self.state.ready(thread) {
            // It had the core in between, as the host's kernel decided: its place in the queue changes. It waits from now on, as
            // the span has its wait until then.
            let at = self.state.thread(thread).core;
            self.dequeue(thread, at);
            self.enqueue(thread, at);
        }
        let queue = &mut self.state.cores[core.index()].queue;
        let floor = queue.first_vruntime().map_or(vruntime, |first| first.min(vruntime));
        queue.min_vruntime = queue.min_vruntime.max(floor);
        self.policy.ran(&self.state, thread, core, span);
    }

    /// A runnable thread turned out to be on another core than the one where the scheduler has it: the kernel under the
    /// host moved it. It waits there now, until [`Self::next`] names it.
    pub fn found(&mut self, now: Ns, thread: ThreadId, core: CoreId) {
        self.state.now = now;
        match self.state.thread(thread).run {
            Run::Ready => self.move_queue(thread, core),
            Run::Running => {
                self.leave_core(thread);
                let from = self.state.thread(thread).core;
                self.enqueue(thread, from);
                self.move_queue(thread, core);
            }
            Run::Absent | Run::Blocked(_) => {}
        }
    }

    /// A runnable thread began to wait for something. In a host that decides which thread runs, it ran until now.
    pub fn blocked(&mut self, now: Ns, thread: ThreadId, on: Wait) {
        self.state.now = now;
        self.leave(thread);
        let t = &mut self.state.threads[thread.index()];
        t.load.update(now, true);
        // util_est_update: a weight of 1/4 for the newest value if it is lower.
        let used = t.usage.load_at(now);
        t.estimate = used.max(t.estimate - t.estimate.saturating_sub(used) / 4);
        t.run = Run::Blocked(on);
        t.since = now;
        let core = t.core;
        self.state.touch(thread);
        self.follow_usage(core);
        self.turned(thread);
    }

    /// A thread is gone, wherever it was.
    pub fn exited(&mut self, now: Ns, thread: ThreadId) {
        self.state.now = now;
        self.leave(thread);
        let t = &mut self.state.threads[thread.index()];
        t.run = Run::Absent;
        t.exited = true;
        self.state.touch(thread);
        self.follow_usage(self.state.thread(thread).core);
        self.turned(thread);
    }

    /// Ends the reports of a thread that has exited, whose number may be that of the next one. A host that runs for long calls
    /// this, or the books of threads would grow for ever.
    pub fn forget(&mut self, thread: ThreadId) {
        debug_assert!(!self.state.thread(thread).alive(), "a thread that lives is forgotten");
        self.policy.forget(thread);
        self.free.push(thread);
    }

    /// A thread waited for others for so long: for a host that counts this itself and reports those waits as
    /// [`Wait::Sleep`].
    pub fn contended(&mut self, thread: ThreadId, waited: Ns) {
        self.state.threads[thread.index()].contended += waited;
    }

    /// What the policy thinks of a thread since the last refresh.
    pub fn standing(&self, thread: ThreadId) -> Standing {
        self.policy.standing(&self.state, thread)
    }

    /// What is thought of a thread since the last refresh.
    pub fn judgement(&self, thread: ThreadId) -> Judgement {
        Judgement { label: Label::from(&self.standing(thread)), speedup: self.state.thread(thread).speedup }
    }

    /// The scheduler's tick on a core, after the host has reported what ran there.
    pub fn tick(&mut self, now: Ns, core: CoreId) {
        self.state.now = now;
        self.preempt_at_tick(core);
        self.rebalance(core);
        self.kick_idle_core(core);
        self.balance_idle_cores(core);
        if self.state.governor == Governor::Schedutil {
            (0..self.followed.len() as u16).for_each(|cluster| self.govern(ClusterId(cluster)));
        }
    }

    /// Once a [`Self::period`], after the host has reported what ran on every core.
    pub fn refresh(&mut self, now: Ns) {
        self.state.now = now;
        self.update_speedups();
        let mut changes = std::mem::take(&mut self.changes);
        self.policy.refresh(&self.state, &mut changes);
        self.make(changes);
        for thread in &mut self.state.threads {
            thread.window.on_type.fill(OnType::default());
        }
        for core in self.state.machine.all().iter().filter(|core| self.state.core(*core).current.is_none()) {
            self.outbox.push_back(Action::Reschedule(core));
        }
    }

    /// A thread turned out to be of another kind: hosts may learn only from its name that it serves a runtime system.
    pub fn set_kind(&mut self, thread: ThreadId, kind: ThreadKind) {
        self.state.threads[thread.index()].kind = kind;
    }

    /// The program changed the scheduling parameters of a thread of its own.
    pub fn set_params(&mut self, now: Ns, thread: ThreadId, class: Class, cores: CoreSet, clamp: Clamp) {
        self.state.now = now;
        let queued = self.state.ready(thread);
        let (core, since) = (self.state.thread(thread).core, self.state.thread(thread).since);
        if queued {
            self.dequeue(thread, core);
        }
        let t = &mut self.state.threads[thread.index()];
        t.class = class;
        t.clamp = clamp;
        let affinity = *t.masks.affinity();
        self.state.allow(thread, cores, affinity);
        if queued {
            self.enqueue(thread, core);
            self.state.threads[thread.index()].since = since;
        }
        self.note(core);
        self.state.touch(thread);
        self.leave_forbidden_core(thread);
        self.give_way_to_real_time(thread);
    }

    /// A thread has become ready, begun to wait, or ended.
    fn turned(&mut self, thread: ThreadId) {
        let mut changes = std::mem::take(&mut self.changes);
        self.policy.turned(&self.state, thread, &mut changes);
        self.make(changes);
    }

    /// Makes a policy's changes.
    fn make(&mut self, mut changes: Changes) {
        for (thread, cores) in changes.affinities.drain(..) {
            self.set_affinity(thread, cores);
        }
        for (cluster, frequency) in changes.frequencies.drain(..) {
            self.set_frequency(cluster, frequency);
        }
        self.changes = changes;
    }

    fn may_run(&self, thread: ThreadId, core: CoreId) -> bool {
        self.state.thread(thread).may_run_on(core)
    }

    /// To be called when what runs on or waits for a core has changed.
    fn note(&mut self, core: CoreId) {
        if self.state.note(core) {
            self.list_idle(core);
        }
    }

    fn list_idle(&mut self, core: CoreId) {
        if !self.policy.balances_always() && self.idle_turns.misses(core) {
            self.idle_turns.put(core, fair::next_balance(&self.state, core));
        }
    }

    /// First steps of a new thread: counts as busy until its history says otherwise.
    fn begin(&mut self, thread: ThreadId) {
        if self.state.thread(thread).exited {
            self.renew(thread);
        }
        self.state.threads[thread.index()].load = Pelt::constant(pelt::FULL, self.state.now);
        let cores = self.policy.admit(&self.state, thread);
        self.state.threads[thread.index()].run = Run::Blocked(Wait::Sleep);
        self.set_affinity(thread, cores);
        self.state.touch(thread);
    }

    /// A thread that has exited begins again: a new one, of which only what its host has said is known.
    fn renew(&mut self, thread: ThreadId) {
        self.policy.forget(thread);
        let t = self.state.thread(thread);
        let (program, kind, class, on, clamp) = (t.program, t.kind, t.class, t.core, t.clamp);
        let (cores, affinity, future) = (*t.masks.requested(), *t.masks.affinity(), t.future);
        self.state.reintroduce(thread, &NewThread { program, kind, class, cores, on, clamp });
        // The host still has it where the policy allowed it last.
        self.state.allow(thread, cores, affinity);
        self.foretell(thread, future);
    }

    fn end_of_wait(&mut self, thread: ThreadId) {
        let now = self.state.now;
        let t = &mut self.state.threads[thread.index()];
        match t.run {
            Run::Blocked(on) => {
                t.load.update(now, false);
                if on == Wait::Futex {
                    t.contended += now.since(t.since);
                }
            }
            Run::Ready | Run::Running => t.load.update(now, true),
            Run::Absent => {}
        }
    }

    fn update_speedups(&mut self) {
        let Some(predict) = &self.predict else { return };
        for thread in &mut self.state.threads {
            let longest = (0..thread.window.on_type.len()).max_by_key(|on| thread.window.on_type[*on].time);
            let Some(on) = longest else { continue };
            if let Some(counters) = &thread.window.on_type[on].counters {
                thread.speedup = predict(CoreTypeId(on as u8), counters).or(thread.speedup);
            }
        }
    }

    fn set_affinity(&mut self, thread: ThreadId, cores: CoreSet) {
        let t = self.state.thread(thread);
        if !t.alive() || *t.masks.affinity() == cores {
            return;
        }
        let requested = *t.masks.requested();
        self.state.allow(thread, requested, cores);
        self.outbox.push_back(Action::Affinity { thread });
        self.leave_forbidden_core(thread);
    }
}

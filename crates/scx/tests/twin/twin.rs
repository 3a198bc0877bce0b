//! A policy that is two: what the scheduler core's decides is done, and what the kernel's would have decided is compared with it.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use evenkeel_model::predict::Quality;
use evenkeel_model::{CoreId, CoreSet, Machine, Ns, ThreadId};
use evenkeel_sched::policy::{Changes, Culprit, Pick, Standing};
use evenkeel_sched::{Description, Policy, Setup, Span, State, Why};

use crate::library::Library;
use crate::state::{slot, write, write_machine};

/// What was compared, and what was not the same.
#[derive(Default)]
pub struct Differences {
    pub compared: u64,
    pub different: Vec<String>,
}

pub struct Twin {
    inner: Box<dyn Policy>,
    setup: Setup,
    library: Arc<Library>,
    begun: bool,
    /// The thread that is back in its core's queue, which has not picked since.
    ran: Option<ThreadId>,
    found: Arc<Mutex<Differences>>,
}

const NO_CORE: u32 = u32::MAX;
/// Of `enum pick`.
const EXCHANGE: u64 = 3;

impl Twin {
    pub fn new(library: Arc<Library>, setup: &Setup, _machine: &Machine, found: Arc<Mutex<Differences>>) -> Self {
        library.begin();
        Self { inner: setup.make(), setup: setup.clone(), library, begun: false, ran: None, found }
    }

    fn write(&mut self, s: &State) {
        if !std::mem::replace(&mut self.begun, true) {
            write_machine(&self.library, s, &self.setup);
        }
        self.write_threads(s);
    }

    fn reads_usage(&self) -> bool {
        self.setup.description().in_kernel.is_some_and(|policy| policy.reads_usage)
    }

    /// In the kernel a thread that ran is queued after its core has picked.
    fn compare_next(&mut self, s: &State, core: CoreId, chosen: Pick) {
        let Some(ran) = self.ran.take().filter(|ran| s.core(core).queue.iter().any(|thread| thread == *ran)) else {
            return;
        };
        let queue = s.core(core).queue.iter().filter(|thread| *thread != ran);
        self.library.queue(core.index()).iter_mut().zip(queue).for_each(|(place, thread)| *place = slot(thread));
        self.library.core(core.index()).queued -= 1;
        let next = self.library.next(core.0.into(), slot(ran));
        self.compare(
            s,
            &format!("next on {core:?}, {ran:?} ran"),
            pick(chosen),
            pick(Pick::Queued(ThreadId(next - 1))),
        );
    }

    fn write_threads(&self, s: &State) {
        write(&self.library, s, self.reads_usage(), |thread| self.inner.standing(s, thread));
        if self.setup.description().name == "gts" {
            self.write_time_used(s);
        }
    }

    /// GTS turns use into time. In the kernel use counts a core by its capacity at its highest frequency.
    fn write_time_used(&self, s: &State) {
        for thread in s.living() {
            let t = s.thread(thread);
            let used = t.usage(s.now) * s.capacity(t.core) / s.capacity_now(t.core).max(1);
            self.library.thread(slot(thread)).usage.average = u64::from(used) << 10;
        }
    }

    /// What a wake-up counts of the thread that runs on a core, as closely as what it is charged: speedups are 1024ths there.
    fn compare_owes(&self, s: &State, running: ThreadId, core: CoreId) {
        let kernel = self.library.owes(slot(running), core.0.into());
        let owes = self.inner.owes(s, running, core);
        let near = owes.0.abs_diff(kernel) <= 1 + owes.0 / 500;
        self.compare(s, &format!("owes of {running:?}"), owes.0, if near { owes.0 } else { kernel });
    }

    /// Bias scheduling has a history of who ran on a core; the kernel searches all that are there. So it finds a pair wherever there is one in
    /// histories, and maybe another one.
    fn compare_exchange(&self, s: &State, core: CoreId, chosen: Pick, kernel: u64) {
        let right = is_exchange(kernel) && {
            let [here, there] = [kernel >> 48, kernel & 0xffff_ffff].map(|slot| ThreadId(slot as u32 - 1));
            let (own, other) = (s.thread(here).core, s.thread(there).core);
            let kind = |core: CoreId| s.machine.cores[core.index()].core_type;
            let may = |thread: ThreadId, core: CoreId| {
                s.thread(thread).runnable() && s.thread(thread).allowed().contains(core)
            };
            let dominance = |thread: ThreadId| self.inner.standing(s, thread).dominance;
            let stalls = dominance(here).is_some_and(|dominance| dominance > 1.0);
            let gains = dominance(there).is_some_and(|dominance| dominance < 1.0);
            own == core && kind(core) < kind(other) && may(here, other) && may(there, core) && stalls && gains
        };
        self.compare(s, &format!("exchange of {core:?} {chosen:?}, {kernel:#x} in the kernel"), true, right);
    }

    fn compare<T: PartialEq + Debug>(&self, s: &State, what: &str, core: T, kernel: T) {
        let mut found = self.found.lock().unwrap();
        found.compared += 1;
        if core != kernel {
            found
                .different
                .push(format!("{what} at {}: {core:?} by the scheduler core, {kernel:?} in the kernel", s.now));
        }
    }
}

fn is_exchange(kernel: u64) -> bool {
    kernel >> 32 & 0xffff == EXCHANGE
}

fn why(why: Why) -> u32 {
    match why {
        Why::New { .. } => 0,
        Why::Woken { .. } => 1,
        Why::Preempted => 2,
        Why::Yielded => 3,
        Why::Taken { .. } => 4,
    }
}

/// The slot of who woke or began a thread, or the core that takes it.
fn by(why: Why) -> u32 {
    match why {
        Why::New { by } | Why::Woken { by } => by.map_or(0, slot),
        Why::Taken { by } => by.0.into(),
        Why::Preempted | Why::Yielded => NO_CORE,
    }
}

fn pick(pick: Pick) -> u64 {
    let (kind, thread) = match pick {
        Pick::Idle => return 0,
        Pick::Queued(thread) => (1, thread),
        Pick::Running(thread) => (2, thread),
        Pick::Exchange { here, there } => (EXCHANGE | u64::from(slot(here)) << 16, there),
    };
    kind << 32 | u64::from(slot(thread))
}

impl Policy for Twin {
    fn description(&self) -> &'static Description {
        self.inner.description()
    }

    fn accepts(&self, machine: &Machine) -> Result<(), String> {
        self.inner.accepts(machine)
    }

    fn period(&self) -> Option<Ns> {
        self.inner.period()
    }

    fn predictor(&self) -> Quality {
        self.inner.predictor()
    }

    fn admit(&mut self, s: &State, thread: ThreadId) -> CoreSet {
        self.inner.admit(s, thread)
    }

    fn place(&mut self, s: &State, thread: ThreadId, reason: Why) -> CoreId {
        self.write(s);
        let kernel = self.library.place(slot(thread), why(reason), by(reason));
        let core = self.inner.place(s, thread, reason);
        self.compare(s, &format!("place of {thread:?}, {reason:?}"), u32::from(core.0), kernel);
        core
    }

    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        self.write(s);
        let kernel = self.library.pick(core.0.into());
        let chosen = self.inner.pick(s, core);
        self.compare(s, &format!("pick of {core:?} {chosen:?}"), pick(chosen), kernel);
        self.compare_next(s, core, chosen);
        chosen
    }

    fn slice(&self, s: &State, thread: ThreadId, core: CoreId) -> Ns {
        let slice = self.inner.slice(s, thread, core);
        if self.begun {
            self.write_threads(s);
            let kernel = self.library.slice(slot(thread), core.0.into());
            let near = slice.0.abs_diff(kernel) <= 1 + slice.0 / 500;
            self.compare(s, "slice", slice.0, if near { slice.0 } else { kernel });
        }
        slice
    }

    fn charge(&mut self, s: &State, thread: ThreadId, core: CoreId, ran: Ns) -> Ns {
        self.write(s);
        let kernel = self.library.charge(slot(thread), core.0.into(), ran.0);
        let charged = self.inner.charge(s, thread, core, ran);
        // Speedups are 1024ths there.
        let near = charged.0.abs_diff(kernel) <= 1 + charged.0 / 500;
        self.compare(s, "charge", charged.0, if near { charged.0 } else { kernel });
        self.library.thread(slot(thread)).progress += charged.0 as i64 - kernel as i64;
        charged
    }

    fn owes(&self, s: &State, running: ThreadId, core: CoreId) -> Ns {
        self.inner.owes(s, running, core)
    }

    fn enter(&mut self, s: &State, thread: ThreadId, core: CoreId, reason: Why) -> i64 {
        self.write(s);
        if let Some(running) = s.core(core).current {
            self.compare_owes(s, running, core);
        }
        let kernel = self.library.enter(slot(thread), core.0.into(), why(reason));
        let vruntime = self.inner.enter(s, thread, core, reason);
        self.ran = (reason == Why::Preempted).then_some(thread);
        let near = vruntime.abs_diff(kernel) <= 50_000;
        self.compare(s, &format!("enter, {reason:?}"), vruntime, if near { vruntime } else { kernel });
        vruntime
    }

    fn leave(&mut self, s: &State, thread: ThreadId) {
        self.inner.leave(s, thread);
    }

    fn arrive(&mut self, s: &State, thread: ThreadId, core: CoreId) {
        self.inner.arrive(s, thread, core);
    }

    fn expired(&self, s: &State, running: ThreadId, core: CoreId) -> bool {
        self.write_threads(s);
        let kernel = self.library.expired(slot(running), core.0.into());
        let expired = self.inner.expired(s, running, core);
        self.compare(s, "expired", expired, kernel);
        expired
    }

    fn ran(&mut self, s: &State, thread: ThreadId, core: CoreId, span: &Span) {
        self.inner.ran(s, thread, core, span);
    }

    fn preempts(&self, s: &State, woken: ThreadId, running: ThreadId, core: CoreId) -> bool {
        self.write_threads(s);
        self.compare_owes(s, running, core);
        let kernel = self.library.preempts(slot(woken), slot(running), core.0.into());
        let preempts = self.inner.preempts(s, woken, running, core);
        self.compare(s, "preempts", preempts, kernel);
        preempts
    }

    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        self.write(s);
        let kernel = self.library.balance(core.0.into());
        let chosen = self.inner.balance(s, core);
        let exchanges = matches!(chosen, Pick::Exchange { .. }) || is_exchange(kernel);
        if self.setup.description().name == "bias" && exchanges {
            self.compare_exchange(s, core, chosen, kernel);
            return chosen;
        }
        self.compare(s, &format!("balance of {core:?} {chosen:?}"), pick(chosen), kernel);
        chosen
    }

    fn culprit(&self) -> Culprit {
        self.inner.culprit()
    }

    fn balances_always(&self) -> bool {
        self.inner.balances_always()
    }

    fn turned(&mut self, s: &State, thread: ThreadId, changes: &mut Changes) {
        self.inner.turned(s, thread, changes);
    }

    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        self.inner.refresh(s, changes);
    }

    fn standing(&self, s: &State, thread: ThreadId) -> Standing {
        self.inner.standing(s, thread)
    }
}

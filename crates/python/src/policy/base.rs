//! The class that policies in Python extend: each hook as CFS has it.

use std::cell::Cell;

use evenkeel_model::Ns;
use evenkeel_sched::Policy as Scheduling;
use evenkeel_sched::policy::Overrides;
use evenkeel_sched::policy::parts::fair;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::adaptor::{MOST, shown};
use super::state::State;
use super::values::{Changes, Pick, Span, Why};
use crate::error::Error;
use crate::machine::{Machine, numbers};

/// A scheduling policy. A class that extends it overrides the hooks in which it differs; each of them is CFS otherwise, also by
/// `super()`. Threads and cores are numbers, times are in ns.
///
/// What a class says of itself: `name` (else that of the class); `reads`, which is `"nothing"`, `"speedups"` (predicted ones:
/// `s.speedup(thread)`) or `"stalls"` (counters); `foresight`, whether it must know the future (`s.thread(thread).future`); `guarantees`, some of `"takes-over"` (an idle big core takes over the thread of a
/// little one at once) and `"balances"` (a busy core takes over what waits for a busier one), which `evenkeel.conformance` checks.
///
/// `period` is asked anew after each `refresh`; `predictor`, `culprit`, `busy_factor`, `knows_capacities` and `balances_always` are
/// asked once, when a run begins.
///
/// Each run makes one of its own. The same calls must give the same decisions, or runs cannot be repeated: what is drawn comes from
/// a `random.Random(self.seed)` of its own.
///
/// A policy never assumes that its last decision was carried out: what it sees in a state is what the host reported.
#[pyclass(subclass, module = "evenkeel")]
pub struct Policy {
    /// The seed of its run, from `__init__` on; 0 for one that is made outside a run. A class may have another `seed` of its own.
    #[pyo3(get, set)]
    seed: Py<PyAny>,
}

thread_local! {
    /// The seed of the run for which this thread makes a policy.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// What `make` makes; policies among it are of a run with this seed. A policy may simulate others while it is made.
pub fn with_seed<T>(seed: u64, make: impl FnOnce() -> T) -> T {
    let before = SEED.replace(seed);
    let made = make();
    SEED.set(before);
    made
}

/// What no class overrides: its description, with its name, is made of what it says of itself.
const NO_HOOKS: [&str; 2] = ["description", "name"];

/// The hooks, by their names: all that the trait has.
pub fn hooks() -> impl Iterator<Item = &'static str> {
    let methods = <dyn Scheduling as Overrides>::METHODS.iter().copied();
    methods.filter(|method| !NO_HOOKS.contains(method))
}

/// What a policy says that the thread which runs on a core owes: here Python calls it, and it is not checked elsewhere.
fn owed(policy: &Bound<'_, Policy>, s: &Bound<'_, State>, running: u32, core: u16) -> PyResult<Ns> {
    let returned = policy.call_method1("owes", (s, running, core))?;
    match returned.extract::<u64>() {
        Ok(owes) if owes <= MOST as u64 => Ok(Ns(owes)),
        _ => {
            let (class, found) = (policy.get_type().name()?, shown(&returned));
            Err(Error::new_err(format!("{class}.owes returned {found}: expected a time in ns, at most 2**60")))
        }
    }
}

#[pymethods]
#[expect(unused_variables, reason = "Python shows their names")]
impl Policy {
    /// `__init__` of a class may take what it likes.
    #[new]
    #[pyo3(signature = (*args, **_kwargs))]
    fn new(args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Ok(Self { seed: SEED.get().into_py_any(args.py())? })
    }

    /// What it needs and a machine does not have, as the end of a sentence; `None` if it can schedule it.
    fn accepts(&self, machine: &Machine) -> Option<String> {
        None
    }

    /// The time from one `refresh` to the next; `None` if there is none.
    fn period(&self) -> Option<u64> {
        None
    }

    /// How good the predictor of speedups should be: `"best"`, `"second-best"` or `"inverted"`.
    fn predictor(&self) -> &'static str {
        "best"
    }

    /// Which threads are blamed for a wait: `"holders"`, where a lock or work was passed along each for the time that it had it, or `"waker"`, the one that
    /// ended it, for all of it.
    fn culprit(&self) -> &'static str {
        "holders"
    }

    /// The cores that a thread may use from its creation on.
    fn admit(&self, s: &State, thread: u32) -> PyResult<Vec<u16>> {
        Ok(numbers(s.get()?.machine.all()))
    }

    /// The core on which a thread that became ready is queued: one of those that it may run on.
    fn place(&self, s: &State, thread: u32, why: &Why) -> PyResult<u16> {
        Ok(fair::place(s.get()?, s.known_thread(thread)?, why.means()).0)
    }

    /// What a core without a thread runs next.
    fn pick(&self, s: &State, core: u16) -> PyResult<Option<Pick>> {
        Ok(Pick::of(fair::pick(s.get()?, s.known_core(core)?)))
    }

    /// How long a thread may run on a core while others wait for it.
    fn slice(&self, s: &State, thread: u32, core: u16) -> PyResult<u64> {
        Ok(fair::slice(s.get()?, s.known_thread(thread)?, s.known_core(core)?).0)
    }

    /// What a span of running on a core costs a thread in virtual time.
    fn charge(&self, s: &State, thread: u32, core: u16, ran: u64) -> PyResult<u64> {
        s.known_core(core)?;
        Ok(fair::charge(s.get()?, s.known_thread(thread)?, Ns(ran)).0)
    }

    /// What the thread that runs on a core is still to be charged, as `charge` will have it: wake-ups count it.
    fn owes(&self, s: &State, running: u32, core: u16) -> PyResult<u64> {
        s.known_core(core)?;
        Ok(fair::owes(s.get()?, s.known_thread(running)?).0)
    }

    /// The virtual time with which a thread joins those that wait for a core.
    fn enter(slf: &Bound<'_, Self>, s: &Bound<'_, State>, thread: u32, core: u16, why: &Why) -> PyResult<i64> {
        let running = s.get().get()?.core(s.get().known_core(core)?).current;
        let owes = running.map_or(Ok(Ns::ZERO), |running| owed(slf, s, running.0, core))?;
        let s = s.get();
        Ok(fair::enter(s.get()?, s.known_thread(thread)?, s.known_core(core)?, why.means(), owes))
    }

    /// A thread is about to leave the core that it runs on or waits for. Nothing to decide.
    fn leave(&self, s: &State, thread: u32) {}

    /// A thread was sent to a core, and counts as running there. Nothing to decide.
    fn arrive(&self, s: &State, thread: u32, core: u16) {}

    /// A thread has exited, and its number may become another one's: what is kept by thread begins anew.
    fn forget(&self, thread: u32) {}

    /// At a tick: whether the thread that runs on a core has had its turn while others wait. `stint` is what `slice` says.
    fn expired(slf: &Bound<'_, Self>, s: &Bound<'_, State>, running: u32, core: u16) -> PyResult<bool> {
        let slice: u64 = slf.call_method1("slice", (s, running, core))?.extract()?;
        let s = s.get();
        Ok(fair::expired(s.get()?, s.known_thread(running)?, s.known_core(core)?, Ns(slice)))
    }

    /// A thread ran for a span, and may still run: for policies that keep books of their own.
    fn ran(&self, s: &State, thread: u32, core: u16, span: &Span) {}

    /// Whether a woken thread, queued on the core, preempts the one that runs there.
    fn preempts(slf: &Bound<'_, Self>, s: &Bound<'_, State>, woken: u32, running: u32, core: u16) -> PyResult<bool> {
        let owes = owed(slf, s, running, core)?;
        let s = s.get();
        Ok(fair::preempts(s.get()?, s.known_thread(woken)?, s.known_thread(running)?, owes))
    }

    /// At a tick: a thread that this core should pull from another one. A running thread comes only if it is named at several ticks
    /// in a row, or in exchange, which is made at once.
    fn balance(&self, s: &State, core: u16) -> PyResult<Option<Pick>> {
        Ok(Pick::of(fair::balance(s.get()?, s.known_core(core)?)))
    }

    /// How much more rarely a busy core balances than an idle one.
    fn busy_factor(&self) -> u64 {
        fair::BUSY_FACTOR
    }

    /// Whether it knows what cores can do. If not, all count as able to do as much as the biggest.
    fn knows_capacities(&self) -> bool {
        true
    }

    /// Whether `balance` may name a thread for an idle core before the interval of one of its domains is over.
    fn balances_always(&self) -> bool {
        false
    }

    /// A thread has become ready, begun to wait, or ended: what cannot wait for the next `refresh`, and changes the same.
    fn turned(&self, s: &State, thread: u32, changes: &Changes) {}

    /// Once a period: sees what the threads did and changes where they may run, or how fast.
    fn refresh(&self, s: &State, changes: &Changes) {}

    /// What it thinks of a thread since the last `refresh`, which pages show: `"big"` or `"little"`, where it belongs, `"critical"`, others wait
    /// for it, or `"any"`. It changes nothing.
    fn standing(&self, s: &State, thread: u32) -> PyResult<&'static str> {
        s.known_thread(thread)?;
        Ok("any")
    }
}

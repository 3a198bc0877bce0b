//! A policy in Python as the scheduler's trait.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use evenkeel_model::predict::Quality;
use evenkeel_model::{CoreId, CoreSet, Machine, Ns, ThreadId};
use evenkeel_sched::policy::parts::fair;
use evenkeel_sched::policy::{
    self, Culprit, Description, Guarantee, Overrides, Pick as Choice, Reads, Standing, hooks,
};
use evenkeel_sched::{Policy as Scheduling, Run, Setup, Span as Ran, State as Scheduler, Why as Reason};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyTuple, PyType};

use super::base::{self, Policy};
use super::state::State;
use super::values::{Changes, Pick, Span, Why, blamed, cores, quality, standing};
use crate::error::Error;
use crate::machine::Machine as PyMachine;
use crate::work::Faults;

/// A policy by what makes one: a class that extends [`Policy`], or anything else that returns one when it is called. Exceptions
/// in its hooks go to `faults`.
///
/// # Errors
/// It makes no policy, or what that says of itself makes no sense.
pub fn setup(make: &Bound<'_, PyAny>, faults: &Faults) -> PyResult<Setup> {
    let made = made(make, 0)?;
    let description = describe(&made)?;
    warn_of_typing_mistakes(&made)?;
    let (make, faults) = (make.clone().unbind(), faults.clone());
    let setup = Setup::from(description).made_by(move |seed| -> Box<dyn Scheduling> {
        // Work that is to end asks Python nothing more, which might not come back.
        if faults.any() {
            return Box::new(policy::Cfs);
        }
        Python::attach(|py| {
            let made = || self::made(make.bind(py), seed).and_then(|made| Adaptor::new(description, &made, &faults));
            match faults.inside(py, made) {
                Ok(adaptor) => Box::new(adaptor) as Box<dyn Scheduling>,
                Err(error) => {
                    faults.set(error);
                    Box::new(policy::Cfs)
                }
            }
        })
    });
    Ok(setup)
}

/// A policy of a run with this seed.
fn made<'py>(make: &Bound<'py, PyAny>, seed: u64) -> PyResult<Bound<'py, Policy>> {
    if make.is_instance_of::<Policy>() {
        let class = make.get_type().name()?;
        return Err(Error::new_err(format!(
            "one {class} for all runs: expected the class, or a function that makes one, since each run needs its own"
        )));
    }
    let made = if make.is_callable() { base::with_seed(seed, || make.call0())? } else { make.clone() };
    made.cast_into::<Policy>().map_err(|error| {
        let found = error.into_inner().get_type().name().map(|name| name.to_string()).unwrap_or_default();
        Error::new_err(format!(
            "expected the name of a policy, a class that extends evenkeel.Policy, or a function that returns one; found {found}"
        ))
    })
}

/// What a policy says of itself. The scheduler keeps descriptions for ever, so each is made once.
fn describe(made: &Bound<'_, Policy>) -> PyResult<&'static Description> {
    static KNOWN: Mutex<Vec<&'static Description>> = Mutex::new(Vec::new());
    let class = made.get_type();
    let text = |attribute: &str| -> PyResult<Option<String>> {
        made.getattr_opt(attribute)?.map(|value| value.extract()).transpose()
    };
    let name = text("name")?.unwrap_or(class.name()?.to_string());
    if name.is_empty() || name.contains([',', ':', '=']) {
        return Err(Error::new_err(format!(
            "a policy called {name:?}: expected a name without \",\", \":\" and \"=\""
        )));
    }
    if policy::by_name(&name).is_some() {
        return Err(Error::new_err(format!(
            "a policy called {name:?}: one of Evenkeel's has this name, expected another"
        )));
    }
    let reads = match text("reads")?.as_deref() {
        None | Some("nothing") => Reads::Nothing,
        Some("speedups") => Reads::Speedups,
        Some("stalls") => Reads::Stalls { without: "it does what it does without counters" },
        Some(other) => {
            return Err(Error::new_err(format!("{name}.reads = {other:?}: expected nothing, speedups or stalls")));
        }
    };
    let foresight: bool = made.getattr_opt("foresight")?.map_or(Ok(false), |foresight| foresight.extract())?;
    let words: Vec<String> = made.getattr_opt("guarantees")?.map_or_else(|| Ok(Vec::new()), |words| words.extract())?;
    let guarantee = |word: &String| match word.as_str() {
        "takes-over" => Ok(Guarantee::TakesOver),
        "balances" => Ok(Guarantee::Balances),
        other => Err(Error::new_err(format!("{name}.guarantees has {other:?}: expected takes-over or balances"))),
    };
    let guarantees = words.iter().map(guarantee).collect::<PyResult<Vec<_>>>()?;
    let documented = class.getattr("__doc__")?.extract::<Option<String>>()?.unwrap_or_default();
    let summary = documented.trim().lines().next().unwrap_or("written in Python").to_owned();
    let overrides = overridden(&class)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let same = |known: &&&Description| {
        known.name == name
            && known.overrides == overrides
            && known.reads == reads
            && known.foresight == foresight
            && known.guarantees == guarantees
            && known.summary == summary
    };
    if let Some(known) = known.iter().find(same) {
        return Ok(known);
    }
    let description: &'static Description = Box::leak(Box::new(Description {
        name: Box::leak(name.into_boxed_str()),
        summary: Box::leak(summary.into_boxed_str()),
        source: "",
        overrides: Box::leak(overrides.into_boxed_slice()),
        knobs: &[],
        reads,
        foresight,
        guarantees: Box::leak(guarantees.into_boxed_slice()),
        in_kernel: None,
        make: |_| unreachable!("a policy in Python is made by its setup"),
    }));
    known.push(description);
    Ok(description)
}

/// The hooks that a class has of its own.
fn overridden(class: &Bound<'_, PyType>) -> PyResult<Vec<&'static str>> {
    let base = class.py().get_type::<Policy>();
    let own = |hook: &&'static str| -> PyResult<bool> { Ok(!class.getattr(*hook)?.is(&base.getattr(*hook)?)) };
    base::hooks().filter_map(|hook| own(&hook).map(|own| own.then_some(hook)).transpose()).collect()
}

/// Says which methods have the name of a hook but for a letter: they would never be called, and nothing else would tell.
fn warn_of_typing_mistakes(made: &Bound<'_, Policy>) -> PyResult<()> {
    let (py, class) = (made.py(), made.get_type());
    for name in made.dir()? {
        let name: String = name.extract()?;
        // One that begins so is not for others.
        if name.starts_with('_') {
            continue;
        }
        let meant = base::hooks().find(|hook| strsim::osa_distance(hook, &name) == 1);
        if let Some(hook) =
            meant.filter(|_| class.getattr_opt(&*name).is_ok_and(|found| found.is_some_and(|it| it.is_callable())))
        {
            let text = format!("{}.{name} is no hook, and is never called: did you mean {hook:?}?", class.name()?);
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(text)?, 1)?;
        }
    }
    Ok(())
}

/// A policy in Python.
struct Adaptor {
    description: &'static Description,
    overrides: BTreeSet<&'static str>,
    policy: Py<PyAny>,
    faults: Faults,
    machine: PyOnceLock<Py<PyMachine>>,
    period: Option<Ns>,
    busy_factor: u64,
    knows_capacities: bool,
    balances_always: bool,
    predictor: Quality,
    culprit: Culprit,
}

impl Adaptor {
    fn new(description: &'static Description, made: &Bound<'_, Policy>, faults: &Faults) -> PyResult<Self> {
        let period = period(made, description.name)?;
        let busy_factor: u64 = made.call_method0("busy_factor")?.extract()?;
        if busy_factor > NEVER {
            return Err(Error::new_err(format!(
                "{}.busy_factor() = {busy_factor}: expected at most {NEVER}",
                description.name
            )));
        }
        let predictor: String = made.call_method0("predictor")?.extract()?;
        let culprit: String = made.call_method0("culprit")?.extract()?;
        Ok(Self {
            description,
            overrides: description.overrides.iter().copied().collect(),
            policy: made.clone().into_any().unbind(),
            faults: faults.clone(),
            machine: PyOnceLock::new(),
            period,
            busy_factor,
            knows_capacities: made.call_method0("knows_capacities")?.extract()?,
            balances_always: made.call_method0("balances_always")?.extract()?,
            predictor: quality(&predictor)?,
            culprit: blamed(&culprit)?,
        })
    }

    /// When the next refresh is may depend on what the last one saw.
    fn ask_period(&mut self) {
        if !self.overrides.contains("period") || self.faults.any() {
            return;
        }
        let asked = Python::attach(|py| self.faults.inside(py, || period(self.policy.bind(py), self.description.name)));
        match asked {
            Ok(period) => self.period = period,
            Err(error) => self.faults.set(error),
        }
    }

    /// What a hook of Python's decides, or, if it has none of this name or an exception came up, what CFS does.
    fn decide<T>(
        &self,
        hook: &'static str,
        s: &Scheduler,
        call: impl FnOnce(Hook<'_, '_>) -> PyResult<T>,
        otherwise: impl FnOnce() -> T,
    ) -> T {
        if !self.overrides.contains(hook) || self.faults.any() {
            return otherwise();
        }
        let decided = Python::attach(|py| {
            let machine = self.machine.get_or_try_init(py, || Py::new(py, PyMachine::of(s.machine.clone())))?;
            self.faults.inside(py, || {
                State::lend(py, s, machine, |state| {
                    call(Hook { name: hook, policy: self.description.name, of: self.policy.bind(py), state })
                })
            })
        });
        decided.unwrap_or_else(|error| {
            self.faults.set(error);
            otherwise()
        })
    }
}

/// The most and, below zero, the least virtual time: differences of such times are numbers, too.
pub(super) const MOST: i64 = 1 << 60;

/// A busy core that balances so much more rarely than an idle one never does.
const NEVER: u64 = 1_000_000;

/// No scheduler decides more often.
const SHORTEST: Ns = Ns::from_us(10);

/// The time from one refresh to the next, as a policy says it now.
fn period(policy: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Ns>> {
    let period: Option<u64> = policy.call_method0("period")?.extract()?;
    if period.is_some_and(|period| Ns(period) < SHORTEST) {
        return Err(Error::new_err(format!("{name}.period() = {period:?}: expected None or at least 10 us")));
    }
    Ok(period.map(Ns))
}

/// A value as errors show it.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "?".into(), |repr| repr.to_string())
}

/// A call of a hook.
struct Hook<'a, 'py> {
    name: &'static str,
    policy: &'static str,
    of: &'a Bound<'py, PyAny>,
    state: &'a Bound<'py, State>,
}

impl<'py> Hook<'_, 'py> {
    fn py(&self) -> Python<'py> {
        self.of.py()
    }

    fn call(
        &self,
        arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = arguments.into_pyobject(self.py())?;
        let all = std::iter::once(self.state.clone().into_any()).chain(arguments.iter());
        self.of.call_method1(self.name, PyTuple::new(self.py(), all.collect::<Vec<_>>())?)
    }

    /// What a hook returned, if it is of the right type.
    fn read<T: for<'a> FromPyObject<'a, 'py>>(&self, returned: &Bound<'py, PyAny>, expected: &str) -> PyResult<T> {
        returned.extract().map_err(|_| self.wrong(&shown(returned), expected))
    }

    fn wrong(&self, found: &str, expected: &str) -> PyErr {
        Error::new_err(format!("{}.{} returned {found}: expected {expected}", self.policy, self.name))
    }

    /// A pick that can be carried out.
    fn pick(&self, s: &Scheduler, core: CoreId, exchanges: bool) -> PyResult<Choice> {
        let returned = self.call((core.0,))?;
        if returned.is_none() {
            return Ok(Choice::Idle);
        }
        let Ok(pick) = returned.cast::<Pick>() else {
            return Err(self.wrong(&shown(&returned), "a Pick or None"));
        };
        let pick = pick.get().means(s.core(core).current);
        let fits = |thread: ThreadId, run: &[Run]| {
            s.threads.get(thread.index()).is_some_and(|t| run.contains(&t.run) && t.may_run_on(core))
        };
        let (fine, expected) = match pick {
            Some(Choice::Queued(thread)) => {
                (fits(thread, &[Run::Ready]), "a thread that waits and may run on the core")
            }
            Some(Choice::Running(thread)) => (
                fits(thread, &[Run::Running]) && s.thread(thread).core != core,
                "a thread that runs on another core and may run on this one",
            ),
            Some(Choice::Exchange { here, there }) => {
                let core_of = |thread: ThreadId| s.thread(thread).core;
                let fine = exchanges
                    && fits(there, &[Run::Running, Run::Ready])
                    && core_of(there) != core
                    && s.thread(here).may_run_on(core_of(there));
                (fine, EXCHANGE)
            }
            Some(Choice::Idle) => (true, ""),
            None => (false, EXCHANGE),
        };
        match pick {
            Some(pick) if fine => Ok(pick),
            _ => Err(self.wrong(&format!("{} for core {}", shown(&returned), core.0), expected)),
        }
    }
}

/// What is said of an exchange that cannot be made.
const EXCHANGE: &str = "an exchange in balance only, of threads of two cores that may run on each other's";

// Each hook that there is gets to Python: of the trait's methods only `name`, which is the description's, is left to its default.
const _: () = assert!(<Adaptor as Overrides>::METHODS.len() + 1 == <dyn Scheduling as Overrides>::METHODS.len());

#[hooks]
impl Scheduling for Adaptor {
    fn description(&self) -> &'static Description {
        self.description
    }

    fn accepts(&self, machine: &Machine) -> Result<(), String> {
        if !self.overrides.contains("accepts") || self.faults.any() {
            return Ok(());
        }
        let refused = Python::attach(|py| -> PyResult<Option<String>> {
            let machine = Py::new(py, PyMachine::of(machine.clone()))?;
            self.faults.inside(py, || self.policy.bind(py).call_method1("accepts", (machine,))?.extract())
        });
        match refused {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(why),
            Err(error) => {
                let text = error.to_string();
                self.faults.set(error);
                Err(text)
            }
        }
    }

    fn period(&self) -> Option<Ns> {
        self.period
    }

    fn predictor(&self) -> Quality {
        self.predictor
    }

    fn culprit(&self) -> Culprit {
        self.culprit
    }

    fn admit(&mut self, s: &Scheduler, thread: ThreadId) -> CoreSet {
        let call = |hook: Hook<'_, '_>| {
            let expected = "a list of cores of the machine, at least one";
            let returned = hook.call((thread.0,))?;
            let given: Vec<u16> = hook.read(&returned, expected)?;
            cores(s, &given).ok_or_else(|| hook.wrong(&shown(&returned), expected))
        };
        self.decide("admit", s, call, || s.machine.all())
    }

    fn place(&mut self, s: &Scheduler, thread: ThreadId, why: Reason) -> CoreId {
        let call = |hook: Hook<'_, '_>| {
            let returned = hook.call((thread.0, Why::from(why)))?;
            let core = CoreId(hook.read(&returned, "the number of a core")?);
            if core.index() < s.cores.len() && s.thread(thread).may_run_on(core) {
                return Ok(core);
            }
            let allowed = crate::machine::numbers(s.thread(thread).allowed());
            Err(hook.wrong(&core.0.to_string(), &format!("one of {allowed:?}, where thread {} may run", thread.0)))
        };
        self.decide("place", s, call, || fair::place(s, thread, why))
    }

    fn pick(&mut self, s: &Scheduler, core: CoreId) -> Choice {
        self.decide("pick", s, |hook| hook.pick(s, core, false), || fair::pick(s, core))
    }

    fn slice(&self, s: &Scheduler, thread: ThreadId, core: CoreId) -> Ns {
        let call = |hook: Hook<'_, '_>| {
            let expected = "a time in ns, at least 10000";
            let returned = hook.call((thread.0, core.0))?;
            let slice = Ns(hook.read(&returned, expected)?);
            if slice >= SHORTEST { Ok(slice) } else { Err(hook.wrong(&slice.0.to_string(), expected)) }
        };
        self.decide("slice", s, call, || fair::slice(s, thread, core))
    }

    fn charge(&mut self, s: &Scheduler, thread: ThreadId, core: CoreId, ran: Ns) -> Ns {
        let call = |hook: Hook<'_, '_>| {
            let expected = "a time in ns, and at most 2**60 for all that a thread runs";
            let returned = hook.call((thread.0, core.0, ran.0))?;
            let charged: u64 = hook.read(&returned, expected)?;
            let after = i64::try_from(charged).ok().and_then(|ns| s.thread(thread).vruntime.checked_add(ns));
            let fine = after.is_some_and(|after| after <= MOST);
            if fine { Ok(Ns(charged)) } else { Err(hook.wrong(&shown(&returned), expected)) }
        };
        self.decide("charge", s, call, || fair::charge(s, thread, ran))
    }

    fn owes(&self, s: &Scheduler, running: ThreadId, core: CoreId) -> Ns {
        let call = |hook: Hook<'_, '_>| {
            let expected = "a time in ns, at most 2**60";
            let returned = hook.call((running.0, core.0))?;
            let owes: u64 = hook.read(&returned, expected)?;
            if owes <= MOST as u64 { Ok(Ns(owes)) } else { Err(hook.wrong(&owes.to_string(), expected)) }
        };
        self.decide("owes", s, call, || fair::owes(s, running))
    }

    fn enter(&mut self, s: &Scheduler, thread: ThreadId, core: CoreId, why: Reason) -> i64 {
        let call = |hook: Hook<'_, '_>| {
            let expected = "a virtual time in ns, from -2**60 to 2**60";
            let returned = hook.call((thread.0, core.0, Why::from(why)))?;
            let time: i64 = hook.read(&returned, expected)?;
            if (-MOST..=MOST).contains(&time) { Ok(time) } else { Err(hook.wrong(&time.to_string(), expected)) }
        };
        let owes = || s.core(core).current.map_or(Ns::ZERO, |running| self.owes(s, running, core));
        self.decide("enter", s, call, || fair::enter(s, thread, core, why, owes()))
    }

    fn leave(&mut self, s: &Scheduler, thread: ThreadId) {
        self.decide("leave", s, |hook| hook.call((thread.0,)).map(drop), || ());
    }

    fn arrive(&mut self, s: &Scheduler, thread: ThreadId, core: CoreId) {
        self.decide("arrive", s, |hook| hook.call((thread.0, core.0)).map(drop), || ());
    }

    fn forget(&mut self, thread: ThreadId) {
        if !self.overrides.contains("forget") || self.faults.any() {
            return;
        }
        let called = Python::attach(|py| {
            self.faults.inside(py, || self.policy.bind(py).call_method1("forget", (thread.0,)).map(drop))
        });
        called.unwrap_or_else(|error| self.faults.set(error));
    }

    fn expired(&self, s: &Scheduler, running: ThreadId, core: CoreId) -> bool {
        let call = |hook: Hook<'_, '_>| {
            let returned = hook.call((running.0, core.0))?;
            hook.read(&returned, "True or False")
        };
        self.decide("expired", s, call, || fair::expired(s, running, core, self.slice(s, running, core)))
    }

    fn ran(&mut self, s: &Scheduler, thread: ThreadId, core: CoreId, span: &Ran) {
        self.decide("ran", s, |hook| hook.call((thread.0, core.0, Span::from(span))).map(drop), || ());
    }

    fn preempts(&self, s: &Scheduler, woken: ThreadId, running: ThreadId, core: CoreId) -> bool {
        let call = |hook: Hook<'_, '_>| {
            let returned = hook.call((woken.0, running.0, core.0))?;
            hook.read(&returned, "True or False")
        };
        self.decide("preempts", s, call, || fair::preempts(s, woken, running, self.owes(s, running, core)))
    }

    fn balance(&mut self, s: &Scheduler, core: CoreId) -> Choice {
        self.decide("balance", s, |hook| hook.pick(s, core, true), || fair::balance(s, core))
    }

    fn busy_factor(&self) -> u64 {
        self.busy_factor
    }

    fn knows_capacities(&self) -> bool {
        self.knows_capacities
    }

    fn balances_always(&self) -> bool {
        self.balances_always
    }

    fn turned(&mut self, s: &Scheduler, thread: ThreadId, changes: &mut policy::Changes) {
        let call = |hook: Hook<'_, '_>| {
            let made = Bound::new(hook.py(), Changes::default())?;
            hook.call((thread.0, made.clone()))?;
            made.borrow().make(s, changes)
        };
        self.decide("turned", s, call, || ());
    }

    fn refresh(&mut self, s: &Scheduler, changes: &mut policy::Changes) {
        let call = |hook: Hook<'_, '_>| {
            let made = Bound::new(hook.py(), Changes::default())?;
            hook.call((made.clone(),))?;
            made.borrow().make(s, changes)
        };
        self.decide("refresh", s, call, || ());
        self.ask_period();
    }

    fn standing(&self, s: &Scheduler, thread: ThreadId) -> Standing {
        let call = |hook: Hook<'_, '_>| {
            let expected = "big, little, critical or any";
            let returned = hook.call((thread.0,))?;
            let word: String = hook.read(&returned, expected)?;
            standing(&word).ok_or_else(|| hook.wrong(&shown(&returned), expected))
        };
        self.decide("standing", s, call, Standing::default)
    }
}

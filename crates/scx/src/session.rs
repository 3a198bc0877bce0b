//! Taking a machine over, scheduling it, and giving it back.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use evenkeel_linux::host::Perf;
use evenkeel_linux::monitor::ThreadNow;
use evenkeel_linux::sample::PairWaits;
use evenkeel_linux::{clock, mask, realtime, wait};
use evenkeel_model::{Machine, Ns};
use evenkeel_sched::Setup;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::sched_setaffinity;

use crate::allowance::Allowance;
use crate::counting::Learnt;
use crate::host::{Driver, Figures, TICK};
use crate::inside::Inside;
use crate::kernel::Kernel;
use crate::moments::Moments;
use crate::observed::Observed;
use crate::pairs::Pairs;
use crate::speed::Speeds;
use crate::watched::{SharedPins, Watched};
use crate::{Bounds, Ended, Error};

/// How often it checks whether it is to end, which no user notices. Where nothing happens these are its only wake-ups.
pub(crate) const POLL: Ns = Ns::from_ms(50);

/// What is to be scheduled, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The machine.
    pub machine: Machine,
    /// The CPU that each of its cores is.
    pub cpus: Vec<u16>,
    /// The policy.
    pub policy: Setup,
    /// Where it decides.
    pub path: Path,
    /// Only threads of the kernel's class SCHED_EXT, not all.
    pub partial: bool,
    /// What happens when this process does not answer.
    pub bounds: Bounds,
    /// Whether to note which thread runs where when, for [`Session::observed`].
    pub timeline: bool,
}

#[cfg(test)]
impl Plan {
    /// `pfs` in the kernel on 2B2S, for tests that load nothing. CPUs 0 and 1 are big, 2 and 3 little.
    pub(crate) fn of_a_test(timeline: bool) -> Self {
        Self {
            machine: evenkeel_model::machines::by_name("2B2S").unwrap(),
            cpus: (0..4).collect(),
            policy: Setup::parse("pfs").unwrap(),
            path: Path::Kernel,
            partial: false,
            bounds: Bounds::default(),
            timeline,
        }
    }
}

/// Where decisions are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// In the kernel's part, for the policies that it has ([`Description::in_kernel`](evenkeel_sched::Description::in_kernel)).
    Kernel,
    /// In this process, for every policy.
    Process,
}

/// What the thread that decides has to do.
pub(crate) trait Turn {
    /// Schedules until then. Returns why the kernel has taken the machine back, if it has.
    fn run_until(&mut self, until: Ns) -> Result<Option<Ended>, Error>;

    fn figures(&self) -> Figures;

    /// What this machine cannot tell, and why: each thing by itself.
    fn missing(&self) -> Vec<String>;

    /// The threads that live, for those that watch.
    fn threads(&mut self) -> Vec<ThreadNow>;

    /// The threads that have ended since the last call, if the plan has a timeline.
    fn gone(&mut self) -> Vec<ThreadNow>;

    /// Which thread has waited for which so far, if the plan has a timeline.
    fn pairs(&self) -> Vec<PairWaits>;

    /// What has been measured of threads, for the policy that comes next.
    fn learnt(&self) -> Learnt;
}

/// What has been done.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// How often, and for how long.
    pub figures: Figures,
    /// The policies that have taken over in the middle, and when, in order.
    pub policies: Vec<(Ns, String)>,
    /// What this machine cannot tell the policies, and why.
    pub missing: Option<String>,
}

/// A machine that is scheduled, by a thread of its own, until this is dropped.
pub struct Session {
    over: Arc<AtomicBool>,
    told: Arc<Mutex<Account>>,
    thread: Option<JoinHandle<Result<Option<Ended>, Error>>>,
    pub(crate) pins: SharedPins,
    observed: Option<Observed>,
}

impl Session {
    /// Takes the machine over. The thread that decides comes before all that it schedules from then on.
    ///
    /// # Errors
    /// The kernel has no sched_ext, or another scheduler, or this user may not.
    pub fn start(plan: Plan) -> Result<Self, Error> {
        let (over, told) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Account::default())));
        let (begins, begun) = mpsc::channel();
        let (until, shared) = (Arc::clone(&over), Arc::clone(&told));
        let pins = SharedPins::default();
        let pinned = pins.clone();
        let (mut moments, read) = plan.timeline.then(Moments::new).unzip();
        let planned = plan.clone();
        let schedule = move || {
            let mut scheduling = match begin(&plan, Learnt::default()) {
                Ok(scheduling) => scheduling,
                Err(error) => {
                    let _ = begins.send(Some(error));
                    return Ok(None);
                }
            };
            let _ = begins.send(None);
            let mut watched = Watched::new(plan, pinned);
            while !until.load(Ordering::Relaxed) {
                let ended = scheduling.run_until(clock::clock() + POLL)?;
                note(&mut moments, &mut *scheduling, &watched);
                // Before a policy takes over and right after that: all counts begin anew then.
                scheduling = watched.obey(scheduling, ended.as_ref(), begin, |scheduling, takeovers| {
                    moments.iter_mut().for_each(|moments| moments.note_now(scheduling, takeovers));
                })?;
                note(&mut moments, &mut *scheduling, &watched);
                let account = watched.account(&*scheduling);
                watched.tell(&mut *scheduling, &account);
                if let Ok(mut shared) = shared.lock() {
                    *shared = account;
                }
                if ended.is_some() {
                    return Ok(ended);
                }
            }
            Ok(None)
        };
        let thread = thread::Builder::new().name("scheduler".into()).spawn(schedule).map_err(Error::Kernel)?;
        match begun.recv() {
            Ok(Some(error)) => Err(error),
            _ => {
                let observed = read.map(|read| Observed::new(&planned, clock::clock(), read));
                Ok(Self { over, told, thread: Some(thread), pins, observed })
            }
        }
    }

    /// What is seen of threads, if the plan has a timeline; `None` from the second call on. It outlasts the session, and is kept
    /// up to date by [`Self::follow`] or [`Observed::update`].
    pub fn observed(&mut self) -> Option<Observed> {
        self.observed.take()
    }

    /// What has been done so far.
    pub fn figures(&self) -> Figures {
        self.told.lock().map(|told| told.figures).unwrap_or_default()
    }

    /// The account so far.
    pub fn account(&self) -> Account {
        self.told.lock().map(|told| told.clone()).unwrap_or_default()
    }

    /// Whether the machine has been given back already; [`Self::finish`] says why.
    pub fn ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Gives the machine back. Returns what has been done, and why the kernel has taken the machine back before, if it has.
    ///
    /// # Errors
    /// Events were lost: what was decided from then on would have been wrong.
    pub fn finish(mut self) -> Result<(Account, Option<Ended>), Error> {
        let ended = self.join()?;
        Ok((self.account(), ended))
    }

    fn join(&mut self) -> Result<Option<Ended>, Error> {
        self.over.store(true, Ordering::Relaxed);
        let died = || Ok(Some(Ended { reason: "the thread that decides has died".into(), message: String::new() }));
        self.thread.take().map_or(Ok(None), |thread| thread.join().unwrap_or_else(|_| died()))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.join();
    }
}

/// Takes the machine over as planned, given what was learnt before.
pub(crate) fn begin(plan: &Plan, learnt: Learnt) -> Result<Box<dyn Turn>, Error> {
    Ok(match plan.path {
        Path::Kernel => Box::new(Inside::start(plan, learnt)?),
        Path::Process => Box::new(Scheduling::start(plan, learnt)?),
    })
}

fn note(moments: &mut Option<Moments>, scheduling: &mut dyn Turn, watched: &Watched) {
    if let Some(moments) = moments {
        moments.note(scheduling, watched.takeovers());
    }
}

/// From now on this thread comes before all that it schedules.
pub(crate) fn come_first(machine: &Machine, cpus: &[u16]) -> Result<(), Error> {
    // Those that write for others what was scheduled do so later.
    realtime::fifo_alone(0).map_err(Error::NoPriority)?;
    // Wake-ups may wait for this thread, and the kernel leaves it on whatever core it began: on little cores of a third of the
    // speed programs with barriers took two to three times as long. Where it may not, it stays where it is.
    let fastest = machine.big().iter().map(|core| cpus[core.index()]);
    let _ = sched_setaffinity(None, &mask::of(fastest));
    // What is decided must not wait for memory to be read from a disk. Without the right to it, it may.
    let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE);
    Ok(())
}

/// What the thread that decides has.
struct Scheduling {
    driver: Driver<Kernel>,
    allowance: Allowance,
    ticked: Ns,
    refreshed: Ns,
}

impl Scheduling {
    fn start(plan: &Plan, learnt: Learnt) -> Result<Self, Error> {
        let Plan { machine, cpus, policy, partial, bounds, timeline, .. } = plan;
        let types: Vec<u8> = machine.cores.iter().map(|core| core.core_type.0).collect();
        let kernel = Kernel::of(cpus, &types, bounds, *partial)?;
        come_first(machine, cpus)?;
        let now = clock::clock();
        let speeds = Speeds::of(cpus);
        let mut driver = Driver::new(kernel, machine.clone(), cpus.clone(), policy, speeds, now);
        driver.count_by(Box::new(Perf::of_this_machine()));
        driver.counting.remember(learnt);
        if *timeline {
            driver.gone.keep();
            driver.pairs = Some(Pairs::default());
        }
        driver.orders.take_over()?;
        let mut scheduling = Self { driver, allowance: Allowance::new(now), ticked: now, refreshed: now };
        // Until something has been heard cores help themselves.
        scheduling.run_until(now)?;
        scheduling.driver.counting.forget();
        Ok(scheduling)
    }

    /// How long nothing has to be done, if nothing happens.
    fn pause(&self, now: Ns) -> Ns {
        if !self.driver.busy() {
            return POLL;
        }
        let due = |last: Ns, period: Ns| Ns(period.0.saturating_sub(now.since(last).0));
        let refresh = self.driver.period().map_or(TICK, |period| due(self.refreshed, period));
        due(self.ticked, TICK).min(refresh)
    }
}

impl Turn for Scheduling {
    fn run_until(&mut self, until: Ns) -> Result<Option<Ended>, Error> {
        loop {
            let now = clock::clock();
            for event in self.driver.orders.events() {
                self.driver.hear(&event);
            }
            if now.since(self.ticked) >= TICK {
                self.ticked = now;
                self.driver.tick(now);
            }
            if self.driver.period().is_some_and(|period| now.since(self.refreshed) >= period) {
                self.refreshed = now;
                self.driver.refresh(now);
            }
            self.driver.tell();
            let ended = self.driver.orders.heard(now)?;
            if let Some(rest) = self.allowance.worked(now, clock::clock()) {
                let _ = wait::poll(&[], rest);
            }
            if ended.is_some() || now >= until {
                return Ok(ended);
            }
            let now = clock::clock();
            let rest = until.since(now).min(self.pause(now));
            // A signal ends the wait, too.
            let _ = wait::poll(&[self.driver.orders.ready().as_fd()], rest);
        }
    }

    fn figures(&self) -> Figures {
        Figures { taken_late: self.driver.orders.taken_late(), ..self.driver.figures() }
    }

    fn missing(&self) -> Vec<String> {
        self.driver.missing().into_iter().collect()
    }

    fn threads(&mut self) -> Vec<ThreadNow> {
        self.driver.threads(clock::clock())
    }

    fn gone(&mut self) -> Vec<ThreadNow> {
        self.driver.gone.take()
    }

    fn pairs(&self) -> Vec<PairWaits> {
        self.driver.pairs.as_ref().map(Pairs::all).unwrap_or_default()
    }

    fn learnt(&self) -> Learnt {
        self.driver.learnt()
    }
}

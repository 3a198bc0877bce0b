//! What happens on cores that differ: the techniques of the paper, carried out on a stock kernel.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use evenkeel_model::stealing::{Active, Techniques, Waiting};
use evenkeel_model::{CoreTypeId, Ns};

use super::accounts::Accounts;
use super::activity::{Activities, Activity, Failures};
use super::placement::{Exchange, Placement, PoolCore};
use super::turns::{Progress, TaskSample, Turns};
use super::voltages::{Change, Load, Voltages};
use crate::affinity::Mask;
use crate::clock;
use crate::missing::Missing;
use crate::sync::lock_std as lock;

/// How long it takes until a mugged task runs on the bigger core. A worker searches for tasks for that long before it mugs: by then the rest of the
/// task is probably worth it (as with spinning before sleeping). Measured by `bench/src/bin/asymmetric.rs`: 40 to 90 us in a virtual machine.
const EXCHANGE: Ns = Ns::from_us(50);
/// For so many failed searches a worker on a smaller core leaves tasks to one that waits on a bigger core. If that one has not come by then the kernel runs
/// another thread on its core, and a task should not wait for it. `assumed`, not measured.
const LEAVES: u32 = 16;

/// True for as long as an exchange takes, from the first call on: waiting at most doubles the cost.
fn for_an_exchange() -> impl FnMut() -> bool {
    let mut until = None;
    move || {
        std::hint::spin_loop();
        let now = clock::now();
        now < *until.get_or_insert(now + EXCHANGE)
    }
}

/// Workers that are bound to cores which differ.
pub(crate) struct Uneven {
    techniques: Techniques,
    placement: Placement,
    voltages: Option<Voltages>,
    /// The speed of each core type, 1 for the biggest.
    speeds: Vec<f64>,
    turns: Turns,
    /// See [`Self::serial`].
    serial: AtomicBool,
    /// What has turned out to be missing.
    missing: Mutex<Vec<Missing>>,
    on_missing: Option<fn(&Missing)>,
}

impl Uneven {
    /// No thread is bound yet.
    pub fn new(
        techniques: Techniques,
        placement: Placement,
        speeds: Vec<f64>,
        voltages: Option<Voltages>,
        on_missing: Option<fn(&Missing)>,
    ) -> Self {
        Self {
            techniques,
            placement,
            voltages,
            speeds,
            turns: Turns::default(),
            serial: AtomicBool::new(false),
            missing: Mutex::new(Vec::new()),
            on_missing,
        }
    }

    /// Whether tasks are mugged.
    pub fn mugs(&self) -> bool {
        self.techniques.mugging
    }

    /// Whether frequencies follow activity.
    pub fn scales(&self) -> bool {
        self.voltages.is_some()
    }

    /// See [`super::Asymmetry::sample`].
    pub fn sample(
        &self,
        turns: bool,
        activities: &Activities,
        marks: impl Fn(usize) -> (isize, isize, u64),
        more: impl Fn() -> bool,
        accounts: Option<&Accounts>,
    ) {
        let mut progress = Progress::new(self.speeds.clone());
        let mut last = clock::now();
        let mut sampled = false;
        // The last task may have ended since the sample, and a rest may be long: what that has made lower is set before. A task that begins meanwhile
        // ends the rest.
        let any_active = |sampled: bool| {
            let any = activities.all(Activity::Active).next().is_some();
            if sampled && !any {
                self.follow(Change::All, activities);
            }
            any
        };
        while self.turns.wait(|| any_active(sampled)) {
            sampled = true;
            self.follow(Change::All, activities);
            if !turns {
                continue;
            }
            let now = clock::now();
            let sample = |worker| TaskSample {
                active: activities.get(worker) == Activity::Active,
                kind: self.kind(worker),
                marks: marks(worker),
            };
            let samples: Vec<TaskSample> = (0..self.placement.workers()).map(sample).collect();
            let turn = progress.sample(samples, now.since(last));
            last = now;
            // A worker that waits takes one of the other tasks, or mugs.
            let Some((behind, ahead)) = turn.filter(|_| !more()) else { continue };
            if self.bigger_that_could_mug(behind, activities).is_some() {
                continue;
            }
            let both = || [behind, ahead].iter().all(|worker| activities.get(*worker) == Activity::Active);
            self.placement.exchange(behind, ahead, both, || {
                if let Some(accounts) = accounts {
                    accounts.turns(behind);
                    // One may have ended its task while it was moved.
                    self.note([behind, ahead], activities, accounts);
                }
                self.follow(Change::Up, activities);
            });
        }
    }

    /// Ends the turns.
    pub fn stop(&self) {
        self.turns.end();
    }

    /// A worker does something else now.
    pub fn changed(&self, activity: Activity, activities: &Activities) {
        if activity == Activity::Active {
            self.turns.begin();
        }
        self.follow(Change::Up, activities);
    }

    /// Whether what the first worker runs from now on is the program's own code, and not a task that it has found while it waits for a parallel region. With all
    /// others idle that is a serial part of the program (III.C), inside `install` as well. Returns what it was; false for all other workers.
    pub fn serial(&self, worker: usize, serial: bool) -> bool {
        worker == 0 && self.serial.swap(serial, SeqCst)
    }

    /// See [`super::Asymmetry::arrive`]. The first worker runs the serial parts of the program, so it belongs on a big core.
    pub fn arrive(&self, worker: usize, activities: &Activities, accounts: Option<&Accounts>) -> Option<Mask> {
        self.placement.arrive(worker, || {
            if worker == 0 {
                // No retry: it already retried before it left.
                self.go_home(activities, accounts, || false);
            }
        })
    }

    /// The first worker, if it is on a small core, changes with one on a big core that has nothing to run (III.B: it mugs any big core).
    ///
    /// After a parallel region of the simulated workers all others have nothing to run. Here another thread may use the pool, and a task of that one keeps
    /// its core. A worker that has just ended its task counts as active until it has failed twice, so this retries for as long as `retry` says.
    pub fn go_home(&self, activities: &Activities, accounts: Option<&Accounts>, mut retry: impl FnMut() -> bool) {
        const FIRST: usize = 0;
        let home = |activity| {
            let others = activities.all(activity).map(|worker| Waiting { worker, core_type: self.kind(worker) });
            self.techniques.home(self.kind(FIRST), others)
        };
        loop {
            match home(Activity::Waiting) {
                Some(other) => {
                    let note = || {
                        if let Some(accounts) = accounts {
                            self.note([FIRST, other], activities, accounts);
                        }
                    };
                    match self.placement.exchange(FIRST, other, || activities.get(other) == Activity::Waiting, note) {
                        Exchange::Done | Exchange::Refused => return,
                        Exchange::Stale => {}
                    }
                }
                None if home(Activity::Active).is_none() => return,
                None => {}
            }
            if !retry() {
                return;
            }
        }
    }

    /// Notes what two workers do that have exchanged their cores.
    fn note(&self, exchanged: [usize; 2], activities: &Activities, accounts: &Accounts) {
        for worker in exchanged {
            accounts.note(worker, || (activities.get(worker), self.core(worker)));
        }
    }

    /// See [`super::Asymmetry::leave`].
    pub fn leave(&self, worker: usize, mask: &[u16], activities: &Activities, accounts: Option<&Accounts>) {
        if worker == 0 {
            self.go_home(activities, accounts, for_an_exchange());
        }
        self.placement.leave(worker, mask);
    }

    /// See [`super::Asymmetry::holds_back`].
    pub fn holds_back(&self, worker: usize, failed: u32, activities: &Activities) -> Option<usize> {
        let waiting = || {
            activities.all(Activity::Waiting).filter(|other| *other != worker && self.has_its_core(*other, activities))
        };
        if failed >= LEAVES || self.techniques.may_steal(self.kind(worker), waiting().map(|other| self.kind(other))) {
            return None;
        }
        waiting().min_by_key(|other| self.kind(*other))
    }

    /// See [`super::Asymmetry::failed`].
    pub fn mug(
        &self,
        mugger: usize,
        failures: &mut Failures,
        activities: &Activities,
        tasks: impl Fn(usize) -> usize,
        away: impl FnOnce() -> bool,
        accounts: Option<&Accounts>,
    ) -> bool {
        let active = |worker| Active { worker, core_type: self.kind(worker), load: tasks(worker) };
        let muggee =
            self.techniques.muggee(self.kind(mugger), failures.failed, activities.all(Activity::Active).map(active));
        let Some(muggee) = muggee.filter(|_| self.has_its_core(mugger, activities)) else {
            failures.since = None;
            return false;
        };
        let now = clock::now();
        if now.since(*failures.since.get_or_insert(now)) < EXCHANGE {
            return true;
        }
        failures.since = None;
        let still = || activities.get(muggee) == Activity::Active && self.has_its_core(mugger, activities) && away();
        let exchanged = self.placement.exchange(muggee, mugger, still, || {
            if let Some(accounts) = accounts {
                accounts.mugs(mugger);
                self.note([muggee, mugger], activities, accounts);
            }
            self.follow(Change::Up, activities);
        });
        exchanged != Exchange::Refused
    }

    /// The worker that waits on the biggest core above a worker's, if mugging is on.
    pub fn bigger_that_could_mug(&self, worker: usize, activities: &Activities) -> Option<usize> {
        if !self.techniques.mugging {
            return None;
        }
        activities
            .all(Activity::Waiting)
            .filter(|other| self.kind(*other) < self.kind(worker) && self.has_its_core(*other, activities))
            .min_by_key(|other| self.kind(*other))
    }

    /// Whether no other worker has a task on this one's core. One that waits beside a task has no core to offer.
    pub fn has_its_core(&self, worker: usize, activities: &Activities) -> bool {
        let cpu = self.core(worker).cpu;
        let elsewhere = |other: usize| other == worker || self.core(other).cpu != cpu;
        !self.placement.shares_cores() || activities.all(Activity::Active).all(elsewhere)
    }

    /// Sets voltages for what workers do now.
    pub(super) fn follow(&self, change: Change, activities: &Activities) {
        let Some(voltages) = &self.voltages else { return };
        let loads = || {
            let threads = self.placement.threads();
            let load = |(worker, thread): (usize, _)| {
                let core = self.core(worker);
                let active = activities.get(worker) == Activity::Active;
                let serial = worker == 0 && self.serial.load(SeqCst);
                Load { cpu: core.cpu, kind: core.kind, thread, active, serial }
            };
            threads.into_iter().enumerate().map(load).collect()
        };
        if let Err(error) = voltages.follow(change, loads) {
            let missing = Missing::frequencies(&error.to_string());
            if let Some(on_missing) = self.on_missing {
                on_missing(&missing);
            }
            lock(&self.missing).push(missing);
        }
    }

    /// Exchanges two workers without a reason.
    #[cfg(all(test, not(loom)))]
    pub fn exchange(&self, gains: usize, loses: usize) -> Exchange {
        self.placement.exchange(gains, loses, || true, || ())
    }

    /// What has turned out to be missing since the pool was made.
    pub fn missing(&self) -> Vec<Missing> {
        lock(&self.missing).clone()
    }

    /// The core that a worker is on.
    pub fn core(&self, worker: usize) -> PoolCore {
        self.placement.core(worker)
    }

    /// The type of the core that a worker is on.
    pub fn kind(&self, worker: usize) -> CoreTypeId {
        self.placement.kind(worker)
    }

    /// How far a thief's core is from another worker's.
    pub fn distance(&self, thief: usize, worker: usize) -> usize {
        self.placement.distance(thief, worker)
    }
}

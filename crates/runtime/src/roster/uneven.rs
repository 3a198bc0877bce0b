//! What happens on cores that differ: the techniques of the paper, carried out on a stock kernel.

use std::sync::Mutex;

use evenkeel_model::stealing::{Active, Techniques, Waiting};
use evenkeel_model::{CoreTypeId, Ns};

use super::affinity::Mask;
use super::places::{Exchange, Places, Seat};
use super::turns::{Look, Progress, Turns};
use super::voltages::{Load, Voltages};
use super::{Books, Doing, Hints, Patience, lock};
use crate::clock;
use crate::missing::Missing;

/// How long it takes until a task that is taken over runs on the bigger core, so how long a worker looks for work before it mugs: what is left of the task
/// is by then more likely than not to be worth it (as with spinning before sleeping). Measured by `bench/src/bin/asymmetric.rs`: 40 to 90 us in a
/// virtual machine.
const EXCHANGE: Ns = Ns::from_us(50);
/// So many failed searches long a smaller core leaves work to a bigger one that waits. One that does not come by then is kept from it, by the kernel or by a
/// task of somebody else on its core, and work that nobody does helps nobody.
const LEAVES: u32 = 16;

/// Patience for as long as an exchange takes, from the first question on: waiting costs at most as much again as what it is for.
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
    places: Places,
    voltages: Option<Voltages>,
    /// The speed of each core type, 1 for the biggest.
    speeds: Vec<f64>,
    turns: Turns,
    /// What has turned out to be missing.
    missing: Mutex<Vec<Missing>>,
    told: Option<fn(&Missing)>,
}

impl Uneven {
    /// Nothing is bound yet.
    pub fn new(
        techniques: Techniques,
        places: Places,
        speeds: Vec<f64>,
        voltages: Option<Voltages>,
        told: Option<fn(&Missing)>,
    ) -> Self {
        Self { techniques, places, voltages, speeds, turns: Turns::default(), missing: Mutex::new(Vec::new()), told }
    }

    /// Whether tasks are mugged.
    pub fn mugs(&self) -> bool {
        self.techniques.mugging
    }

    /// See [`super::Roster::take_turns`].
    pub fn take_turns(
        &self,
        hints: &Hints,
        marks: impl Fn(usize) -> (isize, isize, u64),
        more: impl Fn() -> bool,
        books: Option<&Books>,
    ) {
        let mut progress = Progress::new(self.speeds.clone());
        let mut last = clock::now();
        while self.turns.wait(|| hints.all(Doing::Active).next().is_some()) {
            let now = clock::now();
            let look = |worker| Look {
                active: hints.get(worker) == Doing::Active,
                kind: self.kind(worker),
                marks: marks(worker),
            };
            let looks: Vec<Look> = (0..self.places.workers()).map(look).collect();
            let turn = progress.look(looks, now.since(last));
            last = now;
            // Who waits takes a task, or mugs.
            let Some((behind, ahead)) = turn.filter(|_| !more()) else { continue };
            if self.who_could_mug(behind, hints).is_some() {
                continue;
            }
            let both = || [behind, ahead].iter().all(|worker| hints.get(*worker) == Doing::Active);
            self.places.exchange(behind, ahead, both, || {
                if let Some(books) = books {
                    books.turns(behind);
                    books.note(behind, Doing::Active, self.seat(behind));
                    books.note(ahead, Doing::Active, self.seat(ahead));
                }
                self.follow(hints);
            });
        }
    }

    /// Ends the turns.
    pub fn stop(&self) {
        self.turns.end();
    }

    /// A worker does something else now.
    pub fn turned(&self, doing: Doing, hints: &Hints) {
        if doing == Doing::Active {
            self.turns.begin();
        }
        self.follow(hints);
    }

    /// See [`super::Roster::arrive`]. The first worker goes on with the program after a parallel region, and before it: it belongs on a big core.
    pub fn arrive(&self, worker: usize, hints: &Hints, books: Option<&Books>) -> Option<Mask> {
        self.places.arrive(worker, || {
            if worker == 0 {
                // It was patient when it left.
                self.go_home(hints, books, || false);
            }
        })
    }

    /// The first worker, if it is on a small core, changes with one on a big core that has nothing to run (III.B: it mugs any big core).
    ///
    /// After a parallel region of the simulated workers that is everybody. Here another thread may have the pool work for it, and a task of that one keeps
    /// its core. Who has a task and who has just ended one and not failed twice yet look alike, so it looks again for as long as it is `patient`.
    pub fn go_home(&self, hints: &Hints, books: Option<&Books>, mut patient: impl FnMut() -> bool) {
        const FIRST: usize = 0;
        let home = |doing| {
            let others = hints.all(doing).map(|worker| Waiting { worker, core_type: self.kind(worker) });
            self.techniques.home(self.kind(FIRST), others)
        };
        loop {
            match home(Doing::Waiting) {
                Some(other) => {
                    let note = || {
                        if let Some(books) = books {
                            books.note(FIRST, hints.get(FIRST), self.seat(FIRST));
                            books.note(other, hints.get(other), self.seat(other));
                        }
                    };
                    match self.places.exchange(FIRST, other, || hints.get(other) == Doing::Waiting, note) {
                        Exchange::Done | Exchange::Refused => return,
                        Exchange::Stale => {}
                    }
                }
                None if home(Doing::Active).is_none() => return,
                None => {}
            }
            if !patient() {
                return;
            }
        }
    }

    /// See [`super::Roster::leave`].
    pub fn leave(&self, worker: usize, mask: &[u16], hints: &Hints, books: Option<&Books>) {
        if worker == 0 {
            self.go_home(hints, books, for_an_exchange());
        }
        self.places.leave(worker, mask);
    }

    /// See [`super::Roster::holds_back`].
    pub fn holds_back(&self, worker: usize, failed: u32, hints: &Hints) -> Option<usize> {
        let waiting = || hints.all(Doing::Waiting).filter(|other| *other != worker);
        if failed >= LEAVES || self.techniques.may_steal(self.kind(worker), waiting().map(|other| self.kind(other))) {
            return None;
        }
        waiting().min_by_key(|other| self.kind(*other))
    }

    /// See [`super::Roster::failed`].
    pub fn mug(
        &self,
        mugger: usize,
        patience: &mut Patience,
        hints: &Hints,
        tasks: impl Fn(usize) -> usize,
        away: impl FnOnce() -> bool,
        books: Option<&Books>,
    ) -> bool {
        let active = |worker| Active { worker, core_type: self.kind(worker), load: tasks(worker) };
        let muggee = self.techniques.muggee(self.kind(mugger), patience.failed, hints.all(Doing::Active).map(active));
        let Some(muggee) = muggee else {
            patience.since = None;
            return false;
        };
        let now = clock::now();
        if now.since(*patience.since.get_or_insert(now)) < EXCHANGE {
            return true;
        }
        patience.since = None;
        let still = || hints.get(muggee) == Doing::Active && away();
        let exchanged = self.places.exchange(muggee, mugger, still, || {
            if let Some(books) = books {
                books.mugs(mugger);
                books.note(muggee, hints.get(muggee), self.seat(muggee));
                books.note(mugger, hints.get(mugger), self.seat(mugger));
            }
            self.follow(hints);
        });
        exchanged != Exchange::Refused
    }

    /// Somebody who waits on a bigger core than a worker's, if mugging is on.
    pub fn who_could_mug(&self, worker: usize, hints: &Hints) -> Option<usize> {
        if !self.techniques.mugging {
            return None;
        }
        hints
            .all(Doing::Waiting)
            .filter(|other| self.kind(*other) < self.kind(worker))
            .min_by_key(|other| self.kind(*other))
    }

    /// Sets voltages for what is going on.
    fn follow(&self, hints: &Hints) {
        let Some(voltages) = &self.voltages else { return };
        let loads = || {
            let threads = self.places.threads();
            let load = |(worker, thread): (usize, _)| {
                let seat = self.seat(worker);
                Load { cpu: seat.cpu, kind: seat.kind, thread, active: hints.get(worker) == Doing::Active }
            };
            threads.into_iter().enumerate().map(load).collect()
        };
        if let Err(error) = voltages.follow(loads) {
            let missing = Missing::frequencies(&error.to_string());
            if let Some(tell) = self.told {
                tell(&missing);
            }
            lock(&self.missing).push(missing);
        }
    }

    /// An exchange that nobody decided.
    #[cfg(all(test, not(loom)))]
    pub fn exchange(&self, gains: usize, loses: usize) -> Exchange {
        self.places.exchange(gains, loses, || true, || ())
    }

    /// What has turned out to be missing since the pool was made.
    pub fn missing(&self) -> Vec<Missing> {
        lock(&self.missing).clone()
    }

    /// The core that a worker is on.
    pub fn seat(&self, worker: usize) -> Seat {
        self.places.seat(worker)
    }

    /// The type of the core that a worker is on.
    pub fn kind(&self, worker: usize) -> CoreTypeId {
        self.places.kind(worker)
    }

    /// How far a thief's core is from another worker's.
    pub fn distance(&self, thief: usize, worker: usize) -> usize {
        self.places.distance(thief, worker)
    }
}

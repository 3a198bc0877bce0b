//! Which core each worker is on. On a stock kernel a thread cannot hand its registers to another core, as the paper's mug instruction does (III.B), so
//! two workers exchange cores instead: the task stays in its thread, and its thread moves.

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, TryLockError};
use std::thread;

use crossbeam_utils::CachePadded;
use evenkeel_model::CoreTypeId;
use evenkeel_topology::Topology;

use super::affinity::{Affinity, Mask, Tid, own};
use super::lock;

/// A core as the pool knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    /// The CPU's number.
    pub cpu: u16,
    /// Its type, 0 the biggest.
    pub kind: CoreTypeId,
    /// What it is in, the largest first: node, cluster, core. Cores are the nearer the more of these they have in common.
    inside: [u16; 3],
}

/// What became of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// It was done.
    Done,
    /// It would not be what was meant any more, or somebody else is being moved at the moment.
    Stale,
    /// One of them cannot be moved: the kernel refuses, or its thread could not be bound when it came.
    Refused,
}

/// The table of workers and cores.
pub(crate) struct Places {
    seats: Vec<Seat>,
    /// The position of each worker's core among the seats. Changed under `moving` only; read without it, by whoever can do with an answer that was true a
    /// moment ago.
    seat_of: Box<[CachePadded<AtomicUsize>]>,
    /// The thread that is each worker, while there is one. Nobody is moved without this lock, so a worker is in one exchange at a time, and none is moved after
    /// it has left.
    moving: Mutex<Vec<Option<Tid>>>,
    affinity: Box<dyn Affinity>,
}

impl Seat {
    /// The cores of a machine in the order in which workers take them: the biggest first, and of each core all but one hardware thread last.
    pub fn all(topology: &Topology) -> Vec<Self> {
        let mut cpus: Vec<_> = topology.cpus.iter().collect();
        cpus.sort_by_key(|cpu| (cpu.kind, cpu.siblings.first() != Some(&cpu.id), cpu.id));
        let seat = |cpu: &evenkeel_topology::Cpu| Seat {
            cpu: cpu.id,
            kind: CoreTypeId(u8::try_from(cpu.kind).unwrap_or(u8::MAX)),
            inside: [cpu.node, cpu.cluster as u16, cpu.siblings.first().copied().unwrap_or(cpu.id)],
        };
        cpus.into_iter().map(seat).collect()
    }

    /// A CPU that is nowhere.
    pub fn at(cpu: u16, kind: CoreTypeId) -> Self {
        Self { cpu, kind, inside: [0; 3] }
    }

    /// How far apart two cores are: 0 for hardware threads of one core, then a cluster, a memory node, and what lies between these.
    fn distance(&self, other: &Self) -> usize {
        let common = self.inside.iter().zip(&other.inside).take_while(|(own, other)| own == other).count();
        self.inside.len() - common
    }
}

impl Places {
    /// So many workers on these cores, from the first on; more workers than cores share some. There must be a seat.
    pub fn new(seats: Vec<Seat>, workers: usize, affinity: Box<dyn Affinity>) -> Self {
        let seat_of = (0..workers).map(|worker| CachePadded::new(AtomicUsize::new(worker % seats.len()))).collect();
        Self { seats, seat_of, moving: Mutex::new(vec![None; workers]), affinity }
    }

    /// Tries every core with a thread that is gone afterwards.
    ///
    /// # Errors
    /// A core that the kernel does not let this process use, or no thread.
    pub fn try_all(&self) -> io::Result<()> {
        let each = || self.seats.iter().try_for_each(|seat| self.affinity.restrict(own(), &[seat.cpu]));
        let tried = thread::scope(|scope| io::Result::Ok(thread::Builder::new().spawn_scoped(scope, each)?.join()));
        tried?.unwrap_or_else(|_| Err(io::Error::other("a thread ended early")))
    }

    /// The core that a worker is on.
    pub fn seat(&self, worker: usize) -> Seat {
        self.seats[self.seat_of[worker].load(Acquire)]
    }

    /// The type of the core that a worker is on.
    pub fn kind(&self, worker: usize) -> CoreTypeId {
        self.seat(worker).kind
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.seat_of.len()
    }

    /// How far a thief's core is from another worker's.
    pub fn distance(&self, thief: usize, worker: usize) -> usize {
        let ring = evenkeel_model::stealing::ring_distance(thief, worker, self.workers());
        self.seat(thief).distance(&self.seat(worker)) * self.workers() + ring
    }

    /// The calling thread becomes a worker and goes to its core, or to that which `first` gets it. Answers the mask that it had, for [`Self::leave`]; `None` if
    /// the kernel refuses, and the thread stays where it is.
    pub fn arrive(&self, worker: usize, first: impl FnOnce()) -> Option<Mask> {
        let thread = own();
        let before = self.affinity.mask(thread).ok()?;
        lock(&self.moving)[worker] = Some(thread);
        first();
        if self.take_seat(worker).is_err() {
            lock(&self.moving)[worker] = None;
            let _ = self.affinity.restrict(thread, &before);
            return None;
        }
        Some(before)
    }

    /// The calling thread, which is this worker, goes to its core. Not under the lock: should the kernel have something else to run there, it has to wait, and
    /// nobody else with it.
    fn take_seat(&self, worker: usize) -> io::Result<()> {
        loop {
            let seat = self.seat_of[worker].load(Acquire);
            self.affinity.restrict(own(), &[self.seats[seat].cpu])?;
            // Whoever has moved it meanwhile may have done so before this was done.
            if self.seat_of[worker].load(Acquire) == seat {
                return Ok(());
            }
        }
    }

    /// The calling thread is no longer this worker, and may go where it might before.
    pub fn leave(&self, worker: usize, mask: &[u16]) {
        let mut moving = lock(&self.moving);
        if let Some(thread) = moving[worker].take() {
            // It was allowed before. Should it not be so now, the kernel has narrowed the mask itself.
            let _ = self.affinity.restrict(thread, mask);
        }
    }

    /// The threads of the workers that are there.
    pub fn threads(&self) -> Vec<Option<Tid>> {
        lock(&self.moving).clone()
    }

    /// Exchanges the cores of two workers if the one to gain is on a smaller one, and `still` holds when nobody else can move them. `done` is called when it is
    /// settled: the caller may be the one who loses, and have to wait until it runs again.
    pub fn exchange(&self, gains: usize, loses: usize, still: impl FnOnce() -> bool, done: impl FnOnce()) -> Exchange {
        let moving = match self.moving.try_lock() {
            Ok(moving) => moving,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Exchange::Stale,
        };
        let (Some(winner), Some(loser)) = (moving[gains], moving[loses]) else { return Exchange::Refused };
        let (low, high) = (self.seat_of[gains].load(Relaxed), self.seat_of[loses].load(Relaxed));
        if self.seats[high].kind >= self.seats[low].kind || !still() {
            return Exchange::Stale;
        }
        // Where they belong before they are there: a worker that takes its seat at this moment looks again when it is there.
        self.seat_of[gains].store(high, Release);
        self.seat_of[loses].store(low, Release);
        // The one with work first: it is what the exchange is for.
        let leaves = loser == own();
        let bind = |thread: Tid, seat: usize| self.affinity.restrict(thread, &[self.seats[seat].cpu]);
        if bind(winner, high).is_err() || !leaves && bind(loser, low).is_err() {
            self.put_back(&moving, (gains, low), (loses, high));
            return Exchange::Refused;
        }
        drop(moving);
        done();
        if leaves && self.take_seat(loses).is_err() {
            let moving = lock(&self.moving);
            let moved = |worker: usize, seat: usize| self.seat_of[worker].load(Relaxed) != seat;
            // Unless somebody has moved one of them since.
            if !moved(gains, high) && !moved(loses, low) {
                self.put_back(&moving, (gains, low), (loses, high));
            }
            return Exchange::Refused;
        }
        Exchange::Done
    }

    /// Gives both workers of a refused exchange back what they had. The one that was to lose has not been moved.
    fn put_back(&self, moving: &[Option<Tid>], (gains, low): (usize, usize), (loses, high): (usize, usize)) {
        self.seat_of[gains].store(low, Release);
        self.seat_of[loses].store(high, Release);
        // Whoever is that worker by now: one that has left has its own mask back.
        if let Some(thread) = moving[gains] {
            let _ = self.affinity.restrict(thread, &[self.seats[low].cpu]);
        }
    }
}

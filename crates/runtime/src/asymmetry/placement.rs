//! The core of each worker. On a stock kernel a thread cannot hand its registers to another core, as the paper's mug instruction does (III.B), so
//! two workers exchange cores instead: the task stays in its thread, and its thread moves.

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, TryLockError};
use std::thread;

use crossbeam_utils::CachePadded;
use evenkeel_model::CoreTypeId;
use evenkeel_topology::Topology;

use crate::affinity::{Affinity, Mask, Tid, own};
use crate::sync::lock_std as lock;

/// A core as the pool knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolCore {
    /// The CPU's number.
    pub cpu: u16,
    /// Its type, 0 the biggest.
    pub kind: CoreTypeId,
    /// What contains it, the largest first: node, cluster, core. Cores are the nearer the more of these they share.
    inside: [u16; 3],
}

/// What became of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// It was done.
    Done,
    /// The situation has changed, or another exchange is under way.
    Stale,
    /// One of them cannot be moved: the kernel refuses, or its thread could not be bound when it came.
    Refused,
}

/// The table of workers and cores.
pub(crate) struct Placement {
    cores: Vec<PoolCore>,
    /// The position of each worker's core among the cores. Changed under `moving` only; read without it where a value that was true a moment ago will do.
    core_of: Box<[CachePadded<AtomicUsize>]>,
    /// The thread of each worker, while there is one. No thread is moved without this lock, so a worker is in one exchange at a time, and none is moved after
    /// it has left.
    moving: Mutex<Vec<Option<Tid>>>,
    affinity: Box<dyn Affinity>,
}

impl PoolCore {
    /// The cores of a machine in the order in which workers take them: the biggest first, and of each core all but one hardware thread last.
    pub fn all(topology: &Topology) -> Vec<Self> {
        let mut cpus: Vec<_> = topology.cpus.iter().collect();
        cpus.sort_by_key(|cpu| (cpu.kind, cpu.siblings.first() != Some(&cpu.id), cpu.id));
        let core = |cpu: &evenkeel_topology::Cpu| PoolCore {
            cpu: cpu.id,
            kind: CoreTypeId(u8::try_from(cpu.kind).unwrap_or(u8::MAX)),
            inside: [cpu.node, cpu.cluster as u16, cpu.siblings.first().copied().unwrap_or(cpu.id)],
        };
        cpus.into_iter().map(core).collect()
    }

    /// A CPU of which only the type is known.
    pub fn at(cpu: u16, kind: CoreTypeId) -> Self {
        Self { cpu, kind, inside: [0; 3] }
    }

    /// How far apart two cores are: 0 for hardware threads of one core, then a cluster, a memory node, and what lies between these.
    fn distance(&self, other: &Self) -> usize {
        let common = self.inside.iter().zip(&other.inside).take_while(|(own, other)| own == other).count();
        self.inside.len() - common
    }
}

impl Placement {
    /// So many workers on these cores, from the first on; more workers than cores share some. There is at least one core.
    pub fn new(cores: Vec<PoolCore>, workers: usize, affinity: Box<dyn Affinity>) -> Self {
        let core_of = (0..workers).map(|worker| CachePadded::new(AtomicUsize::new(worker % cores.len()))).collect();
        Self { cores, core_of, moving: Mutex::new(vec![None; workers]), affinity }
    }

    /// Tries every core with a thread that is gone afterwards.
    ///
    /// # Errors
    /// A core that the kernel does not let this process use, or no thread.
    pub fn try_all(&self) -> io::Result<()> {
        let each = || self.cores.iter().try_for_each(|core| self.affinity.restrict(own(), &[core.cpu]));
        let tried = thread::scope(|scope| io::Result::Ok(thread::Builder::new().spawn_scoped(scope, each)?.join()));
        tried?.unwrap_or_else(|_| Err(io::Error::other("a thread ended early")))
    }

    /// The core that a worker is on.
    pub fn core(&self, worker: usize) -> PoolCore {
        self.cores[self.core_of[worker].load(Acquire)]
    }

    /// The type of the core that a worker is on.
    pub fn kind(&self, worker: usize) -> CoreTypeId {
        self.core(worker).kind
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.core_of.len()
    }

    /// Whether there are more workers than cores.
    pub fn shares_cores(&self) -> bool {
        self.workers() > self.cores.len()
    }

    /// How far a thief's core is from another worker's.
    pub fn distance(&self, thief: usize, worker: usize) -> usize {
        let ring = evenkeel_model::stealing::ring_distance(thief, worker, self.workers());
        self.core(thief).distance(&self.core(worker)) * self.workers() + ring
    }

    /// The calling thread becomes a worker and goes to its core, or to the one that `first` gets it. Returns the mask that it had, for [`Self::leave`]; `None` if
    /// the kernel refuses, and then the mask is as before.
    pub fn arrive(&self, worker: usize, first: impl FnOnce()) -> Option<Mask> {
        let thread = own();
        let before = self.affinity.mask(thread).ok()?;
        lock(&self.moving)[worker] = Some(thread);
        first();
        if self.go_to_core(worker).is_err() {
            lock(&self.moving)[worker] = None;
            let _ = self.affinity.restrict(thread, &before);
            return None;
        }
        Some(before)
    }

    /// The calling thread, which is this worker, goes to its core. Not under the lock: if the kernel has another thread to run there this one has to wait, and
    /// no exchange should wait with it.
    fn go_to_core(&self, worker: usize) -> io::Result<()> {
        loop {
            let core = self.core_of[worker].load(Acquire);
            self.affinity.restrict(own(), &[self.cores[core].cpu])?;
            // An exchange may have moved it meanwhile, and have set its mask before this did.
            if self.core_of[worker].load(Acquire) == core {
                return Ok(());
            }
        }
    }

    /// The calling thread is no longer this worker, and may run where it might before.
    pub fn leave(&self, worker: usize, mask: &[u16]) {
        let mut moving = lock(&self.moving);
        if let Some(thread) = moving[worker].take() {
            // The kernel allowed this mask before. If it refuses it now it has narrowed the mask itself.
            let _ = self.affinity.restrict(thread, mask);
        }
    }

    /// The threads of the workers that are there.
    pub fn threads(&self) -> Vec<Option<Tid>> {
        lock(&self.moving).clone()
    }

    /// Exchanges the cores of two workers, if `gains` is on the smaller one and `still` holds under the lock. `done` is called when the exchange is
    /// settled, before a calling thread that loses its core moves: it may have to wait until it runs again.
    pub fn exchange(&self, gains: usize, loses: usize, still: impl FnOnce() -> bool, done: impl FnOnce()) -> Exchange {
        let moving = match self.moving.try_lock() {
            Ok(moving) => moving,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Exchange::Stale,
        };
        let (Some(winner), Some(loser)) = (moving[gains], moving[loses]) else { return Exchange::Refused };
        let (low, high) = (self.core_of[gains].load(Relaxed), self.core_of[loses].load(Relaxed));
        if self.cores[high].kind >= self.cores[low].kind || !still() {
            return Exchange::Stale;
        }
        // The table before the masks: a worker that goes to its core at this moment checks the table again when it is there.
        self.core_of[gains].store(high, Release);
        self.core_of[loses].store(low, Release);
        // First the one with a task, for which the exchange is made.
        let leaves = loser == own();
        let bind = |thread: Tid, core: usize| self.affinity.restrict(thread, &[self.cores[core].cpu]);
        if bind(winner, high).is_err() || !leaves && bind(loser, low).is_err() {
            self.put_back(&moving, (gains, low), (loses, high));
            return Exchange::Refused;
        }
        drop(moving);
        done();
        if leaves && self.go_to_core(loses).is_err() {
            let moving = lock(&self.moving);
            let moved = |worker: usize, core: usize| self.core_of[worker].load(Relaxed) != core;
            // Unless another exchange has moved one of them since.
            if !moved(gains, high) && !moved(loses, low) {
                self.put_back(&moving, (gains, low), (loses, high));
            }
            return Exchange::Refused;
        }
        Exchange::Done
    }

    /// Gives both workers of a refused exchange their cores back. `loses` has not been moved.
    fn put_back(&self, moving: &[Option<Tid>], (gains, low): (usize, usize), (loses, high): (usize, usize)) {
        self.core_of[gains].store(low, Release);
        self.core_of[loses].store(high, Release);
        // The worker's present thread: one that has left has its own mask back.
        if let Some(thread) = moving[gains] {
            let _ = self.affinity.restrict(thread, &[self.cores[low].cpu]);
        }
    }
}

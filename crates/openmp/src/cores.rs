//! Threads of a team bound to cores, the first core the fastest: a speed is a core's only while the thread stays there.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_model::splitting::alike;
use evenkeel_topology::Topology;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::switch;
use crate::why::Why;

/// The cores that this process may use.
pub struct Cores {
    /// Each CPU with its speed, the fastest first.
    pub all: Vec<(u16, f64)>,
    /// Where threads could run before.
    before: CpuSet,
    /// Whether the program, or its user, binds threads.
    bound: bool,
}

static CORES: OnceLock<Option<Cores>> = OnceLock::new();

thread_local! {
    /// The CPU that this thread has been bound to.
    static BOUND: Cell<Option<u16>> = const { Cell::new(None) };
}

/// By which OpenMP's library is told to bind threads, if they are neither empty nor `false`.
const BINDING: [&str; 5] = ["OMP_PROC_BIND", "OMP_PLACES", KMP_AFFINITY, "GOMP_CPU_AFFINITY", "KMP_HW_SUBSET"];
/// libomp's own: words with commas between them, of which only these have threads bound.
const KMP_AFFINITY: &str = "KMP_AFFINITY";
const KMP_BINDING: [&str; 6] = ["balanced", "compact", "explicit", "logical", "physical", "scatter"];

/// Looks at the machine, when the OpenMP library of this process starts. `None` if there is only one core, nothing is known, or all are as fast:
/// equal parts are right there, and threads that are bound could not make way for other work.
pub fn find() -> Option<&'static Cores> {
    CORES.get_or_init(look).as_ref()
}

/// Whether the cores are this OpenMP library's, which begins at this address: they are the first one's that asks.
pub fn claim(library: usize) -> bool {
    static OWNER: AtomicUsize = AtomicUsize::new(0);
    let before = OWNER.compare_exchange(0, library, Ordering::Relaxed, Ordering::Relaxed);
    before.is_ok() || before == Err(library)
}

fn look() -> Option<Cores> {
    let before = sched_getaffinity(None).ok()?;
    let allowed = |cpu: &(u16, f64)| usize::from(cpu.0) < CpuSet::MAX_CPU && before.is_set(usize::from(cpu.0));
    let known = switch::cores().or_else(|| {
        // Of powers nothing is needed, so a wrong machine file does not matter.
        let topology = Topology::read(&evenkeel_topology::root()).ok()?;
        let speed = |kind: usize| f64::from(topology.kinds[kind].capacity);
        Some(topology.cpus.iter().map(|cpu| (cpu.id, speed(cpu.kind))).collect())
    });
    let mut all: Vec<(u16, f64)> = known?.into_iter().filter(allowed).collect();
    let mut named = BTreeSet::new();
    all.retain(|core| named.insert(core.0));
    all.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    if alike(all.iter().map(|core| core.1)) {
        if all.len() > 1 {
            Why::EqualCores.say();
        }
        return None;
    }
    // SAFETY: the handler is a function that lives as long as the process, and calls only what may be called after a fork.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    Some(Cores { all, before, bound: binds() })
}

/// Whether the user has OpenMP's library bind threads.
pub fn binds() -> bool {
    BINDING.iter().any(|name| std::env::var_os(name).is_some_and(|value| has_bound(name, &value)))
}

/// Whether a variable has this value where threads are to be bound.
fn has_bound(name: &str, value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    if name == KMP_AFFINITY {
        let mut words = value.split(',').map(|word| word.trim().to_ascii_lowercase());
        return words.any(|word| KMP_BINDING.contains(&word.as_str()));
    }
    !value.is_empty() && !value.eq_ignore_ascii_case("false")
}

static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether the program has forked this process, after it had looked at the machine.
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// A process that the program forks would bind its threads to the same cores as the program and as others that it forks.
extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
    crate::tool::leave_alone();
    if let Some(Some(cores)) = CORES.get() {
        cores.release();
    }
}

impl Cores {
    /// Whether threads stay on their cores because the program or its user wants that, and not because of this library.
    pub fn are_bound(&self) -> bool {
        self.bound
    }

    /// The speeds of so many threads, one on each of the fastest cores. `None` if it is not known where threads are.
    pub fn speeds(&self, threads: usize) -> Option<impl Iterator<Item = f64>> {
        let first = self.all.get(..threads)?;
        (!self.bound).then(|| first.iter().map(|core| core.1))
    }

    /// Has this thread on the core of this number, from the fastest one on. A thread that the program has confined itself stays where it is, as does one
    /// for which it is refused: its speed is measured all the same.
    pub fn settle(&self, number: usize) {
        let Some(&(cpu, _)) = self.all.get(number).filter(|_| !self.bound) else { return };
        let at = BOUND.get();
        if at == Some(cpu) {
            return;
        }
        let expected = at.map_or(self.before, only);
        if sched_getaffinity(None).is_ok_and(|now| now == expected) && sched_setaffinity(None, &only(cpu)).is_ok() {
            BOUND.set(Some(cpu));
        }
    }

    /// A new thread of a team may run where the program could before, though the one that has started it is on a core of its own.
    pub fn disinherit(&self) {
        let inherits = |now: &CpuSet| self.all.iter().any(|core| *now == only(core.0));
        if !self.bound && BOUND.get().is_none() && sched_getaffinity(None).is_ok_and(|now| inherits(&now)) {
            let _ = sched_setaffinity(None, &self.before);
        }
    }

    /// Does something while this thread, and what it starts, may run where it could before. If it was on a core, it is there again then.
    pub fn released<T>(&self, then: impl FnOnce() -> T) -> T {
        let at = BOUND.get().and_then(|cpu| self.all.iter().position(|core| core.0 == cpu));
        self.release();
        let result = then();
        if let Some(number) = at {
            self.settle(number);
        }
        result
    }

    /// This thread may run where it could before, as may what it starts: threads and processes inherit its mask. Where it has not been bound,
    /// this does nothing.
    pub fn release(&self) {
        if let Some(cpu) = BOUND.take()
            && sched_getaffinity(None).is_ok_and(|now| now == only(cpu))
        {
            let _ = sched_setaffinity(None, &self.before);
        }
    }
}

#[cfg(test)]
impl Cores {
    /// Of these speeds, for tests in which no thread is bound.
    pub fn of(speeds: &[f64]) -> &'static Self {
        let all = (0..).zip(speeds.iter().copied()).collect();
        Box::leak(Box::new(Self { all, before: CpuSet::new(), bound: false }))
    }
}

fn only(cpu: u16) -> CpuSet {
    let mut mask = CpuSet::new();
    mask.set(usize::from(cpu));
    mask
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_are_on_their_cores_and_where_they_were_again() {
        let before = sched_getaffinity(None).unwrap();
        let cpus: Vec<u16> = (0..1024).filter(|&cpu| before.is_set(usize::from(cpu))).collect();
        let cores = Cores { all: cpus.iter().map(|&cpu| (cpu, 1.0)).collect(), before, bound: false };
        let mask = || sched_getaffinity(None).unwrap();
        let on = |cores: &Cores| {
            thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    cores.settle(0);
                    let settled = mask();
                    cores.settle(5000);
                    cores.release();
                    (settled, mask())
                });
                thread.join().unwrap()
            })
        };
        assert_eq!(on(&cores), (only(cpus[0]), before));
        // The program's own mask stays, and so does one that its user wants.
        if let [first, .., last] = cpus[..] {
            let confined = thread::spawn(move || {
                sched_setaffinity(None, &only(last)).unwrap();
                let cores = Cores { all: vec![(first, 1.0), (last, 1.0)], before, bound: false };
                cores.settle(0);
                mask()
            });
            assert_eq!(confined.join().unwrap(), only(last));
        }
        assert_eq!(on(&Cores { bound: true, ..cores }), (before, before));
    }

    #[test]
    fn a_thread_that_is_started_by_a_bound_one_is_not() {
        let before = sched_getaffinity(None).unwrap();
        let cpus: Vec<u16> = (0..1024).filter(|&cpu| before.is_set(usize::from(cpu))).collect();
        let inherited = |bound: bool| {
            let cores = Cores { all: cpus.iter().map(|&cpu| (cpu, 1.0)).collect(), before, bound };
            let inner = || {
                cores.disinherit();
                sched_getaffinity(None).unwrap()
            };
            let outer = || {
                sched_setaffinity(None, &only(cpus[0])).unwrap();
                thread::scope(|scope| scope.spawn(inner).join().unwrap())
            };
            thread::scope(|scope| scope.spawn(outer).join().unwrap())
        };
        assert_eq!(inherited(false), before);
        assert_eq!(inherited(true), only(cpus[0]), "where OpenMP's library binds threads, that is its");
    }

    #[test]
    fn what_a_bound_thread_starts_while_it_is_released_is_free() {
        let before = sched_getaffinity(None).unwrap();
        let cpus: Vec<u16> = (0..1024).filter(|&cpu| before.is_set(usize::from(cpu))).collect();
        let cores = Cores { all: cpus.iter().map(|&cpu| (cpu, 1.0)).collect(), before, bound: false };
        let mask = || sched_getaffinity(None).unwrap();
        let started = || thread::scope(|scope| scope.spawn(mask).join().unwrap());
        let outer = || {
            cores.settle(0);
            (cores.released(started), mask())
        };
        let masks = thread::scope(|scope| scope.spawn(outer).join().unwrap());
        assert_eq!(masks, (before, only(cpus[0])));
    }

    #[test]
    fn what_has_threads_bound_nowhere_does_not_count() {
        let bound = |name: &str, value: &str| has_bound(name, OsStr::new(value));
        for (name, value) in [("OMP_PROC_BIND", "FALSE"), ("OMP_PLACES", ""), ("KMP_AFFINITY", "verbose, None")] {
            assert!(!bound(name, value), "{name}={value}");
        }
        assert!(["disabled", "verbose", "granularity=fine,warnings"].iter().all(|value| !bound("KMP_AFFINITY", value)));
        assert!(bound("KMP_AFFINITY", "granularity=fine,compact,1,0"));
        assert!(bound("OMP_PROC_BIND", "close") && bound("OMP_PLACES", "cores"));
    }

    #[test]
    fn speeds_are_known_of_as_many_threads_as_cores() {
        let cores = |bound| Cores { all: vec![(0, 3.0), (1, 1.0)], before: CpuSet::new(), bound };
        let speeds = |bound, threads| Some(cores(bound).speeds(threads)?.collect::<Vec<_>>());
        assert_eq!(speeds(false, 2), Some(vec![3.0, 1.0]));
        assert_eq!((speeds(false, 3), speeds(true, 2)), (None, None));
    }
}

//! Each thread of a team on a core of its own, the first on the fastest: a speed is a core's only while the thread stays there.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::path::Path;
use std::sync::OnceLock;

use evenkeel_topology::Topology;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::switch;

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

/// By which threads are bound by OpenMP's library, each other than `false`.
const BINDING: [&str; 5] = ["OMP_PROC_BIND", "OMP_PLACES", "KMP_AFFINITY", "GOMP_CPU_AFFINITY", "KMP_HW_SUBSET"];

/// Looks at the machine, when the OpenMP library of this process starts. `None` if there is only one core, or nothing is known.
pub fn find() -> Option<&'static Cores> {
    CORES.get_or_init(look).as_ref()
}

fn look() -> Option<Cores> {
    let before = sched_getaffinity(None).ok()?;
    let allowed = |cpu: &(u16, f64)| usize::from(cpu.0) < CpuSet::MAX_CPU && before.is_set(usize::from(cpu.0));
    let known = switch::cores().or_else(|| {
        let topology = Topology::read(Path::new("/")).ok()?;
        let speed = |kind: usize| f64::from(topology.kinds[kind].capacity);
        Some(topology.cpus.iter().map(|cpu| (cpu.id, speed(cpu.kind))).collect())
    });
    let mut all: Vec<(u16, f64)> = known?.into_iter().filter(allowed).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "false");
    let bound = BINDING.iter().any(set);
    if all.len() < 2 {
        return None;
    }
    if !bound {
        // SAFETY: the handler is a function that lives as long as the process, and calls only what may be called after a fork.
        unsafe { libc::pthread_atfork(None, None, Some(unbind)) };
    }
    Some(Cores { all, before, bound })
}

/// A process that a thread starts is not bound as the thread is.
extern "C" fn unbind() {
    if let (Some(Some(cores)), Some(_)) = (CORES.get(), BOUND.take()) {
        let _ = sched_setaffinity(None, &cores.before);
    }
}

impl Cores {
    /// Whether the speeds of its first cores are those of threads.
    pub fn speeds(&self, threads: usize) -> Option<Vec<f64>> {
        (!self.bound).then(|| self.all[..threads].iter().map(|core| core.1).collect())
    }

    /// Has this thread, of this number in its team, on its core. Where it is refused the thread stays where it is: its speed is
    /// measured all the same.
    pub fn settle(&self, number: usize) {
        let Some(&(cpu, _)) = self.all.get(number).filter(|_| !self.bound) else { return };
        if BOUND.get() != Some(cpu) {
            let mut mask = CpuSet::new();
            mask.set(usize::from(cpu));
            let _ = sched_setaffinity(None, &mask);
            BOUND.set(Some(cpu));
        }
    }
}

/// A function of the process by its name, from the libraries that come after this one.
///
/// # Safety
/// `F` is a pointer to a function of the type that the one of this name has.
pub unsafe fn next<F>(name: &CStr) -> Option<F> {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    const { assert!(size_of::<F>() == size_of::<*mut libc::c_void>()) };
    // SAFETY: as large as a pointer, and the caller's promise.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

/// What OpenMP has for a program to ask, such as the number of its thread.
pub type Ask = extern "C" fn() -> c_int;

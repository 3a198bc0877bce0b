//! Programs that were built with GCC divide static loops themselves, by the number of threads and a thread's own number: each does as much. They are
//! told that there are more threads than cores, and a fast core runs more of them. That changes nothing of what OpenMP promises, whatever a region
//! contains: they are threads like others, and wait for each other as such.
//!
//! - [`calls`]: the functions of libgomp in whose place this library's are called.
//! - `loops`: those of them by which a loop inside a region begins.
//! - `caller`: what has called one of them.
//!
//! How many threads there are is said before anything asks, and stays, since programs have room for that many of something.
#![allow(unsafe_code)]

mod caller;
mod calls;
mod loops;

use std::cell::Cell;
use std::env;
use std::ffi::{c_int, c_long, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cores::{self, Cores};
use crate::dynamic;
use crate::libomp::{Bounds, trips};
use crate::real::Real;
use crate::region::{self, Team};
use crate::shares::{apportion, core_of, team};
use crate::switch::{self, Switch};
use crate::tool::{begins_all, is_left_alone};
use crate::user_schedule::{Schedule, UserSchedule};
use crate::why::Why;

/// What OpenMP has for a program to ask.
type Ask = unsafe extern "C" fn() -> c_int;
type Set = unsafe extern "C" fn(c_int);
/// A region's code, and what it works on.
type Code = unsafe extern "C" fn(*mut c_void);

/// The libgomp of this process.
struct Gomp {
    /// Where it begins, since a process may have another one, too.
    library: usize,
    cores: &'static Cores,
    /// How many threads a team has, if the program does not say otherwise.
    threads: usize,
    /// How many it would have without this library.
    plain: c_uint,
    max_threads: Ask,
    processors: Ask,
    set_threads: Set,
    level: Ask,
    nested: Ask,
    team_count: Ask,
    team_size: Ask,
    thread_number: Ask,
    schedule: Schedule,
}

static GOMP: OnceLock<Option<Gomp>> = OnceLock::new();

/// Whether the program has itself asked for as many threads as teams have here, so that this number is its own.
static CHOSEN: AtomicBool = AtomicBool::new(false);
/// Whether the program has been told of the library's number: if it says that, it may be no other than what it was told.
static SAID: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread knows how many threads it begins regions with.
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

/// The libgomp in which this function is, if its teams are to be larger.
fn of(function: Real) -> Option<&'static Gomp> {
    let gomp = GOMP.get_or_init(|| Gomp::new(function)).as_ref()?;
    (gomp.library == function.library).then_some(gomp)
}

/// Where the libgomp begins whose teams are larger.
pub fn library() -> Option<usize> {
    GOMP.get()?.as_ref().map(|gomp| gomp.library)
}

/// At the end of the process, but not of one that it has forked, which knows no more.
extern "C" fn report() {
    if cores::is_forked() {
        return;
    }
    if region::are_brief() {
        switch::say(
            "evenkeel: this program's OpenMP regions are over in less than 0.1 ms, in which more threads may cost more than they gain; \
             `evenkeel try` tells, and EVENKEEL_OMP=off leaves it alone\n",
        );
    }
    if switch::read() == Switch::Report {
        switch::say(&(region::report() + &dynamic::report()));
    }
}

impl Gomp {
    /// `None` if there is nothing to do for it: cores are equal or unknown, the user says how many threads there are, or at most, or where they run, or
    /// it is not libgomp, but LLVM's library, which has its functions as well.
    fn new(function: Real) -> Option<Self> {
        // Elsewhere programs are not asked in its place (`caller`).
        if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            return None;
        }
        if switch::read() == Switch::Off || function.beside(c"__kmpc_fork_call").is_some() {
            return None;
        }
        if env::var_os("OMP_NUM_THREADS").is_some_and(|threads| !threads.is_empty()) {
            Why::NumberGiven.say();
            return None;
        }
        // Before cores are looked at: this thread may be bound to one of them.
        if cores::binds() {
            Why::Bound.say();
            return None;
        }
        let cores = cores::find()?;
        let speeds: Vec<f64> = cores.all.iter().map(|core| core.1).collect();
        // SAFETY: functions of these names have these types (OpenMP 5.0, 3.2).
        let (gomp, limit) = unsafe {
            let ask = |name| Some(function.beside(name)?.function::<Ask>());
            let processors = ask(c"omp_get_num_procs")?;
            let gomp = Self {
                library: function.library,
                cores,
                threads: team(&speeds),
                plain: c_uint::try_from(Self::ask(processors)).ok()?,
                max_threads: ask(c"omp_get_max_threads")?,
                processors,
                set_threads: function.beside(c"omp_set_num_threads")?.function::<Set>(),
                level: ask(c"omp_get_level")?,
                nested: ask(c"omp_get_nested")?,
                team_count: ask(c"omp_get_num_teams")?,
                team_size: ask(c"omp_get_num_threads")?,
                thread_number: ask(c"omp_get_thread_num")?,
                schedule: function.beside(c"omp_get_schedule")?.function::<Schedule>(),
            };
            (gomp, Self::ask(ask(c"omp_get_thread_limit")?))
        };
        // Teams would have fewer threads than the program has been told.
        if limit < gomp.threads as c_int {
            Why::ThreadLimit.say();
            return None;
        }
        if !cores::claim(gomp.library) {
            return None;
        }
        // SAFETY: a function that lives as long as the process.
        unsafe { libc::atexit(report) };
        Some(gomp)
    }

    /// Asks it something.
    fn ask(question: Ask) -> c_int {
        // SAFETY: any thread may ask these functions at any time.
        unsafe { question() }
    }

    /// Tells it how many threads this thread begins regions with, unless the program has: once, before the program can know of another number.
    fn tell(&self) {
        if TOLD.replace(true) || Self::ask(self.level) != 0 || Self::ask(self.max_threads) != Self::ask(self.processors)
        {
            return;
        }
        // SAFETY: as any program may.
        unsafe { (self.set_threads)(self.threads as c_int) };
    }

    /// Whether a region that begins now is in no other one, nor in a league of teams.
    fn is_outermost(&self) -> bool {
        Self::ask(self.level) == 0 && Self::ask(self.team_count) == 1
    }

    /// How many threads a region is to have for which the program says so many (0: none). Threads inherit the number that this library has told, which
    /// is not meant for regions inside regions: these have as many as without it.
    fn inner(&self, threads: c_uint) -> c_uint {
        let told = threads == 0
            && Self::ask(self.level) != 0
            && Self::ask(self.max_threads) == self.threads as c_int
            && !CHOSEN.load(Ordering::Relaxed);
        if told { self.plain } else { threads }
    }

    /// Has `fork` begin a region with this code, data and number of threads, or with others that do the same with each thread on its core.
    fn region<T>(
        &self,
        code: Code,
        data: *mut c_void,
        threads: c_uint,
        fork: impl FnOnce(Code, *mut c_void) -> T,
    ) -> T {
        self.region_of(code, data, ptr::null_mut(), threads, fork)
    }

    /// The same, with data of which `fork` reads the first word.
    fn region_of<T>(
        &self,
        code: Code,
        data: *mut c_void,
        first: *mut c_void,
        threads: c_uint,
        fork: impl FnOnce(Code, *mut c_void) -> T,
    ) -> T {
        self.tell();
        if !self.is_outermost() {
            let forked = || fork(code, data);
            // The threads that it starts inherit where this one may run.
            return if Self::ask(self.nested) != 0 { self.cores.released(forked) } else { forked() };
        }
        let asked = if threads == 0 { Self::ask(self.max_threads) } else { threads as c_int };
        if asked > 1 && asked != self.threads as c_int {
            Why::OwnNumber.say();
        }
        // Nothing is learnt of a team whose size is the program's own, but which thread has begun it.
        let own = asked > 1 && begins_all() && asked == self.threads as c_int;
        let mut team = own.then(|| Team::new(code as usize, self.cores, self.cores.all.len())).flatten();
        if let Some(team) = team.take_if(|team| team.is_brief()) {
            let result = fork(code, data);
            team.lasted();
            return result;
        }
        let counts = team.as_ref().map_or_else(Vec::new, |team| self.counts(team));
        let region = Region { first, gomp: self, code, data, team, counts };
        let result = fork(work, (&raw const region).cast_mut().cast());
        if let Some(team) = region.team {
            team.end();
        }
        // Threads and processes that this thread starts now inherit where it may run.
        self.cores.release();
        result
    }

    /// How many iterations the threads of a region that begins take at a time, of a loop that ends before `end`. The threads of a core are together
    /// as fast as the core.
    fn chunk(&self, threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long) -> c_long {
        self.tell();
        let own = threads == 0 && Self::ask(self.max_threads) == self.threads as c_int;
        let last = Bounds { lower: start, upper: end.saturating_sub(step.signum()) };
        let smaller = || {
            let asked =
                u64::try_from(chunk).ok().filter(|chunk| *chunk > 1 && own && self.is_outermost() && begins_all())?;
            c_long::try_from(dynamic::begin(trips(last, step.into())?, asked, self.speeds())).ok()
        };
        smaller().unwrap_or(chunk)
    }

    /// The same of a loop with so many iterations that a thread begins inside a region: `None` unless its team has as many threads as the library
    /// gives one. In brief regions these may be anywhere, as for `chunk`.
    fn smaller(&self, trips: u64, asked: u64) -> Option<u64> {
        let own = || {
            Self::ask(self.team_size) == self.threads as c_int
                && Self::ask(self.level) == 1
                && Self::ask(self.team_count) == 1
                && !is_left_alone()
        };
        (asked > 1 && own()).then(|| dynamic::begin(trips, asked, self.speeds()))
    }

    /// How many iterations chunks have for the user (`OMP_SCHEDULE=dynamic,n`), of loops that leave that to the user. Where these are static, libgomp has an equal
    /// part for each thread, as programs have in other static loops: the core that runs more threads does more.
    fn user_chunk(&self) -> Option<u64> {
        match UserSchedule::of(self.schedule)? {
            UserSchedule::Dynamic { chunk, .. } => Some(chunk),
            UserSchedule::Static => None,
        }
    }

    /// How fast its cores are.
    fn speeds(&self) -> impl Iterator<Item = f64> {
        self.cores.all.iter().map(|core| core.1)
    }

    /// How many threads of a team each core runs.
    fn counts(&self, team: &Team) -> Vec<usize> {
        let known = |plan: &[u32]| plan.iter().map(|&speed| f64::from(speed)).collect();
        let speeds: Vec<f64> = team.plan(self.cores.all.len()).map_or_else(|| self.speeds().collect(), known);
        apportion(self.threads, &speeds)
    }
}

/// A region that a team is in.
#[repr(C)]
struct Region<'a> {
    /// What libgomp finds where the data begin.
    first: *mut c_void,
    gomp: &'a Gomp,
    code: Code,
    data: *mut c_void,
    /// What is learnt of the region, each core as if it were one thread.
    team: Option<Team>,
    counts: Vec<usize>,
}

/// What each thread of a team does.
unsafe extern "C" fn work(region: *mut c_void) {
    // SAFETY: the one of `Gomp::region`, which stays there until all threads of the team have done this.
    let region = unsafe { &*region.cast::<Region<'_>>() };
    let (gomp, cores) = (region.gomp, region.gomp.cores.all.len());
    let whole = Gomp::ask(gomp.team_size) == gomp.threads as c_int;
    let place = region.team.as_ref().filter(|_| whole).and_then(|team| {
        let number = usize::try_from(Gomp::ask(gomp.thread_number)).ok()?;
        Some((team, core_of(number, &region.counts)))
    });
    match place {
        Some((team, core)) => team.settle(core, cores),
        None => gomp.cores.release(),
    }
    // SAFETY: what the program has given for this.
    unsafe { (region.code)(region.data) };
    if let Some((team, core)) = place {
        team.finish(core, cores);
    }
}

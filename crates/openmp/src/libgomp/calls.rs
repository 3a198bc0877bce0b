//! The functions of libgomp in whose place this library's are called. Their types are those of libgomp/libgomp_g.h in GCC, and of OpenMP 5.0, 3.2.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::sync::atomic::Ordering;

use super::caller::with_caller;
use super::{CHOSEN, Code, Gomp, SAID, Set, TOLD, of};
use crate::real::{Real, Replaced};

/// Functions that begin a region: with its code, its data and how many threads it is to have (0: as many as there are), and more, of which one
/// may be replaced. One that leaves the schedule to the user does as another one does if that is `dynamic`, with the user's chunk.
macro_rules! begins {
    ($(
        $name:ident($($more:ident: $type:ty),*) $(-> $result:ty)? $(as $other:ident($($given:ident),*) with $chunk:ident)?
        $(, $replaced:ident: $by:expr)?;
    )*) => { $(
        /// In the place of libgomp's function of this name.
        ///
        /// # Safety
        /// As for that function, which a compiler calls.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(code: Code, data: *mut c_void, threads: c_uint, $($more: $type),*) $(-> $result)? {
            static REPLACED: Replaced = Replaced::new(const { crate::real::as_c_str(concat!(stringify!($name), "\0")) });
            let real = REPLACED.real(code as *const c_void);
            type Function = unsafe extern "C" fn(Code, *mut c_void, c_uint, $($type),*) $(-> $result)?;
            // SAFETY: the type of the function of this name.
            let function = unsafe { real.function::<Function>() };
            let gomp = of(real);
            $(if let Some($chunk) = gomp.and_then(Gomp::user_chunk).and_then(|chunk| c_long::try_from(chunk).ok()) {
                // SAFETY: the caller's promise.
                return unsafe { $other(code, data, threads, $($given),*) };
            })?
            let threads = gomp.map_or(threads, |gomp| gomp.inner(threads));
            $(let $replaced = gomp.map_or($replaced, |gomp| ($by)(gomp, threads));)?
            // SAFETY: the caller's promise; code and data are the caller's own, or do what they do.
            let fork = |code, data| unsafe { function(code, data, threads, $($more),*) };
            match gomp {
                Some(gomp) => gomp.region(code, data, threads, fork),
                None => fork(code, data),
            }
        }
    )* };
}

begins! {
    GOMP_parallel(flags: c_uint);
    GOMP_parallel_sections(count: c_uint, flags: c_uint);
    GOMP_parallel_loop_static(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_dynamic(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint),
        chunk: |gomp: &Gomp, threads| gomp.chunk(threads, start, end, step, chunk);
    GOMP_parallel_loop_guided(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_dynamic(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint),
        chunk: |gomp: &Gomp, threads| gomp.chunk(threads, start, end, step, chunk);
    GOMP_parallel_loop_nonmonotonic_guided(start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_runtime(start: c_long, end: c_long, step: c_long, flags: c_uint)
        as GOMP_parallel_loop_dynamic(start, end, step, chunk, flags) with chunk;
    GOMP_parallel_loop_nonmonotonic_runtime(start: c_long, end: c_long, step: c_long, flags: c_uint)
        as GOMP_parallel_loop_dynamic(start, end, step, chunk, flags) with chunk;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(start: c_long, end: c_long, step: c_long, flags: c_uint)
        as GOMP_parallel_loop_dynamic(start, end, step, chunk, flags) with chunk;
}

/// In the place of libgomp's function of this name. It reads the first word of the data itself: what the tasks of the region reduce.
///
/// # Safety
/// As for that function, which a compiler calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_parallel_reductions(
    code: Code,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
) -> c_uint {
    static REPLACED: Replaced = Replaced::new(c"GOMP_parallel_reductions");
    let real = REPLACED.real(code as *const c_void);
    type Function = unsafe extern "C" fn(Code, *mut c_void, c_uint, c_uint) -> c_uint;
    // SAFETY: the type of the function of this name.
    let function = unsafe { real.function::<Function>() };
    let gomp = of(real);
    let threads = gomp.map_or(threads, |gomp| gomp.inner(threads));
    // SAFETY: the caller's promise; code and data are the caller's own, or do what they do and begin alike.
    let fork = |code, data| unsafe { function(code, data, threads, flags) };
    match gomp {
        // SAFETY: the caller's promise.
        Some(gomp) => gomp.region_of(code, data, unsafe { data.cast::<*mut c_void>().read() }, threads, fork),
        None => fork(code, data),
    }
}

static MAX_THREADS: Replaced = Replaced::new(c"omp_get_max_threads");
static PROCESSORS: Replaced = Replaced::new(c"omp_get_num_procs");
static SET_THREADS: Replaced = Replaced::new(c"omp_set_num_threads");

/// How many threads, or processors, there are where no OpenMP library is: a program may look whether there are these functions.
const ALONE: c_int = 1;

/// What a function of an OpenMP library that the calling code can see says, after what `of` makes known to it.
fn asked(replaced: &Replaced, caller: *const c_void) -> Option<(c_int, Real)> {
    let real = replaced.find(caller)?;
    if let Some(gomp) = of(real) {
        gomp.tell();
    }
    // SAFETY: the type of these functions.
    Some((Gomp::ask(unsafe { real.function() }), real))
}

extern "C" fn max_threads(caller: *const c_void) -> c_int {
    asked(&MAX_THREADS, caller).map_or(ALONE, |(threads, real)| said(threads, real))
}

/// What is said to the program: it may say it in turn, and that is no number of its own.
fn said(threads: c_int, real: Real) -> c_int {
    if of(real).is_some_and(|gomp| threads == gomp.threads as c_int) {
        SAID.store(true, Ordering::Relaxed);
    }
    threads
}

/// As many as a team has threads: programs take one for the other.
extern "C" fn processors(caller: *const c_void) -> c_int {
    asked(&PROCESSORS, caller)
        .map_or(ALONE, |(there, real)| said(of(real).map_or(there, |gomp| there.max(gomp.threads as c_int)), real))
}

extern "C" fn set_threads(threads: c_int, caller: *const c_void) {
    let Some(real) = SET_THREADS.find(caller) else { return };
    if let Some(gomp) = of(real) {
        TOLD.set(true);
        if threads == gomp.threads as c_int && !SAID.load(Ordering::Relaxed) {
            CHOSEN.store(true, Ordering::Relaxed);
        }
    }
    // SAFETY: the type of the function, called with what this was given.
    unsafe { real.function::<Set>()(threads) };
}

/// Fortran hands over where the number is.
extern "C" fn set_threads_at(threads: *const c_int, caller: *const c_void) {
    // SAFETY: the caller's own number.
    if let Some(threads) = unsafe { threads.as_ref() } {
        set_threads(*threads, caller);
    }
}

/// The same of an integer of eight bytes, which libgomp cuts to what fits.
extern "C" fn set_threads_at_8(threads: *const i64, caller: *const c_void) {
    // SAFETY: the caller's own number.
    if let Some(threads) = unsafe { threads.as_ref() } {
        set_threads((*threads).clamp(c_int::MIN.into(), c_int::MAX.into()) as c_int, caller);
    }
}

with_caller!(omp_get_max_threads() -> c_int => max_threads, "rdi", "x0");
with_caller!(omp_get_max_threads_() -> c_int => max_threads, "rdi", "x0");
with_caller!(omp_get_num_procs() -> c_int => processors, "rdi", "x0");
with_caller!(omp_get_num_procs_() -> c_int => processors, "rdi", "x0");
with_caller!(omp_set_num_threads(c_int) => set_threads, "rsi", "x1");
with_caller!(omp_set_num_threads_(*const c_int) => set_threads_at, "rsi", "x1");
with_caller!(omp_set_num_threads_8_(*const i64) => set_threads_at_8, "rsi", "x1");

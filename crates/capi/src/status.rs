//! What functions return.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use evenkeel_runtime::BuildError;

/// What a function has to say. Everything but `EK_OK` means that nothing was done.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ek_status {
    /// It is done.
    EK_OK = 0,
    /// A pointer is null that must not be.
    EK_NULL = 1,
    /// More threads than a pool can have: 8192.
    EK_TOO_MANY_THREADS = 2,
    /// The environment variable EVENKEEL_THREADS is not a number above zero.
    EK_ENVIRONMENT = 3,
    /// The global pool is there already.
    EK_GLOBAL_EXISTS = 4,
    /// A name is not UTF-8.
    EK_NAME = 5,
    /// An access is neither `EK_IN` nor `EK_OUT` nor `EK_INOUT`.
    EK_MODE = 6,
    /// A graph is used by something else than its body: by one of its tasks, by what the body forks, or by another thread.
    EK_THREAD = 7,
    /// A task that runs at once would wait for itself.
    EK_IN_TASK = 8,
    /// The cores of the options are no lists of CPUs that this process may use, a CPU is both big and little, no core is big, or the ratio is not from 1 to
    /// 100.
    EK_CORES = 9,
    /// The techniques of the options have no such name.
    EK_TECHNIQUES = 10,
    /// The options say something about cores, and this system does not tell which it has.
    EK_MACHINE = 11,
    /// The options or the environment variable EVENKEEL_POWERS name no machine whose powers cores can have here: there is none, its file has a mistake, it has
    /// not one core type for each kind of core, or none of its frequencies is one of this machine.
    EK_POWERS = 12,
}

impl From<BuildError> for ek_status {
    fn from(error: BuildError) -> ek_status {
        match error {
            BuildError::Environment(_) => ek_status::EK_ENVIRONMENT,
            BuildError::GlobalExists => ek_status::EK_GLOBAL_EXISTS,
            BuildError::Powers(_) => ek_status::EK_POWERS,
            BuildError::Name(_) => ek_status::EK_NAME,
            // Zero is the default here, so the other end is left.
            _ => ek_status::EK_TOO_MANY_THREADS,
        }
    }
}

const TEXTS: [&CStr; 13] = [
    c"done",
    c"a pointer is null that must not be",
    c"too many threads for a pool, which has at most 8192",
    c"EVENKEEL_THREADS is not a number above zero",
    c"the global pool is there already: configure it once, before anything uses it",
    c"a name is not UTF-8",
    c"an access is neither EK_IN nor EK_OUT nor EK_INOUT",
    c"only the body of a graph uses the graph, not its tasks nor what the body forks",
    c"a task that runs at once would wait for itself",
    c"cores are wrong: expected lists of CPUs that this process may use, such as 0-3,6, none both big and little, one at least big, and a ratio of 1 to 100",
    c"no such techniques: expected none or base, then + and letters of p, s and m, as in base+psm",
    c"this system does not tell which cores it has, so none can be chosen",
    c"powers are wrong: expected the options or EVENKEEL_POWERS to name a machine with a core type for each kind of core; `EVENKEEL_POWERS=NAME evenkeel topology` says what is wrong",
];

/// A status in words: English, without a full stop, never null, never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn ek_status_text(status: i32) -> *const c_char {
    usize::try_from(status).ok().and_then(|status| TEXTS.get(status)).unwrap_or(&c"no status of evenkeel").as_ptr()
}

/// The version of the library, as in "0.1.0"; never to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn ek_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

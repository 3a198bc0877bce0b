//! Functions of the program, and what is passed to them.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_void;
use std::process;

/// A function of the program. `context` is what came with it.
pub type ek_function = Option<unsafe extern "C-unwind" fn(context: *mut c_void)>;

/// What belongs to a function. The header says that it may be used by another thread.
#[derive(Clone, Copy)]
pub(crate) struct Context(*mut c_void);

// SAFETY: the caller that passes one promises that.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    pub(crate) fn new(context: *mut c_void) -> Context {
        Context(context)
    }

    pub(crate) fn get(self) -> *mut c_void {
        self.0
    }
}

/// Calls a function of the program. It does not come back by an exception: no caller could catch it, and tasks that
/// borrow from the frames above may still run.
pub(crate) fn call<R>(f: impl FnOnce() -> R) -> R {
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    struct Thrown;
    impl Drop for Thrown {
        fn drop(&mut self) {
            eprintln!("evenkeel: an exception has left a function that was called by evenkeel");
            process::abort();
        }
    }
    let thrown = Thrown;
    let result = f();
    std::mem::forget(thrown);
    DEPTH.set(depth);
    result
}

/// How many functions of the program, each called by one further down the stack, this thread is in: tells a function from those that it has called
/// while it waits, and from those that it has forked.
pub(crate) fn depth() -> usize {
    DEPTH.get()
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

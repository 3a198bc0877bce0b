//! Pools.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

use evenkeel_runtime::Pool;

use crate::callback::{Context, call, ek_function};
use crate::options::{builder, ek_options};
use crate::status::ek_status;

/// A pool of workers. All functions but `ek_pool_free` may be called by several threads at once.
///
/// In a process that was forked a pool starts workers again when it is first used there, as the global one does. A task that forks has the child exec or exit:
/// one that goes back to a function of evenkeel which waits for another task that a thread of the parent has taken over ends with a message.
pub struct ek_pool(Pool);

/// Makes a pool and writes it to `*pool`. If the system refuses threads the pool works with those it got: `ek_pool_threads`.
///
/// `options` may be null: the default.
///
/// Fails with `EK_NULL`, `EK_TOO_MANY_THREADS`, `EK_ENVIRONMENT`, `EK_NAME`, `EK_CORES`, `EK_TECHNIQUES`, `EK_MACHINE`, `EK_POWERS`; `*pool` is null then.
///
/// # Safety
/// `options` and `pool` are null or point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_pool_new(options: *const ek_options, pool: *mut *mut ek_pool) -> ek_status {
    if pool.is_null() {
        return ek_status::EK_NULL;
    }
    // SAFETY: the caller's promise.
    let built = unsafe { builder(options) }.and_then(|builder| builder.build().map_err(ek_status::from));
    let (status, made) = match built {
        Ok(built) => (ek_status::EK_OK, Box::into_raw(Box::new(ek_pool(built)))),
        Err(status) => (status, ptr::null_mut()),
    };
    // SAFETY: the caller's promise.
    unsafe { pool.write(made) };
    status
}

/// Ends the threads of a pool. Null is allowed. In a task of any pool it does not wait until they have ended: one of them may wait for that task.
///
/// # Safety
/// `pool` comes from `ek_pool_new`, nothing runs in it, and it is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_pool_free(pool: *mut ek_pool) {
    if !pool.is_null() {
        // SAFETY: made by `ek_pool_new`, and freed once.
        drop(unsafe { Box::from_raw(pool) });
    }
}

/// For how many cores a pool works, the calling thread included. Null: the global pool, which is made if need be.
///
/// # Safety
/// `pool` is null or comes from `ek_pool_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_pool_threads(pool: *const ek_pool) -> usize {
    // SAFETY: the caller's promise.
    unsafe { pool.as_ref() }.map_or_else(Pool::global, |pool| &pool.0).threads()
}

/// Calls `f` in a pool, and returns when it has returned: `ek_join`, `ek_scope_run`, loops and graphs in it use this pool's workers.
/// Outside of every pool they use the global one.
///
/// The calling thread takes part; `f` may be called by another thread of the pool all the same if several threads call the pool.
///
/// `pool` null: the global pool. Fails with `EK_NULL` if `f` is null.
///
/// # Safety
/// `pool` is null or comes from `ek_pool_new`. `f` may be called with `context` by another thread. It returns: no exception, no longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_pool_run(pool: *const ek_pool, f: ek_function, context: *mut c_void) -> ek_status {
    let Some(f) = f else { return ek_status::EK_NULL };
    // SAFETY: the caller's promise.
    let pool = unsafe { pool.as_ref() }.map_or_else(Pool::global, |pool| &pool.0);
    let context = Context::new(context);
    // SAFETY: the caller's promise.
    pool.install(|| call(|| unsafe { f(context.get()) }));
    ek_status::EK_OK
}

/// Makes the global pool, before anything has used it. `options` may be null.
///
/// Fails with `EK_GLOBAL_EXISTS`, and as `ek_pool_new`.
///
/// # Safety
/// As for `ek_pool_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_global_configure(options: *const ek_options) -> ek_status {
    // SAFETY: the caller's promise.
    match unsafe { builder(options) }.and_then(|builder| builder.build_global().map_err(ek_status::from)) {
        Ok(_) => ek_status::EK_OK,
        Err(status) => status,
    }
}

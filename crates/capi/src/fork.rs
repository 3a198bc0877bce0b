//! Two things at once, and any number.
#![allow(unsafe_code)]

use std::ffi::c_void;

use evenkeel_runtime::{Scope, join, scope};

use crate::callback::{Context, call, ek_function};
use crate::status::ek_status;

/// Calls `a(a_context)` and `b(b_context)`, at the same time if another core is free, and returns when both have returned.
///
/// Costs little more than two calls as long as no worker steals `b`, so both may be small.
///
/// Fails with `EK_NULL` if a function is null.
///
/// # Safety
/// `b` may be called with its context by another thread while `a` runs. Both return: no exception, no longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_join(
    a: ek_function,
    a_context: *mut c_void,
    b: ek_function,
    b_context: *mut c_void,
) -> ek_status {
    let (Some(a), Some(b)) = (a, b) else { return ek_status::EK_NULL };
    let (a_context, b_context) = (Context::new(a_context), Context::new(b_context));
    // SAFETY: the caller's promise.
    join(|| call(|| unsafe { a(a_context.get()) }), || call(|| unsafe { b(b_context.get()) }));
    ek_status::EK_OK
}

/// Where tasks are spawned: exists while `ek_scope_run` does. Any task of the scope may use it, several at once.
pub struct ek_scope(());

/// A task of a scope, or its body. It gets the scope, to spawn more.
pub type ek_spawned = Option<unsafe extern "C-unwind" fn(scope: *const ek_scope, context: *mut c_void)>;

/// Calls `body`, which spawns tasks, and returns when all of them have returned.
///
/// Fails with `EK_NULL` if `body` is null.
///
/// # Safety
/// `body` may be called with `context` by another thread. It returns: no exception, no longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_scope_run(body: ek_spawned, context: *mut c_void) -> ek_status {
    let Some(body) = body else { return ek_status::EK_NULL };
    let context = Context::new(context);
    scope(|scope: &Scope<'static>| {
        // SAFETY: the caller's promise.
        call(|| unsafe { body(handle(scope), context.get()) });
    });
    ek_status::EK_OK
}

/// Spawns a task, which runs some time before the scope ends.
///
/// The newest task of a worker is run first by itself, the oldest is stolen first by others.
///
/// Fails with `EK_NULL` if `scope` or `task` is null.
///
/// # Safety
/// The scope has not ended: this is called by its body or by one of its tasks. `task` may be called with `context` by another thread, until the
/// scope has ended. It returns: no exception, no longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_spawn(scope: *const ek_scope, task: ek_spawned, context: *mut c_void) -> ek_status {
    // SAFETY: the caller's promise; `handle` made it.
    let scope = unsafe { scope.cast::<Scope<'static>>().as_ref() };
    let (Some(scope), Some(task)) = (scope, task) else { return ek_status::EK_NULL };
    let context = Context::new(context);
    scope.spawn(move |scope| {
        // SAFETY: the caller's promise.
        call(|| unsafe { task(handle(scope), context.get()) });
    });
    ek_status::EK_OK
}

/// A scope as C knows it.
fn handle(scope: &Scope<'static>) -> *const ek_scope {
    std::ptr::from_ref(scope).cast()
}

//! Tasks that depend on each other through the regions that they use.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::thread::{self, ThreadId};

use evenkeel_runtime::{Graph, Read, Region, Write, graph};

use crate::callback::{Context, call, depth, ek_function};
use crate::status::ek_status;

/// Where a thread makes tasks: exists while `ek_graph_run` does. Only its body uses it, and tasks that run by `ek_task_now`; other tasks do not, nor what
/// the body forks.
pub struct ek_graph(());

/// What a task does with a region.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ek_mode {
    /// Reads it.
    EK_IN = 0,
    /// Writes it.
    EK_OUT = 1,
    /// Reads and writes it.
    EK_INOUT = 2,
}

/// A region that a task uses.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ek_access {
    /// `EK_IN`, `EK_OUT` or `EK_INOUT`.
    pub mode: i32,
    /// Stands for the region, and is not followed: regions with different addresses have nothing to do with each other, so data that is used in
    /// parts has a region for each part.
    pub region: *const c_void,
}

/// The body of a graph.
pub type ek_graph_body = Option<unsafe extern "C-unwind" fn(graph: *mut ek_graph, context: *mut c_void)>;

/// What stands for an address. Only its place in the graph matters.
type Token<'g> = Region<'g, Nothing>;
type Nothing = [(); 0];

/// What is read, and what is written.
type Accesses<'g> = (Vec<Read<'g, Nothing>>, Vec<Write<'g, Nothing>>);

/// What an `ek_graph` is.
struct Creator<'g, 'env> {
    graph: &'g Graph<'g, 'env>,
    regions: RefCell<BTreeMap<usize, Token<'g>>>,
    thread: ThreadId,
    /// How deep the body is, or the task that runs now.
    depth: Cell<usize>,
    /// In a task that runs now.
    in_task: Cell<bool>,
}

impl<'g> Creator<'g, '_> {
    /// Each region once, though it may be named several times.
    fn accesses(&self, uses: &[ek_access]) -> Result<Accesses<'g>, ek_status> {
        const READS: i32 = ek_mode::EK_IN as i32;
        let mut writes = BTreeMap::new();
        for one in uses {
            if !(READS..=ek_mode::EK_INOUT as i32).contains(&one.mode) {
                return Err(ek_status::EK_MODE);
            }
            *writes.entry(one.region.addr()).or_default() |= one.mode != READS;
        }
        let mut regions = self.regions.borrow_mut();
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (address, writes) in writes {
            let region = *regions.entry(address).or_insert_with(|| self.graph.region(&mut []));
            if writes {
                written.push(region.write());
            } else {
                read.push(region.read());
            }
        }
        Ok((read, written))
    }
}

/// The creator behind a handle, if the caller may use it: the body, or the task that runs now. Its thread runs other functions, too, which may not. A task
/// would wait for itself. The first half of a fork lies above the second one in the queue, where a graph that waits would take it.
///
/// # Safety
/// Null, or the handle of a graph that has not ended.
unsafe fn creator<'a>(graph: *mut ek_graph) -> Result<&'a Creator<'a, 'a>, ek_status> {
    // SAFETY: the caller's promise; `ek_graph_run` made it. What it borrows lives as long as the graph.
    let creator = unsafe { graph.cast::<Creator<'a, 'a>>().as_ref() }.ok_or(ek_status::EK_NULL)?;
    let own = creator.thread == thread::current().id() && creator.depth.get() == depth();
    if own { Ok(creator) } else { Err(ek_status::EK_THREAD) }
}

/// # Safety
/// So many are there.
unsafe fn slice<'a>(uses: *const ek_access, count: usize) -> Result<&'a [ek_access], ek_status> {
    match (count, uses.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(ek_status::EK_NULL),
        // SAFETY: the caller's promise.
        (_, false) => Ok(unsafe { std::slice::from_raw_parts(uses, count) }),
    }
}

fn status(result: Result<(), ek_status>) -> ek_status {
    result.err().unwrap_or(ek_status::EK_OK)
}

/// Calls `body`, which makes tasks, and returns when all of them have returned.
///
/// Tasks run while `body` creates more. One that reads a region waits for the last task before it that writes it; one that writes it waits for
/// all that have read it since, or for the last writer. So the result is as if each task ran when it is made. This is `depend` of OpenMP 4.
///
/// Fails with `EK_NULL` if `body` is null.
///
/// # Safety
/// `body` may be called with `context` by another thread. It returns: no exception, no longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_graph_run(body: ek_graph_body, context: *mut c_void) -> ek_status {
    let Some(body) = body else { return ek_status::EK_NULL };
    let context = Context::new(context);
    graph(|graph| {
        let creator = Creator {
            graph,
            regions: RefCell::default(),
            thread: thread::current().id(),
            depth: Cell::new(depth() + 1),
            in_task: Cell::new(false),
        };
        let handle = std::ptr::from_ref(&creator).cast_mut().cast();
        // SAFETY: the caller's promise.
        call(|| unsafe { body(handle, context.get()) });
        // Tasks that are left run while the creator is there, which they may have the handle of. No function may use it any more.
        creator.depth.set(usize::MAX);
        graph.wait();
    });
    ek_status::EK_OK
}

/// Makes a task, which runs as soon as those before it that it depends on have returned.
///
/// It uses `count` regions; null if there are none. `priority` above 0: as soon as it is ready it goes before tasks with less.
///
/// Fails with `EK_NULL` if `graph`, `task` or `uses` is null, `EK_MODE`, `EK_THREAD`.
///
/// # Safety
/// The graph has not ended. `task` may be called with `context` by another thread, until the graph has ended, and touches nothing that
/// another task writes but in regions that it uses. It returns: no exception, no longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_task(
    graph: *mut ek_graph,
    uses: *const ek_access,
    count: usize,
    priority: u32,
    task: ek_function,
    context: *mut c_void,
) -> ek_status {
    let create = || {
        // SAFETY: the caller's promise.
        let (creator, uses) = unsafe { (creator(graph)?, slice(uses, count)?) };
        let task = task.ok_or(ek_status::EK_NULL)?;
        let context = Context::new(context);
        creator.graph.task(creator.accesses(uses)?).priority(priority).spawn(move |_| {
            // SAFETY: the caller's promise.
            call(|| unsafe { task(context.get()) });
        });
        Ok(())
    };
    status(create())
}

/// Calls `task` here, as soon as those before it that it depends on have returned, and works meanwhile: for data on which the
/// program's next step depends.
///
/// Fails as `ek_task`, and with `EK_IN_TASK` in another one that runs like this.
///
/// # Safety
/// As for `ek_task`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_task_now(
    graph: *mut ek_graph,
    uses: *const ek_access,
    count: usize,
    task: ek_function,
    context: *mut c_void,
) -> ek_status {
    let run = || {
        // SAFETY: the caller's promise.
        let (creator, uses) = unsafe { (creator(graph)?, slice(uses, count)?) };
        let task = task.ok_or(ek_status::EK_NULL)?;
        if creator.in_task.get() {
            return Err(ek_status::EK_IN_TASK);
        }
        creator.graph.task(creator.accesses(uses)?).now(|_| {
            let body = creator.depth.replace(depth() + 1);
            creator.in_task.set(true);
            // SAFETY: the caller's promise.
            call(|| unsafe { task(context) });
            creator.in_task.set(false);
            creator.depth.set(body);
        });
        Ok(())
    };
    status(run())
}

/// Waits until all tasks made so far have returned, and works meanwhile.
///
/// Fails with `EK_NULL` if `graph` is null, `EK_THREAD`, `EK_IN_TASK` in a task that runs by `ek_task_now`.
///
/// # Safety
/// The graph has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_graph_wait(graph: *mut ek_graph) -> ek_status {
    // SAFETY: the caller's promise.
    status(unsafe { creator(graph) }.and_then(|creator| {
        if creator.in_task.get() {
            return Err(ek_status::EK_IN_TASK);
        }
        creator.graph.wait();
        Ok(())
    }))
}

/// A bound on the tasks that are made and have not returned: with as many the thread that makes them works until half are left. It is 500 for
/// each worker by default; 0 counts as 1.
///
/// Fails with `EK_NULL` if `graph` is null, `EK_THREAD`.
///
/// # Safety
/// The graph has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ek_graph_window(graph: *mut ek_graph, tasks: usize) -> ek_status {
    // SAFETY: the caller's promise.
    status(unsafe { creator(graph) }.map(|creator| creator.graph.window(tasks)))
}

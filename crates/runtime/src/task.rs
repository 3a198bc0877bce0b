//! A task of a graph: what has to end before it, and which tasks wait for it.
//!
//! Only the thread that makes the graph adds edges; the workers that end tasks take them away. An edge lies in the task that waits, and in the list of the one that
//! it waits for, which ends by taking that list and closing it in one step. So either the edge is in the list that is taken, or the end is seen when the edge would be made.
//!
//! That step is the last time that a worker touches the task. From then on the thread that makes the graph may put another task in its place. So what it remembers of a task is the
//! place and the generation: the number of tasks that were there before.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::mem::{MaybeUninit, align_of, size_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::job::{Job, Panic};
use crate::scope::ScopeRef;
use crate::state::WorkerSlot;
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize};
use crate::worker::Worker;

/// More than a task ever waits for, while it is being created.
const BEING_CREATED: usize = usize::MAX / 2;
/// So many edges of a task need no memory of their own, as most tasks have few.
const EDGES: usize = 3;
/// Nor does what the body of a task holds, if it is not larger: four regions.
const INLINE: usize = 64;
/// How many places are looked at for one that is free (assumed): a full window is emptied to a half, so that one in two is.
const TRIES: usize = 4;

/// A job that runs when all that it depends on has ended.
#[repr(C, align(64))]
struct GraphTask {
    job: Job,
    scope: ScopeRef<'static>,
    /// Tasks that have to end before, and many more while this one is being created.
    before: AtomicUsize,
    /// The edges to tasks that wait for this one; [`DONE`] or [`FAILED`] when it has ended.
    after: AtomicPtr<Edge>,
    runs_on: RunsOn,
    /// Something before it has panicked, or was not run.
    hopeless: AtomicBool,
    /// The number of tasks that were in this place before. For the thread that makes the graph, as is `edges`.
    generation: Cell<usize>,
    /// How many edges it has.
    edges: Cell<usize>,
    /// The first of them.
    first: [Edge; EDGES],
    body: UnsafeCell<MaybeUninit<[u64; INLINE / 8]>>,
}

/// One task waits for another.
#[derive(Clone)]
struct Edge {
    next: Cell<*mut Edge>,
    later: Cell<*mut GraphTask>,
}

/// The list of a task that has ended well.
const DONE: *mut Edge = ptr::without_provenance_mut(1);
/// That of one that has panicked, or was not run.
const FAILED: *mut Edge = ptr::without_provenance_mut(2);

/// Where a task runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunsOn {
    /// Any worker; above zero it goes before others.
    AnyWorker { priority: u32 },
    /// The thread that makes the graph, which waits for it.
    Creator,
}

/// The memory of a graph's tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    places: Vec<NonNull<GraphTask>>,
    /// Where to look next for one that is free.
    next: usize,
}

/// A task, as the thread that makes the graph remembers it. It is not to be used after the graph's [`Tasks`].
#[derive(Clone, Copy)]
pub(crate) struct TaskRef {
    place: NonNull<GraphTask>,
    generation: usize,
}

impl Tasks {
    /// A task without edges that does this when it is run. It counts as one of the scope's. It is [created](TaskRef::created) when its edges are made.
    ///
    /// # Safety
    /// The scope, these tasks, and what `body` borrows, exist until the task has ended.
    pub(crate) unsafe fn add<F: FnOnce() + Send>(
        &mut self,
        scope: ScopeRef<'static>,
        runs_on: RunsOn,
        body: Option<F>,
    ) -> TaskRef {
        let (place, generation) = self.free().unwrap_or_else(|| self.grow());
        let edge = Edge { next: Cell::new(ptr::null_mut()), later: Cell::new(ptr::null_mut()) };
        let task = GraphTask {
            job: Job::new(run::<F>),
            scope,
            before: AtomicUsize::new(BEING_CREATED),
            after: AtomicPtr::new(ptr::null_mut()),
            runs_on,
            hopeless: AtomicBool::new(false),
            generation: Cell::new(generation),
            edges: Cell::new(0),
            first: [edge.clone(), edge.clone(), edge],
            body: UnsafeCell::new(MaybeUninit::uninit()),
        };
        // SAFETY: it is there, and no other thread touches it.
        unsafe {
            place.write(task);
            if let Some(body) = body {
                put(place, body);
            }
        }
        TaskRef { place, generation }
    }

    /// A place whose task has ended well, and the next generation there.
    fn free(&mut self) -> Option<(NonNull<GraphTask>, usize)> {
        for _ in 0..TRIES.min(self.places.len()) {
            let place = self.places[self.next];
            self.next = if self.next + 1 < self.places.len() { self.next + 1 } else { 0 };
            // SAFETY: places exist as long as this.
            let task = unsafe { place.as_ref() };
            if task.after.load(Acquire) == DONE {
                return Some((place, task.generation.get() + 1));
            }
        }
        None
    }

    /// A new place, and the first generation there.
    fn grow(&mut self) -> (NonNull<GraphTask>, usize) {
        let place = NonNull::from(Box::leak(Box::<GraphTask>::new_uninit())).cast();
        self.places.push(place);
        (place, 0)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for place in &self.places {
            // SAFETY: made by `grow`, and initialised by `add`. All tasks have ended.
            drop(unsafe { Box::from_raw(place.as_ptr()) });
        }
    }
}

/// Whether a body lies in the task, and not in memory of its own.
const fn is_inline<F>() -> bool {
    size_of::<F>() <= INLINE && align_of::<F>() <= align_of::<u64>()
}

/// # Safety
/// No other thread touches the task.
unsafe fn put<F>(place: NonNull<GraphTask>, body: F) {
    // SAFETY: the caller's promise.
    let at = unsafe { place.as_ref() }.body.get();
    // SAFETY: there is room for either.
    unsafe {
        if is_inline::<F>() {
            at.cast::<F>().write(body);
        } else {
            at.cast::<Box<F>>().write(Box::new(body));
        }
    }
}

/// # Safety
/// As for [`put`], by which a body of this type was put there that has not been taken.
unsafe fn take<F>(place: NonNull<GraphTask>) -> F {
    // SAFETY: the caller's promise.
    let at = unsafe { place.as_ref() }.body.get();
    // SAFETY: as above.
    unsafe { if is_inline::<F>() { at.cast::<F>().read() } else { *at.cast::<Box<F>>().read() } }
}

impl TaskRef {
    fn task(&self) -> &GraphTask {
        // SAFETY: places exist as long as the graph's tasks.
        unsafe { self.place.as_ref() }
    }

    /// Whether it has ended well, so that no task needs to follow it.
    pub(crate) fn is_done(self) -> bool {
        self.task().generation.get() != self.generation || self.task().after.load(Acquire) == DONE
    }

    /// Makes this one wait for an earlier one, while it is being created. Only this thread adds to the earlier one's list, so that what is found there stays until that task ends.
    pub(crate) fn follow(self, earlier: TaskRef) {
        if earlier.task().generation.get() != earlier.generation {
            return;
        }
        let mut newest = earlier.task().after.load(Acquire);
        if newest != DONE && newest != FAILED {
            let edge = self.edge(newest);
            match earlier.task().after.compare_exchange(newest, edge, AcqRel, Acquire) {
                Ok(_) => return,
                Err(end) => newest = end,
            }
            self.take_back(edge);
        }
        if newest == FAILED {
            self.task().hopeless.store(true, Relaxed);
        }
    }

    /// The next edge.
    fn edge(self, next: *mut Edge) -> *mut Edge {
        let count = self.task().edges.get();
        self.task().edges.set(count + 1);
        let edge = match count < EDGES {
            // SAFETY: a field of the task.
            true => unsafe { (&raw mut (*self.place.as_ptr()).first).cast::<Edge>().add(count) },
            false => Box::into_raw(Box::new(Edge { next: Cell::default(), later: Cell::default() })),
        };
        // SAFETY: no other thread has it yet.
        unsafe {
            (*edge).next.set(next);
            (*edge).later.set(self.place.as_ptr());
        }
        edge
    }

    /// The newest edge is not needed.
    fn take_back(self, edge: *mut Edge) {
        let count = self.task().edges.get() - 1;
        self.task().edges.set(count);
        if count >= EDGES {
            // SAFETY: made by `edge`, and in no list.
            drop(unsafe { Box::from_raw(edge) });
        }
    }

    /// All its edges are made. It may have run when this returns.
    pub(crate) fn created(self, worker: Worker<'_>) {
        match self.task().edges.get() {
            // SAFETY: it was not ready before.
            0 => unsafe { ready(self.place, worker) },
            // SAFETY: as many of those before it have ended as are missing in the count.
            edges => unsafe { fewer(self.place, BEING_CREATED - edges, worker) },
        }
    }

    /// Whether something before it has failed. Known when it is ready, of a task that runs on its creator.
    pub(crate) fn is_hopeless(self) -> bool {
        self.task().hopeless.load(Relaxed)
    }

    /// Ends one that runs on its creator.
    pub(crate) fn end(self, outcome: Result<(), Panic>, worker: Worker<'_>) {
        // SAFETY: nothing else ends it.
        unsafe { end(self.place, outcome, worker) };
    }

    /// Ends one that runs on its creator, with a panic that goes another way than through the scope.
    pub(crate) fn fail(self, worker: Worker<'_>) {
        self.task().hopeless.store(true, Relaxed);
        self.end(Ok(()), worker);
    }
}

/// Takes a number off what has to end before a task. AcqRel: the last of those before sees what the others did, and so does the task.
///
/// # Safety
/// The task waits for that number.
unsafe fn fewer(place: NonNull<GraphTask>, number: usize, worker: Worker<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        if place.as_ref().before.fetch_sub(number, AcqRel) == number {
            ready(place, worker);
        }
    }
}

/// Has a task run.
///
/// # Safety
/// It waits for nothing, and this is called once.
unsafe fn ready(place: NonNull<GraphTask>, worker: Worker<'_>) {
    // SAFETY: the caller's promise.
    let (runs_on, scope) = unsafe { (place.as_ref().runs_on, place.as_ref().scope) };
    match runs_on {
        RunsOn::Creator => scope.get().open(),
        RunsOn::AnyWorker { priority: 0 } => {
            worker.push(place.cast());
        }
        RunsOn::AnyWorker { priority } => worker.hurry(priority, place.cast()),
    }
}

unsafe fn run<F: FnOnce()>(job: NonNull<Job>, slot: &WorkerSlot) {
    let place = job.cast::<GraphTask>();
    // SAFETY: run once, after whatever made it ready.
    let (body, hopeless) = unsafe { (take::<F>(place), place.as_ref().hopeless.load(Relaxed)) };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // What it owns is dropped in any case.
        if !hopeless {
            body();
        }
    }));
    // SAFETY: it ends here. A job is run by the worker in that slot.
    unsafe { end(place, outcome, Worker::at(slot)) };
}

/// Ends a task, and makes those ready that waited for it alone.
///
/// # Safety
/// It is ready, and this is called once.
unsafe fn end(place: NonNull<GraphTask>, outcome: Result<(), Panic>, worker: Worker<'_>) {
    // SAFETY: the caller's promise.
    let (task, scope) = unsafe { (place.as_ref(), place.as_ref().scope) };
    let failed = outcome.is_err() || task.hopeless.load(Relaxed);
    // Another task may be there from then on.
    let mut next = task.after.swap(if failed { FAILED } else { DONE }, AcqRel);
    while !next.is_null() {
        // SAFETY: the task that the edge is of waits until the count is lower.
        unsafe {
            let edge = next;
            let later = (*edge).later.get();
            next = (*edge).next.get();
            if !lies_in(edge, later) {
                drop(Box::from_raw(edge));
            }
            if failed {
                (*later).hopeless.store(true, Relaxed);
            }
            fewer(NonNull::new_unchecked(later), 1, worker);
        }
    }
    // The scope may be gone after that.
    scope.leave(outcome);
}

/// Whether an edge is one of the first of its task, and not in memory of its own.
fn lies_in(edge: *const Edge, task: *const GraphTask) -> bool {
    (task.addr()..task.addr() + size_of::<GraphTask>()).contains(&edge.addr())
}

//! Tasks that say which regions they read and write, and run as soon as those before them that they depend on have ended.
//!
//! The model is that of OmpSs and OpenMP 4 (`depend`), as in Chapter III.D of "Exploiting Asymmetric Multi-Core Processors with Flexible System Software". The
//! order of creation is the order that counts: what a task sees of its regions is what it would see if each task ran when it is created.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use smallvec::SmallVec;

use crate::pool::Pool;
use crate::region::{Access, Lend, Region, RegionUse};
use crate::scope::{Scope, ScopeRef};
use crate::task::{RunsOn, TaskRef, Tasks};
use crate::worker::Worker;

/// Tasks that are created and have not ended, for each worker, by default. `assumed`, as in Nanos++, and in the simulator.
const WINDOW: usize = 500;

/// Where a thread makes tasks; see [`graph`].
pub struct Graph<'g, 'env: 'g> {
    scope: Scope<'g>,
    worker: Worker<'g>,
    tasks: RefCell<Tasks>,
    regions: RefCell<Vec<RegionHistory>>,
    /// What the task that is being created uses: kept for its memory.
    uses: RefCell<Vec<RegionUse>>,
    window: Cell<usize>,
    /// Tasks that the scope counts already, and that may be created before it has to be asked how many have not ended: workers change that number all the time.
    room: Cell<usize>,
    /// A task runs [`now`](Creation::now): waiting for all tasks would include this one.
    in_task: Cell<bool>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// The tasks that touched a region last.
#[derive(Default)]
struct RegionHistory {
    writer: Option<TaskRef>,
    /// Since that one.
    readers: SmallVec<[TaskRef; 2]>,
}

impl RegionHistory {
    /// Adds a task, which waits for those that it must not run with.
    fn add(&mut self, task: TaskRef, writes: bool) {
        if let (Some(writer), true) = (self.writer, self.readers.is_empty() || !writes) {
            task.follow(writer);
        }
        if writes {
            self.readers.drain(..).for_each(|reader| task.follow(reader));
            self.writer = Some(task);
            return;
        }
        if self.readers.len() == self.readers.capacity() {
            self.readers.retain(|reader| !reader.is_done());
        }
        self.readers.push(task);
    }
}

/// Runs `f`, which makes tasks that share regions, and waits until all have ended.
///
/// Tasks run while `f` makes more. One that [reads](Region::read) a region waits for the last task before it that [writes](Region::write) it; one that
/// writes it waits for all that have read it since, or for the last writer. So each gets ordinary references, and what it finds there is what it would find if
/// tasks ran one after the other in the order of their creation. Data that no task writes needs no region: tasks may borrow it, as anything that outlives
/// the graph.
///
/// Any data of which there is a `&mut` is a region, so parts are made as usual: `chunks_mut`, `split_at_mut`, `iter_mut`. A task may have a graph of its own,
/// with regions in what it got to write. Only the thread that runs `f` makes tasks of this one.
///
/// Outside of [`Pool::install`] the [global pool](Pool::global) is used.
///
/// # Panics
/// If `f` or a task panics, after all have ended; with the panic of `f` if it has one, else with the first one of a task. Tasks that depend on
/// one that has panicked are not run, nor what depends on them; others are.
///
/// # Examples
/// ```
/// let (mut a, mut b, mut sum) = (vec![1, 2, 3], vec![10, 20, 30], 0);
/// evenkeel_runtime::graph(|g| {
///     let (a, b, sum) = (g.region(&mut a), g.region(&mut b), g.region(&mut sum));
///     g.task(a.write()).spawn(|a| a.reverse());
///     g.task(b.write()).spawn(|b| b.iter_mut().for_each(|x| *x += 1)); // at the same time
///     g.task((a.read(), b.read(), sum.write())).spawn(|(a, b, sum)| *sum = a[0] * b[0]); // after both
/// });
/// assert_eq!(sum, 33);
/// ```
///
/// Tiles: each row of the triangle waits for those above it, and no more.
/// ```
/// let mut rows = vec![[0_u32; 6]; 6];
/// rows[0][0] = 1;
/// evenkeel_runtime::graph(|g| {
///     let rows: Vec<_> = rows.iter_mut().map(|row| g.region(row)).collect();
///     for pair in rows.windows(2) {
///         g.task((pair[0].read(), pair[1].write())).priority(1).spawn(|(above, row)| {
///             for i in 0..row.len() {
///                 row[i] = above[i] + if i > 0 { above[i - 1] } else { 0 };
///             }
///         });
///     }
/// });
/// assert_eq!(rows[5], [1, 5, 10, 10, 5, 1]);
/// ```
///
/// A region is used through its graph alone:
/// ```compile_fail
/// let mut a = 1;
/// evenkeel_runtime::graph(|g| {
///     let region = g.region(&mut a);
///     a += 1; // borrowed
///     g.task(region.read()).spawn(|_| ());
/// });
/// ```
/// ```compile_fail
/// let mut a = 1;
/// evenkeel_runtime::graph(|g| {
///     let a = g.region(&mut a);
///     evenkeel_runtime::graph(|other| other.task(a.write()).spawn(|_| ())); // of another graph
/// });
/// ```
/// ```compile_fail
/// let mut a = 1;
/// evenkeel_runtime::graph(|g| {
///     let a = g.region(&mut a);
///     g.task(a.write()).spawn(|_| g.wait()); // a task makes none
/// });
/// ```
/// ```compile_fail
/// let mut a = 1;
/// evenkeel_runtime::graph(|g| {
///     let a = g.region(&mut a);
///     let kept: &i32 = g.task(a.read()).now(|a| a); // outlives the access
///     g.task(a.write()).spawn(|a| *a += 1);
///     assert_eq!(*kept, 1);
/// });
/// ```
pub fn graph<'env, F, R>(f: F) -> R
where
    F: for<'g> FnOnce(&'g Graph<'g, 'env>) -> R + Send,
    R: Send,
{
    let Some(worker) = Worker::current() else { return Pool::global().install(|| graph(f)) };
    let graph = Graph {
        scope: Scope::new(worker),
        worker,
        tasks: RefCell::default(),
        regions: RefCell::default(),
        uses: RefCell::default(),
        window: Cell::new(WINDOW * worker.shared().slots.len()),
        room: Cell::new(0),
        in_task: Cell::new(false),
        _env: PhantomData,
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| f(&graph)));
    graph.close();
    graph.scope.end(worker, outcome)
}

impl<'g, 'env> Graph<'g, 'env> {
    /// Data that tasks share. The graph has borrowed it until it ends.
    pub fn region<T: ?Sized>(&'g self, data: &'g mut T) -> Region<'g, T> {
        let mut regions = self.regions.borrow_mut();
        regions.push(RegionHistory::default());
        Region::new(data, regions.len() - 1)
    }

    /// A task that uses regions: [`spawn`](Creation::spawn) it.
    pub fn task<A: Access + 'g>(&'g self, accesses: A) -> Creation<'g, 'env, A> {
        Creation { graph: self, accesses: Lent(accesses), priority: 0 }
    }

    /// Waits until all tasks created so far have ended, and works meanwhile (`taskwait`).
    ///
    /// # Panics
    /// If a task has panicked, and in a task that runs [`now`](Creation::now).
    pub fn wait(&'g self) {
        self.check_outside();
        self.close();
        self.scope.wait(self.worker, 0);
        if let Some(panic) = self.scope.take_panic() {
            resume_unwind(panic);
        }
    }

    /// A bound on the tasks that are created and have not ended: with as many the creating thread works until half are left. Default: 500 for each
    /// worker. Zero counts as one.
    pub fn window(&'g self, tasks: usize) {
        self.close();
        self.window.set(tasks.max(1));
    }

    fn check_outside(&self) {
        assert!(!self.in_task.get(), "a task that runs now cannot wait for others: it would wait for itself");
    }

    /// Notes what the next task uses, and makes room for it.
    fn admit(&self, accesses: &impl Access) {
        let mut uses = self.uses.borrow_mut();
        uses.clear();
        accesses.each(&mut |one| uses.push(one));
        uses.sort_unstable();
        let twice = uses.windows(2).any(|pair| pair[0].region == pair[1].region && pair[1].writes);
        assert!(!twice, "a task that writes a region accesses it once");

        if self.room.get() == 0 {
            self.make_room();
        }
        self.room.set(self.room.get() - 1);
    }

    #[cold]
    fn make_room(&self) {
        let window = self.window.get();
        let mut unfinished = self.scope.unfinished();
        if unfinished >= window && !self.in_task.get() {
            self.scope.wait(self.worker, window / 2);
            unfinished = window / 2;
        }
        self.room.set(window.saturating_sub(unfinished).max(1));
        self.scope.enter_many(self.room.get());
    }

    /// Gives back the room: it is waited for tasks that are there.
    fn close(&self) {
        self.scope.take_back(self.room.take());
    }

    /// Makes the task that was admitted, with its edges. It still has to be [created](TaskRef::created).
    ///
    /// # Safety
    /// What the body borrows lives until the graph ends.
    unsafe fn link<F: FnOnce() + Send>(&self, runs_on: RunsOn, body: Option<F>) -> TaskRef {
        // SAFETY: `graph` waits for all tasks of its scope, and then drops this.
        let task = unsafe { self.tasks.borrow_mut().add(ScopeRef::new(&self.scope), runs_on, body) };
        let mut regions = self.regions.borrow_mut();
        for one in &*self.uses.borrow() {
            regions[one.region].add(task, one.writes);
        }
        task
    }
}

/// A task that is about to be created; see [`Graph::task`].
#[must_use = "a task is created by `spawn` or `now`"]
pub struct Creation<'g, 'env, A> {
    graph: &'g Graph<'g, 'env>,
    accesses: Lent<A>,
    priority: u32,
}

impl<'g, A: Access + 'g> Creation<'g, '_, A> {
    /// Ready tasks with a priority above zero go before all others, the highest first. Default: zero.
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// Creates it. `f` gets a reference for each access, in the same shape.
    ///
    /// # Panics
    /// If the task accesses a region twice, and writes it.
    pub fn spawn<F>(self, f: F)
    where
        F: for<'t> FnOnce(<A as Lend<'t>>::Refs) + Send + 'g,
    {
        let Creation { graph, accesses, priority } = self;
        graph.admit(&accesses.0);
        graph.worker.count_spawn();
        // SAFETY: a task is run when those have ended that it must not run with.
        let body = move || unsafe { accesses.call(f) };
        // SAFETY: what is borrowed for `'g` lives until the graph ends.
        unsafe { graph.link(RunsOn::AnyWorker { priority }, Some(body)) }.created(graph.worker);
    }

    /// Runs it here, as soon as what it depends on has ended, and returns what it gives: for data on which the program's next step depends. Works meanwhile.
    ///
    /// # Panics
    /// If `f` does, or something that it depends on has, and in another task that runs now. As [`spawn`](Self::spawn).
    pub fn now<F, R>(self, f: F) -> R
    where
        F: for<'t> FnOnce(<A as Lend<'t>>::Refs) -> R,
    {
        let Creation { graph, accesses, .. } = self;
        graph.check_outside();
        let worker = graph.worker;
        graph.admit(&accesses.0);
        // SAFETY: there is no body.
        let task = unsafe { graph.link(RunsOn::Creator, None::<fn()>) };
        task.created(worker);
        graph.scope.wait_for_open(worker);
        if task.is_hopeless() {
            task.end(Ok(()), worker);
            graph.wait();
            panic!("a task that this one depends on has panicked");
        }
        graph.in_task.set(true);
        // SAFETY: it is ready.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { accesses.call(f) }));
        graph.in_task.set(false);
        match outcome {
            Ok(result) => {
                task.end(Ok(()), worker);
                result
            }
            Err(panic) => {
                // The panic is propagated from here. Tasks that depend on this one are not run.
                task.fail(worker);
                resume_unwind(panic)
            }
        }
    }
}

/// Accesses on their way to a worker.
struct Lent<A>(A);

// SAFETY: what is read is `Sync`, what is written is `Send`: `Region::read` and `Region::write` demand it, and accesses hold nothing else.
unsafe impl<A: Access> Send for Lent<A> {}

impl<A: Access> Lent<A> {
    /// # Safety
    /// As for [`Lend::lend`], until `f` returns.
    unsafe fn call<F, R>(self, f: F) -> R
    where
        F: for<'t> FnOnce(<A as Lend<'t>>::Refs) -> R,
    {
        // SAFETY: the caller's promise.
        f(unsafe { self.0.lend() })
    }
}

impl Pool {
    /// [`graph`](crate::graph) in this pool.
    ///
    /// # Panics
    /// If `f` or a task does.
    pub fn graph<'env, F, R>(&self, f: F) -> R
    where
        F: for<'g> FnOnce(&'g Graph<'g, 'env>) -> R + Send,
        R: Send,
    {
        self.install(|| graph(f))
    }
}

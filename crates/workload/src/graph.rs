//! The task dependence graph of a program. Which tasks the main thread creates, and in which order, does not depend on
//! the run, so the graph is known beforehand: what depends on the run is how much of it exists at a time.

use std::ops::Range;

use crate::program::{Op, Program, Task};

/// Tasks that a program creates, at most: a bound on what a file can hold.
pub const MOST_TASKS: u64 = 1_000_000;
/// Dependences between them, at most.
const MOST_DEPENDENCES: usize = 16_000_000;
/// Regions that they name, each as often as it is named, at most.
const MOST_NAMED: usize = 16_000_000;

/// The tasks of a program in the order of their creation, and who waits for whom.
///
/// A task that reads a region depends on the last task before it that writes the region; one that writes it depends on
/// all that have read it since, or on the last writer if none has (OpenMP 4, `depend`). A taskwait orders all tasks
/// before it before all tasks after it; it makes no edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskGraph {
    sites: Vec<u32>,
    /// How many tasks there are before each taskwait, and in all.
    waits: Vec<usize>,
    predecessors: Edges,
    successors: Edges,
}

/// For each task a list of others, one after the other in one array.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edges {
    first: Vec<u32>,
    ends: Vec<u32>,
}

impl Default for Edges {
    fn default() -> Self {
        Self { first: vec![0], ends: Vec::new() }
    }
}

impl Edges {
    fn of(&self, task: usize) -> &[u32] {
        &self.ends[self.first[task] as usize..self.first[task + 1] as usize]
    }
}

impl TaskGraph {
    /// The graph of a program that [`crate::validate`] accepts; empty if it creates no task.
    ///
    /// # Errors
    /// More dependences than a run could handle.
    pub fn new(program: &Program) -> Result<Self, String> {
        let Some(creator) = creator(program) else { return Ok(Self::default()) };
        let ops = &program.threads[creator].ops;
        let tasks = sites(ops);
        let mut builder = Builder { regions: vec![Region::default(); program.regions.len()], ..Builder::default() };
        builder.meet(ops, &tasks, &mut 0)?;
        let mut graph = builder.graph;
        graph.waits.push(graph.sites.len());
        graph.successors = turned(&graph.predecessors, graph.sites.len());
        Ok(graph)
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Which of the program's [`sites`] a task comes from.
    pub fn site(&self, task: usize) -> usize {
        self.sites[task] as usize
    }

    /// The tasks that a task depends on, in the order of their creation.
    pub fn predecessors(&self, task: usize) -> &[u32] {
        self.predecessors.of(task)
    }

    /// The tasks that depend on a task, in the order of their creation.
    pub fn successors(&self, task: usize) -> &[u32] {
        self.successors.of(task)
    }

    /// How many tasks exist at the first wait of the main thread for which more than `created` do.
    pub fn next_wait(&self, created: usize) -> usize {
        let next = self.waits.partition_point(|wait| *wait <= created);
        self.waits.get(next).copied().unwrap_or(self.len())
    }

    /// The bottom levels of the tasks between two waits of the main thread: for each the longest path from its beginning
    /// to the end of a task without successors, in units of `cost`.
    pub fn bottom_levels(&self, tasks: Range<usize>, cost: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut levels = vec![0.0; tasks.len()];
        for task in tasks.clone().rev() {
            let below =
                self.successors(task).iter().map(|next| levels[*next as usize - tasks.start]).fold(0.0, f64::max);
            levels[task - tasks.start] = cost(task) + below;
        }
        levels
    }

    /// The longest path through the whole graph, taskwaits included: no machine of unit speed is faster.
    pub fn critical_path(&self, cost: impl Fn(usize) -> f64) -> f64 {
        let mut begin = 0;
        let mut length = 0.0;
        for &end in &self.waits {
            length += self.bottom_levels(begin..end, &cost).into_iter().fold(0.0, f64::max);
            begin = end;
        }
        length
    }
}

/// The thread that creates tasks.
pub fn creator(program: &Program) -> Option<usize> {
    program.threads.iter().position(|thread| concerns_tasks(&thread.ops))
}

/// Whether operations create tasks or wait for them.
pub(crate) fn concerns_tasks(ops: &[Op]) -> bool {
    ops.iter().any(|op| match op {
        Op::Task(_) | Op::Taskwait => true,
        Op::Repeat { body, .. } | Op::Drain { body, .. } => concerns_tasks(body),
        _ => false,
    })
}

/// The places where a thread creates tasks, in the order of the text. What is repeated zero times is left out.
pub fn sites(ops: &[Op]) -> Vec<&Task> {
    let mut found = Vec::new();
    for op in ops {
        match op {
            Op::Task(task) => found.push(&**task),
            Op::Repeat { times: Some(0), .. } => {}
            Op::Repeat { body, .. } | Op::Drain { body, .. } => found.extend(sites(body)),
            _ => {}
        }
    }
    found
}

/// How many tasks operations create.
pub(crate) fn created(ops: &[Op]) -> u64 {
    let count = |op: &Op| match op {
        Op::Task(_) => 1,
        Op::Repeat { times, body } => created(body).saturating_mul(times.unwrap_or(u64::MAX)),
        Op::Drain { body, .. } => created(body),
        _ => 0,
    };
    ops.iter().map(count).fold(0, u64::saturating_add)
}

/// Adds to the number of regions that tasks have `named`.
///
/// # Errors
/// More than a run could handle.
pub(crate) fn count_named(named: &mut usize, more: usize) -> Result<(), String> {
    *named = named.saturating_add(more);
    if *named > MOST_NAMED {
        return Err(format!("more than {MOST_NAMED} regions are named by tasks: use fewer and larger ones"));
    }
    Ok(())
}

/// Who touched a region last.
#[derive(Clone, Default)]
struct Region {
    writer: Option<u32>,
    readers: Vec<u32>,
    /// How many taskwaits there were before: all that was created before the last of them is done.
    waits: usize,
}

impl Region {
    fn after(&mut self, waits: usize) -> &mut Self {
        if self.waits < waits {
            self.waits = waits;
            self.writer = None;
            self.readers.clear();
        }
        self
    }
}

#[derive(Default)]
struct Builder {
    graph: TaskGraph,
    regions: Vec<Region>,
    /// How many regions the tasks have named.
    named: usize,
    /// The predecessors of the task that is being added.
    found: Vec<u32>,
}

impl Builder {
    /// Follows the main thread through its operations; `site` is the number of the next task in the text.
    fn meet(&mut self, ops: &[Op], tasks: &[&Task], site: &mut usize) -> Result<(), String> {
        for op in ops {
            match op {
                Op::Task(_) => {
                    self.add(*site, tasks[*site])?;
                    *site += 1;
                }
                // A wait without a new task since the last one waits for nothing.
                Op::Taskwait if self.graph.waits.last() != Some(&self.graph.sites.len()) => {
                    self.graph.waits.push(self.graph.sites.len());
                }
                Op::Repeat { times: Some(times), body } if concerns_tasks(body) => {
                    let begin = *site;
                    // Rounds that create no task add nothing after the first.
                    let rounds = if created(body) == 0 { (*times).min(1) } else { *times };
                    for _ in 0..rounds {
                        *site = begin;
                        self.meet(body, tasks, site)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, site: usize, task: &Task) -> Result<(), String> {
        count_named(&mut self.named, task.reads.len() + task.writes.len())?;
        let number = self.graph.sites.len() as u32;
        let waits = self.graph.waits.len();
        self.found.clear();
        for read in &task.reads {
            self.found.extend(self.regions[read.index()].after(waits).writer);
        }
        for write in &task.writes {
            let region = self.regions[write.index()].after(waits);
            let before = if region.readers.is_empty() { region.writer.as_slice() } else { &region.readers };
            self.found.extend(before);
        }
        self.found.sort_unstable();
        self.found.dedup();
        for read in &task.reads {
            self.regions[read.index()].readers.push(number);
        }
        for write in &task.writes {
            let region = &mut self.regions[write.index()];
            region.writer = Some(number);
            region.readers.clear();
        }
        let edges = &mut self.graph.predecessors;
        edges.ends.extend(&self.found);
        edges.first.push(edges.ends.len() as u32);
        self.graph.sites.push(site as u32);
        if edges.ends.len() > MOST_DEPENDENCES {
            return Err(format!("its tasks have more than {MOST_DEPENDENCES} dependences: use larger tasks"));
        }
        Ok(())
    }
}

/// The same edges, seen from their other ends.
fn turned(edges: &Edges, tasks: usize) -> Edges {
    let mut first = vec![0; tasks + 1];
    for end in &edges.ends {
        first[*end as usize + 1] += 1;
    }
    for task in 0..tasks {
        first[task + 1] += first[task];
    }
    let mut next = first.clone();
    let mut ends = vec![0; edges.ends.len()];
    for task in 0..tasks {
        for before in edges.of(task) {
            let place = &mut next[*before as usize];
            ends[*place as usize] = task as u32;
            *place += 1;
        }
    }
    Edges { first, ends }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{RegionId, Thread, ThreadKind};

    /// A program whose main thread meets these operations.
    fn graph(ops: Vec<Op>) -> TaskGraph {
        let thread = Thread {
            name: "main".into(),
            process: 0,
            ops,
            start: crate::program::Start::At(evenkeel_model::Ns::ZERO),
            kind: ThreadKind::Application,
            sched: Default::default(),
        };
        let program = Program { threads: vec![thread], regions: vec![String::new(); 8], ..Program::default() };
        TaskGraph::new(&program).unwrap()
    }

    fn task(reads: &[u32], writes: &[u32]) -> Op {
        let regions = |list: &[u32]| list.iter().copied().map(RegionId).collect();
        Op::Task(Box::new(Task { name: "t".into(), reads: regions(reads), writes: regions(writes), body: Vec::new() }))
    }

    fn edges(graph: &TaskGraph) -> Vec<(u32, usize)> {
        let of = |task| graph.predecessors(task).iter().map(move |before| (*before, task));
        (0..graph.len()).flat_map(of).collect()
    }

    #[test]
    fn a_reader_waits_for_the_writer_and_a_writer_for_all_readers_since() {
        // out a; in a; in a; inout a; in a
        let g = graph(vec![task(&[], &[0]), task(&[0], &[]), task(&[0], &[1]), task(&[], &[0]), task(&[0], &[])]);
        assert_eq!(edges(&g), [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
        assert_eq!(g.successors(0), [1, 2]);
    }

    #[test]
    fn a_region_in_two_roles_makes_one_edge_and_none_to_itself() {
        let g = graph(vec![task(&[0], &[0]), task(&[0, 1], &[0, 1]), task(&[1, 1], &[])]);
        assert_eq!(edges(&g), [(0, 1), (1, 2)]);
    }

    #[test]
    fn a_taskwait_ends_all_dependences() {
        let g = graph(vec![task(&[], &[0]), Op::Taskwait, task(&[0], &[])]);
        assert_eq!(edges(&g), []);
        assert_eq!((g.next_wait(0), g.next_wait(1)), (1, 2));
        assert_eq!(g.critical_path(|task| [2.0, 3.0][task]), 5.0, "the wait is on the path");
    }

    #[test]
    fn a_wait_is_the_same_however_often_it_is_repeated() {
        let waits = |times| {
            let body = vec![Op::Taskwait, Op::Yield, Op::Taskwait];
            graph(vec![task(&[], &[0]), Op::Repeat { times: Some(times), body }, task(&[0], &[])])
        };
        assert_eq!(waits(10_000_000_000), graph(vec![task(&[], &[0]), Op::Taskwait, task(&[0], &[])]));
        assert_eq!(waits(0), graph(vec![task(&[], &[0]), task(&[0], &[])]));
    }

    #[test]
    fn tasks_name_so_many_regions_at_most() {
        let Op::Task(reader) = task(&[0, 1], &[]) else { unreachable!() };
        let regions = vec![Region::default(); 2];
        let mut builder = Builder { regions, named: MOST_NAMED - 3, ..Builder::default() };
        assert_eq!(builder.add(0, &reader), Ok(()));
        assert!(builder.add(0, &reader).is_err_and(|why| why.starts_with("more than 16000000 regions")));
    }

    #[test]
    fn a_repeated_task_is_a_new_one_each_time() {
        let none = Op::Repeat { times: Some(0), body: vec![task(&[], &[7])] };
        let twice = Op::Repeat { times: Some(2), body: vec![task(&[], &[0]), task(&[0], &[0])] };
        let g = graph(vec![none, twice, task(&[0], &[])]);
        assert_eq!((0..5).map(|task| g.site(task)).collect::<Vec<_>>(), [0, 1, 0, 1, 2]);
        assert_eq!(edges(&g), [(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(g.bottom_levels(0..5, |_| 1.0), [5.0, 4.0, 3.0, 2.0, 1.0]);
    }
}

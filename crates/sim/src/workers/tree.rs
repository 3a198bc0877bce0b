//! What a kernel spawns: parallel regions one after the other, each a tree of tasks.
//!
//! A task does its own work, then spawns its children and is done; the region is over when all tasks are. What a parent does after
//! its children (the merge of a merge sort) is part of the work before them. The shape is drawn from the seed, as inputs are.

use evenkeel_workload::kernels::{Kernel, Method, Table};

/// A parallel region and the serial part before it. Work is in instructions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// What thread 0 does before.
    pub serial: f64,
    /// The tasks; the first is the root. Children come after their parent, one after the other. None: only the serial part.
    pub tasks: Vec<TreeTask>,
}

/// A task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeTask {
    /// Its own work.
    pub work: f64,
    /// The first of its children, and how many there are.
    pub children: (u32, u32),
}

/// The regions of a kernel.
pub fn regions(table: &Table, kernel: &Kernel, seed: u64) -> Vec<Region> {
    let instructions = kernel.minst * 1e6;
    let count = kernel.regions;
    let serial = instructions * table.serial / f64::from(count + 1);
    let parallel = instructions * (1.0 - table.serial) / f64::from(count);
    let mut draws = fastrand::Rng::with_seed(seed);
    let mut regions = Vec::with_capacity(count as usize + 1);
    for number in 0..count {
        let from = |share: u32| (u64::from(kernel.tasks) * u64::from(share) / u64::from(count)) as usize;
        let mut tree = Tree { draws: &mut draws, spread: table.spread_of(kernel), tasks: vec![TreeTask::default()] };
        let tasks = from(number + 1) - from(number);
        match kernel.method {
            Method::Recursion => tree.spawn(0, tasks, parallel, kernel.levels),
            Method::RecursionThenLoops if number == 0 => tree.spawn(0, tasks, parallel, None),
            Method::Loop | Method::RecursionThenLoops => tree.halve(0, tasks, parallel),
            Method::NestedLoop => tree.nest(tasks, parallel),
        }
        regions.push(Region { serial, tasks: tree.scaled(parallel) });
    }
    regions.push(Region { serial, tasks: Vec::new() });
    regions
}

struct Tree<'a> {
    draws: &'a mut fastrand::Rng,
    spread: f64,
    tasks: Vec<TreeTask>,
}

impl Tree<'_> {
    /// A number around 1, as far from it as the input's spread allows.
    fn around_one(&mut self) -> f64 {
        1.0 + self.spread * (2.0 * self.draws.f64() - 1.0)
    }

    /// Two children of a task.
    fn fork(&mut self, parent: usize) -> [usize; 2] {
        let first = self.tasks.len();
        self.tasks.resize(first + 2, TreeTask::default());
        self.tasks[parent].children = (first as u32, 2);
        [first, first + 1]
    }

    /// A loop: its range is halved until each part is one task. The parts are equal in iterations, not in work.
    fn halve(&mut self, at: usize, leaves: usize, work: f64) {
        if leaves < 2 {
            self.tasks[at].work = work * self.around_one();
            return;
        }
        let share = (leaves / 2) as f64 / leaves as f64;
        let [left, right] = self.fork(at);
        self.halve(left, leaves / 2, work * share);
        self.halve(right, leaves - leaves / 2, work * (1.0 - share));
    }

    /// A loop whose iterations are loops: as many as each of those has parts, and those are unequal.
    fn nest(&mut self, leaves: usize, work: f64) {
        let outer = (leaves as f64).sqrt().round().max(1.0) as usize;
        let first = self.tasks.len();
        self.tasks.resize(first + outer, TreeTask::default());
        self.tasks[0].children = (first as u32, outer as u32);
        for number in 0..outer {
            let inner = leaves * (number + 1) / outer - leaves * number / outer;
            let factor = self.around_one();
            let inner_leaves = ((inner as f64 * factor).round() as usize).max(1);
            self.halve(first + number, inner_leaves, work * factor * inner as f64 / leaves as f64);
        }
    }

    /// A recursion: its input is divided in two, not in the middle, until the tasks are used up. With levels, a task passes over
    /// its whole input once before that.
    fn spawn(&mut self, at: usize, tasks: usize, work: f64, levels: Option<f64>) {
        if tasks < 3 {
            self.tasks[at].work = work;
            return;
        }
        let own = levels.map_or(0.0, |levels| work / levels.max(1.0));
        self.tasks[at].work = own;
        let share = 0.5 * self.around_one();
        let below = tasks - 1;
        let left_tasks = ((below as f64 * share).round() as usize).clamp(1, below - 1);
        let [left, right] = self.fork(at);
        let levels = levels.map(|levels| levels - 1.0);
        self.spawn(left, left_tasks, (work - own) * share, levels);
        self.spawn(right, below - left_tasks, (work - own) * (1.0 - share), levels);
    }

    /// The tasks, with all draws together the work that it should be.
    fn scaled(mut self, work: f64) -> Vec<TreeTask> {
        let drawn: f64 = self.tasks.iter().map(|task| task.work).sum();
        self.tasks.iter_mut().for_each(|task| task.work *= work / drawn);
        self.tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_spawns_its_tasks_and_does_its_work() {
        let table = Table::iii();
        for kernel in &table.kernels {
            let regions = regions(table, kernel, 1);
            let total: f64 = regions.iter().map(|region| region.serial + of(region)).sum();
            assert!((total / (kernel.minst * 1e6) - 1.0).abs() < 1e-9, "{}", kernel.name);
            let tasks = regions.iter().flat_map(|region| &region.tasks);
            let counted = match kernel.method {
                Method::Recursion => tasks.count(),
                _ => tasks.filter(|task| task.work > 0.0).count(),
            };
            let off = counted as f64 / f64::from(kernel.tasks) - 1.0;
            assert!(off.abs() < 0.3, "{}: {counted} of {}", kernel.name, kernel.tasks);
        }
    }

    fn of(region: &Region) -> f64 {
        region.tasks.iter().map(|task| task.work).sum()
    }

    #[test]
    fn every_task_but_the_root_has_one_parent() {
        let table = Table::iii();
        for kernel in &table.kernels {
            for region in regions(table, kernel, 7).iter().filter(|region| !region.tasks.is_empty()) {
                let mut spawned = vec![0; region.tasks.len()];
                for (parent, task) in region.tasks.iter().enumerate() {
                    let (first, count) = task.children;
                    for child in first..first + count {
                        assert!(child as usize > parent);
                        spawned[child as usize] += 1;
                    }
                }
                assert_eq!(spawned[0], 0);
                assert!(spawned[1..].iter().all(|parents| *parents == 1), "{}", kernel.name);
            }
        }
    }

    #[test]
    fn the_same_seed_is_the_same_input() {
        let table = Table::iii();
        let kernel = table.kernel("qsort-1").unwrap();
        assert_eq!(regions(table, kernel, 3), regions(table, kernel, 3));
        assert_ne!(regions(table, kernel, 3), regions(table, kernel, 4));
    }
}

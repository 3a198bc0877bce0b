//! Fork-join kernels as their published measures describe them: Table III of Torng et al., "Asymmetry-Aware Work-Stealing
//! Runtimes", ISCA 2016 (`workloads/aaws/kernels.toml`). They are for simulated workers, which run tasks and nothing else; programs
//! of threads are in [`crate::suite`].

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    Table::from_toml(include_str!("../workloads/aaws/kernels.toml")).unwrap_or_else(|why| panic!("bundled file: {why}"))
});

/// Kernels, and what is assumed of all of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The share of instructions outside of parallel regions (0..1).
    pub serial: f64,
    /// For each distribution of the input how far a task deviates from the mean, or a split from the middle, at most: a share
    /// (0..1).
    pub spread: BTreeMap<String, f64>,
    /// The kernels, in the order of the table.
    #[serde(rename = "kernel")]
    pub kernels: Vec<Kernel>,
}

/// A kernel with one input.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The suite that it is from.
    pub suite: String,
    /// The input, as the suite calls it.
    pub input: String,
    /// How it is made parallel.
    pub method: Method,
    /// Instructions of the parallel program, in millions.
    pub minst: f64,
    /// How many tasks.
    pub tasks: u32,
    /// Cycles of the optimised serial program on a little core, in millions.
    pub serial_mcycles: f64,
    /// Energy of a big core over that of a little one.
    pub alpha: f64,
    /// Speed of a big core over that of a little one.
    pub beta: f64,
    /// L2 misses per 1000 instructions.
    pub mpki: f64,
    /// What its input is like: a name in [`Table::spread`].
    pub distribution: String,
    /// Parallel regions, one after the other.
    #[serde(default = "one")]
    pub regions: u32,
    /// For sorts by partition, how often the input can be halved.
    pub levels: Option<f64>,
    /// Cycles of the parallel program on one little core over those of the serial one.
    pub work: f64,
}

fn one() -> u32 {
    1
}

/// How a kernel is made parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Method {
    /// `parallel_for`, which halves its range until a task is left of it.
    #[serde(rename = "p")]
    Loop,
    /// A loop whose iterations are loops.
    #[serde(rename = "np")]
    NestedLoop,
    /// Recursive spawn and sync.
    #[serde(rename = "rss")]
    Recursion,
    /// A recursion first, then loops.
    #[serde(rename = "p, rss")]
    RecursionThenLoops,
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    /// Says which kernel is wrong, and what was expected.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let table: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if !(0.0..1.0).contains(&table.serial) {
            return Err(format!("serial = {}: expected a share from 0 to 1", table.serial));
        }
        if let Some((name, spread)) = table.spread.iter().find(|(_, spread)| !(0.0..=1.0).contains(*spread)) {
            return Err(format!("spread of {name} = {spread}: expected a share from 0 to 1"));
        }
        for kernel in &table.kernels {
            kernel.check(&table).map_err(|why| format!("{}: {why}", kernel.name))?;
        }
        Ok(table)
    }

    /// Table III.
    pub fn iii() -> &'static Self {
        &TABLE
    }

    /// A kernel by its name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// How unequal the tasks of a kernel are.
    pub fn spread_of(&self, kernel: &Kernel) -> f64 {
        self.spread.get(&kernel.distribution).copied().unwrap_or_default()
    }
}

impl Kernel {
    fn check(&self, table: &Table) -> Result<(), String> {
        let amounts = [
            ("minst", self.minst),
            ("serial_mcycles", self.serial_mcycles),
            ("alpha", self.alpha),
            ("beta", self.beta),
            ("work", self.work),
            ("levels", self.levels.unwrap_or(1.0)),
        ];
        if let Some((what, value)) = amounts.into_iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
            return Err(format!("{what} = {value}: expected a number above 0"));
        }
        if !(self.mpki >= 0.0 && self.mpki < 1000.0) {
            return Err(format!("mpki = {}: expected 0 to 1000", self.mpki));
        }
        if self.regions == 0 || self.tasks < self.regions || u64::from(self.tasks) > crate::graph::MOST_TASKS {
            return Err(format!("{} tasks in {} regions: expected one for each", self.tasks, self.regions));
        }
        if !table.spread.contains_key(&self.distribution) {
            let known: Vec<&str> = table.spread.keys().map(String::as_str).collect();
            return Err(format!("unknown distribution {:?}: there is {}", self.distribution, known.join(", ")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_iii_has_22_kernels_whose_tasks_have_the_published_size() {
        let table = Table::iii();
        assert_eq!(table.kernels.len(), 22);
        // "Task Size" of the table, in thousands of instructions, for some that span it.
        for (name, kinst) in [("dict", 151.0), ("ksack", 0.3), ("matmul", 33.0), ("bscholes", 629.0)] {
            let kernel = table.kernel(name).unwrap();
            let mean = 1000.0 * kernel.minst / f64::from(kernel.tasks);
            assert!((mean / kinst - 1.0).abs() < 0.3, "{name}: {mean}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let text = include_str!("../workloads/aaws/kernels.toml");
        let error = |from: &str, to: &str| Table::from_toml(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error("tasks = 2588", "tasks = 3").contains("bfs-d: 3 tasks in 24 regions"));
        assert!(error("distribution = \"graph\"", "distribution = \"grph\"").contains("unknown distribution \"grph\""));
        assert!(error("alpha = 2.8", "alpha = -1").contains("alpha = -1: expected a number above 0"));
        assert!(error("serial = 0.0075", "serial = 2").contains("a share from 0 to 1"));
    }
}

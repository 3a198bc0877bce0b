//! A grid: what is combined, and the runs that come of it, by number.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use evenkeel_experiment::{Beside, Conditions, Plan, Progress, Stage, catalog, variation};
use evenkeel_model::{CoreOrder, Machine};
use evenkeel_sched::Setup;
use evenkeel_workload::Workload;
use serde::de::{self, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use toml::de::DeTable;
use toml::{Table, Value};

use crate::error::{Error, Result};
use crate::key::{Digest, Key, VERSION, digest, hexadecimal};
use crate::named::Named;
use crate::shard::Shard;
use crate::twice;
use crate::variants::{self, Axis, Variant};
use crate::wrong::{Spot, Wrong, numbers, tables};

/// Everything that is combined. Runs are numbered in the order workload, machine, conditions, policy, core order, seed.
#[derive(Clone, Debug)]
pub struct Grid {
    text: String,
    axes: [Vec<Axis>; 4],
    workloads: Named,
    machines: Named,
    conditions: Vec<Variant<Conditions>>,
    policies: Vec<Variant<Setup>>,
    baseline: usize,
    orders: Vec<CoreOrder>,
    seeds: Vec<u64>,
}

/// One run of a grid, by position in its lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub(crate) workload: usize,
    pub(crate) machine: usize,
    pub(crate) conditions: usize,
    pub(crate) policy: usize,
    pub(crate) order: usize,
    pub(crate) seed: usize,
}

/// The kinds of what can be varied, as a grid's file calls them: the order of their columns.
pub(crate) const KINDS: [&str; 4] = ["workload", "machine", "conditions", "policy"];

/// How each of them is varied.
const EXAMPLES: [(&str, &str); 4] = [
    ("workload", "program.radix.n = [1, 2]"),
    ("machine", "costs.tick_us = [1000, 4000]"),
    ("conditions", "noise = [false, true]"),
    ("policy", "colab.takeover = [\"any\", \"none\"]"),
];

/// The most runs of a grid. More are a mistake.
pub(crate) const MOST: u64 = 100_000_000;
const MOST_SEEDS: u64 = 10_000_000;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    machines: Vec<String>,
    workloads: Vec<String>,
    policies: Vec<String>,
    baseline: Option<String>,
    #[serde(default)]
    seeds: Seeds,
    orders: Option<Vec<CoreOrder>>,
    #[serde(default)]
    machine: Table,
    #[serde(default)]
    workload: Table,
    #[serde(default)]
    conditions: Table,
    #[serde(default)]
    policy: Table,
}

enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        text.deserialize_any(CountOrList)
    }
}

struct CountOrList;

impl<'de> Visitor<'de> for CountOrList {
    type Value = Seeds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("how many seeds, or a list of them")
    }

    fn visit_i64<E: de::Error>(self, count: i64) -> Result<Seeds, E> {
        let negative = |_| E::invalid_value(Unexpected::Signed(count), &self);
        count.try_into().map(Seeds::Count).map_err(negative)
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<Seeds, E> {
        Ok(Seeds::Count(count))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Seeds, A::Error> {
        let mut seeds = Vec::new();
        while let Some(seed) = list.next_element()? {
            seeds.push(seed);
        }
        Ok(Seeds::List(seeds))
    }
}

impl Default for Seeds {
    /// Enough for an interval.
    fn default() -> Self {
        Self::Count(5)
    }
}

impl Grid {
    /// Reads a grid from the text of a file. `beside` is what `host = "run"` stands for. `progress` sees [`Stage::Grid`].
    ///
    /// # Errors
    /// The text has a mistake, names something that does not exist, or combines what does not fit together. The error says where:
    /// file, line and column, as far as it is at one place.
    pub fn parse(text: &str, file: &str, beside: Option<Beside>, progress: &dyn Progress) -> Result<Self> {
        Self::read(text, beside, progress).map_err(|wrong| wrong.in_file(file, text))
    }

    /// Makes a grid of the table that its file would have. Errors call it `name`.
    ///
    /// # Errors
    /// As those of [`Grid::parse`], but without lines, as there is no file.
    pub fn of_table(table: &Table, name: &str, beside: Option<Beside>, progress: &dyn Progress) -> Result<Self> {
        Self::read(&table.to_string(), beside, progress).map_err(|wrong| wrong.of(name.to_owned()))
    }

    fn read(text: &str, beside: Option<Beside>, progress: &dyn Progress) -> Result<Self, Wrong> {
        let document = DeTable::parse(text).map_err(|error| Wrong::parsed(&error, text))?;
        tables(document.get_ref(), &EXAMPLES)?;
        numbers(document.get_ref(), &KINDS)?;
        twice::no_item(document.get_ref(), &KINDS)?;
        let parsed: Text = toml::from_str(text).map_err(|error| Wrong::parsed(&error, text))?;
        let seeds = match parsed.seeds {
            Seeds::Count(count) if count <= MOST_SEEDS => (1..=count).collect(),
            Seeds::Count(count) => {
                let why = format!("seeds = {count}: expected at most {MOST_SEEDS}");
                return Err(Wrong::at(Spot::key(["seeds"]).value(), why));
            }
            Seeds::List(mut seeds) => {
                seeds.sort_unstable();
                seeds
            }
        };
        let axes = [&parsed.workload, &parsed.machine, &parsed.conditions, &parsed.policy].map(variants::axes);
        for (kind, axis) in KINDS.iter().zip(&axes).flat_map(|(kind, axes)| axes.iter().map(move |axis| (kind, axis))) {
            if axis.values.is_empty() {
                let place = variation::place(&axis.path);
                let why = format!("{kind}.{place} = []: expected at least one value");
                return Err(Wrong::at(Spot::below(kind, &axis.path).value(), why));
            }
        }
        let mut workloads = Named::new("workload", &parsed.workloads, &axes[0], variation::workload_has)?;
        let mut machines = Named::new("machine", &parsed.machines, &axes[1], variation::machine_has)?;
        let conditions = variants::conditions(&axes[2], beside)?;
        let policies = variants::policies(&parsed.policies, &axes[3])?;
        for (what, empty) in [
            ("workloads", workloads.is_empty()),
            ("machines", machines.is_empty()),
            ("policies", policies.is_empty()),
            ("seeds", seeds.is_empty()),
            ("orders", parsed.orders.as_ref().is_some_and(Vec::is_empty)),
        ] {
            if empty {
                return Err(Wrong::at(Spot::key([what]).value(), format!("{what} is empty: expected at least one")));
            }
        }
        let baseline = match &parsed.baseline {
            None => 0,
            Some(name) => policies.iter().position(|policy| policy.base.name() == name).ok_or_else(|| {
                let known: Vec<&str> = policies.iter().map(|policy| policy.base.name()).collect();
                let why = format!("baseline = {name:?}: expected one of the policies, {}", known.join(", "));
                Wrong::at(Spot::name("baseline", name), why)
            })?,
        };
        let (of_workloads, of_machines) = (workloads.len(), machines.len());
        let few_enough = |orders: usize| {
            let runs = product([of_workloads, of_machines, conditions.len(), policies.len(), orders, seeds.len()]);
            runs.map(drop).ok_or_else(|| Wrong::whole(format!("more than {MOST} runs: expected fewer values")))
        };
        few_enough(1)?;
        progress.begin(Stage::Grid, of_workloads + of_machines * of_workloads.div_ceil(TOGETHER));
        let names_cores = AtomicBool::new(false);
        let check = |name: &str, workload: &Workload| {
            names_cores.fetch_or(workload.names_cores(), Ordering::Relaxed);
            let wrong = |source| Wrong::named(Spot::name("workloads", name), format!("workload {name}"), source);
            conditions.iter().try_for_each(|one| one.base.tasks.apply(&mut workload.clone()).map(drop)).map_err(wrong)
        };
        workloads.make_all(variation::workload, check, progress)?;
        workloads.differ()?;
        let orders = Plan::orders_for(&parsed.orders.unwrap_or_default(), names_cores.into_inner());
        few_enough(orders.len())?;
        fit(&workloads, &mut machines, &policies, progress)?;
        machines.differ()?;
        progress.end();
        Ok(Self { text: text.to_owned(), axes, workloads, machines, conditions, policies, baseline, orders, seeds })
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is known by, in hexadecimal digits: the version, its text, and everything that it names, as it is now.
    pub fn hash(&self) -> String {
        hexadecimal(&digest(&(VERSION, &self.text, self.inputs())))
    }

    /// How many runs it has.
    pub fn runs(&self) -> u64 {
        self.checked_runs().unwrap_or(0)
    }

    fn checked_runs(&self) -> Option<u64> {
        product(self.counts())
    }

    /// How many runs a part of it has.
    pub fn runs_of(&self, shard: Shard) -> u64 {
        self.pieces_of(shard).map(|piece| (self.in_cell() * piece.seeds.len()) as u64).sum()
    }

    /// How many workloads, machines, sets of conditions, policies, core orders and seeds it combines.
    pub fn counts(&self) -> [usize; 6] {
        let Self { workloads, machines, conditions, policies, orders, seeds, .. } = self;
        [workloads.len(), machines.len(), conditions.len(), policies.len(), orders.len(), seeds.len()]
    }

    /// The machines and workloads that it names, some of which are files.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.machines.names().chain(self.workloads.names())
    }

    /// What is varied, by its column, with its values.
    pub fn varied(&self) -> Vec<(String, Vec<String>)> {
        self.columns().map(|(name, values)| (name, values.iter().map(Value::to_string).collect())).collect()
    }

    /// The hash of everything that it names, in its order.
    pub(crate) fn inputs(&self) -> Digest {
        let kinds = [
            self.workloads.digests().to_vec(),
            self.machines.digests().to_vec(),
            self.conditions.iter().map(|variant| variant.digest).collect(),
        ];
        digest(&kinds)
    }

    /// The policies, the core orders and the position of the policy that others are compared with.
    pub(crate) fn compared(&self) -> (Vec<&str>, &[CoreOrder], usize) {
        (self.policies.iter().map(|policy| policy.base.name()).collect(), &self.orders, self.baseline)
    }

    /// The runs of a workload on a machine under certain conditions with one seed.
    fn in_cell(&self) -> usize {
        self.policies.len() * self.orders.len()
    }

    /// A run by its number.
    pub(crate) fn run(&self, number: u64) -> Run {
        let mut rest = number as usize;
        let mut next = |length: usize| {
            let at = rest % length;
            rest /= length;
            at
        };
        let (seed, order) = (next(self.seeds.len()), next(self.orders.len()));
        let (policy, conditions) = (next(self.policies.len()), next(self.conditions.len()));
        let (machine, workload) = (next(self.machines.len()), next(self.workloads.len()));
        Run { workload, machine, conditions, policy, order, seed }
    }

    /// The number of a run.
    pub(crate) fn number(&self, run: Run) -> u64 {
        let mut number = 0;
        for (at, length) in [
            (run.workload, self.workloads.len()),
            (run.machine, self.machines.len()),
            (run.conditions, self.conditions.len()),
            (run.policy, self.policies.len()),
            (run.order, self.orders.len()),
            (run.seed, self.seeds.len()),
        ] {
            number = number * length as u64 + at as u64;
        }
        number
    }

    /// What a run is known by.
    pub(crate) fn key(&self, run: Run) -> Key {
        let order: Digest = digest(&self.orders[run.order].name());
        let parts = [
            self.workloads.digest(run.workload),
            self.machines.digest(run.machine),
            self.conditions[run.conditions].digest,
            self.policies[run.policy].digest,
            order,
        ];
        Key::of(&parts, self.seeds[run.seed])
    }

    /// The core order of a run.
    pub(crate) fn order(&self, run: Run) -> CoreOrder {
        self.orders[run.order]
    }

    /// The seed of a run.
    pub(crate) fn seed(&self, run: Run) -> u64 {
        self.seeds[run.seed]
    }

    /// The names of a run's workload, machine, policy and core order, and its seed.
    pub(crate) fn names(&self, run: Run) -> (&str, &str, &str, &'static str, u64) {
        let (workload, machine) = (self.workloads.name(run.workload), self.machines.name(run.machine));
        (workload, machine, self.policies[run.policy].base.name(), self.orders[run.order].name(), self.seeds[run.seed])
    }

    /// The columns of what is varied, by kind and place, with every value that there is.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (String, &[Value])> {
        let axes = KINDS.iter().zip(&self.axes).flat_map(|(kind, axes)| axes.iter().map(move |axis| (kind, axis)));
        axes.map(|(kind, axis)| (format!("{kind}.{}", variation::place(&axis.path)), axis.values.as_slice()))
    }

    /// The values of a run in those columns.
    pub(crate) fn values(&self, run: Run) -> impl Iterator<Item = Option<&Value>> {
        let named = self.workloads.values(run.workload).into_iter().chain(self.machines.values(run.machine));
        let conditions = self.conditions[run.conditions].values.iter();
        let policy = self.policies[run.policy].values.iter();
        named.chain(conditions.chain(policy).map(Option::as_ref))
    }

    /// Pieces of the work that is done in so many parts: each has one workload, machine and set of conditions, and so many of its
    /// seeds that its runs are not many, and no more than a part's share. What they have in common is done once for each piece:
    /// runs alone on big cores, training.
    pub(crate) fn pieces(&self, parts: u64) -> impl Iterator<Item = Piece> {
        let seeds = self.seeds.len();
        let most = self.runs().div_ceil(parts).min(RUNS_OF_A_PIECE) as usize;
        let step = (most / self.in_cell()).clamp(1, seeds);
        let (machines, conditions) = (self.machines.len(), self.conditions.len());
        (0..self.workloads.len() * machines * conditions).flat_map(move |cell| {
            let (workload, machine, conditions) =
                (cell / conditions / machines, cell / conditions % machines, cell % conditions);
            (0..seeds).step_by(step).map(move |first| Piece {
                workload,
                machine,
                conditions,
                seeds: first..(first + step).min(seeds),
            })
        })
    }

    /// Those of a part.
    pub(crate) fn pieces_of(&self, shard: Shard) -> impl Iterator<Item = Piece> {
        (0..).zip(self.pieces(shard.of())).filter(move |(piece, _)| shard.has(*piece)).map(|(_, piece)| piece)
    }

    /// The runs of a piece, by number.
    pub(crate) fn of_piece(&self, piece: &Piece) -> Vec<u64> {
        let Piece { workload, machine, conditions, ref seeds } = *piece;
        let mut runs = Vec::new();
        for policy in 0..self.policies.len() {
            for order in 0..self.orders.len() {
                let run = |seed| self.number(Run { workload, machine, conditions, policy, order, seed });
                runs.extend(seeds.clone().map(run));
            }
        }
        runs
    }

    /// The plan of a piece, with these seeds of it only.
    ///
    /// # Errors
    /// A file that the grid names has changed since the grid was read.
    pub(crate) fn plan(&self, piece: &Piece, seeds: Vec<u64>) -> Result<Plan> {
        let wrong = |name: &str| {
            let place = name.to_owned();
            |source| Error::Named { place, source }
        };
        let (workload, machine) = (piece.workload, piece.machine);
        let workload = self.workloads.make(workload, variation::workload).map_err(wrong(self.workloads.name(workload)));
        let machine = self.machines.make(machine, variation::machine).map_err(wrong(self.machines.name(machine)));
        Ok(Plan {
            workloads: vec![workload?],
            machines: vec![machine?],
            policies: self.policies.iter().map(|policy| policy.base.clone()).collect(),
            orders: self.orders.clone(),
            seeds,
            conditions: self.conditions[piece.conditions].base.clone(),
        })
    }
}

/// So many runs are worth what is done once for a piece, and are over in a second or so.
const RUNS_OF_A_PIECE: u64 = 256;

/// A piece of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    workload: usize,
    machine: usize,
    conditions: usize,
    seeds: Range<usize>,
}

/// The product of these lengths, if a grid may have as many runs.
fn product(lengths: [usize; 6]) -> Option<u64> {
    let all = lengths.iter().try_fold(1_u64, |all, length| all.checked_mul(*length as u64))?;
    (all <= MOST).then_some(all)
}

/// So many workloads are in memory together, while machines are looked at.
const TOGETHER: usize = 256;

/// Makes the machines, and makes sure that policies can schedule them, and that workloads can run there.
fn fit(
    workloads: &Named,
    machines: &mut Named,
    policies: &[Variant<Setup>],
    progress: &dyn Progress,
) -> Result<(), Wrong> {
    let wrong = |kind: &str, name: &str| {
        let (spot, place) = (Spot::name(&format!("{kind}s"), name), format!("{kind} {name}"));
        move |source| Wrong::named(spot, place, source)
    };
    for first in (0..workloads.len()).step_by(TOGETHER) {
        let mut together = Vec::new();
        for at in first..workloads.len().min(first + TOGETHER) {
            let name = workloads.name(at);
            together.push((name, workloads.make(at, variation::workload).map_err(wrong("workload", name))?));
        }
        let check = |name: &str, machine: &Machine| {
            for policy in policies {
                catalog::accepted(&policy.base, machine).map_err(wrong("machine", name))?;
            }
            together
                .iter()
                .try_for_each(|(name, workload)| catalog::fits(workload, machine).map_err(wrong("workload", name)))
        };
        machines.make_all(variation::machine, check, progress)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

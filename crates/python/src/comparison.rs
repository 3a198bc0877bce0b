//! Policies beside each other.

use std::path::PathBuf;

use anstream::adapter::strip_str;
use arrow_array::{Float64Array, StringArray, UInt64Array};
use bytes::Bytes;
use evenkeel_experiment as experiment;
use evenkeel_experiment::timeline::{PANELS, Timelines};
use evenkeel_experiment::{Plan, Results, Runner, Value, catalog};
use evenkeel_model as model;
use evenkeel_report::{headline, json, page, text};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::conditions::conditions;
use crate::error::{Error, raise};
use crate::files;
use crate::history::{batch, column, texts};
use crate::setups;
use crate::table::{Once, Table};
use crate::work::{Faults, How, work};

/// Workloads on machines under policies, against one of them.
#[pyclass(frozen, module = "evenkeel")]
pub struct Comparison {
    runner: Runner,
    results: Results,
    baseline: String,
    faults: Faults,
    runs: Once,
    effects: Once,
}

/// Compares policies: every workload on every machine under each, `seeds` times in each core order, in pairs with the same seed.
///
/// Everything is an object or a name, or several of them; a `baseline` that is an object is the one among `policies`, or has a name of
/// its own. Without `orders` both that COLAB averages over are run (5.1), or the declared one for workloads that bind threads to CPUs by
/// number. `conditions` are as the options of `evenkeel compare`, and so is `predictor`, a file of `evenkeel train`. `progress` is called with the stage, the runs that are done and those
/// that there are; `threads` is how many do the work.
#[pyfunction]
#[pyo3(signature = (workloads, machines, policies, *, baseline=None, seeds=5, orders=None, threads=None, progress=None, max_events=None, predictor=None, **conditions))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub fn compare(
    py: Python<'_>,
    workloads: &Bound<'_, PyAny>,
    machines: &Bound<'_, PyAny>,
    policies: &Bound<'_, PyAny>,
    baseline: Option<&Bound<'_, PyAny>>,
    seeds: u64,
    orders: Option<Vec<String>>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    max_events: Option<u64>,
    predictor: Option<PathBuf>,
    conditions: Option<&Bound<'_, PyDict>>,
) -> PyResult<Comparison> {
    let faults = Faults::default();
    let workloads =
        setups::several(workloads)?.iter().map(|given| Ok(setups::workload(given)?.0)).collect::<PyResult<Vec<_>>>()?;
    let machines = setups::several(machines)?.iter().map(setups::machine).collect::<PyResult<Vec<_>>>()?;
    let given = setups::several(policies)?;
    let policies = given.iter().map(|given| setups::policy(given, &faults)).collect::<PyResult<Vec<_>>>()?;
    let against = baseline.filter(|given| !given.is_instance_of::<PyString>());
    let baseline = match baseline {
        Some(given) => setups::policy(given, &faults)?,
        None => catalog::policy("cfs").map_err(|error| raise(&error))?,
    };
    let same = policies.iter().position(|policy| policy.name() == baseline.name());
    // What another object makes may be another policy, whatever its name.
    if let (Some(at), Some(against)) = (same, against)
        && !given[at].eq(against)?
    {
        return Err(namesakes("policies", "self.name", baseline.name()));
    }
    let policies = Plan::with_baseline(policies, &baseline);
    for (what, empty) in [("workloads", workloads.is_empty()), ("machines", machines.is_empty()), ("seeds", seeds == 0)]
    {
        if empty {
            return Err(Error::new_err(format!("no {what}: expected at least one")));
        }
    }
    distinct("workloads", "called=", workloads.iter().map(|workload| workload.name.as_str()))?;
    distinct("machines", "called=", machines.iter().map(|machine| machine.name.as_str()))?;
    distinct("policies", "self.name", policies.iter().map(evenkeel_sched::Setup::name))?;
    let plan = Plan {
        orders: Plan::orders_for(&setups::orders(orders)?, workloads.iter().any(|workload| workload.names_cores())),
        workloads,
        machines,
        policies,
        seeds: (1..=seeds).collect(),
        conditions: self::conditions(conditions, predictor)?,
    };
    let how = How { progress, threads, max_events, faults: faults.clone() };
    let done = work(py, &how, |control| {
        let runner = Runner::new(plan, control)?;
        let results = runner.run_all(control)?;
        Ok::<_, experiment::Error>((runner, results))
    })?;
    let (runner, results) = done.map_err(|error| raise(&error))?;
    let baseline = baseline.name().to_owned();
    Ok(Comparison { runner, results, baseline, faults, runs: Once::default(), effects: Once::default() })
}

/// Results are told apart by names.
fn distinct<'a>(what: &str, how: &str, names: impl Iterator<Item = &'a str>) -> PyResult<()> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(namesakes(what, how, name));
        }
    }
    Ok(())
}

fn namesakes(what: &str, how: &str, name: &str) -> PyErr {
    Error::new_err(format!("two {what} are called {name:?}: expected a name of its own for each ({how})"))
}

impl Comparison {
    fn compared(&self) -> experiment::Comparison<'_> {
        experiment::Comparison::of(self.runner.plan(), &self.results, &self.baseline)
    }

    fn all_effects(&self) -> PyResult<Table> {
        let compared = self.compared();
        let metrics: [(&str, Value); 4] = [
            ("h_antt", |run| run.h_antt),
            ("h_stp", |run| run.h_stp),
            ("energy_j", |run| run.energy.0),
            ("makespan_s", |run| run.makespan.as_secs_f64()),
        ];
        let mut rows = Vec::new();
        for cell in compared.cells.iter().map(Some).chain([None]) {
            // Over all orders, and in each.
            let orders: Vec<Option<usize>> = [None].into_iter().chain((0..compared.orders.len()).map(Some)).collect();
            for policy in compared.others() {
                for (metric, value) in metrics {
                    for order in &orders {
                        let difference = compared.effect(cell, *order, policy, value);
                        rows.push((cell, compared.policies[policy], metric, difference.map(Difference), *order));
                    }
                }
            }
        }
        let numbers = |read: fn(&Difference) -> Option<f64>| {
            column(Float64Array::from_iter(rows.iter().map(|row| row.3.as_ref().and_then(read))))
        };
        let names = |read: fn(&experiment::Cell<'_>) -> String| {
            column(StringArray::from_iter(rows.iter().map(|row| row.0.map(read))))
        };
        let order = rows.iter().map(|row| row.4.map(|order| compared.orders[order].name()));
        let pairs = rows.iter().map(|row| row.3.as_ref().map_or(0, |difference| difference.0.pairs() as u64));
        batch([
            ("workload", names(|cell| cell.workload.to_owned())),
            ("machine", names(|cell| cell.machine.to_owned())),
            ("policy", texts(rows.iter().map(|row| row.1))),
            ("metric", texts(rows.iter().map(|row| row.2))),
            ("order", column(StringArray::from_iter(order))),
            ("percent", numbers(|difference| Some(difference.percent()))),
            ("low", numbers(Difference::low)),
            ("high", numbers(Difference::high)),
            ("pairs", column(UInt64Array::from_iter_values(pairs))),
        ])
        .map(Table::of)
    }
}

#[pymethods]
impl Comparison {
    /// What was found, in a sentence: a policy is named only if chance does not explain its effect.
    #[getter]
    fn headline(&self) -> String {
        headline::of(&self.compared())
    }

    /// The policy that the others are compared with.
    #[getter]
    fn baseline(&self) -> &str {
        &self.baseline
    }

    /// The policies.
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.runner.plan().policies.iter().map(|policy| policy.name().to_owned()).collect()
    }

    /// The runs, a row each, with the columns of a sweep's table.
    #[getter]
    fn runs(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        // Made by what writes sweeps, so that the columns are the same.
        self.runs.get(py, || {
            let table = evenkeel_sweep::table(&self.results.runs).map_err(|error| raise(&error))?;
            Table::of_parquet(Bytes::from(table)).map_err(|error| raise(&error))
        })
    }

    /// How much each policy differs from the baseline on each workload and machine, and over all of them (`workload` and
    /// `machine` are missing there): `policy`, `metric` (`h_antt`, `h_stp`, `energy_j`, `makespan_s`), `order`, `percent` with its
    /// 95 % interval from seed to seed (`low`, `high`), and in how many `pairs` of seeds. `order` is the core order; it is missing
    /// where the effect is over all of them.
    #[getter]
    fn effects(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.effects.get(py, || self.all_effects())
    }

    /// The document that `evenkeel compare --format json` prints, but for the time that it took.
    fn to_json(&self) -> PyResult<String> {
        let document = json::Runs::of(&self.results.runs, self.results.events, 0.0).compared(&self.compared());
        json::print(&document).map_err(|error| raise(&error))
    }

    /// Writes the page that `evenkeel compare --html` writes.
    fn save_html(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let how = How { faults: self.faults.clone(), ..How::default() };
        let recorded = work(py, &how, |_| Timelines::record(&self.runner, PANELS))?;
        let timelines = recorded.map_err(|error| raise(&error))?;
        let html = page::comparison(&self.compared(), &timelines, "evenkeel.compare in Python");
        files::write(&path, &html)
    }

    /// What `evenkeel compare` prints.
    fn __str__(&self) -> String {
        strip_str(&text::comparison(&self.compared())).to_string()
    }

    fn __repr__(&self) -> String {
        format!("<evenkeel.Comparison of {}: {}>", self.policies().join(", "), self.headline())
    }
}

/// How much one thing differs from another, in percent, with a 95 % interval.
#[pyclass(frozen, module = "evenkeel")]
pub struct Difference(model::Difference);

#[pymethods]
impl Difference {
    /// The geometric mean of the ratios, less one, in percent.
    #[getter]
    fn percent(&self) -> f64 {
        100.0 * self.0.value
    }

    /// The lower end of the interval; `None` for a single pair.
    #[getter]
    fn low(&self) -> Option<f64> {
        self.0.interval.map(|(low, _)| 100.0 * low)
    }

    /// The upper end of the interval.
    #[getter]
    fn high(&self) -> Option<f64> {
        self.0.interval.map(|(_, high)| 100.0 * high)
    }

    /// Whether the interval is on one side of zero.
    #[getter]
    fn clear(&self) -> bool {
        self.0.is_clear()
    }

    /// How many seeds it is from.
    #[getter]
    fn seeds(&self) -> usize {
        self.0.pairs()
    }

    fn __repr__(&self) -> String {
        match (self.low(), self.high()) {
            (Some(low), Some(high)) => format!("{:+.1} % ({low:+.1} to {high:+.1})", self.percent()),
            _ => format!("{:+.1} %", self.percent()),
        }
    }
}

/// How much values differ in pairs: for each seed a list of `(baseline, value)`. A seed counts once, with the geometric mean of
/// its pairs; the interval is Student's, from seed to seed. `None` if there is no pair of positive numbers.
#[pyfunction]
pub fn difference(pairs: Vec<Vec<(f64, f64)>>) -> Option<Difference> {
    let of_seed = |pairs: &Vec<(f64, f64)>| {
        let ratios = pairs.iter().map(|(baseline, value)| value / baseline);
        model::Difference::of(ratios).map(|of_seed| 1.0 + of_seed.value)
    };
    model::Difference::of(pairs.iter().filter_map(of_seed)).map(Difference)
}

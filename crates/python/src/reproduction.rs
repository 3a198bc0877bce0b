//! A paper's evaluation.

use std::path::PathBuf;

use anstream::adapter::strip_str;
use arrow_array::{Float64Array, StringArray, UInt32Array};
use evenkeel_experiment::paper::{self, Experiment, Verdict};
use evenkeel_report::{json, page, text};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;
use crate::files;
use crate::history::{batch, column, texts};
use crate::table::Table;
use crate::work::{How, work};

/// A paper's evaluation: what it published beside what comes out here.
#[pyclass(frozen, module = "evenkeel")]
pub struct Reproduction {
    reproduction: paper::Reproduction,
}

/// Runs the evaluation of a paper, one of `evenkeel.experiments()`, or, with `"all"`, of all of them, one after the other: a dict by their names.
/// `oracle` shows policies the true speedups. `progress` counts within each.
#[pyfunction]
#[pyo3(signature = (experiment, *, oracle=false, threads=None, progress=None))]
pub fn reproduce<'py>(
    py: Python<'py>,
    experiment: &str,
    oracle: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let experiments = Experiment::by_name(experiment).map_err(|error| raise(&error))?;
    if oracle {
        paper::check_oracle(&experiments, experiment).map_err(|error| raise(&error))?;
    }
    let how = How { threads, progress, ..How::default() };
    let done = work(py, &how, |control| {
        let run = |experiment| paper::Reproduction::run(experiment, oracle, control);
        experiments.into_iter().map(run).collect::<Result<Vec<_>, _>>()
    })?;
    let by_name = PyDict::new(py);
    for reproduction in done.map_err(|error| raise(&error))? {
        let name = reproduction.experiment.name.clone();
        let reproduction = Bound::new(py, Reproduction { reproduction })?;
        if name == experiment {
            return Ok(reproduction.into_any());
        }
        by_name.set_item(name, reproduction)?;
    }
    Ok(by_name.into_any())
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Close => "close",
        Verdict::Sign => "sign",
        Verdict::Miss => "miss",
    }
}

#[pymethods]
impl Reproduction {
    /// The paper.
    #[getter]
    fn title(&self) -> &str {
        &self.reproduction.experiment.title
    }

    /// What was published, a row each: `id`, `what`, `source` (section and figure), `published`, `simulated` (missing if nothing was run
    /// that it could come from), `low` and `high`, its 95 % interval from seed to seed (missing with one seed, of amounts, and of what is
    /// picked out of several values), and `verdict`: `close`, `sign` or `miss`.
    #[getter]
    fn rows(&self) -> PyResult<Table> {
        let rows = &self.reproduction.rows;
        let columns = [
            ("id", texts(rows.iter().map(|row| row.published.id.as_str()))),
            ("what", texts(rows.iter().map(|row| row.published.what.as_str()))),
            ("source", texts(rows.iter().map(|row| row.published.source.as_str()))),
            ("published", column(Float64Array::from_iter_values(rows.iter().map(|row| row.published.published)))),
            ("simulated", column(Float64Array::from_iter(rows.iter().map(|row| row.simulated)))),
            ("low", column(Float64Array::from_iter(rows.iter().map(|row| row.interval.map(|(low, _)| low))))),
            ("high", column(Float64Array::from_iter(rows.iter().map(|row| row.interval.map(|(_, high)| high))))),
            ("verdict", texts(rows.iter().map(|row| verdict(row.verdict)))),
        ];
        batch(columns).map(Table::of)
    }

    /// The same as the paper's figures show it, a bar each, in their order: `figure`, `shows`, `panel` (from 1: a vertical axis each),
    /// `axis`, `base` (no effect), `better`, `group` (what stands below), `series`, `color` (of pages), `published`, `simulated`,
    /// `low` and `high` (its 95 % interval), `bound` (`below` or `above`, where the paper gives a limit) and `id`, of its row.
    #[getter]
    fn figures(&self) -> PyResult<Table> {
        let (mut words, mut bounds): ([Vec<String>; 6], _) = (Default::default(), Vec::new());
        let (mut panels, mut colors, mut better) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bases, mut published, mut simulated) = (Vec::new(), Vec::new(), Vec::new());
        let (mut lows, mut highs) = (Vec::new(), Vec::new());
        page::figure_bars(&self.reproduction.experiment, &self.reproduction.rows, |bar| {
            let texts = [bar.figure, bar.shows, &bar.axis, &bar.group, bar.series, bar.id];
            words.iter_mut().zip(texts).for_each(|(column, text)| column.push(text.to_owned()));
            panels.push(bar.panel);
            colors.push(bar.colour);
            better.push(bar.better);
            bounds.push(bar.bound);
            bases.push(bar.base);
            published.push(bar.published);
            simulated.push(bar.simulated);
            lows.push(bar.interval.map(|(low, _)| low));
            highs.push(bar.interval.map(|(_, high)| high));
        });
        let [figure, shows, axis, group, series, id] = words.map(|column| texts(column.iter().map(String::as_str)));
        let columns = [
            ("figure", figure),
            ("shows", shows),
            ("panel", column(UInt32Array::from_iter_values(panels))),
            ("axis", axis),
            ("base", column(Float64Array::from_iter_values(bases))),
            ("better", column(StringArray::from_iter(better))),
            ("group", group),
            ("series", series),
            ("color", column(UInt32Array::from_iter_values(colors))),
            ("published", column(Float64Array::from_iter_values(published))),
            ("simulated", column(Float64Array::from_iter(simulated))),
            ("low", column(Float64Array::from_iter(lows))),
            ("high", column(Float64Array::from_iter(highs))),
            ("bound", column(StringArray::from_iter(bounds))),
            ("id", id),
        ];
        batch(columns).map(Table::of)
    }

    /// The document that `evenkeel reproduce --format json` prints, but for the time that it took.
    fn to_json(&self) -> PyResult<String> {
        json::print(&json::Reproduction::of(&self.reproduction, 0.0)).map_err(|error| raise(&error))
    }

    /// Writes the page that `evenkeel reproduce --html` writes.
    fn save_html(&self, path: PathBuf) -> PyResult<()> {
        let one = std::slice::from_ref(&self.reproduction);
        let html = page::reproductions(&self.reproduction.experiment.name, one, "evenkeel.reproduce in Python");
        files::write(&path, &html)
    }

    /// What `evenkeel reproduce` prints.
    fn __str__(&self) -> String {
        strip_str(&text::reproductions(std::slice::from_ref(&self.reproduction))).to_string()
    }

    fn __repr__(&self) -> String {
        format!("<evenkeel.Reproduction of {}: {} numbers>", self.title(), self.reproduction.rows.len())
    }
}

//! One run.

use std::io::BufWriter;
use std::path::PathBuf;

use anstream::adapter::strip_str;
use arrow_array::{Float64Array, UInt16Array, UInt32Array};
use evenkeel_experiment as experiment;
use evenkeel_experiment::history::{History, Recorder};
use evenkeel_experiment::{Job, Plan, Runner};
use evenkeel_model as model;
use evenkeel_model::ThreadKind;
use evenkeel_report::{page, text};
use evenkeel_sim::perfetto::Writer;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::conditions::conditions;
use crate::error::{Error, raise};
use crate::files::{self, Partial};
use crate::history::{self, batch, column, texts};
use crate::setups;
use crate::table::{Once, Table};
use crate::work::{Faults, How, work};

/// A run, and what happened in it.
#[pyclass(frozen, module = "evenkeel")]
pub struct Run {
    run: experiment::Run,
    machine: model::Machine,
    history: History,
    tables: Tables,
}

/// The tables of a run.
#[derive(Default)]
struct Tables {
    programs: Once,
    threads: Once,
    cores: Once,
    spans: Once,
    wakeups: Once,
    responses: Once,
    waits: Once,
    power: Once,
    frequencies: Once,
}

/// Simulates a workload on a machine under a policy.
///
/// `workload`, `machine` and `policy` are objects or names. A recording brings the machine that it was recorded on. `seed` is of
/// every random draw; a run that draws nothing is the same whatever it is (`run.drawn`). `order` is that in which the operating
/// system numbers the cores: `declared`, `big-first`, `little-first`. `trace` is a file for a Perfetto trace. `conditions` are as
/// the options of `evenkeel sim`: `noise=True`, `delay="50us"`, `governor="schedutil"`, `oracle=True`, `max_time="10s"`; `predictor` is a
/// file of `evenkeel train`, without which one is trained where a policy reads speedups.
#[pyfunction]
#[pyo3(signature = (workload, machine=None, policy=None, *, seed=None, order="declared", trace=None, max_events=None, predictor=None, **conditions))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub fn simulate(
    py: Python<'_>,
    workload: &Bound<'_, PyAny>,
    machine: Option<&Bound<'_, PyAny>>,
    policy: Option<&Bound<'_, PyAny>>,
    seed: Option<u64>,
    order: &str,
    trace: Option<PathBuf>,
    max_events: Option<u64>,
    predictor: Option<PathBuf>,
    conditions: Option<&Bound<'_, PyDict>>,
) -> PyResult<Run> {
    let faults = Faults::default();
    let (workload, recorded_on) = setups::workload(workload)?;
    let machine = match (machine, recorded_on) {
        (Some(machine), _) => setups::machine(machine)?,
        (None, Some(machine)) => machine,
        (None, None) => {
            let name = &workload.name;
            return Err(Error::new_err(format!(
                "no machine: {name} does not come from one as a recording does; evenkeel.machines() lists all"
            )));
        }
    };
    let policy = match policy {
        Some(policy) => setups::policy(policy, &faults)?,
        None => experiment::catalog::policy("cfs").map_err(|error| raise(&error))?,
    };
    let orders = setups::orders(Some(vec![order.to_owned()]))?;
    let plan = Plan {
        workloads: vec![workload],
        machines: vec![machine],
        policies: vec![policy],
        seeds: vec![seed.unwrap_or(1)],
        conditions: self::conditions(conditions, predictor)?,
        orders,
    };
    let job = Job { workload: 0, machine: 0, policy: 0, order: plan.orders[0], seed: plan.seeds[0] };
    let mut file = trace.as_deref().map(Partial::create).transpose()?;
    let how = How { max_events, faults, ..How::default() };
    let done = work(py, &how, |control| {
        let runner = Runner::new(plan, control)?;
        let machine = runner.machine(job);
        let writer = file.as_mut().map(|file| Writer::new(&machine, BufWriter::new(file.writer())));
        let mut seen = (Recorder::new(&machine), writer);
        let run = runner.run(job, &mut seen)?;
        let (recorder, writer) = seen;
        let written = writer.map_or(Ok(()), |writer| writer.finish().map(drop));
        let history = recorder.finish(run.measurement.makespan);
        Ok::<_, experiment::Error>((Run { run, machine, history, tables: Tables::default() }, written))
    })?;
    let (run, written) = done.map_err(|error| raise(&error))?;
    if let Some(file) = file {
        written.map_err(|error| file.unwritten(&error)).and_then(|()| file.keep())?;
    }
    if let Some(seed) = seed.filter(|_| !run.run.drawn) {
        let text = format!("seed={seed} changes nothing: this run draws nothing from a seed (noise=True does)");
        setups::warn(py, &[text])?;
    }
    Ok(run)
}

#[pymethods]
impl Run {
    /// The workload's name.
    #[getter]
    fn workload(&self) -> &str {
        &self.run.workload
    }

    /// The machine's name.
    #[getter]
    fn machine(&self) -> &str {
        &self.run.machine
    }

    /// The policy's name, with its knobs.
    #[getter]
    fn policy(&self) -> &str {
        &self.run.policy
    }

    /// The order of the cores.
    #[getter]
    fn order(&self) -> &'static str {
        self.run.order.name()
    }

    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.run.seed
    }

    /// Whether anything was drawn from the seed.
    #[getter]
    fn drawn(&self) -> bool {
        self.run.drawn
    }

    /// Until the last thread exited or the workload's duration was over, in seconds.
    #[getter]
    fn makespan_s(&self) -> f64 {
        self.run.measurement.makespan.as_secs_f64()
    }

    /// Mean over programs of the turnaround against that alone on a machine of big cores only (COLAB 5.1); lower is better.
    #[getter]
    fn h_antt(&self) -> f64 {
        self.run.measurement.h_antt
    }

    /// Sum over programs of the inverse of that ratio; higher is better.
    #[getter]
    fn h_stp(&self) -> f64 {
        self.run.measurement.h_stp
    }

    /// Energy of all cores, in joules.
    #[getter]
    fn energy_j(&self) -> f64 {
        self.run.measurement.energy.0
    }

    /// Energy times makespan, in joule seconds.
    #[getter]
    fn edp(&self) -> f64 {
        self.run.measurement.edp()
    }

    /// Moves of a thread to another core.
    #[getter]
    fn migrations(&self) -> u64 {
        self.run.measurement.migrations
    }

    /// Changes of the thread on a core.
    #[getter]
    fn context_switches(&self) -> u64 {
        self.run.measurement.context_switches
    }

    /// Threads that were stopped to let another run.
    #[getter]
    fn preemptions(&self) -> u64 {
        self.run.measurement.preemptions
    }

    /// Events of the simulator.
    #[getter]
    fn events(&self) -> u64 {
        self.run.events
    }

    /// The machine's core types, the fastest first.
    #[getter]
    fn core_types(&self) -> Vec<String> {
        self.machine.core_types.iter().map(|core_type| core_type.name.clone()).collect()
    }

    /// The programs: `name`, `turnaround_s` (missing if the run ended first).
    #[getter]
    fn programs(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.programs.get(py, || {
            let programs = &self.run.programs;
            let turnaround = |program: &experiment::ProgramTime| program.turnaround.map(model::Ns::as_secs_f64);
            let columns = [
                ("name", texts(programs.iter().map(|program| program.name.as_str()))),
                ("turnaround_s", column(Float64Array::from_iter(programs.iter().map(turnaround)))),
            ];
            batch(columns).map(Table::of)
        })
    }

    /// The threads: `thread`, `program`, `name`, `kind`, and how long each ran, waited for a core and for locks, in seconds.
    #[getter]
    fn threads(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.threads.get(py, || {
            let threads = &self.run.threads;
            let program =
                |thread: &experiment::ThreadTime| self.run.programs.get(thread.program).map_or("", |p| &p.name);
            let kind = |kind: ThreadKind| match kind {
                ThreadKind::Application => "application",
                ThreadKind::Service => "service",
            };
            let seconds = |of: fn(&experiment::ThreadTime) -> model::Ns| {
                column(Float64Array::from_iter_values(threads.iter().map(|thread| of(thread).as_secs_f64())))
            };
            let columns = [
                ("thread", column(UInt32Array::from_iter_values(0..threads.len() as u32))),
                ("program", texts(threads.iter().map(program))),
                ("name", texts(threads.iter().map(|thread| thread.name.as_str()))),
                ("kind", texts(threads.iter().map(|thread| kind(thread.kind)))),
                ("ran_s", seconds(|thread| thread.ran)),
                ("waited_s", seconds(|thread| thread.waited)),
                ("waited_for_locks_s", seconds(|thread| thread.waited_for_locks)),
            ];
            batch(columns).map(Table::of)
        })
    }

    /// The cores, as the operating system numbers them: `core`, `core_type`, `cluster`, `busy_s`, `energy_j`.
    #[getter]
    fn cores(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.cores.get(py, || {
            let cores = &self.run.cores;
            let cluster = |core: model::CoreId| self.machine.cores[core.index()].cluster.index();
            let columns = [
                ("core", column(UInt16Array::from_iter_values(cores.iter().map(|core| core.id.0)))),
                ("core_type", texts(cores.iter().map(|core| self.machine.core_type(core.id).name.as_str()))),
                ("cluster", texts(cores.iter().map(|core| self.machine.clusters[cluster(core.id)].name.as_str()))),
                ("busy_s", column(Float64Array::from_iter_values(cores.iter().map(|core| core.busy.as_secs_f64())))),
                ("energy_j", column(Float64Array::from_iter_values(cores.iter().map(|core| core.energy.0)))),
            ];
            batch(columns).map(Table::of)
        })
    }

    /// Which thread ran on which core: `core`, `core_type`, `cluster`, `thread`, `program`, `name`, `start_ns`, `end_ns`, `stop`
    /// (`preempted`, `taken`, `yielded`, `blocked`, `exited`, `end`) and `waits_for`.
    #[getter]
    fn spans(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.spans.get(py, || history::spans(&self.history, &self.machine).map(Table::of))
    }

    /// When threads became ready: `at_ns`, `thread`, `program`, `name`, `core` on which it then ran, `latency_ns` until then, and
    /// `by`, the thread that woke it.
    #[getter]
    fn wakeups(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.wakeups.get(py, || history::wakeups(&self.history).map(Table::of))
    }

    /// How long threads took from each wake-up that no thread caused, such as a timer's, until they waited again: `thread`, `program`,
    /// `name`, `response_ns`, and how many `times`. Where a thread has more than 2,048 different times, near ones are told as one,
    /// hardly longer than they were.
    #[getter]
    fn responses(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.responses.get(py, || history::responses(&self.history).map(Table::of))
    }

    /// Who waited for whom: `thread`, `program`, `name` of a thread that waited, `by` (`by_program`, `by_name`), the thread that
    /// woke it, `waited_s`, how long it waited for that one in all, and how many `times`.
    #[getter]
    fn waits(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.waits.get(py, || history::waits(&self.history).map(Table::of))
    }

    /// The power of each cluster from each time on until its next: `at_ns`, `cluster`, `power_w`.
    #[getter]
    fn power(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.power.get(py, || history::power(&self.history, &self.machine).map(Table::of))
    }

    /// The frequency of each cluster from each time on until its next: `at_ns`, `cluster`, `hz`.
    #[getter]
    fn frequencies(&self, py: Python<'_>) -> PyResult<Py<Table>> {
        self.tables.frequencies.get(py, || history::frequencies(&self.history, &self.machine).map(Table::of))
    }

    /// Writes the page that `evenkeel sim --html` writes.
    fn save_html(&self, path: PathBuf) -> PyResult<()> {
        let html = page::run(&self.run, &self.history, &self.machine, "evenkeel.simulate in Python");
        files::write(&path, &html)
    }

    /// What `evenkeel sim` prints.
    fn __str__(&self) -> String {
        strip_str(&text::run(&self.run, &self.machine)).to_string()
    }

    fn __repr__(&self) -> String {
        let (workload, machine, policy) = (self.workload(), self.machine(), self.policy());
        format!("<evenkeel.Run {workload} on {machine} under {policy}: {:.6} s>", self.makespan_s())
    }
}

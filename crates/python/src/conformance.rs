//! What every policy must do, on the simulator.

use evenkeel_conformance::{Arm, Facts, Played, Report, Scenario, Simulator, check_policies};
use evenkeel_model::Ns;
use evenkeel_sched::Setup;
use pyo3::exceptions::{PyAssertionError, PyKeyboardInterrupt};
use pyo3::prelude::*;

use crate::setups;
use crate::work::{Faults, How, work};

/// What became of a policy in the scenarios that every host plays, with decisions that take effect at once and with late ones.
#[pyclass(frozen, module = "evenkeel")]
pub struct Conformance {
    reports: Vec<Report>,
}

/// Tries a policy in every scenario that is for it: whether its threads come to their end, run only where they may, and, if it
/// guarantees that, leave little cores when big ones are idle.
#[pyfunction]
pub fn conformance(py: Python<'_>, policy: &Bound<'_, PyAny>) -> PyResult<Conformance> {
    let faults = Faults::default();
    let setup = setups::policy(policy, &faults)?;
    let how = How { threads: Some(1), faults: faults.clone(), ..How::default() };
    let reports = work(py, &how, |control| {
        let mut tried = Tried { simulator: Simulator::new(Ns::ZERO), faults: faults.clone() };
        tried.simulator.options.meter = control.meter.cloned();
        tried.simulator.options.max_events = EVENTS;
        let reports = [Ns::ZERO, Ns::from_us(50), Ns::from_ms(1)].map(|delay| {
            tried.simulator.options.delay = delay;
            check_policies(&mut tried, std::slice::from_ref(&setup))
        });
        reports.to_vec()
    })?;
    Ok(Conformance { reports })
}

/// No scenario has so many events unless a policy lets it go on for ever.
const EVENTS: u64 = 1_000_000;

/// The simulator, under a policy whose exceptions count as failures. Only Ctrl-C ends the work.
struct Tried {
    simulator: Simulator,
    faults: Faults,
}

impl Tried {
    /// What went wrong in Python since it was asked last. Ctrl-C stays, so that nothing more is tried and the work ends with it.
    fn fault(&self) -> Option<String> {
        let error = self.faults.take()?;
        Python::attach(|py| {
            let found = placed(py, &error);
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                self.faults.set(error);
            }
            Some(found)
        })
    }
}

impl Arm for Tried {
    fn facts(&self) -> Facts {
        self.simulator.facts()
    }

    fn play(&mut self, scenario: &Scenario, policy: &Setup) -> Result<Played, String> {
        let played = self.simulator.play(scenario, policy);
        self.fault().map_or(played, Err)
    }

    fn refused(&mut self) -> Option<String> {
        self.fault()
    }
}

/// An exception, and the line that raised it.
fn placed(py: Python<'_>, error: &PyErr) -> String {
    let mut traceback = error.traceback(py).map(Bound::into_any);
    let mut place = String::new();
    while let Some(entry) = traceback {
        let code = entry.getattr("tb_frame").and_then(|frame| frame.getattr("f_code"));
        let name = |attribute: &str| code.as_ref().ok().and_then(|code| code.getattr(attribute).ok()?.extract().ok());
        let (file, hook): (Option<String>, Option<String>) = (name("co_filename"), name("co_name"));
        let line: Option<u32> = entry.getattr("tb_lineno").and_then(|line| line.extract()).ok();
        if let (Some(file), Some(hook), Some(line)) = (file, hook, line) {
            place = format!("{file}:{line}, in {hook}: ");
        }
        traceback = entry.getattr("tb_next").ok().filter(|next| !next.is_none());
    }
    format!("{place}{error}")
}

#[pymethods]
impl Conformance {
    /// How many runs did what was expected.
    #[getter]
    fn passed(&self) -> usize {
        self.reports.iter().map(|report| report.passed).sum()
    }

    /// What did not, a sentence each: host, scenario, policy, what was found.
    #[getter]
    fn failed(&self) -> Vec<String> {
        let of = |report: &Report| {
            let arm = report.arm.clone();
            report.failed.clone().into_iter().map(move |line| format!("{arm}: {line}"))
        };
        self.reports.iter().flat_map(of).collect()
    }

    /// Raises an `AssertionError` with all that failed, or if nothing was tried since the policy accepts none of the machines: for a
    /// test.
    fn check(&self) -> PyResult<()> {
        let failed = self.failed();
        if failed.is_empty() && self.passed() == 0 {
            return Err(PyAssertionError::new_err(
                "nothing was tried: the policy accepts no machine of one or two big and little cores",
            ));
        }
        if failed.is_empty() { Ok(()) } else { Err(PyAssertionError::new_err(failed.join("\n"))) }
    }

    fn __repr__(&self) -> String {
        format!("<evenkeel.Conformance: {} passed, {} failed>", self.passed(), self.failed().len())
    }
}

//! What there is: bundled machines, workloads, policies.

use evenkeel_experiment::{catalog, paper};
use evenkeel_report::json;
use pyo3::prelude::*;

use crate::error::{Error, raise};

/// A list as the document that `evenkeel KIND --format json` prints.
#[pyfunction]
pub fn lists(kind: &str) -> PyResult<String> {
    let text = match kind {
        "machines" => {
            let machines = catalog::all_machines().map_err(|error| raise(&error))?;
            json::line(&json::Machines::of(&machines))
        }
        "policies" => json::line(&json::Policies::all()),
        "workloads" => json::line(&json::Workloads::all()),
        "experiments" => {
            let all = paper::Experiment::by_name("all").map_err(|error| raise(&error))?;
            json::line(&all.iter().map(|experiment| experiment.name.as_str()).collect::<Vec<_>>())
        }
        other => return Err(Error::new_err(format!("no list of {other}"))),
    };
    text.map_err(|error| raise(&error))
}

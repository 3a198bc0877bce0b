//! The Python package `evenkeel`: what the command does through the `experiment` and `sweep` crates, for notebooks.
//!
//! Each file is what its name says in Python. What is slow runs without the interpreter's lock and can be interrupted
//! (`work`); results are Arrow tables (`table`), which other packages take without a copy; a policy written in Python is one
//! like any other (`policy`). Everything that needs no Rust is in the Python files beside this folder.

mod comparison;
mod conditions;
mod conformance;
mod error;
mod files;
mod history;
mod lists;
mod machine;
mod policy;
mod recording;
mod reproduction;
mod run;
mod setups;
mod sweeps;
mod table;
mod trace;
mod work;
mod workload;

/// The compiled part of the package.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::comparison::{Comparison, Difference, compare, difference};
    #[pymodule_export]
    use crate::conformance::{Conformance, conformance};
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::lists::lists;
    #[pymodule_export]
    use crate::machine::Machine;
    #[pymodule_export]
    use crate::policy::{Changes, Pick, Policy, Queue, Span, State, Thread, Why};
    #[pymodule_export]
    use crate::recording::Recording;
    #[pymodule_export]
    use crate::reproduction::{Reproduction, reproduce};
    #[pymodule_export]
    use crate::run::{Run, simulate};
    #[pymodule_export]
    use crate::sweeps::{Grid, Sweep, is_done, is_whole, merge, part, read, sweep, write};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::trace::{read_counters, read_trace};
    #[pymodule_export]
    use crate::workload::Workload;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

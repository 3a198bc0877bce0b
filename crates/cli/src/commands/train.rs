//! `evenkeel train`: the speedup predictor of a machine.

use anyhow::{Result, bail};

use crate::args::Train;
use crate::catalog;

/// Runs the command.
pub fn run(args: &Train) -> Result<String> {
    let machine = catalog::machine(&args.machine)?;
    bail!("{}: training is not built yet", machine.name)
}

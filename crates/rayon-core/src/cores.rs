//! Cores that differ where the machine does not say so, from the environment: `EVENKEEL_RAYON_CORES=0=3,1=1`.

use std::env;
use std::sync::OnceLock;

use evenkeel_runtime::{Topology, this_machine_with_speeds};

/// How fast each CPU is, in any unit. There are two speeds.
const CORES: &str = "EVENKEEL_RAYON_CORES";

/// The cores that the variable names. `None`: as the machine says. A mistake is said once, since no caller could get an error.
pub(crate) fn cores() -> Option<Topology> {
    static CORES_GIVEN: OnceLock<Option<Topology>> = OnceLock::new();
    CORES_GIVEN
        .get_or_init(|| {
            let text = env::var(CORES).ok().filter(|text| !text.is_empty())?;
            this_machine_with_speeds(&text)
                .map_err(|wrong| {
                    eprintln!("evenkeel: {CORES}={text:?}: {wrong}; the cores are taken to be as the machine says")
                })
                .ok()
        })
        .clone()
}

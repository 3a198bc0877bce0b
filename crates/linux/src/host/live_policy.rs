//! Which policies can schedule real threads.

use evenkeel_model::Machine;
use evenkeel_sched::{Setup, policy};

/// A policy by its name, with its knobs, if it can schedule a machine's real threads.
///
/// # Errors
/// Why not, in a sentence.
pub fn live_policy(name: &str, machine: &Machine) -> Result<Setup, String> {
    let setup = Setup::parse(name).map_err(|error| error.to_string())?;
    if setup.description().foresight {
        return Err(foresees(&setup));
    }
    policy::check(setup.make().as_ref(), machine)?;
    Ok(setup)
}

/// Why a policy cannot that has foresight.
pub fn foresees(setup: &Setup) -> String {
    let simulate = "use it with `evenkeel sim` and `evenkeel compare`, and colab or pfs here";
    format!("policy {} must know the future, which only the simulator knows: {simulate}", setup.description().name)
}

//! Policies: what a scheduler may decide. [`POLICIES`] lists those that exist, each of which has a file.
//!
//! A policy overrides exactly the hooks that its paper changed; the default of every hook is CFS ([`parts::fair`]). What
//! several policies are made of is in [`parts`]. A policy never assumes that its last decision was carried out: what it
//! sees in [`crate::State`] is what the host reported.

pub mod parts;

mod bias;
mod bind_vm;
mod cfs;
mod cluster_switch;
mod colab;
pub(crate) mod description;
mod eas;
mod eevdf;
mod fcf;
mod gts;
pub(crate) mod hooks;
mod iks;
mod in_kernel;
mod oracle;
mod pfs;
mod r#static;
mod wash;

use evenkeel_model::Machine;
use evenkeel_model::names::suggestion;

pub use crate::action::Pick;
pub use cfs::Cfs;
pub use description::{Description, Guarantee, Knob, Reads, Setup, SetupError, Value};
pub use evenkeel_hooks::hooks;
pub use hooks::{Changes, Group, Hook, Judgement, Label, Overrides, Policy, Standing};
pub use in_kernel::InKernel;
pub use parts::culprit::Culprit;

/// Every policy, in the order in which `evenkeel policies` lists them.
pub static POLICIES: &[&Description] = &[
    &cfs::DESCRIPTION,
    &eevdf::DESCRIPTION,
    &r#static::DESCRIPTION,
    &cluster_switch::DESCRIPTION,
    &iks::DESCRIPTION,
    &gts::DESCRIPTION,
    &eas::DESCRIPTION,
    &pfs::DESCRIPTION,
    &bind_vm::DESCRIPTION,
    &wash::DESCRIPTION,
    &colab::DESCRIPTION,
    &fcf::DESCRIPTION,
    &bias::DESCRIPTION,
    &oracle::DESCRIPTION,
];

/// Whether a policy can schedule a machine.
///
/// # Errors
/// Why not, in a sentence.
pub fn check(policy: &dyn Policy, machine: &Machine) -> Result<(), String> {
    policy.accepts(machine).map_err(|why| format!("policy {} cannot schedule {}: {why}", policy.name(), machine.name))
}

/// The policy of a name.
pub fn by_name(name: &str) -> Option<&'static Description> {
    POLICIES.iter().copied().find(|policy| policy.name == name)
}

impl Setup {
    /// Reads `NAME[:KNOB[=VALUE]]...`.
    ///
    /// # Errors
    /// An unknown policy or knob, a value that the knob does not take, a knob that is set twice.
    pub fn parse(text: &str) -> Result<Self, SetupError> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let description = by_name(name).ok_or_else(|| SetupError::Unknown {
            name: name.to_owned(),
            hint: suggestion(name, POLICIES.iter().map(|policy| policy.name)),
        })?;
        let mut setup = Self::from(description).called(text);
        for word in words {
            setup.turn(word).map_err(|message| SetupError::Knob { policy: description.name, message })?;
        }
        Ok(setup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_found_by_name() {
        assert_eq!(Setup::parse("cfs").unwrap().make().name(), "cfs");
        assert_eq!(Setup::parse("csf").unwrap_err().to_string(), r#"unknown policy "csf": did you mean "cfs"?"#);
        let none = Setup::parse("cfs:slice=1ms").unwrap_err();
        assert_eq!(none.to_string(), r#"policy cfs: it has no knob "slice", nor any other"#);
    }

    /// Reading an undeclared knob would panic here.
    #[test]
    fn every_policy_can_be_made() {
        for policy in POLICIES.iter().copied() {
            assert_eq!(Setup::from(policy).make().name(), policy.name);
        }
    }
}

//! Policies: what a scheduler may decide, and a registry of those that exist.

/// A scheduling policy. Every hook's default is CFS; a policy overrides the hooks that its paper changes.
pub trait Policy {
    /// The name that commands use.
    fn name(&self) -> &'static str;
}

/// An entry of the registry.
pub struct PolicyInfo {
    /// The name that commands use.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it comes from: title, venue, section.
    pub source: &'static str,
    /// Makes one.
    pub make: fn() -> Box<dyn Policy>,
}

/// Every policy, in the order in which `evenkeel policies` lists them.
pub const POLICIES: &[PolicyInfo] = &[];

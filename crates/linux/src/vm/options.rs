//! How a guest is booted.

use std::fmt;
use std::path::PathBuf;

use crate::spec::Spec;

/// How a guest is booted.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its cores.
    pub spec: Spec,
    /// Its kernel.
    pub kernel: PathBuf,
    /// Its memory, in MB.
    pub memory_mb: u32,
    /// What runs its code; `None` for KVM where that works, else TCG.
    pub accelerator: Option<Accelerator>,
    /// Whether its cores differ in speed. Without, it runs at full speed, on one real core under TCG.
    pub shares: bool,
}

/// What runs the guest's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor itself.
    Kvm,
    /// QEMU's translator: about ten times slower, and works everywhere.
    Tcg,
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "KVM",
            Self::Tcg => "TCG",
        })
    }
}

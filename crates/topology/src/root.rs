//! Where the files of this machine are.

use std::env;
use std::path::{Path, PathBuf};

use crate::Topology;

/// The variable that names a folder with files like those of `/sys`: what [`root`] returns. `evenkeel emulate --dvfs` sets it for its command.
pub const SYSFS: &str = "EVENKEEL_SYSFS";

/// Where the files of this machine are: `/`, or the folder that [`SYSFS`] names, which has a folder `sys`.
pub fn root() -> PathBuf {
    env::var_os(SYSFS).filter(|folder| !folder.is_empty()).map_or_else(|| "/".into(), PathBuf::from)
}

/// Whether [`root`] is another one than the machine's own.
pub fn elsewhere() -> bool {
    root() != Path::new("/")
}

impl Topology {
    /// Reads the topology of this machine, below [`root`], with the powers that [`POWERS`](crate::POWERS) names.
    ///
    /// # Errors
    /// As [`Topology::read`], and as [`Topology::with_powers_of_environment`].
    pub fn of_this_machine() -> Result<Self, String> {
        Self::read(&root())?.with_powers_of_environment()
    }

    /// This machine with other kinds, or less of it, as [`Topology::with`]. The powers of [`POWERS`](crate::POWERS) are those of the kinds that the machine
    /// states itself, or else of those that are given.
    ///
    /// # Errors
    /// As [`Topology::of_this_machine`] and [`Topology::with`].
    pub fn of_this_machine_with(big: Option<&str>, little: Option<&str>, ratio: Option<f64>) -> Result<Self, String> {
        let found = Self::read(&root())?;
        match found.with_powers_of_environment() {
            Ok(known) => known.with(big, little, ratio),
            Err(_) if big.or(little).is_some() => found.with(big, little, ratio)?.with_powers_of_environment(),
            Err(wrong) => Err(wrong),
        }
    }
}

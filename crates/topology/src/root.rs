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
    /// Reads the topology of this machine, below [`root`].
    ///
    /// # Errors
    /// As [`Topology::read`].
    pub fn of_this_machine() -> Result<Self, String> {
        Self::read(&root())
    }
}

//! A machine in a file of another tool.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::Topology;

/// What a flattened devicetree begins with.
const DEVICETREE: [u8; 4] = 0xd00d_feed_u32.to_be_bytes();
/// More than any description of a machine has.
const MOST: u64 = 64 << 20;

/// What is in a file that describes a machine.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let name = path.display();
    let mut bytes = Vec::new();
    // A device or a pipe does not say how much is in it.
    let read = File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot read {name}: {error}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!("{name} has more than {} MB; no description of a machine has", MOST >> 20));
    }
    Ok(bytes)
}

impl Topology {
    /// Reads hwloc's XML, a flattened devicetree, or a folder with a saved copy of `sys`.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of these, or does not describe a machine.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let found = fs::metadata(path).map_err(|error| format!("cannot read {name}: {error}"))?;
        if found.is_dir() {
            return Self::read(path);
        }
        let bytes = read(path)?;
        if bytes.starts_with(&DEVICETREE) {
            return Self::from_devicetree(&bytes).map_err(|error| format!("{name}: {error}"));
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => {
                Self::from_hwloc(text).map_err(|error| format!("{name}: {error}"))
            }
            _ => Err(format!(
                "{name} does not describe a machine; expected hwloc's XML (`lstopo machine.xml` writes it), a compiled devicetree (.dtb; `dtc` \
                 makes one of a .dts), or a folder with a copy of /sys"
            )),
        }
    }
}

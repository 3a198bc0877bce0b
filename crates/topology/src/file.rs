//! A machine in a file of another tool.

use std::fs;
use std::path::Path;

use crate::Topology;

/// What a flattened devicetree begins with.
const DEVICETREE: [u8; 4] = 0xd00d_feed_u32.to_be_bytes();
/// More than any description of a machine has.
const MOST: u64 = 64 << 20;

impl Topology {
    /// Reads hwloc's XML, a flattened devicetree, or a folder with a saved copy of `sys`.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of these, or does not describe a machine.
    pub fn from_file(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let unreadable = |error| format!("cannot read {name}: {error}");
        let found = fs::metadata(path).map_err(unreadable)?;
        if found.is_dir() {
            return Self::read(path);
        }
        if found.len() > MOST {
            return Err(format!("{name} has {} MB: that is no description of a machine", found.len() >> 20));
        }
        let bytes = fs::read(path).map_err(unreadable)?;
        if bytes.starts_with(&DEVICETREE) {
            return Self::from_devicetree(&bytes).map_err(|error| format!("{name}: {error}"));
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => {
                Self::from_hwloc(text).map_err(|error| format!("{name}: {error}"))
            }
            _ => Err(format!(
                "{name}: expected hwloc's XML (`lstopo machine.xml` writes it), a compiled devicetree (.dtb; `dtc` \
                 makes one of a .dts), or a folder with a copy of /sys"
            )),
        }
    }
}

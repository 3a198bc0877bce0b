//! Files as a kernel has them in `/sys`, for machines that are not here.

use std::path::Path;
use std::{fs, io};

/// In the folder that `EVENKEEL_SYSFS` names: 64 CPUs, of which nothing says that they differ.
///
/// # Errors
/// A file cannot be written.
pub fn equal_cpus(root: &Path) -> io::Result<()> {
    let cpus = root.join("sys/devices/system/cpu");
    for cpu in 0..64 {
        let cpufreq = cpus.join(format!("cpu{cpu}/cpufreq"));
        fs::create_dir_all(&cpufreq)?;
        fs::write(cpufreq.join("cpuinfo_min_freq"), "100000")?;
        fs::write(cpufreq.join("cpuinfo_max_freq"), "666000")?;
    }
    fs::write(cpus.join("online"), "0-63")
}

//! Which frequency a CPU has.

use std::fs;
use std::path::Path;

use evenkeel_model::Hz;

/// The frequency of a CPU, where the kernel says it below a root, in kHz (Documentation/admin-guide/pm/cpufreq.rst). A driver that does
/// not know it says so in words, or says 0.
pub fn of_cpu(root: &Path, cpu: u16) -> Option<Hz> {
    let path = root.join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"));
    let khz: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    khz.checked_mul(1000).filter(|hz| *hz > 0).map(Hz)
}

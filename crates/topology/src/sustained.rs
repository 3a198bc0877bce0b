//! The power that a machine sustains: what RAPL limits its processors to over seconds, or what a thermal zone takes away.

use evenkeel_model::{Hz, Watts};

use crate::Sustained;
use crate::sysfs::Tree;

const RAPL: &str = "sys/class/powercap";
const THERMAL: &str = "sys/class/thermal";

impl Sustained {
    /// RAPL's limit where it is on, else the lowest of the thermal zones that cool all CPUs.
    pub(crate) fn of(tree: &Tree<'_>) -> Option<Self> {
        rapl(tree).or_else(|| thermal(tree))
    }
}

/// The long-term limits of all packages together (Documentation/power/powercap/powercap.rst).
fn rapl(tree: &Tree<'_>) -> Option<Sustained> {
    let names = tree.names(RAPL);
    // `intel-rapl:0` is a package or the whole platform, `intel-rapl:0:1` a part of it.
    let zones = names.iter().filter(|name| name.strip_prefix("intel-rapl:").is_some_and(|rest| !rest.contains(':')));
    let packages = zones.filter(|zone| {
        let name = tree.text(format!("{RAPL}/{zone}/name"));
        name.is_some_and(|name| name.starts_with("package"))
    });
    let limit = |zone: &String| {
        let file = |name: &str| tree.text(format!("{RAPL}/{zone}/{name}"));
        let on = file("enabled").is_none_or(|enabled| enabled != "0");
        let long = file("constraint_0_name").is_some_and(|name| name == "long_term");
        (on && long).then(|| watts(&file("constraint_0_power_limit_uw")?, 1e-6)).flatten()
    };
    let limits: Option<Vec<Watts>> = packages.map(limit).collect();
    let power: Watts = limits.filter(|limits| !limits.is_empty())?.into_iter().sum();
    Some(Sustained { power, source: "RAPL (constraint_0_power_limit_uw)" })
}

/// `sustainable_power` of a zone is in milliwatts, and 0 where nothing has said it (Documentation/driver-api/thermal/sysfs-api.rst). A zone that
/// cools only some of the CPUs, or a GPU, says nothing of all.
fn thermal(tree: &Tree<'_>) -> Option<Sustained> {
    let names = tree.names(THERMAL);
    let is_cpu = |kind: &String| kind.starts_with("cpufreq-") || kind.starts_with("thermal-cpufreq-");
    let kind = |device: String| tree.text(format!("{THERMAL}/{device}/type")).filter(is_cpu);
    let devices = names.iter().filter(|name| name.starts_with("cooling_device"));
    let all: Vec<String> = devices.filter_map(|device| kind(device.clone())).collect();
    let cools_all = |zone: &&String| {
        let links = tree.names(&format!("{THERMAL}/{zone}"));
        let devices = links.iter().filter(|name| name.starts_with("cdev"));
        let cooled: Vec<String> = devices.filter_map(|device| kind(format!("{zone}/{device}"))).collect();
        all.iter().all(|device| cooled.contains(device))
    };
    let zones = names.iter().filter(|name| name.starts_with("thermal_zone") && !all.is_empty()).filter(cools_all);
    let limits = zones.filter_map(|zone| watts(&tree.text(format!("{THERMAL}/{zone}/sustainable_power"))?, 1e-3));
    let power = limits.min_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(Sustained { power, source: "thermal zone (sustainable_power)" })
}

/// A number above 0 in a unit.
fn watts(text: &str, unit: f64) -> Option<Watts> {
    text.parse::<u64>().ok().filter(|number| *number > 0).map(|number| Watts(number as f64 * unit))
}

/// The frequency that a CPU sustains with all others: what its driver says (kHz), else what ACPI calls nominal, "the maximum sustained performance
/// level of the platform" (ACPI 6.5, 8.4.6.1.1.2; MHz).
pub(crate) fn base(tree: &Tree<'_>, id: u16) -> Option<Hz> {
    let khz = tree.positive(id, "cpufreq/base_frequency");
    let khz = khz.or_else(|| Some(tree.positive(id, "acpi_cppc/nominal_freq")? * 1000.0))?;
    Some(Hz((khz * 1000.0) as u64))
}

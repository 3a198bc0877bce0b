//! What the processor's packages use, by the kernel's counters (RAPL, through powercap).

use std::fs;
use std::path::{Path, PathBuf};

const ZONES: &str = "sys/class/powercap";

/// The energy counters of a machine: of each package, and of parts of it.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    zones: Vec<Zone>,
    /// There are some that this user may not read.
    kept: bool,
}

/// What has a counter.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    /// Such as `package-0`, and `package-0 core` for a part of that.
    pub name: String,
    is_part: bool,
    /// By its numbers: packages in order, each before its parts.
    order: Vec<u32>,
    folder: PathBuf,
    /// The counter begins again at 0 after this, in uJ.
    range: u64,
}

impl Counters {
    /// Those of the machine whose files are below `root`. None if it has none, or keeps them from this user, as most machines do from all
    /// but root.
    pub fn find(root: &Path) -> Self {
        let Ok(zones) = fs::read_dir(root.join(ZONES)) else { return Self::default() };
        let (mut zones, kept): (Vec<Zone>, Vec<Zone>) =
            zones.flatten().filter_map(|zone| Zone::find(zone.path())).partition(|zone| zone.read().is_some());
        zones.sort_by(|one, other| one.order.cmp(&other.order));
        Self { zones, kept: !kept.is_empty() }
    }

    /// Why there are none.
    pub fn missing(&self) -> Option<&'static str> {
        match self {
            Self { zones, .. } if !zones.is_empty() => None,
            Self { kept: true, .. } => {
                Some("only root may read the energy counters (energy_uj in /sys/class/powercap)")
            }
            Self { .. } => Some("the kernel has no energy counters (RAPL, in /sys/class/powercap)"),
        }
    }

    /// What they have counted; to be handed to [`Self::since`].
    pub fn read(&self) -> Vec<Option<u64>> {
        self.zones.iter().map(Zone::read).collect()
    }

    /// What all packages have used since, in joules; `None` without counters. A span in which a counter has begun again twice cannot be told:
    /// that takes a quarter of an hour at the least, and hours on most machines.
    pub fn since(&self, before: &[Option<u64>]) -> Option<f64> {
        if self.zones.is_empty() {
            return None;
        }
        let packages = self.zones.iter().zip(before).filter(|(zone, _)| !zone.is_part);
        let used: Option<u64> = packages.map(|(zone, before)| Some(zone.used((*before)?, zone.read()?))).sum();
        used.map(|used| used as f64 * 1e-6)
    }

    /// What has a counter.
    pub(crate) fn zones(self) -> Vec<Zone> {
        self.zones
    }
}

impl Zone {
    /// The zone in this folder, if it is that of a package or of a part of one: others are the whole machine, or the same counter once more
    /// (`intel-rapl-mmio:0`).
    fn find(folder: PathBuf) -> Option<Self> {
        let numbers = folder.file_name()?.to_str()?.strip_prefix("intel-rapl:")?;
        let order: Vec<u32> = numbers.split(':').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let read = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).ok();
        let name = read(&folder, "name")?.trim().to_owned();
        let range = read(&folder, "max_energy_range_uj")?.trim().parse().ok()?;
        let package = match order.len() {
            1 => None,
            _ => Some(read(&folder.with_file_name(format!("intel-rapl:{}", order[0])), "name")?.trim().to_owned()),
        };
        if !package.as_ref().unwrap_or(&name).starts_with("package-") {
            return None;
        }
        let is_part = package.is_some();
        let name = package.map_or(name.clone(), |package| format!("{package} {name}"));
        Some(Self { name, is_part, order, folder, range })
    }

    /// What it has counted, in uJ.
    pub(crate) fn read(&self) -> Option<u64> {
        let counted: u64 = fs::read_to_string(self.folder.join("energy_uj")).ok()?.trim().parse().ok()?;
        Some(counted.min(self.range))
    }

    /// What it has used from one reading to a later one, in uJ.
    pub(crate) fn used(&self, before: u64, now: u64) -> u64 {
        if now >= before { now - before } else { self.range - before + now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands in for a machine with such counters, which the machines of the tests are not.
    #[test]
    fn packages_are_added_and_begin_again() {
        let root = tempfile::tempdir().unwrap();
        let zones = root.path().join(ZONES);
        let zone = |zone: &str, name: &str, counted: u64| {
            let folder = zones.join(zone);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("name"), format!("{name}\n")).unwrap();
            fs::write(folder.join("max_energy_range_uj"), "1000000\n").unwrap();
            fs::write(folder.join("energy_uj"), format!("{counted}\n")).unwrap();
        };
        let none = Counters::find(root.path());
        assert_eq!(none.since(&[]), None);
        assert!(none.missing().is_some_and(|why| why.contains("RAPL")));
        zone("intel-rapl:10", "package-1", 100);
        zone("intel-rapl:2", "package-0", 900_000);
        zone("intel-rapl-mmio:2", "package-0", 900_000);
        zone("intel-rapl:2:0", "core", 1);
        zone("intel-rapl:11", "psys", 5);
        zone("intel-rapl:11:0", "part", 5);
        let counters = Counters::find(root.path());
        assert_eq!(counters.missing(), None);
        let names: Vec<String> = counters.clone().zones().into_iter().map(|zone| zone.name).collect();
        assert_eq!(names, ["package-0", "package-0 core", "package-1"]);
        let before = counters.read();
        assert_eq!(before, [Some(900_000), Some(1), Some(100)]);
        zone("intel-rapl:2", "package-0", 100_000);
        zone("intel-rapl:10", "package-1", 300_100);
        assert_eq!(counters.since(&before), Some(0.5));
        fs::remove_file(zones.join("intel-rapl:10/energy_uj")).unwrap();
        assert_eq!(counters.since(&before), None);
    }

    #[test]
    fn counters_that_are_kept_from_this_user_are_told_from_none() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(ZONES).join("intel-rapl:0");
        // Not even root reads a folder as a file.
        fs::create_dir_all(folder.join("energy_uj")).unwrap();
        fs::write(folder.join("name"), "package-0\n").unwrap();
        fs::write(folder.join("max_energy_range_uj"), "1000000\n").unwrap();
        let counters = Counters::find(root.path());
        assert_eq!((counters.read().len(), counters.since(&[])), (0, None));
        assert!(counters.missing().is_some_and(|why| why.contains("only root")));
    }
}

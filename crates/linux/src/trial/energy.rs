//! What the processor's packages use, by the kernel's counters (RAPL, through powercap).

use std::fs;
use std::path::{Path, PathBuf};

/// The energy counters of a machine, one for each package.
#[derive(Clone, Debug, Default)]
pub struct Counters(Vec<Package>);

#[derive(Clone, Debug)]
struct Package {
    /// Its folder.
    zone: PathBuf,
    /// The counter begins again at 0 after this, in uJ.
    range: u64,
}

impl Counters {
    /// Those of the machine whose files are below `root`. None if it has none, or keeps them from this user, as most machines do from all
    /// but root.
    pub fn find(root: &Path) -> Self {
        let Ok(zones) = fs::read_dir(root.join("sys/class/powercap")) else { return Self::default() };
        let mut packages: Vec<Package> =
            zones.flatten().filter_map(|zone| Package::find(zone.path())).filter(|one| one.read().is_some()).collect();
        packages.sort_by(|one, other| one.zone.cmp(&other.zone));
        Self(packages)
    }

    /// What they have counted; to be handed to [`Self::since`].
    pub fn read(&self) -> Vec<Option<u64>> {
        self.0.iter().map(Package::read).collect()
    }

    /// What all packages have used since, in joules; `None` without counters. A span in which a counter has begun again twice cannot be told:
    /// that takes a quarter of an hour at the least, and hours on most machines.
    pub fn since(&self, before: &[Option<u64>]) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        let used = |(package, before): (&Package, &Option<u64>)| {
            let (now, before) = (package.read()?, (*before)?);
            Some(if now >= before { now - before } else { package.range - before + now })
        };
        let used: Option<u64> = self.0.iter().zip(before).map(used).sum();
        used.map(|used| used as f64 * 1e-6)
    }
}

impl Package {
    /// The zone in this folder, if it is that of a package: others are parts of one, the whole machine, or the same counter once more
    /// (`intel-rapl-mmio:0`).
    fn find(zone: PathBuf) -> Option<Self> {
        let folder = zone.file_name()?.to_str()?;
        folder.strip_prefix("intel-rapl:")?;
        let name = fs::read_to_string(zone.join("name")).ok()?;
        let range = fs::read_to_string(zone.join("max_energy_range_uj")).ok()?.trim().parse().ok()?;
        name.starts_with("package-").then_some(Self { zone, range })
    }

    fn read(&self) -> Option<u64> {
        let counted: u64 = fs::read_to_string(self.zone.join("energy_uj")).ok()?.trim().parse().ok()?;
        Some(counted.min(self.range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands in for a machine with such counters, which the machines of the tests are not.
    #[test]
    fn packages_are_added_and_begin_again() {
        let root = tempfile::tempdir().unwrap();
        let zones = root.path().join("sys/class/powercap");
        let zone = |zone: &str, name: &str, counted: u64| {
            let folder = zones.join(zone);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("name"), format!("{name}\n")).unwrap();
            fs::write(folder.join("max_energy_range_uj"), "1000000\n").unwrap();
            fs::write(folder.join("energy_uj"), format!("{counted}\n")).unwrap();
        };
        assert_eq!(Counters::find(root.path()).since(&[]), None);
        zone("intel-rapl:0", "package-0", 900_000);
        zone("intel-rapl-mmio:0", "package-0", 900_000);
        zone("intel-rapl:0:0", "core", 1);
        zone("intel-rapl:1", "package-1", 100);
        zone("intel-rapl:2", "psys", 5);
        let counters = Counters::find(root.path());
        let before = counters.read();
        assert_eq!(before, [Some(900_000), Some(100)]);
        zone("intel-rapl:0", "package-0", 100_000);
        zone("intel-rapl:1", "package-1", 300_100);
        assert_eq!(counters.since(&before), Some(0.5));
        fs::remove_file(zones.join("intel-rapl:1/energy_uj")).unwrap();
        assert_eq!(counters.since(&before), None);
    }
}

//! The power of packages over time, where the kernel counts their energy.

use std::path::Path;

use evenkeel_model::{Ns, Watts};

use super::steps::Steps;
use crate::energy::{Counters, Zone};

/// Between two readings lies so long at least: counters are brought up to date about every ms (Intel SDM 3B, "Package RAPL Domain"), so that
/// power is known to a fiftieth.
const SPAN: Ns = Ns::from_ms(50);

/// The power of each package, and of its parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Power {
    meters: Vec<Meter>,
    missing: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Meter {
    zone: Zone,
    /// When it was read last, and what it had counted.
    last: Option<(Ns, u64)>,
    /// In uW.
    steps: Steps,
}

impl Power {
    /// That of a machine that the kernel tells below a root.
    pub(super) fn of(root: &Path) -> Self {
        let counters = Counters::find(root);
        let missing = counters.missing();
        let meter = |zone| Meter { zone, last: None, steps: Steps::default() };
        Self { meters: counters.zones().into_iter().map(meter).collect(), missing }
    }

    /// Reads all counters, if it is time for it. What they have counted since the last time was used evenly.
    pub(super) fn read(&mut self, now: Ns) {
        for meter in &mut self.meters {
            if meter.last.is_some_and(|(at, _)| now.since(at) < SPAN) {
                continue;
            }
            let Some(counted) = meter.zone.read() else { continue };
            if let Some((at, before)) = meter.last.replace((now, counted)) {
                let used = u128::from(meter.zone.used(before, counted));
                // A uJ a ns is 10^9 uW.
                meter.steps.note(at, (used * 1_000_000_000 / u128::from(now.since(at).0)) as u64);
            }
        }
    }

    /// What each package or part used from each time on until its next.
    pub(super) fn changes(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = (Ns, Watts)>)> {
        let watts = |(at, uw): (Ns, u64)| (at, Watts(uw as f64 * 1e-6));
        self.meters.iter().map(move |meter| (meter.zone.name.as_str(), meter.steps.changes().map(watts)))
    }

    /// Why there is none.
    pub(super) fn missing(&self) -> Option<&'static str> {
        self.missing
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Stands in for a machine with such counters.
    #[test]
    fn power_is_what_was_counted_divided_by_the_time() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("sys/class/powercap/intel-rapl:0");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("name"), "package-0\n").unwrap();
        fs::write(folder.join("max_energy_range_uj"), "10000000\n").unwrap();
        let tell = |uj: &str| fs::write(folder.join("energy_uj"), uj).unwrap();
        tell("9000000\n");
        let mut power = Power::of(tree.path());
        // 1 J in 100 ms, which is read too early once; then the counter begins again, and cannot be read once.
        for (ms, uj) in [(0, "9000000\n"), (20, "9400000\n"), (100, "10000000\n"), (200, "gone"), (300, "3000000\n")] {
            tell(uj);
            power.read(Ns::from_ms(ms));
        }
        let found: Vec<(&str, Vec<(Ns, Watts)>)> =
            power.changes().map(|(name, steps)| (name, steps.collect())).collect();
        assert_eq!(found, [("package-0", vec![(Ns::ZERO, Watts(10.0)), (Ns::from_ms(100), Watts(15.0))])]);
    }
}

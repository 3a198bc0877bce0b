//! How fast cores should be: what the kernel's own governor of frequencies is told, if it is schedutil. No other one asks a
//! scheduler.

use std::fs;
use std::path::Path;

use evenkeel_model::FULL_LOAD;
use evenkeel_sched::Governor;

/// What schedutil takes for all of each core, of [`FULL_LOAD`]; `None` if it does not set their frequencies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Speeds(Option<Vec<u32>>);

impl Speeds {
    /// Of these CPUs of this machine.
    pub(crate) fn of(cpus: &[u16]) -> Self {
        Self::from(Path::new("/sys/devices/system/cpu"), cpus)
    }

    /// Stands for a machine with schedutil, which tests need not have.
    #[cfg(test)]
    pub(crate) fn asking(whole: Vec<u32>) -> Self {
        Self(Some(whole))
    }

    fn from(folder: &Path, cpus: &[u16]) -> Self {
        let text = |cpu: u16, file: &str| fs::read_to_string(folder.join(format!("cpu{cpu}/{file}"))).ok();
        let asks = |cpu: &u16| text(*cpu, "cpufreq/scaling_governor").is_some_and(|name| name.trim() == "schedutil");
        // Kernels without this file take all cores for equal.
        let whole =
            |cpu: &u16| text(*cpu, "cpu_capacity").and_then(|text| text.trim().parse().ok()).unwrap_or(FULL_LOAD);
        Self(cpus.iter().all(asks).then(|| cpus.iter().map(whole).collect()))
    }

    /// What sets frequencies, as the scheduler core has it.
    pub(crate) fn governor(&self) -> Governor {
        if self.0.is_some() { Governor::Schedutil } else { Governor::Performance }
    }

    /// How often the governor was told something, if it asks.
    pub(crate) fn told(&self, times: u64) -> Option<u64> {
        self.0.is_some().then_some(times)
    }

    /// By core; none if no governor asks.
    pub(crate) fn whole(&self) -> &[u32] {
        self.0.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schedutil_asks_and_takes_little_cores_for_less() {
        let folder = tempfile::tempdir().unwrap();
        let write = |cpu: u16, file: &str, text: &str| {
            let file = folder.path().join(format!("cpu{cpu}/{file}"));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        (0..2).for_each(|cpu| write(cpu, "cpufreq/scaling_governor", "schedutil\n"));
        write(1, "cpu_capacity", "446\n");
        let speeds = Speeds::from(folder.path(), &[0, 1]);
        assert_eq!((speeds.governor(), speeds.whole()), (Governor::Schedutil, &[1024, 446][..]));
        write(1, "cpufreq/scaling_governor", "performance\n");
        let speeds = Speeds::from(folder.path(), &[0, 1]);
        assert_eq!((speeds.governor(), speeds.whole()), (Governor::Performance, &[][..]));
        assert!(Speeds::from(folder.path(), &[2]).whole().is_empty(), "a machine without frequencies");
    }
}

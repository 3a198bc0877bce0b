//! Frequencies through the files of cpufreq: `scaling_setspeed` where the governor is `userspace`, else the ceiling `scaling_max_freq`, below
//! which the governor stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use evenkeel_model::Hz;

use super::claim::Claim;
use super::{CPUS, Dvfs, Setting};

/// The files of cpufreq below a root.
#[derive(Debug)]
pub(crate) struct Cpufreq {
    policies: Vec<CpufreqPolicy>,
}

/// CPUs that share a clock.
#[derive(Debug)]
struct CpufreqPolicy {
    cpus: Vec<u16>,
    file: PathBuf,
    _claim: Claim,
    /// What the file said before, to be written back.
    before: String,
    ceiling: Hz,
    /// What the governor `userspace` was told; else the ceiling.
    nominal: Hz,
    /// What can be set, ascending; a range from the first to the last if `steps` is false.
    frequencies: Vec<u64>,
    steps: bool,
    /// What was set last, in kHz.
    now: Option<u64>,
}

impl Cpufreq {
    /// The clocks of these CPUs, below `/` or below a folder with the same files.
    ///
    /// # Errors
    /// A CPU without cpufreq, files that may not be written, or a clock that another pool sets.
    pub fn open(root: &Path, cpus: &[u16]) -> io::Result<Self> {
        let mut policies: Vec<CpufreqPolicy> = Vec::new();
        for cpu in cpus {
            if !policies.iter().any(|policy| policy.shares_with(*cpu)) {
                policies.push(CpufreqPolicy::of(root, *cpu)?);
            }
        }
        Ok(Self { policies })
    }

    fn policy(&self, cpu: u16) -> Option<&CpufreqPolicy> {
        self.policies.iter().find(|policy| policy.shares_with(cpu))
    }
}

impl CpufreqPolicy {
    fn of(root: &Path, cpu: u16) -> io::Result<Self> {
        let folder = root.join(CPUS).join(format!("cpu{cpu}/cpufreq"));
        let text = |file: &str| fs::read_to_string(folder.join(file)).map(|text| text.trim().to_owned());
        let khz = |file: &str| text(file)?.parse::<u64>().map_err(io::Error::other);
        let file = if text("scaling_governor")? == "userspace" { "scaling_setspeed" } else { "scaling_max_freq" };
        let path = folder.join(file);
        // Before the files are read, so that they say what they do without pools.
        let claim = Claim::to(fs::OpenOptions::new().write(true).open(&path)?)?;
        let (lowest, highest) = (khz("cpuinfo_min_freq")?, khz("cpuinfo_max_freq")?);
        let listed = |file: &str| -> Vec<u64> {
            let listed = text(file).unwrap_or_default();
            listed.split_whitespace().filter_map(|khz| khz.parse().ok()).collect()
        };
        let mut frequencies = listed("scaling_available_frequencies");
        let steps = !frequencies.is_empty();
        if steps {
            // While boost is switched off its frequencies are listed all the same, above the highest.
            let boost = listed("scaling_boost_frequencies");
            frequencies.extend(boost.into_iter().filter(|khz| *khz <= highest));
        } else {
            frequencies = vec![lowest, highest];
        }
        frequencies.sort_unstable();
        let related = text("related_cpus").unwrap_or_default();
        let mut cpus: Vec<u16> = related.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect();
        if !cpus.contains(&cpu) {
            cpus = vec![cpu];
        }
        let hz = |file: &str| Ok::<_, io::Error>(Hz(khz(file)?.saturating_mul(1000)));
        let (ceiling, nominal) = (hz("scaling_max_freq")?, hz(file)?);
        let before = text(file)?;
        Ok(Self { cpus, file: path, _claim: claim, before, ceiling, nominal, frequencies, steps, now: None })
    }

    fn shares_with(&self, cpu: u16) -> bool {
        self.cpus.contains(&cpu)
    }

    /// What can be set that is nearest, in kHz. What is within the ceiling stays within it.
    fn nearest(&self, wanted: Hz) -> Option<u64> {
        let (khz, ceiling) = (wanted.0 / 1000, self.ceiling.0 / 1000);
        let (first, last) = (*self.frequencies.first()?, *self.frequencies.last()?);
        if !self.steps {
            return Some(khz.clamp(first, last.max(first)));
        }
        let most = if khz > ceiling { last } else { ceiling.max(first) };
        self.frequencies.iter().copied().filter(|step| *step <= most).min_by_key(|step| step.abs_diff(khz))
    }

    fn set(&mut self, khz: u64) -> io::Result<()> {
        if self.now == Some(khz) {
            return Ok(());
        }
        fs::write(&self.file, khz.to_string())?;
        self.now = Some(khz);
        Ok(())
    }
}

impl Dvfs for Cpufreq {
    fn ceiling(&self, cpu: u16) -> Option<Hz> {
        self.policy(cpu).map(|policy| policy.ceiling)
    }

    fn nominal(&self, cpu: u16) -> Option<Hz> {
        self.policy(cpu).map(|policy| policy.nominal)
    }

    fn set(&mut self, settings: &[Setting]) -> io::Result<()> {
        for policy in &mut self.policies {
            // One clock for several cores: the fastest that one of them needs.
            let wanted = settings.iter().filter(|setting| policy.shares_with(setting.cpu));
            let highest = wanted.map(|setting| setting.frequency).max_by_key(|hz| hz.0);
            if let Some(khz) = highest.and_then(|hz| policy.nearest(hz)) {
                policy.set(khz)?;
            }
        }
        Ok(())
    }
}

impl Drop for Cpufreq {
    fn drop(&mut self) {
        for policy in self.policies.iter().filter(|policy| policy.now.is_some()) {
            // There is no caller left to report it to.
            let _ = fs::write(&policy.file, &policy.before);
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Two clocks: CPUs 0 and 1 share one that has steps, CPU 2 has a range.
    fn tree(governor: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let cpus = root.path().join(CPUS);
        for (cpu, related) in [(0, "0 1"), (2, "2")] {
            let folder = cpus.join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&folder).unwrap();
            let write = |file: &str, text: &str| fs::write(folder.join(file), format!("{text}\n")).unwrap();
            write("related_cpus", related);
            write("scaling_governor", governor);
            write("cpuinfo_min_freq", "400000");
            write("cpuinfo_max_freq", "2000000");
            write("scaling_max_freq", "1600000");
            write("scaling_setspeed", "800000");
            if cpu == 0 {
                write("scaling_available_frequencies", "2000000 1200000 400000");
            }
        }
        // As in sysfs, CPUs that share a clock have the same files.
        fs::create_dir_all(cpus.join("cpu1")).unwrap();
        symlink("../cpu0/cpufreq", cpus.join("cpu1/cpufreq")).unwrap();
        root
    }

    fn read(root: &Path, cpu: u16, file: &str) -> String {
        let path = root.join(CPUS).join(format!("cpu{cpu}/cpufreq/{file}"));
        fs::read_to_string(path).unwrap().trim().to_owned()
    }

    fn at(cpu: u16, mhz: u64) -> Setting {
        Setting { cpu, thread: None, frequency: Hz(mhz * 1_000_000) }
    }

    #[test]
    fn the_nearest_frequency_is_set_and_what_was_there_comes_back() {
        let root = tree("schedutil");
        let mut clocks = Cpufreq::open(root.path(), &[0, 1, 2]).unwrap();
        assert_eq!((clocks.ceiling(1), clocks.ceiling(9)), (Some(Hz(1_600_000_000)), None));
        assert_eq!(clocks.nominal(1), clocks.ceiling(1));
        clocks.set(&[at(0, 300), at(1, 1300), at(2, 1234)]).unwrap();
        // CPU 1 needs more than CPU 0, whose clock it is.
        assert_eq!(read(root.path(), 0, "scaling_max_freq"), "1200000");
        assert_eq!(read(root.path(), 2, "scaling_max_freq"), "1234000");
        clocks.set(&[at(2, 9999)]).unwrap();
        assert_eq!(read(root.path(), 2, "scaling_max_freq"), "2000000");
        drop(clocks);
        for cpu in [0, 2] {
            assert_eq!(read(root.path(), cpu, "scaling_max_freq"), "1600000");
        }
    }

    #[test]
    fn a_step_above_the_ceiling_is_set_only_for_a_frequency_above_it() {
        let root = tree("schedutil");
        fs::write(root.path().join(CPUS).join("cpu0/cpufreq/scaling_max_freq"), "1700000").unwrap();
        let mut clocks = Cpufreq::open(root.path(), &[0]).unwrap();
        for (wanted, set) in [(1700, "1200000"), (1701, "2000000")] {
            clocks.set(&[at(0, wanted)]).unwrap();
            assert_eq!(read(root.path(), 0, "scaling_max_freq"), set);
        }
    }

    #[test]
    fn a_frequency_of_boost_is_set_while_that_is_switched_on() {
        for highest in ["2016000", "1800000"] {
            let root = tree("schedutil");
            let folder = root.path().join(CPUS).join("cpu0/cpufreq");
            let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
            write("scaling_available_frequencies", "408000 1200000 1800000");
            write("scaling_boost_frequencies", "2016000");
            write("cpuinfo_max_freq", highest);
            write("scaling_max_freq", highest);
            let mut clocks = Cpufreq::open(root.path(), &[0]).unwrap();
            clocks.set(&[at(0, 1200)]).unwrap();
            clocks.set(&[at(0, 2016)]).unwrap();
            assert_eq!(read(root.path(), 0, "scaling_max_freq"), highest);
        }
    }

    #[test]
    fn one_pool_at_a_time_sets_a_clock() {
        let root = tree("schedutil");
        let mut first = Cpufreq::open(root.path(), &[0, 2]).unwrap();
        first.set(&[at(0, 400)]).unwrap();
        for cpu in [0, 1, 2] {
            let second = Cpufreq::open(root.path(), &[cpu]).unwrap_err();
            assert_eq!(second.to_string(), "another pool sets this clock");
        }
        drop(first);
        assert_eq!(read(root.path(), 0, "scaling_max_freq"), "1600000");
        let second = Cpufreq::open(root.path(), &[0, 1, 2]).unwrap();
        assert_eq!(second.ceiling(0), Some(Hz(1_600_000_000)));
    }

    #[test]
    fn the_governor_userspace_is_told_a_speed() {
        let root = tree("userspace");
        let mut clocks = Cpufreq::open(root.path(), &[2]).unwrap();
        assert_eq!((clocks.nominal(2), clocks.ceiling(2)), (Some(Hz(800_000_000)), Some(Hz(1_600_000_000))));
        clocks.set(&[at(2, 1000)]).unwrap();
        assert_eq!(read(root.path(), 2, "scaling_setspeed"), "1000000");
        assert_eq!(read(root.path(), 2, "scaling_max_freq"), "1600000");
        drop(clocks);
        assert_eq!(read(root.path(), 2, "scaling_setspeed"), "800000");
    }

    #[test]
    fn a_panic_puts_back_what_was_there() {
        let root = tree("performance");
        let clocks = std::panic::catch_unwind(|| {
            let mut clocks = Cpufreq::open(root.path(), &[0]).unwrap();
            clocks.set(&[at(0, 400)]).unwrap();
            assert_eq!(read(root.path(), 0, "scaling_max_freq"), "400000");
            panic!("on purpose");
        });
        assert!(clocks.is_err());
        assert_eq!(read(root.path(), 0, "scaling_max_freq"), "1600000");
    }

    #[test]
    fn a_machine_without_cpufreq_says_so() {
        let root = tree("performance");
        assert!(Cpufreq::open(root.path(), &[0, 3]).is_err());
    }
}

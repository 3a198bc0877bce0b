//! The clocks of clusters over time, where the kernel tells them.

use std::path::{Path, PathBuf};

use evenkeel_model::{ClusterId, Hz, Machine, Ns};

use super::steps::Steps;
use crate::frequency;

/// The clocks of some clusters, each as its first core has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    root: PathBuf,
    clusters: Vec<Clock>,
    missing: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct Clock {
    cluster: ClusterId,
    /// The CPU that is asked.
    cpu: u16,
    /// In Hz.
    steps: Steps,
}

impl Clocks {
    /// Those of a machine that the kernel tells below a root. Core `i` is the CPU `cpus[i]`.
    pub(super) fn of(root: &Path, machine: &Machine, cpus: &[u16]) -> Self {
        let clusters = machine.clusters.iter().enumerate().filter_map(|(id, cluster)| {
            let cpu = *cpus.get(cluster.cores.iter().next()?.index())?;
            frequency::of_cpu(root, cpu)?;
            Some(Clock { cluster: ClusterId(id as u16), cpu, steps: Steps::default() })
        });
        let clusters: Vec<Clock> = clusters.collect();
        let missing = clusters.is_empty().then_some("the kernel does not tell them (cpufreq)");
        Self { root: root.to_owned(), clusters, missing }
    }

    /// Asks for all of them.
    pub(super) fn read(&mut self, now: Ns) {
        for clock in &mut self.clusters {
            if let Some(frequency) = frequency::of_cpu(&self.root, clock.cpu) {
                clock.steps.note(now, frequency.0);
            }
        }
    }

    /// What each cluster had from each time on until its next.
    pub(super) fn changes(&self) -> impl Iterator<Item = (Ns, ClusterId, Hz)> {
        self.clusters
            .iter()
            .flat_map(|clock| clock.steps.changes().map(move |(at, frequency)| (at, clock.cluster, Hz(frequency))))
    }

    /// Why there are none.
    pub(super) fn missing(&self) -> Option<&'static str> {
        self.missing
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use evenkeel_model::machines;

    use super::*;

    #[test]
    fn changes_are_noted_of_clusters_whose_clock_the_kernel_tells() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("sys/devices/system/cpu/cpu4/cpufreq");
        fs::create_dir_all(&folder).unwrap();
        let tell = |khz: &str| fs::write(folder.join("scaling_cur_freq"), khz).unwrap();
        tell("1000000\n");
        // CPUs 4 and 5 are big.
        let mut clocks = Clocks::of(tree.path(), &machines::by_name("2B2S").unwrap(), &[4, 5, 6, 7]);
        for (ms, khz) in [(1, "1000000\n"), (2, "1000000\n"), (3, "2000000\n"), (4, "<unknown>\n"), (5, "1500000\n")] {
            tell(khz);
            clocks.read(Ns::from_ms(ms));
        }
        let expected = [(1, 1000), (3, 2000), (5, 1500)];
        let expected = expected.map(|(ms, mhz)| (Ns::from_ms(ms), ClusterId(0), Hz(mhz * 1_000_000)));
        assert_eq!(clocks.changes().collect::<Vec<_>>(), expected);
    }
}

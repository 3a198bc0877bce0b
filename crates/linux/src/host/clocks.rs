//! The clocks of clusters over time, where the kernel tells them.

use std::path::{Path, PathBuf};

use evenkeel_model::{ClusterId, Hz, Machine, Ns};

use crate::frequency;

/// Not more changes than this are kept of a cluster: of more, the older part is in means.
const CHANGES: usize = 1 << 12;

/// The clocks of some clusters, each as its first core has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    root: PathBuf,
    clusters: Vec<Clock>,
}

#[derive(Clone, Debug)]
struct Clock {
    cluster: ClusterId,
    /// The CPU that is asked.
    cpu: u16,
    /// From each time on until the next.
    changes: Vec<(Ns, Hz)>,
}

impl Clocks {
    /// Those of a machine that the kernel tells below a root. Core `i` is the CPU `cpus[i]`.
    pub(super) fn of(root: &Path, machine: &Machine, cpus: &[u16]) -> Self {
        let clusters = machine.clusters.iter().enumerate().filter_map(|(id, cluster)| {
            let cpu = *cpus.get(cluster.cores.iter().next()?.index())?;
            frequency::of_cpu(root, cpu)?;
            Some(Clock { cluster: ClusterId(id as u16), cpu, changes: Vec::new() })
        });
        Self { root: root.to_owned(), clusters: clusters.collect() }
    }

    /// Asks for all of them.
    pub(super) fn read(&mut self, now: Ns) {
        for clock in &mut self.clusters {
            if let Some(frequency) = frequency::of_cpu(&self.root, clock.cpu) {
                clock.note(now, frequency);
            }
        }
    }

    /// What each cluster had from each time on until its next.
    pub(super) fn changes(&self) -> impl Iterator<Item = (Ns, ClusterId, Hz)> {
        let changes =
            self.clusters.iter().flat_map(|clock| clock.changes.iter().map(move |change| (clock.cluster, change)));
        changes.map(|(cluster, (at, frequency))| (*at, cluster, *frequency))
    }
}

impl Clock {
    fn note(&mut self, now: Ns, frequency: Hz) {
        if self.changes.last().is_some_and(|(_, last)| *last == frequency) {
            return;
        }
        if self.changes.len() == CHANGES {
            self.changes = means(&self.changes, now);
        }
        self.changes.push((now, frequency));
    }
}

/// Of each two the mean over the time of both.
fn means(changes: &[(Ns, Hz)], now: Ns) -> Vec<(Ns, Hz)> {
    let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([now]);
    let spans: Vec<(Ns, u128, Hz)> =
        changes.iter().zip(ends).map(|((at, frequency), end)| (*at, end.since(*at).0.into(), *frequency)).collect();
    let mean = |pair: &[(Ns, u128, Hz)]| {
        let time: u128 = pair.iter().map(|(_, time, _)| time).sum();
        let cycles: u128 = pair.iter().map(|(_, time, frequency)| time * u128::from(frequency.0)).sum();
        (pair[0].0, Hz((cycles / time.max(1)) as u64))
    };
    spans.chunks(2).map(mean).collect()
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

    #[test]
    fn however_long_it_lasts_few_are_kept_and_the_older_ones_are_means() {
        let mut clock = Clock { cluster: ClusterId(0), cpu: 0, changes: Vec::new() };
        for ms in 0..5 * CHANGES as u64 {
            clock.note(Ns::from_ms(ms), Hz(1_000_000_000 + ms % 2 * 2_000_000_000));
        }
        let Clock { changes, .. } = clock;
        assert!(changes.len() <= CHANGES && changes.is_sorted_by(|(one, _), (next, _)| one < next));
        assert_eq!(changes[0], (Ns::ZERO, Hz(2_000_000_000)));
    }
}

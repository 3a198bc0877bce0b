//! What every process can read of threads and cores: names, frequencies, how busy a core is.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use evenkeel_linux::event::Tid;
use evenkeel_linux::{frequency, process};
use evenkeel_model::Hz;

/// Names are read again after so many snapshots: programs name threads after they have started them.
const RENAMED: u32 = 5;

/// Reads them, below a root: `/`, or a saved tree.
pub struct Facts {
    root: PathBuf,
    names: BTreeMap<Tid, String>,
    /// How often names were used since they were read.
    used: u32,
    /// What the kernel had counted of each CPU at the last call, in its ticks.
    ticks: BTreeMap<u16, Ticks>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    all: u64,
}

impl Facts {
    /// Below a root.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), names: BTreeMap::new(), used: 0, ticks: BTreeMap::new() }
    }

    /// The names of threads, given with their processes. One that has gone has none.
    pub fn names(&mut self, threads: impl Iterator<Item = (Tid, Tid)>) -> BTreeMap<Tid, String> {
        let known = std::mem::take(&mut self.names);
        self.used = (self.used + 1) % RENAMED;
        for (tid, process) in threads {
            let read = || process::text(self.root.join(format!("proc/{process}/task/{tid}/comm")));
            let name = match known.get(&tid) {
                Some(name) if self.used > 0 => name.clone(),
                known => {
                    read().ok().map(|name| process::printable(name.trim_end())).or(known.cloned()).unwrap_or_default()
                }
            };
            self.names.insert(tid, name);
        }
        self.names.clone()
    }

    /// The frequency of a CPU, where the kernel says it.
    pub fn frequency(&self, cpu: u16) -> Option<Hz> {
        frequency::of_cpu(&self.root, cpu)
    }

    /// Which part of the time since the last call each CPU had something to do, of any program (proc_stat(5)); none for a CPU that
    /// is new.
    pub fn busy(&mut self) -> BTreeMap<u16, f64> {
        let text = fs::read_to_string(self.root.join("proc/stat")).unwrap_or_default();
        let now: BTreeMap<u16, Ticks> = text.lines().filter_map(ticks).collect();
        let before = std::mem::replace(&mut self.ticks, now);
        let share = |(cpu, now): (&u16, &Ticks)| {
            let before = before.get(cpu)?;
            let all = now.all.saturating_sub(before.all);
            let idle = now.idle.saturating_sub(before.idle).min(all);
            (all > 0).then(|| (*cpu, (all - idle) as f64 / all as f64))
        };
        self.ticks.iter().filter_map(share).collect()
    }
}

/// A CPU's line: user, nice, system, idle, waiting for I/O, interrupts (two), stolen. Guests' time, which follows, is user time, too.
fn ticks(line: &str) -> Option<(u16, Ticks)> {
    let (name, numbers) = line.split_once(' ')?;
    let cpu = name.strip_prefix("cpu")?.parse().ok()?;
    let numbers: Vec<u64> = numbers.split_whitespace().take(8).map_while(|number| number.parse().ok()).collect();
    let idle = numbers.get(3)? + numbers.get(4)?;
    Some((cpu, Ticks { idle, all: numbers.iter().sum() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_tree_is_read() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/7/task/8/comm", "work\x1b[2Jer\n");
        write("proc/stat", "cpu  1 1 1 1 1 1 1 1\ncpu3 10 0 10 60 20 0 0 0 5 0\nintr 5\n");
        write("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "1800000\n");
        let mut facts = Facts::new(tree.path());
        assert_eq!(facts.busy(), BTreeMap::new(), "nothing to compare with");
        write("proc/stat", "cpu3 40 0 10 110 40 0 0 0 5 0\ncpu4 1 0 0 0 0 0 0 0\n");
        assert_eq!(facts.busy(), BTreeMap::from([(3, 0.3)]), "30 of 100 ticks");
        assert_eq!((facts.frequency(3), facts.frequency(4)), (Some(Hz(1_800_000_000)), None));
        for unknown in ["<unknown>\n", "0\n", "", "99999999999999999999\n", "18446744073709551615\n"] {
            write("sys/devices/system/cpu/cpu4/cpufreq/scaling_cur_freq", unknown);
            assert_eq!(facts.frequency(4), None, "{unknown}");
        }
        let mut names = |threads: &[(Tid, Tid)]| facts.names(threads.iter().copied());
        assert_eq!(names(&[(8, 7), (9, 7)]), BTreeMap::from([(8, "work?[2Jer".into()), (9, String::new())]));
        write("proc/7/task/8/comm", "named\n");
        let later: Vec<String> = (0..RENAMED).map(|_| names(&[(8, 7)])[&8].clone()).collect();
        assert_eq!(later.last().unwrap(), "named", "after some time");
        fs::write(tree.path().join("proc/7/task/8/comm"), b"gr\xc3\xb6\xc3\n").unwrap();
        let cut: Vec<String> = (0..RENAMED).map(|_| names(&[(8, 7)])[&8].clone()).collect();
        assert_eq!(cut.last().unwrap(), "gr\u{f6}\u{fffd}", "the kernel cuts names within a letter");
    }
}

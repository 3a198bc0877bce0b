//! How long the measurements will take.

use crate::spec::Spec;

/// Two boots and the first measurements of a machine.
const BOOT_S: f64 = 20.0;
/// Starting a command in the guest. This and the others are what an emulator takes on two cores.
const START_S: f64 = 1.5;
/// Starting `run`, `scx` or `record`, and what watches programs.
const HOST_S: f64 = 4.0;
/// Loading a policy into the guest's kernel, which checks it.
const LOAD_S: f64 = 4.0;
/// Measuring what switches take.
const SWITCHES_S: f64 = 6.0;
/// The time of a run over the ideal: twice under a scheduler that does not know the cores, less under others.
const OVER_IDEAL: f64 = 1.6;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Rows of the table.
    pub benches: usize,
    /// Different programs in them, by their numbers of threads.
    pub members: usize,
    /// Schedulers, the guest's own among them.
    pub schedulers: usize,
    /// So many of them are known to the simulator, the guest's own among them.
    pub known: usize,
    /// So many of these load a program into the kernel.
    pub known_loaded: usize,
    /// So many of all load a program into the kernel.
    pub loaded: usize,
    /// How often each machine is booted.
    pub boots: usize,
    /// How often each is measured in a boot.
    pub repeat: usize,
    /// How long a run takes at best.
    pub seconds: f64,
}

impl Size {
    /// How many runs one machine takes: in each repetition all of the table, and a recording of each row.
    pub fn runs(&self) -> usize {
        self.boots * self.repeat * self.benches * (self.schedulers + 1)
    }

    /// About how many seconds all machines take.
    pub fn estimate(&self, specs: &[Spec]) -> f64 {
        // A tenth of it before, to warm up.
        let run = START_S + 1.1 * OVER_IDEAL * self.seconds;
        let machine = |spec: &Spec| {
            // All of the work on one core, and on as many big cores as there are cores.
            let alone = self.members as f64 * (2.0 * START_S + (spec.capacity() + 1.0) * self.seconds);
            let hosts = self.benches * self.repeat * self.schedulers;
            let loads = self.benches * self.repeat * self.loaded;
            let starts = hosts as f64 * HOST_S + loads as f64 * LOAD_S;
            let switches =
                self.known.saturating_sub(1) as f64 * (HOST_S + SWITCHES_S) + self.known_loaded as f64 * LOAD_S;
            self.boots as f64 * (BOOT_S + alone + switches + starts) + self.runs() as f64 * run
        };
        specs.iter().map(machine).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_takes_longer() {
        let specs = |words: &[&str]| words.iter().map(|word| word.parse().unwrap()).collect::<Vec<Spec>>();
        let small = Size {
            benches: 2,
            members: 2,
            schedulers: 2,
            known: 2,
            known_loaded: 0,
            loaded: 0,
            boots: 1,
            repeat: 1,
            seconds: 1.0,
        };
        assert_eq!(small.runs(), 6);
        let one = small.estimate(&specs(&["2B2S:3"]));
        assert!((40.0..90.0).contains(&one), "{one}");
        let loading = Size { known_loaded: 1, loaded: 1, ..small }.estimate(&specs(&["2B2S:3"]));
        assert_eq!(loading - one, 3.0 * LOAD_S, "twice to be measured, and once for its switches");
        let peer = Size { loaded: 1, ..small }.estimate(&specs(&["2B2S:3"]));
        assert_eq!(peer - one, 2.0 * LOAD_S, "of which nothing is predicted");
        // A recording in each repetition.
        assert_eq!(Size { repeat: 3, ..small }.runs(), 18);
        assert_eq!(Size { boots: 3, ..small }.estimate(&specs(&["2B2S:3"])), 3.0 * one);
        let all = Size {
            benches: 8,
            members: 6,
            schedulers: 6,
            known: 6,
            known_loaded: 0,
            loaded: 0,
            boots: 1,
            repeat: 3,
            seconds: 2.0,
        };
        let three = all.estimate(&specs(&["2B2S:3", "1B3S:3", "2B4S:3"]));
        assert!((2400.0..4800.0).contains(&three), "{three}");
    }
}

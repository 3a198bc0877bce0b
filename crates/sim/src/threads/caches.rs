//! Last-level caches that cores share. While the programs that run there use more again and again than a cache holds, each has a part of
//! it, and misses more often than with all of it: the more, the less it has, by the square root of that (Hartstein, Srinivasan, Puzak and
//! Emma, "Cache miss behavior: is it sqrt(2)?", Computing Frontiers 2006: exponents of -0.3 to -0.7, about -1/2).
//!
//! Assumed: parts are as large as what is used is (the least recently used goes, whichever program used it); threads of one program use the same;
//! `memory_ns` is what the code takes with the whole cache, all of it for misses that a larger cache would save.

use evenkeel_model::{CoreId, CoreSet, Machine};

/// What the thread of a core uses of the cache there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Use {
    /// Its program.
    pub program: usize,
    /// What it uses again and again, in kB; above 0.
    pub kb: f64,
}

#[derive(Clone, Debug)]
struct Cache {
    cores: CoreSet,
    kb: f64,
}

/// The caches of a machine that can be too small, and who uses them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caches {
    caches: Vec<Cache>,
    /// By core: the position of its cache.
    of: Vec<Option<usize>>,
    uses: Vec<Option<Use>>,
    /// By core: how many times as many misses there are as with the whole cache.
    misses: Vec<f64>,
    /// What the programs use at most, all together, in kB.
    most: f64,
}

impl Caches {
    /// The caches of a machine that are too small for these programs, each by the most that it uses.
    pub(crate) fn new(machine: &Machine, programs: &[f64]) -> Self {
        let most: f64 = programs.iter().sum();
        let shared = programs.iter().filter(|kb| **kb > 0.0).count() > 1;
        let mut caches = Self::default();
        for (index, cluster) in machine.clusters.iter().enumerate() {
            let first = machine.clusters.iter().position(|other| other.cache == cluster.cache);
            let Some(kb) = cluster.cache_mb.map(|megabytes| 1000.0 * megabytes) else { continue };
            if shared && kb < most && first == Some(index) {
                let members = machine.clusters.iter().filter(|other| other.cache == cluster.cache);
                let cores = members.fold(CoreSet::EMPTY, |cores, other| cores.or(other.cores));
                caches.caches.push(Cache { cores, kb });
            }
        }
        if caches.caches.is_empty() {
            return caches;
        }
        let of = |core| caches.caches.iter().position(|cache| cache.cores.contains(core));
        caches.of = machine.all().iter().map(of).collect();
        caches.uses = vec![None; caches.of.len()];
        caches.misses = vec![1.0; caches.of.len()];
        caches.most = most;
        caches
    }

    /// The most times as many misses that there can be.
    pub(crate) fn worst(&self) -> f64 {
        let worst = |cache: &Cache| libm::sqrt(self.most / cache.kb);
        self.caches.iter().map(worst).fold(1.0, f64::max)
    }

    /// Whether any can be too small.
    pub(crate) fn limited(&self) -> bool {
        !self.caches.is_empty()
    }

    /// How fast a core runs code that is this fast with the whole cache, in instructions a nanosecond, if memory keeps it for `stall` ns an
    /// instruction then.
    pub(crate) fn rate(&self, core: CoreId, alone: f64, stall: f64) -> f64 {
        match self.delay(core, stall) {
            0.0 => alone,
            delay => 1.0 / (1.0 / alone + delay),
        }
    }

    /// For how much longer memory keeps a core, in ns an instruction.
    pub(crate) fn delay(&self, core: CoreId, stall: f64) -> f64 {
        (self.misses(core) - 1.0) * stall
    }

    /// How many times as many misses the thread of a core has as with the whole cache.
    pub(crate) fn misses(&self, core: CoreId) -> f64 {
        self.misses.get(core.index()).copied().unwrap_or(1.0)
    }

    /// What a core's thread uses from now on. Returns the cores whose misses change with that, and how many they are then, for
    /// [`Self::share`].
    pub(crate) fn using(&mut self, core: CoreId, using: Option<Use>) -> Vec<(CoreId, f64)> {
        let Some(cache) = self.of.get(core.index()).copied().flatten().map(|cache| &self.caches[cache]) else {
            return Vec::new();
        };
        if std::mem::replace(&mut self.uses[core.index()], using) == using {
            return Vec::new();
        }
        let programs = self.programs(cache);
        let all: f64 = programs.iter().map(|(_, kb)| kb).sum();
        let misses = |core: CoreId| {
            let Some(own) = self.uses[core.index()] else { return 1.0 };
            let kb = programs.iter().find(|(program, _)| *program == own.program).map_or(own.kb, |(_, kb)| *kb);
            // With the whole cache, and with a part of it that is as large as what it uses is of all.
            let (whole, part) = (kb.min(cache.kb), cache.kb * kb / all);
            libm::sqrt((whole / part).max(1.0))
        };
        let changed = cache.cores.iter().map(|core| (core, misses(core)));
        changed.filter(|(core, misses)| self.misses[core.index()] != *misses).collect()
    }

    /// A core's misses are so many times as many from now on.
    pub(crate) fn share(&mut self, core: CoreId, misses: f64) {
        self.misses[core.index()] = misses;
    }

    /// The programs that use a cache, and what each uses of it, in kB.
    fn programs(&self, cache: &Cache) -> Vec<(usize, f64)> {
        let mut programs: Vec<(usize, f64)> = Vec::new();
        for using in cache.cores.iter().filter_map(|core| self.uses[core.index()]) {
            match programs.iter_mut().find(|(program, _)| *program == using.program) {
                Some((_, kb)) => *kb = kb.max(using.kb),
                None => programs.push((using.program, using.kb)),
            }
        }
        programs
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;

    use super::*;

    /// The caches of 2B2S, where that of the big cores, 0 and 1, holds 2 MB.
    fn caches(programs: &[f64]) -> Caches {
        let mut machine = machines::by_name("2B2S").unwrap();
        let big = machine.clusters[machine.cores[0].cluster.index()].clone();
        for cluster in &mut machine.clusters {
            cluster.cache_mb = (cluster.cache == big.cache).then_some(2.0);
        }
        Caches::new(&machine, programs)
    }

    fn use_all(caches: &mut Caches, uses: &[(u16, usize, f64)]) {
        for (core, program, kb) in uses {
            for (core, misses) in caches.using(CoreId(*core), Some(Use { program: *program, kb: *kb })) {
                caches.share(core, misses);
            }
        }
    }

    #[test]
    fn a_cache_that_is_large_enough_or_has_one_program_is_left_out() {
        assert!(caches(&[1000.0, 999.0]).caches.is_empty());
        assert!(caches(&[5000.0, 0.0]).caches.is_empty());
        assert_eq!(caches(&[1000.0, 1001.0]).caches.len(), 1);
    }

    #[test]
    fn two_programs_miss_by_the_square_root_of_what_they_lack() {
        let mut caches = caches(&[1500.0, 1500.0]);
        use_all(&mut caches, &[(0, 0, 1500.0)]);
        assert_eq!(caches.misses(CoreId(0)), 1.0, "alone");
        use_all(&mut caches, &[(1, 1, 1500.0)]);
        let each = libm::sqrt(1.5);
        assert!([0, 1].iter().all(|core| (caches.misses(CoreId(*core)) - each).abs() < 1e-12), "{caches:?}");
        assert!(caches.worst() >= each);
        for (core, misses) in caches.using(CoreId(1), None) {
            caches.share(core, misses);
        }
        assert_eq!([0, 1].map(|core| caches.misses(CoreId(core))), [1.0; 2]);
    }

    #[test]
    fn threads_of_one_program_use_the_same_and_little_cores_another_cache() {
        let mut caches = caches(&[1500.0, 1500.0]);
        use_all(&mut caches, &[(0, 0, 1500.0), (1, 0, 800.0), (2, 1, 1500.0)]);
        assert_eq!([0, 1, 2].map(|core| caches.misses(CoreId(core))), [1.0; 3]);
    }

    #[test]
    fn what_fits_in_no_part_of_the_cache_misses_for_what_others_take() {
        let mut caches = caches(&[8000.0, 8000.0]);
        use_all(&mut caches, &[(0, 0, 8000.0), (1, 1, 8000.0)]);
        assert!((caches.misses(CoreId(0)) - libm::sqrt(2.0)).abs() < 1e-12, "half of the cache");
    }
}

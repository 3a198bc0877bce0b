//! The running threads by what a policy ranks them by: which of all of them comes first, without a scan of every core. A tree
//! in whose nodes is the first of eight below.

use evenkeel_model::{CoreId, ThreadId};

const FANOUT: usize = 8;

/// What threads are ranked by, the greatest first.
type Rank = (f64, f64);

/// The thread that runs on each core, with its rank.
#[derive(Debug, Default)]
pub(crate) struct Running {
    threads: Vec<Option<ThreadId>>,
    /// By core, then by node of the level below, up to one node: the core and the rank that come first.
    levels: Vec<Vec<Option<(Rank, CoreId)>>>,
}

impl Running {
    /// Sets the thread that runs on a core, or none.
    pub(crate) fn set(&mut self, cores: usize, core: CoreId, runs: Option<(ThreadId, Rank)>) {
        if self.levels.is_empty() {
            self.threads = vec![None; cores];
            self.levels.push(vec![None; cores]);
            while self.levels[self.levels.len() - 1].len() > 1 {
                let below = self.levels[self.levels.len() - 1].len();
                self.levels.push(vec![None; below.div_ceil(FANOUT)]);
            }
        }
        self.threads[core.index()] = runs.map(|(thread, _)| thread);
        let mut place = core.index();
        self.levels[0][place] = runs.map(|(_, rank)| (rank, core));
        for level in 1..self.levels.len() {
            place /= FANOUT;
            let below = self.levels[level - 1].iter().skip(place * FANOUT).take(FANOUT);
            // The first core among equals.
            let first = below.flatten().copied().reduce(|a, b| if b.0 > a.0 { b } else { a });
            if std::mem::replace(&mut self.levels[level][place], first) == first {
                break;
            }
        }
    }

    /// The thread with the greatest rank, on the first core among equals.
    pub(crate) fn first(&self) -> Option<(ThreadId, CoreId)> {
        let (_, core) = self.levels.last()?.first().copied()??;
        Some((self.threads[core.index()]?, core))
    }

    /// The thread that [`Self::set`] last had on a core.
    pub(crate) fn on(&self, core: CoreId) -> Option<ThreadId> {
        self.threads.get(core.index()).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_that_of_a_scan() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for cores in [1, 7, 8, 9, 200] {
            let (mut tree, mut list) = (Running::default(), vec![None; cores]);
            assert_eq!(tree.first(), None);
            for _ in 0..2_000 {
                let core = draw(cores as u64) as usize;
                let rank = (draw(3) as f64, draw(3) as f64);
                list[core] = (draw(2) == 0).then_some((ThreadId(draw(100) as u32), rank));
                tree.set(cores, CoreId(core as u16), list[core]);
                let all = list.iter().enumerate().filter_map(|(core, runs)| Some((core, (*runs)?)));
                let first = all.reduce(|a, b| if b.1.1 > a.1.1 { b } else { a });
                assert_eq!(tree.first(), first.map(|(core, (thread, _))| (thread, CoreId(core as u16))));
            }
        }
    }
}

//! Which core's event is the earliest: a tree in whose nodes is the earliest time of eight below. A machine of eight cores is
//! one node, which is scanned; with 1,024 cores four nodes are.

use evenkeel_model::{CoreId, Ns};

const FANOUT: usize = 8;

/// When something happens on each core.
#[derive(Debug)]
pub(crate) struct Earliest {
    /// By core, then by node of the level below, up to one node.
    levels: Vec<Vec<Ns>>,
}

impl Earliest {
    /// Nothing happens on any of so many cores.
    pub(crate) fn new(cores: usize) -> Self {
        let mut levels = vec![vec![Ns::NEVER; cores]];
        let mut below = cores;
        while below > FANOUT {
            below = below.div_ceil(FANOUT);
            levels.push(vec![Ns::NEVER; below]);
        }
        Self { levels }
    }

    /// Something happens on a core at a time, instead of when it would have.
    pub(crate) fn set(&mut self, core: CoreId, at: Ns) {
        let mut place = core.index();
        self.levels[0][place] = at;
        for level in 1..self.levels.len() {
            place /= FANOUT;
            let earliest = first_of(&self.levels[level - 1], place).1;
            if std::mem::replace(&mut self.levels[level][place], earliest) == earliest {
                break;
            }
        }
    }

    /// The core on which something happens first, the lowest number among equals, and when.
    pub(crate) fn first(&self) -> (CoreId, Ns) {
        let mut found = (0, Ns::NEVER);
        for level in self.levels.iter().rev() {
            found = first_of(level, found.0);
        }
        (CoreId(found.0 as u16), found.1)
    }
}

/// Where in a level the earliest time of a node is, and when that is.
fn first_of(level: &[Ns], node: usize) -> (usize, Ns) {
    let begin = node * FANOUT;
    let below = &level[begin..level.len().min(begin + FANOUT)];
    let mut earliest = (begin, Ns::NEVER);
    for (place, at) in (begin..).zip(below) {
        if *at < earliest.1 {
            earliest = (place, *at);
        }
    }
    earliest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_that_of_a_scan() {
        let mut draws = fastrand::Rng::with_seed(1);
        for cores in [1, 4, 8, 9, 64, 65, 1000, 1024] {
            let (mut tree, mut list) = (Earliest::new(cores), vec![Ns::NEVER; cores]);
            assert_eq!(tree.first(), (CoreId(0), Ns::NEVER));
            for _ in 0..2_000 {
                let core = draws.usize(0..cores);
                let at = if draws.bool() { Ns(draws.u64(0..50)) } else { Ns::NEVER };
                tree.set(CoreId(core as u16), at);
                list[core] = at;
                let first = (0..cores).min_by_key(|core| list[*core]).unwrap();
                assert_eq!(tree.first(), (CoreId(first as u16), list[first]));
            }
        }
    }
}

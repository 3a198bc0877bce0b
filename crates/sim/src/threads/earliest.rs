//! Which core's event is the earliest: a tree in whose nodes is the earliest of eight below, so that the first of all stands at
//! the top. A machine of eight cores has none, and is scanned.

use evenkeel_model::{CoreId, Ns};

const FANOUT: usize = 8;

/// When something happens on each core.
#[derive(Debug)]
pub(crate) struct Earliest {
    cores: Vec<Ns>,
    /// From the nodes above the cores up to a single one, if there are more cores than one node has: when something happens
    /// first, and on which core, the lowest number among equals.
    levels: Vec<Vec<(Ns, CoreId)>>,
    /// Cores that the tree does not know of yet. One event may stop a thread, begin another and set a tick.
    changed: Vec<CoreId>,
}

impl Earliest {
    /// Nothing happens on any of so many cores.
    pub(crate) fn new(cores: usize) -> Self {
        let mut levels: Vec<Vec<(Ns, CoreId)>> = Vec::new();
        let (mut below, mut span) = (cores, 1);
        while below > FANOUT || below > 1 && !levels.is_empty() {
            (below, span) = (below.div_ceil(FANOUT), span * FANOUT);
            levels.push((0..below).map(|node| (Ns::NEVER, CoreId((node * span) as u16))).collect());
        }
        Self { cores: vec![Ns::NEVER; cores], levels, changed: Vec::with_capacity(cores) }
    }

    /// Something happens on a core at a time, instead of when it would have.
    pub(crate) fn set(&mut self, core: CoreId, at: Ns) {
        self.cores[core.index()] = at;
        if !self.levels.is_empty() && self.changed.last() != Some(&core) {
            self.changed.push(core);
        }
    }

    /// The core on which something happens first, the lowest number among equals, and when.
    #[inline]
    pub(crate) fn first(&mut self) -> (CoreId, Ns) {
        let (at, core) = if self.levels.is_empty() { first_of(&self.cores, 0) } else { self.top() };
        (core, at)
    }

    fn top(&mut self) -> (Ns, CoreId) {
        while let Some(core) = self.changed.pop() {
            self.lift(core);
        }
        self.levels.last().map_or((Ns::NEVER, CoreId(0)), |top| top[0])
    }

    /// Takes a core's time up the tree, as far as that changes what is first.
    fn lift(&mut self, core: CoreId) {
        let mut child = (self.cores[core.index()], core);
        let (mut place, mut span) = (core.index(), 1);
        for level in 0..self.levels.len() {
            // What was first came from this child, or the child is first now, or nothing changes.
            let (node, first) = (place / FANOUT, self.levels[level][place / FANOUT]);
            let now = if child < first {
                child
            } else if child == first || usize::from(first.1.0) / span != place {
                return;
            } else if level == 0 {
                first_of(&self.cores, node * FANOUT)
            } else {
                let below = self.levels[level - 1].iter().skip(node * FANOUT).take(FANOUT);
                below.copied().reduce(|first, next| if next < first { next } else { first }).unwrap_or(child)
            };
            self.levels[level][node] = now;
            (child, place, span) = (now, node, span * FANOUT);
        }
    }
}

/// The first of the cores of a node, which begins with this number.
#[inline]
fn first_of(cores: &[Ns], node: usize) -> (Ns, CoreId) {
    let below = &cores[node..cores.len().min(node + FANOUT)];
    let (mut first, mut earliest) = (0, Ns::NEVER);
    for (place, at) in below.iter().enumerate() {
        if *at < earliest {
            (first, earliest) = (place, *at);
        }
    }
    (earliest, CoreId((node + first) as u16))
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
                for _ in 0..draws.usize(1..5) {
                    let core = draws.usize(0..cores);
                    let at = if draws.bool() { Ns(draws.u64(0..50)) } else { Ns::NEVER };
                    tree.set(CoreId(core as u16), at);
                    list[core] = at;
                }
                let first = (0..cores).min_by_key(|core| list[*core]).unwrap();
                assert_eq!(tree.first(), (CoreId(first as u16), list[first]));
            }
        }
    }
}

//! What workers did.

use std::iter::Sum;
use std::ops::Add;

/// Counts of one worker, or of several added up, since the pool was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Tasks that it spawned in a [scope](crate::scope), in a [graph](crate::graph) or with [`Pool::spawn`](crate::Pool::spawn). The second half of a
    /// [`join`](crate::join) is not counted, which would make a join 15 % slower, but may be stolen; nor is what threads outside of the pool spawn.
    pub spawns: u64,
    /// Tasks taken from another worker's queue.
    pub steals: u64,
    /// Searches through all other queues that found nothing.
    pub failed_steals: u64,
}

impl Add for Stats {
    type Output = Stats;

    fn add(self, other: Stats) -> Stats {
        Stats {
            spawns: self.spawns + other.spawns,
            steals: self.steals + other.steals,
            failed_steals: self.failed_steals + other.failed_steals,
        }
    }
}

impl Sum for Stats {
    fn sum<I: Iterator<Item = Stats>>(stats: I) -> Stats {
        stats.fold(Stats::default(), Add::add)
    }
}

//! What a PMU counts of a thread.

use std::ops::AddAssign;

use evenkeel_model::{Counter, Counters, Instructions};
use evenkeel_sched::Span;

/// All that has been counted of a thread since some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions that it has retired.
    pub instructions: Instructions,
    /// What it has stalled on, where that is counted.
    pub stalls: Option<StallCounts>,
}

/// What a thread has stalled on, as bias scheduling has it (Koufaty et al., EuroSys 2010, 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallCounts {
    /// Cycles in which the front end delivered nothing although there was room: instruction starvation.
    pub starved: u64,
    /// Requests that were served outside of the core: offcore requests.
    pub requests: u64,
}

impl Counts {
    /// What has come since an earlier count.
    pub fn since(&self, earlier: &Self) -> Self {
        let stalls = self.stalls.zip(earlier.stalls).map(|(now, then)| StallCounts {
            starved: now.starved.saturating_sub(then.starved),
            requests: now.requests.saturating_sub(then.requests),
        });
        Self { instructions: Instructions(self.instructions.0.saturating_sub(earlier.instructions.0)), stalls }
    }
}

/// What another PMU has counted of the same thread.
impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.instructions.0 += other.instructions.0;
        self.stalls = self.stalls.zip(other.stalls).map(|(one, other)| StallCounts {
            starved: one.starved + other.starved,
            requests: one.requests + other.requests,
        });
    }
}

/// A span in which this was counted, and nothing else is known.
impl From<Counts> for Span {
    fn from(counts: Counts) -> Self {
        let counters = counts.stalls.map(|stalls| {
            let mut counters = Counters::default();
            let mut set = |counter: Counter, count: u64| counters.0[counter as usize] = count as f64;
            set(Counter::Instructions, counts.instructions.0);
            set(Counter::FrontendStallCycles, stalls.starved);
            set(Counter::L2Refills, stalls.requests);
            counters
        });
        Self { instructions: Some(counts.instructions), counters, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_only_what_was_counted() {
        let then = Counts { instructions: Instructions(1000), stalls: Some(StallCounts { starved: 7, requests: 2 }) };
        let now = Counts { instructions: Instructions(3000), stalls: Some(StallCounts { starved: 307, requests: 42 }) };
        let span = Span::from(now.since(&then));
        assert_eq!(span.instructions, Some(Instructions(2000)));
        let count = |counter: Counter| span.counters.as_ref().map(|counters| counters.get(counter));
        assert_eq!(
            [Counter::Instructions, Counter::FrontendStallCycles, Counter::L2Refills].map(count),
            [2000.0, 300.0, 40.0].map(Some)
        );
        let without = Span::from(now.since(&Counts { stalls: None, ..then }));
        assert_eq!((without.instructions, without.counters), (Some(Instructions(2000)), None));
    }
}

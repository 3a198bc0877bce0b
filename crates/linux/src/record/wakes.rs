//! How long it takes from a wake-up until the thread runs on a CPU that was idle.

use evenkeel_model::Ns;

/// What takes longer is something else: a CPU that another program was on.
const MOST_US: usize = 1000;

/// Counts of spans, by microsecond.
#[derive(Debug)]
pub(super) struct Wakes {
    counts: Vec<u32>,
    total: u32,
}

impl Wakes {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; MOST_US], total: 0 }
    }

    pub(super) fn add(&mut self, span: Ns) {
        if let Some(count) = self.counts.get_mut((span.0 / 1000) as usize) {
            *count = count.saturating_add(1);
            self.total = self.total.saturating_add(1);
        }
    }

    /// The middle one, to half a microsecond; `None` if there were none.
    pub(super) fn median(&self) -> Option<Ns> {
        let mut before = 0;
        let middle = self.counts.iter().position(|count| {
            before += count;
            before * 2 > self.total
        });
        middle.map(|us| Ns(us as u64 * 1000 + 500))
    }
}

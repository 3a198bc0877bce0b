//! A value over time, for as long as it may be, in bounded memory.

use evenkeel_model::Ns;

/// Not more changes than this are kept: of more, the older part is in means.
const CHANGES: usize = 1 << 12;

/// A value from each time on until the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps(Vec<(Ns, u64)>);

impl Steps {
    /// It is this from now on.
    pub(super) fn note(&mut self, now: Ns, value: u64) {
        if self.0.last().is_some_and(|(_, last)| *last == value) {
            return;
        }
        if self.0.len() == CHANGES {
            self.0 = means(&self.0, now);
        }
        self.0.push((now, value));
    }

    /// All changes, in order of time.
    pub(super) fn changes(&self) -> impl Iterator<Item = (Ns, u64)> {
        self.0.iter().copied()
    }
}

/// Of each two the mean over the time of both.
fn means(changes: &[(Ns, u64)], now: Ns) -> Vec<(Ns, u64)> {
    let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([now]);
    let spans: Vec<(Ns, u128, u64)> =
        changes.iter().zip(ends).map(|((at, value), end)| (*at, end.since(*at).0.into(), *value)).collect();
    let mean = |pair: &[(Ns, u128, u64)]| {
        let time: u128 = pair.iter().map(|(_, time, _)| time).sum();
        let sum: u128 = pair.iter().map(|(_, time, value)| time * u128::from(*value)).sum();
        (pair[0].0, (sum / time.max(1)) as u64)
    };
    spans.chunks(2).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_it_lasts_few_are_kept_and_the_older_ones_are_means() {
        let mut steps = Steps::default();
        for ms in 0..5 * CHANGES as u64 {
            steps.note(Ns::from_ms(ms), 1_000_000_000 + ms % 2 * 2_000_000_000);
        }
        assert!(steps.0.len() <= CHANGES && steps.0.is_sorted_by(|(one, _), (next, _)| one < next));
        assert_eq!(steps.0[0], (Ns::ZERO, 2_000_000_000));
    }
}

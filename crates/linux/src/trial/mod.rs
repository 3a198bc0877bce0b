//! Which scheduler a program is fastest under, found out by running it. All take turns: what disturbs a round disturbs all of it, so
//! that differences are those within rounds. It ends when what can be told from chance is told.

mod turn;

pub use turn::{Ended, Turn};

use evenkeel_model::{Difference, Ns};

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// From its start to its end.
    pub wall: Ns,
    /// What the processor's packages used meanwhile, in joules, where they count that.
    pub energy_j: Option<f64>,
}

/// When the answer is good enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// After how many rounds it is looked at first, 2 at least.
    pub first: u32,
    /// Rounds at most.
    pub most: u32,
    /// A difference of less time is none, as a share.
    pub margin: f64,
}

impl Rules {
    /// So many rounds, and no look before the end.
    pub fn exactly(rounds: u32, margin: f64) -> Self {
        Self { first: rounds, most: rounds, margin }
    }

    /// After which rounds the answer is looked at. Each look is another chance to be wrong, so there are few: half as many rounds again
    /// from one to the next.
    fn looks(&self) -> Vec<u32> {
        let next = |round: &u32| Some(round + round.div_ceil(2));
        let mut looks: Vec<u32> =
            std::iter::successors(Some(self.first), next).take_while(|round| *round < self.most).collect();
        looks.push(self.most);
        looks
    }
}

/// What is known of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The program takes less time.
    Faster,
    /// More.
    Slower,
    /// As much, but for what does not matter.
    Same,
    /// It cannot be told yet.
    Open,
}

impl Verdict {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Open => "open",
        }
    }
}

/// The kernel's own scheduler, among those that are tried.
pub const STOCK: usize = 0;

/// Schedulers that take turns.
#[derive(Clone, Debug)]
pub struct Trial {
    rules: Rules,
    /// How many there are, with the kernel's own.
    schedulers: usize,
    /// Of each round, of each scheduler, what it took; `None` if it sat out.
    rounds: Vec<Vec<Option<Measured>>>,
    /// Of each, whether it still takes part.
    takes_part: Vec<bool>,
}

impl Trial {
    /// So many schedulers against the kernel's own, which is the first of all.
    pub fn new(others: usize, rules: Rules) -> Self {
        Self { rules, schedulers: others + 1, rounds: Vec::new(), takes_part: vec![true; others + 1] }
    }

    /// Who runs in the next round, in this order; `None` if no round is needed any more. Each comes first as often as the others, and
    /// after each of them.
    pub fn next(&self) -> Option<Vec<usize>> {
        let others = (STOCK + 1)..self.schedulers;
        let open = others.clone().any(|one| self.takes_part[one] && self.verdict(one) != Verdict::Faster);
        let looked = self.rules.looks().contains(&self.done());
        if self.done() >= self.rules.most || (looked && !open) {
            return None;
        }
        let mut order: Vec<usize> = (STOCK..self.schedulers).filter(|one| self.takes_part[*one]).collect();
        let (turn, count) = (self.rounds.len(), order.len());
        order.rotate_left(turn % count);
        if turn / count % 2 == 1 {
            order.reverse();
        }
        Some(order)
    }

    /// A round is over: what each of those took that ran.
    pub fn add(&mut self, ran: &[(usize, Measured)]) {
        let mut round = vec![None; self.schedulers];
        for (scheduler, measured) in ran {
            round[*scheduler] = Some(*measured);
        }
        self.rounds.push(round);
        if self.rules.looks().contains(&self.done()) {
            for one in STOCK + 1..self.schedulers {
                // What is not faster is not wanted, and its time is better spent on the others.
                self.takes_part[one] &= !matches!(self.verdict(one), Verdict::Slower | Verdict::Same);
            }
        }
    }

    /// How many rounds are done.
    pub fn done(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// What a scheduler's runs took.
    pub fn runs(&self, of: usize) -> impl Iterator<Item = Measured> + '_ {
        self.rounds.iter().filter_map(move |round| round[of])
    }

    /// How much more time the program takes under one than under another, from the rounds in which both ran.
    pub fn difference(&self, of: usize, to: usize) -> Option<Difference> {
        self.ratios(of, to, |measured| Some(measured.wall.0 as f64))
    }

    /// How much more energy it takes than under the kernel's own scheduler.
    pub fn energy_difference(&self, of: usize) -> Option<Difference> {
        self.ratios(of, STOCK, |measured| measured.energy_j)
    }

    fn ratios(&self, of: usize, to: usize, value: impl Fn(Measured) -> Option<f64>) -> Option<Difference> {
        Difference::of(self.rounds.iter().filter_map(|round| Some(value(round[of]?)? / value(round[to]?)?)))
    }

    /// Of how many differences one is: each scheduler's, at each look.
    fn among(&self) -> usize {
        (self.schedulers - 1) * self.rules.looks().len()
    }

    /// The interval of a difference to the kernel's own scheduler. All of them, at all looks, lie within theirs with 95 %.
    pub fn interval(&self, of: usize) -> Option<(f64, f64)> {
        self.difference(of, STOCK)?.interval_among(self.among())
    }

    /// The same of energy.
    pub fn energy_interval(&self, of: usize) -> Option<(f64, f64)> {
        self.energy_difference(of)?.interval_among(self.among())
    }

    /// What is known of a scheduler, against the kernel's own.
    pub fn verdict(&self, of: usize) -> Verdict {
        let margin = self.rules.margin;
        match self.interval(of) {
            Some((low, high)) if -margin <= low && high <= margin => Verdict::Same,
            Some((_, high)) if high < 0.0 => Verdict::Faster,
            Some((low, _)) if low > 0.0 => Verdict::Slower,
            _ => Verdict::Open,
        }
    }

    /// Those that are faster than the kernel's own, the fastest first.
    pub fn faster(&self) -> Vec<usize> {
        let value = |one: &usize| self.difference(*one, STOCK).map_or(0.0, |difference| difference.value);
        let mut faster: Vec<usize> =
            (STOCK + 1..self.schedulers).filter(|one| self.verdict(*one) == Verdict::Faster).collect();
        faster.sort_by(|one, other| value(one).total_cmp(&value(other)));
        faster
    }

    /// Those of the faster ones that cannot be told from the fastest.
    pub fn as_fast(&self) -> Vec<usize> {
        let faster = self.faster();
        let Some((best, others)) = faster.split_first() else { return Vec::new() };
        let told = |one: &usize| self.difference(*one, *best).is_some_and(|found| found.is_clear_among(others.len()));
        others.iter().filter(|one| !told(one)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { first: 4, most: 20, margin: 0.02 };

    fn measured(wall: f64) -> Measured {
        Measured { wall: Ns((wall * 1e9) as u64), energy_j: Some(10.0 * wall) }
    }

    /// Rounds as the trial wants them, each scheduler with its time, of which a part changes from run to run.
    fn play(others: &[f64], noise: f64, rules: Rules) -> Trial {
        let mut trial = Trial::new(others.len(), rules);
        let mut state = 12345_u64;
        let mut chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        while let Some(order) = trial.next() {
            let time = |one: usize| if one == STOCK { 1.0 } else { others[one - 1] };
            let ran: Vec<_> = order.iter().map(|&one| (one, measured(time(one) * (1.0 + noise * chance())))).collect();
            trial.add(&ran);
        }
        trial
    }

    #[test]
    fn what_is_plain_takes_few_rounds() {
        let trial = play(&[0.6, 1.5], 0.02, RULES);
        assert_eq!((trial.verdict(1), trial.verdict(2)), (Verdict::Faster, Verdict::Slower));
        assert_eq!((trial.done(), trial.faster()), (4, vec![1]));
        assert!((trial.difference(1, STOCK).unwrap().value + 0.4).abs() < 0.02);
        assert!((trial.energy_difference(1).unwrap().value + 0.4).abs() < 0.02);
    }

    #[test]
    fn what_is_close_takes_more_and_what_is_lost_sits_out() {
        let trial = play(&[0.97, 1.5], 0.06, RULES);
        assert!(trial.done() > 4, "{}", trial.done());
        assert_eq!(trial.runs(2).count(), 4, "slower, and known to be");
        assert_eq!(trial.runs(1).count() as u32, trial.done());
    }

    #[test]
    fn what_cannot_be_told_stays_open_and_what_is_the_same_is_that() {
        let trial = play(&[0.999], 0.9, RULES);
        assert_eq!((trial.verdict(1), trial.done()), (Verdict::Open, RULES.most));
        let trial = play(&[1.001], 0.01, RULES);
        assert_eq!((trial.verdict(1), trial.faster()), (Verdict::Same, vec![]));
    }

    #[test]
    fn two_that_are_as_fast_are_both_named() {
        let trial = play(&[0.6, 0.6, 0.75], 0.02, RULES);
        assert_eq!((trial.faster().len(), trial.as_fast().len()), (3, 1));
    }

    #[test]
    fn a_fixed_number_of_rounds_is_looked_at_once() {
        let rules = Rules::exactly(7, 0.02);
        let trial = play(&[0.5], 0.01, rules);
        assert_eq!((rules.looks(), trial.done()), (vec![7], 7));
        assert_eq!(RULES.looks(), [4, 6, 9, 14, 20]);
    }

    #[test]
    fn all_take_turns_in_being_first() {
        let mut trial = Trial::new(2, Rules::exactly(6, 0.02));
        let mut orders = Vec::new();
        while let Some(order) = trial.next() {
            trial.add(&order.iter().map(|&one| (one, measured(1.0))).collect::<Vec<_>>());
            orders.push(order);
        }
        for place in 0..3 {
            for one in 0..3 {
                assert_eq!(orders.iter().filter(|order| order[place] == one).count(), 2, "{orders:?}");
            }
        }
    }

    /// Of schedulers that change nothing, one in twenty trials may be called faster or slower, however often it is looked at.
    #[test]
    fn chance_is_rarely_taken_for_an_effect() {
        let mut wrong = 0;
        for seed in 0..200_u64 {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut trial = Trial::new(3, Rules { margin: 0.0, ..RULES });
            let mut chance = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                // The sum of some is close to normal.
                (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
            };
            while let Some(order) = trial.next() {
                let ran: Vec<_> = order
                    .iter()
                    .map(|&one| (one, measured(1.0 + 0.05 * (0..6).map(|_| chance()).sum::<f64>())))
                    .collect();
                trial.add(&ran);
            }
            wrong += u32::from((1..4).any(|one| matches!(trial.verdict(one), Verdict::Faster | Verdict::Slower)));
        }
        assert!(wrong <= 14, "{wrong} of 200, where 10 are expected at most on average");
    }
}

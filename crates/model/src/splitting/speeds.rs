//! What is known of the threads of a parallel region, from its earlier runs: how fast each of them is, and whether to split its loops
//! by that makes the region faster.

// These limits are assumed: none has been varied yet.

/// Speeds that differ by less are equal: what is measured differs from run to run.
const ALIKE: f64 = 1.05;
/// A thread's speed is one in so many parts.
const PARTS: f64 = 1e6;
/// The part of a new measurement in what is known. Half of it comes from the last two runs, so that other load on a core is followed.
const NEW: f64 = 0.3;
/// So many runs are split, then one is not, to see which is faster.
const SPLIT_FIRST: u32 = 3;
/// Runs from one try of what was slower to the next: few at first, since the first runs of a region also bring its data into caches and its threads to their
/// cores, and twice as many each time that it is slower again.
const AGAIN: std::ops::RangeInclusive<u32> = 4..=64;
/// A loop of which a thread did less time says little about its speed, in ns.
const SHORT: u64 = 2_000;

/// Whether these speeds are too close to be told apart, as one or none is.
pub fn alike(speeds: impl Iterator<Item = f64>) -> bool {
    let (least, most) =
        speeds.fold((f64::INFINITY, 0.0_f64), |(least, most), speed| (least.min(speed), most.max(speed)));
    most <= least * ALIKE
}

/// What one thread did in the loops of one run of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Iterations.
    pub trips: u64,
    /// How long they took, in ns.
    pub ns: u64,
}

/// What is known of a region.
#[derive(Clone, Debug, Default)]
pub struct Speeds {
    /// Of each thread: its part of what all do in a time. Empty until it has run.
    rates: Vec<f64>,
    /// Whether that is from runs, and not only what its cores are said to be.
    measured: bool,
    /// How often it has run.
    runs: u32,
    /// Runs since its threads last stayed on their cores, so that nothing has been seen of their speeds since then.
    unseen: u32,
    /// Runs since what was slower has been tried, and after how many it is tried again.
    since: u32,
    again: u32,
    /// Whether splitting was faster, when one of both was slower last.
    was_faster: Option<bool>,
    /// How long it takes, in ns an iteration: with loops as OpenMP splits them, and as they are split here.
    plain: Option<f64>,
    split: Option<f64>,
}

impl Speeds {
    /// Of threads whose cores are known to be as fast as that, in any unit.
    pub fn known(cores: &[f64]) -> Self {
        let sum: f64 = cores.iter().sum();
        Self { rates: cores.iter().map(|core| core / sum).collect(), ..Self::default() }
    }

    /// How the loops of its next run are split: the speeds of its threads, or `None` as OpenMP splits them.
    pub fn next(&self) -> Option<Vec<u32>> {
        // Threads that were as fast as each other may not be any more: other load comes and goes.
        let old = !self.rates.is_empty() && self.unseen >= *AGAIN.end();
        (old || (!alike(self.rates.iter().copied()) && self.splits())).then(|| self.whole())
    }

    /// What is known of each thread: its part of what all do in a time.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Its speeds as whole numbers.
    fn whole(&self) -> Vec<u32> {
        self.rates.iter().map(|rate| ((rate * PARTS) as u32).max(1)).collect()
    }

    fn splits(&self) -> bool {
        match (self.plain, self.split) {
            (Some(plain), Some(split)) => (split <= plain) != (self.since >= self.again.max(*AGAIN.start())),
            // Its first run may have shown how it is without.
            _ => self.runs <= SPLIT_FIRST || self.plain.is_some(),
        }
    }

    /// A run has ended: what each thread did, how long the region took in ns, whether its loops were split, and whether each thread stayed on a
    /// core, so that its speed is that core's.
    pub fn learn(&mut self, done: &[Done], ns: u64, was_split: bool, in_place: bool) {
        self.unseen = if in_place { 0 } else { self.unseen.saturating_add(1) };
        let trips: u64 = done.iter().map(|done| done.trips).sum();
        if trips == 0 {
            return;
        }
        if in_place && done.iter().all(|done| done.trips > 0 && done.ns >= SHORT) {
            self.measured(done);
        }
        self.runs = self.runs.saturating_add(1);
        let cost = ns as f64 / trips as f64;
        // What is tried again counts as it is now: what was known of it is old.
        let new = if self.was_faster == Some(!was_split) { 1.0 } else { NEW };
        let (this, other) = if was_split { (&mut self.split, &self.plain) } else { (&mut self.plain, &self.split) };
        *this = Some(this.map_or(cost, |old| old + new * (cost - old)));
        let slower = matches!((*this, *other), (Some(this), Some(other)) if this > other);
        if !slower {
            self.since = self.since.saturating_add(1);
            return;
        }
        // What was the faster one until now is the slower one, and may be so by chance.
        let turned = self.was_faster == Some(was_split);
        self.again = if turned { *AGAIN.start() } else { (self.again * 2).clamp(*AGAIN.start(), *AGAIN.end()) };
        self.was_faster = Some(!was_split);
        self.since = 0;
    }

    fn measured(&mut self, done: &[Done]) {
        let rates: Vec<f64> = done.iter().map(|done| done.trips as f64 / done.ns as f64).collect();
        let sum: f64 = rates.iter().sum();
        self.rates = if self.measured && self.rates.len() == rates.len() {
            let old = self.rates.iter();
            old.zip(&rates).map(|(old, new)| old + NEW * (new / sum - old)).collect()
        } else {
            rates.iter().map(|rate| rate / sum).collect()
        };
        self.measured = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region of so many iterations of 1 us each on the slowest core, on threads of these speeds; returns how long it took.
    fn run(speeds: &mut Speeds, cores: &[u64], trips: u64, overhead: u64) -> u64 {
        run_on(speeds, cores, trips, overhead, true)
    }

    /// The same, with threads that stay on their cores also in runs that are not split, or that may go anywhere then.
    fn run_on(speeds: &mut Speeds, cores: &[u64], trips: u64, overhead: u64, bound: bool) -> u64 {
        let plan = speeds.next();
        let done: Vec<Done> = (0..cores.len())
            .map(|thread| {
                let share = match &plan {
                    Some(plan) => crate::splitting::share(trips, plan, thread),
                    None => crate::splitting::share(trips, &vec![1; cores.len()], thread),
                };
                let trips = share.end - share.start;
                Done { trips, ns: trips * 1000 / cores[thread] }
            })
            .collect();
        let slowest = done.iter().map(|done| done.ns).max().unwrap_or_default();
        let ns = slowest + if plan.is_some() { overhead } else { 0 };
        speeds.learn(&done, ns, plan.is_some(), plan.is_some() || bound);
        ns
    }

    #[test]
    fn loops_are_split_from_the_second_run_on() {
        let mut speeds = Speeds::default();
        let cores = [3, 1];
        assert_eq!(run(&mut speeds, &cores, 4000, 0), 2_000_000, "nothing is known yet");
        for _ in 0..20 {
            let ns = run(&mut speeds, &cores, 4000, 0);
            assert!((1_000_000..1_002_000).contains(&ns) || ns == 2_000_000, "{ns}");
        }
    }

    #[test]
    fn known_cores_are_right_at_once() {
        let mut speeds = Speeds::known(&[1024.0, 341.3]);
        assert!(run(&mut speeds, &[3, 1], 4000, 0) <= 1_002_000);
    }

    #[test]
    fn equal_threads_are_left_alone() {
        let mut speeds = Speeds::default();
        for _ in 0..10 {
            run(&mut speeds, &[2, 2, 2], 3000, 0);
            assert_eq!(speeds.next(), None);
        }
    }

    #[test]
    fn what_is_faster_unsplit_is_left_so_after_a_few_runs_and_tried_again_rarely() {
        let mut speeds = Speeds::default();
        let mut split = Vec::new();
        for _ in 0..200 {
            split.push(speeds.next().is_some());
            run(&mut speeds, &[3, 1], 40, 1_000_000);
        }
        let tries = split.iter().filter(|&&split| split).count();
        assert!((5..=10).contains(&tries), "{tries}");
    }

    #[test]
    fn a_slow_beginning_is_soon_forgotten() {
        let mut speeds = Speeds::default();
        // Threads come to their cores, and data to the caches.
        for _ in 0..4 {
            run(&mut speeds, &[3, 1], 4000, 3_000_000);
        }
        let split: Vec<bool> =
            (0..40).map(|_| (speeds.next().is_some(), run(&mut speeds, &[3, 1], 4000, 0)).0).collect();
        let late = split.iter().filter(|&&split| !split).count();
        assert!(late <= 8, "{split:?}");
    }

    #[test]
    fn other_load_on_a_core_is_followed() {
        let mut speeds = Speeds::default();
        for _ in 0..10 {
            run(&mut speeds, &[3, 1], 4000, 0);
        }
        for _ in 0..12 {
            run(&mut speeds, &[1, 1], 4000, 0);
        }
        assert!(run(&mut speeds, &[1, 1], 4000, 0) < 2_100_000);
    }

    #[test]
    fn cores_that_were_once_as_fast_are_looked_at_again() {
        let mut speeds = Speeds::known(&[3.0, 1.0]);
        for _ in 0..30 {
            run_on(&mut speeds, &[1, 1], 4000, 0, false);
        }
        let least = (0..200).map(|_| run_on(&mut speeds, &[3, 1], 4000, 0, false)).min();
        assert!(least.unwrap() < 1_100_000, "{least:?}");
    }

    #[test]
    fn a_run_that_says_nothing_of_speeds_teaches_none() {
        let mut speeds = Speeds::known(&[3.0, 1.0]);
        let before = speeds.rates().to_vec();
        speeds.learn(&[Done { trips: 5, ns: 100_000 }, Done::default()], 100_000, true, true);
        speeds.learn(&[Done { trips: 1, ns: 10 }; 2], 20, true, true);
        // Threads that may move have been anywhere.
        speeds.learn(&[Done { trips: 1000, ns: 100_000 }; 2], 100_000, false, false);
        assert_eq!(speeds.rates(), before);
    }

    #[test]
    fn loops_too_short_to_measure_are_left_unsplit_where_that_is_faster() {
        let mut speeds = Speeds::known(&[3.0, 1.0]);
        let plain = (0..20).filter(|_| {
            let split = speeds.next().is_some();
            let done = [Done { trips: 3, ns: 800 }, Done { trips: 1, ns: 270 }];
            speeds.learn(&done, if split { 5000 } else { 3000 }, split, split);
            !split
        });
        assert!(plain.count() > 0);
    }

    #[test]
    fn loops_with_fewer_iterations_than_threads_are_left_unsplit_where_that_is_faster() {
        let mut speeds = Speeds::known(&[3.0, 1.0]);
        let plain = (0..20).filter(|_| {
            let split = speeds.next().is_some();
            let done = [Done { trips: 1, ns: 1_000_000 }, Done::default()];
            speeds.learn(&done, if split { 5_000_000 } else { 3_000_000 }, split, split);
            !split
        });
        assert!(plain.count() > 0);
    }
}

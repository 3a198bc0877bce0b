//! The controller: how long to occupy a CPU, so that others get just the share of it that a slower core would be.
//!
//! Cycles begin at the points of a fixed grid. In each the CPU is occupied once, for as long as makes the account of all
//! time so far come out even at the next point. So a timer that fires late, a span that lasts longer than it should, and
//! the cost of switching are made up for in the cycles that follow, and errors never add up.

use evenkeel_model::Ns;

/// What is owed is forgotten beyond this: after a long stall (a stopped process, a paused virtual machine) the core shall
/// be as slow as it should, not slower for seconds.
const MOST_OWED: f64 = 100e6;
/// Catching up leaves others at least this part of what they should get in a cycle.
const LEAST_LEFT: f64 = 0.25;

/// Decides when to occupy a CPU and for how long.
#[derive(Clone, Debug)]
pub struct Duty {
    /// How many times slower the core is.
    ratio: f64,
    period: Ns,
    /// The share of each cycle that may be occupied.
    most: f64,
    began: Ns,
    /// The cycle that has begun last.
    cycle: Option<u64>,
    /// Up to when everything is accounted for.
    seen: Ns,
    /// Nanoseconds of occupation still to come, by what should have been until `seen`; negative after too much.
    owed: f64,
    account: Account,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Occupy the CPU until then.
    pub until: Ns,
    /// Then leave it to others until then.
    pub next: Ns,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// From the beginning to when the clock was last read.
    pub elapsed: Ns,
    /// How much of that the CPU was occupied.
    pub taken: Ns,
    /// How much of it the CPU should have been.
    pub due: Ns,
    /// How many cycles there were.
    pub cycles: u64,
    /// The longest span in which the CPU was occupied.
    pub longest: Ns,
}

impl Account {
    /// How many times less of the CPU was left to others than there is; `None` before the first cycle has ended.
    pub fn ratio(&self) -> Option<f64> {
        let left = self.elapsed.since(self.taken);
        (left > Ns::ZERO).then(|| self.elapsed.0 as f64 / left.0 as f64)
    }

    /// What was left to others over what should have been; `None` if nothing should.
    pub fn reached(&self) -> Option<f64> {
        let wanted = self.elapsed.since(self.due);
        (wanted > Ns::ZERO).then(|| self.elapsed.since(self.taken).0 as f64 / wanted.0 as f64)
    }
}

impl Duty {
    /// A core that is slower by `ratio`, 1 or more, in cycles of `period`, of which at most the share `most` may be
    /// occupied. The first cycle begins at `began`.
    pub fn new(ratio: f64, period: Ns, most: f64, began: Ns) -> Self {
        let account = Account::default();
        Self { ratio, period, most, began, cycle: None, seen: began, owed: 0.0, account }
    }

    /// The share of the time to occupy.
    fn share(&self) -> f64 {
        1.0 - 1.0 / self.ratio
    }

    /// What others are left in each cycle, whatever is owed.
    fn least_left(&self) -> Ns {
        Ns(((LEAST_LEFT / self.ratio).max(1.0 - self.most) * self.period.0 as f64) as u64)
    }

    /// It is `now`, and since the last call the CPU was occupied for `taken`. From now on the core is slower by `ratio`.
    pub fn wake(&mut self, now: Ns, taken: Ns, ratio: f64) -> Span {
        self.account(now, taken);
        self.ratio = ratio;
        let cycle = now.since(self.began).0 / self.period.0 + 1;
        let next = Ns(self.began.0 + cycle * self.period.0);
        let rest = next.since(now);
        let due = self.owed + self.share() * rest.0 as f64;
        let room = rest.since(self.least_left());
        let span = Ns(due.max(0.0) as u64).min(room);
        // A change of the ratio may have come within a cycle.
        if self.cycle.replace(cycle) != Some(cycle) {
            self.account.cycles += 1;
        }
        Span { until: now + span, next }
    }

    /// How much of the CPU was occupied so far.
    pub fn taken(&self) -> Ns {
        self.account.taken
    }

    /// As [`Self::wake`], for the last time.
    pub fn end(mut self, now: Ns, taken: Ns) -> Account {
        self.account(now, taken);
        self.account
    }

    fn account(&mut self, now: Ns, taken: Ns) {
        let passed = now.since(self.seen);
        self.seen = self.seen.max(now);
        let due = self.share() * passed.0 as f64;
        let owed = self.owed + due - taken.0 as f64;
        self.owed = owed.clamp(-MOST_OWED, MOST_OWED);
        self.account.elapsed += passed;
        self.account.taken += taken;
        self.account.due += Ns(due.round() as u64);
        self.account.longest = self.account.longest.max(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: f64 = 0.95;
    const PERIOD: Ns = Ns::from_ms(4);

    /// A CPU on which everything happens too late: timers fire late, spans end late, switching costs time.
    struct Cpu {
        now: Ns,
        seed: u64,
        /// Timers fire up to this late.
        late: u64,
        /// And once in a while so many times later.
        rare: u64,
        /// What a switch costs.
        switch: u64,
    }

    impl Cpu {
        fn exact() -> Self {
            Self { now: Ns::ZERO, seed: 1, late: 0, rare: 1, switch: 0 }
        }

        fn noisy(seed: u64, rare: u64) -> Self {
            Self { now: Ns::ZERO, seed: 0x9e37_79b9_7f4a_7c15 ^ seed, late: 100_000, rare, switch: 5_000 }
        }

        fn draw(&mut self, below: u64) -> u64 {
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            self.seed % below
        }

        /// Carries one span out and returns how long the CPU was occupied.
        fn carry_out(&mut self, span: Span) -> Ns {
            let from = self.now;
            self.now = self.now.max(span.until) + Ns(self.draw(self.late / 10 + 1) + self.switch);
            let taken = self.now.since(from);
            let rare = if self.draw(200) == 0 { self.rare } else { 1 };
            let late = self.draw(self.late + 1) * rare;
            self.now = self.now.max(span.next) + Ns(late);
            taken
        }
    }

    /// Twenty seconds: the account, and after each cycle the time and what was taken until then.
    fn run(cpu: &mut Cpu, ratio: f64) -> (Account, Vec<(Ns, Ns)>) {
        let mut duty = Duty::new(ratio, PERIOD, MOST, Ns::ZERO);
        let (mut taken, mut sum, mut trace) = (Ns::ZERO, Ns::ZERO, Vec::new());
        while cpu.now < Ns::from_secs(20) {
            let span = duty.wake(cpu.now, taken, ratio);
            taken = cpu.carry_out(span);
            sum += taken;
            trace.push((cpu.now, sum));
        }
        (duty.end(cpu.now, taken), trace)
    }

    /// How far the share left to others was off over any second, as a part of what it should be.
    fn worst_second(trace: &[(Ns, Ns)], ratio: f64) -> f64 {
        let mut worst: f64 = 0.0;
        for (first, (from, taken)) in trace.iter().enumerate() {
            let Some((to, later)) = trace[first..].iter().find(|(at, _)| *at >= *from + Ns::from_secs(1)) else {
                break;
            };
            let (passed, taken) = (to.since(*from).0 as f64, later.since(*taken).0 as f64);
            worst = worst.max(((passed - taken) / passed * ratio - 1.0).abs());
        }
        worst
    }

    #[test]
    fn on_an_exact_clock_the_share_is_exact() {
        for ratio in [1.0, 1.5, 3.0, 10.0, 19.0] {
            let (account, _) = run(&mut Cpu::exact(), ratio);
            let reached = account.ratio().unwrap();
            assert!((reached / ratio - 1.0).abs() < 1e-4, "{ratio}: {account:?}");
            assert_eq!(account.cycles, 5000);
        }
    }

    #[test]
    fn the_share_holds_over_every_second_on_a_noisy_machine() {
        for (ratio, seed) in [(1.5, 1), (2.0, 2), (3.0, 3), (3.0, 4), (4.0, 5), (8.0, 6)] {
            let (account, trace) = run(&mut Cpu::noisy(seed, 10), ratio);
            let reached = account.ratio().unwrap();
            assert!((reached / ratio - 1.0).abs() < 0.002, "{ratio}: {reached}");
            let worst = worst_second(&trace, ratio);
            assert!(worst < 0.02, "{ratio}: off by {worst} over some second");
        }
    }

    #[test]
    fn stalls_that_cannot_be_made_up_for_within_a_second_are_in_the_end() {
        for (ratio, seed) in [(2.0, 1), (3.0, 2), (8.0, 3)] {
            let (account, _) = run(&mut Cpu::noisy(seed, 100), ratio);
            let reached = account.ratio().unwrap();
            assert!((reached / ratio - 1.0).abs() < 0.005, "{ratio}: {reached}");
        }
    }

    #[test]
    fn after_a_long_stall_the_past_is_forgotten() {
        let mut cpu = Cpu::exact();
        let mut duty = Duty::new(3.0, PERIOD, MOST, Ns::ZERO);
        duty.wake(Ns::ZERO, Ns::ZERO, 3.0);
        duty.wake(Ns::from_secs(10), Ns::ZERO, 3.0);
        cpu.now = Ns::from_secs(10);
        let mut taken = Ns::ZERO;
        for _ in 0..250 {
            let span = duty.wake(cpu.now, taken, 3.0);
            taken = cpu.carry_out(span);
        }
        let now = cpu.now;
        let span = duty.wake(now, taken, 3.0);
        assert!(span.until.since(now) < Ns::from_us(2_700), "back to two thirds of 4 ms after a second: {span:?}");
    }

    #[test]
    fn a_cpu_that_cannot_be_had_is_not_accounted_as_taken() {
        let mut duty = Duty::new(3.0, PERIOD, MOST, Ns::ZERO);
        let mut now = Ns::ZERO;
        for _ in 0..1000 {
            let span = duty.wake(now, Ns::from_ms(1), 3.0);
            now = span.next;
        }
        let reached = duty.end(now, Ns::from_ms(1)).ratio().unwrap();
        assert!((1.3..1.4).contains(&reached), "a quarter taken is a third slower: {reached}");
    }

    proptest! {
        #[test]
        fn a_ratio_that_changes_within_cycles_is_kept_on_the_whole(
            spans in proptest::collection::vec((1.0..10.0f64, 100_000u64..30_000_000), 1..100),
        ) {
            let mut duty = Duty::new(1.0, PERIOD, MOST, Ns::ZERO);
            let (mut now, mut taken, mut due) = (Ns::ZERO, Ns::ZERO, 0.0);
            for (ratio, length) in spans {
                let end = now + Ns(length);
                due += (1.0 - 1.0 / ratio) * length as f64;
                // A change ends what the thread does, be it spinning or sleeping.
                while now < end {
                    let span = duty.wake(now, taken, ratio);
                    let (until, next) = (span.until.min(end), span.next.min(end));
                    taken = until.since(now);
                    now = next;
                }
            }
            let account = duty.end(now, taken);
            prop_assert!((account.due.0 as f64 - due).abs() < 10_000.0, "{account:?}, due {due}");
            // At most what a cycle still owes or has been occupied ahead of time.
            let off = account.taken.0.abs_diff(account.due.0);
            prop_assert!(off <= PERIOD.0, "off by {off} ns: {account:?}");
        }

        #[test]
        fn others_always_get_something_and_the_grid_is_kept(
            ratio in 1.0..19.0f64,
            calls in proptest::collection::vec((0u64..50_000_000, 0u64..60_000_000), 1..200),
        ) {
            let began = Ns::from_secs(3);
            let mut duty = Duty::new(ratio, PERIOD, MOST, began);
            let mut now = began;
            for (passed, taken) in calls {
                now += Ns(passed);
                let span = duty.wake(now, Ns(taken.min(passed)), ratio);
                prop_assert!(span.next > now && span.next.since(now) <= PERIOD);
                prop_assert_eq!(span.next.since(began).0 % PERIOD.0, 0);
                prop_assert!(span.until >= now);
                let most = PERIOD.0 as f64 * MOST;
                prop_assert!(span.until.since(now).0 as f64 <= most + 1.0);
            }
        }
    }
}

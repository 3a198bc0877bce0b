//! What an emulated core would have used: its type's power at each frequency while it was busy, and its idle power otherwise.
//!
//! Busy is what the kernel says. Of the time that the emulation leaves to others (all of it less what it occupies), `/proc/stat` says how much
//! the CPU was idle; the core that is emulated was busy for the same share of all the time, since what runs on a slower core runs for longer.
//! The kernel counts in hundredths of a second, so that a span between two changes of the frequency says little. But the counts are sums:
//! what the spans at one frequency get too much, others of the core get too little.

use std::fs;

use evenkeel_model::{Hz, Joules, Ns, Watts};

use super::CoreClock;

/// What became of a core whose frequency could be set.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockAccount {
    /// The CPU.
    pub cpu: u16,
    /// Its core type.
    pub core: String,
    /// How long it was emulated.
    pub elapsed: Ns,
    /// How much of that it was busy.
    pub busy: Ns,
    /// Its mean frequency over all of the time.
    pub mean: Hz,
    /// How often its frequency changed.
    pub changes: u64,
    /// What it would have used.
    pub energy: Joules,
    /// Writes that were no frequency and changed nothing.
    pub ignored: u64,
    /// Writes below the lowest or above the highest frequency, which were taken for that.
    pub clamped: u64,
}

impl ClockAccount {
    /// Its energy over the time.
    pub fn power(&self) -> Watts {
        Watts(self.energy.0 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE))
    }
}

/// What is known of a CPU at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub at: Ns,
    /// For how long the emulation has occupied it.
    pub taken: Ns,
    /// For how long it was idle.
    pub idle: Ns,
}

/// Seconds at one operating point.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    elapsed: f64,
    taken: f64,
    idle: f64,
}

impl Used {
    /// The share of the time for which the core was busy.
    fn busy(&self) -> f64 {
        let left = self.elapsed - self.taken;
        if left > 0.0 { (1.0 - self.idle / left).clamp(0.0, 1.0) } else { 1.0 }
    }
}

/// Keeps the account of one core.
#[derive(Debug)]
pub(super) struct Meter {
    used: Vec<Used>,
    /// The present operating point.
    point: usize,
    last: Reading,
    changes: u64,
}

impl Meter {
    /// A core that begins at its nominal point.
    pub fn new(clock: &CoreClock, now: Reading) -> Self {
        Self { used: vec![Used::default(); clock.points.len()], point: clock.nominal, last: now, changes: 0 }
    }

    /// The frequency changes now.
    pub fn change(&mut self, point: usize, now: Reading) {
        self.close(now);
        self.point = point;
        self.changes += 1;
    }

    fn close(&mut self, now: Reading) {
        let used = &mut self.used[self.point];
        used.elapsed += now.at.since(self.last.at).as_secs_f64();
        used.taken += now.taken.since(self.last.taken).as_secs_f64();
        used.idle += now.idle.since(self.last.idle).as_secs_f64();
        self.last = now;
    }

    /// All of it.
    pub fn end(mut self, cpu: u16, clock: &CoreClock, now: Reading) -> ClockAccount {
        self.close(now);
        let (mut elapsed, mut busy, mut cycles, mut energy) = (0.0, 0.0, 0.0, 0.0);
        for (used, point) in self.used.iter().zip(&clock.points) {
            let share = used.busy();
            elapsed += used.elapsed;
            busy += used.elapsed * share;
            cycles += used.elapsed * point.frequency.0 as f64;
            energy += used.elapsed * (share * point.busy.0 + (1.0 - share) * point.idle.0);
        }
        ClockAccount {
            cpu,
            core: clock.core.clone(),
            elapsed: Ns((elapsed * 1e9) as u64),
            busy: Ns((busy * 1e9) as u64),
            mean: Hz(if elapsed > 0.0 { cycles / elapsed } else { 0.0 } as u64),
            changes: self.changes,
            energy: Joules(energy),
            ignored: 0,
            clamped: 0,
        }
    }
}

/// For how long each of these CPUs was idle. One that the kernel does not list was never.
pub(super) fn idle(cpus: &[u16]) -> Vec<Ns> {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    cpus.iter().map(|cpu| idle_in(&text, *cpu, rustix::param::clock_ticks_per_second())).collect()
}

/// The times `idle` and `iowait` of a CPU (proc_stat(5)), in ticks of which there are so many a second.
fn idle_in(text: &str, cpu: u16, ticks: u64) -> Ns {
    let name = format!("cpu{cpu}");
    let line = text.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '));
    let times = line.unwrap_or_default().split_whitespace().skip(3).take(2);
    let idle: u64 = times.filter_map(|time| time.parse::<u64>().ok()).sum();
    Ns(idle.saturating_mul(1_000_000_000 / ticks.max(1)))
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;

    use super::super::Clocks;
    use super::*;

    fn clock() -> CoreClock {
        Clocks::of(&machines::by_name("aaws-4B4L").unwrap(), 19.0).unwrap().big
    }

    fn reading(at: u64, taken: u64, idle: u64) -> Reading {
        Reading { at: Ns::from_ms(at), taken: Ns::from_ms(taken), idle: Ns::from_ms(idle) }
    }

    #[test]
    fn energy_is_power_by_the_time_at_each_frequency() {
        let clock = clock();
        let (nominal, last) = (clock.points[clock.nominal], clock.points[12]);
        let mut meter = Meter::new(&clock, reading(1000, 0, 70));
        // A second at 1 V, of which 400 ms were occupied; half of the rest was idle.
        meter.change(12, reading(2000, 400, 370));
        // Two seconds at 1.3 V, busy to the end.
        let account = meter.end(3, &clock, reading(4000, 400, 370));
        let expected = 0.5 * nominal.busy.0 + 0.5 * nominal.idle.0 + 2.0 * last.busy.0;
        assert!((account.energy.0 - expected).abs() < 1e-9, "{account:?}");
        assert!((account.power().0 - expected / 3.0).abs() < 1e-9);
        assert_eq!((account.cpu, account.changes, account.busy), (3, 1, Ns::from_ms(2500)));
        assert_eq!(account.mean, Hz((333_000_000 + 2 * 554_400_000) / 3));
    }

    #[test]
    fn more_idle_than_there_can_be_is_idle_and_less_is_busy() {
        let clock = clock();
        let all = |idle| Meter::new(&clock, reading(0, 0, 0)).end(0, &clock, reading(100, 80, idle)).busy;
        assert_eq!((all(30), all(0)), (Ns::ZERO, Ns::from_ms(100)));
        let none = Meter::new(&clock, reading(5, 0, 0)).end(0, &clock, reading(5, 0, 0));
        assert_eq!((none.energy.0, none.power().0, none.mean), (0.0, 0.0, Hz(0)));
    }

    #[test]
    fn the_kernel_counts_the_idle_time_of_each_cpu() {
        let text = "cpu  9 9 9 9 9\ncpu1 1 2 3 400 5 0\ncpu10 1 2 3 7 1\nintr 4";
        assert_eq!(idle_in(text, 1, 100), Ns::from_ms(4050));
        assert_eq!(idle_in(text, 10, 100), Ns::from_ms(80));
        assert_eq!((idle_in(text, 0, 100), idle_in("", 1, 100)), (Ns::ZERO, Ns::ZERO));
    }
}

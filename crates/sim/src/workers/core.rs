//! A core of the simulated workers: how fast it is at its voltage, and what energy that takes.

use evenkeel_model::marginal::Group;
use evenkeel_model::{Joules, Ns, Volts};
use evenkeel_workload::kernels::Kernel;

/// What a core's time goes into. All of it is busy: a worker that waits searches for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    /// Tasks and serial parts of the kernel.
    Work,
    /// Searching for work, changing places, refilling caches.
    Overhead,
}

/// A core type running a kernel. Work and overhead are in ns of a little core at nominal voltage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    group: Group,
    /// The same with the kernel's energy and speed.
    running: Group,
    /// How many times as fast as a little core it is at the same clock, at the kernel and at overhead.
    speed: f64,
    overhead_speed: f64,
    /// The share of the kernel's time at that clock that does not depend on it: memory.
    fixed: f64,
    /// The clock of a little core at nominal voltage.
    nominal_hz: f64,
}

/// Time of a miss of the L2, in ns (ISCA 2016, Table I).
const MISS_NS: f64 = 200.0;

impl Type {
    /// The core types of a system for a kernel whose little core needs so many cycles an instruction. The kernel's alpha and beta are of
    /// the biggest against the smallest type; types between are as far between as for the reference code.
    pub fn all(groups: &[Group], kernel: &Kernel, cycles: f64) -> Vec<Self> {
        let (Some(big), Some(little)) = (groups.first(), groups.last()) else { return Vec::new() };
        let between = |ratio: f64, whole: f64, kernel: f64| {
            if whole == 1.0 { ratio } else { libm::pow(kernel, libm::log(ratio) / libm::log(whole)) }
        };
        let of = |group: &Group| {
            let beta = |group: &Group| group.ipc / little.ipc;
            let alpha = |group: &Group| group.activity / little.activity;
            let speed = between(beta(group), beta(big), kernel.beta);
            let energy = between(alpha(group), alpha(big), kernel.alpha);
            let nominal_hz = little.frequency(little.nominal);
            let running = Group { ipc: little.ipc * speed, activity: little.activity * energy, ..*group };
            let instruction_ns = cycles * 1e9 / nominal_hz;
            let fixed = (kernel.mpki / 1000.0 * MISS_NS / instruction_ns).min(0.9);
            Self { group: *group, running, speed, overhead_speed: beta(group), fixed, nominal_hz }
        };
        groups.iter().map(of).collect()
    }

    /// Ns of a little core at nominal voltage that are done in a ns at this clock.
    fn rate(&self, on: Spent, hertz: f64) -> f64 {
        let clock = hertz / self.nominal_hz;
        match on {
            Spent::Overhead => self.overhead_speed * clock,
            Spent::Work => self.speed / ((1.0 - self.fixed) / clock + self.fixed),
        }
    }
}

/// A core.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub core_type: usize,
    kind: Type,
    pub volts: Volts,
    /// Where its voltage goes, and when it is there.
    pub moving: Option<(Volts, Ns)>,
    since: Ns,
    pub joules: Joules,
}

impl Core {
    pub fn new(core_type: usize, kind: Type) -> Self {
        let volts = kind.group.nominal;
        Self { core_type, kind, volts, moving: None, since: Ns::ZERO, joules: Joules(0.0) }
    }

    pub fn nominal(&self) -> Volts {
        self.kind.group.nominal
    }

    pub fn lowest(&self) -> Volts {
        self.kind.group.lowest
    }

    /// While its voltage changes a core runs on at the lower frequency (IV.D).
    fn hertz(&self) -> f64 {
        let slower = self.moving.map_or(self.volts, |(to, _)| if to < self.volts { to } else { self.volts });
        self.kind.group.frequency(slower)
    }

    /// How much it does in a ns.
    pub fn rate(&self, on: Spent) -> f64 {
        self.kind.rate(on, self.hertz())
    }

    /// How long it takes for an amount.
    pub fn time(&self, on: Spent, amount: f64) -> Ns {
        Ns(libm::ceil(amount / self.rate(on)) as u64)
    }

    /// Accounts for the time since the last time. Returns how long that was. Between two voltages the mean of them counts.
    pub fn settle(&mut self, now: Ns, on: Spent) -> Ns {
        let span = now.since(self.since);
        self.since = now;
        let group = if on == Spent::Work { self.kind.running } else { self.kind.group };
        let volts = self.moving.map_or(self.volts.0, |(to, _)| f64::midpoint(self.volts.0, to.0));
        let watts = group.activity * group.ipc * self.hertz() * volts * volts + volts * group.leakage;
        self.joules += Joules(watts * span.as_secs_f64());
        span
    }
}

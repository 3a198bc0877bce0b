//! What schedules a run.

/// What carries a scheduler's decisions out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// The guest's own kernel, which decides, too.
    Stock,
    /// `evenkeel run`, through affinity.
    Run,
    /// `evenkeel scx`, through sched_ext, in the kernel where the policy can decide there.
    Scx,
    /// `evenkeel scx --path daemon`, for policies that could decide in the kernel.
    Daemon,
    /// Another program.
    Peer,
}

impl Host {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stock => "stock",
            Self::Run => "run",
            Self::Scx => "scx",
            Self::Daemon => "scx daemon",
            Self::Peer => "peer",
        }
    }
}

/// A policy and what carries it out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scheduler {
    /// The policy; the name of what is no policy of Evenkeel.
    pub policy: String,
    /// Its host.
    pub host: Host,
}

impl Scheduler {
    /// The guest's own scheduler.
    pub fn stock() -> Self {
        Self { policy: Host::Stock.name().into(), host: Host::Stock }
    }

    /// Whether it is the guest's own.
    pub fn is_stock(&self) -> bool {
        self.host == Host::Stock
    }
}

impl std::fmt::Display for Scheduler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host {
            Host::Stock | Host::Peer => f.write_str(&self.policy),
            Host::Run | Host::Scx | Host::Daemon => write!(f, "{} {}", self.host.name(), self.policy),
        }
    }
}

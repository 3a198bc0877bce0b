//! A simulated core: what runs on it, what it owes in overhead, and the energy that it used.

use evenkeel_model::{CoreType, Joules, Ns, Opp, ThreadId};

/// One core.
#[derive(Debug, Default)]
pub(crate) struct Core {
    pub current: Option<ThreadId>,
    /// Up to when its time is accounted for.
    pub since: Ns,
    /// Overhead that the current thread has yet to sit out: switch, cold caches, noise.
    pub stall: Ns,
    /// How much of that the thread's own operations cost, which it takes along if it leaves the core before.
    pub owed: Ns,
    /// When the current computation completes.
    pub done_at: Ns,
    /// When the scheduler's next tick is; never on an idle core.
    pub tick_at: Ns,
    pub last: Option<ThreadId>,
    /// Of which program the last thread was, and of which process of it.
    pub process: Option<(usize, u32)>,
    /// When a thread last left it.
    pub left: Ns,
    pub busy: Ns,
    pub overhead: Ns,
    pub idle: Ns,
    pub energy: Joules,
    /// Not yet turned into energy: instructions, time with power, idle time at the present operating point.
    pub pending: (u64, Ns, Ns),
}

impl Core {
    /// Turns what happened since the last change of the operating point into energy, `P = a IPC f V^2 + V I_leak`. Each of so many hardware
    /// threads has its part of the core's leakage, and is idle for it only if all are.
    pub(crate) fn settle_energy(&mut self, kind: &CoreType, opp: Opp, threads: usize) {
        let (instructions, busy, idle) = std::mem::take(&mut self.pending);
        let volts = opp.voltage.0;
        let switching = kind.activity * volts * volts * instructions as f64 / 1e9;
        let leakage = volts * kind.leakage / threads as f64;
        let leaked = leakage * busy.as_secs_f64() + leakage * kind.idle_share * idle.as_secs_f64();
        self.energy += Joules(switching + leaked);
    }
}

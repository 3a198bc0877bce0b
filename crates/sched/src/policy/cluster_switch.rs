//! Cluster switching: only the big or only the little cores run at any time ("Exploiting Asymmetric Multi-Core Processors
//! with Flexible System Software", section III.A).
//!
//! When the little cluster is used beyond a threshold everything moves to the big one, and back when that is hardly used.
//! To the scheduler, CFS, the machine is a symmetric one with the cores of the active cluster. What the move costs is the
//! machine's cost of migrating across clusters, once for every thread: its caches' contents come through the interconnect.

use evenkeel_model::{CoreSet, Ns, ThreadId};

use super::switcher::{PERIOD, Switch, Thresholds, used};
use super::{Changes, Policy, Setup};
use crate::state::State;

/// One cluster at a time.
#[derive(Debug)]
pub struct ClusterSwitch {
    thresholds: Thresholds,
    switch: Switch,
}

impl Policy for ClusterSwitch {
    fn name(&self) -> &'static str {
        "cluster-switch"
    }

    fn period(&self) -> Option<Ns> {
        Some(PERIOD)
    }

    fn admit(&mut self, s: &State, _thread: ThreadId) -> CoreSet {
        self.active(s)
    }

    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        let busiest = self.active(s).iter().map(|core| used(s, core)).fold(0.0, f64::max);
        if self.switch.look(s.now, busiest, self.thresholds) {
            let active = self.active(s);
            s.living().for_each(|thread| changes.affinity(thread, active));
        }
    }
}

impl ClusterSwitch {
    /// As it is set up.
    pub fn new(setup: &Setup) -> Self {
        Self { thresholds: Thresholds::new(setup), switch: Switch::default() }
    }

    fn active(&self, s: &State) -> CoreSet {
        if self.switch.big() || s.little.is_empty() { s.big } else { s.little }
    }
}

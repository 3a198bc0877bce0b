//! Cluster switching: only the big or only the little cores run at any time ("Exploiting Asymmetric Multi-Core Processors
//! with Flexible System Software", section III.A).
//!
//! When the little cluster is used beyond a threshold everything moves to the big one, and back when that is hardly used.
//! To the scheduler, CFS, the machine is a symmetric one with the cores of the active cluster. What the move costs is the
//! machine's cost of migrating across clusters, once for every thread: its caches' contents come through the interconnect.

use evenkeel_model::{CoreSet, Ns, ThreadId};

use super::description::{Description, Setup};
use super::hooks::{Changes, Policy};
use super::parts::switcher::{KNOBS, Switch, Thresholds, used};
use crate::state::State;
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "either the big or the little cores are active, by how much they are used",
    source: "\"Exploiting Asymmetric Multi-Core Processors with Flexible System Software\", section III.A, after Chung, Kang and Cho, \"Heterogeneous Multi-Processing Solution of Exynos 5 Octa with ARM big.LITTLE Technology\", Samsung 2013",
    knobs: KNOBS,
    ..Description::of::<ClusterSwitch>("cluster-switch", |setup| Box::new(ClusterSwitch::new(setup)))
};

/// One cluster at a time.
#[derive(Debug)]
pub struct ClusterSwitch {
    thresholds: Thresholds,
    switch: Switch,
}

#[hooks]
impl Policy for ClusterSwitch {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn period(&self) -> Option<Ns> {
        Some(self.thresholds.period)
    }

    fn admit(&mut self, s: &State, _thread: ThreadId) -> CoreSet {
        self.active(s)
    }

    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        let busiest = self.active(s).iter().map(|core| used(s, core)).fold(0.0, f64::max);
        if self.switch.sample(s.now, busiest, self.thresholds) {
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

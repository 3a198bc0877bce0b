//! The frequencies of clusters, which follow how much their cores are used.

use evenkeel_model::{ClusterId, CoreId, Hz};

use super::Scheduler;
use crate::action::Action;
use crate::frequency;

impl Scheduler {
    /// How much a core is used has changed (cpufreq_update_util).
    pub(super) fn follow_usage(&mut self, core: CoreId) {
        self.govern(self.state.machine.cores[core.index()].cluster);
    }

    pub(super) fn govern(&mut self, cluster: ClusterId) {
        if !frequency::due(&self.state, self.followed[cluster.index()]) {
            return;
        }
        let frequency = frequency::wanted(&self.state, cluster);
        if frequency != self.state.frequency(cluster) {
            self.followed[cluster.index()] = Some(self.state.now);
            self.set_frequency(cluster, frequency);
        }
    }

    pub(super) fn set_frequency(&mut self, cluster: ClusterId, frequency: Hz) {
        let machine = &self.state.machine;
        let kind = &machine.core_types[machine.clusters[cluster.index()].core_type.index()];
        let frequency = kind.opp_at(frequency).frequency;
        if self.state.set_frequency(cluster, frequency) != frequency {
            self.outbox.push_back(Action::Frequency { cluster, frequency });
        }
    }
}

//! Balancing between cores: when a core balances, for which others it does, and what becomes of the policy's choice.

use evenkeel_model::{CoreId, CoreSet, ThreadId};

use super::Scheduler;
use crate::action::{Action, Pick};
use crate::policy::parts::fair;
use crate::state::LEVELS;

impl Scheduler {
    /// Lets a core balance. Returns whether it takes over a running thread.
    pub(super) fn rebalance(&mut self, core: CoreId) -> bool {
        let now = self.state.now;
        let top = self.state.domains[core.index()].len() - 1;
        let due: [bool; LEVELS] =
            std::array::from_fn(|level| level <= top && fair::balance_due(&self.state, core, level));
        let pick = self.policy.balance(&self.state, core);
        let patience = &mut self.state.cores[core.index()].failed;
        let takes = matches!(pick, Pick::Running(_)) && *patience >= fair::PATIENCE;
        match pick {
            Pick::Exchange { here, there } => self.exchange(here, there),
            Pick::Running(_) if !takes => *patience += 1,
            Pick::Running(thread) => {
                // nr_balance_failed = cache_nice_tries + 1: the next one moves a little sooner.
                *patience = fair::PATIENCE - 1;
                let from = self.state.thread(thread).core;
                self.outbox.push_back(Action::Take { thread, from, to: core });
            }
            Pick::Queued(thread) => {
                *patience = 0;
                self.pull(thread, core);
            }
            Pick::Idle if due[top] => *patience = 0,
            Pick::Idle => {}
        }
        for (level, due) in due.into_iter().enumerate() {
            if due {
                self.state.cores[core.index()].balanced[level] = now;
            }
        }
        takes
    }

    /// Two threads change cores. If both wait, that is done here; if one runs, its host does it.
    fn exchange(&mut self, here: ThreadId, there: ThreadId) {
        let core = |thread: ThreadId| self.state.thread(thread).core;
        let runs = |thread: ThreadId| self.state.core(core(thread)).current == Some(thread);
        // `Swap` wants the one that runs second.
        let threads = if runs(here) { [there, here] } else { [here, there] };
        let cores = threads.map(core);
        if runs(threads[1]) {
            self.outbox.push_back(Action::Swap { threads, cores });
        } else {
            self.pull(threads[0], cores[1]);
            self.pull(threads[1], cores[0]);
        }
    }

    /// nohz_idle_balance: cores that sleep have no tick of their own; a busy one in a cluster with another busy one lets
    /// them balance.
    pub(super) fn balance_idle_cores(&mut self, core: CoreId) {
        let s = &self.state;
        if s.busy(s.domains[core.index()][0]).nth(1).is_none() {
            return;
        }
        let mut from = CoreId(0);
        while let Some(other) = self.next_idle(from) {
            from = CoreId(other.0 + 1);
            // One at a time: the others would name the same thread.
            let takes = self.rebalance(other);
            if self.state.idle(other) {
                self.list_idle(other);
            }
            if takes {
                return;
            }
        }
    }

    /// The first idle core from a number up that may have something to balance.
    fn next_idle(&mut self, from: CoreId) -> Option<CoreId> {
        let idle = self.state.idle_cores();
        if self.policy.balances_always() {
            idle.at_or_above(from)
        } else {
            self.idle_turns.take(self.state.now, from, &idle)
        }
    }

    /// nohz_balancer_kick: a thread waits here while a core that may run it sleeps.
    pub(super) fn kick_idle_core(&mut self, core: CoreId) {
        let s = &self.state;
        if s.core(core).queue.is_empty() || s.idle_cores().is_empty() {
            return;
        }
        let allowed = s.core(core).queue.iter().map(|thread| s.thread(thread).allowed());
        let helpers = allowed.fold(CoreSet::EMPTY, |all, cores| all.or(cores)).and(s.idle_cores());
        for domain in s.domains[core.index()].iter() {
            if let Some(helper) = domain.and(helpers).lowest() {
                self.outbox.push_back(Action::Reschedule(helper));
                return;
            }
        }
    }
}

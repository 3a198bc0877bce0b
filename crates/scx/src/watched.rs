//! Those that watch: what they are told, and what they change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_linux::clock;
use evenkeel_linux::event::Tid;
use evenkeel_linux::host::live_policy;
use evenkeel_linux::monitor::{Asked, Change, CoreNow, Monitor, Snapshot, State};
use evenkeel_linux::pins::Pins;
use evenkeel_model::Ns;

use crate::counting::Learnt;
use crate::session::{Account, Path, Plan, Turn};
use crate::{Ended, Error, Figures};

/// What the thread that decides keeps for those that watch.
pub(crate) struct Watched {
    /// None where this process may not open sockets: then it cannot be watched, and does the rest all the same.
    monitor: Option<Monitor>,
    plan: Plan,
    /// The path that was chosen at first: a policy that the kernel's part does not have decides in this process.
    path: Path,
    pins: SharedPins,
    began: Ns,
    cost_at_start: Ns,
    /// What was done under earlier policies, and what this machine could not tell them.
    before: Figures,
    missing: BTreeSet<String>,
    policies: Vec<(Ns, String)>,
    /// How often the machine was taken over anew: also by the policy before, when the next one could not take it over.
    takeovers: usize,
}

/// Pins that were asked for, and those that there are. The thread that decides has no time for them.
#[derive(Clone, Default)]
pub(crate) struct SharedPins(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    asked: VecDeque<Asked>,
    pinned: BTreeMap<Tid, Vec<u16>>,
}

impl SharedPins {
    /// Makes those that were asked for.
    pub(crate) fn make(&self, pins: &mut Pins) {
        let asked = std::mem::take(&mut self.lock().asked);
        for asked in asked {
            if let Change::Pin { tid, cpus } = &asked.change {
                let result = pins.pin(*tid, cpus);
                asked.answer(result);
            }
        }
        let pinned = pins.pinned();
        self.lock().pinned = pinned;
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// For what begins now.
    pub(crate) fn new(plan: Plan, pins: SharedPins) -> Self {
        Self {
            monitor: Monitor::open().ok(),
            path: plan.path,
            plan,
            pins,
            began: clock::clock(),
            cost_at_start: clock::thread_time(),
            before: Figures::default(),
            missing: BTreeSet::new(),
            policies: Vec::new(),
            takeovers: 0,
        }
    }

    /// Makes the changes that were asked for, unless the kernel has taken the machine back. Another policy takes the machine over
    /// anew, by `begin`: while it is loaded, the kernel's own scheduler has it. `last` sees what was scheduled until then, and how
    /// often the machine was taken over before.
    ///
    /// # Errors
    /// The machine cannot be taken over again.
    pub(crate) fn obey(
        &mut self,
        mut scheduling: Box<dyn Turn>,
        ended: Option<&Ended>,
        begin: impl Fn(&Plan, Learnt) -> Result<Box<dyn Turn>, Error>,
        mut last: impl FnMut(&mut dyn Turn, usize),
    ) -> Result<Box<dyn Turn>, Error> {
        for asked in self.monitor.as_ref().map(Monitor::asked).unwrap_or_default() {
            if let Some(ended) = ended {
                asked.answer(Err(ended.to_string()));
                continue;
            }
            let Change::Policy(name) = &asked.change else {
                self.pins.lock().asked.push_back(asked);
                continue;
            };
            let policy = match live_policy(name, &self.plan.machine) {
                Ok(policy) => policy,
                Err(refusal) => {
                    asked.answer(Err(refusal));
                    continue;
                }
            };
            let path = if policy.description().in_kernel.is_some() { self.path } else { Path::Process };
            let changed = Plan { policy, path, ..self.plan.clone() };
            let learnt = scheduling.learnt();
            self.before = self.before.and(&scheduling.figures());
            self.missing.extend(scheduling.missing());
            last(&mut *scheduling, self.takeovers);
            drop(scheduling);
            self.takeovers += 1;
            match begin(&changed, learnt.clone()) {
                Ok(begun) => {
                    self.policies.push((clock::clock().since(self.began), changed.policy.name().to_owned()));
                    (scheduling, self.plan) = (begun, changed);
                    asked.answer(Ok(()));
                }
                Err(error) => {
                    // First: if the policy before cannot take it over either, this is the end.
                    asked.answer(Err(error.to_string()));
                    scheduling = begin(&self.plan, learnt)?;
                }
            }
        }
        Ok(scheduling)
    }

    /// How often the machine was taken over anew.
    pub(crate) fn takeovers(&self) -> usize {
        self.takeovers
    }

    /// What has been done, under all policies, and what could not be told.
    pub(crate) fn account(&self, scheduling: &dyn Turn) -> Account {
        let figures = self.before.and(&scheduling.figures());
        let cost = clock::thread_time().since(self.cost_at_start);
        Account {
            figures: Figures { cost, ..figures },
            policies: self.policies.clone(),
            missing: all_missing(&self.missing, scheduling.missing()),
        }
    }

    /// Says what there is, if it is time for it.
    pub(crate) fn tell(&mut self, scheduling: &mut dyn Turn, account: &Account) {
        let now = clock::clock();
        let Some(monitor) = self.monitor.as_ref().filter(|monitor| monitor.due(now)) else { return };
        let mut threads = scheduling.threads();
        threads.sort_unstable_by_key(|thread| thread.tid);
        let pinned = self.pins.lock().pinned.clone();
        for thread in &mut threads {
            thread.pinned = pinned.get(&thread.tid).cloned().unwrap_or_default();
        }
        let Plan { machine, cpus, policy, .. } = &self.plan;
        let core = |(core, cpu): (&evenkeel_model::Core, &u16)| CoreNow {
            cpu: *cpu,
            core_type: core.core_type.0,
            thread: threads
                .iter()
                .find(|thread| thread.cpu == *cpu && thread.state == State::Running)
                .map(|thread| thread.tid),
        };
        let snapshot = Snapshot {
            host: "scx".into(),
            pid: std::process::id(),
            policy: policy.name().to_owned(),
            elapsed: now.since(self.began),
            cost: account.figures.cost,
            core_types: machine.core_types.iter().map(|kind| kind.name.clone()).collect(),
            cores: machine.cores.iter().zip(cpus).map(core).collect(),
            threads,
            missing: scheduling.missing(),
        };
        monitor.publish(now, snapshot);
    }
}

/// What could not be told under earlier policies and cannot be under this one, each thing once.
fn all_missing(before: &BTreeSet<String>, now: Vec<String>) -> Option<String> {
    let mut all = before.clone();
    all.extend(now);
    all.into_iter().reduce(|all, more| format!("{all} {more}"))
}

#[cfg(test)]
mod tests {
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use evenkeel_linux::monitor::Watcher;

    use super::*;
    use crate::moments::tests::Ends;

    /// Asks this process for another policy. Returns why it is refused.
    fn ask() -> JoinHandle<String> {
        thread::spawn(|| {
            let mut watcher = Watcher::open(std::process::id()).unwrap();
            watcher.change(Change::Policy("gts".into())).unwrap_err().to_string()
        })
    }

    #[test]
    fn a_policy_that_cannot_take_over_is_refused_before_anything_else_fails() {
        let mut watched = Watched::new(Plan::of_a_test(false), SharedPins::default());
        let mut obey = |ended: Option<&Ended>, asks: &JoinHandle<String>| {
            while !asks.is_finished() {
                watched.obey(Box::new(Ends), ended, |_, _| Err(Error::OldSchedExt), |_, _| {})?;
                thread::sleep(Duration::from_millis(1));
            }
            Ok::<_, Error>(watched.takeovers())
        };
        // The kernel has taken the machine back: it is not taken over again.
        let ended = Ended { reason: "runnable task stall".into(), message: "waited for 5 s".into() };
        let asks = ask();
        assert_eq!(obey(Some(&ended), &asks).unwrap(), 0);
        assert_eq!(asks.join().unwrap(), "the kernel took the machine back: runnable task stall: waited for 5 s");
        // Neither the next policy can take it over, nor the one before.
        let asks = ask();
        assert!(matches!(obey(None, &asks), Err(Error::OldSchedExt)));
        drop(watched);
        assert_eq!(asks.join().unwrap(), Error::OldSchedExt.to_string());
    }

    /// Of two policies one may lack more than the other.
    #[test]
    fn what_two_policies_lack_is_said_once() {
        let lacks = |what: &[&str]| what.iter().map(|what| (*what).to_owned()).collect::<Vec<_>>();
        let before: BTreeSet<String> = lacks(&["Late.", "No counters."]).into_iter().collect();
        assert_eq!(all_missing(&before, lacks(&["No counters."])).as_deref(), Some("Late. No counters."));
        assert_eq!(all_missing(&BTreeSet::new(), lacks(&[])), None);
    }
}

//! What those see that watch a program being followed, and what they change: which policy decides, and where threads may be.

use std::collections::BTreeMap;
use std::io;

use evenkeel_model::{CoreId, CoreSet, Machine, Ns};
use evenkeel_sched::{Class, ThreadKind};
use evenkeel_topology::list;

use super::counters::Perf;
use super::driver::{Driver, Newcomer};
use super::follow::{Follow, Known, Plan, barred};
use super::live_policy;
use super::service::kind;
use crate::clock::thread_time;
use crate::event::Tid;
use crate::monitor::{Change, CoreNow, Monitor, Snapshot, State, ThreadNow};
use crate::pins;
use crate::sample::{Sample, ThreadState, Turn};

/// What is known for those that watch.
pub(super) struct Watched {
    /// None where this process may not open sockets: then it cannot be watched, and does the rest all the same.
    monitor: Option<Monitor>,
    /// The process that is followed.
    process: Tid,
    policy: String,
    machine: Machine,
    cpus: Vec<u16>,
    pins: BTreeMap<Tid, CoreSet>,
}

impl Watched {
    pub fn new(process: Tid, plan: &Plan) -> Self {
        Self {
            monitor: Monitor::open().ok(),
            process,
            policy: plan.policy.name().to_owned(),
            machine: plan.machine.clone(),
            cpus: plan.cpus.clone(),
            pins: BTreeMap::new(),
        }
    }

    /// Whether a thread is kept to some CPUs.
    pub fn pinned(&self, tid: Tid) -> bool {
        self.pins.contains_key(&tid)
    }

    /// A thread is where its program wants it, or has gone.
    pub fn unpinned(&mut self, tid: Tid) {
        self.pins.remove(&tid);
    }
}

impl Follow {
    /// Ends the pins of threads that have left them: without eBPF nothing else tells that a program has set masks.
    ///
    /// # Errors
    /// The guard has gone.
    pub(super) fn end_pins(&mut self, now: Ns) -> io::Result<()> {
        let left = |(tid, cores): (&Tid, &CoreSet)| self.affinity.left(*tid, *cores).then_some(*tid);
        let left: Vec<Tid> = self.watched.pins.iter().filter_map(left).collect();
        for tid in left {
            let own = self.affinity.unbind(tid, &mut self.sampler)?;
            self.watched.unpinned(tid);
            self.driver.allow(now, tid, own);
            self.narrow.insert(tid, own);
        }
        Ok(())
    }

    /// Makes the changes that were asked for.
    ///
    /// # Errors
    /// The guard has gone.
    pub(super) fn obey_watchers(&mut self, now: Ns) -> io::Result<()> {
        let asked = self.watched.monitor.as_ref().map(Monitor::asked).unwrap_or_default();
        for asked in asked {
            let result = match &asked.change {
                Change::Policy(name) => self.change_policy(now, name)?,
                Change::Pin { tid, cpus } => self.pin(now, *tid, cpus)?,
            };
            asked.answer(result);
        }
        Ok(())
    }

    /// Says what there is, if it is time for it.
    pub(super) fn tell_watchers(&mut self, now: Ns) {
        if !self.watched.monitor.as_ref().is_some_and(|monitor| monitor.due(now)) {
            return;
        }
        let snapshot = self.snapshot(now);
        if let Some(monitor) = &self.watched.monitor {
            monitor.publish(now, snapshot);
        }
    }

    /// Another policy decides from now on. What the one before had bound is as its program wants it, and stays where it is
    /// until the new one moves it.
    fn change_policy(&mut self, now: Ns, name: &str) -> io::Result<Result<(), String>> {
        let setup = match live_policy(name, &self.watched.machine) {
            Ok(setup) => setup,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let Watched { machine, cpus, process, .. } = &self.watched;
        let mut driver = Driver::new(machine.clone(), cpus, &setup, now);
        if let Some(why) = barred(*process).filter(|_| driver.steers()) {
            return Ok(Err(format!("nothing could be moved: {why}")));
        }
        self.affinity.release(&mut self.sampler);
        for sample in &self.samples {
            // A thread that the last step has found gone is not taken over.
            if let Some(known) = self.known.get(&sample.tid) {
                let pinned = self.watched.pins.get(&sample.tid).copied();
                let cores = pinned.unwrap_or_else(|| self.affinity.own(sample.tid));
                if cores != machine.all() {
                    self.narrow.insert(sample.tid, cores);
                }
                let about = Newcomer { kind: kind(known.name.as_str()), class: Class::fair(0), cores };
                driver.take_over(now, sample, about, &self.driver);
            }
        }
        self.sampler.set_culprit(driver.culprit());
        let counters = driver.counters(Box::new(Perf::of_this_machine()));
        self.uncounted.extend(std::mem::replace(&mut self.counters, counters).and_then(|before| before.missing()));
        self.driver = driver;
        self.watched.policy = setup.name().to_owned();
        self.summary.policies.push((now.since(self.began), setup.name().to_owned()));
        for tid in self.samples.iter().map(|sample| sample.tid).collect::<Vec<_>>() {
            self.bind(now, tid);
        }
        Ok(Ok(()))
    }

    /// Keeps a thread to some CPUs, or no longer.
    fn pin(&mut self, now: Ns, tid: Tid, cpus: &[u16]) -> io::Result<Result<(), String>> {
        if !self.known.contains_key(&tid) {
            return Ok(Err(format!("there is no thread {tid} in what is followed")));
        }
        if let Some(why) = barred(self.watched.process) {
            return Ok(Err(why));
        }
        let known = &self.watched.cpus;
        let cores = match cores(cpus, known) {
            Ok(cores) => cores,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let own = self.affinity.own(tid);
        if let Err(refusal) = pins::allowed(tid, &numbers(own, known), cpus) {
            return Ok(Err(refusal));
        }
        let pinned = cores.and(own);
        let own = self.affinity.unbind(tid, &mut self.sampler)?;
        // As if its program allowed it no others.
        let allowed = if pinned.is_empty() {
            self.watched.pins.remove(&tid);
            own
        } else {
            self.watched.pins.insert(tid, pinned);
            pinned
        };
        self.driver.allow(now, tid, allowed);
        self.bind(now, tid);
        Ok(Ok(()))
    }

    /// Binds a thread to the cores that are allowed and that the policy wants.
    fn bind(&mut self, now: Ns, tid: Tid) {
        if let (Some(known), Some(id)) = (self.known.get(&tid), self.driver.thread(tid)) {
            let (cores, process) = (self.driver.state().thread(id).allowed(), known.last.process);
            self.affinity.bind(tid, cores, process, self.processes.get(&process).copied().unwrap_or(now));
        }
    }

    fn snapshot(&self, now: Ns) -> Snapshot {
        let Watched { machine, cpus, .. } = &self.watched;
        let types = machine.core_types.len();
        let running = |sample: &Sample| match sample.inside {
            Some(inside) => matches!(inside.turn, Turn::On(_)),
            // Of several that could run on a CPU, one does; which is not seen.
            None => sample.state == ThreadState::Runnable,
        };
        let core = |(core, cpu): (&evenkeel_model::Core, &u16)| CoreNow {
            cpu: *cpu,
            core_type: core.core_type.0,
            thread: self.samples.iter().find(|sample| sample.cpu == *cpu && running(sample)).map(|sample| sample.tid),
        };
        let thread = |(sample, known): (&Sample, &Known)| ThreadNow {
            tid: sample.tid,
            process: sample.process,
            service: kind(known.name.as_str()) == ThreadKind::Service,
            state: match sample.state {
                _ if running(sample) => State::Running,
                ThreadState::Runnable => State::Ready,
                ThreadState::Futex | ThreadState::Blocked => State::Waiting,
            },
            cpu: sample.cpu,
            label: self.driver.judgement(sample.tid).label,
            speedup: self.driver.judgement(sample.tid).speedup,
            run: sample.run[..types].to_vec(),
            delay: sample.delay,
            blame: sample.inside.map(|inside| inside.blame),
            pinned: self.watched.pins.get(&sample.tid).map_or_else(Vec::new, |cores| numbers(*cores, cpus)),
        };
        let mut threads: Vec<ThreadNow> = self
            .samples
            .iter()
            .filter_map(|sample| self.known.get(&sample.tid).map(|known| (sample, known)))
            .map(thread)
            .collect();
        threads.sort_unstable_by_key(|thread| thread.tid);
        Snapshot {
            host: "run".into(),
            pid: std::process::id(),
            policy: self.watched.policy.clone(),
            elapsed: now.since(self.began),
            cost: thread_time().since(self.cost_at_start),
            core_types: machine.core_types.iter().map(|kind| kind.name.clone()).collect(),
            cores: machine.cores.iter().zip(cpus).map(core).collect(),
            threads,
            missing: self.missing().into_iter().flatten().collect(),
        }
    }
}

/// The CPUs that some cores are.
fn numbers(cores: CoreSet, cpus: &[u16]) -> Vec<u16> {
    cores.iter().map(|core| cpus[core.index()]).collect()
}

/// The cores that some CPUs are.
fn cores(cpus: &[u16], known: &[u16]) -> Result<CoreSet, String> {
    let core = |cpu: &u16| {
        let place = known.iter().position(|known| known == cpu);
        place.map(|core| CoreId(core as u16)).ok_or_else(|| {
            let known = list::text(known);
            format!("there is no CPU {cpu} among those that are scheduled: expected some of {known}")
        })
    };
    cpus.iter().map(core).collect()
}

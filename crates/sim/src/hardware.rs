//! What time does to the cores: work done, overhead sat out, energy used, frequencies changed.

use evenkeel_model::{ClusterId, CoreId, CoreTypeId, Hz, Instructions, Ns, ThreadId, Watts};
use evenkeel_sched::Span;
use evenkeel_workload::program::Memory;

use crate::engine::Engine;
use crate::observer::{Event, Observer};
use crate::pmu;
use crate::task::{Place, SPIN, Task};

/// Mean time between two bursts of background work on a core, and their longest duration (assumed: kernel threads and
/// interrupts of a quiet Linux machine).
const NOISE_INTERVAL: Ns = Ns::from_ms(10);
pub(crate) const NOISE_BURST: Ns = Ns::from_us(50);

/// Where the tables of rates and counts have what a thread does now: first all phases with near memory, then with that of
/// another node, the reference code (for [`SPIN`]) last in each.
fn row(phases: usize, clusters: usize, task: &Task, cluster: usize) -> usize {
    let phase = if task.phase == SPIN { phases } else { task.phase as usize };
    (usize::from(task.remote) * (phases + 1) + phase) * clusters + cluster
}

impl<O: Observer + ?Sized> Engine<'_, O> {
    /// Accounts for the time on a core since the last time, and reports it to the scheduler.
    pub(crate) fn settle(&mut self, core: CoreId) {
        let cluster = self.machine.cores[core.index()].cluster.index();
        let c = &mut self.cores[core.index()];
        let elapsed = self.now.since(c.since);
        c.since = self.now;
        if elapsed == Ns::ZERO {
            return;
        }
        let Some(thread) = c.current else {
            c.idle += elapsed;
            c.pending.2 += elapsed;
            return;
        };
        let task = &mut self.tasks[thread.index()];
        let overhead = c.stall.min(elapsed);
        c.stall -= overhead;
        c.overhead += overhead;
        c.busy += elapsed;
        let ran = elapsed - overhead;
        let spin = task.phase == SPIN;
        let at = row(self.code.behaviours.len(), self.opps.len(), task, cluster);
        let reference = self.rates[self.code.behaviours.len() * self.opps.len() + cluster];
        let rate = if spin { 1.0 } else { self.rates[at] };
        let done = if self.now >= c.done_at { task.remaining } else { (ran.0 as f64 * rate) as u64 };
        let done = done.min(task.remaining);
        task.remaining -= done;
        task.work += done;
        task.ops = if done > 0 { 0 } else { task.ops };
        let retired = if spin { (done as f64 * reference) as u64 } else { done };
        task.instructions += Instructions(retired);
        if let Some(score) = &mut self.score {
            let speedup = if spin { 1.0 } else { self.speedups[task.phase as usize] };
            score.on_smallest[thread.index()] += elapsed.0 as f64 * speedup;
        }
        let on = self.machine.cores[core.index()].core_type.index();
        task.on_type[on] += elapsed;
        c.pending.0 += retired + (overhead.0 as f64 * reference) as u64;
        c.pending.1 += elapsed;
        let mut span = Span { time: elapsed, instructions: Some(Instructions(retired)), ..Span::default() };
        if !self.counts.is_empty() && retired > 0 {
            let counters = pmu::read(&self.counts[at], retired, &mut task.noise);
            span.counters = Some(counters);
            if let Some(read) = self.read.get_mut(thread.index()) {
                *read += &counters;
            }
        }
        if self.options.oracle && !spin {
            span.speedup = Some(self.speedups[task.phase as usize]);
        }
        self.sched.ran(self.now, thread, core, &span);
    }

    /// Tells the scheduler what is ahead of every runnable thread, if it wants to know.
    pub(crate) fn foretell(&mut self) {
        let Some(mut foresight) = self.foresight.take() else { return };
        for core in self.machine.all().iter() {
            self.settle(core);
        }
        let biggest = self.machine.clusters.iter().position(|cluster| cluster.core_type == CoreTypeId(0)).unwrap_or(0);
        for (thread, task) in (0..).map(ThreadId).zip(&self.tasks) {
            if matches!(task.place, Place::Ready | Place::On(_)) {
                let rate = match task.phase {
                    SPIN => 1.0,
                    phase => self.rates[phase as usize * self.opps.len() + biggest],
                };
                let computes = Ns((task.remaining as f64 / rate) as u64);
                // A program that has begun again keeps others company: nobody waits for its end.
                let wanted = self.turnaround[task.program].is_none();
                let future = wanted.then(|| foresight.of(thread, (task.work, task.ops), computes));
                self.sched.foretell(thread, future);
            }
        }
        self.foresight = Some(foresight);
    }

    /// When the current computation of a core will be complete.
    pub(crate) fn set_completion(&mut self, core: CoreId) {
        let cluster = self.machine.cores[core.index()].cluster.index();
        let c = &mut self.cores[core.index()];
        let Some(thread) = c.current else { return };
        let task = &self.tasks[thread.index()];
        let rate = match task.phase {
            SPIN => 1.0,
            _ => self.rates[row(self.code.behaviours.len(), self.opps.len(), task, cluster)],
        };
        let needs = libm::ceil(task.remaining as f64 / rate) as u64;
        c.done_at = self.now + c.stall + Ns(needs);
        self.set_due(core);
    }

    pub(crate) fn set_due(&mut self, core: CoreId) {
        let c = &self.cores[core.index()];
        self.due.set(core, c.done_at.min(c.tick_at));
    }

    /// Overhead hits a core: noise, a change of frequency. Without effect on an idle core.
    pub(crate) fn delay_core(&mut self, core: CoreId, overhead: Ns) {
        self.settle(core);
        if self.cores[core.index()].current.is_some() {
            self.cores[core.index()].stall += overhead;
            self.set_completion(core);
        }
    }

    pub(crate) fn set_frequency(&mut self, cluster: ClusterId, frequency: Hz) {
        let kind = &self.machine.core_types[self.machine.clusters[cluster.index()].core_type.index()];
        let opp = kind.opp_at(frequency);
        if opp == self.opps[cluster.index()] {
            return;
        }
        for core in self.machine.clusters[cluster.index()].cores.iter() {
            self.settle(core);
            self.cores[core.index()].settle_energy(kind, self.opps[cluster.index()]);
        }
        self.opps[cluster.index()] = opp;
        self.set_rates();
        for core in self.machine.clusters[cluster.index()].cores.iter() {
            self.delay_core(core, self.machine.costs.dvfs_transition);
        }
        if self.watched {
            self.observer.observe(self.now, &Event::Frequency { cluster, frequency: opp.frequency });
        }
    }

    /// Fills the tables of rates and counts for the current operating points, in the order of [`row`].
    pub(crate) fn set_rates(&mut self) {
        self.rates.clear();
        self.counts.clear();
        let machine = self.machine;
        let counting = self.options.counters || self.sched.wants_counters();
        let reference = (&evenkeel_model::Behaviour::REFERENCE, &Memory::Local);
        let from_afar = if machine.nodes() > 1 { &[false, true][..] } else { &[false] };
        for remote in from_afar {
            for (behaviour, memory) in self.code.behaviours.iter().zip(&self.code.memory).chain([reference]) {
                let distance = match (memory, remote) {
                    (Memory::Interleaved, _) => machine.interleaved_memory(),
                    (Memory::Local, false) => 1.0,
                    (Memory::Local, true) => machine.costs.remote_memory,
                };
                let code = behaviour.at_distance(distance);
                for (cluster, opp) in machine.clusters.iter().zip(&self.opps) {
                    self.rates.push(machine.rate(cluster.core_type, opp.frequency, &code));
                    if counting {
                        let (on, at) = (cluster.core_type, opp.frequency);
                        self.counts.push(pmu::per_instruction(machine, on, at, behaviour, distance));
                    }
                }
            }
        }
    }

    /// Tells an observer the power of the cluster of a core: what runs there now.
    pub(crate) fn observe_power(&mut self, core: CoreId) {
        if !self.watched {
            return;
        }
        let cluster = self.machine.cores[core.index()].cluster;
        let opp = self.opps[cluster.index()];
        let kind = self.machine.core_type(core);
        let mut watts = 0.0;
        for core in self.machine.clusters[cluster.index()].cores.iter() {
            let Some(thread) = self.cores[core.index()].current else {
                watts += opp.voltage.0 * kind.leakage * kind.idle_share;
                continue;
            };
            let task = &self.tasks[thread.index()];
            let rate = self.rates[row(self.code.behaviours.len(), self.opps.len(), task, cluster.index())];
            watts += kind.power(opp, rate).0;
        }
        if self.powers[cluster.index()] != Watts(watts) {
            self.powers[cluster.index()] = Watts(watts);
            self.observer.observe(self.now, &Event::Power { cluster, power: Watts(watts) });
        }
    }

    pub(crate) fn next_noise(&mut self) -> Ns {
        let draw = -libm::log(1.0 - self.noise.f64());
        self.now + Ns((NOISE_INTERVAL.0 as f64 * draw) as u64 + 1)
    }

    pub(crate) fn close_books(&mut self) {
        for core in self.machine.all().iter() {
            self.settle(core);
            let kind = self.machine.core_type(core);
            let cluster = self.machine.cores[core.index()].cluster;
            self.cores[core.index()].settle_energy(kind, self.opps[cluster.index()]);
        }
        for queue in &mut self.objects.queues {
            let items = queue.items;
            queue.change(self.now, items);
        }
    }
}

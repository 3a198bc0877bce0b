//! What time does to the cores: work done, overhead sat out, energy used, frequencies changed.

use evenkeel_model::{ClusterId, CoreId, CoreSet, CoreTypeId, Hz, Instructions, Ns, ThreadId, Watts};
use evenkeel_sched::Span;
use evenkeel_workload::program::Memory;

use crate::threads::caches::Use;
use crate::threads::engine::Engine;
use crate::threads::memory::Want;
use crate::threads::observer::Event;
use crate::threads::pmu;
use crate::threads::speeds::Cell;
use crate::threads::thread::{RunState, SPIN};

/// Mean time between two bursts of background work on a core, and their longest duration (assumed: kernel threads and
/// interrupts of a quiet Linux machine).
const NOISE_INTERVAL: Ns = Ns::from_ms(10);
pub(crate) const NOISE_BURST: Ns = Ns::from_us(50);

impl Engine<'_> {
    /// Accounts for the time on a core since the last time, and reports it to the scheduler.
    pub(crate) fn settle(&mut self, core: CoreId) {
        let cluster = self.machine.cores[core.index()].cluster;
        let c = &mut self.cores[core.index()];
        let elapsed = self.now.since(c.since);
        c.since = self.now;
        if elapsed == Ns::ZERO {
            return;
        }
        let Some(thread) = c.current else {
            c.idle += elapsed;
            match self.running[core.index()] {
                0 => c.pending.2 += elapsed,
                _ => c.pending.1 += elapsed,
            }
            return;
        };
        let t = &mut self.threads[thread.index()];
        let overhead = c.stall.min(elapsed);
        c.stall -= overhead;
        c.owed = c.owed.min(c.stall);
        c.overhead += overhead;
        c.busy += elapsed;
        let ran = elapsed - overhead;
        t.cold &= ran == Ns::ZERO;
        let spin = t.phase == SPIN;
        let at = self.speeds.cell(t, cluster, self.running[core.index()]);
        let reference = self.speeds.reference(cluster, self.running[core.index()]);
        let stall = self.speeds.stall(at);
        let alone = self.caches.rate(core, self.speeds.rate(at), stall);
        let rate = if spin { 1.0 } else { self.ways.rate(core, alone) };
        let whole = t.part + ran.0 as f64 * rate;
        let done = if self.now >= c.done_at { t.remaining } else { (whole as u64).min(t.remaining) };
        t.remaining -= done;
        t.part = if t.remaining > 0 { whole - done as f64 } else { 0.0 };
        if t.polls.is_none() {
            t.work += done;
            t.ops = if done > 0 { 0 } else { t.ops };
        }
        let retired = if spin { (done as f64 * reference) as u64 } else { done };
        t.instructions += Instructions(retired);
        if let Some(score) = &mut self.score {
            let speedup = if spin { 1.0 } else { self.speedups[t.phase as usize] };
            score.on_smallest[thread.index()] += elapsed.0 as f64 * speedup;
        }
        let on = self.machine.cores[core.index()].core_type.index();
        t.on_type[on] += elapsed;
        c.pending.0 += retired + (overhead.0 as f64 * reference) as u64;
        c.pending.1 += elapsed;
        let mut span = Span { time: elapsed, instructions: Some(Instructions(retired)), ..Span::default() };
        if retired > 0
            && let Some(counts) = self.speeds.counts(at)
        {
            let counters = match self.ways.delay(core) + self.caches.delay(core, stall) {
                0.0 => pmu::read(counts, retired, &mut t.noise),
                delay => {
                    let cycles = delay * self.opps[cluster.index()].frequency.per_ns();
                    pmu::read(&pmu::waiting(counts, cycles, self.caches.misses(core)), retired, &mut t.noise)
                }
            };
            span.counters = Some(counters);
            if let Some(read) = self.read.get_mut(thread.index()) {
                *read += &counters;
            }
        }
        if self.options.oracle && !spin {
            span.speedup = Some(self.speedups[t.phase as usize]);
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
        for (thread, t) in (0..).map(ThreadId).zip(&self.threads) {
            if matches!(t.state, RunState::Ready | RunState::On(_)) {
                let rate = match t.phase {
                    SPIN => 1.0,
                    phase => self.speeds.near(phase, biggest),
                };
                let computes = Ns((t.remaining as f64 / rate) as u64);
                // A program that has begun again only keeps cores busy: the run does not wait for its end.
                let wanted = self.turnaround[t.program].is_none();
                let future = wanted.then(|| foresight.of(thread, (t.work, t.ops), computes));
                self.sched.foretell(thread, future);
            }
        }
        self.foresight = Some(foresight);
    }

    /// A core does something else from now on: when that will be complete, and what becomes of others that use the same memory.
    pub(crate) fn set_completion(&mut self, core: CoreId) {
        self.share_hardware(core);
        self.complete(core);
    }

    /// How many hardware threads share the pipelines of a core.
    fn threads_of(&self, core: CoreId) -> usize {
        self.siblings.get(core.index()).map_or(1, CoreSet::len)
    }

    /// What runs on a core has changed: what becomes of others.
    pub(crate) fn share_hardware(&mut self, core: CoreId) {
        self.share_pipelines(core);
        self.share_cache(core);
        self.share_memory(core);
    }

    /// How fast a core runs what its thread does, in instructions a nanosecond, beside all that runs on others.
    fn rate(&self, core: CoreId, at: Cell) -> f64 {
        self.ways.rate(core, self.caches.rate(core, self.speeds.rate(at), self.speeds.stall(at)))
    }

    /// What becomes of the hardware threads that share the core's pipelines.
    fn share_pipelines(&mut self, core: CoreId) {
        let Some(threads) = self.siblings.get(core.index()).copied() else { return };
        let running = threads.iter().filter(|thread| self.cores[thread.index()].current.is_some()).count() as u8;
        for thread in
            threads.iter().filter(|thread| self.running[thread.index()] != running).collect::<CoreSet>().iter()
        {
            self.settle(thread);
            self.running[thread.index()] = running;
            if thread != core {
                self.share_memory(thread);
                self.complete(thread);
            }
        }
    }

    /// What a core's thread uses of its cache has changed: what becomes of those with which it shares that.
    fn share_cache(&mut self, core: CoreId) {
        if !self.caches.limited() {
            return;
        }
        let own = self.machine.cores[core.index()].cluster;
        for (other, misses) in self.caches.using(core, self.used(core)) {
            self.settle(other);
            self.caches.share(other, misses);
            if other != core {
                self.share_memory(other);
                self.complete(other);
            }
            // Its own is observed once it is known what it does.
            let cluster = self.machine.cores[other.index()].cluster;
            if cluster != own {
                self.observe_power_of(cluster);
            }
        }
    }

    fn used(&self, core: CoreId) -> Option<Use> {
        let t = &self.threads[self.cores[core.index()].current?.index()];
        let kb = self.code.behaviours.get(t.phase as usize)?.reuse_kb;
        (kb > 0.0).then_some(Use { program: t.program, kb })
    }

    /// What a core's thread wants of memory has changed.
    fn share_memory(&mut self, core: CoreId) {
        if !self.ways.limited() || !self.ways.want(core, self.wanted(core)) {
            return;
        }
        for other in self.machine.all().iter() {
            self.settle(other);
        }
        self.ways.share();
        for other in self.machine.all().iter().filter(|other| *other != core) {
            self.complete(other);
        }
        // Its own is observed once it is known what it does.
        let own = self.machine.cores[core.index()].cluster;
        let clusters = (0..self.opps.len() as u16).map(ClusterId);
        clusters.filter(|cluster| *cluster != own).for_each(|cluster| self.observe_power_of(cluster));
    }

    fn wanted(&self, core: CoreId) -> Option<Want> {
        let t = &self.threads[self.cores[core.index()].current?.index()];
        let bytes = self.code.behaviours.get(t.phase as usize)?.bytes_missing(self.caches.misses(core));
        let cluster = self.machine.cores[core.index()].cluster;
        let at = self.speeds.cell(t, cluster, self.running[core.index()]);
        let alone = 1.0 / self.caches.rate(core, self.speeds.rate(at), self.speeds.stall(at));
        let home = t.home.filter(|_| self.workload.programs[t.program].memory == Memory::Local);
        (bytes > 0.0).then_some(Want { bytes, alone, home })
    }

    /// When the current computation of a core will be complete.
    fn complete(&mut self, core: CoreId) {
        let cluster = self.machine.cores[core.index()].cluster;
        let c = &mut self.cores[core.index()];
        let Some(thread) = c.current else { return };
        let t = &mut self.threads[thread.index()];
        let owes = std::mem::take(&mut t.owes);
        c.owed += owes;
        c.stall += owes;
        let t = &self.threads[thread.index()];
        let rate = match t.phase {
            SPIN => 1.0,
            _ => self.rate(core, self.speeds.cell(t, cluster, self.running[core.index()])),
        };
        let needs = libm::ceil((t.remaining as f64 - t.part) / rate) as u64;
        let c = &mut self.cores[core.index()];
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
            let threads = self.threads_of(core);
            self.cores[core.index()].settle_energy(kind, self.opps[cluster.index()], threads);
        }
        self.opps[cluster.index()] = opp;
        self.speeds.set(self.machine, &self.code, cluster, opp);
        for core in self.machine.clusters[cluster.index()].cores.iter() {
            self.delay_core(core, self.machine.costs.dvfs_transition);
        }
        if self.watched {
            self.observer.observe(self.now, &Event::Frequency { cluster, frequency: opp.frequency });
            self.observe_power_of(cluster);
        }
    }

    /// Tells an observer the power of the cluster of a core: what runs there now.
    pub(crate) fn observe_power(&mut self, core: CoreId) {
        self.observe_power_of(self.machine.cores[core.index()].cluster);
    }

    /// Tells an observer the power of a cluster.
    pub(crate) fn observe_power_of(&mut self, cluster: ClusterId) {
        if !self.watched {
            return;
        }
        let opp = self.opps[cluster.index()];
        let kind = &self.machine.core_types[self.machine.clusters[cluster.index()].core_type.index()];
        let mut watts = 0.0;
        for core in self.machine.clusters[cluster.index()].cores.iter() {
            let leaked = opp.voltage.0 * kind.leakage / self.threads_of(core) as f64;
            let Some(thread) = self.cores[core.index()].current else {
                watts += if self.running[core.index()] == 0 { leaked * kind.idle_share } else { leaked };
                continue;
            };
            let t = &self.threads[thread.index()];
            let at = self.speeds.cell(t, cluster, self.running[core.index()]);
            let rate = self.rate(core, at);
            watts += kind.activity * rate * opp.voltage.0 * opp.voltage.0 + leaked;
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
            let threads = self.threads_of(core);
            self.cores[core.index()].settle_energy(kind, self.opps[cluster.index()], threads);
        }
        for queue in &mut self.objects.queues {
            let items = queue.items;
            queue.change(self.now, items);
        }
    }
}

//! The life of threads: they start, become ready, wait, give way and exit, and programs end with them. Each step is
//! reported to the scheduler and to the observer.

use evenkeel_model::{Clamp, Class, ClusterId, CoreId, CoreSet, Ns, ProgramId, ThreadId};
use evenkeel_sched::{NewThread, Wait, Why, protocol};
use evenkeel_workload::program::Start;

use crate::threads::calendar::Entry;
use crate::threads::engine::Engine;
use crate::threads::mask::cores_of;
use crate::threads::observer::{Event, Stop};
use crate::threads::outcome::Ended;
use crate::threads::report;
use crate::threads::tasking::Runtime;
use crate::threads::thread::{On, RunState};

impl Engine<'_> {
    /// Starts a thread from its beginning.
    pub(crate) fn start(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        self.restore_params(thread);
        let t = &mut self.threads[thread.index()];
        t.pc = self.code.threads[thread.index()].entry;
        t.home = None;
        if t.last_core.take().is_some() {
            // Its cores switch to another thread than the one that it was.
            self.cores.iter_mut().filter(|core| core.last == Some(thread)).for_each(|core| core.last = None);
        }
        (t.taken, t.cold) = (false, false);
        t.owes = Ns::ZERO;
        t.polls = None;
        t.started = self.now;
        t.exited = None;
        t.woken = None;
        t.on_type_before.iter_mut().zip(&mut t.on_type).for_each(|(before, on)| *before += std::mem::take(on));
        t.waited_before += std::mem::take(&mut t.waited);
        t.blamed_before += self.sched.state().thread(thread).blame;
        self.write_down(thread, by, Ns::ZERO);
        protocol::ready(self, thread, Why::New { by });
    }

    /// What a thread set when it was there before is over: it starts with the parameters that it started with first.
    fn restore_params(&mut self, thread: ThreadId) {
        let params = &self.code.threads[thread.index()].sched;
        let (class, cores, clamp) = (params.class, cores_of(self.machine, params), params.clamp);
        let t = &mut self.threads[thread.index()];
        (t.own, t.bound) = (cores, None);
        self.sched.set_params(self.now, thread, class, cores, clamp);
    }

    /// How long after its program begins a thread does, unless another one spawns it.
    fn start_of(&mut self, index: usize) -> Option<Ns> {
        match self.code.threads[index].start {
            Start::At(after) => Some(after),
            Start::About(mean, spread) => Some(Ns(self.threads[index].vary(mean.0, spread))),
            Start::Spawned => None,
        }
    }

    /// Starts a thread that another one spawns.
    pub(crate) fn spawn(&mut self, thread: ThreadId, by: ThreadId) {
        self.alive += 1;
        let code = &self.code.threads[thread.index()];
        self.unfinished[code.program] += usize::from(code.counts_for_the_end());
        self.start(thread, Some(by));
    }

    /// A thread's own operation costs so much, unless its work was measured with that.
    pub(crate) fn charge(&mut self, thread: ThreadId, cost: Ns) {
        let t = &mut self.threads[thread.index()];
        if !self.workload.programs[t.program].measured {
            t.owes += cost;
        }
    }

    /// Ends a wait.
    pub(crate) fn wake(&mut self, thread: ThreadId, by: Option<ThreadId>) {
        if self.threads[thread.index()].polls.is_some() {
            return self.stop_polling(thread);
        }
        let t = &mut self.threads[thread.index()];
        t.woken = Some(self.now);
        let waited = self.now.since(t.since);
        if matches!(t.state, RunState::Blocked(On::Lock(_))) {
            t.waited_for_locks += waited;
        }
        if let Some(by) = by {
            self.charge(by, self.machine.costs.futex);
            self.sched.released(self.now, thread, Some(by), waited);
        }
        self.write_down(thread, by, waited);
        protocol::ready(self, thread, Why::Woken { by });
    }

    /// In a rehearsal, records that a thread woke up.
    fn write_down(&mut self, thread: ThreadId, by: Option<ThreadId>, waited: Ns) {
        if let Some(score) = &mut self.score {
            score.wake(&self.threads, thread, by, waited);
        }
    }

    /// Takes the running thread off its core to wait.
    pub(crate) fn block(&mut self, core: CoreId, thread: ThreadId, on: On) {
        let name = if self.watched { report::waits_for(self, on) } else { String::new() };
        self.stop(core, Stop::Blocked(&name));
        self.threads[thread.index()].state = RunState::Blocked(on);
        let wait = if on == On::Sleep { Wait::Sleep } else { Wait::Futex };
        if wait == Wait::Futex {
            self.charge(thread, self.machine.costs.futex);
        }
        self.sched.blocked(self.now, thread, wait);
        self.requests.vacated(core);
    }

    /// Takes the running thread off its core and sends it to sleep until a time.
    pub(crate) fn sleep_until(&mut self, core: CoreId, thread: ThreadId, until: Ns) {
        self.threads[thread.index()].sleep += 1;
        let sleep = self.threads[thread.index()].sleep;
        self.calendar.push(until, Entry::Wake(thread, sleep));
        self.block(core, thread, On::Sleep);
    }

    pub(crate) fn give_way(&mut self, core: CoreId, thread: ThreadId) {
        self.stop(core, Stop::Yielded);
        protocol::ready(self, thread, Why::Yielded);
        // sched_yield passes through the scheduler even if no other thread waits.
        self.cores[core.index()].last = None;
        self.requests.vacated(core);
    }

    /// The running thread is done.
    pub(crate) fn exit(&mut self, core: CoreId, thread: ThreadId) {
        self.stop(core, Stop::Exited);
        self.requests.vacated(core);
        self.remove(thread);
        if self.threads[thread.index()].respawns > 0 {
            self.threads[thread.index()].respawns -= 1;
            self.spawn(thread, thread);
        } else {
            self.wake_joiners(thread);
        }
        let program = self.threads[thread.index()].program;
        let counts = self.code.threads[thread.index()].counts_for_the_end();
        self.unfinished[program] -= usize::from(counts);
        if counts && self.unfinished[program] == 0 {
            self.turnaround[program].get_or_insert(self.now);
            let all_have_ended = self.workload.duration.is_none() && self.turnaround.iter().all(Option::is_some);
            if self.workload.rerun && !all_have_ended {
                self.end_program(program);
                self.begin_again(program);
            } else if self.workload.rerun {
                (0..self.unfinished.len()).for_each(|program| self.end_program(program));
                self.unfinished.fill(0);
            } else if self.workload.duration.is_none() {
                self.end_program(program);
            }
        }
        self.end_run();
    }

    /// A thread has exited as often as it was spawned.
    fn wake_joiners(&mut self, thread: ThreadId) {
        let mut joiners = std::mem::take(&mut self.threads[thread.index()].joiners);
        for joiner in joiners.drain(..) {
            self.wake(joiner, Some(thread));
        }
        self.threads[thread.index()].joiners = joiners;
    }

    /// Starts the threads of a program that has ended as they were started first.
    fn begin_again(&mut self, program: usize) {
        let extent = &self.code.extents[program];
        self.objects.reset(self.now, &self.code, extent);
        for number in extent.runtimes.clone() {
            self.runtimes[number] = Runtime::new(&self.code, &self.code.runtimes[number], self.options.seed);
        }
        for index in 0..self.threads.len() {
            let (code, thread) = (&self.code.threads[index], ThreadId(index as u32));
            if code.program != program {
                continue;
            }
            let t = &mut self.threads[index];
            (t.remaining, t.part) = (0, 0.0);
            while !t.outer.is_empty() {
                t.end_item();
            }
            t.respawns = 0;
            t.joiners.clear();
            t.exited = None;
            let (counts, sleep) = (code.counts_for_the_end(), t.sleep);
            let Some(after) = self.start_of(index) else { continue };
            self.alive += 1;
            self.unfinished[program] += usize::from(counts);
            if after == Ns::ZERO {
                self.start(thread, None);
            } else {
                self.calendar.push(self.now + after, Entry::Wake(thread, sleep));
            }
        }
    }

    pub(crate) fn remove(&mut self, thread: ThreadId) {
        let t = &mut self.threads[thread.index()];
        t.waited = t.waited_until(self.now);
        t.state = RunState::Absent;
        t.exited = Some(self.now);
        // What it slept for is over: should it begin again, that does not wake it.
        t.sleep += 1;
        self.alive -= 1;
        self.sched.exited(self.now, thread);
    }

    /// The threads that end have ended: what is left of the program (endless and service threads, and those that were yet to start) ends
    /// with it.
    pub(crate) fn end_program(&mut self, program: usize) {
        for index in 0..self.threads.len() {
            let thread = ThreadId(index as u32);
            if self.threads[index].program != program {
                continue;
            }
            if self.threads[index].state == RunState::Absent {
                let t = &mut self.threads[index];
                if t.exited.is_none() && self.code.threads[index].start != Start::Spawned {
                    t.exited = Some(self.now);
                    t.sleep += 1;
                    self.alive -= 1;
                }
                continue;
            }
            if let RunState::On(core) = self.threads[index].state {
                self.stop(core, Stop::Exited);
                self.requests.vacated(core);
            } else if self.watched {
                self.observer.observe(self.now, &Event::Gone { thread });
            }
            self.remove(thread);
        }
    }

    /// The run is over when no thread is left, or, without a duration, none that will end.
    pub(crate) fn end_run(&mut self) {
        let waiting = self.workload.duration.is_none() && self.unfinished.iter().any(|threads| *threads > 0);
        if self.alive == 0 || self.workload.duration.is_none() && !waiting {
            self.ended = Some(Ended::Finished);
        }
    }

    pub(crate) fn set_params(&mut self, core: CoreId, thread: ThreadId, params: u32) {
        let params = &self.code.params[params as usize];
        let t = &self.threads[thread.index()];
        // A runtime of tasks has said where its workers run.
        let tasking = &self.workload.programs[t.program].tasking;
        let stays = params.cpus.is_none() && tasking.is_some();
        let on = if stays { &self.code.threads[thread.index()].sched } else { params };
        // So has a split loop, whose threads name no cores.
        let cores = t.bound.map_or_else(|| cores_of(self.machine, on), |bound| CoreSet::EMPTY.with(bound));
        self.give_params(core, thread, params.class, cores, params.clamp);
    }

    /// From now on a thread that runs on that core has these parameters.
    pub(crate) fn give_params(&mut self, core: CoreId, thread: ThreadId, class: Class, cores: CoreSet, clamp: Clamp) {
        self.settle(core);
        self.threads[thread.index()].own = cores;
        self.sched.set_params(self.now, thread, class, cores, clamp);
        protocol::collect(self);
    }

    /// Tells the scheduler of every thread and puts the first events into the calendar.
    pub(crate) fn introduce_threads(&mut self) {
        for index in 0..self.code.threads.len() {
            let thread = &self.code.threads[index];
            let (kind, class, clamp) = (thread.kind, thread.sched.class, thread.sched.clamp);
            let cores = cores_of(self.machine, &thread.sched);
            let program = ProgramId(thread.program as u32);
            // With noise, programs are started from a core that depends on the seed.
            let chance = if self.options.noise { self.options.seed.wrapping_add(thread.program as u64) } else { 0 };
            let on = CoreId((chance % self.machine.cores.len() as u64) as u16);
            let id = self.sched.create(&NewThread { program, kind, class, cores, on, clamp });
            self.threads[index].own = cores;
            if self.watched {
                let (of, program) = (program, self.workload.programs[thread.program].name.as_str());
                let event = Event::Created { thread: id, of, program, name: &thread.name };
                self.observer.observe(self.now, &event);
            }
            if let Some(after) = self.start_of(index) {
                self.calendar.push(after, Entry::Wake(id, 0));
            }
        }
        if self.watched {
            for cluster in 0..self.opps.len() {
                let event =
                    Event::Frequency { cluster: ClusterId(cluster as u16), frequency: self.opps[cluster].frequency };
                self.observer.observe(self.now, &event);
                self.observe_power_of(ClusterId(cluster as u16));
            }
        }
        if let Some(period) = self.sched.period() {
            self.calendar.push(period, Entry::Refresh);
        }
        if self.options.noise {
            for core in self.machine.all().iter() {
                let at = self.next_noise();
                self.calendar.push(at, Entry::Noise(core));
            }
        }
        if let Some(duration) = self.workload.duration {
            self.calendar.push(duration, Entry::End);
        }
    }
}

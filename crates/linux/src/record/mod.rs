//! From what the kernel did with the threads of a program to what the program itself did: a [`Recording`] that any
//! machine can play. Nothing here talks to a kernel.
//!
//! Kept is what the program decides: how much each thread computes between two blocking points, which threads it wakes and
//! waits for, how long it sleeps. Left out is what the scheduler decided: where a thread ran, how long it was ready
//! before it ran, when it was preempted. Work is instructions where a machine counts them; elsewhere it is CPU time, which
//! counts as what the biggest core would have needed.
//!
//! A recording always comes to its end, whatever events were lost or came late: a wake-up is written down before the
//! wait that it ends, so writing order is an order in which no thread is stuck. And since each waits for
//! its own wake-ups only, no other order can do worse. `lists.rs`, `results.rs` and `locks.rs` say why that holds for what threads take from queues, for
//! who waits for what comes of it, and for who takes a lock, too.

mod cpus;
mod links;
mod lists;
mod locks;
mod pools;
mod recorder;
mod results;
mod rounds;
pub mod speeds;
mod teams;
mod thread;
mod waits;
mod wakes;
mod work;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use evenkeel_model::{Machine, Ns};
use evenkeel_workload::program::Start;
use evenkeel_workload::recording::{Division, Recording, Step};

use crate::event::{Event, Off, Sharing, Tid, What};
use cpus::Cpus;
use links::Links;
pub use recorder::{BUFFER, Recorder};
use rounds::Rounds;
use teams::{Part, Teams};
use thread::{RunState, ThreadRecord};
use wakes::Wakes;
use work::{Moment, Unit};

/// So many events are put in order of time. CPUs report on their own, a few microseconds apart.
const WINDOW: usize = 1 << 16;

/// Turns events into a recording.
#[derive(Debug)]
pub struct RecordingBuilder {
    cpus: Cpus,
    wakes: Wakes,
    rounds: Rounds,
    links: Links,
    /// How many steps have been written down.
    written: u64,
    teams: Teams,
    /// What it costs a thread that its call is seen.
    call: Ns,
    /// Events that an earlier one may still follow.
    waiting: Vec<Event>,
    /// The time of the first event, and the latest one.
    began: Option<Ns>,
    now: Moment,
    threads: Vec<ThreadRecord>,
    /// The thread that has a number now: Linux gives numbers of threads that are gone to new ones.
    by_tid: BTreeMap<Tid, usize>,
    /// Names of threads that have not appeared.
    names: BTreeMap<Tid, String>,
    processes: u32,
}

impl RecordingBuilder {
    /// Builds the recording of a program that runs on the cores of `machine`, in the order in which Linux numbers the CPUs. Its
    /// capacities scale CPU time; what it charges for switches and moves is taken off, since the machine that plays the
    /// recording charges its own.
    pub fn new(machine: &Machine) -> Self {
        Self {
            cpus: Cpus::new(machine),
            wakes: Wakes::new(),
            rounds: Rounds::default(),
            links: Links::default(),
            written: 0,
            teams: Teams::default(),
            call: Ns::ZERO,
            waiting: Vec::new(),
            began: None,
            now: Moment::default(),
            threads: Vec::new(),
            by_tid: BTreeMap::new(),
            names: BTreeMap::new(),
            processes: 0,
        }
    }

    /// Says how much longer a call takes that is seen ([`What::Shares`]), which is taken off the work.
    pub fn calls_take(&mut self, longer: Ns) {
        self.call = longer;
    }

    /// Says that a thread was there before recording began; before the first event.
    pub fn alive(&mut self, tid: Tid) {
        let thread = self.appears(tid, Start::At(Ns::ZERO), None);
        self.threads[thread].state = RunState::Unseen;
    }

    /// Takes an event. Events may come late by some 65 thousand events; what comes later still is taken to have happened now.
    pub fn event(&mut self, event: Event) {
        self.waiting.push(event);
        if self.waiting.len() >= 2 * WINDOW {
            self.process(WINDOW);
        }
    }

    /// Says what a thread is called. The last name counts.
    pub fn name(&mut self, tid: Tid, name: &str) {
        match self.by_tid.get(&tid) {
            Some(&thread) => name.clone_into(&mut self.threads[thread].name),
            None => drop(self.names.insert(tid, name.to_owned())),
        }
    }

    /// The recording, which ends with the latest event. Command and machine are for the caller to fill in.
    pub fn finish(mut self) -> Recording {
        self.process(self.waiting.len());
        let (now, makespan) = (self.now, self.elapsed());
        (0..self.threads.len()).for_each(|thread| self.forget_early(thread));
        // A thread that has exited has left its CPU, also where the recording ends before an event says so.
        for thread in &mut self.threads {
            if thread.exited.is_none() {
                thread.settle(now, &self.cpus);
            }
            thread.push(None, thread.exited.unwrap_or(now.at), self.written);
        }
        self.rounds.finish(&mut self.threads, self.teams.barriers());
        pools::find(&mut self.threads, self.teams.count());
        let pools = pools::keep_shared(&mut self.threads);
        let items = lists::find(&mut self.threads, &self.links);
        locks::find(&mut self.threads);
        let divisions =
            pools.into_iter().filter_map(|(pool, threads)| Some((pool, self.teams.division(pool, threads)?)));
        let (unit, note) = Unit::of(self.threads.iter().map(|thread| &thread.total), self.cpus.types);
        let items = items.into_iter().map(|item| {
            let meter = unit.meter(&self.threads[item.by].total);
            item.finish(&meter)
        });
        Recording {
            makespan,
            wake: self.wakes.median(),
            counted: matches!(unit, Unit::Instructions { .. }),
            notes: note.into_iter().collect(),
            pools: divisions.collect(),
            items: items.collect(),
            threads: self.threads.into_iter().map(|thread| thread.finish(&unit)).collect(),
            ..Recording::default()
        }
    }

    /// Processes the earliest of the waiting events. The sort is stable: at equal times, order of arrival counts.
    fn process(&mut self, count: usize) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(|event| event.at);
        for event in waiting.drain(..count) {
            // The counter of an event that comes too late has gone on meanwhile.
            let count = event.instructions.filter(|_| event.at >= self.now.at);
            self.now = Moment { at: self.now.at.max(event.at), cpu: event.cpu, count };
            self.began.get_or_insert(event.at);
            self.happens(&event);
        }
        self.waiting = waiting;
    }

    fn happens(&mut self, event: &Event) {
        match event.what {
            What::Forked { child, process } => self.forked(event.tid, event.cpu, child, process),
            What::Exec { before } => {
                before.into_iter().for_each(|before| self.takes_over(event.tid, before));
                self.runs(event.tid, event.cpu);
            }
            What::On => {
                let thread = self.thread(event.tid);
                self.observe_wake(thread, event.cpu);
                self.on(thread, event.cpu, self.now.at);
            }
            What::Off(why) => self.off(event.tid, event.cpu, why),
            What::Woken { by, call, word } => {
                self.woken(event.tid, event.cpu, by.filter(|by| *by != event.tid), call, word);
            }
            What::Exited => {
                let thread = self.runs(event.tid, event.cpu);
                self.threads[thread].settle(self.now, &self.cpus);
                self.threads[thread].exited = Some(self.now.at);
                self.teams.exited(thread);
                self.cpus.take_off(event.cpu, thread, self.now.at);
            }
            What::Shares(sharing) => {
                let thread = self.runs(event.tid, event.cpu);
                if let RunState::Running { overhead, .. } = &mut self.threads[thread].state {
                    *overhead += self.call;
                }
                self.shares(thread, sharing);
            }
        }
    }

    fn shares(&mut self, thread: usize, sharing: Sharing) {
        let part = self.threads[thread].part;
        match sharing {
            Sharing::RegionBegins(division) => {
                if self.teams.region_begins(thread) && division.is_some() {
                    self.share_region(thread, thread, division);
                }
            }
            Sharing::RegionEnds => {
                let Some((team, shared)) = self.teams.region_ends(thread) else { return };
                for member in team.iter().filter(|member| self.threads[**member].part.is_some()).collect::<Vec<_>>() {
                    self.takes_part(*member, None);
                }
                if shared && team.len() > 1 {
                    let barrier = self.teams.barrier(&team);
                    team.iter().for_each(|member| self.does(*member, Step::Barrier(barrier)));
                }
            }
            Sharing::LoopBegins { .. } | Sharing::LoopEnds | Sharing::Tasks { .. } if self.teams.within(thread) => {}
            Sharing::LoopBegins { place, division } => {
                if !matches!(part, Some(Part::Region(_))) {
                    let pool = self.teams.loop_begins(thread, place, division);
                    self.takes_part(thread, pool.map(Part::Loop));
                }
            }
            // Of a region that is a loop nothing is left then, either.
            Sharing::LoopEnds => {
                if part.is_some() && !self.teams.runs_tasks(thread) {
                    self.takes_part(thread, None);
                }
            }
            Sharing::Tasks { count, each } => {
                if let Some(master) = self.teams.tasks(thread, count, each) {
                    self.share_region(master, thread, None);
                    self.teams.tasks(thread, count, each);
                }
            }
        }
    }

    /// From now on the threads of a region share out what they do, as one of them knows.
    fn share_region(&mut self, master: usize, by: usize, division: Option<Division>) {
        let pool = self.teams.shares(master, self.now.at, division);
        for member in self.teams.team(master) {
            // One that spins until there is something to do does not begin before.
            if member != by && !matches!(self.threads[member].state, RunState::Blocked { .. }) {
                self.wakes(by, member);
            }
            self.takes_part(member, Some(Part::Region(pool)));
        }
    }

    fn takes_part(&mut self, thread: usize, part: Option<Part>) {
        let thread = &mut self.threads[thread];
        thread.settle(self.now, &self.cpus);
        thread.push(None, self.now.at, self.written);
        thread.part = part;
    }

    fn forked(&mut self, parent: Tid, cpu: u16, child: Tid, process: bool) {
        if let Some(&known) = self.by_tid.get(&child) {
            let known = &self.threads[known];
            if known.exited.is_none() && known.start != Start::Spawned {
                // An event came before that of its fork: it starts by itself.
                return;
            }
        }
        let parent = self.runs(parent, cpu);
        let process = if process { None } else { Some(self.threads[parent].process) };
        let thread = process.is_some();
        let child = self.appears(child, Start::Spawned, process);
        self.does(parent, Step::Spawn(child as u32));
        if thread {
            self.threads[child].part = self.teams.started(child, parent);
        }
    }

    /// A thread has taken over the number of its process's first one, which is gone.
    fn takes_over(&mut self, tid: Tid, before: Tid) {
        let Some(thread) = self.by_tid.remove(&before) else { return };
        let first = self.by_tid.insert(tid, thread).filter(|first| *first != thread);
        if let Some(first) = first.filter(|first| self.threads[*first].exited.is_none()) {
            self.threads[first].settle(self.now, &self.cpus);
            self.threads[first].exited = Some(self.now.at);
        }
    }

    /// A thread began to run at a time that has come, if not now.
    fn on(&mut self, thread: usize, cpu: u16, at: Ns) {
        // What the counter read at another time is not known.
        let began = Moment { at, cpu, count: self.now.count.filter(|_| at == self.now.at) };
        match self.threads[thread].state {
            RunState::Running { .. } => self.threads[thread].settle(self.now, &self.cpus),
            RunState::Blocked { since } => match self.threads[thread].early.take() {
                // Wait and wake-up met: the wake-up was seen before the waiter had left its CPU.
                Some((waker, wake)) => {
                    self.does(thread, Step::Wait);
                    let wake = self.threads[waker].done.get(wake).copied();
                    self.threads[thread].woken_by(wake);
                }
                None => self.does(thread, Step::Sleep(at.since(since))),
            },
            RunState::Ready { .. } | RunState::Unseen => {}
        }
        if let Some(before) = self.cpus.running(cpu).filter(|before| *before != thread) {
            // It must have left; if it has exited, long ago.
            if self.threads[before].exited.is_none() {
                self.threads[before].settle(began, &self.cpus);
            }
            self.threads[before].state = RunState::Ready { since: at, woken: false };
        }
        let ThreadRecord { process, last_cpu, .. } = self.threads[thread];
        let overhead = self.cpus.put_on(cpu, thread, process, last_cpu, at);
        self.threads[thread].last_cpu = Some(cpu);
        self.threads[thread].state = RunState::Running { since: began, overhead, beside: self.cpus.beside(cpu, at) };
    }

    /// A thread is put on a CPU. If it was woken while no thread ran there, that is how long a wake-up takes.
    fn observe_wake(&mut self, thread: usize, cpu: u16) {
        if let RunState::Ready { since, woken: true } = self.threads[thread].state
            && self.cpus.running(cpu).is_none()
            && self.cpus.left(cpu) < since
        {
            self.wakes.add(self.now.at.since(since));
        }
    }

    /// The thread with a number, which did something that only a running thread can do. Kernels are known that do not
    /// report every thread that begins to run (since Linux 6.15 it is seen anyway): it began when it was ready and the CPU was free.
    fn runs(&mut self, tid: Tid, cpu: u16) -> usize {
        let thread = self.thread(tid);
        match self.threads[thread].state {
            RunState::Ready { since, woken } => {
                let mut at = since.max(self.cpus.left(cpu));
                if woken && at == since {
                    at = self.now.at.min(since + self.wakes.median().unwrap_or(Ns::ZERO));
                }
                self.on(thread, cpu, at);
            }
            RunState::Unseen => self.on(thread, cpu, self.began.unwrap_or(self.now.at)),
            RunState::Running { .. } | RunState::Blocked { .. } => {}
        }
        thread
    }

    fn off(&mut self, tid: Tid, cpu: u16, why: Off) {
        let thread = self.runs(tid, cpu);
        let since = self.now.at;
        let to = match (why, self.threads[thread].state) {
            (_, RunState::Blocked { since }) => RunState::Blocked { since },
            (Off::Preempted, _) => RunState::Ready { since, woken: false },
            (Off::Futex | Off::Blocked, _) => RunState::Blocked { since },
        };
        self.threads[thread].settle(self.now, &self.cpus);
        self.threads[thread].state = to;
        self.cpus.take_off(cpu, thread, since);
    }

    fn woken(&mut self, tid: Tid, cpu: u16, by: Option<Tid>, call: u32, word: u32) {
        if by.is_some() && !self.by_tid.contains_key(&tid) {
            let thread = self.appears(tid, Start::At(self.elapsed()), None);
            self.threads[thread].state = RunState::Blocked { since: self.now.at };
        }
        let thread = self.thread(tid);
        if self.threads[thread].state == RunState::Unseen {
            self.threads[thread].state = RunState::Blocked { since: self.began.unwrap_or(self.now.at) };
        }
        let waker = by.map(|by| self.runs(by, cpu));
        let state = self.threads[thread].state;
        let waits_since = match state {
            RunState::Blocked { since } => since,
            _ => self.now.at,
        };
        let among_themselves = waker.is_some_and(|waker| self.teams.among_themselves(waker, thread, waits_since));
        if let Some(waker) = waker.filter(|_| call != 0) {
            let blocked = matches!(state, RunState::Blocked { .. });
            let written = !among_themselves && (blocked || self.threads[thread].last_cpu.is_some());
            self.links.add(waker, thread, call, word, written.then_some(self.written + 1));
        }
        match (state, waker) {
            // Another one may wait in another run.
            (RunState::Blocked { .. }, _) if among_themselves => {
                self.forget_early(thread);
                self.threads[thread].state = RunState::Ready { since: self.now.at, woken: true };
            }
            _ if among_themselves => {}
            (RunState::Blocked { since }, Some(waker)) => {
                self.forget_early(thread);
                self.wakes(waker, thread);
                if call != 0 {
                    for one in [thread, waker] {
                        if let Some(last) = self.threads[one].done.last_mut() {
                            (last.word, last.call) = (word, call);
                        }
                    }
                    self.rounds.woken(self.now.at, (call, word), [waker, thread], since, &self.threads);
                }
                self.threads[thread].state = RunState::Ready { since: self.now.at, woken: true };
            }
            (RunState::Blocked { since }, None) => {
                self.forget_early(thread);
                self.does(thread, Step::Sleep(self.now.at.since(since)));
                self.threads[thread].state = RunState::Ready { since: self.now.at, woken: true };
            }
            // It may run already, unreported. That it is woken when it is new is part of its start.
            (RunState::Running { .. } | RunState::Ready { .. }, Some(waker))
                if self.threads[thread].last_cpu.is_some() =>
            {
                self.forget_early(thread);
                self.does(waker, Step::Wake(thread as u32));
                if let Some(wake) = self.threads[waker].done.last_mut() {
                    (wake.word, wake.call) = (word, call);
                }
                self.threads[thread].early = Some((waker, self.threads[waker].done.len() - 1));
            }
            _ => {}
        }
    }

    /// A wake-up of a thread that ran was of no use to it.
    fn forget_early(&mut self, thread: usize) {
        if let Some((waker, step)) = self.threads[thread].early.take() {
            self.threads[waker].done[step].step = None;
        }
    }

    /// Writes down what a thread does now.
    fn does(&mut self, thread: usize, step: Step) {
        self.written += 1;
        let thread = &mut self.threads[thread];
        thread.settle(self.now, &self.cpus);
        thread.push(Some(step), self.now.at, self.written);
    }

    /// A thread wakes one that waits.
    fn wakes(&mut self, waker: usize, waiter: usize) {
        self.does(waker, Step::Wake(waiter as u32));
        let wake = self.threads[waker].done.last().copied();
        self.does(waiter, Step::Wait);
        self.threads[waiter].woken_by(wake);
    }

    /// The thread with a number; one that was not known starts now.
    fn thread(&mut self, tid: Tid) -> usize {
        match self.by_tid.get(&tid) {
            Some(&thread) => thread,
            None => self.appears(tid, Start::At(self.elapsed()), None),
        }
    }

    fn appears(&mut self, tid: Tid, start: Start, process: Option<u32>) -> usize {
        let process = process.unwrap_or_else(|| {
            self.processes += 1;
            self.processes - 1
        });
        let name = self.names.remove(&tid).unwrap_or_else(|| tid.to_string());
        self.threads.push(ThreadRecord::new(name, process, start, self.now.at));
        self.by_tid.insert(tid, self.threads.len() - 1);
        self.threads.len() - 1
    }

    /// Since the recording began.
    fn elapsed(&self) -> Ns {
        self.now.at.since(self.began.unwrap_or(self.now.at))
    }
}

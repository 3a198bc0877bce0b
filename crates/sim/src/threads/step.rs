//! What the operations of a thread do. Those that take no time happen at once, one after the other, until the thread
//! computes, waits or exits.

use evenkeel_model::{CoreId, Ns, ThreadId};
use evenkeel_workload::program::TimerMode;

use crate::threads::code::Instr;
use crate::threads::engine::Engine;
use crate::threads::error::Error;
use crate::threads::report;
use crate::threads::spread::vary;
use crate::threads::tasking::Then;
use crate::threads::thread::{On, RunState, SPIN};

/// So many operations in a row without any time passing mean that the thread loops over nothing.
const ENDLESS: u32 = 1_000_000;

impl Engine<'_> {
    /// Runs the operations of the thread on a core up to the next that takes time.
    pub(crate) fn step(&mut self, core: CoreId, thread: ThreadId) -> Result<(), Error> {
        for _ in 0..ENDLESS {
            let t = &mut self.threads[thread.index()];
            let pc = t.pc;
            t.pc += 1;
            t.ops += 1;
            match self.code.instrs[pc as usize] {
                Instr::Compute { phase, work, spread } => {
                    t.phase = phase;
                    t.remaining = vary(work, spread, &mut t.draws);
                    if t.remaining > 0 {
                        return Ok(());
                    }
                }
                Instr::Spin(span) => {
                    t.phase = SPIN;
                    t.remaining = span;
                    if span > 0 {
                        return Ok(());
                    }
                }
                Instr::Sleep { span, spread } => {
                    let span = vary(span, spread, &mut t.draws);
                    if span > 0 {
                        self.sleep_until(core, thread, self.now + Ns(span));
                        return Ok(());
                    }
                }
                Instr::Timer { timer, period, mode } => {
                    let expiry = self.expiry(thread, timer, period, mode);
                    if expiry > self.now {
                        self.sleep_until(core, thread, expiry);
                        return Ok(());
                    }
                }
                Instr::Yield => {
                    self.give_way(core, thread);
                    return Ok(());
                }
                Instr::Exit => {
                    self.exit(core, thread);
                    return Ok(());
                }
                Instr::Loop { slot, times } => t.slots[slot as usize] = times,
                Instr::Next { slot, start } => {
                    let left = &mut t.slots[slot as usize];
                    *left -= 1;
                    if *left > 0 {
                        t.pc = start;
                    }
                }
                Instr::Jump(to) => t.pc = to,
                Instr::Set(params) => self.set_params(core, thread, params),
                Instr::Spawn(child) if self.threads[child.index()].state == RunState::Absent => {
                    self.spawn(child, thread)
                }
                Instr::Spawn(child) => self.threads[child.index()].respawns += 1,
                Instr::Tasks { runtime, act } => {
                    if self.task_step(core, thread, runtime, act)? == Then::Leave {
                        return Ok(());
                    }
                }
                shared => {
                    if let Some(on) = self.share(thread, pc, shared)? {
                        self.block(core, thread, on);
                        return Ok(());
                    }
                }
            }
        }
        Err(report::endless(self, thread))
    }

    /// Operations on shared objects. Answers what the thread has to wait for, if it has to.
    fn share(&mut self, thread: ThreadId, pc: u32, instr: Instr) -> Result<Option<On>, Error> {
        let now = self.now;
        match instr {
            Instr::Lock(lock) => {
                let l = &mut self.objects.locks[lock as usize];
                if l.holder.is_some() {
                    l.waiters.push_back(thread);
                    return Ok(self.retry(thread, pc, On::Lock(lock)));
                }
                l.holder = Some(thread);
            }
            Instr::Unlock(lock) => self.unlock(thread, lock)?,
            Instr::Barrier(barrier) => {
                let b = &mut self.objects.barriers[barrier as usize];
                if b.waiters.len() + 1 < b.parties {
                    b.waiters.push_back(thread);
                    return Ok(Some(On::Barrier(barrier)));
                }
                while let Some(waiter) = self.objects.barriers[barrier as usize].waiters.pop_front() {
                    self.wake(waiter, Some(thread));
                }
            }
            Instr::Put(queue) => {
                let q = &mut self.objects.queues[queue as usize];
                if q.items >= q.capacity {
                    q.putters.push_back(thread);
                    return Ok(self.retry(thread, pc, On::Put(queue)));
                }
                q.change(now, q.items + 1);
                if let Some(getter) = q.getters.pop_front() {
                    self.wake(getter, Some(thread));
                }
            }
            Instr::Get(queue) | Instr::Drain { queue, .. } => {
                let q = &mut self.objects.queues[queue as usize];
                if q.items > 0 {
                    q.change(now, q.items - 1);
                    if let Some(putter) = q.putters.pop_front() {
                        self.wake(putter, Some(thread));
                    }
                    if self.objects.queues[queue as usize].finished() {
                        self.release_getters(queue, thread);
                    }
                } else if !q.finished() {
                    q.getters.push_back(thread);
                    return Ok(self.retry(thread, pc, On::Get(queue)));
                } else if let Instr::Drain { exit, .. } = instr {
                    self.threads[thread.index()].pc = exit;
                }
            }
            Instr::Close(queue) => {
                let q = &mut self.objects.queues[queue as usize];
                q.open_producers = q.open_producers.saturating_sub(1);
                if q.finished() {
                    self.release_getters(queue, thread);
                }
            }
            Instr::Wait { condition, lock } => {
                self.unlock(thread, lock)?;
                self.objects.conditions[condition as usize].push_back(thread);
                return Ok(Some(On::Condition(condition)));
            }
            Instr::Signal(condition) => {
                if let Some(waiter) = self.objects.conditions[condition as usize].pop_front() {
                    self.wake(waiter, Some(thread));
                }
            }
            Instr::Broadcast(condition) => {
                while let Some(waiter) = self.objects.conditions[condition as usize].pop_front() {
                    self.wake(waiter, Some(thread));
                }
            }
            Instr::Post(semaphore) => {
                let s = &mut self.objects.semaphores[semaphore as usize];
                s.count += 1;
                if let Some(waiter) = s.waiters.pop_front() {
                    self.wake(waiter, Some(thread));
                }
            }
            Instr::Acquire(semaphore) => {
                let s = &mut self.objects.semaphores[semaphore as usize];
                if s.count == 0 {
                    s.waiters.push_back(thread);
                    return Ok(self.retry(thread, pc, On::Semaphore(semaphore)));
                }
                s.count -= 1;
            }
            Instr::Suspend(event) => {
                self.objects.events[event as usize].push_back(thread);
                return Ok(Some(On::Event(event)));
            }
            Instr::Resume(event) => {
                while let Some(waiter) = self.objects.events[event as usize].pop_front() {
                    self.wake(waiter, Some(thread));
                }
            }
            Instr::Join(other) => {
                let gone = self.threads[other.index()].exited.is_some();
                if !gone {
                    self.threads[other.index()].joiners.push(thread);
                    return Ok(Some(On::Join(other)));
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// The operation is tried again when the thread runs next: the first thread to try gets it (Mesa semantics).
    fn retry(&mut self, thread: ThreadId, pc: u32, on: On) -> Option<On> {
        self.threads[thread.index()].pc = pc;
        self.threads[thread.index()].ops -= 1;
        Some(on)
    }

    pub(crate) fn unlock(&mut self, thread: ThreadId, lock: u32) -> Result<(), Error> {
        let l = &mut self.objects.locks[lock as usize];
        if l.holder != Some(thread) {
            return Err(report::stranger(self, thread, lock));
        }
        l.holder = None;
        if let Some(waiter) = l.waiters.pop_front() {
            self.wake(waiter, Some(thread));
        }
        Ok(())
    }

    /// Nothing will come any more: everybody who waits for an item finds out.
    fn release_getters(&mut self, queue: u32, by: ThreadId) {
        while let Some(getter) = self.objects.queues[queue as usize].getters.pop_front() {
            self.wake(getter, Some(by));
        }
    }

    /// The next expiry of a timer, and its new state. The grid begins when the thread that first uses it began.
    fn expiry(&mut self, thread: ThreadId, timer: u32, period: u64, mode: TimerMode) -> Ns {
        let started = self.threads[thread.index()].started;
        let latest = &mut self.objects.timers[timer as usize];
        let expiry = latest.unwrap_or(started) + Ns(period);
        let missed = expiry < self.now;
        self.missed_timers += u64::from(missed);
        *latest = Some(if missed && mode == TimerMode::Relative { self.now } else { expiry });
        expiry
    }
}

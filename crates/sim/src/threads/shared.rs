//! Operations on the objects that threads share. Those that take effect wake other threads; the others make the thread wait.

use std::collections::VecDeque;

use evenkeel_model::{CoreId, ThreadId};

use crate::threads::code::Instr;
use crate::threads::engine::Engine;
use crate::threads::error::Error;
use crate::threads::objects::Objects;
use crate::threads::report;
use crate::threads::thread::{On, RunState};

impl Engine<'_> {
    /// Carries out an operation on a shared object. Returns what the thread has to wait for, if it has to.
    pub(crate) fn share(&mut self, thread: ThreadId, instr: Instr) -> Result<Option<On>, Error> {
        match instr {
            Instr::Lock(lock) => return Ok(self.lock(thread, lock)),
            Instr::Unlock(lock) => self.unlock(thread, lock)?,
            Instr::Barrier(barrier) => return Ok(self.meet(thread, barrier)),
            Instr::Put(queue) => return Ok(self.put(thread, queue)),
            Instr::Get(queue) => return Ok(self.get(thread, queue, None)),
            Instr::Drain { queue, exit } => return Ok(self.get(thread, queue, Some(exit))),
            Instr::Close(queue) => self.close(thread, queue),
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
            Instr::Broadcast(condition) => self.wake_all(thread, |objects| &mut objects.conditions[condition as usize]),
            Instr::Post(semaphore) => self.post(thread, semaphore),
            Instr::Acquire(semaphore) => return Ok(self.acquire(thread, semaphore)),
            Instr::Suspend(event) => {
                self.objects.events[event as usize].push_back(thread);
                return Ok(Some(On::Event(event)));
            }
            Instr::Resume(event) => self.wake_all(thread, |objects| &mut objects.events[event as usize]),
            Instr::Join(other) => return Ok(self.join(thread, other)),
            _ => {}
        }
        Ok(None)
    }

    /// Charges a thread for writing to a cache line, which it fetches if another core wrote it last.
    fn write(&mut self, thread: ThreadId, written_on: impl Fn(&mut Objects) -> &mut Option<CoreId>) {
        let RunState::On(core) = self.threads[thread.index()].state else { return };
        if let Some(last) = written_on(&mut self.objects).replace(core).filter(|last| *last != core) {
            let costs = &self.machine.costs;
            let near = self.sched.state().domains[core.index()][0].contains(last);
            self.charge(thread, if near { costs.line_in_cluster } else { costs.line_across_clusters });
        }
    }

    fn lock(&mut self, thread: ThreadId, lock: u32) -> Option<On> {
        self.write(thread, |objects| &mut objects.locks[lock as usize].written_on);
        let l = &mut self.objects.locks[lock as usize];
        if l.holder.is_some() {
            l.waiters.push_back(thread);
            return self.retry(thread, On::Lock(lock));
        }
        l.holder = Some(thread);
        None
    }

    pub(crate) fn unlock(&mut self, thread: ThreadId, lock: u32) -> Result<(), Error> {
        self.write(thread, |objects| &mut objects.locks[lock as usize].written_on);
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

    /// The last party wakes the others.
    fn meet(&mut self, thread: ThreadId, barrier: u32) -> Option<On> {
        self.write(thread, |objects| &mut objects.barriers[barrier as usize].written_on);
        let b = &mut self.objects.barriers[barrier as usize];
        if b.waiters.len() + 1 < b.parties {
            b.waiters.push_back(thread);
            return Some(On::Barrier(barrier));
        }
        self.wake_all(thread, |objects| &mut objects.barriers[barrier as usize].waiters);
        None
    }

    fn put(&mut self, thread: ThreadId, queue: u32) -> Option<On> {
        self.write(thread, |objects| &mut objects.queues[queue as usize].written_on);
        let q = &mut self.objects.queues[queue as usize];
        if q.items >= q.capacity {
            q.putters.push_back(thread);
            return self.retry(thread, On::Put(queue));
        }
        q.change(self.now, q.items + 1);
        if let Some(getter) = q.getters.pop_front() {
            self.wake(getter, Some(thread));
        }
        None
    }

    /// Takes an item. If the queue is finished the thread continues at `exit`, or without an item.
    fn get(&mut self, thread: ThreadId, queue: u32, exit: Option<u32>) -> Option<On> {
        self.write(thread, |objects| &mut objects.queues[queue as usize].written_on);
        let q = &mut self.objects.queues[queue as usize];
        if q.items > 0 {
            let before = q.taken;
            q.change(self.now, q.items - 1);
            if let Some(putter) = q.putters.pop_front() {
                self.wake(putter, Some(thread));
            }
            self.release_getters(thread, queue);
            if exit.is_some() {
                let t = &mut self.threads[thread.index()];
                let seed = self.code.item_seed(t.program, queue, before, self.options.seed);
                t.begin_item(fastrand::Rng::with_seed(seed));
            }
        } else if !q.finished() {
            q.getters.push_back(thread);
            return self.retry(thread, On::Get(queue));
        } else if let Some(exit) = exit {
            self.threads[thread.index()].pc = exit;
        }
        None
    }

    fn close(&mut self, thread: ThreadId, queue: u32) {
        let q = &mut self.objects.queues[queue as usize];
        q.open_producers = q.open_producers.saturating_sub(1);
        self.release_getters(thread, queue);
    }

    /// No item will come any more if the queue is finished: the threads that wait for one stop waiting.
    fn release_getters(&mut self, by: ThreadId, queue: u32) {
        if self.objects.queues[queue as usize].finished() {
            self.wake_all(by, |objects| &mut objects.queues[queue as usize].getters);
        }
    }

    fn post(&mut self, thread: ThreadId, semaphore: u32) {
        self.write(thread, |objects| &mut objects.semaphores[semaphore as usize].written_on);
        let s = &mut self.objects.semaphores[semaphore as usize];
        s.count += 1;
        if let Some(waiter) = s.waiters.pop_front() {
            self.wake(waiter, Some(thread));
        }
    }

    fn acquire(&mut self, thread: ThreadId, semaphore: u32) -> Option<On> {
        self.write(thread, |objects| &mut objects.semaphores[semaphore as usize].written_on);
        let s = &mut self.objects.semaphores[semaphore as usize];
        if s.count == 0 {
            s.waiters.push_back(thread);
            return self.retry(thread, On::Semaphore(semaphore));
        }
        s.count -= 1;
        None
    }

    fn join(&mut self, thread: ThreadId, other: ThreadId) -> Option<On> {
        let joined = &mut self.threads[other.index()];
        if joined.exited.is_some() {
            return None;
        }
        joined.joiners.push(thread);
        Some(On::Join(other))
    }

    /// The operation is tried again when the thread runs next: the first thread to try gets it (Mesa semantics).
    fn retry(&mut self, thread: ThreadId, on: On) -> Option<On> {
        let t = &mut self.threads[thread.index()];
        t.pc -= 1;
        t.ops -= 1;
        Some(on)
    }

    /// Wakes all threads that wait in a list, in order of arrival.
    fn wake_all(&mut self, by: ThreadId, waiters: impl Fn(&mut Objects) -> &mut VecDeque<ThreadId>) {
        while let Some(waiter) = waiters(&mut self.objects).pop_front() {
            self.wake(waiter, Some(by));
        }
    }
}

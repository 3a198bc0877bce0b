//! What the operations of a thread do. Those that take no time happen at once, one after the other, until the thread
//! computes, waits or exits.

use evenkeel_model::{CoreId, Ns, ThreadId};
use evenkeel_workload::program::TimerMode;

use crate::threads::code::Instr;
use crate::threads::engine::Engine;
use crate::threads::error::Error;
use crate::threads::report;
use crate::threads::tasking::Then;
use crate::threads::thread::{On, RunState, SPIN};

/// So many operations in a row without any time passing mean that the thread loops over nothing.
pub(crate) const ENDLESS: u32 = 1_000_000;

impl Engine<'_> {
    /// Runs the operations of the thread on a core up to the next that takes time.
    pub(crate) fn step(&mut self, core: CoreId, thread: ThreadId) -> Result<(), Error> {
        for _ in 0..ENDLESS {
            let t = &mut self.threads[thread.index()];
            let instr = self.code.instrs[t.pc as usize];
            t.pc += 1;
            t.ops += 1;
            match instr {
                Instr::Compute { phase, work, spread } => {
                    t.phase = phase;
                    t.remaining = t.vary(work, spread);
                    if t.remaining > 0 {
                        return Ok(());
                    }
                }
                Instr::Split { split, member, phase, work } => {
                    let part = self.begin_part(core, thread, split, member, work);
                    let t = &mut self.threads[thread.index()];
                    (t.phase, t.remaining) = (phase, part);
                    if part > 0 {
                        return Ok(());
                    }
                }
                Instr::Joined { split, member } => self.objects.splits[split as usize].end(member, self.now),
                Instr::Spin(span) => {
                    t.phase = SPIN;
                    t.remaining = span;
                    if span > 0 {
                        return Ok(());
                    }
                }
                Instr::Sleep { span, spread } => {
                    let span = t.vary(span, spread);
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
                Instr::Again(drain) => {
                    t.end_item();
                    t.pc = drain;
                }
                Instr::Take(list) => {
                    let taken = &mut self.objects.lists[list as usize];
                    if let Some(item) = self.code.lists[list as usize].get(*taken) {
                        *taken += 1;
                        (t.takes_at, t.pc) = (t.pc - 1, *item);
                    }
                }
                Instr::Back => t.pc = t.takes_at,
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
                    if let Some(on) = self.share(thread, shared)? {
                        if !self.poll(thread, on) {
                            self.block(core, thread, on);
                        }
                        return Ok(());
                    }
                }
            }
        }
        Err(report::endless(self, thread))
    }

    /// Before a thread waits it may stay on its core for a while and look again and again, if its program does so.
    fn poll(&mut self, thread: ThreadId, on: On) -> bool {
        let t = &mut self.threads[thread.index()];
        let program = &self.workload.programs[t.program];
        let spin = match on {
            On::Lock(_) => program.spin,
            On::Barrier(_) => program.barrier_spin.unwrap_or(program.spin),
            _ => Ns::ZERO,
        };
        // What a rehearsal writes down is work.
        let polls = spin > Ns::ZERO && self.score.is_none();
        if polls {
            (t.polls, t.phase, t.remaining) = (Some(on), SPIN, spin.0);
        }
        polls
    }

    /// What a thread polled for is there.
    pub(crate) fn stop_polling(&mut self, thread: ThreadId) {
        let core = match self.threads[thread.index()].state {
            RunState::On(core) => Some(core),
            _ => None,
        };
        core.into_iter().for_each(|core| self.settle(core));
        let t = &mut self.threads[thread.index()];
        (t.polls, t.remaining) = (None, 0);
        core.into_iter().for_each(|core| self.set_completion(core));
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

//! WASH: affinity from core sensitivity, criticality and progress together (Jibaja et al., CGO 2016, section 6).
//!
//! Problem: threads differ in what a big core gives them, in who waits for them, and in how far they got. WASH ranks
//! them once a quantum and binds the top ones to the big cores; everything else is left to the operating system (CFS).
//! This file is Algorithm 1. Where the pseudo-code is silent: in mixes all application threads together are `T_A`
//! (COLAB 5.1, "we use it for controlling all application threads"), contended time is time blocked on futexes, and the
//! quantum is COLAB's 10 ms (COLAB 4.1 and 4.2; WASH's own was 40 ms).

use evenkeel_model::{CoreSet, CoreTypeId, Ns, ThreadId};

use super::{Changes, Policy};
use crate::state::State;
use crate::thread::{Kind, Run};

/// A thread that spent more than this share of its execution time contended is a bottleneck victim (section 6).
const LOCK_THRESHOLD: f64 = 0.5;

/// The WASH scheduler.
#[derive(Debug, Default)]
pub struct Wash {
    /// By thread: retired instructions as if all had run on big cores.
    progress: Vec<f64>,
    /// By thread: how much of that came in the last quantum.
    rate: Vec<f64>,
    /// By thread: in how many of the last two quanta it was blocked throughout.
    blocked_quanta: Vec<u8>,
    ranked: Vec<(f64, ThreadId)>,
    /// The threads for the big cores.
    chosen: Vec<ThreadId>,
}

impl Policy for Wash {
    fn name(&self) -> &'static str {
        "wash"
    }

    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(10))
    }

    fn counters(&self) -> bool {
        true
    }

    /// The fallback for threads without a history: application threads on big cores, service threads on small ones.
    fn admit(&mut self, s: &State, thread: ThreadId) -> CoreSet {
        match s.thread(thread).kind {
            Kind::Application => s.big,
            Kind::Service => s.little,
        }
    }

    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        self.observe(s);
        let all = s.machine.all();
        let applications = || s.living().filter(|thread| s.thread(*thread).kind == Kind::Application);
        let services = || s.living().filter(|thread| s.thread(*thread).kind == Kind::Service);
        if applications().count() <= s.big.len() {
            applications().for_each(|thread| changes.affinity(thread, s.big));
            services().for_each(|thread| changes.affinity(thread, all));
            return;
        }
        services().for_each(|thread| changes.affinity(thread, s.little));
        if applications().all(|thread| lock_share(s, thread) < LOCK_THRESHOLD) {
            applications().for_each(|thread| changes.affinity(thread, all));
            return;
        }
        self.chosen.clear();
        self.exec_rank(s);
        self.lock_rank(s);
        for thread in applications() {
            let cores = if self.chosen.contains(&thread) { s.big } else { all };
            changes.affinity(thread, cores);
        }
    }
}

impl Wash {
    /// Adds the last quantum to every thread's history.
    fn observe(&mut self, s: &State) {
        self.progress.resize(s.threads.len(), 0.0);
        self.rate.clear();
        self.rate.resize(s.threads.len(), 0.0);
        self.blocked_quanta.resize(s.threads.len(), 0);
        for (index, thread) in s.threads.iter().enumerate() {
            let id = ThreadId(index as u32);
            for (on, window) in thread.window.on_type.iter().enumerate() {
                // Without a counter, time on the core stands in for instructions.
                let retired = window.instructions.map_or(window.time.0, |instructions| instructions.0) as f64;
                self.rate[index] += if on == 0 { retired } else { retired * speedup_from(s, id, on) };
            }
            self.progress[index] += self.rate[index];
            let ran = thread.window.on_type.iter().any(|window| window.time > Ns::ZERO);
            let blocked = !ran && matches!(thread.run, Run::Blocked(_));
            self.blocked_quanta[index] = if blocked { (self.blocked_quanta[index] + 1).min(2) } else { 0 };
        }
    }

    /// The most productive active threads by their running total, as many as make up the big cores' share of the present
    /// rate of retired instructions, `B_RI / (B_RI + S_RI)`.
    fn exec_rank(&mut self, s: &State) {
        self.ranked.clear();
        for thread in s.living().filter(|thread| s.thread(*thread).kind == Kind::Application) {
            if self.blocked_quanta[thread.index()] < 2 {
                self.ranked.push((self.progress[thread.index()] * s.speedup(thread), thread));
            }
        }
        sort_by_rank(&mut self.ranked);
        let speedups: f64 = self.ranked.iter().map(|(_, thread)| s.speedup(*thread)).sum();
        let mean_speedup = speedups / self.ranked.len().max(1) as f64;
        let big = s.big.len() as f64 * mean_speedup;
        let share = big / (big + s.little.len() as f64);
        let total: f64 = self.ranked.iter().map(|(_, thread)| self.rate[thread.index()]).sum();
        let mut sum = 0.0;
        for (_, thread) in &self.ranked {
            if sum >= share * total {
                break;
            }
            sum += self.rate[thread.index()];
            self.chosen.push(*thread);
        }
    }

    /// The contended threads that others waited for longest: a share `B / (B + S)` of them.
    fn lock_rank(&mut self, s: &State) {
        self.ranked.clear();
        for thread in s.living().filter(|thread| s.thread(*thread).kind == Kind::Application) {
            if lock_share(s, thread) > LOCK_THRESHOLD {
                self.ranked.push((s.thread(thread).blame.0 as f64, thread));
            }
        }
        sort_by_rank(&mut self.ranked);
        let share = self.ranked.len() * s.big.len() / s.cores.len();
        self.chosen.extend(self.ranked.iter().take(share).map(|(_, thread)| *thread));
    }
}

/// Time contended over time executing.
fn lock_share(s: &State, thread: ThreadId) -> f64 {
    let t = s.thread(thread);
    t.contended.0 as f64 / t.executed.0.max(1) as f64
}

/// The predicted speedup of the biggest core type over type `on`: the prediction is for the smallest, the types between
/// follow by capacity.
fn speedup_from(s: &State, thread: ThreadId, on: usize) -> f64 {
    let smallest = s.machine.core_types.len() - 1;
    if on == smallest {
        return s.speedup(thread);
    }
    1024.0 / f64::from(s.machine.capacity(CoreTypeId(on as u8)))
}

/// Highest first; the older thread first among equals.
fn sort_by_rank(ranked: &mut [(f64, ThreadId)]) {
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
}

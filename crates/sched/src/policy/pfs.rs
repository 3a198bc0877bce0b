//! Proportional fair scheduling: every thread makes the same progress, whatever core it is on.
//!
//! The baseline of WASH (Jibaja et al., CGO 2016, sections 2 and 7), after Saez et al. (ACM TOCS 30(2), 2012) and Van
//! Craeynest et al. (PACT 2013, equal-progress scheduling): progress is what a thread's time would have been on a big
//! core. The thread that is furthest behind goes to a big core, in exchange for the one that is furthest ahead; a big core
//! without work takes over a thread of a little core. Both papers assume no more threads than cores; beyond that, those
//! that wait are exchanged like those that run.
//!
//! Equal threads need it most: at a barrier no thread waits for one that happened to be on a little core.

use evenkeel_model::{CoreId, Ns, ThreadId};

use super::description::{Description, Guarantee, Knob, Reads, Value};
use super::hooks::Policy;
use super::in_kernel::InKernel;
use super::parts::fair;
use crate::action::{Pick, Why};
use crate::state::State;
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "equal progress: the thread that is furthest behind goes to a big core",
    source: "Jibaja et al., \"Portable performance on asymmetric multicore processors\", CGO 2016, sections 2 and 7, after Saez et al., \"Leveraging core specialization via OS scheduling to improve performance on asymmetric multicore systems\", ACM TOCS 30(2), 2012, and Van Craeynest et al., \"Fairness-aware scheduling on single-ISA heterogeneous multi-cores\", PACT 2013",
    reads: Reads::Speedups,
    guarantees: &[Guarantee::TakesOver, Guarantee::Balances],
    in_kernel: Some(InKernel { span: Some("lag"), ..InKernel::new(3) }),
    // Assumed: with a big core three times as fast, threads are then exchanged every 300 ms, which measured best on virtual
    // machines, where moving costs milliseconds.
    knobs: &[Knob {
        name: "lag",
        summary: "how far a thread may fall behind one on a faster core before they are exchanged, in time on a big core",
        value: Value::Time(Ns::from_ms(100)),
    }],
    ..Description::of::<Pfs>("pfs", |setup| Box::new(Pfs { lag: setup.time("lag").0 as i64, progress: Vec::new() }))
};

/// Equal progress for all threads.
#[derive(Debug)]
pub struct Pfs {
    /// How far a thread may fall behind, in ns on a big core.
    lag: i64,
    /// What each thread has achieved, in ns on a big core, weighted as CFS weighs virtual time.
    progress: Vec<i64>,
}

#[hooks]
impl Policy for Pfs {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// A ready thread goes to the fastest idle core.
    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        if !matches!(why, Why::New { .. } | Why::Woken { .. }) {
            return fair::place(s, thread, why);
        }
        self.catch_up(s, thread);
        let previous = s.thread(thread).core;
        let allowed = s.thread(thread).allowed();
        let idle = s.whole(allowed.and(s.idle_cores()));
        let fastest = idle.iter().min_by_key(|core| (s.machine.cores[core.index()].core_type, *core != previous));
        fastest.unwrap_or_else(|| fair::place(s, thread, why))
    }

    /// The thread that is furthest behind: of those that wait here, of those that wait elsewhere, of those that a slower
    /// core runs.
    fn pick(&mut self, s: &State, core: CoreId) -> Pick {
        if let Some(thread) = self.furthest_behind(s.core(core).queue.iter()) {
            return Pick::Queued(thread);
        }
        let may_come = |thread: &ThreadId| s.thread(*thread).allowed().contains(core);
        let others = s.machine.all().without(core);
        let waiting = others.iter().flat_map(|other| s.core(other).queue.iter()).filter(may_come);
        if let Some(thread) = self.furthest_behind(waiting) {
            return Pick::Queued(thread);
        }
        let running = others.iter().filter(|other| s.gains(*other, core));
        let running = running.filter_map(|other| s.movable_current(other, core));
        self.furthest_behind(running).map_or(Pick::Idle, Pick::Running)
    }

    /// A thread that wakes preempts one that has achieved more.
    fn preempts(&self, s: &State, woken: ThreadId, running: ThreadId, _core: CoreId) -> bool {
        self.comes_before(s, woken, running)
    }

    /// A thread gives way when its slice is over, or to one that has achieved less.
    fn expired(&self, s: &State, running: ThreadId, core: CoreId) -> bool {
        let behind = self.furthest_behind(s.core(core).queue.iter());
        s.thread(running).stint >= self.slice(s, running, core)
            || behind.is_some_and(|behind| self.comes_before(s, behind, running))
    }

    /// A span counts for what it achieved.
    fn charge(&mut self, s: &State, thread: ThreadId, core: CoreId, ran: Ns) -> Ns {
        let achieved = achieved(s, thread, core, ran);
        *self.progress_mut(thread) += achieved.0 as i64;
        achieved
    }

    fn owes(&self, s: &State, running: ThreadId, core: CoreId) -> Ns {
        achieved(s, running, core, fair::unreported(s, running))
    }

    fn forget(&mut self, thread: ThreadId) {
        *self.progress_mut(thread) = 0;
    }

    /// Exchanges the thread that runs here for one that has fallen behind on a slower core. How many threads wait for
    /// which core is left to CFS.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        let Some(here) = s.core(core).current else { return fair::balance(s, core) };
        let may_come = |thread: &ThreadId| s.thread(*thread).allowed().contains(core);
        let slower = s.machine.all().iter().filter(|other| share(s, *other) < share(s, core));
        let slower = slower.filter(|other| s.thread(here).allowed().contains(*other));
        let there = slower.flat_map(|other| s.core(other).current.into_iter().chain(s.core(other).queue.iter()));
        match self.furthest_behind(there.filter(may_come)) {
            Some(behind) if self.progress(here) - self.progress(behind) > self.lag => {
                Pick::Exchange { here, there: behind }
            }
            _ => fair::balance(s, core),
        }
    }
}

impl Pfs {
    fn progress(&self, thread: ThreadId) -> i64 {
        self.progress.get(thread.index()).copied().unwrap_or_default()
    }

    fn progress_mut(&mut self, thread: ThreadId) -> &mut i64 {
        if self.progress.len() <= thread.index() {
            self.progress.resize(thread.index() + 1, 0);
        }
        &mut self.progress[thread.index()]
    }

    /// Whether a thread that waits comes before one that runs: it has achieved less, by more than a wake-up granularity, and
    /// that one has had a turn. By virtual time, as under CFS, each message would preempt its sender.
    fn comes_before(&self, s: &State, waiting: ThreadId, running: ThreadId) -> bool {
        let owes = self.owes(s, running, s.thread(running).core);
        let ahead = self.progress(running) + owes.0 as i64 - self.progress(waiting);
        s.now.since(s.thread(running).since) >= fair::min_granularity(s)
            && ahead > fair::wakeup_granularity(s, waiting).0 as i64
    }

    /// The first of the threads that have achieved least.
    fn furthest_behind(&self, threads: impl Iterator<Item = ThreadId>) -> Option<ThreadId> {
        threads.min_by_key(|thread| self.progress(*thread))
    }

    /// A thread that slept, or is new, is owed no more than one exchange of the others' progress, and owes them no more: what it achieved
    /// while others did not run is not held against it for ever.
    fn catch_up(&mut self, s: &State, thread: ThreadId) {
        let others = s.living().filter(|other| *other != thread && s.thread(*other).runnable());
        let achieved = others.map(|other| self.progress(other));
        let range = achieved.fold(None, |range: Option<(i64, i64)>, one| {
            range.map_or(Some((one, one)), |(least, most)| Some((least.min(one), most.max(one))))
        });
        let Some((least, most)) = range else { return };
        let owed = least - self.lag..=most + self.lag;
        let progress = self.progress_mut(thread);
        *progress = (*progress).clamp(*owed.start(), *owed.end());
    }
}

/// What a thread achieves in a span on a core, as time on a big one.
fn achieved(s: &State, thread: ThreadId, core: CoreId, ran: Ns) -> Ns {
    let rate = s.progress_rate(thread, core) / s.speedup(thread).max(1.0);
    Ns((fair::charge(s, thread, ran).0 as f64 * rate.min(1.0)) as u64)
}

/// The capacity that a core has for each of its threads.
fn share(s: &State, core: CoreId) -> u32 {
    s.machine.capacity(s.machine.cores[core.index()].core_type) / s.occupancy(core).max(1) as u32
}

//! The future, for policies that need it ([`evenkeel_sched::Policy::foresight`]).
//!
//! It is learnt in a rehearsal: the workload runs once on a machine of big cores only, one for each thread, where nothing
//! costs anything. Which thread wakes which is recorded. Read backwards, that is a task graph, and the longest path from
//! each point of a thread to the end is that point's *level* (Horvath, Lam and Sethi, "A level algorithm for preemptive
//! scheduling", JACM 24(1), 1977; the upward rank of HEFT, Topcuoglu et al., IEEE TPDS 13(3), 2002). In the run itself a
//! thread is found again by the work that it has done, which is the same however it was scheduled. Threads that share out
//! work while they run can do more or less of it than they rehearsed; what they do beyond that has no level.

use evenkeel_model::{CoreTypeId, Costs, Machine, Ns, ThreadId};
use evenkeel_sched::policy::Cfs;
use evenkeel_sched::{Future, Scheduler};
use evenkeel_workload::Workload;
use evenkeel_workload::program::ThreadKind;

use crate::threads::engine::Engine;
use crate::threads::error::Error;
use crate::threads::options::Options;
use crate::threads::thread::Thread;

/// What is written down in a rehearsal.
#[derive(Debug, Default)]
pub(crate) struct Score {
    wakes: Vec<Wake>,
    /// By thread: how long what it did would take on the smallest core type.
    pub on_smallest: Vec<f64>,
}

/// A thread wakes up.
#[derive(Debug)]
struct Wake {
    thread: ThreadId,
    at: Point,
    /// The thread that woke it, and how far that one had come.
    by: Option<(ThreadId, Point)>,
    /// How long it slept if no thread woke it.
    slept: Ns,
}

/// The work that a thread has done, and the operations that it has gone through since.
type Position = (u64, u32);

/// How far a thread has come.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    position: Position,
    ran: Ns,
    on_smallest: f64,
}

impl Score {
    fn point(&self, threads: &[Thread], thread: ThreadId) -> Point {
        let t = &threads[thread.index()];
        let ran = t.ran().sum();
        Point { position: (t.work, t.ops), ran, on_smallest: self.on_smallest[thread.index()] }
    }

    pub(crate) fn wake(&mut self, threads: &[Thread], thread: ThreadId, by: Option<ThreadId>, slept: Ns) {
        let by = by.map(|by| (by, self.point(threads, by)));
        let slept = if by.is_some() { Ns::ZERO } else { slept };
        self.wakes.push(Wake { thread, at: self.point(threads, thread), by, slept });
    }
}

/// What becomes of every thread.
#[derive(Debug)]
pub(crate) struct Foresight {
    threads: Vec<Line>,
}

/// The future of one thread, in stretches from one wake-up, its own or one that it causes, to the next.
#[derive(Debug, Default)]
struct Line {
    stretches: Vec<Stretch>,
    /// The stretch that it is in.
    at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Stretch {
    end: Position,
    /// The level there.
    level: Ns,
    /// How long it takes on the biggest core type.
    time: Ns,
    speedup: f64,
}

impl Line {
    fn future(&mut self, position: Position) -> Future {
        while self.stretches.get(self.at).is_some_and(|stretch| stretch.end <= position) {
            self.at += 1;
        }
        let begin = self.at.checked_sub(1).map_or(0, |before| self.stretches[before].end.0);
        let Some(stretch) = self.stretches.get(self.at) else {
            let speedup = self.stretches.last().map_or(1.0, |last| last.speedup);
            return Future { level: None, stretch: Ns::ZERO, speedup };
        };
        let left = (stretch.end.0 - position.0) as f64 / (stretch.end.0 - begin).max(1) as f64;
        let left = Ns((stretch.time.0 as f64 * left) as u64);
        Future { level: Some(stretch.level + left), stretch: left, speedup: stretch.speedup }
    }
}

/// Where the way back through a thread has come to: a point, and the level there.
#[derive(Clone, Copy, Debug)]
struct Back {
    at: Point,
    /// None if no thread depends on what this one does from there on.
    level: Option<Ns>,
}

impl Foresight {
    /// Rehearses a workload of the machine.
    pub(crate) fn rehearse(machine: &Machine, workload: &Workload, options: &Options) -> Result<Self, Error> {
        let stage = stage(machine, workload);
        let sched = Scheduler::new(stage.clone(), Box::new(Cfs), None);
        let options = Options {
            seed: options.seed,
            max_time: options.max_time,
            max_events: options.max_events,
            meter: options.meter.clone(),
            ..Options::default()
        };
        let mut unwatched = ();
        let mut engine = Engine::new(&stage, machine, workload, sched, &options, &mut unwatched)?;
        engine.score = Some(Score { wakes: Vec::new(), on_smallest: vec![0.0; engine.threads.len()] });
        engine.run()?;
        let Some(score) = engine.score.take() else { return Ok(Self { threads: Vec::new() }) };
        // What is wanted: that the threads end, or, if time ends the run, that work gets done.
        let wanted = |thread: &crate::threads::code::ThreadCode| match workload.duration {
            Some(_) => thread.kind == ThreadKind::Application,
            None => thread.counts_for_the_end(),
        };
        let ids = (0..engine.threads.len() as u32).map(ThreadId);
        let end = |(thread, code)| {
            let level = wanted(code).then_some(Ns::ZERO);
            Back { at: score.point(&engine.threads, thread), level }
        };
        let ends = ids.zip(&engine.code.threads).map(end).collect();
        Ok(Self::read_back(score.wakes, ends))
    }

    /// Reads the rehearsal backwards.
    fn read_back(wakes: Vec<Wake>, mut ends: Vec<Back>) -> Self {
        let mut threads: Vec<Line> = ends.iter().map(|_| Line::default()).collect();
        let mut back = |ends: &mut Vec<Back>, thread: ThreadId, at: Point| {
            let end = &mut ends[thread.index()];
            let time = end.at.ran.since(at.ran);
            if end.at.position > at.position {
                let level = end.level.unwrap_or(Ns::ZERO);
                let slower = end.at.on_smallest - at.on_smallest;
                let speedup = if time > Ns::ZERO { slower / time.0 as f64 } else { 1.0 };
                threads[thread.index()].stretches.push(Stretch { end: end.at.position, level, time, speedup });
            }
            end.at = at;
            end.level = end.level.map(|level| level + time);
            end.level
        };
        for wake in wakes.into_iter().rev() {
            let level = back(&mut ends, wake.thread, wake.at);
            ends[wake.thread.index()].level = level.map(|level| level + wake.slept);
            if let Some((by, at)) = wake.by {
                let own = back(&mut ends, by, at);
                ends[by.index()].level = own.max(level);
            }
        }
        for thread in (0..ends.len() as u32).map(ThreadId) {
            back(&mut ends, thread, Point::default());
        }
        for line in &mut threads {
            line.stretches.reverse();
        }
        Self { threads }
    }

    /// What is ahead of a thread at this position, which computes for so long at least.
    pub(crate) fn of(&mut self, thread: ThreadId, position: Position, computes: Ns) -> Future {
        let future = self.threads[thread.index()].future(position);
        Future { level: future.level.map(|level| level.max(computes)), stretch: future.stretch.max(computes), ..future }
    }
}

/// A machine of the biggest core type with a core for each thread, where nothing costs anything.
fn stage(machine: &Machine, workload: &Workload) -> Machine {
    let threads: usize = workload.programs.iter().map(|program| program.threads.len()).sum();
    let cores = threads.max(machine.cores.len()).min(evenkeel_model::CoreSet::MAX_CORES);
    let many = Machine { cores: vec![machine.cores[0]; cores], ..machine.clone() };
    let costs = Costs {
        context_switch: Ns::ZERO,
        process_switch: Ns::ZERO,
        wake: Ns::ZERO,
        take: Ns::ZERO,
        futex: Ns::ZERO,
        line_in_cluster: Ns::ZERO,
        line_across_clusters: Ns::ZERO,
        migrate_in_cluster: Ns::ZERO,
        migrate_across_clusters: Ns::ZERO,
        dvfs_transition: Ns::ZERO,
        ..machine.costs
    };
    Machine { costs, memory_gbps: None, ..many.symmetric(CoreTypeId(0)) }
}

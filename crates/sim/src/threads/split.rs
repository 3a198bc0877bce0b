//! Static loops that are split by how fast each thread's core is, as `libevenkeel_omp.so` has it in real programs: what is learnt of a loop's speeds from run to
//! run, whether it is split, and how, is `evenkeel_model::splitting`'s there and here.
//!
//! Simpler than there: a loop is a region of its own, which begins with the first thread that comes to it and ends with the last that has done its part. The
//! first thread stays on its core between regions, which costs it four system calls a run all the same: there it is free behind each region.

use std::collections::VecDeque;

use evenkeel_model::splitting::{Done, Speeds, alike, share};
use evenkeel_model::{CoreId, CoreSet, Machine, Ns, ThreadId};

use crate::threads::engine::Engine;
use crate::threads::mask::cores_of;

/// System calls of a thread that is bound to its core, or is free again: what its mask is, and another one.
const MOVES: u64 = 2;
/// Those of the first thread in a run that is split: it is bound, and free behind it.
const FIRST: u64 = 2 * MOVES;

/// A loop that is split.
#[derive(Debug)]
pub(crate) struct Split {
    threads: usize,
    /// The core of each thread, the first on the fastest. Empty where loops are never split: there are more threads than cores, or all cores are equally fast.
    cores: Vec<CoreId>,
    /// What is known of its threads' speeds before it has run, and now.
    before: Speeds,
    known: Speeds,
    /// How often each thread has come to it.
    begun: Vec<u64>,
    /// Runs that are not over, the oldest first, and how many are over.
    runs: VecDeque<Run>,
    over: u64,
}

/// One run of the loop.
#[derive(Debug)]
struct Run {
    plan: Option<Vec<u32>>,
    began: Ns,
    /// What each thread does, and since when or for how long.
    parts: Vec<Done>,
    /// Threads that have not done their part.
    left: usize,
}

impl Split {
    /// One that so many threads share.
    pub(crate) fn new(machine: &Machine, threads: usize) -> Self {
        let speed = |core: CoreId| f64::from(machine.capacity(machine.cores[core.index()].core_type));
        let mut cores: Vec<CoreId> = machine.all().iter().collect();
        // As the library has them: by number where they are equally fast.
        cores.sort_by(|one, other| speed(*other).total_cmp(&speed(*one)));
        if threads < 2 || threads > cores.len() || alike(cores.iter().map(|core| speed(*core))) {
            cores.clear();
        }
        cores.truncate(threads);
        let before = Speeds::known(&cores.iter().map(|core| speed(*core)).collect::<Vec<_>>());
        Self { threads, cores, known: before.clone(), before, begun: vec![0; threads], runs: VecDeque::new(), over: 0 }
    }

    /// Its program begins again.
    pub(crate) fn forget(&mut self) {
        self.known = self.before.clone();
        self.begun.fill(0);
        self.runs.clear();
        self.over = 0;
    }

    /// A thread begins its part of so much: how much that is, and the core that it is to be on, if it is to be on one.
    fn begin(&mut self, member: u32, work: u64, now: Ns) -> (u64, Option<CoreId>) {
        let member = member as usize;
        let run = (self.begun[member] - self.over) as usize;
        self.begun[member] += 1;
        if run == self.runs.len() {
            let plan = if self.cores.is_empty() { None } else { self.known.next() };
            let parts = vec![Done::default(); self.threads];
            self.runs.push_back(Run { plan, began: now, parts, left: self.threads });
        }
        let run = &mut self.runs[run];
        let part = match &run.plan {
            Some(plan) => share(work, plan, member),
            None => share(work, &vec![1; self.threads], member),
        };
        let trips = part.end - part.start;
        run.parts[member] = Done { trips, ns: now.0 };
        (trips, run.plan.as_ref().map(|_| self.cores[member]))
    }

    /// A thread has done the part that it began last.
    pub(crate) fn end(&mut self, member: u32, now: Ns) {
        let member = member as usize;
        let run = &mut self.runs[(self.begun[member] - self.over) as usize - 1];
        run.parts[member].ns = now.0 - run.parts[member].ns;
        run.left -= 1;
        while self.runs.front().is_some_and(|run| run.left == 0)
            && let Some(run) = self.runs.pop_front()
        {
            let split = run.plan.is_some();
            self.known.learn(&run.parts, now.since(run.began).0, split, split);
            self.over += 1;
        }
    }
}

impl Engine<'_> {
    /// A thread begins its part of a loop of which all threads do so much: how much that is.
    pub(crate) fn begin_part(&mut self, core: CoreId, thread: ThreadId, split: u32, member: u32, work: u64) -> u64 {
        let (part, on) = self.objects.splits[split as usize].begin(member, work, self.now);
        let free = || cores_of(self.machine, &self.code.threads[thread.index()].sched);
        let cores = on.map_or_else(free, |on| CoreSet::EMPTY.with(on));
        let t = &mut self.threads[thread.index()];
        let moves = t.own != cores;
        t.bound = on;
        let calls = match (on, member) {
            (Some(_), 0) => FIRST,
            _ if moves => MOVES,
            _ => 0,
        };
        // Each is taken to cost what one does that waits or wakes.
        self.charge(thread, Ns(calls * self.machine.costs.futex.0));
        if moves {
            let known = self.sched.state().thread(thread);
            let (class, clamp) = (known.class, known.clamp);
            self.give_params(core, thread, class, cores, clamp);
        }
        part
    }
}

//! Which thread ran on which core when: recorded in bins, so that a long run needs no more than a short one.

use evenkeel_model::{CoreId, CoreOrder, Machine, Ns, ThreadId};
use evenkeel_sim::{Event, Observer};

use crate::error::Result;
use crate::plan::Job;
use crate::run::Results;
use crate::runner::Runner;

/// Bins of a lane: about as many pixels as a picture of it has.
const BINS: u64 = 900;

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// How long a bin is.
    pub bin: Ns,
    /// For each core the thread that had most of each bin; `None` where the core was idle for most of it.
    pub lanes: Vec<Vec<Option<ThreadId>>>,
    /// The threads, by [`ThreadId`].
    pub threads: Vec<RecordedThread>,
    /// When the run ended.
    pub end: Ns,
    /// How far the lanes reach.
    pub horizon: Ns,
}

/// A thread of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedThread {
    /// Its program's name.
    pub program: String,
    /// Its own.
    pub name: String,
}

/// Records a run: an observer of it.
#[derive(Clone, Debug)]
pub struct Recorder {
    bin: u64,
    horizon: Ns,
    lanes: Vec<Lane>,
    threads: Vec<RecordedThread>,
}

/// One core.
#[derive(Clone, Debug, Default)]
struct Lane {
    running: Option<(ThreadId, Ns)>,
    /// The bin that is being filled, and how much of it each thread had.
    current: u64,
    shares: Vec<(ThreadId, u64)>,
    /// For each full bin the thread that had most of it.
    bins: Vec<Option<ThreadId>>,
}

impl Recorder {
    /// A recorder for a run on a machine that lasts at most `horizon`.
    pub fn new(machine: &Machine, horizon: Ns) -> Self {
        let lanes = vec![Lane::default(); machine.cores.len()];
        Self { bin: (horizon.0 / BINS).max(1), horizon, lanes, threads: Vec::new() }
    }

    /// The timeline of a run that ended at `end`.
    pub fn finish(mut self, end: Ns) -> Timeline {
        for core in 0..self.lanes.len() {
            self.stop(CoreId(core as u16), end);
        }
        let (bins, width) = (self.horizon.0 / self.bin + 1, self.bin);
        let lanes = self.lanes.into_iter().map(|mut lane| {
            lane.fill_to(bins, width);
            lane.bins
        });
        Timeline { bin: Ns(width), lanes: lanes.collect(), threads: self.threads, end, horizon: self.horizon }
    }

    fn stop(&mut self, core: CoreId, at: Ns) {
        let bin = self.bin;
        let lane = &mut self.lanes[core.index()];
        let Some((thread, since)) = lane.running.take() else { return };
        let (mut from, to) = (since.0, at.0);
        while from < to {
            lane.fill_to(from / bin, bin);
            let end = to.min((from / bin + 1) * bin);
            match lane.shares.iter_mut().find(|(other, _)| *other == thread) {
                Some((_, share)) => *share += end - from,
                None => lane.shares.push((thread, end - from)),
            }
            from = end;
        }
    }
}

impl Lane {
    /// Closes all bins before this one.
    fn fill_to(&mut self, bin: u64, width: u64) {
        while self.current < bin {
            let busy: u64 = self.shares.iter().map(|(_, share)| share).sum();
            let most = self.shares.iter().max_by_key(|(_, share)| *share).map(|(thread, _)| *thread);
            self.bins.push(most.filter(|_| 2 * busy >= width));
            self.shares.clear();
            self.current += 1;
        }
    }
}

impl Observer for Recorder {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        match *event {
            Event::Created { program, name, .. } => {
                self.threads.push(RecordedThread { program: program.to_owned(), name: name.to_owned() });
            }
            Event::Run { core, thread } => {
                self.stop(core, at);
                self.lanes[core.index()].running = Some((thread, at));
            }
            Event::Stop { core, .. } => self.stop(core, at),
            Event::Ready { .. }
            | Event::TaskBegan { .. }
            | Event::TaskEnded { .. }
            | Event::Affinity { .. }
            | Event::Frequency { .. }
            | Event::Power { .. } => {}
        }
    }
}

/// The timelines of a plan's first workloads and machines.
#[derive(Clone, Debug)]
pub struct Timelines {
    /// One entry a workload and machine.
    pub panels: Vec<Panel>,
    /// How many more combinations the plan has.
    pub left: usize,
}

/// A workload on a machine, under each policy of the plan.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The workload's name.
    pub workload: String,
    /// The machine, its cores in the order of the runs.
    pub machine: Machine,
    /// One timeline a policy, all of them up to the same horizon.
    pub timelines: Vec<Timeline>,
}

impl Timelines {
    /// Records the first seed of at most so many combinations, in little-first core order if the plan has that. The runs
    /// were done already: their makespans give the common horizon.
    ///
    /// # Errors
    /// As [`Runner::run`].
    pub fn record(runner: &Runner, results: &Results, most: usize) -> Result<Self> {
        let plan = runner.plan();
        let (Some(&first), Some(&seed)) = (plan.orders.first(), plan.seeds.first()) else {
            return Ok(Self { panels: Vec::new(), left: 0 });
        };
        let order = if plan.orders.contains(&CoreOrder::LittleFirst) { CoreOrder::LittleFirst } else { first };
        let jobs = plan.jobs();
        let cells = (0..plan.workloads.len()).flat_map(|w| (0..plan.machines.len()).map(move |m| (w, m)));
        let mut panels = Vec::new();
        for (workload, machine) in cells.take(most) {
            let of_policies = (0..plan.policies.len()).map(|policy| Job { workload, machine, policy, order, seed });
            let of_policies: Vec<Job> = of_policies.collect();
            let done = |job: &Job| jobs.iter().position(|other| other == job).map(|at| &results.runs[at]);
            let makespans = of_policies.iter().filter_map(done).map(|run| run.measurement.makespan);
            let horizon = makespans.max().unwrap_or(Ns::ZERO);
            let mut timelines = Vec::new();
            for job in &of_policies {
                let mut recorder = Recorder::new(&runner.machine(*job), horizon);
                let run = runner.run(*job, &mut recorder)?;
                timelines.push(recorder.finish(run.measurement.makespan));
            }
            let ordered = plan.machines[machine].ordered(order);
            panels.push(Panel { workload: plan.workloads[workload].name.clone(), machine: ordered, timelines });
        }
        let left = plan.workloads.len() * plan.machines.len() - panels.len();
        Ok(Self { panels, left })
    }
}

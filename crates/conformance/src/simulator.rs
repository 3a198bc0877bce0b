//! The simulator as an arm: what a policy is tried on first.

use evenkeel_model::{Behaviour, CoreId, Ns, ThreadId, ThreadKind};
use evenkeel_sched::Setup;
use evenkeel_sim::{Event, Observer, Options, run};
use evenkeel_workload::program::{Phase, PhaseId, SchedParams, Spread, Start, Work};
use evenkeel_workload::{Op, Program, Thread, Workload};

use crate::{Arm, Facts, Played, PlayedThread, Scenario, Script, Step};

/// The simulator, under an oracle: what a policy sees of speedups is true.
#[derive(Clone, Debug)]
pub struct Simulator {
    /// How it runs a scenario.
    pub options: Options,
}

impl Simulator {
    /// Decisions take effect so much later.
    pub fn new(delay: Ns) -> Self {
        Self { options: Options { delay, oracle: true, ..Options::default() } }
    }
}

impl Arm for Simulator {
    fn facts(&self) -> Facts {
        Facts {
            name: format!("simulator, {} late", self.options.delay),
            big: 64,
            little: 64,
            period: Ns::ZERO,
            delay: self.options.delay,
            steady: true,
            overhead: 0.0,
            grain: Some(Ns(10)),
            displaces: false,
            policies: None,
            foretells: true,
        }
    }

    fn play(&mut self, scenario: &Scenario, policy: &Setup) -> Result<Played, String> {
        let machine = scenario.machine();
        let threads = scenario.threads.iter().enumerate().map(|(number, script)| {
            let (start, sched) = (Start::At(script.begins), params(script));
            let ops = script.steps.iter().map(op).collect();
            Thread { name: number.to_string(), process: 0, ops, start, kind: ThreadKind::Application, sched }
        });
        let workload = workload(threads.collect());
        let mut watch = Watch::new(scenario);
        let outcome =
            run(&machine, &workload, policy.make(), None, &self.options, &mut watch).map_err(|e| e.to_string())?;
        watch.fault.map_or(Ok(()), Err)?;
        for ((thread, end), script) in watch.played.iter_mut().zip(&outcome.threads).zip(&scenario.threads) {
            thread.ended = end.exited.is_some();
            (thread.big, thread.little) = (end.on_type[0], end.on_type[1]);
            thread.waited = end.exited.map(|at| script.waited(at.since(script.begins), thread));
        }
        Ok(Played { threads: watch.played, stale: outcome.stale_answers })
    }
}

fn params(script: &Script) -> SchedParams {
    SchedParams { cpus: Some(script.cores.iter().map(|core| core.0).collect()), ..SchedParams::default() }
}

fn op(step: &Step) -> Op {
    match *step {
        Step::Work(work) => Op::Compute { phase: PhaseId(0), work: Work::Time(work), spread: Spread::None },
        Step::Sleep(span) => Op::Sleep { span, spread: Spread::None },
        Step::Restrict(cores) => Op::Set(params(&Script { cores, ..Script::new(0, Vec::new()) })),
        Step::Displaced(_) => unreachable!("nothing moves simulated threads but the scheduler"),
    }
}

/// One program, all of whose code gains from a big core what the machine gives.
fn workload(threads: Vec<Thread>) -> Workload {
    let phase = Phase { name: "code".into(), behaviour: Behaviour { ilp: 8.0, ..Behaviour::REFERENCE } };
    let program = Program { name: "scenario".into(), threads, phases: vec![phase], ..Program::default() };
    Workload { name: "scenario".into(), programs: vec![program], ..Workload::default() }
}

/// Where threads run; that no two of them run on one core, and none on two.
struct Watch {
    played: Vec<PlayedThread>,
    cores: Vec<Option<ThreadId>>,
    fault: Option<String>,
}

impl Watch {
    fn new(scenario: &Scenario) -> Self {
        Self {
            played: vec![PlayedThread::default(); scenario.threads.len()],
            cores: vec![None; scenario.machine().cores.len()],
            fault: None,
        }
    }

    fn run(&mut self, core: CoreId, thread: ThreadId) {
        let cores = &mut self.played[thread.index()].cores;
        *cores = cores.with(core);
        let twice = self.cores.contains(&Some(thread));
        let before = self.cores[core.index()].replace(thread);
        if twice || before.is_some() {
            self.fault = Some(format!("{thread:?} on {core:?}, which has {before:?}; it runs elsewhere: {twice}"));
        }
    }
}

impl Observer for Watch {
    fn observe(&mut self, _at: Ns, event: &Event<'_>) {
        match event {
            Event::Run { core, thread } => self.run(*core, *thread),
            Event::Stop { core, .. } => self.cores[core.index()] = None,
            _ => {}
        }
    }
}

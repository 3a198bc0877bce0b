//! The simulator does what every host must, with decisions that take effect at once and with late ones.

use crate::common::{program, thread, workload};
use evenkeel_conformance::{Arm, Facts, Played, PlayedThread, Scenario, Script, Step, check, judge, mixed};
use evenkeel_model::{CoreId, Ns, ThreadId};
use evenkeel_sched::{POLICIES, Setup};
use evenkeel_sim::{Event, Observer, Options, run};
use evenkeel_workload::Op;
use evenkeel_workload::program::{PhaseId, SchedParams, Spread, Start, Work};
use proptest::prelude::*;

struct Simulator {
    delay: Ns,
}

impl Arm for Simulator {
    fn facts(&self) -> Facts {
        Facts {
            name: format!("simulator, {} late", self.delay),
            big: 64,
            little: 64,
            period: Ns::ZERO,
            delay: self.delay,
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
            let mut thread = thread(&number.to_string(), script.steps.iter().map(op).collect());
            thread.start = Start::At(script.begins);
            thread.sched = params(script);
            thread
        });
        let workload = workload(vec![program("scenario", threads.collect())]);
        let options = Options { delay: self.delay, oracle: true, ..Options::default() };
        let mut watch = Watch::new(scenario);
        let outcome = run(&machine, &workload, policy.make(), None, &options, &mut watch).map_err(|e| e.to_string())?;
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

#[test]
fn the_simulator_does_what_every_host_must() {
    for delay in [Ns::ZERO, Ns::from_us(50), Ns::from_ms(1)] {
        let report = check(&mut Simulator { delay });
        println!("{report}");
        assert!(report.failed.is_empty() && report.skipped.is_empty(), "{report}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_thread_is_lost_however_late_decisions_are(
        policy in 0..POLICIES.len(),
        (big, little, threads) in (1..3_u16, 1..4_u16, 1..14_u16),
        delay in 0..2_000_000_u64,
    ) {
        let mut arm = Simulator { delay: Ns(delay) };
        let scenario = mixed("random", big, little, threads);
        let setup = Setup::from(POLICIES[policy]);
        if evenkeel_sched::policy::check(&*setup.make(), &scenario.machine()).is_ok() {
            let played = arm.play(&scenario, &setup).map_err(TestCaseError::fail)?;
            judge(&scenario, &arm.facts(), &played).map_err(TestCaseError::fail)?;
        }
    }
}

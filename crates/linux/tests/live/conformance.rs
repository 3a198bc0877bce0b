//! The affinity host does what every host must, over this machine's kernel: real threads on two CPUs, of which one is
//! called big. Both are equally fast, so what is judged is where threads run, not how much they achieve.

use std::ffi::OsString;
use std::thread;
use std::time::Duration;

use evenkeel_conformance::{Arm, Facts, Played, PlayedThread, Scenario, Script, Step, check};
use evenkeel_linux::guard::Guard;
use evenkeel_linux::host::{PERIOD, Plan, Target, follow};
use evenkeel_linux::launch::Launched;
use evenkeel_linux::mask;
use evenkeel_model::{CoreId, CoreSet, Ns};
use evenkeel_sched::Setup;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// The command of this binary that plays a scenario.
pub const COMMAND: &str = "__play";

/// A scenario takes this many times as long here, so that other load on the machine matters little.
const STRETCH: u64 = 5;
/// A thread that ran no longer than this on a CPU was only started there.
const STARTED: Ns = Ns::from_ms(10);
/// One that moves no thread, one that moves running threads, one that binds them.
const POLICIES: &[&str] = &["cfs", "pfs", "wash"];

struct Affinity {
    cpus: [u16; 2],
}

impl Arm for Affinity {
    fn facts(&self) -> Facts {
        Facts {
            name: "affinity host, over this kernel".into(),
            big: 1,
            little: 1,
            period: Ns(2 * PERIOD.0),
            delay: Ns::ZERO,
            steady: false,
            grain: None,
            displaces: false,
            foretells: false,
            policies: Some(POLICIES),
        }
    }

    fn play(&mut self, scenario: &Scenario, policy: &Setup) -> Result<Played, String> {
        let plan = Plan {
            machine: scenario.machine(),
            cpus: self.cpus.to_vec(),
            policy: policy.clone(),
            period: PERIOD,
            timeline: false,
        };
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command: Vec<OsString> = vec![program.into(), COMMAND.into()];
        command.extend(self.cpus.map(|cpu| cpu.to_string().into()));
        command.extend(scenario.threads.iter().map(|script| text(script).into()));
        let guard = Guard::spawn().map_err(|error| error.to_string())?;
        let mut launched = Launched::new(&command).map_err(|error| error.to_string())?;
        let target = Target::Command(&mut launched);
        let followed = follow(&plan, target, guard, &mut |_| ()).map_err(|error| error.to_string())?;
        let ended = followed.status.is_some_and(|status| status.success());
        let thread = |number: usize| {
            let name = number.to_string();
            let found = followed.summary.threads.iter().find(|thread| thread.name == name);
            let found = found.ok_or_else(|| format!("thread {name} was not seen"))?;
            let used = |on: &u16| found.run[usize::from(*on)] > STARTED;
            let cores = (0..2).filter(used).map(CoreId).collect();
            let [big, little] = [0, 1].map(|on| Ns(found.run[on].0 / STRETCH));
            Ok(PlayedThread { ended, big, little, cores })
        };
        let threads = (0..scenario.threads.len()).map(thread).collect::<Result<_, String>>()?;
        Ok(Played { threads, stale: 0 })
    }
}

/// A script as an argument: when it begins, its cores, its steps.
fn text(script: &Script) -> String {
    let step = |step: &Step| match step {
        Step::Work(work) => format!("w{}", work.0),
        Step::Sleep(span) => format!("s{}", span.0),
        Step::Restrict(cores) => format!("r{}", cores_text(*cores)),
        Step::Displaced(_) => unreachable!("the kernel moves threads when it wants to"),
    };
    let steps: Vec<String> = script.steps.iter().map(step).collect();
    format!("{};{};{}", script.begins.0, cores_text(script.cores), steps.join(","))
}

/// Of the first two cores.
fn cores_text(cores: CoreSet) -> u8 {
    u8::from(cores.contains(CoreId(0))) | u8::from(cores.contains(CoreId(1))) << 1
}

/// Plays a scenario: the two CPUs, and a script for each thread.
pub fn play(arguments: &[String]) {
    let cpus: Vec<usize> = arguments[..2].iter().map(|cpu| cpu.parse().expect("a CPU")).collect();
    keep_to(&cpus, 3);
    thread::scope(|scope| {
        for (number, script) in arguments[2..].iter().enumerate() {
            let cpus = &cpus;
            let thread = thread::Builder::new().name(number.to_string());
            thread.spawn_scoped(scope, move || perform(script, cpus)).expect("a thread");
        }
    });
}

fn perform(script: &str, cpus: &[usize]) {
    let mut parts = script.split(';');
    let mut part = || parts.next().expect("three parts");
    sleep(part().parse().expect("a time"));
    keep_to(cpus, part().parse().expect("cores"));
    for step in part().split(',') {
        let (what, value) = step.split_at(1);
        match what {
            "w" => compute(value.parse().expect("a time")),
            "s" => sleep(value.parse().expect("a time")),
            _ => keep_to(cpus, value.parse().expect("cores")),
        }
    }
}

fn keep_to(cpus: &[usize], cores: u8) {
    let mut set = CpuSet::new();
    for (core, cpu) in cpus.iter().enumerate() {
        if cores >> core & 1 == 1 {
            set.set(*cpu);
        }
    }
    sched_setaffinity(None, &set).expect("a mask of CPUs that it may use");
}

fn sleep(ns: u64) {
    thread::sleep(Duration::from_nanos(ns * STRETCH));
}

fn compute(ns: u64) {
    let used = || clock_gettime(ClockId::ThreadCPUTime);
    let ns_of = |time: rustix::time::Timespec| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    let until = ns_of(used()) + ns * STRETCH;
    while ns_of(used()) < until {
        std::hint::spin_loop();
    }
}

#[test(two_cpus)]
fn the_affinity_host_does_what_every_host_must_with_real_threads() {
    let own = mask::own().expect("its own mask");
    let report = check(&mut Affinity { cpus: [own[0], own[1]] });
    println!("{report}");
    assert!(report.failed.is_empty(), "{report}");
}

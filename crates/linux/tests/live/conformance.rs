//! The affinity host does what every host must, over this machine's kernel: real threads on two CPUs, of which one is
//! called big ([`Stage`]).

use std::ffi::OsString;

use evenkeel_conformance::{Arm, Facts, Played, PlayedThread, Scenario, Script, Stage, Step, check};
use evenkeel_linux::guard::Guard;
use evenkeel_linux::host::{PERIOD, Plan, Target, follow};
use evenkeel_linux::launch::Launched;
use evenkeel_linux::mask;
use evenkeel_model::{CoreId, CoreSet, Ns};
use evenkeel_sched::Setup;

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
            overhead: 0.0,
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
            Ok(PlayedThread { ended, big, little, waited: None, cores })
        };
        let threads = (0..scenario.threads.len()).map(thread).collect::<Result<_, String>>()?;
        Ok(Played { threads, stale: 0 })
    }
}

/// A script as an argument: when and where it begins, its cores, its steps.
fn text(script: &Script) -> String {
    let step = |step: &Step| match step {
        Step::Work(work) => format!("w{}", work.0),
        Step::Sleep(span) => format!("s{}", span.0),
        Step::Restrict(cores) => format!("r{}", cores_text(*cores)),
        Step::Displaced(_) => unreachable!("the kernel moves threads when it wants to"),
    };
    let steps: Vec<String> = script.steps.iter().map(step).collect();
    format!("{};{};{};{}", script.begins.0, script.on.0, cores_text(script.cores), steps.join(","))
}

/// Of the first two cores.
fn cores_text(cores: CoreSet) -> u8 {
    u8::from(cores.contains(CoreId(0))) | u8::from(cores.contains(CoreId(1))) << 1
}

fn cores(text: &str) -> CoreSet {
    let bits: u8 = text.parse().expect("cores");
    (0..2).filter(|core| bits >> core & 1 == 1).map(CoreId).collect()
}

/// The script of a text.
fn script(text: &str) -> Script {
    let time = |text: &str| Ns(text.parse().expect("a time"));
    let step = |text: &str| match text.split_at(1) {
        ("w", work) => Step::Work(time(work)),
        ("s", span) => Step::Sleep(time(span)),
        (_, to) => Step::Restrict(cores(to)),
    };
    let parts: Vec<&str> = text.split(';').collect();
    let steps = parts[3].split(',').map(step).collect();
    Script { begins: time(parts[0]), cores: cores(parts[2]), ..Script::new(parts[1].parse().expect("a core"), steps) }
}

/// Plays a scenario: the two CPUs, and a script for each thread.
pub fn play(arguments: &[String]) {
    let cpus = arguments[..2].iter().map(|cpu| cpu.parse().expect("a CPU")).collect();
    let scripts: Vec<Script> = arguments[2..].iter().map(|text| script(text)).collect();
    Stage { cpus, big: 1, stretch: STRETCH, standstill: Ns::NEVER }.play(&scripts);
}

#[test(two_cpus)]
fn the_affinity_host_does_what_every_host_must_with_real_threads() {
    let own = mask::own().expect("its own mask");
    let report = check(&mut Affinity { cpus: [own[0], own[1]] });
    println!("{report}");
    assert!(report.failed.is_empty(), "{report}");
}

//! The kernel host does what every host must, with real threads, over the kernel of a guest whose cores are equally fast.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::process::Command;

use evenkeel_conformance::{Arm, Facts, Played, Scenario, Stage, check};
use evenkeel_model::Ns;
use evenkeel_sched::policy::by_name;
use evenkeel_sched::{Description, Setup};
use evenkeel_scx::{Bounds, Path, Plan, Session};

use crate::scx::policies_and_paths;

/// The command of this binary that plays every scenario inside the guest, by the policies that are named.
pub const COMMAND: &str = "__conformance";

/// A scenario takes this many times as long here: all cores of the guest share one of the host's.
const STRETCH: u64 = 5;

/// The kernel of this machine under a policy. Loading its part takes seconds, so scenarios for the same machine share it.
struct Guest {
    policy: &'static Description,
    path: Path,
    session: Option<(String, Session)>,
}

impl Guest {
    fn session(&mut self, plan: Plan) -> Result<&Session, String> {
        if self.session.as_ref().is_none_or(|(machine, _)| *machine != plan.machine.name) {
            self.end()?;
            let name = plan.machine.name.clone();
            self.session = Some((name, Session::start(plan).map_err(|error| error.to_string())?));
        }
        Ok(&self.session.as_ref().unwrap().1)
    }

    fn end(&mut self) -> Result<(), String> {
        let Some((_, session)) = self.session.take() else { return Ok(()) };
        match session.finish().map_err(|error| error.to_string())?.1 {
            Some(ended) => Err(ended.to_string()),
            None => Ok(()),
        }
    }
}

impl Arm for Guest {
    fn facts(&self) -> Facts {
        Facts {
            name: format!("kernel host, over the kernel of a guest, {}, {:?}", self.policy.name, self.path),
            big: 2,
            little: 2,
            // The host's other programs make the whole guest stand still for that long.
            period: Ns::from_ms(20),
            // What takes longer, cores do by themselves.
            delay: Ns(Bounds::default().late.0 / STRETCH),
            steady: false,
            // The thread that decides stays on one big core, and is built for debugging.
            overhead: 0.3,
            grain: None,
            displaces: false,
            policies: Some(std::slice::from_ref(&self.policy.name)),
            foretells: false,
        }
    }

    fn play(&mut self, scenario: &Scenario, policy: &Setup) -> Result<Played, String> {
        let machine = scenario.machine();
        let cpus: Vec<u16> = (0..machine.cores.len() as u16).collect();
        let (path, bounds) = (self.path, Bounds::default());
        let plan =
            Plan { machine, cpus: cpus.clone(), policy: policy.clone(), path, partial: false, bounds, timeline: false };
        let session = self.session(plan)?;
        let before = session.figures().stale;
        let stage = Stage { cpus, big: scenario.big, stretch: STRETCH, standstill: Ns::from_ms(1) };
        let threads = stage.play(&scenario.threads);
        if session.ended() {
            return self.end().and(Err("the thread that decides has ended".into()));
        }
        Ok(Played { threads, stale: session.figures().stale - before })
    }
}

/// Plays and judges inside the guest, by policies and where they decide: `pfs/kernel`. Returns whether every expectation was met.
pub fn play(policies: &[String]) -> bool {
    let fails = |policy: &String| {
        let (name, path) = policy.split_once('/').expect("a policy and a path");
        let path = if path == "kernel" { Path::Kernel } else { Path::Process };
        let mut guest = Guest { policy: by_name(name).expect("a policy"), path, session: None };
        let mut report = check(&mut guest);
        report.failed.extend(guest.end().err());
        println!("{report}");
        report.passed == 0 || !report.failed.is_empty() || !report.skipped.is_empty()
    };
    // All play, whatever becomes of the first.
    policies.iter().filter(|policy| fails(policy)).count() == 0
}

#[test(vm)]
fn the_kernel_host_does_what_every_host_must_with_real_threads() {
    let all = std::env::var_os("EVENKEEL_SLOW").is_some();
    // One that labels threads, and one that does not.
    let some = ["colab/daemon", "colab/kernel", "pfs/kernel"].map(String::from);
    let policies = if all { policies_and_paths(&[]) } else { some.into() };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"))
        .args(["vm", "--symmetric", "-q", "-m", "2B2S:2", "--accel", "tcg", "--timeout", "1200s", "--"])
        .arg(std::env::current_exe().unwrap())
        .arg(COMMAND)
        .args(policies)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let (report, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{report}");
    assert!(output.status.success(), "{report}{errors}");
}

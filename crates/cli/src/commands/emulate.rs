//! `evenkeel emulate`: this machine, made asymmetric while a command runs.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use evenkeel_linux::emulate::duty::Account;
use evenkeel_linux::emulate::{Emulation, Outcome, Plan};
use evenkeel_linux::host::{self, Followed, Summary};
use evenkeel_linux::launch::{self, Launched};
use evenkeel_linux::spec::{RATIO, Spec};
use evenkeel_model::Ns;
use evenkeel_report::table;
use evenkeel_topology::{Topology, list};

use crate::args::{Cores, Emulate, Format};
use crate::failed::Own;
use crate::files::Target;
use crate::{catalog, json, live, messages};

/// A ratio that is off by more than this share of it causes a warning, after so many cycles.
const TOLERANCE: f64 = 0.02;
const SETTLED: u64 = 250;

/// Runs the command and returns its exit status.
pub fn run(args: &Emulate) -> Result<u8> {
    let plan = plan(args)?;
    let host = args.policy.as_ref().map(|policy| host(&plan, policy)).transpose()?;
    let output = Target::open_some(args.output.as_ref())?;
    launch::find(&args.command[0])?;
    shared_cores(&plan);
    // First, so that a refusal starts nothing.
    let emulation = Emulation::start(&plan)?;
    let (code, summary) = launch(&plan, host.as_ref(), &args.command)?;
    let outcome = emulation.finish();
    if let (Some(host), Some(summary)) = (&host, &summary) {
        live::write(&live::Account::new(host, summary).text(args.format.format)?, None, args.quiet)?;
    }
    let report = Report { plan: &plan, outcome: &outcome };
    report.warn();
    let text = report.text(args.format.format)?;
    live::write(&text, output, args.quiet).map(|()| code)
}

fn plan(args: &Emulate) -> Result<Plan> {
    if let Some(machine) = &args.machine {
        let spec: Spec = machine.parse().map_err(anyhow::Error::msg)?;
        return Ok(Plan::of(&spec, args.period)?);
    }
    let (machine, cpus) = live::machine(&args.cores)?;
    let of = |cores: evenkeel_model::CoreSet| cores.iter().map(|core| cpus[core.index()]).collect::<Vec<_>>();
    let ratio = args.cores.ratio.unwrap_or(RATIO);
    Ok(Plan { big: of(machine.big()), little: of(machine.little()), ratio, period: args.period })
}

/// How a policy schedules the command on that machine.
fn host(plan: &Plan, policy: &str) -> Result<host::Plan> {
    let policy = catalog::live_policy(policy)?;
    let (big, little) = (list::text(&plan.big), list::text(&plan.little));
    let (machine, cpus) = live::machine(&Cores { big: Some(big), little: Some(little), ratio: Some(plan.ratio) })?;
    catalog::accepted(&policy, &machine)?;
    Ok(host::Plan { machine, cpus, policy, period: host::PERIOD, timeline: false })
}

/// In this process, so that whatever ends it ends the policy too.
fn launch(plan: &Plan, host: Option<&host::Plan>, command: &[OsString]) -> Result<(u8, Option<Summary>)> {
    let mut guard = live::guard()?;
    let mut launched = Launched::new(command)?;
    plan.confine(launched.pid(), &mut guard).context(Own("cannot confine the command to the machine's CPUs"))?;
    if let Some(host) = host {
        let Followed { status, summary } = live::follow(host, host::Target::Command(&mut launched), guard)?;
        return Ok((status.map_or(0, launch::exit_code), Some(summary)));
    }
    launched.release()?;
    Ok((launch::exit_code(launched.finish()?), None))
}

/// Warns if a little core shares its hardware with a big one: occupying the one slows the other down, too.
fn shared_cores(plan: &Plan) {
    let Ok(topology) = Topology::read(Path::new("/")) else { return };
    for little in &plan.little {
        let siblings = topology.cpu(*little).map(|cpu| cpu.siblings.as_slice()).unwrap_or_default();
        if let Some(big) = siblings.iter().find(|cpu| plan.big.contains(cpu)) {
            messages::warning(format_args!(
                "CPU {big} (big) and CPU {little} (little) are hardware threads of one core, so that occupying the one \
                 slows the other down; --big and --little choose CPUs"
            ));
        }
    }
}

/// What became of the little cores.
struct Report<'a> {
    plan: &'a Plan,
    outcome: &'a Outcome,
}

impl Report<'_> {
    fn warn(&self) {
        for (cpu, account) in self.outcome.cores.iter().filter(|(_, account)| account.cycles >= SETTLED) {
            let reached = account.ratio().unwrap_or(f64::INFINITY);
            if (reached / self.plan.ratio - 1.0).abs() > TOLERANCE {
                let why = self.why(*cpu);
                messages::warning(format_args!(
                    "CPU {cpu} was slower by {reached:.3} instead of {}: {why}",
                    self.plan.ratio
                ));
            }
        }
    }

    /// Why a CPU was not as slow as it should have been.
    fn why(&self, cpu: u16) -> String {
        let others: Vec<String> =
            self.outcome.neighbours.iter().filter(|(on, _)| *on == cpu).map(|(_, pid)| pid.to_string()).collect();
        if !others.is_empty() {
            return format!("another `evenkeel emulate` slowed it down as well (process {})", others.join(", "));
        }
        if self.outcome.stopped {
            return "Evenkeel was stopped for a while (Ctrl-Z, SIGSTOP), and with it what slows the CPU down".into();
        }
        "threads of a higher real-time priority or of SCHED_DEADLINE (as those of `evenkeel vm`), or the kernel's limit of \
         real-time time, came first"
            .into()
    }

    fn text(&self, format: Format) -> Result<String> {
        match format {
            Format::Table => Ok(self.table()),
            Format::Json => json::print(&self.json()),
        }
    }

    fn table(&self) -> String {
        let plan = self.plan;
        let heading = format!("evenkeel emulate: big {}, little {}", list::text(&plan.big), list::text(&plan.little));
        let mut cores = table::new(&["little CPU", ">ratio", ">reached", ">cycles", ">longest away"]);
        for (cpu, account) in &self.outcome.cores {
            let reached = account.ratio().map_or("-".into(), |ratio| format!("{ratio:.3}"));
            let cycles = account.cycles.to_string();
            cores.add_row([cpu.to_string(), plan.ratio.to_string(), reached, cycles, account.longest.to_string()]);
        }
        format!("\n{}{}", table::heading(&heading), table::text(&cores))
    }

    fn json(&self) -> json::Emulated<'_> {
        let seconds = |ns: Ns| ns.0 as f64 / 1e9;
        let core = |(cpu, account): &(u16, Account)| json::LittleCpu {
            cpu: *cpu,
            reached: account.ratio(),
            elapsed_s: seconds(account.elapsed),
            cycles: account.cycles,
            away_s: seconds(account.taken),
            longest_away_s: seconds(account.longest),
        };
        json::Emulated {
            big: &self.plan.big,
            ratio: self.plan.ratio,
            period_s: seconds(self.plan.period),
            little: self.outcome.cores.iter().map(core).collect(),
        }
    }
}

//! `evenkeel emulate`: this machine, made asymmetric while a command runs.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use evenkeel_linux::emulate::duty::Account;
use evenkeel_linux::emulate::{Emulation, Plan};
use evenkeel_linux::launch::{self, Launched};
use evenkeel_linux::spec::{RATIO, Spec};
use evenkeel_model::Ns;
use evenkeel_topology::{Topology, list};
use serde::Serialize;

use crate::args::{Emulate, Format};
use crate::files::Target;
use crate::{catalog, json, live, messages, table};

/// A ratio that is further off than this part of it is worth a word, after so many cycles.
const TOLERANCE: f64 = 0.02;
const SETTLED: u64 = 250;

/// Runs the command and answers its exit status.
pub fn run(args: &Emulate) -> Result<u8> {
    let plan = plan(args)?;
    let command = match &args.policy {
        None => args.command.clone(),
        Some(policy) => under(&plan, catalog::live_policy(policy)?.name(), args)?,
    };
    let output = Target::open_some(args.output.as_ref())?;
    live::find(&args.command[0])?;
    shared_cores(&plan);
    // First, so that a refusal starts nothing.
    let emulation = Emulation::start(&plan)?;
    let code = launch(&plan, &command)?;
    let cores = emulation.finish();
    let report = Report { plan: &plan, cores: &cores };
    report.warn();
    let text = report.text(args.format.format)?;
    match output {
        Some(target) => target.write(text.as_bytes())?,
        None if !args.quiet => messages::plain(&text),
        None => {}
    }
    Ok(code)
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

/// The command under a policy.
fn under(plan: &Plan, policy: &str, args: &Emulate) -> Result<Vec<OsString>> {
    let mut words = live::told(&["run", "--policy", policy], &plan.big, &plan.little, plan.ratio)?;
    if args.quiet {
        words.push("--quiet".into());
    }
    words.push("--".into());
    Ok(words.into_iter().map(OsString::from).chain(args.command.iter().cloned()).collect())
}

fn launch(plan: &Plan, command: &[OsString]) -> Result<u8> {
    let mut launched = Launched::new(command).context("cannot start a process")?;
    let _guard = plan.confine(launched.pid()).context("cannot confine the command to the machine's CPUs")?;
    launched.release().context("the started process has gone")?;
    loop {
        if let Some(status) = launched.poll()? {
            return Ok(launch::exit_code(status));
        }
        launched.wait()?;
    }
}

/// Says so where a little core shares its hardware with a big one: occupying the one slows the other down, too.
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
    cores: &'a [(u16, Account)],
}

impl Report<'_> {
    fn warn(&self) {
        for (cpu, account) in self.cores.iter().filter(|(_, account)| account.cycles >= SETTLED) {
            let reached = account.ratio().unwrap_or(f64::INFINITY);
            if (reached / self.plan.ratio - 1.0).abs() > TOLERANCE {
                messages::warning(format_args!(
                    "CPU {cpu} was slower by {reached:.3} instead of {}: threads of a higher real-time priority or of \
                     SCHED_DEADLINE (as those of `evenkeel vm`), or the kernel's limit of real-time time, came first",
                    self.plan.ratio
                ));
            }
        }
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
        for (cpu, account) in self.cores {
            let reached = account.ratio().map_or("-".into(), |ratio| format!("{ratio:.3}"));
            let cycles = account.cycles.to_string();
            cores.add_row([cpu.to_string(), plan.ratio.to_string(), reached, cycles, account.longest.to_string()]);
        }
        format!("\n{}{}", table::heading(&heading), table::text(&cores))
    }

    fn json(&self) -> JsonReport<'_> {
        let seconds = |ns: Ns| ns.0 as f64 / 1e9;
        let core = |(cpu, account): &(u16, Account)| JsonCore {
            cpu: *cpu,
            reached: account.ratio(),
            elapsed_s: seconds(account.elapsed),
            cycles: account.cycles,
            away_s: seconds(account.taken),
            longest_away_s: seconds(account.longest),
        };
        JsonReport {
            big: &self.plan.big,
            ratio: self.plan.ratio,
            period_s: seconds(self.plan.period),
            little: self.cores.iter().map(core).collect(),
        }
    }
}

#[derive(Serialize)]
struct JsonReport<'a> {
    big: &'a [u16],
    ratio: f64,
    period_s: f64,
    little: Vec<JsonCore>,
}

#[derive(Serialize)]
struct JsonCore {
    cpu: u16,
    reached: Option<f64>,
    elapsed_s: f64,
    cycles: u64,
    away_s: f64,
    longest_away_s: f64,
}

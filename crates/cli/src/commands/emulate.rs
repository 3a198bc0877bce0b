//! `evenkeel emulate`: this machine, made asymmetric while a command runs.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Error, Result, bail};
use evenkeel_linux::emulate::duty::Account;
use evenkeel_linux::emulate::dvfs::{ClockAccount, Clocks};
use evenkeel_linux::emulate::{self, Confined, Emulation, Outcome, Plan};
use evenkeel_linux::host::{self, Followed, Summary};
use evenkeel_linux::launch::{self, Launched};
use evenkeel_linux::spec::{RATIO, Spec};
use evenkeel_model::Ns;
use evenkeel_report::table::{self, Stream};
use evenkeel_sched::Setup;
use evenkeel_topology::{SYSFS, Topology, list};

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
    let policy = args.policy.as_deref().map(catalog::live_policy).transpose()?;
    let output = Target::open_some(args.output.as_ref())?;
    launch::find(&args.command[0])?;
    shared_cores(&plan);
    // First, so that a refusal starts nothing. With frequencies the policy is told of the emulated machine, which is there from then on.
    let told = |root: Option<&Path>| policy.clone().map(|policy| host(&plan, root, policy)).transpose();
    let known = if plan.clocks.is_none() { told(None)? } else { None };
    let emulation = Emulation::start(&plan)?;
    let host = if plan.clocks.is_some() { told(emulation.root())? } else { known };
    let root = emulation.root().map(|root| (SYSFS, root.as_os_str().to_owned()));
    let (code, summary) = launch(&plan, host.as_ref(), &args.command, root.as_slice())?;
    let outcome = emulation.finish();
    let said = match (&host, &summary) {
        (Some(host), Some(summary)) => {
            let text = live::Account::new(host, summary).text(args.format.format, Stream::Errors);
            text.and_then(|text| live::write(&text, None, args.quiet))
        }
        _ => Ok(()),
    };
    let report = Report { plan: &plan, outcome: &outcome };
    report.warn();
    let text = report.text(args.format.format, live::stream(output.as_ref()))?;
    // One account that cannot be written does not cost the other.
    let written = live::write(&text, output, args.quiet);
    said.and(written).map(|()| code)
}

fn plan(args: &Emulate) -> Result<Plan> {
    let clocks = args.dvfs.as_ref().map(|machine| clocks(machine)).transpose()?;
    if let Some(machine) = &args.machine {
        let spec: Spec = machine.parse().map_err(Error::msg)?;
        if clocks.is_some() && machine.contains(':') {
            bail!(
                "{machine:?} says how many times faster big cores are, which --dvfs takes from its machine: expected cores alone, \
                 such as {}B{}L",
                spec.big,
                spec.little
            );
        }
        return Ok(Plan::of(&spec, args.period, clocks)?);
    }
    if args.cores.big.is_none() && args.cores.little.is_none() {
        bail!("MACHINE is missing: expected one such as 2B2L:3, or --big and --little");
    }
    let (machine, cpus) = live::machine(&args.cores)?;
    let of = |cores: evenkeel_model::CoreSet| cores.iter().map(|core| cpus[core.index()]).collect::<Vec<_>>();
    let ratio = clocks.as_ref().map_or(args.cores.ratio.unwrap_or(RATIO), Clocks::ratio);
    Ok(Plan { big: of(machine.big()), little: of(machine.little()), ratio, period: args.period, clocks })
}

/// What cores can be set to: those of a machine, by its name or from a file.
fn clocks(machine: &str) -> Result<Clocks> {
    Ok(Clocks::of(&catalog::machine(machine)?, emulate::slowest())?)
}

/// How a policy schedules the command on that machine, of which `root` has the files, if there are some: as `evenkeel run` there would.
fn host(plan: &Plan, root: Option<&Path>, policy: Setup) -> Result<host::Plan> {
    let (machine, cpus) = match root {
        Some(root) => {
            let topology = Topology::read(root).and_then(|found| found.with_powers_of_environment());
            topology.and_then(|topology| topology.machine("this machine")).map_err(Error::msg)?
        }
        None => {
            let (big, little) = (list::text(&plan.big), list::text(&plan.little));
            live::machine(&Cores { big: Some(big), little: Some(little), ratio: Some(plan.ratio) })?
        }
    };
    catalog::accepted(&policy, &machine)?;
    Ok(host::Plan { machine, cpus, policy, period: host::PERIOD, timeline: false })
}

/// In this process, so that whatever ends it ends the policy too.
fn launch(
    plan: &Plan,
    host: Option<&host::Plan>,
    command: &[OsString],
    variables: &[(&str, OsString)],
) -> Result<(u8, Option<Summary>)> {
    let mut guard = live::guard()?;
    let mut launched = Launched::with(command, variables)?;
    let confined = plan.confine(launched.pid(), &mut guard);
    let confined = confined.context(Own("cannot confine the command to the machine's CPUs"))?;
    if let Some(host) = host {
        let followed = live::follow(host, host::Target::Command(&mut launched), guard);
        confined.into_iter().for_each(Confined::end);
        let Followed { status, summary } = followed?;
        return Ok((status.map_or(0, launch::exit_code), Some(summary)));
    }
    launched.release()?;
    let status = launched.finish_while(|| confined.iter().for_each(Confined::reap));
    confined.into_iter().for_each(Confined::end);
    Ok((launch::exit_code(status?), None))
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

impl<'a> Report<'a> {
    fn warn(&self) {
        for (cpu, account) in &self.outcome.cores {
            // What the other has taken counts here as the program's, so that no number would be right; and how far they
            // hit the same moments is chance, so that one that looks right is no reason to be silent.
            let others = self.others(*cpu);
            if !others.is_empty() {
                messages::warning(format_args!(
                    "CPU {cpu} was slowed down by another `evenkeel emulate` as well (process {}), so that its speed, energy \
                     and power are not those of this machine; --big and --little choose CPUs that no other one uses",
                    others.join(", ")
                ));
                continue;
            }
            // Of the speed that it should have had: the inverse of the ratio, or the mean of what frequencies meant.
            let reached = account.reached().unwrap_or(1.0);
            if account.cycles < SETTLED || (reached - 1.0).abs() <= TOLERANCE {
                continue;
            }
            let why = self.why();
            match self.plan.clocks {
                Some(_) => {
                    messages::warning(format_args!("CPU {cpu} had {reached:.3} of the speed that was set: {why}"))
                }
                None => {
                    let (found, ratio) = (account.ratio().unwrap_or(f64::INFINITY), self.plan.ratio);
                    messages::warning(format_args!("CPU {cpu} was slower by {found:.3} instead of {ratio}: {why}"));
                }
            }
        }
        for clock in &self.outcome.clocks {
            let ClockAccount { cpu, ignored, clamped, .. } = clock;
            if *ignored > 0 {
                messages::warning(format_args!(
                    "scaling_setspeed of CPU {cpu}: texts that are no frequency and changed nothing: {ignored}; expected kHz, \
                     such as {}",
                    clock.mean.0 / 1000
                ));
            }
            if *clamped > 0 {
                messages::warning(format_args!(
                    "scaling_setspeed of CPU {cpu}: frequencies beyond the lowest or the highest, of which that was set instead: {clamped}"
                ));
            }
        }
    }

    /// The processes of other Evenkeels that slowed a CPU down.
    fn others(&self, cpu: u16) -> Vec<String> {
        self.outcome.neighbours.iter().filter(|(on, _)| *on == cpu).map(|(_, pid)| pid.to_string()).collect()
    }

    /// Why a CPU was not as slow as it should have been.
    fn why(&self) -> &'static str {
        if self.outcome.stopped {
            return "Evenkeel was stopped for a while (Ctrl-Z, SIGSTOP), and with it what slows the CPU down";
        }
        "threads of a higher real-time priority or of SCHED_DEADLINE (as those of `evenkeel vm`), or the kernel's limit of \
         real-time time, came first"
    }

    fn text(&self, format: Format, to: Stream) -> Result<String> {
        match format {
            Format::Table => Ok(self.table(to)),
            Format::Json => json::print(&self.json()),
        }
    }

    fn table(&self, to: Stream) -> String {
        let plan = self.plan;
        let mut heading =
            format!("evenkeel emulate: big {}, little {}", list::text(&plan.big), list::text(&plan.little));
        if let Some(clocks) = &plan.clocks {
            heading += &format!(" of {}", clocks.machine);
            return format!("\n{}{}", table::heading(&heading), self.clocks(to));
        }
        let mut cores = table::on(to, &["little CPU", ">ratio", ">reached", ">cycles", ">longest away"]);
        for (cpu, account) in &self.outcome.cores {
            let reached = account.ratio().map_or("-".into(), |ratio| format!("{ratio:.3}"));
            let cycles = account.cycles.to_string();
            cores.add_row([cpu.to_string(), plan.ratio.to_string(), reached, cycles, account.longest.to_string()]);
        }
        format!("\n{}{}", table::heading(&heading), table::text(&cores))
    }

    fn clocks(&self, to: Stream) -> String {
        let columns = ["CPU", "core", ">mean MHz", ">changes", ">busy", ">energy", ">power", ">speed reached"];
        let mut cores = table::on(to, &columns);
        for (clock, (_, account)) in self.outcome.clocks.iter().zip(&self.outcome.cores) {
            cores.add_row([
                clock.cpu.to_string(),
                clock.core.clone(),
                format!("{:.1}", clock.mean.0 as f64 / 1e6),
                clock.changes.to_string(),
                clock.busy.to_string(),
                format!("{:.4} J", clock.energy.0),
                format!("{:.4} W", clock.power().0),
                account.reached().map_or("-".into(), |reached| format!("{reached:.3}")),
            ]);
        }
        table::text(&cores)
    }

    fn json(&self) -> json::Emulated<'a> {
        let seconds = |ns: Ns| ns.0 as f64 / 1e9;
        let core = |(cpu, account): &(u16, Account)| json::LittleCpu {
            cpu: *cpu,
            reached: account.ratio(),
            elapsed_s: seconds(account.elapsed),
            cycles: account.cycles,
            away_s: seconds(account.taken),
            longest_away_s: seconds(account.longest),
        };
        let clock = |(clock, (_, account)): (&'a ClockAccount, &(u16, Account))| json::ClockedCpu {
            cpu: clock.cpu,
            core: &clock.core,
            elapsed_s: seconds(clock.elapsed),
            busy_s: seconds(clock.busy),
            mean_hz: clock.mean.0,
            changes: clock.changes,
            energy_j: clock.energy.0,
            power_w: clock.power().0,
            reached: account.reached(),
            ignored: clock.ignored,
            clamped: clock.clamped,
        };
        json::Emulated {
            big: &self.plan.big,
            ratio: self.plan.ratio,
            period_s: seconds(self.plan.period),
            little: self.outcome.cores.iter().filter(|(cpu, _)| self.plan.little.contains(cpu)).map(core).collect(),
            machine: self.plan.clocks.as_ref().map(|clocks| clocks.machine.as_str()),
            clocks: self.outcome.clocks.iter().zip(&self.outcome.cores).map(clock).collect(),
        }
    }
}

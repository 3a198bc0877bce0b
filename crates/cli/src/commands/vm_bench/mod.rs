//! `evenkeel vm bench`: small real programs on asymmetric machines, under the guest's own kernel and under each policy.

mod estimate;
mod predict;
mod programs;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use evenkeel_linux::launch::Signals;
use evenkeel_linux::scratch::Scratch;
use evenkeel_linux::spec::Spec;
use evenkeel_linux::vm::{Error, Job, Options, Stream, Vm, kernel};
use evenkeel_model::Ns;

use super::vm::{inside, under};
use crate::args::{Format, VmBench};
use crate::{catalog, messages, progress};
use programs::{BENCHES, Bench, PROGRAMS};
use report::Cell;

/// The guest's own scheduler.
const STOCK: &str = "stock";
/// A run that takes so much longer than the ideal has hung.
const PATIENCE: f64 = 20.0;
/// How often a guest that died of a fault of the emulator is booted anew.
const BOOTS: u32 = 4;
/// Millions of steps with which a core's speed is measured.
const CALIBRATION: u64 = 200;
/// The part of each run that is done before it to warm up.
const WARM_UP: f64 = 10.0;

/// Runs the command.
pub fn run(args: &VmBench) -> Result<String> {
    let specs = args.machine.iter().map(|word| word.parse().map_err(anyhow::Error::msg));
    let specs = specs.collect::<Result<Vec<Spec>>>()?;
    let benches = chosen(&args.programs)?;
    let mut policies = vec![STOCK];
    for name in &args.policy {
        catalog::live_policy(name)?;
        policies.push(name.as_str());
    }
    let folder = Scratch::new("bench").context("cannot write to /tmp")?;
    programs::compile(folder.path())?;
    let signals = Signals::new().context("cannot listen to signals")?;
    let size = size(args, &benches, &policies);
    let (runs, time) = (specs.len() * size.runs(), estimate::rounded(size.estimate(&specs)));
    messages::note(format_args!("{runs} runs, which take about {time}"));
    let bar = progress::slow_bar("measuring", runs);
    let mut machines = Vec::new();
    for spec in specs {
        let mut guest = Guest { args, spec, folder: folder.path(), signals: &signals, vm: None };
        let rate = guest.rate()?;
        let mut alone = BTreeMap::new();
        for bench in &benches {
            for program in bench.programs {
                if !alone.contains_key(program) {
                    let steps = guest.steps(rate, 1);
                    bar.set_message(format!("{spec}: {program} alone"));
                    let times = guest.measure(&format!("taskset -c 0 {}", guest.invocation(program, steps)))?;
                    // Per million steps, on one big core.
                    alone.insert(*program, time_of(&times, program)? / steps as f64);
                }
            }
        }
        let mut predicted = BTreeMap::new();
        for (row, bench) in benches.iter().enumerate() {
            bar.set_message(format!("{spec}: {} recorded", bench.name));
            let line = guest.line(bench, rate);
            for (column, makespan) in guest.predict(&line, &policies)?.into_iter().enumerate() {
                predicted.insert((row, column), makespan);
            }
            bar.inc(1);
        }
        let mut cells: BTreeMap<(usize, usize), Vec<Cell>> = BTreeMap::new();
        for _ in 0..args.repeat {
            for (row, bench) in benches.iter().enumerate() {
                let steps = guest.steps(rate, bench.programs.len() as u64);
                let line = guest.warm_line(bench, rate);
                for (column, policy) in policies.iter().enumerate() {
                    bar.set_message(format!("{spec}: {} under {policy}", bench.name));
                    let times = guest.measure_under(policy, &line)?;
                    let cell = Cell::of(&guest.spec, bench, &times, |program| alone[program] * steps as f64)?;
                    cells.entry((row, column)).or_default().push(cell);
                    bar.inc(1);
                }
            }
        }
        let machine = report::machine(&spec, guest.shares(), &benches, &policies, &cells, &predicted);
        if args.output.format == Format::Table {
            // All machines take long: what is known is printed.
            bar.suspend(|| anstream::stdout().write_all(report::table(&machine).as_bytes()))?;
        }
        machines.push(machine);
    }
    bar.finish_and_clear();
    match args.output.format {
        Format::Table => Ok(report::legend()),
        Format::Json => report::json(&machines),
    }
}

fn size(args: &VmBench, benches: &[&Bench], policies: &[&str]) -> estimate::Size {
    let programs: BTreeSet<&str> = benches.iter().flat_map(|bench| bench.programs).copied().collect();
    estimate::Size {
        benches: benches.len(),
        programs: programs.len(),
        schedulers: policies.len(),
        repeat: args.repeat as usize,
        seconds: args.seconds,
    }
}

/// The seconds that a program took by its own output.
fn time_of(times: &BTreeMap<String, f64>, program: &str) -> Result<f64> {
    times.get(program).copied().with_context(|| format!("{program} did not write its time"))
}

fn chosen(names: &[String]) -> Result<Vec<&'static Bench>> {
    if names.is_empty() {
        return Ok(BENCHES.iter().collect());
    }
    let find = |name: &String| {
        let found = BENCHES.iter().find(|bench| bench.name == name);
        found.ok_or_else(|| catalog::unknown("program", name, BENCHES.iter().map(|bench| bench.name)).into())
    };
    names.iter().map(find).collect()
}

/// One machine, booted when it is needed, and anew when the emulator has killed it.
struct Guest<'a> {
    args: &'a VmBench,
    spec: Spec,
    folder: &'a Path,
    signals: &'a Signals,
    vm: Option<Vm>,
}

impl Guest<'_> {
    /// Millions of steps that one big core does in a second.
    fn rate(&mut self) -> Result<f64> {
        let line = format!("taskset -c 0 {} 1 {CALIBRATION}", programs::path(self.folder, "equal").display());
        Ok(CALIBRATION as f64 / time_of(&self.measure(&line)?, "equal")?)
    }

    /// Millions of steps for each of so many programs, so that all together take the wanted time at best.
    fn steps(&self, rate: f64, programs: u64) -> u64 {
        ((self.args.seconds * self.spec.capacity() * rate) as u64 / programs).max(1)
    }

    /// A program with its arguments.
    fn invocation(&self, program: &str, steps: u64) -> String {
        format!("{} {} {steps}", programs::path(self.folder, program).display(), self.spec.cores())
    }

    /// A shell's line that starts all programs of a bench at once and waits for them. OpenMP's threads wait passively:
    /// spinning ones would hold the emulator's lock, and the guest's timers with it.
    fn line(&self, bench: &Bench, rate: f64) -> String {
        let steps = self.steps(rate, bench.programs.len() as u64);
        let programs: Vec<String> = bench.programs.iter().map(|program| self.invocation(program, steps)).collect();
        format!("export OMP_WAIT_POLICY=passive; {} & wait", programs.join(" & "))
    }

    /// The same after a tenth of it, whose times those of the whole replace: an emulator translates the kernel anew, once,
    /// where a policy's host has put a probe.
    fn warm_line(&self, bench: &Bench, rate: f64) -> String {
        let warm_up = self.line(bench, rate / WARM_UP);
        format!("{warm_up}; {}", self.line(bench, rate))
    }

    /// Records a shell's line under the guest's own scheduler, and plays that under each policy: predicted makespans.
    fn predict(&mut self, line: &str, policies: &[&str]) -> Result<Vec<f64>> {
        let file = self.folder.join("recording.ek");
        let name = file.display().to_string();
        let command = inside(&self.spec, &["record", "-q", "-o", &name], &shell(line))?;
        let times = self.measure_command(&command)?;
        predict::makespans(&name, times.values().copied().fold(0.0, f64::max), policies)
    }

    fn shares(&self) -> Option<evenkeel_linux::vm::Shares> {
        self.vm.as_ref().and_then(Vm::shares)
    }

    /// Runs a shell's line under a policy and returns the seconds that each program says it took.
    fn measure_under(&mut self, policy: &str, line: &str) -> Result<BTreeMap<String, f64>> {
        let command = shell(line);
        let command =
            if policy == STOCK { command.to_vec() } else { under(&self.spec, policy, Format::Table, &command)? };
        self.measure_command(&command)
    }

    fn measure(&mut self, line: &str) -> Result<BTreeMap<String, f64>> {
        self.measure_command(&shell(line))
    }

    fn measure_command(&mut self, command: &[String]) -> Result<BTreeMap<String, f64>> {
        let timeout = Ns(((self.args.seconds + 1.0) * PATIENCE * 1e9) as u64);
        let mut boots = 0;
        loop {
            boots += 1;
            let mut text = Vec::new();
            let mut errors = Vec::new();
            let (folder, signals) = (self.folder, self.signals);
            let vm = self.vm()?;
            let job = Job { command, directory: folder, writable: &[], timeout: Some(timeout) };
            let mut keep = |stream, bytes: &[u8]| {
                let kept = if stream == Stream::Output { &mut text } else { &mut errors };
                kept.extend_from_slice(bytes);
                Ok(())
            };
            let ended = vm.run(&job, signals, &mut keep, &mut |text| messages::warning(text));
            match ended {
                Ok(ended) if ended.code == 0 => return Ok(times(&String::from_utf8_lossy(&text))),
                Ok(ended) => {
                    bail!("{} failed with {}: {}", command.join(" "), ended.code, String::from_utf8_lossy(&errors))
                }
                Err(error @ (Error::Guest { .. } | Error::Timeout(_))) if boots < BOOTS => {
                    messages::warning(format_args!("{error}; booting the guest again"));
                    self.vm = None;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn vm(&mut self) -> Result<&mut Vm> {
        let vm = match self.vm.take() {
            Some(vm) => vm,
            None => {
                let options = Options {
                    spec: self.spec,
                    kernel: kernel::find(self.args.kernel.as_deref())?,
                    memory_mb: 1024,
                    accelerator: None,
                    shares: true,
                };
                Vm::boot(&options, self.signals, &mut |text| messages::warning(text))?
            }
        };
        Ok(self.vm.insert(vm))
    }
}

fn shell(line: &str) -> [String; 3] {
    ["/bin/sh", "-c", line].map(str::to_owned)
}

/// `NAME SECONDS` on each line.
fn times(text: &str) -> BTreeMap<String, f64> {
    let time = |line: &str| {
        let (name, seconds) = line.split_once(' ')?;
        Some((name.to_owned(), seconds.trim().parse().ok()?))
    };
    text.lines().filter_map(time).filter(|(name, _)| PROGRAMS.iter().any(|program| program.name == name)).collect()
}

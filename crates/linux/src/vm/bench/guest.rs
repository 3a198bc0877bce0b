//! A guest that runs what is measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use evenkeel_model::Ns;

use super::benches::{Bench, Member};
use super::error::Error;
use super::output::{Output, tail};
use super::plan::{Caller, Plan};
use super::predicted::{Played, Switches};
use super::programs::{self, CALIBRATED};
use super::scheduler::{Host, Scheduler};
use crate::launch::Signals;
use crate::quote;
use crate::spec::Spec;
use crate::vm::{self, Accelerator, Job, Options, Shares, Stream, Vm};

/// A run that takes so much longer than the ideal has hung.
const PATIENCE: f64 = 20.0;
/// But a little core takes its ratio times as long for what a thread has to do, which may be so much more than its part.
const ON_LITTLE: f64 = 2.0;
/// How long another program's scheduler may take to load: an emulated kernel checks scx_lavd for more than a minute.
const LOAD: f64 = 240.0;
/// How often a guest that died of a fault of the emulator is booted anew.
const BOOTS: u32 = 4;
/// Millions of steps with which a core's speed is measured.
const CALIBRATION: u64 = 200;
/// The part of each run that is done before it to warm up.
const WARM_UP: f64 = 10.0;
const MEMORY_MB: u32 = 1024;

/// One machine, booted when it is needed, and anew when the emulator has killed it.
pub(super) struct Guest<'a> {
    pub spec: Spec,
    plan: &'a Plan,
    folder: &'a Path,
    signals: &'a Signals,
    vm: Option<Vm>,
    /// How often it was booted.
    boots: u32,
    /// The seconds that each of the user's own programs has taken alone.
    own_s: BTreeMap<Member, f64>,
}

impl<'a> Guest<'a> {
    pub(super) fn new(plan: &'a Plan, spec: Spec, folder: &'a Path, signals: &'a Signals) -> Self {
        Self { spec, plan, folder, signals, vm: None, boots: 0, own_s: BTreeMap::new() }
    }

    /// Millions of steps that one big core does in a second.
    pub(super) fn rate<C: Caller>(&mut self, caller: &mut C) -> Result<f64, C::Error> {
        let line = format!("taskset -c 0 {} 1 {CALIBRATION}", programs::path(self.folder, CALIBRATED).display());
        let output = self.measure("how fast a core is", &shell(&line), caller)?;
        Ok(CALIBRATION as f64 / output.time(CALIBRATED)?)
    }

    /// The seconds that a program takes for a million steps, the user's own for all that it does, on this core or on all, warmed up as
    /// when it is measured.
    pub(super) fn alone<C: Caller>(
        &mut self,
        member: &Member,
        rate: f64,
        core: Option<u16>,
        caller: &mut C,
    ) -> Result<f64, C::Error> {
        let bench = Bench { name: member.to_string(), members: vec![member.clone()] };
        let bound = core.map_or(String::new(), |core| format!("taskset -cp {core} $$ >/dev/null; "));
        let line = bound + &self.warmed_up(&bench, rate);
        // One core does what is meant for all, and takes as many times as long.
        let more = core.map_or(0.0, |_| self.plan.seconds * self.spec.capacity() * PATIENCE);
        let output = self.measure_within(self.limit(&bench, more), &bench.name, &shell(&line), caller)?;
        let time = output.time(&member.program.name)?;
        if member.program.is_own() {
            self.own_s.insert(member.clone(), time);
        }
        Ok(time / self.steps(rate, &bench, member) as f64)
    }

    /// What a switch between two threads takes under a scheduler. One inside the kernel does more at each than the guest's own.
    pub(super) fn switch<C: Caller>(&mut self, scheduler: &Scheduler, caller: &mut C) -> Result<Ns, C::Error> {
        let file = self.folder.join("switches.toml");
        let command = caller.under(&self.spec, scheduler, &caller.measuring(&file)?)?;
        self.measure(&format!("switches under {scheduler}"), &command, caller)?;
        let text = fs::read_to_string(&file).map_err(|error| Error::Switches(error.to_string()))?;
        measured_switch(&text).ok_or_else(|| Error::Switches("it was not measured".into()).into())
    }

    /// Records a bench under the guest's own scheduler, and has the recording played under each scheduler, as
    /// [`Caller::predict`] says.
    pub(super) fn predict<C: Caller>(
        &mut self,
        bench: &Bench,
        rate: f64,
        schedulers: &[&Scheduler],
        switches: &Switches,
        caller: &mut C,
    ) -> Result<Vec<Vec<Played>>, C::Error> {
        let file = self.folder.join(format!("{}-{}.ek", self.spec, bench.name));
        let command = caller.recording(&self.spec, &file, &self.command(bench, rate))?;
        self.measure_within(self.limit(bench, 0.0), &format!("{} recorded", bench.name), &command, caller)?;
        let emulated = self.vm.as_ref().is_none_or(|vm| vm.accelerator() == Accelerator::Tcg);
        let schedulers: Vec<_> =
            schedulers.iter().map(|scheduler| (*scheduler, switches.get(scheduler).copied())).collect();
        caller.predict(&file, bench, &schedulers, emulated)
    }

    /// Runs a bench under a scheduler and returns what its programs print. A tenth of the work runs first, and its times are
    /// replaced: an emulator translates the kernel anew, once, where a policy's host has put a probe.
    pub(super) fn measure_under<C: Caller>(
        &mut self,
        scheduler: &Scheduler,
        bench: &Bench,
        rate: f64,
        caller: &mut C,
    ) -> Result<Output, C::Error> {
        let mut command = shell(&self.warmed_up(bench, rate)).to_vec();
        if !scheduler.is_stock() {
            command = caller.under(&self.spec, scheduler, &command)?;
        }
        let what = format!("{} under {scheduler}", bench.name);
        let more = if scheduler.host == Host::Peer { LOAD } else { 0.0 };
        self.measure_within(self.limit(bench, more), &what, &command, caller)
    }

    /// Millions of steps for a program of a bench, so that all together take the wanted time at best. The user's own counts as one, for it
    /// always does the same.
    pub(super) fn steps(&self, rate: f64, bench: &Bench, member: &Member) -> u64 {
        if member.program.is_own() {
            return 1;
        }
        let capacity = self.spec.capacity_of(bench.uses(&self.spec));
        ((self.plan.seconds * capacity * rate) as u64 / bench.members.len() as u64).max(1)
    }

    /// How often it was booted until now: what was measured in two boots is not to be compared run by run.
    pub(super) fn boots(&self) -> u32 {
        self.boots
    }

    pub(super) fn shares(&self) -> Option<Shares> {
        self.vm.as_ref().and_then(Vm::shares)
    }

    /// A command that has all programs of a bench begin together and waits for them.
    fn command(&self, bench: &Bench, rate: f64) -> Vec<String> {
        let programs = bench.members.iter().map(|member| {
            let (threads, steps) = (member.threads(&self.spec), self.steps(rate, bench, member));
            member.program.invocation(self.folder, threads, steps)
        });
        programs::together(self.folder, programs)
    }

    /// A shell's line that does so after a part of the work.
    fn warmed_up(&self, bench: &Bench, rate: f64) -> String {
        let before = self.command(&bench.warm_up(), rate / WARM_UP);
        format!("{}; {}", quote::line(before), quote::line(self.command(bench, rate)))
    }

    fn limit(&self, bench: &Bench, more: f64) -> Option<Ns> {
        limit(self.plan.seconds, &self.spec, bench, &self.own_s, more)
    }

    /// Runs a command, which is `what` for people, and again in a new guest if this one dies.
    fn measure<C: Caller>(&mut self, what: &str, command: &[String], caller: &mut C) -> Result<Output, C::Error> {
        self.measure_within(Some(timeout(self.plan.seconds, &self.spec, 1.0, 0.0)), what, command, caller)
    }

    /// The same for a command that may take so long; without a limit, as long as it likes.
    fn measure_within<C: Caller>(
        &mut self,
        timeout: Option<Ns>,
        what: &str,
        command: &[String],
        caller: &mut C,
    ) -> Result<Output, C::Error> {
        let directory = self.plan.directory.as_deref().unwrap_or(self.folder);
        let mut boots = 0;
        loop {
            boots += 1;
            let mut text = Vec::new();
            let mut errors = Vec::new();
            let (folder, signals) = (self.folder, self.signals);
            let mut warn = |text: &str| caller.warn(text);
            let vm = self.vm(&mut warn)?;
            let before = vm.boots();
            let job = Job { command, directory, writable: &[], timeout };
            let mut keep = |stream, bytes: &[u8]| {
                let kept = if stream == Stream::Output { &mut text } else { &mut errors };
                kept.extend_from_slice(bytes);
                Ok(bytes.len())
            };
            let ran = vm.run(&job, signals, &mut keep, &mut warn);
            let anew = vm.boots() - before;
            self.boots += anew;
            match ran {
                Ok(ended) => {
                    let output = Output::of(&String::from_utf8_lossy(&text));
                    if ended.code == 0 {
                        return Ok(output);
                    }
                    if let Some((program, code)) = output.failed() {
                        let errors = tail(&programs::errors(folder, program));
                        return Err(Error::Program { program: program.to_owned(), code, errors }.into());
                    }
                    let (command, errors) = (command.join(" "), String::from_utf8_lossy(&errors).into_owned());
                    return Err(Error::Failed { command, code: ended.code, errors }.into());
                }
                // What has hung there would disturb all later runs.
                Err(error @ (vm::Error::Guest { .. } | vm::Error::Timeout(_))) => {
                    self.vm = None;
                    if boots == BOOTS {
                        warn(&format!("{what}: {BOOTS} guests in a row have died of it"));
                        return Err(error.into());
                    }
                    warn(&format!("{what}: {error}; booting the guest again"));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn vm(&mut self, warn: &mut dyn FnMut(&str)) -> Result<&mut Vm, vm::Error> {
        let vm = match self.vm.take() {
            Some(vm) => vm,
            None => {
                let options = Options {
                    spec: self.spec,
                    kernel: self.plan.kernel.clone(),
                    memory_mb: MEMORY_MB,
                    accelerator: None,
                    shares: true,
                };
                self.boots += 1;
                Vm::boot(&options, self.signals, warn)?
            }
        };
        Ok(self.vm.insert(vm))
    }
}

/// How many times what a big core does in the seconds of a run the thread has to do that has most: each program of a mix has
/// as much to do, whatever the number of its threads.
fn largest_part(bench: &Bench, spec: &Spec) -> f64 {
    let capacity = spec.capacity_of(bench.uses(spec));
    let fewest = bench.members.iter().map(|member| member.threads(spec)).min().unwrap_or(1);
    capacity / (bench.members.len() as f64 * f64::from(fewest))
}

/// How long a run of a bench may take, with so many seconds `more` for what else belongs to it. As long as it likes while it is not known
/// how long the user's own programs in it take.
fn limit(seconds: f64, spec: &Spec, bench: &Bench, own_s: &BTreeMap<Member, f64>, more: f64) -> Option<Ns> {
    let own = bench.members.iter().filter(|member| member.program.is_own());
    let own: Option<f64> = own.map(|member| own_s.get(member).copied()).sum();
    Some(timeout(seconds + own?, spec, largest_part(bench, spec), more))
}

/// How long a run may take that is done within so many seconds at best, of which a thread has this part to do, and so much `more` for
/// what else belongs to it.
fn timeout(seconds: f64, spec: &Spec, part: f64, more: f64) -> Ns {
    let patience = PATIENCE.max(ON_LITTLE * part.max(1.0) * spec.ratio);
    Ns((((seconds + 1.0) * patience + more) * 1e9) as u64)
}

/// What a machine file says of a switch between two threads, if that was measured.
fn measured_switch(text: &str) -> Option<Ns> {
    let file: toml::Table = text.parse().ok()?;
    let switch = file.get("costs")?.get("context_switch_us")?;
    let measured = switch.get("source")?.as_str()?.starts_with("measured");
    measured.then_some(Ns((switch.get("value")?.as_float()? * 1e3) as u64))
}

fn shell(line: &str) -> [String; 3] {
    ["/bin/sh", "-c", line].map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::programs::Program;
    use super::*;

    #[test]
    fn a_run_on_a_slow_little_core_has_not_hung() {
        let limit = |machine: &str| timeout(2.0, &machine.parse().unwrap(), 1.0, 0.0);
        assert_eq!(limit("2B2S:3"), Ns::from_secs(60));
        // A thread's fourth of all of the work, or the only thread's, and a tenth before it, take this long there.
        assert!(limit("2B2S:60") > Ns::from_secs(68) && limit("1B1S:100") > Ns::from_secs(220));
    }

    #[test]
    fn a_program_of_one_thread_in_a_mix_has_not_hung_on_a_little_core() {
        let spec: Spec = "8B8S:60".parse().unwrap();
        let part = |name: &str| largest_part(&Bench::named(name, &[]).unwrap(), &spec);
        // Half of what six big cores do, and a tenth before it.
        assert_eq!((part("locks:5+equal:1"), part("equal:1")), (3.0, 1.0));
        assert!(timeout(2.0, &spec, 3.0, 0.0) > Ns::from_secs(396));
    }

    #[test]
    fn how_long_a_program_of_the_users_own_may_take_is_known_once_it_has_run() {
        let (spec, own) = ("2B2S:3".parse().unwrap(), [Program::own("app=./app").unwrap()]);
        let bench = Bench::named("app+lu", &own).unwrap();
        assert_eq!(limit(2.0, &spec, &bench, &BTreeMap::new(), 0.0), None);
        let own_s = BTreeMap::from([(bench.members[0].clone(), 60.0)]);
        assert!(limit(2.0, &spec, &bench, &own_s, 0.0) >= Some(Ns::from_secs(20 * 62)));
        let other = Bench::named("lu", &own).unwrap();
        assert!(limit(2.0, &spec, &other, &own_s, 0.0) <= Some(Ns::from_secs(60)));
    }

    #[test]
    fn only_what_was_measured_is_charged() {
        let file = |source: &str| format!("[costs]\ncontext_switch_us = {{ value = 48.5, source = \"{source}\" }}\n");
        assert_eq!(measured_switch(&file("measured: two threads")), Some(Ns(48_500)));
        assert_eq!(measured_switch(&file("assumed")), None);
        assert_eq!(measured_switch("[costs]\n"), None);
    }
}

//! All runs, in turn.

use std::collections::{BTreeMap, BTreeSet};

use super::benches::Bench;
use super::error::Error;
use super::guest::Guest;
use super::plan::{Caller, Plan};
use super::programs;
use super::result::{Alone, Measured, Run, Series};
use crate::launch::Signals;
use crate::scratch::Scratch;
use crate::spec::Spec;

/// Seconds per million steps, by program.
type Costs = BTreeMap<&'static str, f64>;

impl Plan {
    /// Measures all machines, one after the other.
    ///
    /// # Errors
    /// A guest cannot be booted, a program fails under the guest's own scheduler, or the caller does.
    pub fn measure<C: Caller>(&self, caller: &mut C) -> Result<Vec<Measured>, C::Error> {
        let folder = Scratch::new("bench").map_err(Error::Folder)?;
        let programs = self.programs();
        programs::compile(folder.path(), &programs)?;
        let signals = Signals::new().map_err(Error::Signals)?;
        self.specs
            .iter()
            .map(|spec| {
                let big_only = Spec { big: spec.cores(), little: 0, ..*spec };
                let big_only = self.big_only(Guest::new(self, big_only, folder.path(), &signals), &programs, caller)?;
                let guest = Guest::new(self, *spec, folder.path(), &signals);
                let measured = self.machine(guest, &programs, &big_only, caller)?;
                caller.measured(&measured)?;
                Ok(measured)
            })
            .collect()
    }

    /// The seconds that each program takes for as many steps as one big core does in a second, on as many big cores as the
    /// machine has cores. There a big core's share is smaller, so time is in steps of that core.
    fn big_only<C: Caller>(
        &self,
        mut guest: Guest<'_>,
        programs: &BTreeSet<&'static str>,
        caller: &mut C,
    ) -> Result<Costs, C::Error> {
        let spec = guest.spec;
        caller.begins(&format!("{spec}: how fast a core is"));
        let rate = guest.rate(caller)?;
        let mut costs = Costs::new();
        for program in programs {
            caller.begins(&format!("{spec}: {program}"));
            costs.insert(program, rate * guest.alone(program, rate, None, caller)?);
        }
        Ok(costs)
    }

    fn machine<C: Caller>(
        &self,
        mut guest: Guest<'_>,
        programs: &BTreeSet<&'static str>,
        big_only: &Costs,
        caller: &mut C,
    ) -> Result<Measured, C::Error> {
        let spec = guest.spec;
        caller.begins(&format!("{spec}: how fast a core is"));
        let rate = guest.rate(caller)?;
        let mut one_core = Costs::new();
        for program in programs {
            caller.begins(&format!("{spec}: {program} on one core"));
            one_core.insert(program, guest.alone(program, rate, Some(0), caller)?);
        }
        let mut series = Vec::new();
        for bench in &self.benches {
            let steps = guest.steps(rate, bench.programs.len() as u64) as f64;
            let cost = |costs: &Costs, program: &str| costs.get(program).copied().unwrap_or(f64::NAN) * steps;
            let alone = bench.programs.iter().map(|program| Alone {
                one_core_s: cost(&one_core, program),
                big_only_s: cost(big_only, program) / rate,
            });
            let alone = alone.collect();
            caller.begins(&format!("{spec}: {} recorded", bench.name));
            let predicted = self.predicted(&mut guest, bench, rate, caller)?;
            caller.done();
            series.push(Series { bench, alone, predicted, runs: vec![Vec::new(); self.schedulers.len()] });
        }
        for _ in 0..self.repeat {
            for series in &mut series {
                for (scheduler, runs) in self.schedulers.iter().zip(&mut series.runs) {
                    caller.begins(&format!("{spec}: {} under {scheduler}", series.bench.name));
                    let output = guest.measure_under(scheduler, series.bench, rate, caller);
                    let run = output.and_then(|output| Ok(Run::of(series.bench, &series.alone, &output)?));
                    runs.push(match run {
                        Ok(run) => Some(run),
                        Err(error) if !scheduler.is_stock() && caller.goes_on_after(&error) => {
                            caller.warn(&format!("{} under {scheduler} is left out once: {error}", series.bench.name));
                            None
                        }
                        Err(error) => return Err(error),
                    });
                    caller.done();
                }
            }
        }
        Ok(Measured::of(spec, guest.shares(), &self.schedulers, &series))
    }

    /// Makespans in seconds by policy, as far as the simulator can know them.
    fn predicted<C: Caller>(
        &self,
        guest: &mut Guest<'_>,
        bench: &Bench,
        rate: f64,
        caller: &mut C,
    ) -> Result<BTreeMap<String, f64>, C::Error> {
        let policies = self.policies();
        if !bench.computes() {
            return Ok(BTreeMap::new());
        }
        match guest.predict(bench, rate, &policies, caller) {
            Ok(makespans) => Ok(policies.into_iter().map(str::to_owned).zip(makespans).collect()),
            Err(error) if caller.goes_on_after(&error) => {
                caller.warn(&format!("{} is not predicted: {error}", bench.name));
                Ok(BTreeMap::new())
            }
            Err(error) => Err(error),
        }
    }
}

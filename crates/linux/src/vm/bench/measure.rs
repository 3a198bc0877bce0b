//! All runs, in turn.

use std::collections::{BTreeMap, BTreeSet};

use super::benches::{Bench, Member};
use super::error::Error;
use super::guest::Guest;
use super::plan::{Caller, Plan};
use super::predicted::{Predictions, Switches};
use super::programs;
use super::result::{Alone, Boot, Measured, Run, Series};
use crate::launch::Signals;
use crate::scratch::Scratch;
use crate::spec::Spec;

/// How often a repetition is measured, if guests die in it.
const ATTEMPTS: u32 = 2;

/// Seconds per million steps, by program and its number of threads.
type Costs = BTreeMap<Member, f64>;

impl Plan {
    /// Measures all machines, one after the other, and hands out each.
    ///
    /// # Errors
    /// A guest cannot be booted, a program fails under the guest's own scheduler, the user interrupts, or the caller fails.
    /// What was measured until then has been handed out.
    pub fn measure<C: Caller>(&self, caller: &mut C) -> Result<(), C::Error> {
        let folder = Scratch::new("bench").map_err(Error::Folder)?;
        let members = self.members();
        programs::compile(folder.path(), &members.iter().map(|member| member.program).collect())?;
        let signals = Signals::new().map_err(Error::Signals)?;
        for spec in &self.specs {
            let mut series: Vec<_> = self.benches.iter().map(|bench| Series { bench, boots: Vec::new() }).collect();
            let (mut shares, mut switches) = (None, Vec::new());
            let ended = (0..self.boots).try_for_each(|_| {
                let big_only = Spec { big: spec.cores(), little: 0, ..*spec };
                let big_only = self.big_only(Guest::new(self, big_only, folder.path(), &signals), &members, caller)?;
                let mut guest = Guest::new(self, *spec, folder.path(), &signals);
                let ended = self.boot(&mut guest, &members, &big_only, &mut series, &mut switches, caller);
                shares = shares.or(guest.shares());
                ended
            });
            let measured = Measured::of(*spec, shares, &self.schedulers, &series, &switches, self.boots * self.repeat);
            if !measured.rows.is_empty() {
                caller.measured(measured)?;
            }
            ended?;
        }
        Ok(())
    }

    /// The seconds that each program takes for as many steps as one big core does in a second, on as many big cores as the
    /// machine has cores. There a big core's share is smaller, so time is in steps of that core.
    fn big_only<C: Caller>(
        &self,
        mut guest: Guest<'_>,
        members: &BTreeSet<Member>,
        caller: &mut C,
    ) -> Result<Costs, C::Error> {
        let spec = guest.spec;
        caller.begins(&format!("{spec}: how fast a core is"));
        let rate = guest.rate(caller)?;
        let mut costs = Costs::new();
        for member in members {
            caller.begins(&format!("{spec}: {member}"));
            costs.insert(*member, rate * guest.alone(*member, rate, None, caller)?);
        }
        Ok(costs)
    }

    /// Measures all benches in one boot.
    fn boot<'a, C: Caller>(
        &'a self,
        guest: &mut Guest<'_>,
        members: &BTreeSet<Member>,
        big_only: &Costs,
        series: &mut [Series<'a>],
        switches: &mut Vec<Switches>,
        caller: &mut C,
    ) -> Result<(), C::Error> {
        let spec = guest.spec;
        caller.begins(&format!("{spec}: how fast a core is"));
        let rate = guest.rate(caller)?;
        let mut one_core = Costs::new();
        for member in members {
            caller.begins(&format!("{spec}: {member} on one core"));
            one_core.insert(*member, guest.alone(*member, rate, Some(0), caller)?);
        }
        let here = self.switches(guest, caller)?;
        let mut boots = Vec::new();
        for bench in &self.benches {
            let steps = guest.steps(rate, bench) as f64;
            let cost = |costs: &Costs, member: &Member| costs.get(member).copied().unwrap_or(f64::NAN) * steps;
            let alone = bench
                .members
                .iter()
                .map(|member| Alone { one_core_s: cost(&one_core, member), big_only_s: cost(big_only, member) / rate });
            let alone = alone.collect();
            boots.push(Boot { alone, predicted: Vec::new(), runs: vec![Vec::new(); self.schedulers.len()] });
        }
        for (series, boot) in series.iter_mut().zip(boots) {
            series.boots.push(boot);
        }
        switches.push(here.clone());
        for _ in 0..self.repeat {
            for series in series.iter_mut() {
                let Some(boot) = series.boots.last_mut() else { continue };
                caller.begins(&format!("{spec}: {} recorded", series.bench.name));
                boot.predicted.extend(self.predicted(guest, series.bench, rate, &here, caller)?);
                caller.done();
                let runs = self.repetition(guest, series.bench, rate, &boot.alone, caller)?;
                boot.runs.iter_mut().zip(runs).for_each(|(known, run)| known.push(run));
            }
        }
        Ok(())
    }

    /// Measures a bench once under each scheduler, all of them in one boot: boots differ by more than runs do. If the guest dies in between,
    /// it is measured anew.
    fn repetition<C: Caller>(
        &self,
        guest: &mut Guest<'_>,
        bench: &Bench,
        rate: f64,
        alone: &[Alone],
        caller: &mut C,
    ) -> Result<Vec<Option<Run>>, C::Error> {
        let mut attempt = 1;
        loop {
            let mut runs = Vec::new();
            for scheduler in &self.schedulers {
                caller.begins(&format!("{}: {} under {scheduler}", guest.spec, bench.name));
                let output = guest.measure_under(scheduler, bench, rate, caller);
                let run = output.and_then(|output| Ok(Run::of(&guest.spec, bench, alone, &output)?));
                let run = match run {
                    Ok(run) => Some(run),
                    Err(error) if !scheduler.is_stock() && caller.continues_after(&error) => {
                        caller.warn(&format!("{} under {scheduler} is left out once: {error}", bench.name));
                        None
                    }
                    Err(error) => return Err(error),
                };
                runs.push((run, guest.boots()));
            }
            let first = runs.first().map_or(0, |(_, boots)| *boots);
            let elsewhere = runs.iter().filter(|(run, boots)| run.is_some() && *boots != first).count();
            if elsewhere > 0 && attempt < ATTEMPTS {
                caller
                    .warn(&format!("{}: measured once more under all, since one boot is not like another", bench.name));
                attempt += 1;
                continue;
            }
            if elsewhere > 0 {
                caller.warn(&format!("{}: {elsewhere} runs of another boot are left out", bench.name));
            }
            runs.iter().for_each(|_| caller.done());
            return Ok(runs.into_iter().map(|(run, boots)| run.filter(|_| boots == first)).collect());
        }
    }

    /// What a switch takes under each scheduler that the simulator knows, but for the guest's own, of which recordings say it.
    fn switches<C: Caller>(&self, guest: &mut Guest<'_>, caller: &mut C) -> Result<Switches, C::Error> {
        let mut switches = Switches::new();
        let known = self.known().into_iter().filter(|scheduler| self.predicts() && !scheduler.is_stock());
        for scheduler in known {
            caller.begins(&format!("{}: switches under {scheduler}", guest.spec));
            match guest.switch(scheduler, caller) {
                Ok(switch) => drop(switches.insert(scheduler.clone(), switch)),
                Err(error) if caller.continues_after(&error) => caller.warn(&format!(
                    "what a switch takes under {scheduler} is taken to be what it takes under the guest's own: {error}"
                )),
                Err(error) => return Err(error),
            }
        }
        Ok(switches)
    }

    /// What a recording says of each scheduler, if the simulator can know it.
    fn predicted<C: Caller>(
        &self,
        guest: &mut Guest<'_>,
        bench: &Bench,
        rate: f64,
        switches: &Switches,
        caller: &mut C,
    ) -> Result<Option<Predictions>, C::Error> {
        let known = self.known();
        if !bench.computes() {
            return Ok(None);
        }
        match guest.predict(bench, rate, &known, switches, caller) {
            Ok(played) => Ok(Some(known.into_iter().cloned().zip(played).collect())),
            Err(error) if caller.continues_after(&error) => {
                caller.warn(&format!("a recording of {} is left out: {error}", bench.name));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

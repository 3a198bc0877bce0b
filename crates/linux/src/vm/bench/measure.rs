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

/// Seconds per million steps, of the user's own programs for all that they do, by program and its number of threads.
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
        programs::compile(folder.path(), &members.iter().map(|member| &member.program).collect())?;
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
            costs.insert(member.clone(), rate * guest.alone(member, rate, None, caller)?);
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
            if member.program.is_own() {
                // It has no ideal to be found, but is to be loaded, and translated, before it is measured.
                caller.begins(&format!("{spec}: {member}"));
                guest.alone(member, rate, None, caller)?;
            } else {
                caller.begins(&format!("{spec}: {member} on one core"));
                one_core.insert(member.clone(), guest.alone(member, rate, Some(0), caller)?);
            }
        }
        let here = self.switches(guest, caller)?;
        let mut boots = Vec::new();
        for bench in &self.benches {
            let cost = |costs: &Costs, member: &Member| {
                costs.get(member).copied().unwrap_or(f64::NAN) * guest.steps(rate, bench, member) as f64
            };
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

    /// Measures a bench once under each scheduler, all of them in one boot: boots differ by more than runs do.
    fn repetition<C: Caller>(
        &self,
        guest: &mut Guest<'_>,
        bench: &Bench,
        rate: f64,
        alone: &[Alone],
        caller: &mut C,
    ) -> Result<Vec<Option<Run>>, C::Error> {
        let name = &bench.name;
        let measure = |caller: &mut C, column: usize| {
            let scheduler = &self.schedulers[column];
            caller.begins(&format!("{}: {name} under {scheduler}", guest.spec));
            let output = guest.measure_under(scheduler, bench, rate, caller);
            let run = output.and_then(|output| Ok(Run::of(&guest.spec, bench, alone, &output)?));
            let run = match run {
                Ok(run) => Some(run),
                Err(error) if !scheduler.is_stock() && caller.continues_after(&error) => {
                    caller.warn(&format!("{name} under {scheduler} is left out once: {error}"));
                    None
                }
                Err(error) => return Err(error),
            };
            Ok((run, guest.boots()))
        };
        let warn = |caller: &mut C, what: &str| caller.warn(&format!("{name}: {what}"));
        let runs = in_one_boot(self.schedulers.len(), caller, measure, warn)?;
        runs.iter().for_each(|_| caller.done());
        Ok(runs)
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

/// Measures under each scheduler, by its column, and once more if the guest has died in between. `measure` says, too, in which boot it was.
fn in_one_boot<C, R, E>(
    columns: usize,
    caller: &mut C,
    mut measure: impl FnMut(&mut C, usize) -> Result<(Option<R>, u32), E>,
    warn: impl Fn(&mut C, &str),
) -> Result<Vec<Option<R>>, E> {
    let mut failed = vec![false; columns];
    let mut attempt = 1;
    loop {
        let mut runs = Vec::new();
        for (column, failed) in failed.iter_mut().enumerate() {
            // What failed may have killed the guest, and would kill the next one: what comes after it would be of another boot again.
            let (run, boot) = if *failed { (None, 0) } else { measure(caller, column)? };
            *failed = run.is_none();
            runs.push((run, boot));
        }
        let first = runs.first().map_or(0, |(_, boot)| *boot);
        let elsewhere = runs.iter().filter(|(run, boot)| run.is_some() && *boot != first).count();
        if elsewhere > 0 && attempt < ATTEMPTS {
            warn(caller, "measured once more where it did not fail, since one boot is not like another");
            attempt += 1;
            continue;
        }
        if elsewhere > 0 {
            warn(caller, &format!("{elsewhere} runs of another boot are left out"));
        }
        return Ok(runs.into_iter().map(|(run, boot)| run.filter(|_| boot == first)).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest that always dies under some schedulers: how often it was measured under each, and under which there is a run in the end.
    fn measured(deadly: [bool; 3], failing: [bool; 3]) -> ([u32; 3], [bool; 3]) {
        let (mut tries, mut boots, mut on) = ([0; 3], 0, false);
        let measure = |_: &mut (), column: usize| -> Result<(Option<usize>, u32), Error> {
            tries[column] += 1;
            boots += u32::from(!on) + 3 * u32::from(deadly[column]);
            on = !(deadly[column] && failing[column]);
            Ok(((!failing[column]).then_some(column), boots))
        };
        let runs = in_one_boot(3, &mut (), measure, |_, _| ()).unwrap();
        let have_runs: Vec<bool> = runs.iter().map(Option::is_some).collect();
        (tries, have_runs.try_into().unwrap())
    }

    #[test]
    fn what_kills_every_guest_takes_no_other_out_of_the_results() {
        let second = [false, true, false];
        assert_eq!(measured(second, second), ([2, 1, 2], [true, false, true]));
        assert_eq!(measured([false; 3], second), ([1; 3], [true, false, true]));
        // It has a run each time, but after the guest has died of it.
        assert_eq!(measured(second, [false; 3]), ([2; 3], [true, false, false]));
    }
}

//! All runs, in turn.

use std::collections::BTreeMap;

use super::error::Error;
use super::guest::Guest;
use super::plan::{Caller, Plan, STOCK};
use super::programs;
use super::result::{self, Measured, Run};
use crate::launch::Signals;
use crate::scratch::Scratch;

impl Plan {
    /// Measures all machines, one after the other.
    ///
    /// # Errors
    /// A guest cannot be booted, a program fails in it, or the caller does.
    pub fn measure<C: Caller>(&self, caller: &mut C) -> Result<Vec<Measured>, C::Error> {
        let folder = Scratch::new("bench").map_err(Error::Folder)?;
        programs::compile(folder.path())?;
        let signals = Signals::new().map_err(Error::Signals)?;
        self.specs
            .iter()
            .map(|spec| {
                let measured = self.machine(Guest::new(self, *spec, folder.path(), &signals), caller)?;
                caller.measured(&measured)?;
                Ok(measured)
            })
            .collect()
    }

    fn machine<C: Caller>(&self, mut guest: Guest<'_>, caller: &mut C) -> Result<Measured, C::Error> {
        let spec = guest.spec;
        let schedulers: Vec<&str> = std::iter::once(STOCK).chain(self.policies.iter().map(String::as_str)).collect();
        let rate = guest.rate(caller)?;
        // Seconds per million steps, on one big core.
        let mut alone = BTreeMap::new();
        for program in self.benches.iter().flat_map(|bench| bench.programs) {
            if !alone.contains_key(program) {
                caller.begins(&format!("{spec}: {program} alone"));
                alone.insert(*program, guest.alone(program, rate, caller)?);
            }
        }
        let mut predicted = Vec::new();
        for bench in &self.benches {
            caller.begins(&format!("{spec}: {} recorded", bench.name));
            predicted.push(guest.predict(bench, rate, &schedulers, caller)?);
            caller.done();
        }
        let mut runs: BTreeMap<(usize, usize), Vec<Run>> = BTreeMap::new();
        for _ in 0..self.repeat {
            for (row, bench) in self.benches.iter().enumerate() {
                let steps = guest.steps(rate, bench.programs.len() as u64);
                for (column, scheduler) in schedulers.iter().enumerate() {
                    caller.begins(&format!("{spec}: {} under {scheduler}", bench.name));
                    let times = guest.measure_under(scheduler, bench, rate, caller)?;
                    let run = Run::of(&spec, bench, &times, |program| alone[program] * steps as f64)?;
                    runs.entry((row, column)).or_default().push(run);
                    caller.done();
                }
            }
        }
        let rows = result::rows(&self.benches, &schedulers, &runs, &predicted);
        Ok(Measured { spec, shares: guest.shares(), rows })
    }
}

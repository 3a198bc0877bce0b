//! The machines and the workloads of a grid. There may be very many, so each is made when it is looked at, and only its hash is kept.

use evenkeel_experiment::variation::{self, Setting};
use evenkeel_experiment::{Error as Cause, Progress};
use rayon::prelude::*;
use toml::Value;

use crate::blame::culprit;
use crate::key::{Digest, Known};
use crate::variants::{self, Axis, combination, count, settings};
use crate::wrong::{Spot, Wrong};

/// So many are made at a time.
const BLOCK: usize = 1024;

/// What a grid names, with every combination of the values that have a meaning for each name.
#[derive(Clone, Debug)]
pub struct Named {
    /// `machine` or `workload`.
    kind: &'static str,
    axes: Vec<Axis>,
    names: Vec<Name>,
    /// The hash of what each combination of each name amounts to, or of nothing before all have been made.
    digests: Vec<Digest>,
}

#[derive(Clone, Debug)]
struct Name {
    name: String,
    /// Whether each axis has a meaning for it.
    meaning: Vec<bool>,
    /// The position of its first combination among all.
    first: usize,
}

impl Named {
    /// What names and axes make. `has` says whether a place has a meaning for a name.
    pub fn new(
        kind: &'static str,
        names: &[String],
        axes: &[Axis],
        has: impl Fn(&str, &[String]) -> evenkeel_experiment::Result<bool>,
    ) -> Result<Self, Wrong> {
        let mut named = Self { kind, axes: axes.to_vec(), names: Vec::new(), digests: Vec::new() };
        let mut first = 0;
        for name in names {
            let meaning = axes.iter().map(|axis| has(name, &axis.path)).collect::<std::result::Result<Vec<bool>, _>>();
            let meaning = meaning.map_err(|source| Wrong::named(spot(kind, name), kind, source))?;
            let vary = axes.iter().zip(&meaning).filter(|(_, meaning)| **meaning);
            let combinations = count(kind, first, vary.map(|(axis, _)| axis))?;
            named.names.push(Name { name: name.clone(), meaning, first });
            first += combinations;
        }
        named.digests = vec![Digest::default(); first];
        let used = |at: usize| named.names.iter().any(|name| name.meaning[at]);
        if let Some((_, axis)) = axes.iter().enumerate().find(|(at, _)| !used(*at)) {
            let place = format!("{kind}.{}", variation::place(&axis.path));
            let is_fixed = if kind == "machine" { variation::is_described } else { variation::is_fixed };
            let fixed: Vec<&str> = names.iter().map(String::as_str).filter(|name| is_fixed(name)).collect();
            let values = match &fixed[..] {
                [] => String::new(),
                fixed => format!(
                    "; only bundled ones and files of Evenkeel's own (.toml) have values, not {}",
                    fixed.join(", ")
                ),
            };
            let why = format!("the grid has no {kind} with this, but {}{values}", names.join(", "));
            // The name of the program, the core type or the cluster that none has.
            let name = axis.path.get(..2).unwrap_or(&axis.path);
            return Err(Wrong::named(Spot::below(kind, name), place, Cause::File(why)));
        }
        Ok(named)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// The hash of what one amounts to.
    pub fn digest(&self, at: usize) -> Digest {
        self.digests[at]
    }

    /// The hashes of all.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// The name or path of one.
    pub fn name(&self, at: usize) -> &str {
        &self.of(at).name
    }

    /// The names and paths.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &*name.name)
    }

    fn of(&self, at: usize) -> &Name {
        &self.names[self.names.partition_point(|name| name.first <= at) - 1]
    }

    /// The value of one on each axis; `None` where the axis has no meaning for it.
    pub fn values(&self, at: usize) -> Vec<Option<&Value>> {
        let name = self.of(at);
        combination(&self.axes, |axis| name.meaning[axis], at - name.first)
    }

    fn settings(&self, at: usize) -> Vec<Setting> {
        settings(&self.axes, &self.values(at))
    }

    /// Makes all, so that they have hashes, and has `check` look at each.
    pub fn make_all<T: Known>(
        &mut self,
        make: impl Fn(&str, &[Setting]) -> evenkeel_experiment::Result<T> + Sync,
        check: impl Fn(&str, &T) -> Result<(), Wrong> + Sync,
        progress: &dyn Progress,
    ) -> Result<(), Wrong> {
        for first in (0..self.len()).step_by(BLOCK) {
            let made = |at: usize| {
                let (name, settings) = (self.name(at), self.settings(at));
                let made = make(name, &settings).map_err(|source| self.blamed(name, &settings, &make, source))?;
                progress.advance();
                check(name, &made).map(|()| made.digest())
            };
            let block: Vec<_> = (first..self.len().min(first + BLOCK)).into_par_iter().map(made).collect();
            for (at, digest) in (first..).zip(block) {
                self.digests[at] = digest?;
            }
        }
        Ok(())
    }

    /// Makes sure that no two amount to the same, such as a bundled machine and its file, or 1ms and 1000us. All have been made.
    pub fn differ(&self) -> Result<(), Wrong> {
        let Some(pair) = variants::alike(&self.digests) else { return Ok(()) };
        Err(variants::twice(self.kind, &self.axes, pair.map(|at| self.name(at)), pair.map(|at| self.values(at))))
    }

    /// What is wrong with settings, at the one of them that is to blame.
    fn blamed<T>(
        &self,
        name: &str,
        settings: &[Setting],
        make: impl Fn(&str, &[Setting]) -> evenkeel_experiment::Result<T>,
        source: Cause,
    ) -> Wrong {
        let why = |setting: &Setting| {
            let error = make(name, std::slice::from_ref(setting)).err()?.to_string();
            // Without the setting, which the message begins with.
            let begin = variation::with(name, std::slice::from_ref(setting));
            Some(error.strip_prefix(&begin).unwrap_or(&error).to_owned())
        };
        let spot = culprit(self.kind, settings, why).unwrap_or_else(|| spot(self.kind, name));
        Wrong::named(spot, self.kind, source)
    }

    /// Makes one once more, the same as before.
    ///
    /// # Errors
    /// A file that the grid names has changed since.
    pub fn make<T: Known>(
        &self,
        at: usize,
        make: impl Fn(&str, &[Setting]) -> evenkeel_experiment::Result<T>,
    ) -> evenkeel_experiment::Result<T> {
        let made = make(self.name(at), &self.settings(at))?;
        if made.digest() != self.digests[at] {
            let why =
                "it has changed since the sweep began: start it again, and what is as it was will not be run again";
            return Err(Cause::File(why.into()));
        }
        Ok(made)
    }
}

/// Where a grid names something.
fn spot(kind: &str, name: &str) -> Spot {
    Spot::name(&format!("{kind}s"), name)
}

#[cfg(test)]
mod tests {
    use evenkeel_experiment::catalog;

    use super::*;
    use crate::error::Error;
    use crate::variants::axes;

    fn table(text: &str) -> Vec<Axis> {
        axes(&text.parse().unwrap())
    }

    #[test]
    fn an_axis_varies_only_what_it_has_a_meaning_for() {
        let names = ["2B2S", "odroid-xu3"].map(str::to_owned);
        let of = |text: &str| {
            let mut found = Named::new("machine", &names, &table(text), variation::machine_has)?;
            found.make_all(variation::machine, |_, _| Ok(()), &()).map(|()| found)
        };
        let found = of("core.cortex-a57.width = [2.0, 2.4]\ncosts.tick_us = [1000, 4000]").unwrap();
        assert_eq!(found.len(), 4 + 2);
        assert_eq!((found.name(4), found.values(4)), ("odroid-xu3", vec![None, Some(&1000.into())]));
        // The value of the file itself is no other machine.
        assert_eq!(found.digest(3), catalog::machine("2B2S").unwrap().machine.digest());
        assert!(found.digest(0) != found.digest(1) && found.digest(0) != found.digest(2));
        let error = of("core.cortex-a76.width = 1").unwrap_err().of("g".into());
        assert_eq!(error.to_string(), "g: machine.core.cortex-a76.width");
    }

    #[test]
    fn programs_are_varied_in_mixes_too_and_what_has_no_values_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.json");
        std::fs::write(&file, r#"{"tasks": {"app": {"loop": 1, "run": 1000}}}"#).unwrap();
        let names = ["Sync-2", "fft:2", file.to_str().unwrap()].map(str::to_owned);
        let of = |text: &str| {
            let mut found = Named::new("workload", &names, &table(text), variation::workload_has)?;
            found.make_all(variation::workload, |_, _| Ok(()), &()).map(|()| found)
        };
        let found = of("program.dedup.phases.read.ilp = [1.4, 1.8]\nprogram.fft.n = [2, 4]").unwrap();
        let meanings: Vec<String> = (0..found.len())
            .map(|at| format!("{:?}", found.values(at).iter().map(|value| value.is_some()).collect::<Vec<_>>()))
            .collect();
        assert_eq!(meanings, ["[true, false]", "[true, false]", "[false, true]", "[false, true]", "[false, false]"]);
        found.differ().unwrap();
        let Error::Named { source, .. } = of("program.ferret.n = 1").unwrap_err().of("g".into()) else { panic!() };
        assert!(
            source.to_string().ends_with(&format!(
                "; only bundled ones and files of Evenkeel's own (.toml) have values, not {}",
                names[2]
            )),
            "{source}"
        );
    }

    #[test]
    fn what_is_there_under_two_names_is_refused() {
        let file = "../../machines/2B2S.toml";
        let of = |names: &[&str], text: &str| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let mut found = Named::new("machine", &names, &table(text), variation::machine_has)?;
            found.make_all(variation::machine, |_, _| Ok(()), &())?;
            found.differ()
        };
        let varied = "costs.tick_us = [1000, 4000]";
        for (names, values) in [(&["2B4S", "2B2S", file][..], ""), (&["2B2S", "2B4S", file], varied)] {
            let twice = of(names, values).unwrap_err().of("g".into()).to_string();
            assert_eq!(twice, format!("g: machines has \"2B2S\" twice, here as {file:?}: expected it once"));
        }
        of(&["2B2S", "2B4S", "2B2S:2+1"], varied).unwrap();
        // One of two values may be that of the file itself.
        of(&["2B2S"], "core.cortex-a57.width = [2.0, 2.4]").unwrap();
    }

    #[test]
    fn too_many_are_refused_before_they_are_made() {
        let values: Vec<String> = (1..=1000).map(|value| value.to_string()).collect();
        let axes = table(&(0..6).map(|axis| format!("a{axis} = [{}]\n", values.join(","))).collect::<String>());
        let error = Named::new("machine", &["2B2S".into()], &axes, variation::machine_has).unwrap_err();
        let Error::Named { place, source } = error.of("g".into()) else { panic!() };
        assert!(place == "g: machine" && source.to_string().contains("more than 1000000"), "{source}");
    }
}

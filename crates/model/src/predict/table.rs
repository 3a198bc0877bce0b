//! Predictors as files: one model for each core type that counters may be read on.

use serde::{Deserialize, Serialize};

use super::fit::Model;
use super::{PredictError, Quality, Sample};
use crate::names::suggestion;
use crate::{CoreTypeId, Counter, Counters, Machine};

/// Models for one or more pairs of core types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predictor {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    observed_on: String,
    faster: String,
    slower: String,
    model: Model,
}

/// A predictor resolved for a machine: one model for each of its core types.
#[derive(Clone, Debug, PartialEq)]
pub struct MachinePredictor {
    models: Vec<Option<Model>>,
}

/// What a predictor file calls a core type: its name and highest frequency, since both decide the speedup.
pub fn key(machine: &Machine, core_type: CoreTypeId) -> String {
    let core = &machine.core_types[core_type.index()];
    format!("{}@{}MHz", core.name, core.max_frequency().0 / 1_000_000)
}

fn slowest(machine: &Machine) -> CoreTypeId {
    CoreTypeId(machine.core_types.len() as u8 - 1)
}

impl Predictor {
    /// Learns from samples whose counters were read on `observed_on`, one of the core types of a machine.
    ///
    /// # Errors
    /// As [`super::fit`].
    pub fn learn(
        &mut self,
        machine: &Machine,
        observed_on: CoreTypeId,
        samples: &[Sample],
        counters: usize,
        quality: Quality,
    ) -> Result<(), PredictError> {
        let entry = Entry {
            observed_on: key(machine, observed_on),
            faster: key(machine, CoreTypeId(0)),
            slower: key(machine, slowest(machine)),
            model: rounded_model(super::fit(samples, counters, quality)?),
        };
        let same = |other: &Entry| {
            (&other.observed_on, &other.faster, &other.slower) == (&entry.observed_on, &entry.faster, &entry.slower)
        };
        self.entries.retain(|other| !same(other));
        self.entries.push(entry);
        Ok(())
    }

    /// The models for a machine's core types; `None` if there is none for any of them.
    pub fn for_machine(&self, machine: &Machine) -> Option<MachinePredictor> {
        let (faster, slower) = (key(machine, CoreTypeId(0)), key(machine, slowest(machine)));
        let model = |on: usize| {
            let on = key(machine, CoreTypeId(on as u8));
            let fits = |entry: &&Entry| entry.observed_on == on && entry.faster == faster && entry.slower == slower;
            self.entries.iter().find(fits).map(|entry| entry.model.clone())
        };
        let models: Vec<Option<Model>> = (0..machine.core_types.len()).map(model).collect();
        models.iter().any(Option::is_some).then_some(MachinePredictor { models })
    }

    /// Adds the models of another predictor.
    pub fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    /// What each model is for and how it computes, for people: (observed on, faster, slower, model).
    pub fn models(&self) -> impl Iterator<Item = (&str, &str, &str, &Model)> {
        self.entries.iter().map(|e| (e.observed_on.as_str(), e.faster.as_str(), e.slower.as_str(), &e.model))
    }

    /// The text of a predictor file.
    pub fn to_toml(&self) -> String {
        let text = FileText { model: self.entries.iter().map(ModelText::from).collect() };
        toml::to_string(&text).unwrap_or_default()
    }

    /// Reads a predictor file.
    ///
    /// # Errors
    /// Text that is no TOML, or names a counter that does not exist.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, PredictError> {
        let parsed: FileText = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
            PredictError::File(format!("{file}:{line}: {}", crate::words::of_toml(&error, text)))
        })?;
        let entries = parsed.model.into_iter().map(|model| model.entry(file)).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }
}

impl MachinePredictor {
    /// The predicted speedup of the biggest over the smallest core type, from counters read on a core type.
    pub fn predict(&self, observed_on: CoreTypeId, counters: &Counters) -> Option<f64> {
        self.models.get(observed_on.index())?.as_ref()?.predict(counters)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    #[serde(default)]
    model: Vec<ModelText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelText {
    observed_on: String,
    faster: String,
    slower: String,
    range: (f64, f64),
    intercept: f64,
    terms: Vec<(String, f64)>,
}

impl From<&Entry> for ModelText {
    fn from(entry: &Entry) -> Self {
        Self {
            observed_on: entry.observed_on.clone(),
            faster: entry.faster.clone(),
            slower: entry.slower.clone(),
            range: (rounded(entry.model.range.0), rounded(entry.model.range.1)),
            intercept: rounded(entry.model.intercept),
            terms: entry
                .model
                .terms
                .iter()
                .map(|(counter, weight)| (counter.name().into(), rounded(*weight)))
                .collect(),
        }
    }
}

impl ModelText {
    fn entry(self, file: &str) -> Result<Entry, PredictError> {
        let counter = |(name, weight): (String, f64)| {
            let known = Counter::ALL.iter().find(|counter| counter.name() == name);
            known.map(|counter| (*counter, weight)).ok_or_else(|| {
                let hint = suggestion(&name, Counter::ALL.iter().map(|counter| counter.name()));
                PredictError::File(format!("{file}: unknown counter {name:?}: {hint}"))
            })
        };
        let numbers = self.terms.iter().map(|(_, weight)| *weight).chain([self.intercept, self.range.0, self.range.1]);
        let (lowest, highest) = self.range;
        if !numbers.into_iter().all(f64::is_finite) || lowest <= 0.0 || lowest > highest {
            let of = format!("the model of {} over {}", self.faster, self.slower);
            let what = "expected finite numbers, and a range of speedups above 0 from the lowest to the highest";
            return Err(PredictError::File(format!("{file}: {of}: {what}")));
        }
        let model = Model {
            intercept: self.intercept,
            terms: self.terms.into_iter().map(counter).collect::<Result<_, _>>()?,
            range: self.range,
        };
        Ok(Entry { observed_on: self.observed_on, faster: self.faster, slower: self.slower, model })
    }
}

/// Six significant digits from the start, so that a model decides the same before and after it went through a file, and
/// on every machine that fits it.
fn rounded_model(model: Model) -> Model {
    Model {
        intercept: rounded(model.intercept),
        terms: model.terms.into_iter().map(|(counter, weight)| (counter, rounded(weight))).collect(),
        range: (rounded(model.range.0), rounded(model.range.1)),
    }
}

/// Six significant digits.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictor(machine: &Machine) -> Predictor {
        let sample = |index: usize| {
            let mut counters = Counters::default();
            counters.0[Counter::Instructions as usize] = 1e6;
            counters.0[Counter::MemoryStallCycles as usize] = index as f64 * 1e5 / 3.0;
            Sample { group: index.to_string(), counters, speedup: 3.0 - index as f64 / 7.0 }
        };
        let samples: Vec<Sample> = (0..8).map(sample).collect();
        let mut predictor = Predictor::default();
        predictor.learn(machine, CoreTypeId(1), &samples, 6, Quality::Best).unwrap();
        predictor
    }

    #[test]
    fn a_file_keeps_what_matters() {
        let machine = crate::machines::by_name("2B2S").unwrap();
        let predictor = predictor(&machine);
        let text = predictor.to_toml();
        let read = Predictor::from_toml(&text, "p.toml").unwrap();
        assert_eq!(read.to_toml(), text);
        let mut counters = Counters::default();
        counters.0[Counter::Instructions as usize] = 1e6;
        counters.0[Counter::MemoryStallCycles as usize] = 1e5;
        let resolved = read.for_machine(&machine).unwrap();
        let predicted = resolved.predict(CoreTypeId(1), &counters).unwrap();
        assert!((predicted - (3.0 - 3.0 / 7.0)).abs() < 1e-3, "{predicted}");
        assert_eq!(
            resolved.predict(CoreTypeId(0), &counters),
            None,
            "nothing was learned from the big core's counters"
        );
        assert_eq!(read.for_machine(&crate::machines::by_name("rk3588").unwrap()), None);
    }

    #[test]
    fn broken_files_are_errors() {
        let machine = crate::machines::by_name("2B2S").unwrap();
        let text = predictor(&machine).to_toml();
        let error = |text: &str| Predictor::from_toml(text, "p.toml").unwrap_err().to_string();
        assert!(error("[[model]]\nobserved_on = 3").starts_with("p.toml:2: "));
        let unknown = error(&text.replace("memory-stall-cycles", "memory-stalls"));
        assert!(
            unknown.contains(r#"unknown counter "memory-stalls": did you mean "memory-stall-cycles"?"#),
            "{unknown}"
        );
        for (key, value) in [
            ("intercept", "nan"),
            ("range", "[1.0, nan]"),
            ("range", "[-1.0, 2.0]"),
            ("range", "[0.0, inf]"),
            ("range", "[3.0, 1.5]"),
        ] {
            let line = text.lines().find(|line| line.starts_with(&format!("{key} ="))).unwrap();
            let wrong = error(&text.replace(line, &format!("{key} = {value}")));
            assert!(wrong.starts_with("p.toml: the model of ") && wrong.contains("finite numbers"), "{wrong}");
        }
    }
}

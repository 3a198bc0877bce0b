//! The file as it is written. Fields are documented for users in `docs/workloads.md`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use evenkeel_model::names::name;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use toml::Spanned;

use super::error::Fault;
use crate::program::{MainThread, Memory, ReadyQueue};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileText {
    #[serde(default, deserialize_with = "some_name")]
    pub name: Option<String>,
    pub duration: Option<Spanned<String>>,
    #[serde(default)]
    pub runtime: RuntimeText,
    #[serde(default)]
    pub rerun: bool,
    #[serde(default)]
    pub program: Vec<Spanned<ProgramText>>,
}

fn some_name<'de, D: Deserializer<'de>>(text: D) -> Result<Option<String>, D::Error> {
    name(text).map(Some)
}

/// What every program of a file has besides its own: the threads of the system that it runs on.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuntimeText {
    #[serde(default)]
    pub phases: BTreeMap<String, Spanned<PhaseText>>,
    #[serde(default)]
    pub locks: Vec<Spanned<String>>,
    #[serde(default)]
    pub barriers: Vec<Spanned<String>>,
    #[serde(default)]
    pub semaphores: BTreeMap<Spanned<String>, Spanned<Number>>,
    #[serde(default)]
    pub threads: Vec<Spanned<GroupText>>,
}

impl RuntimeText {
    /// Puts it under a program. A name that both have is a mistake; in lists it is found when they are declared.
    pub fn under(&self, program: &mut ProgramText) -> Result<(), Fault> {
        for (name, phase) in &self.phases {
            if program.phases.insert(name.clone(), phase.clone()).is_some() {
                return Err(twice("phase", name, phase.span(), program));
            }
        }
        for (name, count) in &self.semaphores {
            if program.semaphores.insert(name.clone(), count.clone()).is_some() {
                return Err(twice("semaphore", name.get_ref(), name.span(), program));
            }
        }
        program.locks.extend(self.locks.clone());
        program.barriers.extend(self.barriers.clone());
        program.threads.extend(self.threads.clone());
        Ok(())
    }
}

fn twice(kind: &str, name: &str, at: Range<usize>, program: &ProgramText) -> Fault {
    Fault::new(at, format!("{kind} {name:?} is declared twice: here and in program \"{}\"", program.name))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProgramText {
    #[serde(deserialize_with = "name")]
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub source: String,
    pub sync_rate: Option<Level>,
    pub comm_comp: Option<Level>,
    pub n: Option<Spanned<u32>>,
    pub min_n: Option<Spanned<u32>>,
    pub max_n: Option<Spanned<u32>>,
    #[serde(default)]
    pub memory: Memory,
    pub spin: Option<Spanned<String>>,
    pub barrier_spin: Option<Spanned<String>>,
    #[serde(default)]
    pub phases: BTreeMap<String, Spanned<PhaseText>>,
    #[serde(default)]
    pub locks: Vec<Spanned<String>>,
    #[serde(default)]
    pub barriers: Vec<Spanned<String>>,
    #[serde(default)]
    pub conditions: Vec<Spanned<String>>,
    #[serde(default)]
    pub events: Vec<Spanned<String>>,
    #[serde(default)]
    pub timers: Vec<Spanned<String>>,
    #[serde(default)]
    pub regions: Vec<Spanned<String>>,
    pub tasks: Option<Spanned<TasksText>>,
    #[serde(default)]
    pub queues: BTreeMap<Spanned<String>, Spanned<Number>>,
    #[serde(default)]
    pub semaphores: BTreeMap<Spanned<String>, Spanned<Number>>,
    #[serde(default)]
    pub loops: BTreeMap<Spanned<String>, Spanned<Number>>,
    #[serde(default)]
    pub threads: Vec<Spanned<GroupText>>,
}

/// How the literature classes a program (COLAB, Table 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
    /// Very high.
    VeryHigh,
}

impl fmt::Display for Level {
    /// As Table 3 prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::VeryHigh => "very high",
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseText {
    pub ilp: f64,
    #[serde(default)]
    pub memory_ns: f64,
    pub memory_bytes: Option<f64>,
    #[serde(default)]
    pub reuse_kb: f64,
    #[serde(default)]
    pub starved: f64,
    #[serde(default = "hundred")]
    pub branches: f64,
    #[serde(default)]
    pub fp: f64,
    #[serde(default = "hundred")]
    pub stores: f64,
    #[serde(default)]
    pub exchange: bool,
}

fn hundred() -> f64 {
    100.0
}

/// How tasks are run. What is left out is as [`crate::program::Tasking`] has it by default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TasksText {
    pub ready: Option<ReadyQueue>,
    pub main: Option<MainThread>,
    pub workers: Option<Spanned<Number>>,
    #[serde(default)]
    pub tied: bool,
    pub window: Option<Spanned<Number>>,
    pub create: Option<Spanned<String>>,
    pub queue: Option<Spanned<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupText {
    pub name: Spanned<String>,
    pub count: Option<Spanned<Number>>,
    pub skew: Option<Spanned<Skew>>,
    #[serde(default)]
    pub service: bool,
    pub start: Option<Spanned<String>>,
    pub spread: Option<SpreadText>,
    pub nice: Option<i64>,
    pub realtime: Option<i64>,
    pub cpus: Option<Vec<u16>>,
    #[serde(rename = "do")]
    pub body: Vec<Spanned<OpText>>,
}

/// How unevenly a `share` or a `deal` falls on the threads of a group.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) enum Skew {
    /// The first thread gets `1 + x` of the mean, the last `1 - x`, those between on a line.
    Linear(f64),
    /// The first thread gets this many times as much as each other one.
    Heavy(f64),
}

/// One operation: exactly one of the keys that name an operation, and those that go with it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpText {
    pub compute: Option<String>,
    pub share: Option<String>,
    pub spin: Option<String>,
    pub sleep: Option<String>,
    pub lock: Option<String>,
    pub unlock: Option<String>,
    pub barrier: Option<String>,
    pub put: Option<String>,
    pub get: Option<String>,
    pub close: Option<String>,
    pub drain: Option<String>,
    pub wait: Option<String>,
    pub signal: Option<String>,
    pub broadcast: Option<String>,
    pub post: Option<String>,
    pub acquire: Option<String>,
    pub suspend: Option<String>,
    pub resume: Option<String>,
    pub timer: Option<String>,
    pub spawn: Option<String>,
    pub join: Option<String>,
    pub repeat: Option<Number>,
    pub deal: Option<Number>,
    #[serde(rename = "loop")]
    pub each: Option<String>,
    pub single: Option<Vec<Spanned<OpText>>>,
    #[serde(rename = "yield")]
    pub give_way: Option<bool>,
    pub set: Option<SetText>,
    pub task: Option<String>,
    pub taskwait: Option<bool>,
    #[serde(rename = "for")]
    pub span: Option<String>,

    pub phase: Option<String>,
    pub spread: Option<SpreadText>,
    pub taper: Option<u32>,
    pub split: Option<bool>,
    pub holding: Option<String>,
    pub every: Option<String>,
    pub mode: Option<ModeText>,
    #[serde(rename = "in")]
    pub reads: Option<Vec<String>>,
    #[serde(rename = "out")]
    pub writes: Option<Vec<String>>,
    #[serde(rename = "inout")]
    pub updates: Option<Vec<String>>,
    #[serde(rename = "do")]
    pub body: Option<Vec<Spanned<OpText>>>,
}

impl OpText {
    /// The keys that name an operation, of those that are present.
    pub fn verbs(&self) -> Vec<&'static str> {
        let all = [
            ("compute", self.compute.is_some()),
            ("share", self.share.is_some()),
            ("spin", self.spin.is_some()),
            ("sleep", self.sleep.is_some()),
            ("lock", self.lock.is_some()),
            ("unlock", self.unlock.is_some()),
            ("barrier", self.barrier.is_some()),
            ("put", self.put.is_some()),
            ("get", self.get.is_some()),
            ("close", self.close.is_some()),
            ("drain", self.drain.is_some()),
            ("wait", self.wait.is_some()),
            ("signal", self.signal.is_some()),
            ("broadcast", self.broadcast.is_some()),
            ("post", self.post.is_some()),
            ("acquire", self.acquire.is_some()),
            ("suspend", self.suspend.is_some()),
            ("resume", self.resume.is_some()),
            ("timer", self.timer.is_some()),
            ("spawn", self.spawn.is_some()),
            ("join", self.join.is_some()),
            ("repeat", self.repeat.is_some()),
            ("deal", self.deal.is_some()),
            ("loop", self.each.is_some()),
            ("single", self.single.is_some()),
            ("yield", self.give_way.is_some()),
            ("set", self.set.is_some()),
            ("task", self.task.is_some()),
            ("taskwait", self.taskwait.is_some()),
            ("for", self.span.is_some()),
        ];
        all.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect()
    }

    /// The keys that go with an operation, of those that are present.
    pub fn details(&self) -> Vec<&'static str> {
        let all = [
            ("phase", self.phase.is_some()),
            ("spread", self.spread.is_some()),
            ("taper", self.taper.is_some()),
            ("split", self.split.is_some()),
            ("holding", self.holding.is_some()),
            ("every", self.every.is_some()),
            ("mode", self.mode.is_some()),
            ("in", self.reads.is_some()),
            ("out", self.writes.is_some()),
            ("inout", self.updates.is_some()),
            ("do", self.body.is_some()),
        ];
        all.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect()
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetText {
    pub nice: Option<i64>,
    pub realtime: Option<i64>,
    pub cpus: Option<Vec<u16>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModeText {
    Relative,
    Absolute,
}

/// `0.2` or `"exponential"`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SpreadText {
    Uniform(f64),
    Exponential,
}

impl<'de> Deserialize<'de> for SpreadText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = SpreadText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share of the mean from 0 to 1, or \"exponential\"")
            }
            fn visit_f64<E: Error>(self, share: f64) -> Result<SpreadText, E> {
                Ok(SpreadText::Uniform(share))
            }
            fn visit_i64<E: Error>(self, share: i64) -> Result<SpreadText, E> {
                Ok(SpreadText::Uniform(share as f64))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<SpreadText, E> {
                match text {
                    "exponential" => Ok(SpreadText::Exponential),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }
        }
        from.deserialize_any(Reader)
    }
}

/// `50` or an expression such as `"3*n + 2"`.
#[derive(Clone, Debug)]
pub(crate) struct Number(pub String);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or an expression such as \"2*n\"")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
                u64::try_from(number).map(|_| Number(number.to_string())).map_err(|_| {
                    E::invalid_value(serde::de::Unexpected::Signed(number), &"a number that is not negative")
                })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                Ok(Number(text.to_owned()))
            }
        }
        from.deserialize_any(Reader)
    }
}

//! What a policy says of itself, beside its code, and its knobs: what can be set, written after its name, as in
//! `wash:quantum=40ms:no-locks`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_model::Ns;
use evenkeel_model::names::suggestion;

use super::hooks::{Hook, Overrides, Policy};
use super::in_kernel::InKernel;

/// What a policy says of itself.
pub struct Description {
    /// The name that commands use.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it comes from: title, venue, section.
    pub source: &'static str,
    /// The methods of [`Policy`] that it overrides, as its code has them ([`Overrides`]).
    pub overrides: &'static [&'static str],
    /// What can be set.
    pub knobs: &'static [Knob],
    /// What it reads of what hosts count.
    pub reads: Reads,
    /// Whether it must know the future of every thread ([`crate::Thread::future`]). Only a simulator can tell it; every
    /// other host refuses such a policy.
    pub foresight: bool,
    /// What it guarantees on every host, beyond what every policy does.
    pub guarantees: &'static [Guarantee],
    /// How a program inside the kernel has it, if one does.
    pub in_kernel: Option<InKernel>,
    /// Makes one, as it is set up.
    pub make: fn(&Setup) -> Box<dyn Policy>,
}

/// What a policy reads of what hosts count. Hosts need not count anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Nothing.
    Nothing,
    /// Speedups, predicted or measured.
    Speedups,
    /// What threads stall on, as the counters of a span.
    Stalls {
        /// What it does where a host cannot count that, as the end of a sentence about it.
        without: &'static str,
    },
}

/// What a policy may guarantee; the suite that every host plays checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// An idle big core takes over the thread of a little one at once.
    TakesOver,
    /// A core that is busy takes over what waits for a busier one.
    Balances,
}

impl Description {
    /// A policy that reads nothing, has no knobs and guarantees nothing more; which hooks it overrides follows from its type.
    pub const fn of<P: Overrides>(name: &'static str, make: fn(&Setup) -> Box<dyn Policy>) -> Self {
        Self {
            name,
            summary: "",
            source: "",
            overrides: P::METHODS,
            knobs: &[],
            reads: Reads::Nothing,
            foresight: false,
            guarantees: &[],
            in_kernel: None,
            make,
        }
    }

    /// The hooks in which it differs from CFS.
    pub fn hooks(&self) -> impl Iterator<Item = Hook> {
        Hook::ALL.into_iter().filter(|hook| self.overrides.contains(&hook.method()))
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Something of a policy that can be set.
#[derive(Debug)]
pub struct Knob {
    /// What users write.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What it can be, and what it is unless it is set.
    pub value: Value,
}

/// The values of a knob, with the default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// On if it is named.
    Switch,
    /// A time, longer than none.
    Time(Ns),
    /// A number between two limits.
    Number {
        /// The default.
        default: f64,
        /// The smallest.
        from: f64,
        /// The largest.
        to: f64,
    },
    /// A whole number between two limits.
    Whole {
        /// The default.
        default: u32,
        /// The smallest.
        from: u32,
        /// The largest.
        to: u32,
    },
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
}

impl fmt::Display for Value {
    /// The default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch => f.write_str("off"),
            Self::Time(time) => fmt::Display::fmt(&humantime::format_duration(Duration::from_nanos(time.0)), f),
            Self::Number { default, .. } => fmt::Display::fmt(default, f),
            Self::Whole { default, .. } => fmt::Display::fmt(default, f),
            Self::Word(words) => f.write_str(words[0]),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Set {
    On,
    Time(Ns),
    Number(f64),
    Whole(u32),
    Word(&'static str),
}

/// A policy, and what its knobs are set to.
#[derive(Clone, Debug)]
pub struct Setup {
    description: &'static Description,
    /// As the user wrote it.
    name: String,
    set: Vec<(&'static str, Set)>,
    /// Makes the policy in place of its description.
    maker: Option<Maker>,
}

/// Makes a policy that is none of [`super::POLICIES`], such as one written in another language.
#[derive(Clone)]
struct Maker(Arc<dyn Fn(u64) -> Box<dyn Policy> + Send + Sync>);

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

/// Why there is no such policy, or not set like that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// No policy of this name.
    #[error("unknown policy \"{name}\": {hint}")]
    Unknown {
        /// The name.
        name: String,
        /// Which one could be meant.
        hint: String,
    },
    /// A knob that the policy does not have, or a value that the knob does not take.
    #[error("policy {policy}: {message}")]
    Knob {
        /// The policy.
        policy: &'static str,
        /// What was found and what was expected.
        message: String,
    },
}

impl From<&'static Description> for Setup {
    /// The policy with no knob set.
    fn from(description: &'static Description) -> Self {
        Self { description, name: description.name.to_owned(), set: Vec::new(), maker: None }
    }
}

impl Setup {
    pub(super) fn turn(&mut self, word: &str) -> Result<(), String> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let known = self.description.knobs;
        let Some(knob) = known.iter().find(|knob| knob.name == name) else {
            return Err(match known {
                [] => format!("it has no knob \"{name}\", nor any other"),
                _ => format!("unknown knob \"{name}\": {}", suggestion(name, known.iter().map(|knob| knob.name))),
            });
        };
        if self.get(knob.name).is_some() {
            return Err(format!("\"{name}\" is set twice"));
        }
        self.set.push((knob.name, knob.value.read(value).map_err(|expected| format!("\"{word}\": {expected}"))?));
        Ok(())
    }

    fn get(&self, knob: &str) -> Option<Set> {
        self.set.iter().find(|(name, _)| *name == knob).map(|(_, value)| *value)
    }

    /// What the policy says of itself.
    pub fn description(&self) -> &'static Description {
        self.description
    }

    /// The name, with what was set, as it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name, with what every knob is, set or not: policies that have this in common do the same.
    pub fn in_full(&self) -> String {
        let knobs = self.description.knobs.iter().map(|Knob { name, value, .. }| match value {
            Value::Switch => format!(":{name}={}", self.switch(name)),
            Value::Time(_) => format!(":{name}={}ns", self.time(name).0),
            Value::Number { .. } => format!(":{name}={}", self.number(name)),
            Value::Whole { .. } => format!(":{name}={}", self.whole(name)),
            Value::Word(_) => format!(":{name}={}", self.word(name)),
        });
        std::iter::once(self.description.name.to_owned()).chain(knobs).collect()
    }

    /// The same under a shorter name.
    #[must_use]
    pub fn called(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// The same policy, made by this in place of [`Description::make`]: for one that is more than its description says, such as
    /// one written in another language. It is given the seed of the run, from which such a policy may draw.
    #[must_use]
    pub fn made_by(self, make: impl Fn(u64) -> Box<dyn Policy> + Send + Sync + 'static) -> Self {
        Self { maker: Some(Maker(Arc::new(make))), ..self }
    }

    /// Whether nothing is known of what it draws from: two runs of it may differ although nothing else does.
    pub fn may_draw(&self) -> bool {
        self.maker.is_some()
    }

    /// Makes the policy, not for a run with a seed.
    pub fn make(&self) -> Box<dyn Policy> {
        self.make_for(0)
    }

    /// Makes the policy of a run with this seed.
    pub fn make_for(&self, seed: u64) -> Box<dyn Policy> {
        match &self.maker {
            Some(Maker(make)) => make(seed),
            None => (self.description.make)(self),
        }
    }

    /// Whether a switch is on.
    pub fn switch(&self, knob: &str) -> bool {
        self.declared(knob);
        self.get(knob) == Some(Set::On)
    }

    /// What a knob that is a time is set to.
    pub fn time(&self, knob: &str) -> Ns {
        match (self.get(knob), self.declared(knob)) {
            (Some(Set::Time(time)), _) | (_, Value::Time(time)) => time,
            (_, other) => unreachable!("{knob} is no time but {other:?}"),
        }
    }

    /// What a knob that is a number is set to.
    pub fn number(&self, knob: &str) -> f64 {
        match (self.get(knob), self.declared(knob)) {
            (Some(Set::Number(number)), _) | (_, Value::Number { default: number, .. }) => number,
            (_, other) => unreachable!("{knob} is no number but {other:?}"),
        }
    }

    /// What a knob that is a whole number is set to.
    pub fn whole(&self, knob: &str) -> u32 {
        match (self.get(knob), self.declared(knob)) {
            (Some(Set::Whole(number)), _) | (_, Value::Whole { default: number, .. }) => number,
            (_, other) => unreachable!("{knob} is no whole number but {other:?}"),
        }
    }

    /// What a knob that is one of some words is set to.
    pub fn word(&self, knob: &str) -> &'static str {
        match (self.get(knob), self.declared(knob)) {
            (Some(Set::Word(word)), _) => word,
            (_, Value::Word(words)) => words[0],
            (_, other) => unreachable!("{knob} is no word but {other:?}"),
        }
    }

    /// What a knob that is a switch or a word is set to, as a number: 1 for on; a word's place among those that it can be.
    pub fn choice(&self, knob: &str) -> u32 {
        match self.declared(knob) {
            Value::Switch => self.switch(knob).into(),
            Value::Word(words) => {
                let chosen = self.word(knob);
                words.iter().position(|word| *word == chosen).unwrap_or_default() as u32
            }
            other => unreachable!("{knob} is no choice but {other:?}"),
        }
    }

    /// A policy reads what its own entry declares; a test makes every policy.
    fn declared(&self, name: &str) -> Value {
        let knob = self.description.knobs.iter().find(|knob| knob.name == name);
        knob.unwrap_or_else(|| unreachable!("{} has no knob {name}", self.description.name)).value
    }
}

/// No scheduler decides more often, and a simulated one would get nowhere.
const SHORTEST: Ns = Ns::from_us(10);

impl Value {
    /// The words that it may be, the default first; none if it is no word.
    pub fn words(&self) -> &'static [&'static str] {
        if let Self::Word(words) = self { words } else { &[] }
    }

    fn read(&self, text: Option<&str>) -> Result<Set, String> {
        match (self, text) {
            (Self::Switch, None) => Ok(Set::On),
            (Self::Switch, Some(_)) => {
                Err("a switch takes no value: name it to have it on, leave it out to have it off".into())
            }
            (Self::Time(_), text) => {
                let time = text.and_then(|text| humantime::parse_duration(text).ok());
                let time = time.ok_or_else(|| format!("expected a time with its unit, such as {self}"))?;
                let ns = u64::try_from(time.as_nanos()).ok().map(Ns);
                let ns = ns.filter(|time| (SHORTEST..=Ns::LONGEST).contains(time));
                ns.map(Set::Time).ok_or_else(|| "expected a time from 10us to 292 years".into())
            }
            (Self::Number { from, to, .. }, text) => {
                let number = text.and_then(|text| text.parse().ok()).filter(|number| (*from..=*to).contains(number));
                number.map(Set::Number).ok_or_else(|| format!("expected a number from {from} to {to}"))
            }
            (Self::Whole { from, to, .. }, text) => {
                let number = text.and_then(|text| text.parse().ok()).filter(|number| (*from..=*to).contains(number));
                number.map(Set::Whole).ok_or_else(|| format!("expected a whole number from {from} to {to}"))
            }
            (Self::Word(words), text) => {
                let word = words.iter().find(|word| Some(**word) == text);
                word.map(|word| Set::Word(word)).ok_or_else(|| format!("expected one of {}", words.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOBS: &[Knob] = &[
        Knob { name: "quiet", summary: "", value: Value::Switch },
        Knob { name: "quantum", summary: "", value: Value::Time(Ns::from_ms(10)) },
        Knob { name: "share", summary: "", value: Value::Number { default: 0.5, from: 0.0, to: 1.0 } },
        Knob { name: "limit", summary: "", value: Value::Whole { default: 80, from: 1, to: 100 } },
        Knob { name: "rank", summary: "", value: Value::Word(&["both", "none"]) },
    ];
    static TEST: Description = Description { knobs: KNOBS, ..Description::of::<NoPolicy>("test", |_| unreachable!()) };

    struct NoPolicy;

    impl Overrides for NoPolicy {
        const METHODS: &'static [&'static str] = &["pick", "accepts"];
    }

    #[test]
    fn hooks_are_the_methods_that_decide() {
        assert_eq!(TEST.hooks().collect::<Vec<_>>(), [Hook::Pick]);
    }

    fn set(words: &[&str]) -> Result<Setup, String> {
        let mut setup = Setup::from(&TEST);
        words.iter().try_for_each(|word| setup.turn(word))?;
        Ok(setup)
    }

    #[test]
    fn knobs_have_defaults_and_can_be_set() {
        let setup = set(&[]).unwrap();
        assert!(!setup.switch("quiet"));
        assert_eq!((setup.time("quantum"), setup.number("share"), setup.word("rank")), (Ns::from_ms(10), 0.5, "both"));
        assert_eq!((setup.choice("quiet"), setup.choice("rank"), setup.whole("limit")), (0, 0, 80));
        let setup = set(&["quiet", "quantum=40ms", "share=0.25", "limit=95", "rank=none"]).unwrap();
        assert_eq!((setup.choice("quiet"), setup.choice("rank")), (1, 1));
        assert!(setup.switch("quiet"));
        assert_eq!(setup.whole("limit"), 95);
        assert_eq!((setup.time("quantum"), setup.number("share"), setup.word("rank")), (Ns::from_ms(40), 0.25, "none"));
    }

    #[test]
    fn what_a_knob_does_not_take_is_said_with_what_it_does() {
        let complaint = |words: &[&str]| set(words).unwrap_err();
        assert_eq!(complaint(&["qantum=1ms"]), r#"unknown knob "qantum": did you mean "quantum"?"#);
        for time in ["quantum", "quantum=10"] {
            assert_eq!(complaint(&[time]), format!("{time:?}: expected a time with its unit, such as 10ms"));
        }
        for time in ["quantum=0ms", "quantum=293y", "quantum=1000y"] {
            assert_eq!(complaint(&[time]), format!("{time:?}: expected a time from 10us to 292 years"));
        }
        assert_eq!(complaint(&["share=NaN"]), r#""share=NaN": expected a number from 0 to 1"#);
        for number in ["limit=0", "limit=80.5"] {
            assert_eq!(complaint(&[number]), format!("{number:?}: expected a whole number from 1 to 100"));
        }
        assert_eq!(complaint(&["rank=all"]), r#""rank=all": expected one of both, none"#);
        assert_eq!(
            complaint(&["quiet=yes"]),
            r#""quiet=yes": a switch takes no value: name it to have it on, leave it out to have it off"#
        );
        assert_eq!(complaint(&["quiet", "quiet"]), r#""quiet" is set twice"#);
    }
}

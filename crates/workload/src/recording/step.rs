//! What a recorded thread does, and how the file writes it: `["run",1200]`, `["wait"]`.

use std::borrow::Cow;
use std::fmt;

use evenkeel_model::Ns;
use evenkeel_model::names::suggestion;
use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::limits::MAX_AMOUNT;

/// One thing that a recorded thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Computed: so many instructions, or nanoseconds on the biggest core ([`super::Recording::counted`]).
    Run(u64),
    /// Waited until another thread woke it.
    Wait,
    /// Woke a thread, by its position in the recording, or an item of a list: items are numbered on from the threads.
    Wake(u32),
    /// Waited for something that the program has no part in: a timer, a signal from outside.
    Sleep(Ns),
    /// Waited so long for a device.
    Io(Ns),
    /// Started a thread, by its position in the recording.
    Spawn(u32),
    /// Waited at a barrier, by its number, until every thread that ever does had come.
    Barrier(u32),
    /// Did so much of what the threads of a pool share out as they run, by the number of the pool.
    Share {
        /// Which pool. A thread takes part once.
        pool: u32,
        /// Its part, in units of [`Step::Run`]. Another run may give it another part of the sum.
        amount: u64,
    },
    /// Took items of a list, by its number, and did them, until none was left.
    Take(u32),
    /// Waited until an item of a list was done, by its number.
    Result(u32),
    /// Took a lock, by its number, having waited until no other thread had it. Until it gives it up it waits for nothing.
    Lock(u32),
    /// Gave a lock up.
    Unlock(u32),
}

const NAMES: [&str; 12] =
    ["run", "wait", "wake", "sleep", "io", "spawn", "barrier", "share", "take", "result", "lock", "unlock"];

impl Step {
    /// What it is called in a file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Wait => "wait",
            Self::Wake(_) => "wake",
            Self::Sleep(_) => "sleep",
            Self::Io(_) => "io",
            Self::Spawn(_) => "spawn",
            Self::Barrier(_) => "barrier",
            Self::Share { .. } => "share",
            Self::Take(_) => "take",
            Self::Result(_) => "result",
            Self::Lock(_) => "lock",
            Self::Unlock(_) => "unlock",
        }
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Wait => (self.name(),).serialize(serializer),
            Self::Run(amount) | Self::Sleep(Ns(amount)) | Self::Io(Ns(amount)) => {
                (self.name(), amount).serialize(serializer)
            }
            Self::Wake(number)
            | Self::Spawn(number)
            | Self::Barrier(number)
            | Self::Take(number)
            | Self::Result(number)
            | Self::Lock(number)
            | Self::Unlock(number) => (self.name(), number).serialize(serializer),
            Self::Share { pool, amount } => (self.name(), pool, amount).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(StepVisitor)
    }
}

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation such as [\"run\", 1200] or [\"wait\"]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Step, A::Error> {
        let Some(name) = parts.next_element::<Cow<'de, str>>()? else {
            return Err(A::Error::custom("an empty operation: expected one such as [\"run\", 1200] or [\"wait\"]"));
        };
        let step = match name.as_ref() {
            "run" => Step::Run(amount(&name, &mut parts)?),
            "wait" => Step::Wait,
            "wake" => Step::Wake(argument(&name, "the number of a thread or item", &mut parts)?),
            "sleep" => Step::Sleep(Ns(amount(&name, &mut parts)?)),
            "io" => Step::Io(Ns(amount(&name, &mut parts)?)),
            "spawn" => Step::Spawn(argument(&name, "the number of a thread", &mut parts)?),
            "barrier" => Step::Barrier(argument(&name, "the number of a barrier", &mut parts)?),
            "share" => {
                let pool = argument(&name, "the number of a pool", &mut parts)?;
                Step::Share { pool, amount: amount(&name, &mut parts)? }
            }
            "take" => Step::Take(argument(&name, "the number of a list", &mut parts)?),
            "lock" => Step::Lock(argument(&name, "the number of a lock", &mut parts)?),
            "unlock" => Step::Unlock(argument(&name, "the number of a lock", &mut parts)?),
            "result" => Step::Result(argument(&name, "the number of an item", &mut parts)?),
            _ => {
                let hint = suggestion(&name, NAMES);
                return Err(A::Error::custom(format!("unknown operation {name:?}: {hint}")));
            }
        };
        match parts.next_element::<IgnoredAny>()? {
            None => Ok(step),
            Some(_) => Err(A::Error::custom(format!("{name:?} has too many arguments"))),
        }
    }
}

fn argument<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(name: &str, what: &str, parts: &mut A) -> Result<T, A::Error> {
    parts.next_element()?.ok_or_else(|| A::Error::custom(format!("{name:?} lacks its argument, {what}")))
}

fn amount<'de, A: SeqAccess<'de>>(name: &str, parts: &mut A) -> Result<u64, A::Error> {
    let amount = argument(name, "an amount", parts)?;
    if amount <= MAX_AMOUNT {
        return Ok(amount);
    }
    Err(A::Error::custom(format!("{name:?} has an amount of {amount}: expected at most {MAX_AMOUNT}")))
}

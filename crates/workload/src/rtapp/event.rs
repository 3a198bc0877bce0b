//! Events: the keys of a phase that do something, in the order in which they stand.

use evenkeel_model::Ns;

use super::json::{Field, MAX_INT, setting};
use super::memory::Memory;
use super::notes::{Notes, RtAppError, did_you_mean};

/// What event keys begin with. rt-app compares the beginning only, so that a file can tell `run0` from `run_big`; the
/// longer of two that match is meant.
pub(super) const NAMES: &[&str] = &[
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer", "suspend", "resume",
    "memrun", "mem", "iorun", "yield", "barrier", "fork", "sem_post", "sem_wait",
];

/// One event.
pub(super) struct Event {
    /// Its key, for messages.
    pub(super) key: String,
    pub(super) line: u32,
    pub(super) action: Action,
}

/// What an event does, with objects by name.
pub(super) enum Action {
    Run(Ns),
    Runtime(Ns),
    Sleep(Ns),
    Memory(Memory),
    Lock(String),
    Unlock(String),
    Wait {
        condition: String,
        lock: String,
    },
    /// Signals and waits on the same condition.
    Sync {
        condition: String,
        lock: String,
    },
    Signal(String),
    Broadcast(String),
    Barrier(String),
    Timer {
        timer: String,
        period: Ns,
        absolute: bool,
    },
    /// The text of a suspend may be empty or absent.
    Suspend(String),
    Resume(String),
    Post(String),
    Acquire(String),
    Yield,
    Fork(String),
}

/// Whether rt-app takes this key for an event.
pub(super) fn is_event(key: &str) -> bool {
    name_of(key).is_some()
}

fn name_of(key: &str) -> Option<&'static str> {
    NAMES.iter().copied().filter(|name| key.starts_with(name)).max_by_key(|name| name.len())
}

/// The events among the fields of a phase that stands on `line`.
pub(super) fn read_all(notes: &mut Notes, fields: &[Field<'_>], line: u32) -> Result<Vec<Event>, RtAppError> {
    let mut events = Vec::new();
    for field in fields {
        if let Some(name) = name_of(field.key) {
            let action = read(notes, name, field)?;
            events.push(Event { key: field.key.to_owned(), line: field.line, action });
        }
    }
    if events.is_empty() {
        return Err(notes.error(line, "no events: expected at least one, such as \"run\" : 1000"));
    }
    Ok(events)
}

fn read(notes: &mut Notes, name: &str, field: &Field<'_>) -> Result<Action, RtAppError> {
    let text = || field.string(notes).map(str::to_owned);
    Ok(match name {
        "run" => Action::Run(field.us(notes)?),
        "runtime" => Action::Runtime(field.us(notes)?),
        "sleep" => Action::Sleep(field.us(notes)?),
        "mem" => Action::Memory(Memory::Set { bytes: field.integer(notes, 0..=MAX_INT, "bytes")? as u64 }),
        "iorun" => Action::Memory(Memory::Io { bytes: field.integer(notes, 0..=MAX_INT, "bytes")? as u64 }),
        "memrun" => Action::Memory(memrun(notes, field)?),
        "lock" => Action::Lock(text()?),
        "unlock" => Action::Unlock(text()?),
        "signal" => Action::Signal(text()?),
        "broad" => Action::Broadcast(text()?),
        "barrier" => Action::Barrier(text()?),
        "resume" => Action::Resume(text()?),
        "fork" => Action::Fork(text()?),
        "sem_post" => Action::Post(text()?),
        "sem_wait" => Action::Acquire(text()?),
        // What these two carry has no meaning to rt-app, so its type has none either.
        "suspend" => Action::Suspend(field.maybe_string().unwrap_or_default().to_owned()),
        "yield" => Action::Yield,
        "timer" => timer(notes, field)?,
        _ => {
            let fields = field.object(notes, "an object {\"ref\" : CONDITION, \"mutex\" : MUTEX}")?;
            check(notes, &fields, &["ref", "mutex"]);
            let condition = reference(notes, &fields, field.line, "ref")?;
            let lock = reference(notes, &fields, field.line, "mutex")?;
            if name == "sync" { Action::Sync { condition, lock } } else { Action::Wait { condition, lock } }
        }
    })
}

fn timer(notes: &mut Notes, field: &Field<'_>) -> Result<Action, RtAppError> {
    let fields = field.object(notes, "an object {\"ref\" : TIMER, \"period\" : MICROSECONDS}")?;
    check(notes, &fields, &["ref", "period", "mode"]);
    let timer = reference(notes, &fields, field.line, "ref")?;
    let period = match setting(notes, &fields, "period") {
        Some(period) => period.us(notes)?,
        None => {
            notes.warn(field.line, field.key, "has no \"period\": taken as 0, as rt-app does, so it never sleeps");
            Ns::ZERO
        }
    };
    let absolute = match setting(notes, &fields, "mode") {
        Some(mode) => {
            let text = mode.string(notes)?;
            if !text.starts_with("absolute") && text != "relative" {
                let hint = did_you_mean(text, ["absolute", "relative"]);
                notes.warn(mode.line, "mode", format!("unknown mode \"{text}\", taken as relative{hint}"));
            }
            text.starts_with("absolute")
        }
        None => false,
    };
    Ok(Action::Timer { timer, period, absolute })
}

fn memrun(notes: &mut Notes, field: &Field<'_>) -> Result<Memory, RtAppError> {
    let fields = field.object(notes, "an object {\"type\" : ..., \"size\" : BYTES, \"count\" : NUMBER}")?;
    check(notes, &fields, &["type", "size", "count", "stride", "pattern", "ref"]);
    let mut number = |key: &str, low, default: Option<i64>| match setting(notes, &fields, key) {
        Some(number) => Ok(number.integer(notes, low..=MAX_INT, "a number")? as u64),
        None => match default {
            Some(default) => Ok(default as u64),
            None => Err(notes.error(field.line, format!("\"{}\" needs \"{key}\", a whole number", field.key))),
        },
    };
    let (size, count) = (number("size", 1, None)?, number("count", 0, None)?);
    let stride = number("stride", 1, Some(64))?;
    let Some(kind) = setting(notes, &fields, "type") else {
        return Err(notes.error(field.line, format!("\"{}\" needs a \"type\": read, write or chase", field.key)));
    };
    match kind.string(notes)? {
        "read" => Ok(Memory::Read { size, bytes: count }),
        "write" => Ok(Memory::Write { size, bytes: count }),
        "chase" => {
            let sequential = match setting(notes, &fields, "pattern") {
                Some(pattern) => pattern.string(notes)? == "sequential",
                None => false,
            };
            Ok(Memory::Chase { size, stride, sequential, hops: count })
        }
        other => {
            let hint = did_you_mean(other, ["read", "write", "chase"]);
            let hint = if hint.is_empty() { ": expected read, write or chase".to_owned() } else { hint };
            Err(notes.error(kind.line, format!("unknown memrun type \"{other}\"{hint}")))
        }
    }
}

/// The name under `key`; without one rt-app takes the name `unknown`.
fn reference(notes: &mut Notes, fields: &[Field<'_>], line: u32, key: &str) -> Result<String, RtAppError> {
    match setting(notes, fields, key) {
        Some(field) => field.string(notes).map(str::to_owned),
        None => {
            notes.warn(line, key, "missing: taken as \"unknown\", as rt-app does, which all such events share");
            Ok("unknown".to_owned())
        }
    }
}

fn check(notes: &mut Notes, fields: &[Field<'_>], known: &[&str]) {
    for field in fields.iter().filter(|field| !known.contains(&field.key)) {
        let hint = did_you_mean(field.key, known.iter().copied());
        notes.warn(field.line, field.key, format!("no such key in this event; ignored{hint}"));
    }
}

//! Tasks and their phases as a file describes them.

use std::ops::RangeInclusive;

use evenkeel_model::{CoreSet, Ns};

use super::event::{self, Event};
use super::file::unknown;
use super::json::{Field, MAX_INT, setting};
use super::notes::{Notes, RtAppError};
use super::sched::{self, Policy, Requested};

/// The numbers that a core can have.
pub(super) const CPUS: RangeInclusive<i64> = 0..=CoreSet::MAX_CORES as i64 - 1;

/// Keys that both a task and a phase have.
const SHARED: &[&str] = &["loop", "cpus"];
/// Keys that only a task has.
const TASK: &[&str] = &["instance", "delay", "phases"];
/// Budgets as old files write them in a task; beside events `runtime` is an event.
const OLD_BUDGETS: &[&str] = &["runtime", "period", "deadline"];
/// Keys of features that the simulated system lacks.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("nodes_membind", "memory nodes are not bound here; ignored"),
    ("taskgroup", "there are no task groups here: the thread competes by itself; ignored"),
];

/// A kind of thread.
pub(super) struct RtAppTask {
    pub(super) name: String,
    pub(super) line: u32,
    /// How many threads of it start with the run; with 0 it can only be forked.
    pub(super) instances: u64,
    pub(super) delay: Ns,
    /// How often the phases are gone through; `None`: for ever.
    pub(super) times: Option<u64>,
    pub(super) cpus: Option<Vec<u16>>,
    pub(super) requested: Requested,
    pub(super) phases: Vec<Phase>,
}

/// Events with the settings that hold from their first one on.
pub(super) struct Phase {
    pub(super) line: u32,
    /// How often it is run before the next one; `None`: for ever.
    pub(super) times: Option<u64>,
    pub(super) cpus: Option<Vec<u16>>,
    pub(super) requested: Requested,
    pub(super) events: Vec<Event>,
}

impl RtAppTask {
    /// Every event of its phases.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.phases.iter().flat_map(|phase| &phase.events)
    }
}

pub(super) fn read(notes: &mut Notes, field: &Field<'_>, default: Policy) -> Result<RtAppTask, RtAppError> {
    let fields = field.object(notes, "an object that describes a task")?;
    let instances = match setting(notes, &fields, "instance") {
        Some(field) => field.integer(notes, 0..=MAX_INT, "threads")? as u64,
        None => 1,
    };
    let delay = match setting(notes, &fields, "delay") {
        Some(field) => field.us(notes)?,
        None => Ns::ZERO,
    };
    let requested = Requested::read(notes, &fields)?.or_policy(default);
    let cpus = read_cpus(notes, &fields)?;
    let (times, phases) = match setting(notes, &fields, "phases") {
        Some(phases) => {
            check_keys(notes, &fields, "in a task with phases", false);
            (read_loop(notes, &fields)?.unwrap_or(None), read_phases(notes, &phases)?)
        }
        None => {
            check_keys(notes, &fields, "in a task", true);
            let events = event::read_all(notes, &fields, field.line)?;
            // Without `phases` the one `loop` is the phase's, and a task that has none runs for ever.
            let (task, phase) = match read_phase_loop(notes, &fields)? {
                Some(times) => (Some(1), times),
                None => (None, Some(1)),
            };
            let only = Phase { line: field.line, times: phase, cpus: None, requested: Requested::default(), events };
            (task, vec![only])
        }
    };
    let name = field.key.to_owned();
    Ok(RtAppTask { name, line: field.line, instances, delay, times, cpus, requested, phases })
}

fn read_phases(notes: &mut Notes, phases: &Field<'_>) -> Result<Vec<Phase>, RtAppError> {
    let phases_line = phases.line;
    let phases = phases.object(notes, "an object with one object a phase")?;
    if phases.is_empty() {
        return Err(notes.error(phases_line, "\"phases\" is empty: expected one object a phase"));
    }
    let mut read = |field: &Field<'_>| {
        let fields = field.object(notes, "an object that describes a phase")?;
        check_keys(notes, &fields, "in a phase", true);
        Ok(Phase {
            line: field.line,
            times: read_phase_loop(notes, &fields)?.unwrap_or(Some(1)),
            cpus: read_cpus(notes, &fields)?,
            requested: Requested::read(notes, &fields)?,
            events: event::read_all(notes, &fields, field.line)?,
        })
    };
    phases.iter().map(&mut read).collect()
}

/// `loop`, if there is one: a number of times or -1 for ever.
fn read_loop(notes: &mut Notes, fields: &[Field<'_>]) -> Result<Option<Option<u64>>, RtAppError> {
    let Some(field) = setting(notes, fields, "loop") else { return Ok(None) };
    let times = field.integer(notes, -1..=MAX_INT, "a number of times, or -1 for ever")?;
    Ok(Some(u64::try_from(times).ok()))
}

/// The `loop` of a phase: rt-app compares after it has counted, so 0 is never reached.
fn read_phase_loop(notes: &mut Notes, fields: &[Field<'_>]) -> Result<Option<Option<u64>>, RtAppError> {
    let times = read_loop(notes, fields)?;
    if times == Some(Some(0)) {
        let line = setting(notes, fields, "loop").map_or(1, |field| field.line);
        notes.warn(line, "loop", "rt-app runs a phase with loop 0 for ever, and so it is here; write -1");
        return Ok(Some(None));
    }
    Ok(times)
}

fn read_cpus(notes: &mut Notes, fields: &[Field<'_>]) -> Result<Option<Vec<u16>>, RtAppError> {
    let Some(field) = setting(notes, fields, "cpus") else { return Ok(None) };
    let cpus = field.integers(notes, CPUS, "an array of core numbers from 0 to 1023")?;
    if cpus.is_empty() {
        return Err(
            notes.error(field.line, "\"cpus\" is empty: the thread could never run; name a core or leave it out")
        );
    }
    let mut cpus: Vec<u16> = cpus.into_iter().map(|cpu| cpu as u16).collect();
    cpus.sort_unstable();
    cpus.dedup();
    Ok(Some(cpus))
}

/// Warns of every key that has no effect.
fn check_keys(notes: &mut Notes, fields: &[Field<'_>], place: &str, events: bool) {
    let in_task = place != "in a phase";
    for field in fields {
        let key = field.key;
        let known = SHARED.contains(&key) || sched::KEYS.contains(&key) || sched::BUDGETS.contains(&key);
        if known || (in_task && TASK.contains(&key)) {
            continue;
        }
        if let Some((_, message)) = UNSUPPORTED.iter().find(|(unsupported, _)| *unsupported == key) {
            notes.warn(field.line, key, *message);
        } else if TASK.contains(&key) {
            notes.warn(field.line, key, "belongs to the task, not to a phase; ignored");
        } else if in_task && OLD_BUDGETS.contains(&key) && !(events && key == "runtime") {
            notes.warn(field.line, key, "an old name of a SCHED_DEADLINE budget, which is not supported; ignored");
        } else if event::is_event(key) {
            if !events {
                notes.warn(field.line, key, "an event beside \"phases\", which rt-app ignores; move it into a phase");
            }
        } else {
            let known = SHARED.iter().chain(sched::KEYS).chain(if in_task { TASK } else { &[] }).chain(event::NAMES);
            notes.warn(field.line, key, unknown(key, place, known));
        }
    }
}

//! `policy`, `priority` and utilisation clamps, which a task sets and its phases change.

use super::json::{Field, setting};
use super::notes::{Notes, RtAppError, did_you_mean};
use crate::program::{Clamp, Class, SchedParams};

/// Keys that this module reads.
pub(super) const KEYS: &[&str] = &["policy", "priority", "util_min", "util_max"];
/// Keys of budgets, which no class here has.
pub(super) const BUDGETS: &[&str] = &["dl-runtime", "dl-period", "dl-deadline"];

const POLICIES: &[(&str, Policy)] = &[
    ("SCHED_OTHER", Policy::Other),
    ("SCHED_BATCH", Policy::Batch),
    ("SCHED_IDLE", Policy::Idle),
    ("SCHED_RR", Policy::Rr),
    ("SCHED_FIFO", Policy::Fifo),
    ("SCHED_DEADLINE", Policy::Deadline),
];

/// A scheduling policy of Linux, by rt-app's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Other,
    Batch,
    Idle,
    Rr,
    Fifo,
    Deadline,
}

impl Policy {
    pub(super) fn read(notes: &Notes, field: &Field<'_>) -> Result<Self, RtAppError> {
        let name = field.string(notes)?;
        let found = POLICIES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, policy)| policy).ok_or_else(|| {
            let names: Vec<&str> = POLICIES.iter().map(|&(name, _)| name).collect();
            let hint = did_you_mean(name, names.iter().copied());
            let hint = if hint.is_empty() { format!(": expected one of {}", names.join(", ")) } else { hint };
            notes.error(field.line, format!("unknown policy \"{name}\"{hint}"))
        })
    }

    /// Priority where a file names a policy and no priority.
    fn default_priority(self) -> i64 {
        if matches!(self, Self::Fifo | Self::Rr) { 10 } else { 0 }
    }

    fn class(self, priority: Option<Given<i64>>, notes: &Notes) -> Result<Class, RtAppError> {
        let value = priority.map_or_else(|| self.default_priority(), |given| given.value);
        let within =
            |low, high, what| match priority {
                Some(given) if !(low..=high).contains(&value) => Err(notes
                    .error(given.line, format!("\"priority\": expected {what} from {low} to {high}, found {value}"))),
                _ => Ok(value),
            };
        match self {
            Self::Other | Self::Batch => Ok(Class::fair(within(-20, 19, "a nice value")? as i8)),
            Self::Idle => Ok(Class::idle()),
            Self::Rr | Self::Fifo => Ok(Class::RealTime { priority: within(1, 99, "a real-time priority")? as u8 }),
            Self::Deadline => Ok(Class::RealTime { priority: 100 }),
        }
    }
}

#[derive(Clone, Copy)]
struct Given<T> {
    value: T,
    line: u32,
}

/// What one object of the file says about scheduling.
#[derive(Clone, Copy, Default)]
pub(super) struct Requested {
    policy: Option<Policy>,
    priority: Option<Given<i64>>,
    util_min: Option<Given<u32>>,
    util_max: Option<Given<u32>>,
}

impl Requested {
    pub(super) fn read(notes: &mut Notes, fields: &[Field<'_>]) -> Result<Self, RtAppError> {
        let mut requested = Self::default();
        if let Some(field) = setting(notes, fields, "policy") {
            requested.policy = Some(Policy::read(notes, &field)?);
        }
        if let Some(field) = setting(notes, fields, "priority") {
            let value = field.integer(notes, -20..=99, "a nice value or a real-time priority")?;
            requested.priority = Some(Given { value, line: field.line });
        }
        let mut clamp = |key| -> Result<Option<Given<u32>>, RtAppError> {
            let Some(field) = setting(notes, fields, key) else { return Ok(None) };
            let value = field.integer(notes, -1..=1024, "a utilisation, or -1 for no change")?;
            // -1 is rt-app's own "leave it".
            Ok(u32::try_from(value).ok().map(|value| Given { value, line: field.line }))
        };
        (requested.util_min, requested.util_max) = (clamp("util_min")?, clamp("util_max")?);
        if let (Some(min), Some(max)) = (requested.util_min, requested.util_max)
            && min.value > max.value
        {
            let message = format!("\"util_min\" {} is above \"util_max\" {}", min.value, max.value);
            return Err(notes.error(min.line, message));
        }
        for field in fields.iter().filter(|field| BUDGETS.contains(&field.key)) {
            let message = "not supported: SCHED_DEADLINE is played as the highest real-time priority without a \
                           budget, SCHED_OTHER with the policy's own slice";
            notes.warn(field.line, field.key, message);
        }
        Ok(requested)
    }

    /// The same with the policy that a task takes where it names none.
    pub(super) fn or_policy(self, default: Policy) -> Self {
        Self { policy: self.policy.or(Some(default)), ..self }
    }

    /// Resolves a priority without a policy, which keeps the policy that is in force: `policy` before and after.
    /// A clamp alone changes neither.
    pub(super) fn resolve(self, policy: &mut Policy, notes: &mut Notes) -> Result<Change, RtAppError> {
        *policy = self.policy.unwrap_or(*policy);
        let speaks = self.policy.is_some() || self.priority.is_some();
        let class = if speaks { Some(policy.class(self.priority, notes)?) } else { None };
        let (mut util_min, mut util_max) = (self.util_min, self.util_max);
        if *policy == Policy::Deadline {
            for (given, key) in [(util_min.take(), "util_min"), (util_max.take(), "util_max")] {
                if let Some(given) = given {
                    notes.warn(given.line, key, "rt-app does not clamp a SCHED_DEADLINE thread; ignored");
                }
            }
        }
        Ok(Change { class, util_min: util_min.map(|given| given.value), util_max: util_max.map(|given| given.value) })
    }
}

/// What an object of the file changes in the parameters that are in force.
#[derive(Clone, Copy)]
pub(super) struct Change {
    class: Option<Class>,
    util_min: Option<u32>,
    util_max: Option<u32>,
}

impl Change {
    pub(super) fn apply(self, before: &SchedParams, cpus: Option<Vec<u16>>) -> SchedParams {
        SchedParams {
            class: self.class.unwrap_or(before.class),
            cpus,
            clamp: Clamp {
                min: self.util_min.unwrap_or(before.clamp.min),
                max: self.util_max.unwrap_or(before.clamp.max),
            },
        }
    }
}

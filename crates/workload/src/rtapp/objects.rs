//! The objects that tasks share. rt-app makes each when an event first names it, by name and kind, so what an event
//! means can depend on events further down: all are read before any is lowered.

use std::collections::{BTreeMap, BTreeSet};

use super::event::Action;
use super::file::File;
use super::notes::{Notes, RtAppError, did_you_mean};
use super::task::RtAppTask;
use crate::program::{Barrier, BarrierId, ConditionId, EventId, LockId, Program, Semaphore, SemaphoreId, TimerId};

/// How rt-app suspends: on a condition and a mutex of that name, which other events can name too.
pub(super) enum Parking {
    /// Nothing else uses them.
    Event(EventId),
    /// Other events signal, wait for or lock them.
    Condition(ConditionId, LockId),
}

/// The objects of a file.
pub(super) struct Objects<'f> {
    /// Names that a `resume` gives.
    resumed: BTreeSet<&'f str>,
    /// Names of conditions and mutexes that are used as such.
    plain: BTreeSet<&'f str>,
    /// Timers that any event calls absolute; one of a task alone by its position.
    absolute: BTreeSet<(Option<usize>, &'f str)>,
    /// Parties of each barrier.
    parties: BTreeMap<&'f str, u64>,
    locks: Names,
    barriers: Names,
    conditions: Names,
    semaphores: Names,
    events: Names,
    timers: Names,
}

/// Names in the order in which they were first met, each with the thread that it belongs to, if to one.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    index: BTreeMap<(Option<usize>, String), u32>,
}

impl Names {
    fn id(&mut self, name: &str) -> u32 {
        self.id_of(None, name, name)
    }

    fn id_of(&mut self, owner: Option<usize>, name: &str, shown: &str) -> u32 {
        let next = self.list.len() as u32;
        let id = *self.index.entry((owner, name.to_owned())).or_insert(next);
        if id == next {
            self.list.push(shown.to_owned());
        }
        id
    }
}

/// A timer with this prefix is one for each thread instead of one for the file.
pub(super) fn is_unique(timer: &str) -> bool {
    timer.starts_with("unique")
}

impl<'f> Objects<'f> {
    /// Reads every event of the file.
    pub(super) fn new(file: &'f File, notes: &mut Notes) -> Result<Self, RtAppError> {
        let mut objects = Self {
            resumed: BTreeSet::new(),
            plain: BTreeSet::new(),
            absolute: BTreeSet::new(),
            parties: BTreeMap::new(),
            locks: Names::default(),
            barriers: Names::default(),
            conditions: Names::default(),
            semaphores: Names::default(),
            events: Names::default(),
            timers: Names::default(),
        };
        let names: BTreeSet<&str> = file.tasks.iter().map(|task| task.name.as_str()).collect();
        for (position, task) in file.tasks.iter().enumerate() {
            for event in task.events() {
                if let Action::Fork(name) = &event.action
                    && !names.contains(name.as_str())
                {
                    let hint = did_you_mean(name, names.iter().copied());
                    let hint = if hint.is_empty() { ": expected the name of a task".to_owned() } else { hint };
                    return Err(notes.error(event.line, format!("unknown task \"{name}\"{hint}")));
                }
                objects.see(position, task, &event.action);
            }
        }
        Ok(objects)
    }

    fn see(&mut self, position: usize, task: &RtAppTask, action: &'f Action) {
        match action {
            Action::Lock(name) | Action::Unlock(name) | Action::Signal(name) | Action::Broadcast(name) => {
                self.plain.insert(name);
            }
            Action::Wait { condition, lock } | Action::Sync { condition, lock } => {
                self.plain.extend([condition.as_str(), lock]);
            }
            Action::Resume(name) => {
                self.resumed.insert(name);
            }
            // Each place that names a barrier adds the threads of its task, be they the same threads.
            Action::Barrier(name) => *self.parties.entry(name).or_default() += task.instances,
            Action::Timer { timer, absolute: true, .. } => {
                self.absolute.insert((is_unique(timer).then_some(position), timer));
            }
            _ => {}
        }
    }

    pub(super) fn lock(&mut self, name: &str) -> LockId {
        LockId(self.locks.id(name))
    }

    pub(super) fn condition(&mut self, name: &str) -> ConditionId {
        ConditionId(self.conditions.id(name))
    }

    pub(super) fn semaphore(&mut self, name: &str) -> SemaphoreId {
        SemaphoreId(self.semaphores.id(name))
    }

    pub(super) fn barrier(&mut self, name: &str) -> BarrierId {
        BarrierId(self.barriers.id(name))
    }

    /// How many threads a barrier waits for.
    pub(super) fn parties(&self, name: &str) -> u64 {
        self.parties.get(name).copied().unwrap_or_default()
    }

    /// The same for a barrier that has been met.
    pub(super) fn parties_of(&self, barrier: BarrierId) -> u64 {
        self.barriers.list.get(barrier.index()).map_or(0, |name| self.parties(name))
    }

    /// The timer of an event in this thread, and whether it keeps its grid: one event that says so decides for all.
    pub(super) fn timer(&mut self, thread: usize, thread_name: &str, task: usize, name: &str) -> (TimerId, bool) {
        if is_unique(name) {
            let id = self.timers.id_of(Some(thread), name, &format!("{thread_name}:{name}"));
            (TimerId(id), self.absolute.contains(&(Some(task), name)))
        } else {
            (TimerId(self.timers.id(name)), self.absolute.contains(&(None, name)))
        }
    }

    /// What the name of a `resume` stands for.
    pub(super) fn parking(&mut self, name: &str) -> Parking {
        if self.plain.contains(name) {
            Parking::Condition(self.condition(name), self.lock(name))
        } else {
            Parking::Event(EventId(self.events.id(name)))
        }
    }

    /// What a `suspend` with this text waits for. Until May 2025 rt-app waited on the text; since then it waits on
    /// the task's own name. Files are written for either, and what they resume shows for which.
    pub(super) fn suspension<'a>(&self, text: &'a str, task: &'a str) -> &'a str {
        if self.resumed.contains(text) { text } else { task }
    }

    /// Gives the tables to the program.
    pub(super) fn fill(self, program: &mut Program) {
        let parties = self.parties;
        let barrier = |name: String| {
            let parties = parties.get(name.as_str()).copied().unwrap_or_default();
            Barrier { name, parties: u32::try_from(parties).unwrap_or(u32::MAX) }
        };
        program.barriers = self.barriers.list.into_iter().map(barrier).collect();
        program.semaphores = self.semaphores.list.into_iter().map(|name| Semaphore { name, count: 0 }).collect();
        program.locks = self.locks.list;
        program.conditions = self.conditions.list;
        program.events = self.events.list;
        program.timers = self.timers.list;
    }
}

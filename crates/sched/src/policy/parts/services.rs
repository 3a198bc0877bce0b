//! Policies that a virtual machine has for its own threads: what they do with its service threads.
//!
//! Problem: a collector or a compiler is seldom what a program waits for, and belongs on little cores (WASH 6). But most collectors
//! stop the world for a part of their work: then every application thread waits for them, and the big cores would idle
//! beside them. A host cannot know when that is, and names of collectors change from one release to the next. It shows in
//! what threads do: no application thread of the program runs or could run, and service threads do.

use evenkeel_model::{CoreSet, ProgramId, ThreadId, ThreadKind};

use crate::policy::description::{Knob, Setup, Value};
use crate::policy::hooks::Group;
use crate::state::State;

/// For machines that are shared with programs of which the virtual machine does not know (section 8.6).
pub(crate) const FIRST_PROGRAM: Knob = Knob {
    name: "first-program",
    summary: "programs but the first are left to the operating system (8.6)",
    value: Value::Switch,
};

/// Which cores service threads are for.
pub(crate) const GC: Knob = Knob {
    name: "gc",
    summary: "where service threads belong: on big cores while their world is stopped (no application thread of their program can run) and on little ones else; always on little ones (WASH 6); always on big ones",
    value: Value::Word(&["auto", "little", "big"]),
};

/// The same for a policy whose paper knows no service threads (for WASH `no-priority` leaves them out).
pub(crate) const GC_OR_ANY: Knob = Knob {
    summary: "where service threads belong: on big cores while their world is stopped (no application thread of their program can run) and on little ones else; always on little ones (WASH 6); always on big ones; where any other thread would",
    value: Value::Word(&["auto", "little", "big", "any"]),
    ..GC
};

/// The knob [`GC`] or [`GC_OR_ANY`], and what is known of programs with service threads.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    gc: Gc,
    /// By program: where its service threads belonged last; `None` while it is not known to have any.
    groups: Vec<Option<Group>>,
}

/// What [`GC`] is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gc {
    Auto,
    Little,
    Big,
    Any,
}

impl Services {
    /// As it is set up.
    pub(crate) fn of(setup: &Setup) -> Self {
        let gc = match setup.word(GC.name) {
            "little" => Gc::Little,
            "big" => Gc::Big,
            "any" => Gc::Any,
            _ => Gc::Auto,
        };
        Self { gc, groups: Vec::new() }
    }

    /// Whether service threads are told from others.
    pub(crate) fn told_apart(&self) -> bool {
        self.gc != Gc::Any
    }

    /// Where the service threads of a program belong now, if they are told from others.
    pub(crate) fn group(&mut self, s: &State, program: ProgramId) -> Group {
        let group = match self.gc {
            Gc::Little => Group::Little,
            Gc::Big => Group::Big,
            Gc::Any => Group::Either,
            Gc::Auto => of_world(s, program),
        };
        if self.groups.len() <= program.index() {
            self.groups.resize(program.index() + 1, None);
        }
        self.groups[program.index()] = Some(group);
        group
    }

    /// Where the service threads of a program belong, if that has changed by one of its threads having become ready, begun to wait, or
    /// ended, or if that thread is one of those.
    pub(crate) fn turned(&mut self, s: &State, thread: ThreadId) -> Option<Group> {
        let t = s.thread(thread);
        let serves = t.kind == ThreadKind::Service;
        let before = self.groups.get(t.program.index()).copied().flatten();
        if self.gc != Gc::Auto || before.is_none() && !serves {
            return None;
        }
        let group = self.group(s, t.program);
        (Some(group) != before || serves && group != Group::Little).then_some(group)
    }

    /// Whether service threads come before all others where they belong: the program waits for them.
    pub(crate) fn critical(&self, group: Group) -> bool {
        self.gc == Gc::Auto && group != Group::Little
    }

    /// Whether service threads never come before others.
    pub(crate) fn yield_to_all(&self, group: Group) -> bool {
        self.gc != Gc::Big && group == Group::Little
    }

    /// The cores of a service thread whose program's service threads belong to a group; `rest` are those that they have while the program
    /// runs. One that waits is not bound anew: the stop may be over when it wakes, and most of a virtual machine's threads never
    /// take part.
    pub(crate) fn cores(&self, s: &State, thread: ThreadId, group: Group, rest: CoreSet) -> CoreSet {
        match group {
            _ if self.gc == Gc::Auto && !s.thread(thread).runnable() => rest,
            Group::Big => s.big,
            Group::Either => s.machine.all(),
            Group::Little => rest,
        }
    }
}

/// The living service threads of a program.
pub(crate) fn services(s: &State, program: ProgramId) -> impl Iterator<Item = ThreadId> + '_ {
    s.living().filter(move |thread| {
        let t = s.thread(*thread);
        t.kind == ThreadKind::Service && t.program == program
    })
}

/// Little cores, unless the world is stopped: the program has application threads, and none of them runs or could run. Then its
/// service threads are what application threads are in a program of few (WASH 6, Algorithm 1, line 7): as many as big cores, or fewer,
/// belong there, and more of them anywhere.
fn of_world(s: &State, program: ProgramId) -> Group {
    let mut services = 0;
    for core in s.machine.all().minus(s.idle_cores()).iter() {
        let core = s.core(core);
        for thread in core.current.into_iter().chain(core.queue.iter()).map(|thread| s.thread(thread)) {
            match thread.kind {
                _ if thread.program != program => {}
                ThreadKind::Application => return Group::Little,
                ThreadKind::Service => services += 1,
            }
        }
    }
    let application = |thread: ThreadId| {
        let t = s.thread(thread);
        t.program == program && t.kind == ThreadKind::Application
    };
    match services {
        _ if !s.living().any(application) => Group::Little,
        few if few <= s.big.len() => Group::Big,
        _ => Group::Either,
    }
}

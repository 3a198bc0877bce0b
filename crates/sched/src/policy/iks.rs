//! In-kernel switch: each little core is paired with a big one, and one of each pair is active ("Exploiting Asymmetric
//! Multi-Core Processors with Flexible System Software", section III.B; Poirier, Embedded Linux Conference 2013).
//!
//! The scheduler, CFS, sees as many equal cores as there are pairs. A pair runs on its little core until that is used
//! beyond a threshold, then its threads move to the big core, and back when that is hardly used. So both types can run at
//! once, but never more than half of the cores.

use evenkeel_model::{CoreId, CoreSet, Machine, Ns, ThreadId};

use super::description::{Description, Setup};
use super::hooks::{Changes, Policy};
use super::parts::fair;
use super::parts::switcher::{KNOBS, Switch, Thresholds, used};
use crate::action::{Pick, Why};
use crate::state::State;
use evenkeel_hooks::hooks;

/// What `evenkeel policies` shows of it, and how it is made.
pub(super) static DESCRIPTION: Description = Description {
    summary: "in-kernel switch: little and big cores in pairs, of which one is active, by how much it is used",
    source: "\"Exploiting Asymmetric Multi-Core Processors with Flexible System Software\", section III.B, after Poirier, \"In Kernel Switcher\", Embedded Linux Conference 2013",
    knobs: KNOBS,
    ..Description::of::<Iks>("iks", |setup| Box::new(Iks::new(setup)))
};

/// Pairs of a little and a big core.
#[derive(Debug)]
pub struct Iks {
    thresholds: Thresholds,
    pairs: Vec<Pair>,
}

#[derive(Debug)]
struct Pair {
    little: CoreId,
    big: CoreId,
    switch: Switch,
}

#[hooks]
impl Policy for Iks {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// As many big as little cores.
    fn accepts(&self, machine: &Machine) -> Result<(), String> {
        let (big, little) = (machine.big().len(), machine.little().len());
        if big == little {
            return Ok(());
        }
        Err(format!("it pairs each little core with a big one, and there are {big} big and {little} little ones"))
    }

    fn period(&self) -> Option<Ns> {
        Some(self.thresholds.period)
    }

    fn admit(&mut self, s: &State, _thread: ThreadId) -> CoreSet {
        if self.pairs.is_empty() {
            let pair = |(little, big)| Pair { little, big, switch: Switch::default() };
            self.pairs = s.little.iter().zip(s.big.iter()).map(pair).collect();
        }
        self.active()
    }

    /// What was on the core that its pair has left moves to the other one.
    fn place(&mut self, s: &State, thread: ThreadId, why: Why) -> CoreId {
        let t = s.thread(thread);
        let pair = self.pairs.iter().find(|pair| pair.little == t.core || pair.big == t.core);
        let here = pair.map(Pair::active).filter(|core| *core != t.core && t.allowed().contains(*core));
        match (here, why) {
            (Some(core), Why::Preempted | Why::Yielded) => core,
            (_, Why::Woken { .. }) => {
                // To CFS the pairs share a cache, so that any idle one will do (select_idle_sibling).
                let idle = s.whole(t.allowed().and(s.idle_cores()));
                let core = here.filter(|core| idle.contains(*core)).unwrap_or_else(|| fair::place(s, thread, why));
                if idle.contains(core) { core } else { idle.lowest().unwrap_or(core) }
            }
            _ => fair::place(s, thread, why),
        }
    }

    /// Pairs count as equal: a running thread is not moved because the other type has more active cores.
    fn balance(&mut self, s: &State, core: CoreId) -> Pick {
        match fair::balance(s, core) {
            Pick::Running(_) => Pick::Idle,
            pick => pick,
        }
    }

    fn refresh(&mut self, s: &State, changes: &mut Changes) {
        let mut switched = false;
        for pair in &mut self.pairs {
            let used = used(s, pair.active());
            switched |= pair.switch.sample(s.now, used, self.thresholds);
        }
        if switched {
            let active = self.active();
            s.living().for_each(|thread| changes.affinity(thread, active));
        }
    }
}

impl Iks {
    /// As it is set up.
    pub fn new(setup: &Setup) -> Self {
        Self { thresholds: Thresholds::new(setup), pairs: Vec::new() }
    }

    fn active(&self) -> CoreSet {
        self.pairs.iter().map(Pair::active).collect()
    }
}

impl Pair {
    fn active(&self) -> CoreId {
        if self.switch.big() { self.big } else { self.little }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;

    use super::*;
    use crate::thread::{NewThread, Run, Wait};

    #[test]
    fn a_woken_thread_finds_an_idle_core_of_the_other_type() {
        let machine = machines::by_name("2B2S").unwrap();
        let spec = NewThread::anywhere(&machine);
        let mut s = State::new(machine, fair::BUSY_FACTOR);
        let mut iks = Iks::new(&Setup::parse("iks").unwrap());
        iks.admit(&s, ThreadId(0));
        assert!(iks.pairs[0].switch.sample(Ns::ZERO, 1.0, iks.thresholds));
        let (busy, idle) = (iks.pairs[0].big, iks.pairs[1].little);
        for (thread, run) in [(ThreadId(0), Run::Running), (ThreadId(1), Run::Blocked(Wait::Sleep))] {
            s.introduce(&spec);
            s.allow(thread, spec.cores, iks.active());
            let t = &mut s.threads[thread.index()];
            (t.core, t.run) = (busy, run);
        }
        s.cores[busy.index()].current = Some(ThreadId(0));
        s.note(busy);
        assert_eq!(iks.place(&s, ThreadId(1), Why::Woken { by: None }), idle);
    }

    #[test]
    fn a_woken_thread_finds_a_core_whose_other_hardware_thread_is_idle() {
        let machine = machines::by_name("i9-13900k-ht").unwrap();
        let spec = NewThread::anywhere(&machine);
        let mut s = State::new(machine, fair::BUSY_FACTOR);
        let mut iks = Iks::new(&Setup::parse("iks").unwrap());
        iks.admit(&s, ThreadId(0));
        for pair in &mut iks.pairs[..3] {
            assert!(pair.switch.sample(Ns::ZERO, 1.0, iks.thresholds));
        }
        let woken = ThreadId(0);
        s.introduce(&spec);
        s.allow(woken, spec.cores, iks.active());
        let t = &mut s.threads[woken.index()];
        (t.core, t.run) = (CoreId(19), Run::Blocked(Wait::Sleep));
        // 0 and 1 are threads of one core, 2 is one of another.
        for core in iks.active().iter().filter(|core| ![1, 2].contains(&core.0)) {
            s.introduce(&spec);
            let running = ThreadId(s.threads.len() as u32 - 1);
            let t = &mut s.threads[running.index()];
            (t.core, t.run) = (core, Run::Running);
            s.cores[core.index()].current = Some(running);
            s.note(core);
        }
        assert_eq!(iks.place(&s, woken, Why::Woken { by: None }), CoreId(2));
    }
}

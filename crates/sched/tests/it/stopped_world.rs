//! Where service threads belong, told by what threads do (the knob `gc`), with the test as the host: two big cores and two small
//! ones, three application threads and up to three collectors.

use crate::common;
use evenkeel_model::{CoreId, CoreSet, Machine, Ns, ProgramId, ThreadId};
use evenkeel_sched::policy::{Group, Label};
use evenkeel_sched::{Clamp, Class, NewThread, Next, Run, Scheduler, Setup, ThreadKind, Wait, Why};

const APPLICATIONS: [ThreadId; 3] = [ThreadId(0), ThreadId(1), ThreadId(2)];
const COLLECTORS: [ThreadId; 3] = [ThreadId(3), ThreadId(4), ThreadId(5)];

struct World {
    sched: Scheduler,
    machine: Machine,
    now: Ns,
}

impl World {
    /// All of them wait.
    fn new(policy: &str) -> Self {
        let machine = common::machine(2, 2);
        let sched = Scheduler::new(machine.clone(), Setup::parse(policy).expect("a policy").make(), None);
        let mut world = Self { sched, machine, now: Ns::ZERO };
        for kind in [ThreadKind::Application, ThreadKind::Service] {
            for _ in 0..3 {
                let thread = world.begin(ProgramId(0), kind);
                world.blocks(thread);
            }
        }
        world
    }

    fn begin(&mut self, program: ProgramId, kind: ThreadKind) -> ThreadId {
        let cores = self.machine.all();
        let (class, clamp) = (Class::fair(0), Clamp::default());
        let thread = self.sched.create(&NewThread { program, kind, class, cores, on: CoreId(0), clamp });
        self.ready(thread, Why::New { by: None });
        thread
    }

    /// As a host does: what the scheduler wants to be stopped is placed anew, and idle cores take what waits for them.
    fn ready(&mut self, thread: ThreadId, why: Why) {
        self.sched.ready(self.now, thread, why);
        self.settle();
    }

    fn wakes(&mut self, thread: ThreadId) {
        self.now += Ns::from_us(10);
        self.ready(thread, Why::Woken { by: None });
    }

    fn blocks(&mut self, thread: ThreadId) {
        self.now += Ns::from_us(10);
        self.sched.blocked(self.now, thread, Wait::Futex);
        self.settle();
    }

    fn settle(&mut self) {
        common::drop_actions(&mut self.sched);
        for core in self.machine.all().iter() {
            let current = self.sched.state().core(core).current;
            if let Some(thread) = current.filter(|thread| !self.sched.state().thread(*thread).may_run_on(core)) {
                self.sched.ready(self.now, thread, Why::Preempted);
            }
        }
        for core in self.machine.all().iter() {
            if self.sched.state().core(core).current.is_none() {
                let _: Next = self.sched.next(self.now, core);
            }
        }
        common::drop_actions(&mut self.sched);
    }

    fn refresh(&mut self) {
        self.now += Ns::from_ms(10);
        self.sched.refresh(self.now);
        self.settle();
    }

    fn allowed(&self, thread: ThreadId) -> CoreSet {
        self.sched.state().thread(thread).allowed()
    }

    fn is_on_a_big_core(&self, thread: ThreadId) -> bool {
        let thread = self.sched.state().thread(thread);
        thread.run == Run::Running && self.machine.big().contains(thread.core)
    }
}

#[test]
fn a_collector_has_a_big_core_while_no_application_thread_can_run() {
    let mut world = World::new("wash");
    world.wakes(APPLICATIONS[0]);
    world.wakes(COLLECTORS[0]);
    assert_eq!(world.allowed(COLLECTORS[0]), world.machine.little(), "the world runs");
    world.blocks(APPLICATIONS[0]);
    assert!(world.is_on_a_big_core(COLLECTORS[0]), "at once, not at the next quantum");
    assert_eq!(world.allowed(COLLECTORS[1]), world.machine.little(), "it does not run");
    world.wakes(APPLICATIONS[1]);
    assert_eq!(world.allowed(COLLECTORS[0]), world.machine.little());
    assert!(!world.is_on_a_big_core(COLLECTORS[0]));
}

#[test]
fn more_collectors_than_big_cores_have_all_cores() {
    let mut world = World::new("wash");
    world.wakes(COLLECTORS[0]);
    world.wakes(COLLECTORS[1]);
    assert!(COLLECTORS[..2].iter().all(|thread| world.is_on_a_big_core(*thread)));
    world.wakes(COLLECTORS[2]);
    assert!(COLLECTORS.iter().all(|thread| world.allowed(*thread) == world.machine.all()));
    assert_eq!(COLLECTORS.iter().filter(|thread| world.is_on_a_big_core(**thread)).count(), 2);
}

/// What the other program does says nothing of this one's world.
#[test]
fn every_program_has_a_world_of_its_own() {
    let mut world = World::new("wash");
    world.begin(ProgramId(1), ThreadKind::Application);
    let other = world.begin(ProgramId(1), ThreadKind::Service);
    world.wakes(COLLECTORS[0]);
    assert_eq!(world.allowed(COLLECTORS[0]), world.machine.big());
    assert_eq!(world.allowed(other), world.machine.little());
}

/// A program whose application threads have ended waits for none.
#[test]
fn a_world_without_applications_is_not_stopped() {
    let mut world = World::new("wash");
    for thread in APPLICATIONS {
        world.sched.exited(world.now, thread);
    }
    world.wakes(COLLECTORS[0]);
    assert_eq!(world.allowed(COLLECTORS[0]), world.machine.little());
}

#[test]
fn the_other_values_do_not_depend_on_what_threads_do() {
    for (policy, big) in [("wash:gc=little", false), ("wash:gc=big", true)] {
        let mut world = World::new(policy);
        let expected = if big { world.machine.big() } else { world.machine.little() };
        world.refresh();
        for thread in [COLLECTORS[0], APPLICATIONS[0], APPLICATIONS[1]] {
            world.wakes(thread);
            assert_eq!(world.allowed(COLLECTORS[0]), expected, "{policy}");
        }
        world.refresh();
        assert_eq!(world.allowed(COLLECTORS[0]), expected, "{policy}");
    }
}

#[test]
fn colab_takes_collectors_of_a_stopped_world_for_blocking() {
    let mut world = World::new("colab");
    let standing = |world: &World| world.sched.standing(COLLECTORS[0]);
    world.wakes(APPLICATIONS[0]);
    world.wakes(COLLECTORS[0]);
    assert_eq!((standing(&world).group, standing(&world).urgency), (Group::Little, 0.0));
    world.blocks(APPLICATIONS[0]);
    assert_eq!(Label::from(&standing(&world)), Label::Critical);
    assert_eq!(standing(&world).group, Group::Big);
    world.refresh();
    assert_eq!(Label::from(&standing(&world)), Label::Critical, "while it lasts");
    world.wakes(APPLICATIONS[1]);
    assert_eq!((standing(&world).group, standing(&world).urgency), (Group::Little, 0.0));
    assert_eq!(world.sched.standing(APPLICATIONS[1]).group, Group::Either, "no other thread is labelled by it");
}

/// COLAB's paper knows no service threads: all waited for the collector, and that makes it urgent, stopped world or not.
#[test]
fn colab_may_take_collectors_for_any_other_thread() {
    let mut world = World::new("colab:gc=any");
    world.wakes(COLLECTORS[0]);
    let standing = |world: &World| world.sched.standing(COLLECTORS[0]);
    assert_eq!(Label::from(&standing(&world)), Label::Any, "no other thread can run");
    world.sched.blame(COLLECTORS[0], Ns::from_ms(20));
    APPLICATIONS.iter().for_each(|thread| world.wakes(*thread));
    world.refresh();
    assert_eq!((standing(&world).group, standing(&world).urgency), (Group::Either, 20e6));
    assert_eq!(world.allowed(COLLECTORS[0]), world.machine.all());
}

/// The program waited for the collector until the collection was over; that makes none of what it does afterwards urgent.
#[test]
fn colab_does_not_blame_a_collector_for_the_last_collection() {
    for (policy, urgent) in [("colab", false), ("colab:gc=little", false), ("colab:gc=big", true)] {
        let mut world = World::new(policy);
        world.wakes(COLLECTORS[0]);
        world.sched.blame(COLLECTORS[0], Ns::from_ms(20));
        APPLICATIONS.iter().for_each(|thread| world.wakes(*thread));
        world.refresh();
        let standing = world.sched.standing(COLLECTORS[0]);
        assert_eq!(standing.urgency > 0.0, urgent, "{policy}: {standing:?}");
        assert_eq!(standing.group, if urgent { Group::Big } else { Group::Little }, "{policy}");
    }
}

//! A host that runs for long forgets threads that are gone, and their numbers are those of later ones; in another host threads
//! begin again: no policy may take the new thread for the old one.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use evenkeel_model::{Clamp, Class, CoreId, Ns, ProgramId, ThreadId, ThreadKind, machines};
use evenkeel_sched::{NewThread, Next, POLICIES, Scheduler, Setup, Span, Wait, Why};

use crate::common;

/// What becomes of the number of a thread that is gone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Kept,
    Forgotten,
    BeginsAgain,
}

/// What a scheduler decides about eight threads after another one has lived; by their places among them.
fn decisions(policy: &str, number: Number) -> Vec<(CoreId, Option<u32>)> {
    let machine = machines::by_name("2B2S").unwrap();
    let cores: Vec<CoreId> = machine.all().iter().collect();
    let mut sched = Scheduler::new(machine, Setup::parse(policy).unwrap().make(), None);
    let mut now = Ns::ZERO;
    let begin = |sched: &mut Scheduler, now: Ns, on: CoreId| {
        let thread = sched.create(&NewThread {
            program: ProgramId(0),
            kind: ThreadKind::Application,
            class: Class::fair(0),
            cores: sched.state().machine.all(),
            on,
            clamp: Clamp::default(),
        });
        sched.ready(now, thread, Why::New { by: None });
        thread
    };
    let mut step = |sched: &mut Scheduler, decided: &mut Vec<(CoreId, Option<ThreadId>)>| {
        now += Ns::from_ms(40);
        for core in &cores {
            if let Some(thread) = sched.state().core(*core).current {
                sched.ran(now, thread, *core, &Span { time: Ns::from_ms(40), ..Span::default() });
                sched.tick(now, *core);
                sched.ready(now, thread, Why::Preempted);
            }
            match sched.next(now, *core) {
                Next::Run { thread, .. } => decided.push((*core, Some(thread))),
                Next::Idle => decided.push((*core, None)),
            }
        }
        sched.refresh(now);
        common::drop_actions(sched);
        now
    };
    let old = begin(&mut sched, Ns::ZERO, CoreId(0));
    let mut unseen = Vec::new();
    for _ in 0..20 {
        sched.blame(old, Ns::from_ms(30));
        step(&mut sched, &mut unseen);
    }
    let now = step(&mut sched, &mut unseen);
    sched.blocked(now, old, Wait::Futex);
    sched.exited(now, old);
    let on = sched.state().thread(old).core;
    let first = match number {
        Number::Kept => begin(&mut sched, now, on),
        Number::Forgotten => {
            sched.forget(old);
            begin(&mut sched, now, on)
        }
        Number::BeginsAgain => {
            sched.ready(now, old, Why::New { by: None });
            old
        }
    };
    assert_eq!(first == old, number != Number::Kept, "{policy}");
    (0..7).for_each(|_| _ = begin(&mut sched, now, CoreId(0)));
    let mut decided = Vec::new();
    (0..20).for_each(|_| _ = step(&mut sched, &mut decided));
    decided.into_iter().map(|(core, thread)| (core, thread.map(|thread| thread.0 - first.0))).collect()
}

#[test]
fn a_number_that_was_another_threads_begins_anew() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        let anew = decisions(policy.name, Number::Kept);
        for number in [Number::Forgotten, Number::BeginsAgain] {
            assert_eq!(decisions(policy.name, number), anew, "{}: {number:?}", policy.name);
        }
    }
}

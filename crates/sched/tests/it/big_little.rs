//! What the knobs of big.LITTLE's schedulers set ("Exploiting Asymmetric Multi-Core Processors with Flexible System Software", section III),
//! worked by hand with the test as the host. Load averages halve in 32 periods of 2^20 ns.

use crate::common;
use evenkeel_model::{Clamp, Class, CoreId, Machine, Ns, ProgramId, ThreadId};
use evenkeel_sched::{NewThread, Next, Scheduler, Setup, Span, ThreadKind, Wait, Why};

fn scheduler(policy: &str, machine: Machine) -> Scheduler {
    Scheduler::new(machine, Setup::parse(policy).expect("a policy of the registry").make(), None)
}

/// A new thread that has a core from now on.
fn starts(sched: &mut Scheduler, now: Ns) -> ThreadId {
    let (program, kind, class) = (ProgramId(0), ThreadKind::Application, Class::fair(0));
    let (cores, clamp) = (sched.state().machine.all(), Clamp::default());
    let thread = sched.create(&NewThread { program, kind, class, cores, on: CoreId(0), clamp });
    let core = sched.ready(now, thread, Why::New { by: None });
    runs(sched, now, thread, core);
    thread
}

fn runs(sched: &mut Scheduler, now: Ns, thread: ThreadId, core: CoreId) {
    assert!(matches!(sched.next(now, core), Next::Run { thread: next, .. } if next == thread));
    common::drop_actions(sched);
}

/// A thread sleeps for 40 ms, which leaves 449 of its load of 1024, or for 80 ms, which leaves 197. It runs for 20 ms and sleeps for one more: 632
/// and 469.
#[test]
fn from_which_load_a_thread_goes_to_another_domain_under_gts_can_be_set() {
    let (big, little) = (CoreId(0), CoreId(1));
    for (policy, asleep, woken_on) in [
        ("gts", 40, [big, big]),
        ("gts:down=500", 40, [little, little]),
        ("gts", 80, [little, little]),
        ("gts:up=400", 80, [little, big]),
        ("gts:down=100", 80, [big, big]),
    ] {
        let mut sched = scheduler(policy, common::machine(1, 1));
        let thread = starts(&mut sched, Ns::ZERO);
        sched.blocked(Ns::ZERO, thread, Wait::Sleep);
        let woken = Ns::from_ms(asleep);
        let first = sched.ready(woken, thread, Why::Woken { by: None });
        runs(&mut sched, woken, thread, first);
        let (time, done) = (Ns::from_ms(20), Ns::from_ms(asleep + 20));
        sched.ran(done, thread, first, &Span { time, ..Span::default() });
        sched.blocked(done, thread, Wait::Sleep);
        let again = sched.ready(Ns::from_ms(asleep + 21), thread, Why::Woken { by: None });
        assert_eq!([first, again], woken_on, "{policy}, asleep for {asleep} ms");
    }
}

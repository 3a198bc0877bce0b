//! What the knobs of big.LITTLE's schedulers set ("Exploiting Asymmetric Multi-Core Processors with Flexible System Software", section III),
//! worked by hand with the test as the host. Load averages halve in 32 periods of 2^20 ns.

use crate::common;
use evenkeel_model::{Clamp, Class, CoreId, Machine, Ns, ProgramId, ThreadId};
use evenkeel_sched::{NewThread, Next, Scheduler, Setup, Span, ThreadKind, Wait, Why};

fn scheduler(policy: &str, machine: Machine) -> Scheduler {
    Scheduler::new(machine, Setup::parse(policy).expect("a policy of the registry").make(), None)
}

fn create(sched: &mut Scheduler, clamp: Clamp) -> ThreadId {
    let (program, kind, class) = (ProgramId(0), ThreadKind::Application, Class::fair(0));
    let cores = sched.state().machine.all();
    sched.create(&NewThread { program, kind, class, cores, on: CoreId(0), clamp })
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
        let thread = create(&mut sched, Clamp::default());
        let core = sched.ready(Ns::ZERO, thread, Why::New { by: None });
        runs(&mut sched, Ns::ZERO, thread, core);
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

/// Beyond the tipping point a woken thread goes to an idle core; before it one that is clamped to nothing goes where it was, for it adds nothing
/// there. Another thread has been running there for 68 ms, in which its use rose from a half to 896 of 1024, or for 200 ms, until 1015.
#[test]
fn from_which_use_of_a_core_on_eas_places_as_cfs_can_be_set() {
    let busy = CoreId(0);
    for (policy, ms, stays) in [
        ("eas", 68, false),
        ("eas:overutilised=95", 68, true),
        ("eas:overutilised=95", 200, false),
        ("eas:overutilised=100", 200, true),
    ] {
        let mut sched = scheduler(policy, common::machine(2, 2));
        let [woken, running] = [Clamp { min: 0, max: 0 }, Clamp::default()].map(|clamp| create(&mut sched, clamp));
        let (begin, time) = (Ns::from_secs(1), Ns::from_ms(ms));
        for (thread, now) in [(woken, Ns::ZERO), (running, begin)] {
            sched.ready(now, thread, Why::New { by: None });
            sched.found(now, thread, busy);
            runs(&mut sched, now, thread, busy);
            if thread == woken {
                sched.blocked(now, thread, Wait::Sleep);
            }
        }
        let now = begin + time;
        sched.ran(now, running, busy, &Span { time, ..Span::default() });
        let core = sched.ready(now, woken, Why::Woken { by: None });
        assert_eq!(core == busy, stays, "{policy} after {ms} ms");
    }
}

/// A thread uses all of a little core, so that the big side takes over, and ends. No big core is used from then on. Where the other
/// thread, which sleeps, may run says which side is active.
#[test]
fn when_cluster_switching_and_the_in_kernel_switch_change_sides_can_be_set() {
    for policy in ["cluster-switch", "iks"] {
        for (knobs, sample, down_after) in [
            ("", 20, Some(80)),
            (":hold=30ms", 20, Some(40)),
            (":hold=30ms:period=10ms", 10, Some(30)),
            (":up=1", 20, None),
        ] {
            let mut sched = scheduler(&format!("{policy}{knobs}"), common::machine(2, 2));
            assert_eq!(sched.period(), Some(Ns::from_ms(sample)), "{policy}{knobs}");
            let [busy, asleep] = [(); 2].map(|()| create(&mut sched, Clamp::default()));
            let cores = [busy, asleep].map(|thread| {
                let core = sched.ready(Ns::ZERO, thread, Why::New { by: None });
                runs(&mut sched, Ns::ZERO, thread, core);
                core
            });
            sched.blocked(Ns::ZERO, asleep, Wait::Sleep);
            let (now, time) = (Ns::from_secs(1), Ns::from_secs(1));
            sched.ran(now, busy, cores[0], &Span { time, ..Span::default() });
            sched.refresh(now);
            let is_big = |sched: &Scheduler| {
                let allowed = sched.state().thread(asleep).allowed();
                allowed.intersects(&sched.state().big)
            };
            assert_eq!(is_big(&sched), down_after.is_some(), "{policy}{knobs}");
            sched.exited(now, busy);
            let down = (1..=10).map(|number| sample * number).find(|ms| {
                sched.refresh(now + Ns::from_ms(*ms));
                !is_big(&sched)
            });
            assert_eq!(down, down_after.or(Some(sample)), "{policy}{knobs}");
        }
    }
}

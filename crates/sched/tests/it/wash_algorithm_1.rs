//! WASH's Algorithm 1 for threads that contend (CGO 2016, section 6, lines 14 to 20), worked by hand with the test as the
//! host: one big core and three small ones, five application threads and a collector. At the end for threads that do not.

use crate::common;
use evenkeel_model::{
    Cluster, ClusterId, Core, CoreId, CoreSet, CoreTypeId, Hz, Instructions, Machine, Ns, ProgramId, ThreadId,
};
use evenkeel_sched::{Clamp, Class, NewThread, Next, Scheduler, Setup, Span, ThreadKind, Wait, Why};

const BIG: CoreId = CoreId(0);
/// Does ten times as much as each other thread.
const PRODUCER: ThreadId = ThreadId(0);
/// The others wait for it.
const HOLDER: ThreadId = ThreadId(1);
const WAITERS: [ThreadId; 3] = [ThreadId(2), ThreadId(3), ThreadId(4)];
const COLLECTOR: ThreadId = ThreadId(5);

/// Every thread ran once, then waited for a lock for 20 ms, and the quantum is over. Whether the wait was for the holder.
fn after_one_quantum(machine: &Machine, policy: &str, for_holder: bool) -> Scheduler {
    let work = |thread| if thread == PRODUCER { 10_000_000 } else { 1_000_000 };
    after_work(machine, policy, for_holder, work)
}

/// The same, with the instructions that each thread retired.
fn after_work(machine: &Machine, policy: &str, for_holder: bool, work: impl Fn(ThreadId) -> u64) -> Scheduler {
    let policy = Setup::parse(policy).expect("a policy of the registry").make();
    let mut sched = Scheduler::new(machine.clone(), policy, None);
    let mut now = Ns::ZERO;
    for id in 0..6 {
        let kind = if id < 5 { ThreadKind::Application } else { ThreadKind::Service };
        let (class, cores) = (Class::fair(0), machine.all());
        let thread = sched.create(&NewThread {
            program: ProgramId(0),
            kind,
            class,
            cores,
            on: CoreId(0),
            clamp: Clamp::default(),
        });
        let core = sched.ready(now, thread, Why::New { by: None });
        assert_eq!(core == BIG, kind == ThreadKind::Application, "the fallback");
        assert!(matches!(sched.next(now, core), Next::Run { thread: first, .. } if first == thread));
        now += Ns::from_ms(1);
        let instructions = Some(Instructions(work(thread)));
        let span = Span { time: Ns::from_ms(1), instructions, speedup: Some(2.0), ..Span::default() };
        sched.ran(now, thread, core, &span);
        sched.blocked(now, thread, Wait::Futex);
        common::drop_actions(&mut sched);
    }
    now += Ns::from_ms(20);
    for thread in WAITERS.into_iter().chain([PRODUCER, HOLDER]) {
        sched.blame(if for_holder { HOLDER } else { PRODUCER }, Ns::from_ms(20));
        sched.ready(now, thread, Why::Woken { by: None });
        common::drop_actions(&mut sched);
    }
    sched.refresh(Ns::from_ms(40));
    sched
}

fn cores(sched: &Scheduler, thread: ThreadId) -> CoreSet {
    sched.state().thread(thread).allowed()
}

#[test]
fn the_productive_and_the_one_that_others_wait_for_get_the_big_core() {
    let machine = common::machine(1, 3);
    let sched = after_one_quantum(&machine, "wash:gc=little", true);
    assert_eq!(cores(&sched, PRODUCER), machine.big(), "ExecRank: two fifths of all that is retired, and more");
    assert_eq!(cores(&sched, HOLDER), machine.big(), "LockRank: a quarter of all waiting, and more");
    for waiter in WAITERS {
        assert_eq!(cores(&sched, waiter), machine.all());
    }
    assert_eq!(cores(&sched, COLLECTOR), machine.little());
}

#[test]
fn who_is_waited_for_is_what_lock_ranks_are_about() {
    let machine = common::machine(1, 3);
    let blameless = after_one_quantum(&machine, "wash:gc=little", false);
    assert_eq!(cores(&blameless, HOLDER), machine.all());
    let without = after_one_quantum(&machine, "wash:gc=little:no-locks", true);
    assert_eq!(cores(&without, HOLDER), machine.all(), "no lock (8.5)");
    assert_eq!(cores(&without, PRODUCER), machine.big());
    let without = after_one_quantum(&machine, "wash:gc=little:no-exec", true);
    assert_eq!(cores(&without, PRODUCER), machine.all(), "no ranks of what is executed");
    assert_eq!(cores(&without, HOLDER), machine.big());
}

/// Two big cores, twice as fast, do two thirds of everything: three of five equal threads are nearer to that than four, and four are the
/// fewest that do no less.
#[test]
fn big_cores_are_neither_over_nor_undersubscribed() {
    let machine = common::machine(2, 2);
    for (policy, expected) in [("wash:gc=little:no-locks", 3), ("wash:gc=little:no-locks:sets=at-least", 4)] {
        let sched = after_work(&machine, policy, true, |_| 1_000_000);
        let bound = (0..5).filter(|id| cores(&sched, ThreadId(*id)) == machine.big());
        assert_eq!(bound.count(), expected, "{policy}");
    }
}

/// Half of the cores are big: of two threads that others waited for equally long, one is half.
#[test]
fn the_fewest_that_are_not_below_a_share_may_be_exactly_as_much() {
    let machine = common::machine(2, 2);
    let mut sched = after_one_quantum(&machine, "wash:gc=little:no-exec:sets=at-least", true);
    sched.blame(PRODUCER, Ns::from_ms(100));
    sched.refresh(Ns::from_ms(80));
    let bound = [PRODUCER, HOLDER].map(|thread| cores(&sched, thread) == machine.big());
    assert_eq!(bound, [true, false]);
}

/// Two big cores do 4 for each 1 of the smallest, six in the middle 12: of five equal threads one is nearer to 4 of 17 than two.
#[test]
fn cores_in_the_middle_count_for_what_they_can_do() {
    let mut machine = common::machine(2, 7);
    let (last, smallest) = (CoreId(8), CoreTypeId(2));
    machine.core_types.push(machine.core_types[1].clone());
    machine.core_types[2].opps[0].frequency = Hz::from_mhz(500);
    machine.clusters[1].cores = machine.clusters[1].cores.without(last);
    let own =
        Cluster { core_type: smallest, cores: CoreSet::EMPTY.with(last), cache: 2, ..machine.clusters[1].clone() };
    machine.clusters.push(own);
    machine.cores[last.index()] = Core { core_type: smallest, cluster: ClusterId(2) };
    let sched = after_work(&machine, "wash:gc=little:no-locks", true, |_| 1_000_000);
    let bound = (0..5).filter(|id| cores(&sched, ThreadId(*id)) == machine.big());
    assert_eq!(bound.count(), 1);
}

/// Half of the cores are big, and all waiting is for one of five contended threads.
#[test]
fn lock_ranks_share_out_waiting_and_not_threads() {
    let machine = common::machine(2, 2);
    let sched = after_one_quantum(&machine, "wash:gc=little", true);
    for (thread, bound) in [(PRODUCER, true), (HOLDER, true), (WAITERS[0], false), (WAITERS[1], false)] {
        assert_eq!(cores(&sched, thread) == machine.big(), bound, "{thread:?}");
    }
}

/// Section 4: "prioritizes the thread(s) that make other threads wait the longest to big cores", be the share of the big
/// cores less than a thread.
#[test]
fn the_worst_bottleneck_is_chosen_however_few_contend() {
    let machine = common::machine(1, 7);
    let sched = after_one_quantum(&machine, "wash:gc=little", true);
    assert_eq!(cores(&sched, HOLDER), machine.big(), "an eighth of all waiting");
}

/// Line 17, read as a share of the threads: three of four cores are big, and four of five contended threads are nearer to that than three.
/// The producer is all of ExecRank's set, and all waiting is for the holder.
#[test]
fn lock_ranks_may_share_out_threads() {
    let machine = common::machine(3, 1);
    let bound = |policy: &str| {
        let work = |thread: ThreadId| if thread == PRODUCER { 1_000_000_000 } else { 1_000_000 };
        let sched = after_work(&machine, policy, true, work);
        [0, 1, 2, 3, 4].map(|id| cores(&sched, ThreadId(id)) == machine.big())
    };
    assert_eq!(bound("wash:gc=little"), [true, true, false, false, false]);
    assert_eq!(bound("wash:gc=little:lock-rank=threads"), [true, true, true, true, false]);
}

/// Whether the operating system may use all cores for four threads that did as much and waited for no other thread, after one quantum. Each
/// ran for 1 ms on the big core after so many ms in which it could not, and has this speedup.
fn left_alone(policy: &str, threads: [(u64, f64); 4]) -> bool {
    let machine = common::machine(1, 3);
    let mut sched = Scheduler::new(machine.clone(), Setup::parse(policy).expect("a policy").make(), None);
    let mut now = Ns::ZERO;
    for (waited, speedup) in threads {
        let (program, kind, class) = (ProgramId(0), ThreadKind::Application, Class::fair(0));
        let (cores, clamp) = (machine.all(), Clamp::default());
        let thread = sched.create(&NewThread { program, kind, class, cores, on: BIG, clamp });
        assert_eq!(sched.ready(now, thread, Why::New { by: None }), BIG, "the fallback");
        assert!(matches!(sched.next(now, BIG), Next::Run { thread: first, .. } if first == thread));
        let (time, waited) = (Ns::from_ms(1), Ns::from_ms(waited));
        now += waited + time;
        let instructions = Some(Instructions(1_000_000));
        let span = Span { time, waited, instructions, speedup: Some(speedup), ..Span::default() };
        sched.ran(now, thread, BIG, &span);
        sched.blocked(now, thread, Wait::Sleep);
        common::drop_actions(&mut sched);
    }
    sched.refresh(Ns::from_ms(40));
    (0..4).all(|id| cores(&sched, ThreadId(id)) == machine.all())
}

/// Section 4: "A low locking ratio is necessary but not sufficient. Scalable benchmarks typically employ homogeneous threads [...]
/// that perform about the same amount and type of work."
#[test]
fn threads_that_do_not_contend_may_have_to_be_alike() {
    let alike = [(0, 2.0); 4];
    // Around a mean speedup of 1.6 up to 2.0 is alike.
    let of_another_type = [(0, 1.2), (0, 1.2), (0, 1.2), (0, 2.8)];
    // One achieved a tenth of what it could; the mean is 0.775, and half of that is alike.
    let of_another_amount = [(0, 2.0), (0, 2.0), (0, 2.0), (9, 2.0)];
    for threads in [alike, of_another_type, of_another_amount] {
        assert!(left_alone("wash", threads), "{threads:?}");
        assert_eq!(left_alone("wash:homogeneous", threads), threads == alike, "{threads:?}");
    }
    // The farthest is 75 % from the mean speedup, and 87 % from the mean amount.
    assert!(left_alone("wash:homogeneous:same-type=80", of_another_type));
    assert!(!left_alone("wash:homogeneous:same-type=80", of_another_amount));
    assert!(left_alone("wash:homogeneous:same-amount=90", of_another_amount));
}

/// Section 6: "If any thread falls behind [...] WASH boosts its priority and binds it to a big core." Each achieved 1 ms, in 13 ms of all
/// together: the last one is 6.75 ms behind, and a quantum is 10 ms.
#[test]
fn how_far_a_thread_must_fall_behind_can_be_set() {
    let one_waited = [(0, 2.0), (0, 2.0), (0, 2.0), (9, 2.0)];
    for (policy, alone) in [("wash:rebind", true), ("wash:rebind:behind=0.5", false), ("wash:behind=0.5", true)] {
        assert_eq!(left_alone(policy, one_waited), alone, "{policy}");
    }
}

/// A new thread runs for a while, and waits.
fn runs(sched: &mut Scheduler, now: &mut Ns, kind: ThreadKind, time: Ns) -> ThreadId {
    let (program, class, cores, clamp) = (ProgramId(0), Class::fair(0), sched.state().machine.all(), Clamp::default());
    let thread = sched.create(&NewThread { program, kind, class, cores, on: BIG, clamp });
    let core = sched.ready(*now, thread, Why::New { by: None });
    assert!(matches!(sched.next(*now, core), Next::Run { thread: first, .. } if first == thread));
    *now += time;
    sched.ran(*now, thread, core, &Span { time, instructions: Some(Instructions(1_000_000)), ..Span::default() });
    sched.blocked(*now, thread, Wait::Futex);
    common::drop_actions(sched);
    thread
}

/// Section 4: a thread with "1 % with 2 cores, 0.5 % with 4 cores" of the execution says something about its program, here 0.1 of 20 ms; in line
/// 11 of Algorithm 1 each thread does. The third one ran for 10 us and waited for 20 ms.
#[test]
fn how_much_a_contended_thread_must_do_to_count_can_be_set() {
    let machine = common::machine(1, 3);
    let any_bound = |policy: &str| {
        let mut sched = Scheduler::new(machine.clone(), Setup::parse(policy).expect("a policy").make(), None);
        let mut now = Ns::ZERO;
        for time in [Ns::from_ms(10), Ns::from_ms(10), Ns::from_us(10)] {
            runs(&mut sched, &mut now, ThreadKind::Application, time);
        }
        now += Ns::from_ms(20);
        sched.ready(now, ThreadId(2), Why::Woken { by: None });
        common::drop_actions(&mut sched);
        sched.refresh(now);
        (0..3).any(|id| cores(&sched, ThreadId(id)) == machine.big())
    };
    assert!(!any_bound("wash"));
    assert!(any_bound("wash:fair-share=0"));
}

/// Section 6 has a step of its own for programs of few threads, which get as many big cores, and one for scalable ones. Without the first
/// a thread alone is scalable, without both it is the most productive one.
#[test]
fn programs_need_not_be_told_apart() {
    let machine = common::machine(2, 2);
    for (policy, cores_of_each) in [
        ("wash:gc=little", [1, 3]),
        ("wash:gc=little:classes=sequential", [1, 3]),
        ("wash:gc=little:classes=scalable", [4, 2]),
        ("wash:gc=little:classes=none", [2, 2]),
    ] {
        let mut sched = Scheduler::new(machine.clone(), Setup::parse(policy).expect("a policy").make(), None);
        let (mut now, time) = (Ns::ZERO, Ns::from_ms(10));
        let [application, collector] =
            [ThreadKind::Application, ThreadKind::Service].map(|kind| runs(&mut sched, &mut now, kind, time));
        sched.refresh(Ns::from_ms(40));
        let found = [application, collector].map(|thread| cores(&sched, thread).len());
        assert_eq!(found, cores_of_each, "{policy}");
    }
    let alike = [(0, 2.0); 4];
    for (policy, alone) in [("wash:classes=scalable", true), ("wash:classes=sequential", false)] {
        assert_eq!(left_alone(policy, alike), alone, "{policy}");
    }
}

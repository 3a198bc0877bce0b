//! The motivating example of COLAB (CGO 2020, Figure 1), worked by hand with the test as the host.
//!
//! One big core Pb, one little core Pl. Programs alpha and beta have two threads each, the first of which blocks the
//! second; gamma has one. alpha1 and gamma enjoy a high speedup on Pb. The paper: alpha1 and gamma go to Pb, beta1 goes
//! to Pl and is executed immediately, and alpha1 is given priority over gamma.

use crate::common;
use evenkeel_model::{CoreId, Ns, ProgramId, ThreadId};
use evenkeel_sched::{Clamp, Class, NewThread, Next, Scheduler, Span, ThreadKind, Wait, Why};

const BIG: CoreId = CoreId(0);
const LITTLE: CoreId = CoreId(1);

struct Example {
    sched: Scheduler,
    alpha: [ThreadId; 2],
    beta: [ThreadId; 2],
    gamma: ThreadId,
}

#[derive(Clone, Copy, PartialEq)]
enum Blocking {
    Alpha,
    Gamma,
}

/// A first period in which every thread ran once and the labeller learns which are sensitive and which block others.
fn after_one_period(policy: &str, blocking: Blocking) -> Example {
    let machine = common::machine(1, 1);
    let policy = evenkeel_sched::Setup::parse(policy).expect("a policy of the registry");
    let mut sched = Scheduler::new(machine.clone(), policy.make(), None);
    let mut create = |program: u32| {
        let class = Class::fair(0);
        sched.create(&NewThread {
            program: ProgramId(program),
            kind: ThreadKind::Application,
            class,
            cores: machine.all(),
            on: CoreId(0),
            clamp: Clamp::default(),
        })
    };
    let alpha = [create(0), create(0)];
    let beta = [create(1), create(1)];
    let gamma = create(2);
    let all = [(alpha[0], 2.8), (alpha[1], 1.6), (beta[0], 1.4), (beta[1], 1.6), (gamma, 2.9)];
    let mut now = Ns::ZERO;
    for (thread, speedup) in all {
        let core = sched.ready(now, thread, Why::New { by: None });
        assert!(matches!(sched.next(now, core), Next::Run { thread: first, .. } if first == thread));
        now += Ns::from_ms(1);
        let span = Span { time: Ns::from_ms(1), speedup: Some(speedup), ..Span::default() };
        sched.ran(now, thread, core, &span);
        sched.blocked(now, thread, Wait::Futex);
        common::drop_actions(&mut sched);
    }
    // alpha1 made alpha2 wait, and beta1 beta2; gamma none. Or, for contrast, gamma in the place of alpha1.
    sched.blame(if blocking == Blocking::Alpha { alpha[0] } else { gamma }, Ns::from_ms(4));
    sched.blame(beta[0], Ns::from_ms(4));
    sched.refresh(Ns::from_ms(10));
    common::drop_actions(&mut sched);
    Example { sched, alpha, beta, gamma }
}

#[test]
fn colab_sends_the_sensitive_to_the_big_core_and_starts_the_blocking_first() {
    let Example { mut sched, alpha, beta, gamma } = after_one_period("colab", Blocking::Alpha);
    let now = Ns::from_ms(11);
    // gamma comes first and alpha1 second, both while Pb is about to be free; beta1 is dealt to a core in turn.
    assert_eq!(sched.ready(now, gamma, Why::Woken { by: None }), BIG, "high speedup: a big core");
    assert_eq!(sched.ready(now, alpha[0], Why::Woken { by: None }), BIG, "high speedup, though Pl is idle");
    assert_eq!(sched.ready(now, beta[0], Why::Woken { by: None }), LITTLE, "blocking, not sensitive: the idle core");
    common::drop_actions(&mut sched);
    assert!(
        matches!(sched.next(now, BIG), Next::Run { thread, .. } if thread == alpha[0]),
        "alpha1 blocks alpha2, so it goes before gamma, which came earlier"
    );
    assert!(
        matches!(sched.next(now, LITTLE), Next::Run { thread, .. } if thread == beta[0]),
        "beta1 runs at once on Pl"
    );
    // alpha1 is done and releases alpha2; gamma gets the big core, alpha2 waits for neither.
    let later = Ns::from_ms(13);
    sched.ran(later, alpha[0], BIG, &Span { time: Ns::from_ms(2), speedup: Some(2.8), ..Span::default() });
    sched.blocked(later, alpha[0], Wait::Futex);
    sched.ready(later, alpha[1], Why::Woken { by: Some(alpha[0]) });
    common::drop_actions(&mut sched);
    assert!(matches!(sched.next(later, BIG), Next::Run { thread, .. } if thread == gamma));
}

/// Whether alpha1 goes first on the core where both it and gamma wait.
fn alpha_goes_first(policy: &str, blocking: Blocking) -> bool {
    let Example { mut sched, alpha, gamma, .. } = after_one_period(policy, blocking);
    let now = Ns::from_ms(11);
    for thread in [gamma, alpha[0]] {
        assert_eq!(sched.ready(now, thread, Why::Woken { by: None }), BIG);
    }
    common::drop_actions(&mut sched);
    matches!(sched.next(now, BIG), Next::Run { thread, .. } if thread == alpha[0])
}

#[test]
fn only_colab_looks_at_who_blocks_whom() {
    assert!(alpha_goes_first("colab", Blocking::Alpha));
    assert!(!alpha_goes_first("colab", Blocking::Gamma));
    assert_eq!(alpha_goes_first("cfs", Blocking::Alpha), alpha_goes_first("cfs", Blocking::Gamma));
}

/// Where a thread of a machine whose cores are all idle goes when it is woken, five times in a row.
fn woken_on(policy: &str) -> [u16; 5] {
    let machine = common::machine(2, 2);
    let policy = evenkeel_sched::Setup::parse(policy).expect("a policy of the registry");
    let mut sched = Scheduler::new(machine.clone(), policy.make(), None);
    let (class, clamp) = (Class::fair(0), Clamp::default());
    let (program, kind) = (ProgramId(0), ThreadKind::Application);
    let thread = sched.create(&NewThread { program, kind, class, cores: machine.all(), on: CoreId(0), clamp });
    let mut why = Why::New { by: None };
    [0, 1, 2, 3, 4].map(|turn| {
        let core = sched.ready(Ns::from_ms(2 * turn), thread, why);
        why = Why::Woken { by: None };
        assert!(matches!(sched.next(Ns::from_ms(2 * turn), core), Next::Run { .. }));
        sched.blocked(Ns::from_ms(2 * turn + 1), thread, Wait::Futex);
        common::drop_actions(&mut sched);
        core.0
    })
}

#[test]
fn a_thread_is_dealt_to_an_idle_big_core_where_that_would_take_it_over() {
    assert_eq!(woken_on("colab"), [0, 1, 0, 1, 0]);
    for policy in ["colab:takeover=blamed", "colab:takeover=none", "colab:deal=turn"] {
        assert_eq!(woken_on(policy), [0, 1, 2, 3, 0], "{policy}");
    }
}

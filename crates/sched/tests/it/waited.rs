//! How long threads wait for a core.

use evenkeel_model::{Clamp, Class, CoreId, Ns, ProgramId, ThreadKind};
use evenkeel_sched::{NewThread, Next, Scheduler, Setup, Wait, Why};

use crate::common;

#[test]
fn a_wait_continues_when_the_program_changes_what_the_thread_may_do() {
    let policy = Setup::parse("cfs").expect("a policy of the registry").make();
    let mut sched = Scheduler::new(common::machine(1, 0), policy, None);
    let cores = sched.state().machine.all();
    let (program, kind, class) = (ProgramId(0), ThreadKind::Application, Class::fair(0));
    let (on, clamp) = (CoreId(0), Clamp::default());
    let spec = NewThread { program, kind, class, cores, on, clamp };
    let runs = sched.create(&spec);
    sched.ready(Ns::ZERO, runs, Why::New { by: None });
    assert!(matches!(sched.next(Ns::ZERO, on), Next::Run { thread, .. } if thread == runs));
    let waits = sched.create(&spec);
    sched.ready(Ns::ZERO, waits, Why::New { by: None });
    sched.set_params(Ns::from_ms(4), waits, Class::fair(5), cores, clamp);
    sched.blocked(Ns::from_ms(10), runs, Wait::Sleep);
    assert!(matches!(sched.next(Ns::from_ms(10), on), Next::Run { thread, .. } if thread == waits));
    assert_eq!(sched.state().thread(waits).waited, Ns::from_ms(10));
}

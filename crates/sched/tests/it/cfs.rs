//! Where CFS puts threads on a machine whose cores are all as idle: in a circle from where they come from, as the groups of a
//! scheduling domain are searched, and not from the first core on.

use crate::common;
use evenkeel_model::{CoreId, Ns, ProgramId, ThreadId};
use evenkeel_sched::{Clamp, Class, NewThread, Next, Scheduler, Setup, ThreadKind, Wait, Why};

struct Host(Scheduler);

impl Host {
    fn new() -> Self {
        let policy = Setup::parse("cfs").expect("a policy of the registry").make();
        Self(Scheduler::new(common::machine(4, 0), policy, None))
    }

    /// A thread that is placed, and then runs there.
    fn start(&mut self, on: u16, by: Option<ThreadId>) -> (ThreadId, CoreId) {
        let (program, kind, class) = (ProgramId(0), ThreadKind::Application, Class::fair(0));
        let cores = self.0.state().machine.all();
        let thread = self.0.create(&NewThread { program, kind, class, cores, on: CoreId(on), clamp: Clamp::default() });
        let core = self.0.ready(Ns::ZERO, thread, Why::New { by });
        assert!(matches!(self.0.next(Ns::ZERO, core), Next::Run { thread: first, .. } if first == thread));
        common::drop_actions(&mut self.0);
        (thread, core)
    }
}

#[test]
fn a_program_starts_where_it_is_started_and_its_threads_next_to_it() {
    let mut host = Host::new();
    let (first, core) = host.start(2, None);
    assert_eq!(core, CoreId(2));
    let cores = [0; 3].map(|_| host.start(0, Some(first)).1);
    assert_eq!(cores, [CoreId(3), CoreId(0), CoreId(1)], "sd->groups is a circle from the parent's core on");
}

#[test]
fn a_woken_thread_goes_to_the_next_idle_core() {
    let mut host = Host::new();
    let (sleeper, _) = host.start(2, None);
    host.0.blocked(Ns::from_ms(1), sleeper, Wait::Futex);
    let (_, core) = host.start(2, None);
    assert_eq!(core, CoreId(2), "it is idle now");
    assert_eq!(host.0.ready(Ns::from_ms(2), sleeper, Why::Woken { by: None }), CoreId(3), "select_idle_sibling");
}

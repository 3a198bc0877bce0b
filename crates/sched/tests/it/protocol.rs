//! What a host that is late tells the scheduler of what has changed in between.

use std::convert::Infallible;

use evenkeel_model::{Clamp, Class, CoreId, Ns, ProgramId, ThreadId, ThreadKind};
use evenkeel_sched::protocol::{self, Host, Progress, Request, Requests};
use evenkeel_sched::{Action, NewThread, Run, Scheduler, Setup, Wait, Why};

use crate::common;

/// Believes the scheduler's books, and is late with what takes threads off their cores.
struct Late {
    sched: Scheduler,
    requests: Requests,
    requested: Option<Request>,
}

impl Host for Late {
    type Error = Infallible;

    fn scheduler(&self) -> &Scheduler {
        &self.sched
    }

    fn parts(&mut self) -> (&mut Scheduler, &mut Requests) {
        (&mut self.sched, &mut self.requests)
    }

    fn now(&self) -> Ns {
        Ns::ZERO
    }

    fn preempt(&mut self, request: &Request) -> Result<Progress, Infallible> {
        self.requested = Some(*request);
        Ok(Progress::Late)
    }
}

impl Late {
    /// A new thread, which may only use one core.
    fn begin(&mut self, core: CoreId) -> ThreadId {
        let thread = self.sched.create(&NewThread {
            program: ProgramId(0),
            kind: ThreadKind::Application,
            class: Class::fair(0),
            cores: [core].into_iter().collect(),
            on: core,
            clamp: Clamp::default(),
        });
        protocol::ready(self, thread, Why::New { by: None });
        let Ok(()) = protocol::dispatch(self, core);
        thread
    }
}

#[test]
fn an_exchange_with_a_thread_that_has_got_a_core_meanwhile_is_stale() {
    let machine = common::machine(1, 1);
    let requests = Requests::new(machine.cores.len());
    let sched = Scheduler::new(machine, Setup::parse("cfs").unwrap().make(), None);
    let mut host = Late { sched, requests, requested: None };
    let [big, little] = [CoreId(0), CoreId(1)];
    let (runs, waits, other) = (host.begin(big), host.begin(big), host.begin(little));
    host.requests.arrived(Action::Swap { threads: [waits, other], cores: [big, little] });
    let Ok(_) = protocol::drain(&mut host, 100);
    let request = host.requested.unwrap();
    assert_eq!(request.running().collect::<Vec<_>>(), [(little, other)]);

    host.sched.blocked(Ns::ZERO, runs, Wait::Sleep);
    let Ok(()) = protocol::dispatch(&mut host, big);
    assert_eq!(host.sched.state().core(big).current, Some(waits));

    let Ok(()) = protocol::settle(&mut host, &request, Progress::Done);
    assert_eq!(host.requests.stale(), 1);
    let state = host.sched.state();
    assert_eq!((state.core(big).current, state.thread(waits).run), (Some(waits), Run::Running), "it keeps its core");
    assert_eq!(state.core(little).current, Some(other), "what was to give way has its turn again");
}

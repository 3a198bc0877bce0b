//! What a host that is late tells the scheduler of what has changed in between.

use std::convert::Infallible;

use evenkeel_model::{Clamp, Class, CoreId, Ns, ProgramId, ThreadId, ThreadKind};
use evenkeel_sched::protocol::{self, Host, Progress, Request, Requests};
use evenkeel_sched::{Action, NewThread, Run, Scheduler, Setup, Wait, Why};

use crate::common;

const BIG: CoreId = CoreId(0);
const LITTLE: CoreId = CoreId(1);

/// Believes the scheduler's books, but for the threads that it has stopped, and is late with what takes threads off their cores.
struct Late {
    sched: Scheduler,
    requests: Requests,
    requested: Option<Request>,
    /// They are off their cores, and not back on one.
    stopped: Vec<ThreadId>,
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

    fn running(&self, core: CoreId) -> Option<ThreadId> {
        self.sched.state().core(core).current.filter(|thread| !self.stopped.contains(thread))
    }

    fn begin(&mut self, _core: CoreId, thread: ThreadId) -> Result<(), Infallible> {
        self.stopped.retain(|stopped| *stopped != thread);
        Ok(())
    }

    fn preempt(&mut self, request: &Request) -> Result<Progress, Infallible> {
        self.requested = Some(*request);
        Ok(Progress::Late)
    }
}

impl Late {
    fn new() -> Self {
        let machine = common::machine(1, 1);
        let requests = Requests::new(machine.cores.len());
        let sched = Scheduler::new(machine, Setup::parse("cfs").expect("a policy").make(), None);
        Self { sched, requests, requested: None, stopped: Vec::new() }
    }

    /// An exchange of a thread on or for the big core with one on the little core, as far as it comes at once.
    fn swap(&mut self, threads: [ThreadId; 2]) -> Option<Request> {
        self.requests.clear();
        self.requests.arrived(Action::Swap { threads, cores: [BIG, LITTLE] });
        let Ok(_) = protocol::drain(self, 100);
        self.requested.take()
    }

    /// A new thread, which may only use one core.
    fn start(&mut self, core: CoreId) -> ThreadId {
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
    let mut host = Late::new();
    let (runs, waits, other) = (host.start(BIG), host.start(BIG), host.start(LITTLE));
    let request = host.swap([waits, other]).unwrap();
    assert_eq!(request.running().collect::<Vec<_>>(), [(LITTLE, other)]);

    host.sched.blocked(Ns::ZERO, runs, Wait::Sleep);
    let Ok(()) = protocol::dispatch(&mut host, BIG);
    assert_eq!(host.running(BIG), Some(waits));

    host.stopped.push(other);
    let Ok(()) = protocol::settle(&mut host, &request, Progress::Done);
    assert_eq!(host.requests.stale(), 1);
    let run = host.sched.state().thread(waits).run;
    assert_eq!((host.running(BIG), run), (Some(waits), Run::Running), "it keeps its core");
    assert_eq!(host.running(LITTLE), Some(other), "what was to give way has its turn again");
}

#[test]
fn an_exchange_with_a_thread_that_has_blocked_meanwhile_stops_none() {
    let mut host = Late::new();
    let (runs, other) = (host.start(BIG), host.start(LITTLE));
    host.sched.blocked(Ns::ZERO, other, Wait::Sleep);
    assert_eq!((host.swap([runs, other]), host.requests.stale()), (None, 1));
    assert_eq!((host.running(BIG), host.running(LITTLE)), (Some(runs), None));
    protocol::ready(&mut host, other, Why::Woken { by: None });
    let Ok(()) = protocol::dispatch(&mut host, LITTLE);
    assert_eq!(host.running(LITTLE), Some(other), "it finds its core free");
}

#[test]
fn an_exchange_that_its_host_finds_stale_leaves_both_where_they_are() {
    let mut host = Late::new();
    let (runs, other) = (host.start(BIG), host.start(LITTLE));
    let request = host.swap([runs, other]).unwrap();
    assert_eq!(request.running().collect::<Vec<_>>(), [(BIG, runs), (LITTLE, other)]);
    let Ok(()) = protocol::settle(&mut host, &request, Progress::Stale);
    assert_eq!(host.requests.stale(), 1);
    assert_eq!((host.running(BIG), host.running(LITTLE)), (Some(runs), Some(other)));
}

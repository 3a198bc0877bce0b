//! A model of a host that is late everywhere: the scheduler runs in one program, the cores are somewhere else, such as
//! inside a kernel, and a message between them takes up to half a millisecond. Cores never wait for the
//! scheduler: a thread that blocks or exits leaves at once. Messages keep their order. This is what a host for a
//! scheduler inside the kernel must cope with, whatever that kernel is.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::convert::Infallible;

use evenkeel_conformance::{Arm, Facts, Played, PlayedThread, RATIO, Scenario, Script, Step, check, judge, mixed};
use evenkeel_model::{CoreId, CoreSet, Ns, ProgramId, ThreadId};
use evenkeel_sched::protocol::{self, Host, Progress, Request, Requests};
use evenkeel_sched::{Action, Clamp, Class, NewThread, POLICIES, Run, Scheduler, Setup, Span, ThreadKind, Wait, Why};
use proptest::prelude::*;

/// A message takes at most so long.
const MESSAGE: Ns = Ns::from_us(500);
const TICK: Ns = Ns::from_ms(1);

/// What happens, and on which side.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    /// At the cores: a thread has done its work or slept, if this is still the number of what it does.
    Done(ThreadId, u64),
    /// To the cores.
    Preempt(Request),
    /// To the cores.
    Switch(CoreId, ThreadId),
    /// To the scheduler.
    Settled(Request, Progress),
    /// To the scheduler: whether the core runs the thread.
    Switched(CoreId, ThreadId, bool),
    /// To the scheduler: a thread left a core by itself.
    Left(CoreId, ThreadId, Option<Wait>),
    /// To the scheduler.
    Ready(ThreadId, Why),
    /// To the scheduler.
    Restricted(ThreadId, CoreSet),
    /// The scheduler's clock.
    Tick,
}

/// A thread at the cores.
#[derive(Clone, Debug, Default)]
struct Body {
    steps: VecDeque<Step>,
    /// What is left of its work, in ns on a little core.
    left: u64,
    /// The number of what it does: each span of running and each sleep has one.
    doing: u64,
    runnable: bool,
    since: Ns,
    /// Time that was not yet reported, by core.
    ran: Vec<(CoreId, Ns)>,
    ended: Ns,
    played: PlayedThread,
}

/// A thread in the books of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Book {
    Waits,
    Runs,
    Off,
}

struct Late {
    now: Ns,
    big: usize,
    sched: Scheduler,
    requests: Requests,
    random: fastrand::Rng,
    calendar: BinaryHeap<Reverse<(Ns, usize)>>,
    events: Vec<Event>,
    /// When the latest message to the cores, and the latest from there, arrives.
    channels: [Ns; 2],
    cores: Vec<Option<ThreadId>>,
    bodies: Vec<Body>,
    book_cores: Vec<Option<ThreadId>>,
    books: Vec<Book>,
    /// Stale decisions that the cores found.
    found_stale: u64,
    refreshed: Ns,
}

impl Late {
    fn new(scenario: &Scenario, policy: &Setup, seed: u64) -> Self {
        let machine = scenario.machine();
        let cores = machine.cores.len();
        let mut late = Self {
            now: Ns::ZERO,
            big: usize::from(scenario.big),
            sched: Scheduler::new(machine.clone(), policy.make(), None),
            requests: Requests::new(cores),
            random: fastrand::Rng::with_seed(seed),
            calendar: BinaryHeap::new(),
            events: Vec::new(),
            channels: [Ns::ZERO; 2],
            cores: vec![None; cores],
            bodies: Vec::new(),
            book_cores: vec![None; cores],
            books: Vec::new(),
            found_stale: 0,
            refreshed: Ns::ZERO,
        };
        for script in &scenario.threads {
            let thread = late.sched.create(&NewThread {
                program: ProgramId(0),
                kind: ThreadKind::Application,
                class: Class::fair(0),
                cores: script.cores.and(machine.all()),
                on: script.on,
                clamp: Clamp::default(),
            });
            late.bodies.push(Body { steps: script.steps.iter().copied().collect(), runnable: true, ..Body::default() });
            late.books.push(Book::Off);
            late.at(script.begins, Event::Ready(thread, Why::New { by: None }));
        }
        late.at(TICK, Event::Tick);
        late
    }

    fn at(&mut self, at: Ns, event: Event) {
        self.calendar.push(Reverse((at, self.events.len())));
        self.events.push(event);
    }

    fn send_to_cores(&mut self, event: Event) {
        self.send_by(0, event);
    }

    fn send_to_scheduler(&mut self, event: Event) {
        self.send_by(1, event);
    }

    fn send_by(&mut self, channel: usize, event: Event) {
        let arrives = self.now + Ns(self.random.u64(0..=MESSAGE.0));
        self.channels[channel] = self.channels[channel].max(arrives);
        self.at(self.channels[channel], event);
    }

    /// Plays to the end, and checks after every event.
    fn play(&mut self) -> Result<(), String> {
        while let Some(Reverse((at, number))) = self.calendar.pop() {
            if at > Ns::from_secs(60) {
                return Err(format!("not done at {at}"));
            }
            self.now = at;
            let event = self.events[number];
            self.handle(event);
            self.check()?;
            let all_off = self.books.iter().all(|book| *book == Book::Off);
            if all_off && self.bodies.iter().all(|body| body.played.ended) {
                return Ok(());
            }
        }
        Err("nothing happens any more".into())
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Done(thread, number) => {
                if self.bodies[thread.index()].doing == number {
                    self.proceed(thread);
                }
            }
            Event::Preempt(request) => {
                let fits = request.running().all(|(core, thread)| self.cores[core.index()] == Some(thread));
                if fits {
                    request.running().for_each(|(core, _)| self.leave(core));
                }
                self.send_to_scheduler(Event::Settled(request, if fits { Progress::Done } else { Progress::Stale }));
            }
            Event::Switch(core, thread) => {
                let free = self.cores[core.index()].is_none() && self.core_of(thread).is_none();
                let runs = free && self.bodies[thread.index()].runnable;
                // This message first: what the thread does next comes after it.
                self.send_to_scheduler(Event::Switched(core, thread, runs));
                if runs {
                    self.cores[core.index()] = Some(thread);
                    let body = &mut self.bodies[thread.index()];
                    body.since = self.now;
                    body.played.cores = body.played.cores.with(core);
                    self.plan(core, thread);
                }
            }
            _ => self.receive(event),
        }
    }

    /// At the cores: a thread has done its work, or slept.
    fn proceed(&mut self, thread: ThreadId) {
        let Some(core) = self.core_of(thread) else {
            self.bodies[thread.index()].runnable = true;
            return self.send_to_scheduler(Event::Ready(thread, Why::Woken { by: None }));
        };
        self.account(core, thread);
        loop {
            match self.bodies[thread.index()].steps.pop_front() {
                Some(Step::Work(work)) => {
                    self.bodies[thread.index()].left = work.0 * RATIO;
                    return self.plan(core, thread);
                }
                Some(Step::Restrict(cores)) => self.send_to_scheduler(Event::Restricted(thread, cores)),
                Some(Step::Sleep(span)) => {
                    self.leave(core);
                    let body = &mut self.bodies[thread.index()];
                    body.runnable = false;
                    let event = Event::Done(thread, body.doing);
                    self.at(self.now + span, event);
                    return self.send_to_scheduler(Event::Left(core, thread, Some(Wait::Sleep)));
                }
                Some(Step::Displaced(_)) => unreachable!("nothing else moves its threads"),
                None => {
                    self.leave(core);
                    let body = &mut self.bodies[thread.index()];
                    body.runnable = false;
                    body.played.ended = true;
                    body.ended = self.now;
                    return self.send_to_scheduler(Event::Left(core, thread, None));
                }
            }
        }
    }

    /// At the cores: a thread leaves its core.
    fn leave(&mut self, core: CoreId) {
        if let Some(thread) = self.cores[core.index()] {
            self.account(core, thread);
            self.bodies[thread.index()].doing += 1;
            self.cores[core.index()] = None;
        }
    }

    /// At the cores: when a running thread's work will be done.
    fn plan(&mut self, core: CoreId, thread: ThreadId) {
        let speed = self.speed(core);
        let body = &mut self.bodies[thread.index()];
        body.doing += 1;
        let (event, at) = (Event::Done(thread, body.doing), self.now + Ns(body.left.div_ceil(speed)));
        self.at(at, event);
    }

    /// At the cores: counts what a thread ran up to now.
    fn account(&mut self, core: CoreId, thread: ThreadId) {
        let speed = self.speed(core);
        let body = &mut self.bodies[thread.index()];
        let time = self.now.since(body.since);
        body.since = self.now;
        body.left = body.left.saturating_sub(time.0 * speed);
        body.ran.push((core, time));
        *(if speed > 1 { &mut body.played.big } else { &mut body.played.little }) += time;
    }

    fn speed(&self, core: CoreId) -> u64 {
        if core.index() < self.big { RATIO } else { 1 }
    }

    fn core_of(&self, thread: ThreadId) -> Option<CoreId> {
        self.cores.iter().position(|current| *current == Some(thread)).map(|core| CoreId(core as u16))
    }

    /// A message reaches the scheduler's side.
    fn receive(&mut self, event: Event) {
        match event {
            Event::Settled(request, progress) => {
                let never_stale = matches!(request.action(), Action::Reschedule(_));
                match progress {
                    Progress::Stale => self.found_stale += u64::from(!never_stale),
                    _ => request.running().for_each(|(core, thread)| self.book_off(core, thread)),
                }
                let Ok(()) = protocol::settle(self, &request, progress);
            }
            Event::Switched(core, thread, true) => {
                let Ok(()) = protocol::arrive(self, core, thread);
                assert_eq!(self.book_cores[core.index()], Some(thread), "the scheduler disowns what its core runs");
            }
            Event::Switched(core, thread, false) => {
                self.found_stale += 1;
                protocol::refuse(self, core, thread);
            }
            Event::Left(core, thread, wait) => {
                self.book_off(core, thread);
                self.books[thread.index()] = Book::Off;
                match wait {
                    Some(wait) => self.sched.blocked(self.now, thread, wait),
                    None => self.sched.exited(self.now, thread),
                }
                self.requests.vacated(core);
            }
            Event::Ready(thread, why) => protocol::ready(self, thread, why),
            Event::Restricted(thread, cores) => {
                self.sched.set_params(self.now, thread, Class::fair(0), cores, Clamp::default());
            }
            Event::Tick => self.tick(),
            Event::Done(..) | Event::Preempt(_) | Event::Switch(..) => unreachable!("for the cores"),
        }
        protocol::collect(self);
        let Ok(carried_out) = protocol::drain(self, 10_000);
        assert!(carried_out < 10_000, "decisions lead to decisions for ever");
    }

    fn tick(&mut self) {
        for thread in 0..self.books.len() as u32 {
            self.report(ThreadId(thread));
        }
        for core in 0..self.cores.len() as u16 {
            if self.book_cores[usize::from(core)].is_some() {
                protocol::tick(self, CoreId(core));
            }
        }
        if self.sched.period().is_some_and(|period| self.now.since(self.refreshed) >= period) {
            self.refreshed = self.now;
            protocol::refresh(self);
        }
        self.at(self.now + TICK, Event::Tick);
    }

    /// The host's books: the thread does not run there any more.
    fn book_off(&mut self, core: CoreId, thread: ThreadId) {
        self.report(thread);
        assert_eq!(self.book_cores[core.index()].take(), Some(thread), "messages keep their order");
    }

    /// Reports what a thread ran since the last time. The cores count; the count itself is never late.
    fn report(&mut self, thread: ThreadId) {
        if let Some(core) = self.core_of(thread) {
            self.account(core, thread);
        }
        for (core, time) in std::mem::take(&mut self.bodies[thread.index()].ran) {
            if self.sched.state().thread(thread).alive() {
                self.sched.ran(self.now, thread, core, &Span { time, ..Span::default() });
            }
        }
    }

    /// No thread runs on two cores, or is lost; what is stale is counted.
    fn check(&self) -> Result<(), String> {
        for (thread, book) in (0..).map(ThreadId).zip(&self.books) {
            let cores = self.cores.iter().filter(|current| **current == Some(thread)).count();
            let books = self.book_cores.iter().filter(|current| **current == Some(thread)).count();
            if cores > 1 || books != usize::from(*book == Book::Runs) {
                return Err(format!("{thread:?} at {}: on {cores} cores, in the books {book:?} on {books}", self.now));
            }
            let run = self.sched.state().thread(thread).run;
            let fits = match book {
                Book::Off => matches!(run, Run::Blocked(_) | Run::Absent),
                Book::Waits => matches!(run, Run::Ready | Run::Running),
                Book::Runs => run == Run::Running,
            };
            if !fits {
                return Err(format!("{thread:?} at {}: {book:?} in the books, {run:?} for the scheduler", self.now));
            }
        }
        if self.requests.stale() < self.found_stale {
            return Err(format!("{} of {} stale decisions are counted", self.requests.stale(), self.found_stale));
        }
        Ok(())
    }
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
        self.now
    }

    fn running(&self, core: CoreId) -> Option<ThreadId> {
        self.book_cores[core.index()]
    }

    fn waiting(&self, thread: ThreadId) -> bool {
        self.books[thread.index()] == Book::Waits
    }

    fn waits(&mut self, thread: ThreadId) {
        self.books[thread.index()] = Book::Waits;
    }

    fn preempt(&mut self, request: &Request) -> Result<Progress, Infallible> {
        self.send_to_cores(Event::Preempt(*request));
        Ok(Progress::Late)
    }

    fn dispatch(&mut self, core: CoreId, thread: ThreadId, _slice: Ns) -> Result<Progress, Infallible> {
        self.send_to_cores(Event::Switch(core, thread));
        Ok(Progress::Late)
    }

    fn begin(&mut self, core: CoreId, thread: ThreadId) -> Result<(), Infallible> {
        self.book_cores[core.index()] = Some(thread);
        self.books[thread.index()] = Book::Runs;
        Ok(())
    }
}

struct Asynchronous {
    seed: u64,
}

impl Arm for Asynchronous {
    fn facts(&self) -> Facts {
        Facts {
            name: format!("model of a host that is late everywhere, seed {}", self.seed),
            big: 32,
            little: 32,
            period: MESSAGE,
            // To the cores, and back.
            delay: Ns(2 * MESSAGE.0),
            steady: false,
            overhead: 0.0,
            grain: Some(MESSAGE),
            displaces: false,
            policies: None,
            foretells: false,
        }
    }

    fn play(&mut self, scenario: &Scenario, policy: &Setup) -> Result<Played, String> {
        let mut late = Late::new(scenario, policy, self.seed);
        late.play()?;
        let stale = late.requests.stale();
        let played = |(body, script): (Body, &Script)| {
            let waited = script.waited(body.ended.since(script.begins), &body.played);
            PlayedThread { waited: Some(waited), ..body.played }
        };
        Ok(Played { stale, threads: late.bodies.into_iter().zip(&scenario.threads).map(played).collect() })
    }
}

#[test]
fn a_host_that_is_late_everywhere_does_what_every_host_must() {
    for seed in 0..4 {
        let report = check(&mut Asynchronous { seed });
        println!("{report}");
        assert!(report.failed.is_empty() && report.skipped.is_empty(), "{report}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After every event: no thread on two cores, none lost, every stale decision counted. At the end all are done.
    #[test]
    fn no_thread_is_lost_however_late_messages_are(
        policy in 0..POLICIES.len(),
        (big, little, threads) in (1..3_u16, 1..4_u16, 1..14_u16),
        seed in any::<u64>(),
    ) {
        let scenario = mixed("random", big, little, threads);
        let setup = Setup::from(POLICIES[policy]);
        let made = setup.make();
        if !setup.description().foresight && evenkeel_sched::policy::check(&*made, &scenario.machine()).is_ok() {
            let mut arm = Asynchronous { seed };
            let played = arm.play(&scenario, &setup).map_err(TestCaseError::fail)?;
            judge(&scenario, &arm.facts(), &played).map_err(TestCaseError::fail)?;
        }
    }
}

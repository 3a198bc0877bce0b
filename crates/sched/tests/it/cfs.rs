//! Where CFS puts threads on a machine whose cores are all as idle: in a circle from where they come from, as the groups of a
//! scheduling domain are searched, and not from the first core on. And when one that begins or wakes has its turn.

use crate::common;
use evenkeel_model::{CoreId, CoreSet, Ns, ProgramId, ThreadId};
use evenkeel_sched::{Action, Clamp, Class, NewThread, Next, Scheduler, Setup, Span, ThreadKind, Wait, Why};

struct Host(Scheduler);

impl Host {
    fn new(policy: &str, big: u16, little: u16) -> Self {
        let policy = Setup::parse(policy).expect("a policy of the registry").make();
        Self(Scheduler::new(common::machine(big, little), policy, None))
    }

    fn create(&mut self, on: u16, cores: CoreSet) -> ThreadId {
        let (program, kind, class) = (ProgramId(0), ThreadKind::Application, Class::fair(0));
        self.0.create(&NewThread { program, kind, class, cores, on: CoreId(on), clamp: Clamp::default() })
    }

    /// A thread that is placed.
    fn begin(&mut self, on: u16, cores: CoreSet, by: Option<ThreadId>) -> (ThreadId, CoreId) {
        let thread = self.create(on, cores);
        (thread, self.0.ready(Ns::ZERO, thread, Why::New { by }))
    }

    fn run(&mut self, thread: ThreadId, core: CoreId) {
        assert!(matches!(self.0.next(Ns::ZERO, core), Next::Run { thread: first, .. } if first == thread));
        common::drop_actions(&mut self.0);
    }

    /// A thread that is placed, and then runs there.
    fn start(&mut self, on: u16, by: Option<ThreadId>) -> (ThreadId, CoreId) {
        let (thread, core) = self.begin(on, self.0.state().machine.all(), by);
        self.run(thread, core);
        (thread, core)
    }

    /// A thread that sleeps, and one that runs since then where the other one has to wake up, with the same virtual time.
    fn sleeper_and_runner(&mut self, core: CoreId) -> (ThreadId, ThreadId) {
        let only: CoreSet = [core].into_iter().collect();
        let [sleeper, runner] = [(); 2].map(|()| {
            let (thread, placed) = self.begin(core.0, only, None);
            assert_eq!(placed, core);
            self.run(thread, core);
            self.0.blocked(Ns::ZERO, thread, Wait::Sleep);
            thread
        });
        self.0.ready(Ns::ZERO, runner, Why::Woken { by: None });
        self.run(runner, core);
        (sleeper, runner)
    }

    /// Wakes a thread, and returns whether it preempts the one on its core.
    fn wake(&mut self, now: Ns, thread: ThreadId) -> bool {
        let core = self.0.ready(now, thread, Why::Woken { by: None });
        common::drop_actions(&mut self.0).contains(&Action::Reschedule(core))
    }
}

#[test]
fn a_program_starts_where_it_is_started_and_its_threads_next_to_it() {
    let mut host = Host::new("cfs", 4, 0);
    let (first, core) = host.start(2, None);
    assert_eq!(core, CoreId(2));
    let cores = [0; 3].map(|_| host.start(0, Some(first)).1);
    assert_eq!(cores, [CoreId(3), CoreId(0), CoreId(1)], "sd->groups is a circle from the parent's core on");
}

#[test]
fn a_woken_thread_goes_to_the_next_idle_core() {
    let mut host = Host::new("cfs", 4, 0);
    let (sleeper, _) = host.start(2, None);
    host.0.blocked(Ns::from_ms(1), sleeper, Wait::Futex);
    let (_, core) = host.start(2, None);
    assert_eq!(core, CoreId(2), "it is idle now");
    assert_eq!(host.0.ready(Ns::from_ms(2), sleeper, Why::Woken { by: None }), CoreId(3), "select_idle_sibling");
}

#[test]
fn a_new_thread_begins_behind_by_its_share_beside_the_one_that_runs() {
    let mut host = Host::new("cfs", 1, 0);
    let (runs, _) = host.start(0, None);
    let (new, _) = host.begin(0, host.0.state().machine.all(), None);
    let behind = host.0.state().thread(new).vruntime - host.0.state().thread(runs).vruntime;
    assert_eq!(behind, 3_000_000, "half of the latency of one core, 6 ms");
}

#[test]
fn a_new_threads_share_is_of_fair_threads_only() {
    let mut host = Host::new("cfs", 1, 0);
    let (core, all) = (CoreId(0), host.0.state().machine.all());
    for _ in 0..2 {
        let real_time = host.create(0, all);
        host.0.set_params(Ns::ZERO, real_time, Class::RealTime { priority: 1 }, all, Clamp::default());
        host.0.ready(Ns::ZERO, real_time, Why::New { by: None });
        if host.0.state().core(core).current.is_none() {
            host.run(real_time, core);
        }
    }
    // One real-time thread runs, one waits, and so does a fair one.
    host.begin(0, all, None);
    let (new, _) = host.begin(0, all, None);
    let behind = host.0.state().thread(new).vruntime - host.0.state().core(core).queue.min_vruntime;
    assert_eq!(behind, 3_000_000, "half of the latency of one core, 6 ms");
}

#[test]
fn what_the_running_thread_has_had_since_the_last_report_counts_at_a_wake_up() {
    let mut host = Host::new("cfs", 1, 0);
    let (sleeper, runner) = host.sleeper_and_runner(CoreId(0));
    let tick = Ns::from_us(900);
    host.0.ran(tick, runner, CoreId(0), &Span { time: tick, ..Span::default() });
    host.0.tick(tick, CoreId(0));
    common::drop_actions(&mut host.0);
    assert!(host.wake(tick + Ns::from_us(1500), sleeper), "it is 2.4 ms behind, and the granularity is 1 ms");
}

#[test]
fn what_has_not_been_reported_counts_as_the_policy_charges_it() {
    // The granularity of two cores is 2 ms, and the big one is twice as fast.
    for (policy, core, due) in [("cfs", 0, 2000), ("colab", 0, 1000), ("pfs", 0, 2000), ("pfs", 1, 4000)] {
        for (after, preempts) in [(due - 100, false), (due + 100, true)] {
            let mut host = Host::new(policy, 1, 1);
            let (sleeper, _) = host.sleeper_and_runner(CoreId(core));
            assert_eq!(host.wake(Ns::from_us(after), sleeper), preempts, "{policy} on {core} after {after} us");
        }
    }
}

#[test]
fn the_floor_of_a_queue_counts_the_running_thread_as_the_policy_charges_it() {
    // In 2 ms, and a new thread comes half of the latency of two cores behind: 6 ms.
    for (policy, core, had) in [("cfs", 0, 2), ("colab", 0, 4), ("colab", 1, 2), ("pfs", 0, 2), ("pfs", 1, 1)] {
        let mut host = Host::new(policy, 1, 1);
        let only: CoreSet = [CoreId(core)].into_iter().collect();
        let (runner, _) = host.begin(core, only, None);
        host.run(runner, CoreId(core));
        let new = host.create(core, only);
        assert_eq!(host.0.ready(Ns::from_ms(2), new, Why::New { by: None }), CoreId(core));
        let behind = host.0.state().thread(new).vruntime - host.0.state().thread(runner).vruntime;
        assert_eq!(behind, (had + 6) * 1_000_000, "{policy} on {core}");
    }
}

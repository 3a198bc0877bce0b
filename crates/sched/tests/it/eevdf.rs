//! EEVDF, worked by hand with the test as the host: one core, where a slice is 0.7 ms and a tick 1 ms.

use crate::common;
use evenkeel_model::{CoreId, Ns, ProgramId, ThreadId};
use evenkeel_sched::{Action, Clamp, Class, NewThread, Next, Scheduler, Setup, Span, ThreadKind, Wait, Why};

const CORE: CoreId = CoreId(0);

struct Host {
    sched: Scheduler,
    now: Ns,
    running: Option<ThreadId>,
}

impl Host {
    fn new(policy: &str) -> Self {
        let policy = Setup::parse(policy).expect("a policy of the registry").make();
        Self { sched: Scheduler::new(common::machine(0, 1), policy, None), now: Ns::ZERO, running: None }
    }

    /// A thread that is ready to run.
    fn start(&mut self, nice: i8) -> ThreadId {
        let cores = self.sched.state().machine.all();
        let (program, kind, clamp) = (ProgramId(0), ThreadKind::Application, Clamp::default());
        let thread =
            self.sched.create(&NewThread { program, kind, class: Class::fair(nice), cores, on: CoreId(0), clamp });
        self.sched.ready(self.now, thread, Why::New { by: None });
        thread
    }

    /// Lets the core run for a while, with a tick every ms, and returns which thread ran how long.
    fn run(&mut self, span: Ns) -> Vec<(ThreadId, Ns)> {
        let mut ran: Vec<(ThreadId, Ns)> = Vec::new();
        let end = self.now + span;
        while self.now < end {
            self.pick();
            let tick = Ns((self.now.0 / 1_000_000 + 1) * 1_000_000);
            let until = tick.min(end);
            self.settle(until, &mut ran);
            if until == tick {
                self.sched.tick(until, CORE);
                self.carry_out();
            }
        }
        ran
    }

    fn settle(&mut self, until: Ns, ran: &mut Vec<(ThreadId, Ns)>) {
        let time = until.since(self.now);
        self.now = until;
        let Some(thread) = self.running else { return };
        self.sched.ran(until, thread, CORE, &Span { time, ..Span::default() });
        match ran.last_mut() {
            Some(last) if last.0 == thread => last.1 += time,
            _ => ran.push((thread, time)),
        }
    }

    fn pick(&mut self) {
        if self.running.is_none()
            && let Next::Run { thread, .. } = self.sched.next(self.now, CORE)
        {
            self.running = Some(thread);
        }
    }

    /// Stops the running thread if the scheduler wants that. Returns whether it does.
    fn carry_out(&mut self) -> bool {
        let wanted = common::drop_actions(&mut self.sched).contains(&Action::Reschedule(CORE));
        if wanted && let Some(thread) = self.running.take() {
            self.sched.ready(self.now, thread, Why::Preempted);
        }
        common::drop_actions(&mut self.sched);
        wanted
    }

    fn sleep(&mut self) {
        if let Some(thread) = self.running.take() {
            self.sched.blocked(self.now, thread, Wait::Sleep);
        }
    }

    /// Wakes a thread, and returns whether it preempts.
    fn wake(&mut self, thread: ThreadId) -> bool {
        self.sched.ready(self.now, thread, Why::Woken { by: None });
        self.carry_out()
    }

    /// By how much a thread is behind the weighted average of all on the core.
    fn lag(&self, thread: ThreadId) -> i64 {
        let s = self.sched.state();
        let (mut sum, mut load) = (0, 0);
        for other in s.core(CORE).queue.iter().chain(s.core(CORE).current) {
            let weight = s.thread(other).weight() as i64;
            sum += weight * s.thread(other).vruntime;
            load += weight;
        }
        sum / load - s.thread(thread).vruntime
    }
}

/// How long each of some threads ran, in ms.
fn sums<const N: usize>(ran: &[(ThreadId, Ns)], threads: [ThreadId; N]) -> [f64; N] {
    let sum = |thread| ran.iter().filter(|(other, _)| *other == thread).map(|(_, time)| time.0).sum::<u64>();
    threads.map(|thread| sum(thread) as f64 / 1e6)
}

#[test]
fn equal_threads_take_turns_of_a_request_as_the_tick_rounds_it() {
    let mut host = Host::new("eevdf");
    let threads = [host.start(0), host.start(0), host.start(0)];
    let ran = host.run(Ns::from_ms(30));
    assert!(ran.iter().all(|(_, time)| *time == Ns::from_ms(1)), "0.7 ms end at the next tick: {ran:?}");
    assert_eq!(sums(&ran, threads), [10.0, 10.0, 10.0]);
    // A longer slice means longer turns.
    let mut host = Host::new("eevdf:slice=3ms");
    let threads = [host.start(0), host.start(0)];
    let ran = host.run(Ns::from_ms(36));
    // New threads begin with half a request.
    assert!(ran[3..ran.len() - 1].iter().all(|(_, time)| *time == Ns::from_ms(3)), "{ran:?}");
    let [a, b] = sums(&ran, threads);
    assert!((a - b).abs() <= 3.0, "{a} and {b}: within a slice");
}

#[test]
fn weights_share_the_core_and_the_heavy_thread_asks_for_shorter_virtual_slices() {
    let mut host = Host::new("eevdf");
    // Nice 0 and nice 5 weigh 1024 and 335.
    let threads = [host.start(0), host.start(5)];
    let ran = host.run(Ns::from_ms(1359));
    let [heavy, light] = sums(&ran, threads);
    assert!((heavy - 1024.0).abs() <= 1.0 && (light - 335.0).abs() <= 1.0, "{heavy} and {light}: within a slice");
    // Its deadline is three times as near, so the light one never runs twice in a row.
    assert!(ran.iter().all(|(thread, time)| *thread == threads[0] || *time == Ns::from_ms(1)), "{ran:?}");
}

#[test]
fn lag_is_kept_over_a_sleep() {
    let mut host = Host::new("eevdf");
    let a = host.start(0);
    host.run(Ns::from_us(300));
    let _b = host.start(0);
    host.carry_out();
    host.pick();
    // a has had a little of its request when it goes, and so more than its share.
    host.settle(host.now + Ns::from_us(200), &mut Vec::new());
    assert_eq!(host.running, Some(a));
    let owed = host.lag(a);
    assert!(owed < 0);
    host.sleep();
    host.run(Ns::from_ms(20));
    host.wake(a);
    let kept = host.lag(a);
    assert!((owed - kept).abs() <= 2, "before {owed} ns, after {kept} ns, however long it slept");
}

#[test]
fn what_is_owed_or_had_too_much_is_bounded() {
    let mut host = Host::new("eevdf");
    let a = host.start(-20);
    let b = host.start(0);
    host.carry_out();
    host.run(Ns::from_ms(5));
    // Whatever happens, no thread comes back with more than two slices of lag.
    for _ in 0..20 {
        if host.running == Some(a) {
            host.sleep();
            host.run(Ns::from_ms(7));
            host.wake(a);
        }
        host.run(Ns::from_ms(1));
        assert!(host.lag(b).abs() <= 2 * 1_400_000, "{}", host.lag(b));
    }
}

/// A thread that sleeps and one that begins to run, on a core that they shared before or not.
fn sleeper_and_runner(shared: bool) -> (Host, ThreadId) {
    let mut host = Host::new("eevdf");
    let sleeper = host.start(0);
    host.pick();
    if shared {
        let busy = host.start(0);
        host.carry_out();
        host.run(Ns::from_ms(5));
        host.pick();
        if host.running == Some(busy) {
            host.run(Ns::from_ms(1));
            host.pick();
        }
        assert_eq!(host.running, Some(sleeper), "they take turns");
    }
    // It goes early in its request.
    host.settle(host.now + Ns::from_us(100), &mut Vec::new());
    host.sleep();
    if !shared {
        host.start(0);
        host.carry_out();
    }
    host.pick();
    (host, sleeper)
}

#[test]
fn a_woken_thread_that_is_owed_nothing_waits_for_the_end_of_the_running_ones_request() {
    // It had the core for itself before it slept, so its lag is zero and the runner's too: eligible, and protected.
    let (mut host, sleeper) = sleeper_and_runner(false);
    host.settle(host.now + Ns::from_us(300), &mut Vec::new());
    assert!(!host.wake(sleeper));
    let ran = host.run(Ns::from_ms(2));
    assert_eq!(ran[0].1, Ns::from_us(600), "to the next tick");
    assert_eq!(ran[1].0, sleeper);
}

#[test]
fn a_woken_thread_that_is_owed_something_preempts_at_once() {
    // It slept while it was behind; with its share taken into account the runner has had too much.
    let (mut host, sleeper) = sleeper_and_runner(true);
    host.run(Ns::from_us(300));
    assert!(host.wake(sleeper));
    host.pick();
    assert_eq!(host.running, Some(sleeper));
}

#[test]
fn a_thread_that_yields_forfeits_its_request() {
    let mut host = Host::new("eevdf");
    let (a, b) = (host.start(0), host.start(0));
    host.pick();
    assert_eq!(host.running, Some(a));
    host.running = None;
    host.sched.ready(host.now, a, Why::Yielded);
    common::drop_actions(&mut host.sched);
    host.pick();
    assert_eq!(host.running, Some(b), "although a has had nothing yet");
}

#[test]
fn a_thread_past_its_share_forfeits_nothing_when_it_yields() {
    let mut host = Host::new("eevdf");
    let (a, b) = (host.start(0), host.start(0));
    host.pick();
    host.settle(Ns::from_us(300), &mut Vec::new());
    assert!(host.running == Some(a) && host.lag(a) < 0);
    host.running = None;
    host.sched.ready(host.now, a, Why::Yielded);
    assert_eq!(host.sched.state().thread(a).vruntime, 300_000, "and not the 350 000 of its first request");
    common::drop_actions(&mut host.sched);
    host.pick();
    assert_eq!(host.running, Some(b), "it is not eligible all the same");
}

#[test]
fn the_idle_class_gives_way_at_once() {
    let mut host = Host::new("eevdf");
    let normal = host.start(0);
    host.run(Ns::from_us(100));
    host.sleep();
    let cores = host.sched.state().machine.all();
    let (program, kind, clamp) = (ProgramId(0), ThreadKind::Application, Clamp::default());
    let idle = host.sched.create(&NewThread { program, kind, class: Class::idle(), cores, on: CoreId(0), clamp });
    host.sched.ready(host.now, idle, Why::New { by: None });
    common::drop_actions(&mut host.sched);
    host.run(Ns::from_us(10));
    assert_eq!(host.running, Some(idle));
    assert!(host.wake(normal));
}

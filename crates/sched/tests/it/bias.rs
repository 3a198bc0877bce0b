//! Bias scheduling's worked behaviour (EuroSys 2010, sections 2, 5.2, 5.3, 6.2 and 7.5), with the test as the host.

use crate::common::{drop_actions, machine};
use evenkeel_model::{CoreId, Counter, Counters, Machine, Ns, ProgramId, ThreadId};
use evenkeel_sched::{Action, Clamp, Class, NewThread, Next, Run, Scheduler, Setup, Span, ThreadKind, Wait, Why};

const BIG: CoreId = CoreId(0);
const LITTLE: CoreId = CoreId(1);

/// Starved cycles and offcore requests per 1000 instructions.
type Stalls = (f64, f64);
/// "mcf is only able to gain a modest 10 %", "libquantum can harness over a 2x speedup" (section 2).
const MCF: Stalls = (40.0, 70.0);
const LIBQUANTUM: Stalls = (10.0, 2.0);
/// Dominated by internal stalls (6.1).
const GOBMK: Stalls = (250.0, 3.0);

struct Host {
    sched: Scheduler,
    now: Ns,
    /// What each thread is like.
    code: Vec<Option<Stalls>>,
}

impl Host {
    fn new(machine: Machine, policy: &str) -> Self {
        let policy = Setup::parse(policy).expect("a policy of the registry").make();
        Self { sched: Scheduler::new(machine, policy, None), now: Ns::ZERO, code: Vec::new() }
    }

    /// A thread that may run on one core only, so that the test decides where it begins.
    fn start(&mut self, code: impl Into<Option<Stalls>>, on: CoreId) -> ThreadId {
        let class = Class::fair(0);
        let cores = [on].into_iter().collect();
        let new = NewThread {
            program: ProgramId(0),
            kind: ThreadKind::Application,
            class,
            cores,
            on: CoreId(0),
            clamp: Clamp::default(),
        };
        let thread = self.sched.create(&new);
        assert_eq!(self.sched.ready(self.now, thread, Why::New { by: None }), on);
        self.code.push(code.into());
        thread
    }

    /// From now on every thread may run everywhere.
    fn free(&mut self) {
        let all = self.sched.state().machine.all();
        for thread in 0..self.code.len() as u32 {
            self.sched.set_params(self.now, ThreadId(thread), Class::fair(0), all, Clamp::default());
        }
    }

    /// What runs on every core runs for so long; cores without a thread pick one first, and all pick again afterwards.
    fn pass(&mut self, ms: u64) {
        let cores: Vec<CoreId> = self.sched.state().machine.all().iter().collect();
        cores.iter().for_each(|core| self.pick(*core));
        self.now += Ns::from_ms(ms);
        for core in &cores {
            let Some(thread) = self.runs(*core) else { continue };
            let counters = self.code[thread.index()].map(|(starved, requests)| {
                let mut counters = Counters::default();
                counters.0[Counter::Instructions as usize] = 1e6 * ms as f64;
                counters.0[Counter::FrontendStallCycles as usize] = 1e3 * ms as f64 * starved;
                counters.0[Counter::L2Refills as usize] = 1e3 * ms as f64 * requests;
                counters
            });
            let span = Span { time: Ns::from_ms(ms), counters, ..Span::default() };
            self.sched.ran(self.now, thread, *core, &span);
        }
    }

    fn pick(&mut self, core: CoreId) {
        if self.runs(core).is_none() {
            self.sched.next(self.now, core);
        }
    }

    /// A tick at the end of a long time, when every domain is due.
    fn tick(&mut self, core: CoreId) -> Vec<Action> {
        self.sched.tick(self.now, core);
        let mut actions = drop_actions(&mut self.sched);
        actions.retain(|action| !matches!(action, Action::Reschedule(_)));
        actions
    }

    /// What a host does with an exchange (the migration handshake, 6.2).
    fn swap(&mut self, threads: [ThreadId; 2], cores: [CoreId; 2]) {
        for at in 0..2 {
            self.sched.ready(self.now, threads[at], Why::Taken { by: cores[1 - at] });
        }
        cores.iter().for_each(|core| self.pick(*core));
    }

    fn runs(&self, core: CoreId) -> Option<ThreadId> {
        self.sched.state().core(core).current
    }

    fn waits(&self, thread: ThreadId) -> Option<CoreId> {
        let t = self.sched.state().thread(thread);
        (t.run == Run::Ready).then_some(t.core)
    }
}

/// Two kinds of cores that differ in width: Koufaty's small core retires one micro-op a cycle.
fn narrow(big: u16, little: u16) -> Machine {
    let mut machine = machine(big, little);
    let opps = machine.core_types[1].opps.clone();
    machine.core_types[0].opps = opps;
    machine.core_types[0].width = 2.0;
    machine
}

#[test]
fn mcf_ends_on_the_little_core_and_libquantum_on_the_big_one() {
    for mcf_first in [true, false] {
        let mut host = Host::new(narrow(1, 1), "bias");
        let cores = if mcf_first { [BIG, LITTLE] } else { [LITTLE, BIG] };
        let [mcf, libquantum] = [host.start(MCF, cores[0]), host.start(LIBQUANTUM, cores[1])];
        host.free();
        host.pass(500);
        let actions = host.tick(BIG);
        if mcf_first {
            assert_eq!(actions, [Action::Swap { threads: [libquantum, mcf], cores: [LITTLE, BIG] }]);
            host.swap([libquantum, mcf], [LITTLE, BIG]);
        }
        for core in [BIG, LITTLE, BIG] {
            host.pass(500);
            assert_eq!(host.tick(core), [], "it stays so");
        }
        assert_eq!([BIG, LITTLE].map(|core| host.runs(core)), [Some(libquantum), Some(mcf)]);
    }
}

#[test]
fn of_two_threads_with_one_bias_none_moves() {
    for (one, other) in [(MCF, GOBMK), (LIBQUANTUM, (129.0, 9.9))] {
        for codes in [[one, other], [other, one]] {
            let mut host = Host::new(narrow(1, 1), "bias");
            host.start(codes[0], BIG);
            host.start(codes[1], LITTLE);
            host.free();
            host.pass(500);
            assert_eq!((host.tick(BIG), host.tick(LITTLE)), (vec![], vec![]));
        }
    }
}

/// Which of three threads that wait for a busy core an idle one of the other kind gets.
fn pulled(codes: [Option<Stalls>; 3], from: CoreId, to: CoreId) -> usize {
    let mut host = Host::new(narrow(1, 1), "bias");
    let threads = codes.map(|code| host.start(code, from));
    // Each of them runs once, so that their stalls are known. The fourth keeps the core busy.
    for _ in threads {
        host.pass(10);
        let ran = host.runs(from).expect("one of them runs");
        host.sched.blocked(host.now, ran, Wait::Futex);
    }
    host.start(LIBQUANTUM, from);
    host.pick(from);
    for thread in threads {
        host.sched.ready(host.now, thread, Why::Woken { by: None });
    }
    assert!(threads.iter().all(|thread| host.waits(*thread) == Some(from)));
    host.free();
    host.now += Ns::from_secs(1);
    assert!(matches!(host.sched.next(host.now, to), Next::Run { .. }));
    let got = host.runs(to).expect("an idle core beside a queue gets a thread");
    threads.iter().position(|thread| *thread == got).expect("one of those that waited")
}

#[test]
fn an_unbalanced_core_gives_away_the_thread_with_the_highest_bias_towards_the_other() {
    let slightly = (10.0, 11.0);
    assert_eq!(pulled([Some(slightly), Some(MCF), Some(LIBQUANTUM)], BIG, LITTLE), 1, "small core bias");
    assert_eq!(pulled([Some(slightly), Some(LIBQUANTUM), Some((100.0, 8.0))], LITTLE, BIG), 1, "big core bias");
}

#[test]
fn without_a_thread_of_that_bias_any_goes() {
    let last_in_line = pulled([None, None, None], BIG, LITTLE);
    assert_eq!(pulled([Some(LIBQUANTUM), Some((1.0, 1.0)), Some((50.0, 5.0))], BIG, LITTLE), last_in_line);
}

/// On each core one thread that waits, after it ran there, and one that runs. A third one on the big core, of which nothing is known,
/// keeps loads balanced.
fn two_on_each_core(big: [Stalls; 2], little: [Stalls; 2]) -> (Host, [[ThreadId; 2]; 2]) {
    let mut host = Host::new(narrow(1, 1), "bias");
    let cores = [(BIG, big), (LITTLE, little)];
    let threads = cores.map(|(core, [waits, runs])| {
        let first = host.start(waits, core);
        host.pass(10);
        let second = host.start(runs, core);
        host.sched.blocked(host.now, first, Wait::Futex);
        host.pick(core);
        host.sched.ready(host.now, first, Why::Woken { by: None });
        [first, second]
    });
    host.start(None, BIG);
    host.pass(500);
    host.free();
    for ((core, _), [waits, runs]) in cores.iter().zip(threads) {
        assert_eq!((host.waits(waits), host.runs(*core)), (Some(*core), Some(runs)));
    }
    (host, threads)
}

/// "Inspect the load on the runqueue of the critical big cores looking for a thread that has a small core bias. If such thread
/// is found, it then searches the small cores" (5.2).
#[test]
fn a_big_core_gives_away_a_thread_that_waits_too() {
    let (mut host, [[mcf, _], [_, libquantum]]) = two_on_each_core([MCF, LIBQUANTUM], [MCF, LIBQUANTUM]);
    assert_eq!(host.tick(LITTLE), [], "it is started in big cores only");
    assert_eq!(host.tick(BIG), [Action::Swap { threads: [mcf, libquantum], cores: [BIG, LITTLE] }]);
}

#[test]
fn a_waiting_thread_comes_for_the_one_that_runs() {
    let (mut host, [[_, mcf], [libquantum, _]]) = two_on_each_core([LIBQUANTUM, MCF], [LIBQUANTUM, MCF]);
    assert_eq!(host.tick(BIG), [Action::Swap { threads: [libquantum, mcf], cores: [LITTLE, BIG] }]);
}

/// "A thread swap on their runqueues" (5.2) is all that it takes.
#[test]
fn two_threads_that_wait_change_queues_at_once() {
    let (mut host, [[mcf, _], [libquantum, _]]) = two_on_each_core([MCF, LIBQUANTUM], [LIBQUANTUM, MCF]);
    assert_eq!(host.tick(BIG), [], "nothing is left to its host");
    assert_eq!([mcf, libquantum].map(|thread| host.waits(thread)), [Some(LITTLE), Some(BIG)]);
    assert_eq!(host.tick(BIG), []);
}

#[test]
fn a_migration_clears_the_history() {
    let mut host = Host::new(narrow(1, 1), "bias");
    let [mcf, libquantum] = [host.start(MCF, BIG), host.start(LIBQUANTUM, LITTLE)];
    host.free();
    host.pass(500);
    assert_eq!(host.tick(BIG).len(), 1);
    host.swap([libquantum, mcf], [LITTLE, BIG]);
    // Both turn into the other kind at once, but neither has run on its new core: nothing is known there.
    host.code.swap(0, 1);
    host.now += Ns::from_ms(500);
    assert_eq!((host.tick(BIG), host.tick(LITTLE)), (vec![], vec![]));
    // The averages follow within a window of instructions.
    for _ in 0..40 {
        host.pass(1000);
    }
    assert_eq!(host.tick(BIG), [Action::Swap { threads: [mcf, libquantum], cores: [LITTLE, BIG] }]);
}

#[test]
fn an_exchange_that_was_not_carried_out_is_asked_for_again() {
    let mut host = Host::new(narrow(1, 1), "bias");
    let [mcf, libquantum] = [host.start(MCF, BIG), host.start(LIBQUANTUM, LITTLE)];
    host.free();
    for _ in 0..3 {
        host.pass(500);
        assert_eq!(host.tick(BIG), [Action::Swap { threads: [libquantum, mcf], cores: [LITTLE, BIG] }]);
    }
    // The host moves both.
    host.sched.found(host.now, mcf, LITTLE);
    host.sched.found(host.now, libquantum, BIG);
    host.pass(500);
    assert_eq!((host.tick(BIG), host.tick(LITTLE)), (vec![], vec![]));
}

#[test]
fn internal_stalls_count_only_where_cores_differ_in_more_than_frequency() {
    let mut rounded = machine(1, 1);
    rounded.core_types[1].extract *= 0.997;
    for (machine, expected) in [(narrow(1, 1), 1), (machine(1, 1), 0), (rounded, 0)] {
        let mut host = Host::new(machine, "bias");
        host.start(GOBMK, BIG);
        host.start(LIBQUANTUM, LITTLE);
        host.free();
        host.pass(500);
        assert_eq!(host.tick(BIG).len(), expected, "{}", host.sched.state().machine.core_types[0].width);
    }
    let mut host = Host::new(machine(1, 1), "bias");
    host.start(MCF, BIG);
    host.start(LIBQUANTUM, LITTLE);
    host.free();
    host.pass(500);
    assert_eq!(host.tick(BIG).len(), 1, "external stalls do");
}

#[test]
fn without_counters_nothing_is_exchanged() {
    let mut host = Host::new(narrow(1, 1), "bias");
    host.start(None, BIG);
    host.start(None, LITTLE);
    host.free();
    host.pass(500);
    assert_eq!((host.tick(BIG), host.tick(LITTLE)), (vec![], vec![]));
}

/// Two nodes of one big and one little core each: 0 and 1, 2 and 3.
fn two_nodes() -> Machine {
    let mut machine = narrow(2, 2);
    let cluster = |kind: usize, core: u16, node| {
        let mut cluster = machine.clusters[kind].clone();
        cluster.cores = [CoreId(core)].into_iter().collect();
        cluster.node = node;
        cluster.cache = core;
        cluster
    };
    let clusters = vec![cluster(0, 0, 0), cluster(1, 1, 0), cluster(0, 2, 1), cluster(1, 3, 1)];
    for (at, cluster) in clusters.iter().enumerate() {
        machine.cores[at].core_type = cluster.core_type;
        machine.cores[at].cluster = evenkeel_model::ClusterId(at as u16);
    }
    machine.clusters = clusters;
    machine
}

#[test]
fn domains_are_cluster_node_and_machine_and_the_nearest_counterpart_is_taken() {
    let mut host = Host::new(two_nodes(), "bias");
    assert_eq!(host.sched.state().domains[1].iter().map(|domain| domain.len()).collect::<Vec<_>>(), [1, 2, 4]);
    let _mcf = host.start(MCF, CoreId(2));
    let threads = [(LIBQUANTUM, CoreId(1)), (LIBQUANTUM, CoreId(0)), ((50.0, 5.0), CoreId(3))];
    let threads = threads.map(|(code, core)| host.start(code, core));
    host.free();
    host.pass(500);
    let swap = host.tick(CoreId(2));
    assert!(matches!(swap[..], [Action::Swap { threads: [other, _], .. }] if other == threads[2]), "{swap:?}");
}

#[test]
fn a_thread_leaves_its_node_for_a_better_core_unless_it_is_to_stay() {
    for stay_on_node in [false, true] {
        let mut host = Host::new(two_nodes(), if stay_on_node { "bias:stay-on-node" } else { "bias" });
        let [mcf, _] = [host.start(MCF, CoreId(0)), host.start(MCF, CoreId(1))];
        let [_, libquantum] = [host.start(LIBQUANTUM, CoreId(2)), host.start(LIBQUANTUM, CoreId(3))];
        host.free();
        host.pass(500);
        let swap = Action::Swap { threads: [libquantum, mcf], cores: [CoreId(3), CoreId(0)] };
        assert_eq!(host.tick(CoreId(0)), if stay_on_node { vec![] } else { vec![swap] });
    }
}

#[test]
fn a_woken_thread_that_is_to_stay_does_not_follow_its_waker_to_another_node() {
    let mut host = Host::new(two_nodes(), "bias:stay-on-node");
    let woken = host.start(MCF, CoreId(1));
    host.pass(10);
    host.sched.blocked(host.now, woken, Wait::Futex);
    let [.., waker] = [1, 1, 0, 2].map(|core| host.start(MCF, CoreId(core)));
    host.free();
    host.pass(10);
    assert_eq!(host.runs(CoreId(2)), Some(waker), "it is alone there");
    assert_eq!(host.sched.ready(host.now, woken, Why::Woken { by: Some(waker) }), CoreId(0));
}

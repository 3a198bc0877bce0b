//! Managed programs under the policies made for them, as WASH's paper describes it (Jibaja et al., CGO 2016).

use std::sync::{Arc, Mutex};

use crate::common::{compute, machine, program, thread, workload};
use evenkeel_model::{CoreSet, Machine, Ns, ThreadId, machines};
use evenkeel_sched::policy::Changes;
use evenkeel_sched::policy::{Description, hooks};
use evenkeel_sched::{Policy, Setup, State, ThreadKind};
use evenkeel_sim::{Event, Observer, Options, Outcome, run};
use evenkeel_workload::program::{Barrier, BarrierId, Spread, Start, ThreadIndex};
use evenkeel_workload::{Op, Thread, Workload, by_name};

const OWN: &str = "wash:quantum=40ms:fallback:rebind:homogeneous:culprit=holders:gc=little";

fn phenom(name: &str) -> Machine {
    machines::by_name(&format!("phenom-{name}")).expect("a bundled machine")
}

fn oracle() -> Options {
    Options { oracle: true, ..Options::default() }
}

/// The affinities that a policy sets, in order.
#[derive(Default)]
struct Affinities(Vec<(ThreadId, CoreSet)>);

impl Observer for Affinities {
    fn observe(&mut self, _at: Ns, event: &Event<'_>) {
        if let Event::Affinity { thread, cores } = event {
            self.0.push((*thread, *cores));
        }
    }
}

impl Affinities {
    fn of(&self, thread: u32) -> impl DoubleEndedIterator<Item = CoreSet> {
        self.0.iter().filter(move |(id, _)| id.0 == thread).map(|(_, cores)| *cores)
    }

    fn last(&self, thread: u32) -> Option<CoreSet> {
        self.of(thread).next_back()
    }
}

fn play(machine: &Machine, workload: &Workload, policy: &str) -> (Outcome, Affinities) {
    let mut affinities = Affinities::default();
    let policy = Setup::parse(policy).expect("a policy").make();
    let outcome = run(machine, workload, policy, None, &oracle(), &mut affinities).expect("runs");
    (outcome, affinities)
}

fn time_on(outcome: &Outcome, name: &str) -> (f64, f64) {
    let mut sum = (0.0, 0.0);
    for thread in outcome.threads.iter().filter(|thread| thread.name.starts_with(name)) {
        sum.0 += thread.on_type[0].as_secs_f64();
        sum.1 += thread.on_type[1].as_secs_f64();
    }
    sum
}

fn service(mut thread: Thread) -> Thread {
    thread.kind = ThreadKind::Service;
    thread
}

/// A service that is always busy.
fn collector() -> Thread {
    service(thread("collector", vec![Op::Repeat { times: None, body: vec![compute(1)] }]))
}

/// How long each application thread was contended over how long it executed, as the scheduler saw it at the end.
struct Spy(Arc<Mutex<Vec<(Ns, Ns)>>>);

#[hooks]
impl Policy for Spy {
    fn description(&self) -> &'static Description {
        static SPY: Description = Description::of::<Spy>("spy", |_| unreachable!("tests make their own"));
        &SPY
    }

    fn period(&self) -> Option<Ns> {
        Some(Ns::from_ms(10))
    }

    fn refresh(&mut self, s: &State, _changes: &mut Changes) {
        let applications = s.threads.iter().filter(|thread| thread.kind == ThreadKind::Application);
        let seen = applications.map(|thread| (thread.contended, thread.executed)).collect();
        *self.0.lock().expect("no holder panics") = seen;
    }
}

/// Contended and executed time of the application threads of a program, on the machine of Figure 4.
fn contention(name: &str) -> Vec<(f64, f64)> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let spy = Box::new(Spy(seen.clone()));
    run(&phenom("1B5S"), &by_name(name).expect("bundled"), spy, None, &Options::default(), &mut ()).expect("runs");
    let seen = seen.lock().expect("the run is over");
    seen.iter().map(|(contended, executed)| (contended.as_secs_f64(), executed.as_secs_f64())).collect()
}

/// Figure 4: "Low ratios are highly predictive of scalability"; the threshold is 0.5.
#[test]
fn threads_wait_for_locks_where_a_program_does_not_scale() {
    for name in ["lusearch", "sunflow", "xalan", "spjbb"] {
        assert!(contention(name).iter().all(|(contended, executed)| contended < &(0.5 * executed)), "{name}");
    }
    for name in ["avrora", "eclipse", "hsqldb", "nspjbb", "pmd"] {
        let threads = contention(name);
        let many = threads.iter().filter(|(contended, executed)| contended > &(0.5 * executed)).count();
        assert!(2 * many > threads.len(), "{name}: {threads:?}");
    }
    // 8.3: 60 to 70 % of the cycles in avrora, 40 to 60 % in pmd.
    let waiting = |name| {
        let (contended, executed) =
            contention(name).iter().skip(1).fold((0.0, 0.0), |sum, thread| (sum.0 + thread.0, sum.1 + thread.1));
        contended / (contended + executed)
    };
    assert!((0.55..0.75).contains(&waiting("avrora")), "{}", waiting("avrora"));
    assert!((0.35..0.65).contains(&waiting("pmd")), "{}", waiting("pmd"));
}

/// 8.1: "both WASH and bindVM will schedule the thread to the big core and VM threads to the small cores".
#[test]
fn a_single_thread_keeps_the_big_core_and_services_stay_away() {
    for policy in ["bind-vm", "wash:gc=little", OWN] {
        for name in ["bloat", "chart", "fop", "jython", "luindex"] {
            let (outcome, _) = play(&phenom("1B5S"), &by_name(name).expect("bundled"), policy);
            assert_eq!(time_on(&outcome, "main").1, 0.0, "{name} under {policy}");
            for service in ["collector", "marker", "compiler", "profiler"] {
                assert_eq!(time_on(&outcome, service).0, 0.0, "{service} of {name} under {policy}");
            }
        }
    }
}

/// 8.2: bindVM leaves the small cores to the services, WASH uses all.
#[test]
fn scalable_programs_have_all_cores_under_wash_and_the_big_ones_under_bind_vm() {
    let sunflow = by_name("sunflow").expect("bundled");
    let (bound, _) = play(&phenom("1B5S"), &sunflow, "bind-vm");
    assert_eq!(time_on(&bound, "tracer").1, 0.0);
    let (washed, _) = play(&phenom("1B5S"), &sunflow, OWN);
    assert!(time_on(&washed, "tracer").1 > time_on(&washed, "tracer").0);
    assert!(washed.makespan < bound.makespan);
}

/// Section 6: with fewer application threads than big cores, services "may execute on the remaining big cores or on the
/// small cores"; with none remaining, on the small ones.
#[test]
fn services_get_the_big_cores_that_are_left() {
    for (applications, left) in [(1, 1), (2, 0)] {
        let mut threads: Vec<Thread> =
            (0..applications).map(|i| thread(&format!("t{i}"), vec![compute(200)])).collect();
        threads.push(collector());
        let machine = machine(2, 2);
        let (outcome, affinities) = play(&machine, &workload(vec![program("p", threads)]), "wash");
        let cores = affinities.last(applications).expect("it is bound");
        assert_eq!(cores.and(machine.big()).len(), left, "{cores:?}");
        assert_eq!(cores.and(machine.little()), machine.little());
        let application = affinities.last(0).expect("it is bound");
        assert!(application.and(cores).is_empty(), "{application:?} and {cores:?}");
        assert_eq!(outcome.makespan, Ns::from_ms(100), "no thread disturbs the program");
    }
}

/// 8.5: "core sensitivity scheduling alone will mistakenly schedule it on the big core".
#[test]
fn without_priorities_a_busy_service_takes_the_big_core() {
    let threads = vec![thread("t", vec![compute(400)]), collector()];
    let machine = machine(1, 1).ordered(evenkeel_model::CoreOrder::LittleFirst);
    let w = workload(vec![program("p", threads)]);
    let (with, _) = play(&machine, &w, "wash");
    assert_eq!((time_on(&with, "collector").0, time_on(&with, "t").1), (0.0, 0.0));
    let (without, affinities) = play(&machine, &w, "wash:no-priority");
    assert_eq!((time_on(&without, "collector").1, time_on(&without, "t").0), (0.0, 0.0));
    assert_eq!(affinities.last(1), None, "all cores from the start");
}

/// Section 6: "If any thread falls behind, ... because the OS has other competing threads to schedule, WASH boosts its
/// priority and binds it to a big core."
#[test]
fn a_thread_that_falls_behind_is_bound_again() {
    let threads = (0..3).map(|i| thread(&format!("t{i}"), vec![compute(2000)])).collect();
    // On the last core; that the first program does not know.
    let mut adversary = program("adversary", (0..2).map(|i| thread(&format!("a{i}"), vec![compute(1500)])).collect());
    for thread in &mut adversary.threads {
        thread.sched.cpus = Some(vec![3]);
    }
    let w = workload(vec![program("p", threads), adversary]);
    let machine = machine(2, 2);
    let bound = |policy: &str| {
        let (outcome, affinities) = play(&machine, &w, policy);
        let again = (0..3).map(|thread| affinities.of(thread).skip(1).filter(|cores| *cores == machine.big()).count());
        let last = outcome.threads[..3].iter().filter_map(|thread| thread.exited).max();
        (again.sum::<usize>(), last.expect("it ends"))
    };
    let (again, behind) = bound("wash:quantum=40ms:first-program:rebind");
    let (never, without) = bound("wash:quantum=40ms:first-program");
    assert!(again > never, "{again} and {never}, when two are left for the two big cores");
    assert!(behind < without, "{behind} against {without}: the last one is helped");
}

/// Section 6: what virtual machines do not know of is the operating system's.
#[test]
fn other_programs_are_left_alone_where_only_the_first_is_known() {
    for policy in ["bind-vm:first-program", "wash:first-program"] {
        let pair = by_name("pmd+fop").expect("bundled");
        let first = pair.programs[0].threads.len() as u32;
        let (_, affinities) = play(&phenom("1B5S"), &pair, policy);
        assert!(affinities.0.iter().any(|(thread, _)| thread.0 < first), "{policy}");
        assert!(affinities.0.iter().all(|(thread, _)| thread.0 < first), "{policy}");
    }
}

/// 8.3: "since before the profile is gathered, WASH binds application threads to big cores, the short-lived threads will
/// just stay on big cores".
#[test]
fn threads_younger_than_a_quantum_stay_on_the_big_cores() {
    let mut threads: Vec<Thread> = (0..3).map(|i| thread(&format!("t{i}"), vec![compute(300)])).collect();
    let start = vec![Op::Sleep { span: Ns::from_ms(30), spread: Spread::None }, Op::Spawn(ThreadIndex(4))];
    threads.push(thread("starter", start));
    let mut young = thread("young", vec![compute(20)]);
    young.start = Start::Spawned;
    threads.push(young);
    let machine = machine(1, 3);
    let w = workload(vec![program("p", threads)]);
    let (kept, _) = play(&machine, &w, "wash:quantum=40ms:fallback");
    assert_eq!(time_on(&kept, "young").1, 0.0);
    let (moved, affinities) = play(&machine, &w, "wash:quantum=40ms");
    assert_eq!(affinities.last(4), Some(machine.all()), "{:?}", moved.threads[4]);
}

/// More application threads than cores compute and then wait until the collectors have collected, 40 times. Beside them a compiler works now
/// and then.
fn stops_its_world(collectors: u32) -> Workload {
    let (begins, ends) = (BarrierId(0), BarrierId(1));
    let times = |body: Vec<Op>| vec![Op::Repeat { times: Some(40), body }];
    let application = |i| thread(&format!("t{i}"), times(vec![compute(8), Op::Barrier(begins), Op::Barrier(ends)]));
    let collects = times(vec![Op::Barrier(begins), compute(6), Op::Barrier(ends)]);
    let mut threads: Vec<Thread> = (0..6).map(application).collect();
    threads.extend((0..collectors).map(|i| service(thread(&format!("collector{i}"), collects.clone()))));
    let pause = Op::Sleep { span: Ns::from_ms(1), spread: Spread::None };
    threads.push(service(thread("compiler", vec![Op::Repeat { times: None, body: vec![compute(1), pause] }])));
    let mut p = program("p", threads);
    p.barriers = ["begins", "ends"].map(|name| Barrier { name: name.into(), parties: 6 + collectors }).into();
    workload(vec![p])
}

/// Collectors are critical while the world is stopped, and little else: neither little nor big cores are right all the time.
#[test]
fn collectors_are_fastest_where_they_belong() {
    let machine = machine(2, 2);
    for (policy, collectors) in [("wash", 1), ("wash", 2), ("wash", 4), ("colab", 1), ("colab", 2), ("colab", 4)] {
        let times = ["auto", "little", "big"].map(|gc| {
            let (outcome, _) = play(&machine, &stops_its_world(collectors), &format!("{policy}:gc={gc}"));
            outcome.makespan
        });
        let [auto, little, big] = times;
        // One that always has a big core is there at once when the world stops, and takes little from others.
        let most = if collectors == 1 { Ns(big.0 * 21 / 20) } else { big };
        assert!(auto < little && auto < most, "{policy}, {collectors}: {times:?}");
    }
}

/// Nothing depends on the knob where there are no service threads.
#[test]
fn programs_without_services_do_not_notice() {
    for (policy, name) in [("wash", "ferret:6"), ("colab", "ferret:6"), ("wash", "Sync-2"), ("colab", "Sync-2")] {
        let workload = by_name(name).expect("bundled");
        let machine = machines::by_name("2B2S").expect("bundled");
        let [auto, little, big] =
            ["auto", "little", "big"].map(|gc| play(&machine, &workload, &format!("{policy}:gc={gc}")));
        assert_eq!((&auto.0, &auto.1.0), (&little.0, &little.1.0), "{policy} on {name}");
        assert_eq!(auto.0, big.0, "{policy} on {name}");
    }
}

#[test]
fn worse_predictors_are_asked_for_by_name() {
    use evenkeel_model::predict::Quality;
    let quality = |policy: &str| Setup::parse(policy).expect("a policy").make().predictor();
    assert_eq!(quality("wash"), Quality::Best);
    assert_eq!(quality("wash:predictor=second-best"), Quality::SecondBest);
    assert_eq!(quality("wash:predictor=inverted"), Quality::Inverted);
}

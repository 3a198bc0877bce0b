//! The Java programs against what WASH's paper says of them (Jibaja et al., CGO 2016, sections 3, 7 and 8).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_model::{Behaviour, CoreTypeId, Machine, machines};
use evenkeel_workload::program::{ThreadKind, Work};
use evenkeel_workload::{Op, Program, suite};

/// Section 3: nine of fourteen are multithreaded.
const SINGLE: [&str; 5] = ["bloat", "chart", "fop", "jython", "luindex"];
const SCALABLE: [&str; 4] = ["lusearch", "sunflow", "xalan", "spjbb"];
const OTHERS: [&str; 5] = ["avrora", "eclipse", "hsqldb", "nspjbb", "pmd"];

fn program(name: &str) -> Program {
    suite::program(name, None).expect("a bundled program")
}

fn applications(program: &Program) -> impl Iterator<Item = &evenkeel_workload::Thread> {
    program.threads.iter().filter(|thread| thread.kind == ThreadKind::Application)
}

fn phenom() -> Machine {
    machines::by_name("phenom-1B5S").expect("a bundled machine")
}

/// How long the threads of a program would run on a big core, in the order of its threads, in ns. Threads that are
/// spawned again count with all their lives.
fn busy(program: &Program) -> Vec<f64> {
    let machine = phenom();
    let frequency = machine.core_types[0].max_frequency();
    let mut busy = suite::busy_ns(program, |code| machine.rate(CoreTypeId(0), frequency, code));
    for (index, ns) in busy.iter_mut().enumerate() {
        *ns *= lives(program, index);
    }
    busy
}

/// How often a thread is started.
fn lives(program: &Program, thread: usize) -> f64 {
    fn spawned(ops: &[Op], thread: usize) -> u64 {
        let of = |op: &Op| match op {
            Op::Spawn(child) if child.index() == thread => 1,
            Op::Repeat { times: Some(times), body } => times * spawned(body, thread),
            _ => 0,
        };
        ops.iter().map(of).sum()
    }
    program.threads.iter().map(|other| spawned(&other.ops, thread)).sum::<u64>().max(1) as f64
}

/// The share of the application's cycles that its threads of a name have.
fn share(program: &Program, name: &str) -> f64 {
    let busy = busy(program);
    let of = |wanted: &dyn Fn(&str) -> bool| -> f64 {
        let threads = program.threads.iter().zip(&busy);
        let threads = threads.filter(|(thread, _)| thread.kind == ThreadKind::Application && wanted(&thread.name));
        threads.map(|(_, ns)| ns).sum()
    };
    of(&|thread| thread.starts_with(name)) / of(&|_| true)
}

#[test]
fn the_suite_is_the_papers() {
    let names: Vec<&str> = suite::programs().filter(|info| info.suite == "dacapo").map(|info| info.name).collect();
    assert_eq!(names, [&SINGLE[..], &SCALABLE, &OTHERS].concat());
    for name in SINGLE {
        assert_eq!(applications(&program(name)).count(), 1, "{name}");
    }
    for name in SCALABLE {
        assert!(applications(&program(name)).count() > 6, "{name}: threads outnumber the cores (8.2)");
    }
}

#[test]
fn threads_of_eclipse_and_hsqldb_have_their_published_shares() {
    let eclipse = program("eclipse");
    assert_eq!(applications(&eclipse).count(), 20);
    let near = |share: f64, published: f64| (share - published).abs() < 0.02;
    assert!(near(share(&eclipse, "Javaindexing"), 0.56), "{}", share(&eclipse, "Javaindexing"));
    let two = share(&eclipse, "Javaindexing") + share(&eclipse, "Main");
    assert!((0.8..0.86).contains(&two), "{two}");
    assert!(near(share(&eclipse, "Worker"), 0.01), "{}", share(&eclipse, "Worker"));
    let hsqldb = program("hsqldb");
    assert!(near(share(&hsqldb, "Main"), 0.65), "{}", share(&hsqldb, "Main"));
    let clients = (0..hsqldb.threads.len()).filter(|at| hsqldb.threads[*at].name.starts_with("client"));
    assert_eq!(clients.map(|at| lives(&hsqldb, at)).sum::<f64>(), 80.0);
}

#[test]
fn every_program_brings_the_services_of_its_virtual_machine() {
    for name in [&SINGLE[..], &SCALABLE, &OTHERS].concat() {
        let program = program(name);
        let services: Vec<&str> = program
            .threads
            .iter()
            .filter(|thread| thread.kind == ThreadKind::Service)
            .map(|thread| thread.name.as_str())
            .collect();
        assert_eq!(
            services.iter().filter(|name| ["collector", "marker"].contains(&name.split('-').next().unwrap())).count(),
            6
        );
        assert!(services.contains(&"compiler") && services.contains(&"profiler"), "{name}: {services:?}");
    }
}

/// How often something is executed in a list of operations, summed with a weight.
fn total(ops: &[Op], weight: &dyn Fn(&Op) -> f64) -> f64 {
    let one = |op: &Op| match op {
        Op::Repeat { times, body } => times.unwrap_or(1) as f64 * total(body, weight),
        op => weight(op),
    };
    ops.iter().map(one).sum()
}

/// Section 3: single-threaded programs gain only slightly from more cores, so what runs beside them is little.
#[test]
fn services_do_a_fraction_of_the_work() {
    let machine = phenom();
    for name in [&SINGLE[..], &SCALABLE, &OTHERS].concat() {
        let program = program(name);
        let frequency = machine.core_types[0].max_frequency();
        let ns = |op: &Op| match op {
            Op::Compute { phase, work: Work::Instructions(amount), .. } => {
                let code = &program.phases[phase.index()].behaviour;
                *amount as f64 / machine.rate(CoreTypeId(0), frequency, code)
            }
            _ => 0.0,
        };
        let find = |name: &str| program.threads.iter().find(|thread| thread.name == name).unwrap();
        // Each request is one collector's part of a collection.
        let requests: f64 = applications(&program)
            .map(|thread| total(&thread.ops, &|op| f64::from(u8::from(matches!(op, Op::Post(_))))))
            .sum();
        let services = requests * total(&find("collector").ops, &ns) + total(&find("compiler").ops, &ns);
        let application: f64 = program
            .threads
            .iter()
            .zip(busy(&program))
            .filter(|(thread, _)| thread.kind == ThreadKind::Application)
            .map(|(_, ns)| ns)
            .sum();
        let share = services / application;
        assert!((0.1..0.7).contains(&share), "{name}: {share}");
    }
}

/// Section 8.5: the compiler gains more from a big core than most application threads; the collector waits for memory.
#[test]
fn compiling_gains_most_from_a_big_core() {
    let machine = phenom();
    let speedup = |code: &Behaviour| machine.speedup_over(CoreTypeId(1), code);
    let phase = |program: &Program, name: &str| {
        speedup(&program.phases.iter().find(|phase| phase.name == name).unwrap().behaviour)
    };
    for name in [&SINGLE[..], &SCALABLE, &OTHERS].concat() {
        let program = program(name);
        let (compile, mark) = (phase(&program, "compile"), phase(&program, "mark"));
        for phase in program.phases.iter().filter(|phase| !["compile", "mark"].contains(&phase.name.as_str())) {
            let code = speedup(&phase.behaviour);
            assert!(code < 3.5 && mark < code, "{name}: {} gains {code}, marking {mark}", phase.name);
            assert!(compile > code || name == "sunflow", "{name}: {} gains {code}, compiling {compile}", phase.name);
        }
    }
}

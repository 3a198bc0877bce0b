//! Pages to look at, made by what the command makes them with.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use evenkeel_experiment::history::{History, RecordedThread, Recorder, Span, Why, Woken};
use evenkeel_experiment::paper::{Experiment, Reproduction};
use evenkeel_experiment::timeline::Timelines;
use evenkeel_experiment::{Comparison, Control, Job, Plan, Runner, catalog};
use evenkeel_model::{ClusterId, CoreId, CoreOrder, Difference, Hz, Machine, Ns, ThreadId, Watts};
use evenkeel_report::page;
use evenkeel_sweep::{AtValue, Effects, PolicySummary, Summary, Varied};
use evenkeel_workload::Workload;
use evenkeel_workload::program::{Op, Thread, TimerId, TimerMode};
use maud::html;

pub fn machine(name: &str) -> Machine {
    catalog::machine(name).unwrap().machine
}

/// Threads that wait for each other, and a periodic one.
fn with_a_period() -> Workload {
    let mut workload = catalog::workload("ferret:8").unwrap().workload;
    let ferret = &mut workload.programs[0];
    let wait =
        Op::Timer { timer: TimerId(ferret.timers.len() as u32), period: Ns::from_ms(5), mode: TimerMode::Relative };
    let ops = vec![Op::Repeat { times: Some(40), body: vec![wait, Op::Spin(Ns::from_ms(1))] }];
    let thread = Thread { name: "periodic".into(), ops, ..ferret.threads[0].clone() };
    ferret.timers.push("period".into());
    ferret.threads.push(thread);
    workload
}

/// The page of one run: a periodic thread and such that wait for each other. Made once for all tests, as are others that take a while.
pub fn run() -> String {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let policies = vec![catalog::policy("colab").unwrap()];
        let plan =
            Plan { workloads: vec![with_a_period()], machines: vec![machine("2B2S")], policies, ..Plan::default() };
        let runner = Runner::new(plan, &Control::default()).unwrap();
        let job = Job { workload: 0, machine: 0, policy: 0, order: CoreOrder::Declared, seed: 1 };
        let machine = runner.machine(job);
        let mut recorder = Recorder::new(&machine);
        let run = runner.run(job, &mut recorder).unwrap();
        page::run(&run, &recorder.finish(run.measurement.makespan), &machine, "sim ferret:8")
    });
    PAGE.clone()
}

/// The page of a comparison.
pub fn comparison() -> String {
    static PAGE: LazyLock<String> = LazyLock::new(|| compared(&["2B2S"]));
    PAGE.clone()
}

/// One with two timelines, of which the second is folded away.
pub fn comparisons() -> String {
    static PAGE: LazyLock<String> = LazyLock::new(|| compared(&["2B2S", "2B4S"]));
    PAGE.clone()
}

fn compared(machines: &[&str]) -> String {
    let plan = Plan {
        workloads: vec![catalog::workload("Sync-1").unwrap().workload],
        machines: machines.iter().map(|name| machine(name)).collect(),
        policies: ["cfs", "wash", "colab"].map(|name| catalog::policy(name).unwrap()).to_vec(),
        seeds: vec![1, 2],
        ..Plan::default()
    };
    let control = Control::default();
    let runner = Runner::new(plan, &control).unwrap();
    let results = runner.run_all(&control).unwrap();
    let compared = Comparison::of(runner.plan(), &results, "cfs");
    let timelines = Timelines::record(&runner, 2).unwrap();
    page::comparison(&compared, &timelines, "compare Sync-1")
}

/// The page of a paper's evaluation, each run once.
pub fn reproduction() -> String {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let [mut experiment] = <[Experiment; 1]>::try_from(Experiment::by_name("colab").unwrap()).unwrap();
        for set in &mut experiment.sets {
            set.seeds = 1;
        }
        let reproduction = Reproduction::run(experiment, false, &Control::default()).unwrap();
        page::reproductions("colab", &[reproduction], "reproduce colab")
    });
    PAGE.clone()
}

/// A run in which each core has a thread of its own all the time.
fn busy(machine: &Machine, end: Ns) -> History {
    let mut history = History { end, ..History::default() };
    for (thread, core) in machine.big().iter().chain(machine.little().iter()).enumerate() {
        let name = format!("thread-{thread}");
        history.threads.push(RecordedThread { program: "app".into(), name, ..RecordedThread::default() });
        let (thread, woken, why) = (ThreadId(thread as u32), Woken::No, Why::End);
        history.spans.push(Span { core, thread, start: Ns::ZERO, end, ready: Ns::ZERO, woken, why });
    }
    history
}

/// Seven runs on 24 cores: more lanes than a canvas for fingers has room for.
pub fn high() -> String {
    let machine = machine("i9-13900k");
    let history = busy(&machine, Ns::from_secs(1));
    let titles = ["cfs", "eevdf", "eas", "pfs", "wash", "colab", "bias"];
    let runs = titles.map(|title| page::Drawn::simulated(title, &history, &machine));
    let content = page::timeline("high", "Many lanes.", &runs, history.end);
    page::frame("Many lanes", &content, page::Made { command: "none", remark: "" })
}

/// Two runs on two cores of each kind, with the power of the big ones. The first takes half as long.
pub fn one_is_over() -> String {
    let machine = machine("2B2S");
    let histories = [500, 1000]
        .map(|ms| History { power: vec![(Ns::ZERO, ClusterId(0), Watts(3.0))], ..busy(&machine, Ns::from_ms(ms)) });
    let runs: Vec<page::Drawn<'_>> = ["short", "long"]
        .into_iter()
        .zip(&histories)
        .map(|(title, history)| page::Drawn::simulated(title, history, &machine))
        .collect();
    let content = page::timeline("power", "Two runs.", &runs, histories[1].end);
    page::frame("Two runs", &content, page::Made { command: "none", remark: "" })
}

/// A run on two cores of each kind, of which the big ones have another clock from the middle on, and the little ones always the same.
pub fn clocked() -> String {
    let machine = machine("2B2S");
    let clocks = [(0, 0, 1_000_000_000), (0, 1, 1_000_000_000), (500, 0, 2_000_000_000)];
    let frequencies = clocks.map(|(ms, cluster, hz)| (Ns::from_ms(ms), ClusterId(cluster), Hz(hz))).to_vec();
    let history = History { frequencies, ..busy(&machine, Ns::from_secs(1)) };
    let content =
        page::timeline("clocked", "Two clocks.", &[page::Drawn::simulated("", &history, &machine)], history.end);
    page::frame("Two clocks", &content, page::Made { command: "none", remark: "" })
}

/// A run of four threads on two cores of each kind, in which another policy takes over after a quarter of the time, and the first thread has a label, as
/// pages of `run` have them.
pub fn taken_over() -> String {
    let machine = machine("2B2S");
    let history = busy(&machine, Ns::from_secs(1));
    let marks = vec![(Ns::from_ms(250), "bias")];
    let facts = (0..4).map(|thread| match thread {
        0 => vec![
            ("label", "critical, at the end".to_owned()),
            ("speedup", "2.10 times as fast on a big core".to_owned()),
        ],
        _ => Vec::new(),
    });
    let drawn = page::Drawn { marks, facts: facts.collect(), ..page::Drawn::simulated("", &history, &machine) };
    let content = page::timeline("taken-over", "Two policies.", &[drawn], history.end);
    page::frame("Two policies", &content, page::Made { command: "none", remark: "" })
}

/// A second of which a thread has its core for a moment, then another for half of it.
pub fn short_then_long() -> String {
    let machine = machine("2B2S");
    let mut history = History { end: Ns::from_secs(1), ..History::default() };
    for (thread, from, to) in [(0, 0, 10_000), (1, 10_000, 500_000_000)] {
        let name = format!("thread-{thread}");
        history.threads.push(RecordedThread { program: "app".into(), name, ..RecordedThread::default() });
        let (core, thread) = (machine.big().iter().next().unwrap(), ThreadId(thread));
        let (start, end) = (Ns(from), Ns(to));
        history.spans.push(Span { core, thread, start, end, ready: Ns::ZERO, woken: Woken::No, why: Why::Preempted });
    }
    let drawn = page::Drawn::simulated("", &history, &machine);
    let content = page::timeline("two", "Two slices.", &[drawn], history.end);
    page::frame("Two", &content, page::Made { command: "none", remark: "" })
}

/// The page of a sweep with many values of long names.
pub fn sweep() -> String {
    let difference = |value: f64| Difference::of([value - 0.02, value, value + 0.03]);
    let effects = |value: f64| Effects { h_antt: difference(value), h_stp: difference(1.0 / value), energy: None };
    let policy = |name: &str, value: f64| PolicySummary {
        policy: name.into(),
        effects: Effects { energy: difference(2.0 - value), ..effects(value) },
        cells: 40,
        better: 21,
        worse: 3,
    };
    let values = (0..40).map(|index| AtValue {
        value: format!("a-workload-with-a-long-name-{index}"),
        policies: vec![effects(0.7 + 0.01 * f64::from(index)), effects(1.1)],
    });
    let summary = Summary {
        baseline: "cfs".into(),
        cells: 40,
        seeds: 3,
        failed: 1,
        first_error: Some("grid <1>: no".into()),
        drawn: true,
        policies: vec![policy("colab", 0.8), policy("wash:interval=20ms,class=fair", 1.1)],
        varied: vec![Varied { name: "workload".into(), values: values.collect() }],
    };
    page::sweep("grid.parquet", 360, &summary, "sweep grid.toml")
}

/// A timeline of so many spans: on each core, threads take turns of about the same length.
pub fn many(spans: u64) -> String {
    let machine = machine("4B4S");
    let cores = machine.cores.len() as u64;
    let (turn, gap) = (90_000, 10_000);
    let mut history = History::default();
    for thread in 0..32u32 {
        let (program, name) = (format!("app-{}", thread % 4), format!("worker-{thread}"));
        history.threads.push(RecordedThread { program, name, ..RecordedThread::default() });
    }
    for index in 0..spans {
        let (core, round) = (index % cores, index / cores);
        let start = Ns(round * (turn + gap) + core);
        history.spans.push(Span {
            core: CoreId(core as u16),
            thread: ThreadId(((round * 7 + core * 3) % 32) as u32),
            start,
            end: start + Ns(turn),
            ready: Ns(round % 5 * 1000),
            woken: Woken::By(ThreadId(((round + 1) % 32) as u32)),
            why: Why::Preempted,
        });
    }
    history.end = history.spans.last().map_or(Ns::ZERO, |span| span.end);
    history.waits = BTreeMap::new();
    let drawn = page::Drawn::simulated("", &history, &machine);
    let content = html! { h1 { "Many" } (page::timeline("many", "Many spans.", &[drawn], history.end)) };
    page::frame("Many", &content, page::Made { command: "none", remark: "" })
}

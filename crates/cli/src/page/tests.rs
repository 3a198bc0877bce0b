//! Pages about real machines in a real browser.

use std::fs;

use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{PERIOD, Plan, Summary, ThreadSummary, Timeline};
use evenkeel_linux::sample::{Inside, MAX_TYPES, PairWaits, Sample, Turn};
use evenkeel_model::{Machine, Ns, machines};
use evenkeel_sched::ThreadKind;
use evenkeel_sched::policy::{Judgement, Label};
use evenkeel_scx::{Figures, ObservedThread};
use evenkeel_testing::browser::{DESK, Page, fits};
use evenkeel_testing::{needs, skips};

use super::scx::Seen;
use super::{Scheduled, Story, bench, run};
use crate::catalog;
use crate::live::Account;

/// Two threads, each its program's only one, with numbers and a name that are as long as the kernel has any. For a second the first runs on
/// a big core and the second on a little one, which waits for the first in between.
const THREADS: [(Tid, &str); 2] = [(4_194_301, "fifteen-letters"), (4_194_302, "short")];
const CPUS: [u16; 4] = [0, 1, 2, 3];
const END: Ns = Ns::from_secs(1);
const WAITED: Ns = Ns::from_ms(10);

fn machine() -> Machine {
    machines::by_name("2B2S").unwrap()
}

/// The first is what others wait for.
fn judgement(thread: usize) -> Judgement {
    match thread {
        0 => Judgement { label: Label::Critical, speedup: Some(2.1) },
        _ => Judgement::default(),
    }
}

fn blame(thread: usize) -> Ns {
    if thread == 0 { WAITED } else { Ns::ZERO }
}

fn ran(thread: usize, time: Ns) -> [Ns; MAX_TYPES] {
    let mut run = [Ns::ZERO; MAX_TYPES];
    run[thread] = time;
    run
}

fn policies() -> Vec<(Ns, String)> {
    vec![(Ns::from_ms(250), "bias".into())]
}

fn waits() -> Vec<PairWaits> {
    let [waker, waiter] = THREADS.map(|(tid, _)| tid);
    vec![PairWaits { waiter, waker, waited: WAITED, times: 1 }]
}

/// The files stand in for a machine that counts its energy, here ever more of it.
fn timeline() -> Timeline {
    let tree = tempfile::tempdir().unwrap();
    let folder = tree.path().join("sys/class/powercap/intel-rapl:0");
    fs::create_dir_all(&folder).unwrap();
    let tell = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    tell("name", "package-0\n");
    tell("max_energy_range_uj", "262143328850\n");
    tell("energy_uj", "0\n");
    let mut timeline = Timeline::new(Ns::ZERO, vec![0, 0, 1, 1]).with_meters(tree.path(), &machine(), &CPUS);
    for (now, sample) in (1..=20).map(|sample| (Ns::from_ms(50 * sample), sample)) {
        tell("energy_uj", &format!("{}\n", 50_000 * sample * sample));
        timeline.read_meters(now);
        let samples = [0, 1].map(|thread| {
            let (tid, run) = (THREADS[thread].0, ran(thread, now));
            Sample { tid, process: tid, cpu: CPUS[2 * thread], run, ..Sample::default() }
        });
        timeline.sample(now, &samples, &[]);
    }
    timeline
}

fn page_of_run() -> String {
    let policy = catalog::live_policy("colab").unwrap();
    let plan = Plan { machine: machine(), cpus: CPUS.into(), policy, period: PERIOD, timeline: true };
    let thread = |thread: usize| {
        let (tid, name) = THREADS[thread];
        let turn = Turn::Off(Ns::ZERO);
        ThreadSummary {
            tid,
            process: tid,
            name: name.into(),
            kind: ThreadKind::Application,
            run: ran(thread, END),
            delay: Ns::from_ms(3),
            switches: 7,
            inside: Some(Inside { turn, preempted: 0, waited: blame(1 - thread), blame: blame(thread) }),
            idles: false,
            judgement: judgement(thread),
        }
    };
    let summary = Summary {
        elapsed: END,
        threads: [0, 1].map(thread).into(),
        pairs: Some(waits()),
        policies: policies(),
        ..Summary::default()
    };
    run(&Account::new(&plan, &summary), &timeline(), "app")
}

fn page_of_scx() -> String {
    let mut story = Story::default();
    for quarter in 1..=4 {
        let at = Ns::from_ms(250 * quarter);
        let figures = Figures { switches: 1000 * quarter, living: 2, big: at, little: at, ..Figures::default() };
        story.note(at, figures);
    }
    let thread = |thread: usize| ObservedThread {
        tid: THREADS[thread].0,
        program: THREADS[thread].1.into(),
        name: THREADS[thread].1.into(),
        service: false,
        run: ran(thread, END),
        delay: Ns::from_ms(3),
        blame: blame(thread),
        judgement: judgement(thread),
    };
    let timeline = timeline();
    let page = Scheduled {
        heading: "evenkeel scx: colab, decided in the kernel",
        machine: &machine(),
        cpus: &CPUS,
        policies: &policies(),
        facts: &[("threads", "2".into(), "scheduled at some time".into())],
        story: &story,
        observed: None,
        missing: None,
        end: END,
    };
    let pairs = waits();
    page.page_of(Some(Seen { threads: [0, 1].map(thread).into(), timeline: &timeline, pairs, forgotten: 1 }))
}

#[test]
fn who_waited_for_whom_is_a_graph() {
    for page in [page_of_run(), page_of_scx()] {
        let sentence = "short 4194302 waited 10.000 ms for fifteen-letters 4194301, 1 times";
        assert!(page.contains("id=\"waits\"") && page.contains(sentence), "{page}");
    }
}

#[test]
fn the_pointer_tells_power() {
    if skips(&[&needs::chromium]) {
        return;
    }
    for html in [page_of_run(), page_of_scx()] {
        let page = Page::open(&html, DESK);
        let [left, top, ..] = page.place("figure.timeline canvas");
        // What is below the lanes.
        page.point(left + 300.0, top + 118.0);
        let hint = page.text("document.querySelector('.hint').textContent");
        assert!(hint.starts_with("power package-0: ") && hint.contains(" W at "), "{hint}");
        page.is_content();
    }
}

#[test]
fn the_page_of_run_fits_desks_and_phones() {
    if !skips(&[&needs::chromium]) {
        fits("run-live", &page_of_run());
    }
}

#[test]
fn the_page_of_scx_fits_desks_and_phones() {
    if !skips(&[&needs::chromium]) {
        fits("scx", &page_of_scx());
    }
}

#[test]
fn the_page_of_vm_bench_fits_desks_and_phones() {
    if !skips(&[&needs::chromium]) {
        fits("vm-bench", &bench(&[bench::tests::measured(&["pfs", "colab"], [0.60, 0.61, 0.62])]));
    }
}

#[test]
fn the_pointer_tells_label_and_blame_of_real_threads() {
    if skips(&[&needs::chromium]) {
        return;
    }
    for html in [page_of_run(), page_of_scx()] {
        let page = Page::open(&html, DESK);
        let [left, top, ..] = page.place("figure.timeline canvas");
        let hint = |y: f64| {
            page.point(left + 300.0, top + y);
            page.text("document.querySelector('.hint').textContent")
        };
        // The first big core, and the first little one.
        let (first, second) = (hint(34.0), hint(76.0));
        assert!(first.starts_with("fifteen-letters") && first.contains("label: critical, at the end"), "{first}");
        assert!(first.contains("speedup: 2.10 times") && first.contains("blame: others waited 10"), "{first}");
        assert!(second.starts_with("short") && !second.contains("label"), "{second}");
        page.is_content();
    }
}

//! `cargo bench --package evenkeel-report --bench timeline`: how long the timeline of a million slices takes in a real browser to open, to
//! draw frames when a reader zooms and pans, and to answer keys when a reader looks for threads. Prints tables.

use evenkeel_experiment::history::Recorder;
use evenkeel_experiment::{Control, Job, Plan, Runner, catalog};
use evenkeel_model::CoreOrder;
use evenkeel_report::page;
use evenkeel_testing::browser::{DESK, Page};
use serde_json::Value;

/// What is simulated.
const WORKLOAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/million.toml");
const MACHINE: &str = "i9-13900k";
const POLICY: &str = "colab";

/// Counts the time in callbacks of frames, which is where a page draws.
const CLOCK: &str = include_str!("clock.js");

/// Zooms and pans, one step a frame.
const READER: &str = include_str!("reader.js");

/// Looks for threads, key by key.
const TYPIST: &str = include_str!("typist.js");

/// The page, and how many slices it has.
fn page() -> Result<(String, usize), Box<dyn std::error::Error>> {
    let machine = catalog::machine(MACHINE)?.machine;
    let plan = Plan {
        workloads: vec![catalog::workload(WORKLOAD)?.workload],
        machines: vec![machine],
        policies: vec![catalog::policy(POLICY)?],
        ..Plan::default()
    };
    let runner = Runner::new(plan, &Control::default())?;
    let job = Job { workload: 0, machine: 0, policy: 0, order: CoreOrder::Declared, seed: 1 };
    let machine = runner.machine(job);
    let mut recorder = Recorder::new(&machine);
    let run = runner.run(job, &mut recorder)?;
    let history = recorder.finish(run.measurement.makespan);
    Ok((page::run(&run, &history, &machine, "sim million.toml"), history.spans.len()))
}

/// The middle, the 95th and the 99th percentile, and the longest of some times in ms.
fn percentiles(times: &Value) -> [f64; 4] {
    let mut times: Vec<f64> = times.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((share * (times.len() - 1) as f64).round() as usize).copied().unwrap_or(f64::NAN);
    [0.5, 0.95, 0.99, 1.0].map(at)
}

/// The head of a table: of what there are so many, and the two times of each.
fn head(counted: &str, [first, second]: [&str; 2]) {
    println!("{:10} {counted:>8} {first:>36}   {second:>36}", "");
    let columns = ["median", "95 %", "99 %", "longest"].map(|name| format!("{name:>9}")).concat();
    println!("{:10} {:>8} {columns}   {columns}", "", "");
}

/// A row of it.
fn row(lanes: &str, times: [&Value; 2]) -> String {
    let count = times[1].as_array().map_or(0, Vec::len);
    let [first, second] = times.map(|times| percentiles(times).map(|time| format!("{time:9.1}")).concat());
    format!("{lanes:10} {count:>8} {first}   {second}")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (html, slices) = page()?;
    println!(
        "A timeline of {slices} slices ({POLICY} on {MACHINE}, 9.4 s) in a window of {} x {} in Chromium without",
        DESK.width, DESK.height
    );
    println!("a GPU; at each frame a reader zooms or pans by a step, then looks for threads, key by key. Milliseconds");
    let opened = Page::open_after(CLOCK, &html, DESK);
    println!("from asking for the page to its first drawing: {:.0}", opened.number("window.opened"));
    head("frames", ["to draw a frame", "from one frame to the next"]);
    let mut keys = Vec::new();
    for lanes in ["cores", "threads"] {
        opened.until(&format!("document.querySelector('figure.timeline').dataset.mode === '{lanes}'"));
        let times = opened.ask(READER);
        println!("{}", row(lanes, [&times["drawing"], &times["between"]]));
        let times = opened.ask(TYPIST);
        keys.push(row(lanes, [&times["busy"], &times["until"]]));
        opened.press(&["t"]);
    }
    head("keys", ["busy at a time, at most", "until all lanes are there"]);
    for row in keys {
        println!("{row}");
    }
    Ok(())
}

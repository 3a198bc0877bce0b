//! `cargo bench --package evenkeel-report --bench timeline`: how long frames take when a reader zooms and pans in the timeline of a
//! million slices, in a real browser. Prints a table.

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (html, slices) = page()?;
    println!(
        "A timeline of {slices} slices ({POLICY} on {MACHINE}, 9.4 s) in a window of {} x {} in Chromium without",
        DESK.width, DESK.height
    );
    println!("a GPU; at each frame a reader zooms or pans by a step. Milliseconds");
    println!("{:10} {:>8} {:>36}   {:>36}", "", "frames", "to draw a frame", "from one frame to the next");
    let columns = ["median", "95 %", "99 %", "longest"].map(|name| format!("{name:>9}")).concat();
    println!("{:10} {:>8} {columns}   {columns}", "", "");
    let opened = Page::open_after(CLOCK, &html, DESK);
    for lanes in ["cores", "threads"] {
        opened.until(&format!("document.querySelector('figure.timeline').dataset.mode === '{lanes}'"));
        let times = opened.ask(READER);
        let row = |times: &Value| percentiles(times).map(|time| format!("{time:9.1}")).concat();
        let frames = times["between"].as_array().map_or(0, Vec::len);
        println!("{lanes:10} {frames:>8} {}   {}", row(&times["drawing"]), row(&times["between"]));
        opened.press(&["t"]);
    }
    Ok(())
}

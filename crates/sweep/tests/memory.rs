//! A sweep takes no more memory for more runs. A binary of its own, because memory is that of the whole process.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;

use evenkeel_experiment::Control;
use evenkeel_sweep::{Grid, Request, Summary, sweep};

/// The grid of the page that has a million runs, with fewer seeds, of four runs each.
fn grid(seeds: u64) -> Grid {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sweeps.md")).unwrap();
    let of_page = page.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next()).unwrap();
    let text = of_page.replace("seeds = 250000", &format!("seeds = {seeds}"));
    assert!(text != of_page, "{of_page}");
    Grid::parse(&text, "grid.toml", None, &()).unwrap()
}

/// The most memory that this process has had, in kilobytes, once it has done so many runs and read what came out.
fn peak_after(runs: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("out.parquet");
    let done = sweep(&grid(runs / 4), &Request::into(&table), &Control::default()).unwrap();
    assert_eq!((done.computed, Summary::read(&table).unwrap().cells), (runs, 2));
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    most.parse().unwrap()
}

/// The fewer fill a row group of the table, which is in memory while it is written: some 60 MB in all. So 60 bytes for each of the
/// others are too many, and a run that were kept would have several hundred.
#[test]
#[ignore = "350,000 runs take half a minute where all is optimised; `make test-full` does them"]
fn four_times_as_many_runs_take_no_more_memory() {
    let few = peak_after(70_000);
    let many = peak_after(280_000);
    assert!(many <= few + few * 15 / 100 + 4096, "{few} kB, then {many} kB");
}

//! No edits of a sweep's table make its reader panic, hang or take memory without bounds, and what it takes can be merged. The table
//! itself is made at the start: no text that is tried comes upon a Parquet file by chance.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use evenkeel_experiment::Control;
use evenkeel_sweep::{Grid, Merging, Request, Summary, merge, sweep};
use tempfile::TempDir;

const GRID: &str = "machines = [\"2B2S\"]\nworkloads = [\"radix\"]\npolicies = [\"cfs\", \"colab\"]\nseeds = 1\n\
                    policy.colab.takeover = [\"any\", \"none\"]\nmachine.costs.tick_us = [1000, 4000]\n";

/// A folder, and a table in it.
static TABLE: LazyLock<(TempDir, Vec<u8>)> = LazyLock::new(|| {
    let folder = TempDir::new().expect("there is room for files");
    let path = folder.path().join("whole.parquet");
    let grid = Grid::parse(GRID, "grid.toml", None, &()).expect("it names what there is");
    sweep(&grid, &Request::into(&path), &Control::default()).expect("it can be run");
    let bytes = fs::read(&path).expect("it was written");
    (folder, bytes)
});

libfuzzer_sys::fuzz_target!(|edits: &[u8]| {
    let (folder, whole) = &*TABLE;
    let mut bytes = whole.clone();
    for edit in edits.chunks_exact(4) {
        // From the end, where a Parquet file says what is where.
        let at = bytes.len().saturating_sub(1 + usize::from(u16::from_le_bytes([edit[0], edit[1]])));
        match edit[2] % 8 {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, edit[3]),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = edit[3]),
        }
    }
    let [path, merged] = ["edited.parquet", "merged.parquet"].map(|name| folder.path().join(name));
    fs::write(&path, &bytes).expect("there is room for files");
    if Summary::read(&path).is_ok() {
        let _ = merge(&[path], &merged, Merging { incomplete: true, drop: true });
        let _ = fs::remove_file(&merged);
    }
});

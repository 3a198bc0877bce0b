//! Sweeps end to end: what is done is not done again, parts make the whole, and a table says what was run.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod parts;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_experiment::{Comparison, Control, Plan, Progress, Runner, Stage, catalog};
use evenkeel_sweep::{Done, Error, Grid, Merging, Request, Shard, Summary, merge, sweep};

const GRID: &str = r#"
machines = ["2B2S", "4B4S"]
workloads = ["radix", "Sync-1"]
policies = ["cfs", "colab", "gts"]
seeds = 3
machine.core.cortex-a57.width = [2.0, 2.4]
conditions.noise = [false, true]
policy.colab.takeover = ["any", "none"]
"#;
const RUNS: u64 = 2 * 4 * 2 * 4 * 2 * 3;

fn grid(text: &str) -> Grid {
    Grid::parse(text, "grid.toml", None, &()).unwrap()
}

fn run(grid: &Grid, request: &Request) -> Done {
    sweep(grid, request, &Control::default()).unwrap()
}

/// A folder, and a table in it.
fn table() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("out.parquet");
    (folder, table)
}

/// The journal beside a table.
fn journal(table: &Path) -> PathBuf {
    table.with_extension("parquet.journal")
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn shards_make_the_same_bytes_as_one_machine_whatever_their_number() {
    let (folder, whole) = table();
    let grid = grid(GRID);
    assert_eq!(run(&grid, &Request::into(&whole)), Done { runs: RUNS, computed: RUNS, failed: 0 });
    let expected = fs::read(&whole).unwrap();
    for of in [1, 3, 8] {
        let parts: Vec<PathBuf> = (1..=of)
            .map(|number| {
                let part = folder.path().join(format!("part-{number}-{of}.parquet"));
                let shard: Shard = format!("{number}/{of}").parse().unwrap();
                run(&grid, &Request { shard, ..Request::into(&part) });
                part
            })
            .collect();
        let merged = folder.path().join("merged.parquet");
        // In any order, and a part twice.
        let mut given: Vec<PathBuf> = parts.iter().rev().cloned().collect();
        given.push(parts[0].clone());
        assert_eq!(merge(&given, &merged, Merging::default()).unwrap(), RUNS);
        assert!(fs::read(&merged).unwrap() == expected, "{of} shards");
        if of > 1 {
            let error = merge(&parts[1..], &merged, Merging::default()).unwrap_err();
            assert!(matches!(error, Error::Missing { of: RUNS, first: 0, .. }), "{error}");
            let incomplete = Merging { incomplete: true, drop: false };
            let error = merge(&parts[1..], &merged, incomplete).unwrap_err();
            assert!(matches!(error, Error::Lost { runs: 1.., .. }), "{error}");
            assert!(fs::read(&merged).unwrap() == expected, "nothing is lost");
            assert!(merge(&parts[1..], &merged, Merging { drop: true, ..incomplete }).unwrap() < RUNS);
        }
    }
    assert!(names(folder.path()).iter().all(|name| name.ends_with(".parquet")), "{:?}", names(folder.path()));
}

#[test]
fn many_seeds_of_one_workload_are_shared_out_among_all_parts() {
    let (folder, whole) = table();
    let grid = grid(&SMALL.replace("seeds = 2", "seeds = 100\norders = [\"declared\"]"));
    run(&grid, &Request::into(&whole));
    let part = |number: u64| {
        let path = folder.path().join(format!("{number}.parquet"));
        let shard: Shard = format!("{number}/20").parse().unwrap();
        assert_eq!(grid.runs_of(shard), 10, "part {shard}");
        run(&grid, &Request { shard, ..Request::into(&path) });
        path
    };
    let (parts, merged) = ((1..=20).map(part).collect::<Vec<_>>(), folder.path().join("merged.parquet"));
    assert_eq!(merge(&parts, &merged, Merging::default()).unwrap(), 200);
    assert!(fs::read(&merged).unwrap() == fs::read(&whole).unwrap());
}

#[test]
fn a_merge_takes_no_other_table_away_and_none_that_is_at_work() {
    let (folder, path) = table();
    let [one, other] = ["out.parquet", "other.parquet"].map(|name| folder.path().join(name));
    run(&grid(SMALL), &Request::into(&one));
    run(&grid(&SMALL.replace("radix", "fft")), &Request::into(&other));
    let before = fs::read(&other).unwrap();
    let error = merge(std::slice::from_ref(&one), &other, Merging::default()).unwrap_err();
    assert!(matches!(error, Error::Lost { runs: 1.., .. }), "{error}");
    assert!(fs::read(&other).unwrap() == before);
    let journal = journal(&other);
    fs::write(&journal, "\"fresh\"\n").unwrap();
    let link = folder.path().join("link.parquet");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    for table in [&other, &link] {
        let drop = Merging { drop: true, ..Merging::default() };
        let error = merge(std::slice::from_ref(&one), table, drop).unwrap_err().to_string();
        assert!(error.contains("other.parquet.journal: it has runs of a sweep that is not at its end"), "{error}");
        assert!(fs::read(table).unwrap() == before);
    }
    fs::remove_file(link).unwrap();
    fs::remove_file(journal).unwrap();
    merge(std::slice::from_ref(&one), &other, Merging { drop: true, ..Merging::default() }).unwrap();
    assert!(fs::read(&other).unwrap() == fs::read(&path).unwrap());
    // A table that is one of its parts loses nothing.
    merge(std::slice::from_ref(&path), &path, Merging::default()).unwrap();
    assert_eq!(names(folder.path()), ["other.parquet", "out.parquet"]);
}

#[test]
fn a_merge_takes_no_part_that_is_not_at_its_end() {
    let (folder, path) = table();
    let part = folder.path().join("part.parquet");
    run(&grid(SMALL), &Request::into(&part));
    let journal = journal(&part);
    fs::write(&journal, "\"fresh\"\n").unwrap();
    let incomplete = Merging { incomplete: true, drop: true };
    let link = folder.path().join("link.parquet");
    std::os::unix::fs::symlink("part.parquet", &link).unwrap();
    for part in [&part, &link] {
        let error = merge(std::slice::from_ref(part), &path, incomplete).unwrap_err().to_string();
        assert!(error.contains("part.parquet.journal: it is of a part that is not at its end"), "{error}");
    }
    assert_eq!(names(folder.path()), ["link.parquet", "part.parquet", "part.parquet.journal"]);
    // A sweep that has not done anything yet has changed nothing, either.
    fs::write(&journal, "").unwrap();
    assert_eq!(merge(std::slice::from_ref(&part), &path, Merging::default()).unwrap(), 8);
}

#[test]
fn a_table_that_cannot_be_written_costs_no_run() {
    let (folder, path) = table();
    std::os::unix::fs::symlink("nowhere/at.parquet", &path).unwrap();
    let after = After(1, AtomicUsize::new(0), Arc::default());
    let control = Control { progress: &after, ..Control::default() };
    let error = sweep(&grid(SMALL), &Request::into(&path), &control).unwrap_err();
    assert!(matches!(error, Error::Unwritable { .. }), "{error}");
    assert_eq!((after.1.into_inner(), names(folder.path())), (0, vec!["out.parquet".to_owned()]));
}

/// Puts a file in the table's place, before that is written.
struct Intrudes<'a>(&'a Path);

impl Progress for Intrudes<'_> {
    fn begin(&self, stage: Stage, _: usize) {
        if stage == Stage::Writing {
            fs::write(self.0, "of a user").unwrap();
        }
    }
}

#[test]
fn a_file_that_came_to_the_table_s_place_meanwhile_stays_and_no_run_is_lost() {
    let (_folder, path) = table();
    let control = Control { progress: &Intrudes(&path), ..Control::default() };
    let error = sweep(&grid(SMALL), &Request::into(&path), &control).unwrap_err().to_string();
    assert!(error.contains("out.parquet") && fs::read(&path).unwrap() == b"of a user", "{error}");
    fs::remove_file(&path).unwrap();
    assert_eq!(run(&grid(SMALL), &Request::into(&path)).computed, 0);
}

/// Stops the work once so many runs are done.
struct After(usize, AtomicUsize, Arc<evenkeel_sim::Meter>);

impl Progress for After {
    fn begin(&self, stage: Stage, runs: usize) {
        assert!(stage == Stage::Runs && runs > 0, "it is stopped before anything is written");
    }

    fn advance(&self) {
        if self.1.fetch_add(1, Ordering::Relaxed) + 1 == self.0 {
            self.2.stop().store(true, Ordering::Relaxed);
        }
    }
}

/// A sweep that was stopped after so many runs, or a few more. Returns how many it has done.
fn stopped_after(runs: u64, grid: &Grid, request: &Request) -> u64 {
    let after = After(runs as usize, AtomicUsize::new(0), Arc::default());
    let control = Control { progress: &after, meter: Some(&after.2), ..Control::default() };
    let Error::Stopped { done, of } = sweep(grid, request, &control).unwrap_err() else { panic!("was not stopped") };
    assert!((runs..RUNS).contains(&done) && of == RUNS, "{done} of {of}");
    done
}

#[test]
fn what_was_done_before_an_end_is_not_done_again() {
    let (folder, path) = table();
    let (grid, request) = (grid(GRID), Request::into(&path));
    let done = stopped_after(100, &grid, &request);
    assert_eq!(names(folder.path()), ["out.parquet.journal"]);
    // A kill may cut the last line off.
    let journal = folder.path().join("out.parquet.journal");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 20]).unwrap();
    let finished = run(&grid, &request);
    assert_eq!(finished, Done { runs: RUNS, computed: RUNS - done + 1, failed: 0 });
    assert_eq!(names(folder.path()), ["out.parquet"]);
    let (_other, fresh) = table();
    run(&grid, &Request::into(&fresh));
    assert!(fs::read(&path).unwrap() == fs::read(&fresh).unwrap(), "as if it had never ended");
    assert_eq!(run(&grid, &request), Done { runs: RUNS, computed: 0, failed: 0 });
    assert_eq!(run(&grid, &Request { fresh: true, ..request }).computed, RUNS);
}

#[test]
fn a_journal_that_was_edited_is_not_believed() {
    let (_folder, path) = table();
    let (grid, request) = (grid(GRID), Request::into(&path));
    let done = stopped_after(9, &grid, &request);
    let journal = journal(&path);
    let text = fs::read_to_string(&journal).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let edited = lines[2].replace("\"energy_j\":", "\"energy_j\":1");
    assert!(edited != lines[2]);
    lines[2] = &edited;
    fs::write(&journal, lines.join("\n") + "\n").unwrap();
    let error = sweep(&grid, &request, &Control::default()).unwrap_err().to_string();
    assert!(
        error.contains(".journal: no row of a sweep at line 3 (it is not what was written): remove the line"),
        "{error}"
    );
    lines.remove(2);
    fs::write(&journal, lines.join("\n") + "\n").unwrap();
    assert_eq!(run(&grid, &request).computed, RUNS - done + 1, "as the error says");
}

#[test]
fn a_grid_that_grows_keeps_its_runs_and_one_that_shrinks_drops_none_unasked() {
    let (_folder, path) = table();
    let small = grid(&GRID.replace("seeds = 3", "seeds = 2"));
    run(&small, &Request::into(&path));
    let large = grid(GRID);
    assert_eq!(run(&large, &Request::into(&path)), Done { runs: RUNS, computed: RUNS / 3, failed: 0 });
    let (_other, fresh) = table();
    run(&large, &Request::into(&fresh));
    assert!(fs::read(&path).unwrap() == fs::read(&fresh).unwrap());
    let error = sweep(&small, &Request::into(&path), &Control::default()).unwrap_err();
    assert!(matches!(error, Error::Foreign { foreign, .. } if foreign == RUNS / 3), "{error}");
    assert!(fs::read(&path).unwrap() == fs::read(&fresh).unwrap(), "nothing was changed");
    let shrunk = run(&small, &Request { drop: true, ..Request::into(&path) });
    assert_eq!((shrunk.computed, shrunk.runs), (0, RUNS / 3 * 2));
}

#[test]
fn runs_that_cannot_end_say_why_and_others_go_on() {
    let (_folder, path) = table();
    let grid = grid(
        "machines = [\"2B2S\"]\nworkloads = [\"radix\"]\npolicies = [\"cfs\"]\nconditions.max-time = [\"1ms\", \"10h\"]",
    );
    assert_eq!(run(&grid, &Request::into(&path)), Done { runs: 20, computed: 20, failed: 10 });
    assert_eq!(run(&grid, &Request::into(&path)), Done { runs: 20, computed: 0, failed: 10 });
    let summary = Summary::read(&path).unwrap();
    assert_eq!((summary.failed, summary.cells), (10, 2));
    let error = summary.first_error.unwrap();
    assert!(error.contains("radix") && error.contains("1.000 ms"), "{error}");
}

/// The same runs by way of a comparison. (One predictor would serve all machines of a plan with the same core types; in a sweep each
/// machine has its own, so that a run depends on nothing beside it.)
#[test]
fn a_summary_is_what_a_comparison_finds() {
    let (_folder, path) = table();
    let grid = grid(
        "machines = [\"2B2S\", \"2B4S\"]\nworkloads = [\"radix\", \"Sync-2\"]\npolicies = [\"cfs\", \"gts\", \"eevdf\"]\nbaseline = \"gts\"",
    );
    run(&grid, &Request::into(&path));
    let summary = Summary::read(&path).unwrap();
    let plan = Plan {
        workloads: ["radix", "Sync-2"].map(|name| catalog::workload(name).unwrap().workload).into(),
        machines: ["2B2S", "2B4S"].map(|name| catalog::machine(name).unwrap().machine).into(),
        policies: ["cfs", "gts", "eevdf"].map(|name| catalog::policy(name).unwrap()).into(),
        seeds: (1..=5).collect(),
        ..Plan::default()
    };
    let control = Control::default();
    let runner = Runner::new(plan, &control).unwrap();
    let results = runner.run_all(&control).unwrap();
    let compared = Comparison::of(runner.plan(), &results, "gts");
    assert_eq!((summary.baseline.as_str(), summary.cells, summary.policies.len()), ("gts", 4, 2));
    for (found, policy) in summary.policies.iter().zip(compared.others()) {
        assert_eq!(found.policy, compared.policies[policy]);
        for (found, expected) in [
            (found.effects.h_antt, compared.difference(policy, |run| run.h_antt)),
            (found.effects.h_stp, compared.difference(policy, |run| run.h_stp)),
            (found.effects.energy, compared.difference(policy, |run| run.energy.0)),
        ] {
            let ends = |difference: evenkeel_model::Difference| {
                let (low, high) = difference.interval.unwrap();
                [difference.value, low, high]
            };
            let (found, expected) = (ends(found.unwrap()), ends(expected.unwrap()));
            assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
        }
        let clear = |better: bool| {
            let cells =
                compared.cells.iter().filter_map(|cell| cell.difference(policy, compared.baseline, |run| run.h_antt));
            cells.filter(|difference| difference.is_clear() && (difference.value < 0.0) == better).count() as u64
        };
        assert_eq!((found.better, found.worse), (clear(true), clear(false)));
    }
    // What has one value only is no question.
    let names: Vec<&str> = summary.varied.iter().map(|varied| varied.name.as_str()).collect();
    assert_eq!(names, ["workload", "machine", "order"]);
    let of_radix = &summary.varied[0].values[0];
    assert_eq!(of_radix.value, "radix");
    let cells = compared.cells.iter().filter(|cell| cell.workload == "radix");
    let ratios = cells.map(|cell| 1.0 + cell.difference(0, compared.baseline, |run| run.h_antt).unwrap().value);
    let mean = ratios.clone().product::<f64>().powf(1.0 / ratios.count() as f64) - 1.0;
    assert!((of_radix.policies[0].h_antt.unwrap().value - mean).abs() < 1e-9, "cfs against gts");
    let by_order = &summary.by_order().unwrap().values;
    assert_eq!(by_order.iter().map(|at| at.value.as_str()).collect::<Vec<_>>(), ["big-first", "little-first"]);
    for (order, at) in by_order.iter().enumerate() {
        for (effects, policy) in at.policies.iter().zip(compared.others()) {
            let found = effects.h_antt.unwrap();
            let expected = compared.effect(None, Some(order), policy, |run| run.h_antt).unwrap();
            assert!((found.value - expected.value).abs() < 1e-9);
            assert!((found.interval.unwrap().0 - expected.interval.unwrap().0).abs() < 1e-9);
        }
    }
}

#[test]
fn files_of_other_kinds_and_sweeps_are_refused() {
    let (folder, path) = table();
    let grid = grid("machines = [\"2B2S\"]\nworkloads = [\"radix\"]\npolicies = [\"cfs\"]\nseeds = 1");
    let other = folder.path().join("other.parquet");
    fs::write(&other, "no table").unwrap();
    for error in [
        sweep(&grid, &Request::into(&other), &Control::default()).unwrap_err(),
        merge(std::slice::from_ref(&other), &path, Merging::default()).unwrap_err(),
        Summary::read(&other).unwrap_err(),
    ] {
        assert!(error.to_string().contains("other.parquet: no Parquet file, or a broken one"), "{error}");
    }
    assert_eq!(fs::read(&other).unwrap(), b"no table");
    run(&grid, &Request::into(&path));
    let second = folder.path().join("second.parquet");
    run(
        &self::grid("machines = [\"2B4S\"]\nworkloads = [\"radix\"]\npolicies = [\"cfs\"]\nseeds = 1"),
        &Request::into(&second),
    );
    let error = merge(&[path.clone(), second], &folder.path().join("all.parquet"), Merging::default()).unwrap_err();
    assert!(matches!(error, Error::Different { .. }), "{error}");
    let nowhere = sweep(&grid, &Request::into("/nowhere/at/all.parquet"), &Control::default()).unwrap_err();
    assert!(nowhere.to_string().contains("/nowhere/at/all.parquet"), "{nowhere}");
}

/// Small enough for one piece.
const SMALL: &str = "machines = [\"2B2S\"]\nworkloads = [\"radix\"]\npolicies = [\"cfs\", \"gts\"]\nseeds = 2";

#[test]
fn a_broken_table_is_an_error_and_no_panic() {
    let (folder, whole) = table();
    run(&grid(SMALL), &Request::into(&whole));
    let bytes = fs::read(&whole).unwrap();
    let broken = folder.path().join("broken.parquet");
    for end in (0..bytes.len()).step_by(67) {
        fs::write(&broken, &bytes[..end]).unwrap();
        assert!(Summary::read(&broken).is_err());
    }
    // The last bytes but eight say how long what is before them is: what says where columns are, and how they are encoded.
    let length = bytes[bytes.len() - 8..].first_chunk().map(|length| u32::from_le_bytes(*length)).unwrap() as usize;
    let values = bytes.len() - 8 - length;
    let bits = (0..8 * values).step_by(191).chain((8 * values..8 * bytes.len()).step_by(31));
    let expected = Summary::read(&whole).unwrap();
    // The first bytes are the file's mark, which only other readers look at.
    for bit in bits.skip_while(|bit| *bit < 4 * 8) {
        let mut wrong = bytes.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        fs::write(&broken, wrong).unwrap();
        // Some of what says where columns are is of no use for the rows.
        assert!(Summary::read(&broken).map_or(true, |read| read == expected), "{bit}");
    }
}

#[test]
fn a_part_without_a_run_is_a_table_that_can_be_merged() {
    let (folder, whole) = table();
    let grid = grid(SMALL);
    run(&grid, &Request::into(&whole));
    let parts: Vec<PathBuf> = (1..=3).map(|number| folder.path().join(format!("{number}.parquet"))).collect();
    let runs: Vec<u64> = (1..)
        .zip(&parts)
        .map(|(number, part)| {
            let shard = format!("{number}/3").parse().unwrap();
            run(&grid, &Request { shard, ..Request::into(part) }).runs
        })
        .collect();
    assert_eq!(runs, [4, 4, 0]);
    let merged = folder.path().join("merged.parquet");
    assert_eq!(merge(&parts, &merged, Merging::default()).unwrap(), 8);
    assert!(fs::read(&merged).unwrap() == fs::read(&whole).unwrap());
    assert_eq!(Summary::read(&parts[2]).unwrap().cells, 0);
}

#[test]
fn runs_that_had_too_many_events_are_done_again_with_another_limit() {
    let (folder, path) = table();
    let (grid, request) = (grid(SMALL), Request::into(&path));
    let few = Control { max_events: 100, ..Control::default() };
    assert_eq!(sweep(&grid, &request, &few).unwrap(), Done { runs: 8, computed: 8, failed: 8 });
    assert_eq!(sweep(&grid, &request, &few).unwrap().computed, 0);
    let short = folder.path().join("short.parquet");
    fs::copy(&path, &short).unwrap();
    assert_eq!(run(&grid, &request), Done { runs: 8, computed: 8, failed: 0 });
    let error = merge(&[path, short], &folder.path().join("all.parquet"), Merging::default()).unwrap_err().to_string();
    assert!(error.contains("they disagree about run 0"), "{error}");
}

#[test]
fn what_was_begun_anew_goes_on_without_the_old_table() {
    let (_folder, path) = table();
    let grid = grid(GRID);
    let (few, request) = (Control { max_events: 100, ..Control::default() }, Request::into(&path));
    assert_eq!(sweep(&grid, &request, &few).unwrap().failed, RUNS);
    let after = After(50, AtomicUsize::new(0), Arc::default());
    let control = Control { progress: &after, meter: Some(&after.2), ..Control::default() };
    let fresh = Request { fresh: true, ..request.clone() };
    let Error::Stopped { done, .. } = sweep(&grid, &fresh, &control).unwrap_err() else { panic!("was not stopped") };
    // The same limit as in the table, which would count otherwise.
    assert_eq!(sweep(&grid, &request, &few).unwrap(), Done { runs: RUNS, computed: RUNS - done, failed: RUNS - done });
}

#[test]
fn what_was_begun_by_one_name_goes_on_by_another() {
    let (folder, path) = table();
    let grid = grid(GRID);
    for (link, to) in [("link", "next"), ("next", "out.parquet")] {
        std::os::unix::fs::symlink(to, folder.path().join(link)).unwrap();
    }
    let link = Request::into(folder.path().join("link"));
    run(&grid, &Request::into(&path));
    for other in [path, folder.path().join("next")] {
        let done = stopped_after(50, &grid, &Request { fresh: true, ..Request::into(other) });
        assert_eq!(evenkeel_sweep::already(&grid, &link, evenkeel_sim::MAX_EVENTS).unwrap(), done);
        assert_eq!(run(&grid, &link).computed, RUNS - done, "the table does not count");
        assert_eq!(names(folder.path()), ["link", "next", "out.parquet"]);
    }
}

#[test]
fn a_table_that_does_not_count_loses_nothing_unasked() {
    let (_folder, path) = table();
    let request = Request::into(&path);
    run(&grid(SMALL), &request);
    let before = fs::read(&path).unwrap();
    // One that was begun anew, and ended before its first run.
    fs::write(journal(&path), "\"fresh\"\n").unwrap();
    let other = grid(&SMALL.replace("2B2S", "4B4S"));
    let swept = sweep(&other, &request, &Control::default()).unwrap_err();
    let already = evenkeel_sweep::already(&other, &request, evenkeel_sim::MAX_EVENTS).unwrap_err();
    for error in [swept, already] {
        assert!(matches!(error, Error::Foreign { foreign: 8, .. }), "{error}");
    }
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(evenkeel_sweep::already(&grid(SMALL), &request, evenkeel_sim::MAX_EVENTS).unwrap(), 0);
    assert_eq!(run(&grid(SMALL), &request).computed, 8);
}

#[test]
fn nothing_but_a_table_is_replaced() {
    let (folder, path) = table();
    let grid = grid(SMALL);
    fs::write(&path, SMALL).unwrap();
    let fresh = Request { fresh: true, ..Request::into(&path) };
    assert!(sweep(&grid, &fresh, &Control::default()).unwrap_err().to_string().contains("no Parquet file"));
    let whole = folder.path().join("whole.parquet");
    run(&grid, &Request::into(&whole));
    assert!(
        merge(std::slice::from_ref(&whole), &path, Merging::default())
            .unwrap_err()
            .to_string()
            .contains("no Parquet file")
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), SMALL);
    let link = folder.path().join("link.parquet");
    std::os::unix::fs::symlink(&whole, &link).unwrap();
    run(&grid, &Request { fresh: true, ..Request::into(&link) });
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    for other in ["/dev/null", "/"] {
        let error = sweep(&grid, &Request::into(other), &Control::default()).unwrap_err().to_string();
        assert!(error.contains("expected a file"), "{error}");
    }
}

/// The reference of each seed takes its own time; what fails for one is no other's result.
#[test]
fn a_run_depends_on_no_other_of_the_grid() {
    let error_rows = |text: &str| {
        let (_folder, path) = table();
        run(&grid(text), &Request::into(&path)).failed
    };
    let text = "machines = [\"2B2S\"]\nworkloads = [\"Sync-1\"]\npolicies = [\"cfs\", \"gts\"]\nconditions.max-time = \"620ms\"\nseeds = ";
    let alone: u64 = (1..=6).map(|seed| error_rows(&format!("{text}[{seed}]"))).sum();
    assert_eq!(error_rows(&format!("{text}[1, 2, 3, 4, 5, 6]")), alone);
    assert!((1..6 * 4).contains(&alone), "{alone}: some end in time, others do not");
}

#[test]
fn a_file_that_changes_meanwhile_and_parts_of_other_files_are_no_results() {
    let (folder, path) = table();
    let machine = folder.path().join("m.toml");
    let stock = evenkeel_model::machines::text("2B2S").unwrap();
    fs::write(&machine, stock).unwrap();
    let text = SMALL.replace("2B2S", machine.to_str().unwrap());
    let before = grid(&text);
    let other = folder.path().join("other.parquet");
    run(&before, &Request::into(&other));
    fs::write(&machine, stock.replace("tick_us = { value = 4000", "tick_us = { value = 1000")).unwrap();
    let error = sweep(&before, &Request::into(&path), &Control::default()).unwrap_err();
    assert!(
        std::error::Error::source(&error).unwrap().to_string().contains("has changed since the sweep began"),
        "{error}"
    );
    assert!(!path.exists());
    run(&grid(&text), &Request::into(&path));
    let error = merge(&[path, other], &folder.path().join("all.parquet"), Merging::default()).unwrap_err().to_string();
    assert!(error.contains("what their grids name differs"), "{error}");
}

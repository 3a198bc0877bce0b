//! Parts of a grid, of which each has a file of its own.

use super::*;

#[test]
fn each_part_has_a_file_of_its_own() {
    let (_folder, path) = table();
    let part = |grid: &Grid, text: &str, fresh, drop| {
        let shard = text.parse().unwrap();
        sweep(grid, &Request { shard, fresh, drop, ..Request::into(&path) }, &Control::default())
    };
    part(&grid(GRID), "1/2", false, false).unwrap();
    let before = fs::read(&path).unwrap();
    for text in [GRID.to_owned(), format!("{GRID}# The same runs.\n")] {
        for (fresh, drop) in [(false, false), (false, true), (true, false)] {
            let error = part(&grid(&text), "2/2", fresh, drop).unwrap_err();
            assert!(matches!(error, Error::OtherShard { .. }), "{error}");
            assert!(fs::read(&path).unwrap() == before);
        }
    }
    assert_eq!(part(&grid(GRID), "2/2", true, true).unwrap().computed, RUNS / 2, "as it was asked for");
}

#[test]
fn parts_of_a_grid_that_has_grown_leave_to_each_other_what_is_theirs() {
    let (folder, whole) = table();
    let (small, large) = (grid(&GRID.replace("\"2B2S\", \"4B4S\"", "\"2B2S\"")), grid(GRID));
    let parts = ["1", "2", "3"].map(|number| folder.path().join(number));
    let part = |grid: &Grid, number: usize, drop| {
        let shard = format!("{number}/3").parse().unwrap();
        let request = Request { shard, drop, ..Request::into(&parts[number - 1]) };
        let already = evenkeel_sweep::already(grid, &request, evenkeel_sim::MAX_EVENTS);
        let swept = sweep(grid, &request, &Control::default());
        assert_eq!(already.is_ok(), swept.is_ok());
        swept
    };
    let computed = |grid: &Grid, drop| (1..=3).map(|number| part(grid, number, drop).unwrap().computed).sum::<u64>();
    assert_eq!(computed(&small, false), RUNS / 2);
    let before = fs::read(&parts[0]).unwrap();
    let error = part(&large, 1, false).unwrap_err();
    assert!(matches!(error, Error::DealtAnew { runs: 1.., .. }), "{error}");
    assert!(fs::read(&parts[0]).unwrap() == before);
    // Each takes its own from what all have done: no run is done again.
    merge(&parts, &whole, Merging::default()).unwrap();
    for part in &parts {
        fs::copy(&whole, part).unwrap();
    }
    assert_eq!(computed(&large, true), RUNS / 2);
    merge(&parts, &whole, Merging { drop: true, ..Merging::default() }).unwrap();
    let (_other, fresh) = table();
    run(&large, &Request::into(&fresh));
    assert!(fs::read(&whole).unwrap() == fs::read(&fresh).unwrap());
}

#[test]
fn a_journal_of_a_grid_that_has_grown_is_told_from_that_of_another_part() {
    let (folder, path) = table();
    run(&grid(&GRID.replace("seeds = 3", "seeds = 2")), &Request::into(&path));
    let (same, grown) = (grid(GRID), grid(&GRID.replace("seeds = 3", "seeds = 4")));
    let done = stopped_after(1, &same, &Request::into(&path));
    fs::remove_file(&path).unwrap();
    let part = |grid: &Grid, drop| {
        let request = Request { shard: "2/2".parse().unwrap(), drop, ..Request::into(&path) };
        sweep(grid, &request, &Control::default())
    };
    let error = part(&same, true).unwrap_err();
    assert!(matches!(error, Error::OtherShard { .. }), "{error}");
    let error = part(&grown, false).unwrap_err();
    assert!(matches!(error, Error::DealtAnew { runs, .. } if runs < done), "{error}");
    assert_eq!(names(folder.path()), ["out.parquet.journal"]);
    let Done { runs, computed, .. } = part(&grown, true).unwrap();
    assert!((1..runs).contains(&computed), "{computed} of {runs}");
}

/// A policy more leaves the runs of the first workload on the first machine their numbers.
#[test]
fn a_journal_says_that_its_grid_had_other_runs() {
    let (_folder, path) = table();
    let control = Control { progress: &Intrudes(&path), ..Control::default() };
    sweep(&grid(SMALL), &Request::into(&path), &control).unwrap_err();
    fs::remove_file(&path).unwrap();
    let part = |text: &str, drop| {
        let request = Request { shard: "2/2".parse().unwrap(), drop, ..Request::into(&path) };
        sweep(&grid(text), &request, &Control::default())
    };
    let error = part(SMALL, true).unwrap_err();
    assert!(matches!(error, Error::OtherShard { .. }), "{error}");
    let grown = SMALL.replace("\"gts\"", "\"gts\", \"eevdf\"");
    let error = part(&grown, false).unwrap_err();
    assert!(matches!(error, Error::DealtAnew { .. }), "{error}");
    part(&grown, true).unwrap();
}

//! `evenkeel sweep` and `evenkeel merge` as commands: killed in the middle, two at once, mistakes, and the page about them.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

const GRID: &str = "\
machines = [\"2B2S\"]
workloads = [\"Sync-1\", \"Comp-1\"]
policies = [\"cfs\", \"colab\"]
seeds = 40
conditions.noise = true
";
const RUNS: u64 = 2 * 2 * 2 * 40;

fn evenkeel(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("evenkeel"));
    command.current_dir(folder).args(args);
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    evenkeel(folder, args).output().unwrap()
}

/// What a command prints as JSON.
fn json(folder: &Path, args: &[&str]) -> Value {
    let output = run(folder, &[args, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The one line that says what is wrong with a request.
fn complaint(output: &Output) -> String {
    complaint_with(2, output)
}

/// The same, where what is wrong is the place of the results.
fn complaint_with(code: i32, output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(code), 1), "{text}");
    assert!(output.stdout.is_empty());
    text
}

fn folder(grid: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("grid.toml"), grid).unwrap();
    folder
}

/// How many runs a journal has.
fn lines(folder: &Path) -> u64 {
    let text = fs::read_to_string(folder.join("grid.parquet.journal")).unwrap_or_default();
    text.lines().count() as u64
}

#[test]
fn a_killed_sweep_goes_on_and_nothing_is_left_of_it() {
    let folder = folder(GRID);
    let folder = folder.path();
    let mut first =
        evenkeel(folder, &["sweep", "grid.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while lines(folder) < 20 {
        assert!(first.try_wait().unwrap().is_none(), "it must not be over yet");
        sleep(Duration::from_millis(5));
    }
    // Another one is refused meanwhile.
    let busy = complaint(&run(folder, &["sweep", "grid.toml"]));
    assert!(busy.contains("grid.parquet.journal: another process is at this sweep"), "{busy}");
    first.kill().unwrap();
    first.wait().unwrap();
    let done = lines(folder);
    assert!(!folder.join("grid.parquet").exists());
    // The line that was cut off is left where it is.
    let journal = fs::read(folder.join("grid.parquet.journal")).unwrap();
    let planned = json(folder, &["sweep", "grid.toml", "--dry-run"]);
    let known = planned["done"].as_u64().unwrap();
    assert!(known == done || known + 1 == done, "{done} lines, {known} done");
    assert!(fs::read(folder.join("grid.parquet.journal")).unwrap() == journal);
    let report = json(folder, &["sweep", "grid.toml"]);
    let computed = report["computed"].as_u64().unwrap();
    // The last line may have been cut off.
    assert!(computed == RUNS - done || computed == RUNS - done + 1, "{done} before, {computed} now");
    assert_eq!((&report["runs"], &report["failed"], &report["cells"]), (&RUNS.into(), &0.into(), &2.into()));
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["grid.parquet", "grid.toml"]);
    let again = json(folder, &["sweep", "grid.toml"]);
    assert_eq!((&again["computed"], &again["effects"]), (&0.into(), &report["effects"]));
    let told = |args: &[&str]| {
        let output = run(folder, &[&["sweep", "grid.toml", "--dry-run"], args].concat());
        String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned()
    };
    assert_eq!(told(&[]), "All of them are done already.");
    assert!(told(&["--fresh"]).starts_with("  conditions.noise = true"));
    // A grid that grows keeps what is done.
    fs::write(folder.join("grid.toml"), GRID.replace("40", "50")).unwrap();
    assert_eq!(told(&[]), "320 of them are done already; 80 are left.");
}

#[test]
fn parts_are_put_together_and_missing_ones_are_named() {
    let folder = folder(&GRID.replace("40", "4"));
    let folder = folder.path();
    for part in ["1", "2"] {
        json(folder, &["sweep", "grid.toml", "--shard", &format!("{part}/2"), "-o", &format!("{part}.parquet")]);
    }
    json(folder, &["sweep", "grid.toml", "-o", "whole.parquet"]);
    let planned = json(folder, &["sweep", "grid.toml", "--shard", "2/2", "--dry-run"]);
    assert_eq!((&planned["runs"], &planned["shard"], &planned["shard_runs"]), (&32.into(), &"2/2".into(), &16.into()));
    let told = run(folder, &["sweep", "grid.toml", "--shard", "2/2", "--dry-run"]).stdout;
    assert!(
        told.starts_with(b"16 runs of part 2/2, of 32 runs, to grid.parquet:"),
        "{}",
        String::from_utf8_lossy(&told)
    );
    let missing = complaint(&run(folder, &["merge", "-o", "all.parquet", "1.parquet"]));
    assert!(
        missing.contains("16 of 32 runs are in none of the files") && missing.contains("--incomplete"),
        "{missing}"
    );
    assert!(!folder.join("all.parquet").exists());
    let report = json(folder, &["merge", "-o", "all.parquet", "2.parquet", "1.parquet"]);
    assert_eq!((&report["runs"], &report["computed"]), (&32.into(), &Value::Null));
    assert!(fs::read(folder.join("all.parquet")).unwrap() == fs::read(folder.join("whole.parquet")).unwrap());
}

#[test]
fn more_parts_than_files_may_be_open_are_merged_in_two_steps() {
    let folder = folder(&GRID.replace("40", "4"));
    let folder = folder.path();
    json(folder, &["sweep", "grid.toml", "-o", "whole.parquet"]);
    for part in ["1", "2"] {
        json(folder, &["sweep", "grid.toml", "--shard", &format!("{part}/2"), "-o", &format!("{part}-1.parquet")]);
        for copy in 2..=30 {
            fs::copy(folder.join(format!("{part}-1.parquet")), folder.join(format!("{part}-{copy}.parquet"))).unwrap();
        }
    }
    let merge = |limit: &str, arguments: &str| {
        let line = format!("ulimit {limit}; exec \"$0\" merge {arguments}");
        let mut limited = Command::new("sh");
        limited.current_dir(folder).args(["-c", &line]).arg(assert_cmd::cargo::cargo_bin!("evenkeel"));
        limited.output().unwrap()
    };
    let whole = fs::read(folder.join("whole.parquet")).unwrap();
    // The soft limit is raised.
    let merged = merge("-S -n 48", "-o all.parquet 1-*.parquet 2-*.parquet");
    assert!(merged.status.success(), "{merged:?}");
    assert!(fs::read(folder.join("all.parquet")).unwrap() == whole);
    fs::remove_file(folder.join("all.parquet")).unwrap();
    let refused = complaint(&merge("-n 48", "-o all.parquet 1-*.parquet 2-*.parquet"));
    for expected in ["60 parts are too many", "may have 48 files open", "`ulimit -n`", "--incomplete"] {
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(!folder.join("all.parquet").exists());
    for step in [
        "-o first.parquet --incomplete 1-*.parquet",
        "-o second.parquet --incomplete 2-*.parquet",
        "-o all.parquet first.parquet second.parquet",
    ] {
        let merged = merge("-n 48", step);
        assert!(merged.status.success(), "{step}: {merged:?}");
    }
    assert!(fs::read(folder.join("all.parquet")).unwrap() == whole);
}

#[test]
fn mistakes_cost_no_run_and_no_file() {
    for (grid, expected) in [
        ("machines = [", "grid.toml:1:"),
        (&*GRID.replace("2B2S", "2B2T"), "grid.toml:1:13: machine: unknown machine \"2B2T\": did you mean \"2B2S\"?"),
        (&GRID.replace("\"colab\"", "\"colba\""), "unknown policy \"colba\": did you mean \"colab\"?"),
        (
            &GRID.replace("noise", "nois"),
            "grid.toml:5:12: conditions.nois = true: there is no such condition: did you mean \"noise\"?",
        ),
        (&format!("{GRID}machine.costs.tick_us = [\"x\"]"), "2B2S with costs.tick_us = \"x\": "),
        (&format!("{GRID}workload.program.ferret.n = 1"), "the grid has no workload with this, but Sync-1, Comp-1"),
        (&format!("{GRID}policy.colab.takeover = [\"some\"]"), "expected one of any, blamed, none"),
        (
            &format!("{GRID}machine.costs.tick_us = [1, inf]"),
            "grid.toml:6:29: machine.costs.tick_us = inf: expected a finite",
        ),
        (
            &format!("{GRID}machine.costs.tick_us = 9223372036854775808"),
            "expected a whole number from -2^63 to 2^63 - 1",
        ),
        (
            &format!("{GRID}conditions.oracle = true\nconditions.host = [\"scx\", \"run\"]"),
            "grid.toml:7:27: conditions.host: host \"run\" sees no speedups",
        ),
        (
            &format!("{GRID}machine.costs.tik_us = 5"),
            "grid.toml:6:15: machine: 2B2S with costs.tik_us = 5: unknown key",
        ),
        (&format!("{GRID}machine.costs = 5"), "`costs` is a table: expected a value in it, such as `costs."),
        (
            &GRID.replace("\"2B2S\"", "\"2B2S\", \"2B2S\""),
            "grid.toml:1:21: machines has \"2B2S\" twice: expected it once",
        ),
        (
            &GRID.replace(
                "\"2B2S\"",
                concat!("\"2B2S\", \"", env!("CARGO_MANIFEST_DIR"), "/../../machines/2B2S.toml\""),
            ),
            "grid.toml:1:21: machines has \"2B2S\" twice, here as \"/",
        ),
        (
            &GRID.replace("\"Sync-1\"", "\"radix\", \"radix:4\""),
            "grid.toml:2:23: workloads has \"radix\" twice, here as \"radix:4\": expected it once",
        ),
        (
            &GRID.replace("\"colab\"", "\"colab\", \"colab:takeover=any\""),
            "grid.toml:3:29: policies has \"colab\" twice, here as \"colab:takeover=any\": expected it once",
        ),
        (
            &format!("{GRID}policy.wash.quantum = [\"1ms\", \"1000us\"]").replace("\"colab\"", "\"wash\""),
            "grid.toml:6:31: policy.wash.quantum has \"1ms\" twice, here as \"1000us\": expected it once",
        ),
        (
            &format!("{GRID}workload = [\"radix\"]"),
            "grid.toml:6:12: workload: expected what is varied, such as workload.program.radix.n = [1, 2]; names come into workloads",
        ),
    ] {
        let folder = folder(grid);
        let said = complaint(&run(folder.path(), &["sweep", "grid.toml"]));
        assert!(said.contains(expected) && said.contains("grid.toml"), "{expected}: {said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    let folder = folder(GRID);
    for shard in ["0/2", "3/2", "x"] {
        let output = run(folder.path(), &["sweep", "grid.toml", "--shard", shard]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("such as 3/8") && output.status.code() == Some(2));
    }
    let nowhere = complaint(&run(folder.path(), &["sweep", "grid.toml", "-o", "no/where.parquet"]));
    assert!(nowhere.contains("no/where.parquet"), "{nowhere}");
    for page in ["grid.parquet", "grid.parquet.journal", "grid.toml", "./grid.toml"] {
        let same = complaint(&run(folder.path(), &["sweep", "grid.toml", "--html", page]));
        assert!(same.contains(page) && same.contains("a file of the sweep"), "{same}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_grid_that_shrank_drops_its_runs_only_if_told() {
    let folder = folder(&GRID.replace("40", "2"));
    let folder = folder.path();
    json(folder, &["sweep", "grid.toml"]);
    fs::write(folder.join("grid.toml"), GRID.replace("40", "1")).unwrap();
    let said = complaint(&run(folder, &["sweep", "grid.toml"]));
    assert!(said.contains("8 of its runs are not in the grid") && said.contains("--drop"), "{said}");
    assert!(!folder.join("grid.parquet.journal").exists());
    assert_eq!(json(folder, &["sweep", "grid.toml", "--drop"])["computed"], 0);
}

/// A limit of this process stands for a full disk, as a test may not have one. What is written goes through a link, beside which
/// the journal stays.
#[test]
fn a_table_that_finds_no_room_costs_no_run() {
    // The table has the grid's text, the journal has not.
    let folder = folder(&format!("{}# {}", GRID.replace("40", "2"), "x".repeat(50_000)));
    let folder = folder.path();
    std::os::unix::fs::symlink("disk/grid.parquet", folder.join("grid.parquet")).unwrap();
    let no_disk = complaint(&run(folder, &["sweep", "grid.toml"]));
    assert!(no_disk.contains("cannot write grid.parquet: No such file"), "{no_disk}");
    assert!(!folder.join("grid.parquet.journal").exists(), "no run begins");
    fs::create_dir(folder.join("disk")).unwrap();
    let mut limited = Command::new("bash");
    limited.current_dir(folder).args(["-c", "ulimit -f 40; exec \"$0\" sweep grid.toml"]);
    let full = complaint_with(1, &limited.arg(assert_cmd::cargo::cargo_bin!("evenkeel")).output().unwrap());
    let kept = "cannot write grid.parquet, whose 16 runs are done and kept in grid.parquet.journal: ";
    assert!(full.contains(kept) && full.contains("File too large"), "{full}");
    assert!(
        full.contains("expected room there: make some, and the same command, without --fresh, writes it"),
        "{full}"
    );
    assert_eq!((lines(folder), fs::read_dir(folder.join("disk")).unwrap().count()), (16, 0), "nothing half written");
    let report = json(folder, &["sweep", "grid.toml"]);
    assert_eq!((&report["runs"], &report["computed"]), (&16.into(), &0.into()));
    assert!(folder.join("disk/grid.parquet").is_file() && !folder.join("grid.parquet.journal").exists());
}

/// A disk that has become full while runs were written down, too.
#[test]
fn a_journal_that_finds_no_room_keeps_what_it_has() {
    let folder = folder(GRID);
    let folder = folder.path();
    let mut limited = Command::new("sh");
    limited.current_dir(folder).args(["-c", "ulimit -f 16; exec \"$0\" sweep grid.toml"]);
    let full = complaint_with(1, &limited.arg(assert_cmd::cargo::cargo_bin!("evenkeel")).output().unwrap());
    assert!(full.contains("cannot write grid.parquet.journal: File too large"), "{full}");
    assert!(full.contains("make some, and give the same command again; what is done is not lost"), "{full}");
    let done = lines(folder);
    assert!(done > 0 && json(folder, &["sweep", "grid.toml"])["computed"] == RUNS - done);
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sweeps.md")).unwrap()
}

/// In place of GNU parallel: its jobs one after the other, on this machine.
const HERE: &str = r#"set -e
evenkeel() { "$0" "$@"; }
parallel() {
    job=
    while [ "$1" != ::: ]; do job="$job $1"; shift; done
    shift
    for value in "$@"; do eval "$(echo "$job" | sed "s/{}/$value/g")"; done
}
"#;

fn shell(folder: &Path, script: &str) {
    let mut sh = Command::new("sh");
    sh.current_dir(folder).args(["-c", &format!("{HERE}{script}")]).arg(assert_cmd::cargo::cargo_bin!("evenkeel"));
    let output = sh.output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What SLURM, GNU parallel and Snakemake would start, without them.
#[test]
fn the_jobs_of_the_page_make_the_table_of_one_machine() {
    let page = page();
    let blocks: Vec<&str> = page.split("```sh\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    let [slurm, parallel] = blocks[..] else { panic!("{blocks:?}") };
    let rules: Vec<&str> =
        page.lines().filter_map(|line| line.trim().strip_prefix("shell: \"")?.strip_suffix('"')).collect();
    let [part, whole] = rules[..] else { panic!("{rules:?}") };
    assert!(slurm.contains("#SBATCH --array=1-8\n") && page.contains("expand(\"part-{n}.parquet\", n=range(1, 9))"));
    let merge = parallel.lines().last().unwrap();
    let names: Vec<String> = (1..=8).map(|number| format!("part-{number}.parquet")).collect();
    let filled = |rule: &str, input: &str, output: &str| rule.replace("{input}", input).replace("{output}", output);
    let of_rule = (1..)
        .zip(&names)
        .map(|(number, name)| filled(part, "grid.toml", name).replace("{wildcards.n}", &format!("{number}")));
    let launchers: [Vec<String>; 3] = [
        (1..=8).map(|task| format!("SLURM_ARRAY_TASK_ID={task}\n{slurm}")).chain([merge.to_owned()]).collect(),
        vec![parallel.to_owned()],
        of_rule.chain([filled(whole, &names.join(" "), "grid.parquet")]).collect(),
    ];
    let grid = "machines = [\"2B2S\"]\nworkloads = [\"radix\"]\npolicies = [\"cfs\", \"gts\"]\nseeds = 8\n";
    let one = folder(grid);
    json(one.path(), &["sweep", "grid.toml"]);
    for scripts in launchers {
        let folder = folder(grid);
        for script in &scripts {
            shell(folder.path(), script);
        }
        let merged = fs::read(folder.path().join("grid.parquet")).unwrap();
        assert!(merged == fs::read(one.path().join("grid.parquet")).unwrap(), "{scripts:?}");
        assert!(names.iter().all(|name| folder.path().join(name).exists()), "{scripts:?}");
    }
}

/// The grid of the page, and what it says of it.
#[test]
fn the_grid_of_the_page_has_as_many_runs_as_it_says() {
    let page = page();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let folder = folder(rest.split_once("```").unwrap().0);
    let output = run(folder.path(), &["sweep", "grid.toml", "--dry-run"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let runs = text.split(' ').next().unwrap();
    assert!(page.contains(&format!("{runs} runs")) && text.starts_with("3840 runs, to grid.parquet:"), "{text}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

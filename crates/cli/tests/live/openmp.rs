//! `evenkeel run --openmp`: loops are split by speed, and do what OpenMP promises all the same.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program or a library, by a compiler, of the source of this name.
fn compiled(folder: &Path, compiler: &str, name: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live").join(name).with_extension("c");
    let program = folder.join(format!("{name}-{compiler}"));
    let built = Command::new(compiler).arg("-O1").args(options).arg("-o").args([&program, &source]).status().unwrap();
    assert!(built.success());
    program
}

/// How the library begins what it says of two threads that begin regions.
const SECOND: &str = "evenkeel: a second thread of this program begins OpenMP regions: ";

/// One that says what came of all kinds of loops.
pub(super) fn program(folder: &Path, compiler: &str) -> PathBuf {
    compiled(folder, compiler, "openmp", &["-fopenmp"])
}

/// The library, which cargo has built for this test, and has put beside the command, too, if it built the whole workspace.
pub(super) fn library() -> PathBuf {
    let library = assert_cmd::cargo::cargo_bin!("evenkeel").with_file_name("deps").join("libevenkeel_omp.so");
    assert!(library.is_file(), "there is no {}", library.display());
    library
}

fn run(command: &mut Command) -> (String, String) {
    // Loops can be ended early only where that is asked for.
    command.env("OMP_CANCELLATION", "true");
    // Threads that wait for others leave them the core.
    let Output { status, stdout, stderr } = command.env("OMP_WAIT_POLICY", "passive").output().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success(), "{stdout}\n{stderr}");
    (stdout, stderr)
}

/// How many iterations of a loop the first thread has done.
fn first(stderr: &str) -> u32 {
    let line = stderr.lines().find(|line| line.starts_with("the first of")).unwrap();
    line.split_whitespace().nth(6).unwrap().parse().unwrap()
}

/// How many iterations of a loop that the user has static were done by this.
fn of_user(stderr: &str, by: &str) -> u32 {
    let line = stderr.lines().find_map(|line| line.strip_prefix("the user's: ")?.strip_prefix(by)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How many iterations a chunk of six has in fact, in all loops that have such.
fn chunk(stderr: &str) -> u32 {
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("chunks of 6 have "));
    let mut all: Vec<&str> = lines.map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(all.len(), 9, "{stderr}");
    all.dedup();
    assert_eq!(all.len(), 1, "{stderr}");
    all[0].parse().unwrap()
}

#[test(libomp, two_cpus)]
fn loops_that_are_split_by_speed_do_what_openmp_promises() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), "clang");
    let (plain, said) = run(&mut Command::new(&program));
    assert_eq!((first(&said), chunk(&said)), (1 << 15, 6));
    let mut split =
        super::run::evenkeel(&["run", "--openmp", "--quiet", "--big", "0", "--little", "1", "--ratio", "3"]);
    split.env("EVENKEEL_OMP_LIBRARY", library());
    let (under, said) = run(split.arg("--").arg(&program).env("EVENKEEL_OMP", "report"));
    assert_eq!(under, plain);
    assert!(said.contains(" runs split; speeds of its cores: "), "{said}");
    assert_eq!(chunk(&said), 2);
    assert!(said.contains("schedule(dynamic): smaller chunks in "), "{said}");
    // More threads than cores: left alone. So is a program that is told so.
    for (threads, switch) in [("5", "on"), ("2", "off")] {
        let mut alone = super::run::evenkeel(&["run", "--openmp", "--quiet", "--big", "0", "--little", "1"]);
        alone.env("EVENKEEL_OMP_LIBRARY", library());
        let (under, said) = run(alone.arg("--").arg(&program).arg(threads).env("EVENKEEL_OMP", switch));
        let own = run(Command::new(&program).arg(threads));
        assert_eq!((under, first(&said), chunk(&said)), (own.0, first(&own.1), 6));
    }
}

#[test(libomp, two_cpus)]
fn what_the_library_is_not_told_it_finds_out() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), "clang");
    let library = library();
    let (plain, _) = run(&mut Command::new(&program));
    // Which CPUs there are it says itself; that one is ten times as fast it believes until it has measured.
    let mut command = Command::new(&program);
    let (alone, said) = run(command.env("LD_PRELOAD", &library).env("EVENKEEL_OMP_CORES", "0=10,1=1"));
    assert_eq!(alone, plain);
    assert!(first(&said) < 58_000, "what was said of its cores is not true, and must not stay: {said}");
    // So it is in a loop that the user has static, of which ten of eleven parts are done there before anything has been measured.
    assert_eq!(of_user(&said, "CPU 0"), 59_578, "{said}");
    assert!(of_user(&said, "the first thread") < 58_000, "{said}");
    // Where cores are equal it has nothing to do.
    let mut equal = Command::new(&program);
    equal.env("LD_PRELOAD", &library).env("EVENKEEL_OMP_CORES", "0=2,1=2").env("EVENKEEL_OMP", "report");
    let (equal, said) = run(&mut equal);
    assert_eq!((equal, first(&said)), (plain.clone(), 1 << 15));
    assert!(said.contains("are equally fast: loops stay as they are") && !said.contains("region at"), "{said}");
    let (mistaken, said) = run(Command::new(&program).env("LD_PRELOAD", &library).env("EVENKEEL_OMP", "yes"));
    assert_eq!(mistaken, plain);
    assert!(said.contains("EVENKEEL_OMP=\"yes\": expected on, off, reasons or report"), "{said}");
    let (mistaken, said) = run(Command::new(&program).env("LD_PRELOAD", &library).env("EVENKEEL_OMP_CORES", "0:3"));
    assert_eq!(mistaken, plain);
    assert!(said.contains("EVENKEEL_OMP_CORES=\"0:3\": expected CPUs with their speeds, as in 0=3,1=1"), "{said}");
}

/// A loop whose iterations meet loops of regions inside, which have one thread each.
#[test(libomp, two_cpus)]
fn a_loop_with_regions_inside_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "clang", "openmp_inner", &["-fopenmp"]);
    let mut command = Command::new(&program);
    command.arg("1").env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=10,1=1").env("OMP_NUM_THREADS", "2");
    let (_, said) = run(command.env("EVENKEEL_OMP", "report"));
    assert!(said.contains(" of 4 runs split; speeds of its cores: ") && !said.contains(": 0 of 4"), "{said}");
}

/// A thread of a loop that is split stays on its core in regions inside, too: it is in the middle of its part.
#[test(libomp, two_cpus)]
fn a_loop_that_is_split_stays_on_its_cores_behind_regions_inside() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "clang", "openmp_inner", &["-fopenmp"]);
    let command = || {
        let mut command = Command::new(&program);
        command.arg("2").env("OMP_NUM_THREADS", "2");
        command
    };
    let (_, plain) = run(&mut command());
    assert!(!plain.contains("after them on 1 CPUs\n"), "{plain}");
    let (_, said) = run(command().env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1"));
    assert!(said.contains("after them on 1 CPUs\n"), "{said}");
}

/// Threads that are on cores of their own start some that are not.
#[test(two_cpus)]
fn threads_of_gcc_s_regions_inside_a_region_may_run_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "gcc", "openmp_inner", &["-fopenmp"]);
    let (plain, _) = run(Command::new(&program).arg("2"));
    let mut command = Command::new(&program);
    command.arg("2").env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1");
    let (under, said) = run(command.env("EVENKEEL_OMP", "report"));
    assert_eq!(under, plain, "{said}");
    assert!(said.contains(" runs split; speeds of its cores: ") && !said.contains(": 0 of "), "{said}");
}

/// A program that loads a library with loops, which alone can see libomp, as a Python package does.
#[test(libomp, two_cpus)]
fn what_only_a_part_of_the_program_can_see_is_found_and_nothing_else_is_bound() {
    let folder = tempfile::tempdir().unwrap();
    let loops = compiled(folder.path(), "clang", "openmp_loops", &["-fopenmp", "-shared", "-fPIC"]);
    let program = compiled(folder.path(), "clang", "openmp_beside", &["-pthread"]);
    let (plain, _) = run(Command::new(&program).arg(&loops));
    let mut command = Command::new(&program);
    command.arg(&loops).env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1");
    let (under, said) = run(command.env("EVENKEEL_OMP", "report"));
    assert_eq!(under, plain, "{said}");
    assert_eq!(said.matches(" runs split; speeds of its cores: ").count(), 1, "a forked process says it again: {said}");
    assert_eq!(said.matches(SECOND).count(), 1, "{said}");
    let (off, said) = run(command.env("EVENKEEL_OMP", "off"));
    assert_eq!((off, said), (plain, String::new()));
}

/// One by GCC, whose loops divide themselves: more threads on the fast core do more.
#[test(two_cpus)]
fn programs_of_gcc_have_more_threads_where_cores_are_faster() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), "gcc");
    let (plain, said) = run(Command::new(&program).arg("0").env("OMP_NUM_THREADS", "2"));
    assert_eq!(first(&said), 1 << 15);
    let command = || {
        let mut command = Command::new(&program);
        command.arg("0").env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1");
        command.env("EVENKEEL_OMP", "report");
        command
    };
    let (under, said) = run(&mut command());
    assert_eq!((under, first(&said), chunk(&said)), (plain.clone(), 1 << 14, 2), "{said}");
    assert!(said.contains("the first of 4 threads") && said.contains(" runs split; speeds of its cores: "), "{said}");
    assert_eq!((of_user(&said, "CPU 0"), of_user(&said, "the first thread")), (3 << 14, 1 << 14), "{said}");
    // A user who says how many threads there are has them.
    let (own, said) = run(command().env("OMP_NUM_THREADS", "2"));
    assert_eq!((own, first(&said), chunk(&said)), (plain.clone(), 1 << 15, 6), "{said}");
    let (own, said) = run(command().env("EVENKEEL_OMP", "off").env("OMP_NUM_THREADS", "3"));
    assert!(own == plain && said.contains("the first of 3 threads"), "{said}");
    let (equal, said) = run(command().env("EVENKEEL_OMP_CORES", "0=1,1=1").env("OMP_NUM_THREADS", ""));
    assert!(equal == plain && !said.contains("of 4 threads"), "{said}");
}

/// A library that alone can see libgomp, and says how many threads it wants. Its functions leave no trace where they end with a call.
#[test(two_cpus)]
fn a_region_of_gcc_s_with_its_own_number_of_threads_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-fopenmp", "-shared", "-fPIC", "-foptimize-sibling-calls"];
    let loops = compiled(folder.path(), "gcc", "openmp_loops", &options);
    let program = compiled(folder.path(), "gcc", "openmp_beside", &["-pthread"]);
    let (plain, _) = run(Command::new(&program).arg(&loops));
    let mut command = Command::new(&program);
    command.arg(&loops).env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1");
    let (under, said) = run(command.env("EVENKEEL_OMP", "reasons"));
    assert_eq!(under, plain, "{said}");
    assert_eq!(said.matches(SECOND).count(), 1, "{said}");
}

/// A region of one thread binds none, so that it may be beside another thread's.
#[test(libomp, two_cpus)]
fn a_region_of_one_thread_beside_others_leaves_those_split() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, threads) in [("clang", &["1", "2"][..]), ("gcc", &["1"][..])] {
        let program = compiled(folder.path(), compiler, "openmp_thread", &["-fopenmp", "-pthread"]);
        let (plain, _) = run(Command::new(&program).args(threads));
        let mut command = Command::new(&program);
        command.args(threads).env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1");
        let (under, said) = run(command.env("EVENKEEL_OMP", "report"));
        assert_eq!(under, plain, "{compiler}: {said}");
        assert!(said.contains(" of 8 runs split; ") && !said.contains(SECOND), "{compiler}: {said}");
    }
}

/// Two threads begin regions: those of the first one, which were on their cores until then, may go anywhere, though there is no loop that says so.
#[test(libomp, two_cpus)]
fn threads_are_free_in_the_first_region_that_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, threads) in [("clang", &["2", "2"][..]), ("gcc", &["2"][..])] {
        let program = compiled(folder.path(), compiler, "openmp_thread", &["-fopenmp", "-pthread"]);
        let (plain, _) = run(Command::new(&program).args(threads));
        assert!(plain.contains("each on ") && !plain.contains("each on 1 CPUs"), "{compiler}: {plain}");
        let mut command = Command::new(&program);
        command.args(threads).env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1");
        let (under, said) = run(command.env("EVENKEEL_OMP", "report"));
        assert_eq!(under, plain, "{compiler}: {said}");
        assert!(said.contains(" of 4 runs split; ") && said.contains(SECOND), "{compiler}: {said}");
    }
}

/// What the library says of a program that it leaves alone, which has this argument and these variables.
fn reasons(program: &Path, argument: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(program);
    command.arg(argument).env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1");
    run(command.env("EVENKEEL_OMP", "reasons").envs(variables.iter().copied())).1
}

#[test(libomp, two_cpus)]
fn why_loops_of_clang_s_are_left_alone_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), "clang");
    for (threads, tool, reason) in [
        ("5", "enabled", "evenkeel: regions with more threads than cores stay as they are\n"),
        ("2", "disabled", "evenkeel: the OpenMP library has asked for no tool (OMP_TOOL=disabled), or has another "),
    ] {
        let said = reasons(&program, threads, &[("OMP_TOOL", tool)]);
        assert_eq!(said.matches(reason).count(), 1, "{said}");
    }
}

#[test(two_cpus)]
fn why_regions_of_gcc_s_are_left_alone_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "gcc", "openmp_teams", &["-fopenmp"]);
    for (does, variable, reason) in [
        ("once", ("OMP_NUM_THREADS", "2"), "evenkeel: OMP_NUM_THREADS is set: "),
        ("once", ("OMP_THREAD_LIMIT", "3"), "evenkeel: OMP_THREAD_LIMIT allows fewer threads than a team would have: "),
        ("once", ("OMP_PROC_BIND", "true"), "evenkeel: OMP_PROC_BIND, OMP_PLACES or the like is set: "),
        ("own number", ("OMP_PROC_BIND", "false"), "evenkeel: regions for which this program says how many threads "),
    ] {
        let said = reasons(&program, does, &[variable]);
        assert_eq!(said.matches(reason).count(), 1, "{said}");
    }
}

/// `run` has it said, unless it is to be quiet.
#[test(two_cpus)]
fn run_says_why_regions_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "gcc", "openmp_teams", &["-fopenmp"]);
    for (quiet, times) in [(false, 1), (true, 0)] {
        let mut command = super::run::evenkeel(&["run", "--openmp", "--big", "0", "--little", "1", "--ratio", "3"]);
        command.env("EVENKEEL_OMP_LIBRARY", library()).env_remove("EVENKEEL_OMP").env("OMP_NUM_THREADS", "2");
        if quiet {
            command.arg("--quiet");
        }
        let (_, said) = run(command.arg("--").arg(&program).arg("once"));
        assert_eq!(said.matches("evenkeel: OMP_NUM_THREADS is set: ").count(), times, "{said}");
    }
}

/// What a program of GCC's prints that does this, by itself and with the library, and what the library says.
fn teams(does: &[&str]) -> (String, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "gcc", "openmp_teams", &["-fopenmp"]);
    // Two CPUs also where there are more, so that the library has more threads than these.
    let on_two = || {
        let mut command = Command::new("taskset");
        command.args(["-c", "0,1"]).arg(&program).args(does);
        command
    };
    let (plain, _) = run(&mut on_two());
    let (under, said) = run(on_two().env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1"));
    (plain, under, said)
}

/// Such as of a program that is one long region.
#[test(two_cpus)]
fn threads_of_gcc_s_are_bound_from_the_first_run_of_a_region_on() {
    let (plain, under, _) = teams(&["once"]);
    assert!(!plain.ends_with("at most 1 CPUs\n"), "{plain}");
    assert_eq!(under, "4 threads, each on at most 1 CPUs\n");
}

#[test(two_cpus)]
fn regions_of_gcc_s_inside_a_region_have_as_many_threads_as_without_the_library() {
    // Also where a program says how many it wants, and that is as many as the library's teams have.
    for does in [&["inside"][..], &["inside", "4"], &["inside", "3"], &["inside", "all"]] {
        let (plain, under, _) = teams(does);
        assert_eq!(under, plain, "{does:?}");
    }
}

#[test(two_cpus)]
fn a_number_of_threads_that_fortran_says_in_eight_bytes_is_seen() {
    let (plain, under, _) = teams(&["eight bytes"]);
    assert_eq!(under, plain);
}

#[test(two_cpus)]
fn what_was_split_is_not_said_again_by_a_process_that_the_program_forks() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "gcc", "openmp_teams", &["-fopenmp"]);
    let mut command = Command::new(&program);
    command.arg("forks").env("LD_PRELOAD", library()).env("EVENKEEL_OMP_CORES", "0=3,1=1");
    let (_, said) = run(command.env("EVENKEEL_OMP", "report"));
    assert_eq!(said.matches("evenkeel: region at ").count(), 1, "{said}");
}

/// They are not said to have more threads than is good for them.
#[test(two_cpus)]
fn nothing_is_said_of_short_regions_whose_number_of_threads_the_program_chooses() {
    let (_, _, said) = teams(&["own number"]);
    assert_eq!(said, "");
}

#[test(libomp)]
fn programs_without_openmp_are_left_alone() {
    // Not even what is wrong is said.
    let (said, wrong) = run(Command::new("echo").arg("so").env("LD_PRELOAD", library()).env("EVENKEEL_OMP", "wrong"));
    assert_eq!((said.as_str(), wrong.as_str()), ("so\n", ""));
}

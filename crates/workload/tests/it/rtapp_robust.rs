//! Whole files: those written here, those of rt-app where they lie beside the repository, and damaged ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use evenkeel_model::Ns;
use evenkeel_workload::rtapp;
use evenkeel_workload::{Op, Workload};
use proptest::prelude::*;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every rt-app file of a folder with its text; empty if there is no such folder.
fn files(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect()
}

fn ours() -> Vec<(String, String)> {
    files(&workspace().join("workloads/rt-app"))
}

fn ops(workload: &Workload) -> Vec<&Op> {
    fn collect<'a>(ops: &'a [Op], all: &mut Vec<&'a Op>) {
        for op in ops {
            all.push(op);
            if let Op::Repeat { body, .. } = op {
                collect(body, all);
            }
        }
    }
    let mut all = Vec::new();
    for thread in workload.programs.iter().flat_map(|program| &program.threads) {
        collect(&thread.ops, &mut all);
    }
    all
}

#[test]
fn our_own_files_load_without_a_warning_and_end() {
    let files = ours();
    assert_eq!(files.len(), 2);
    for (name, text) in files {
        let imported = rtapp::load(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(imported.warnings, [], "{name}");
        let end = imported.workload.duration.unwrap();
        assert!((Ns::from_secs(2)..=Ns::from_secs(6)).contains(&end), "{name} ends after {end}");
    }
}

/// How often operations that `wanted` picks are executed until all threads have ended.
fn executions(ops: &[Op], wanted: &dyn Fn(&Op) -> bool) -> u64 {
    let count = |op: &Op| match op {
        Op::Repeat { times, body } => times.unwrap() * executions(body, wanted),
        op => u64::from(wanted(op)),
    };
    ops.iter().map(count).sum()
}

#[test]
fn our_own_files_do_not_leave_a_thread_waiting() {
    for (name, text) in ours() {
        let imported = rtapp::load(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        let program = &imported.workload.programs[0];
        let total = |wanted: &dyn Fn(&Op) -> bool| -> u64 {
            program.threads.iter().map(|thread| executions(&thread.ops, wanted)).sum()
        };
        for (id, semaphore) in program.semaphores.iter().enumerate() {
            let posts = total(&|op| matches!(op, Op::Post(post) if post.index() == id));
            let acquired = total(&|op| matches!(op, Op::Acquire(acquire) if acquire.index() == id));
            assert_eq!(posts, acquired, "{} in {name}", semaphore.name);
        }
        for (id, barrier) in program.barriers.iter().enumerate() {
            for thread in &program.threads {
                let arrivals = executions(&thread.ops, &|op| matches!(op, Op::Barrier(met) if met.index() == id));
                let meetings =
                    total(&|op| matches!(op, Op::Barrier(met) if met.index() == id)) / u64::from(barrier.parties);
                assert!(arrivals == 0 || arrivals == meetings, "{} at {} in {name}", thread.name, barrier.name);
            }
        }
        // A resume or a signal without a waiter is lost, so there are at least half as many again.
        for id in 0..program.events.len() {
            let resumes = total(&|op| matches!(op, Op::Resume(event) if event.index() == id));
            let suspends = total(&|op| matches!(op, Op::Suspend(event) if event.index() == id));
            assert!(2 * resumes >= 3 * suspends, "{} in {name}", program.events[id]);
        }
        for id in 0..program.conditions.len() {
            let waits = |thread: &evenkeel_workload::Thread| {
                executions(&thread.ops, &|op| matches!(op, Op::Wait { condition, .. } if condition.index() == id))
            };
            let signals = total(&|op| matches!(op, Op::Signal(signal) if signal.index() == id));
            let broadcasts = total(&|op| matches!(op, Op::Broadcast(signal) if signal.index() == id));
            let waited: u64 = program.threads.iter().map(waits).sum();
            let longest = program.threads.iter().map(waits).max().unwrap();
            assert!(2 * signals >= 3 * waited || 2 * broadcasts >= 3 * longest, "{} in {name}", program.conditions[id]);
        }
    }
}

#[test]
fn rt_apps_own_files_load_with_every_event_in_place() {
    if evenkeel_testing::skips(&[&evenkeel_testing::needs::rt_app_files]) {
        return;
    }
    for (name, text) in files(Path::new(evenkeel_testing::needs::RT_APP_FILES)) {
        let imported = rtapp::load(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        for warning in &imported.warnings {
            println!("{warning}");
        }
        let all = ops(&imported.workload);
        assert!(all.iter().any(|op| matches!(op, Op::Compute { .. })), "{name} computes nothing");
        let file = Path::new(&name).file_stem().unwrap().to_string_lossy().into_owned();
        let program = &imported.workload.programs[0];
        match file.as_str() {
            "browser-short" => assert_eq!(program.threads.len(), 9),
            "tutorial-example3" => assert_eq!(program.threads.len(), 12),
            // No duration, and nothing in it ends.
            "tutorial-example4" => assert_eq!(imported.workload.duration, Some(Ns::from_secs(10))),
            _ => {}
        }
        // Its twelve instances have every event twelve times.
        if file != "tutorial-example3" {
            every_key_is_an_operation(&name, &text, &all);
        }
    }
}

/// Counts keys in the text, repeated ones included. Holds for files without instances.
fn every_key_is_an_operation(name: &str, text: &str, ops: &[&Op]) {
    type Is = fn(&Op) -> bool;
    let operations: [(&str, Is); 6] = [
        ("run", |op| matches!(op, Op::Compute { phase, .. } if phase.index() == 0)),
        ("suspend", |op| matches!(op, Op::Suspend(_))),
        ("resume", |op| matches!(op, Op::Resume(_))),
        ("lock", |op| matches!(op, Op::Lock(_))),
        ("unlock", |op| matches!(op, Op::Unlock(_))),
        ("timer", |op| matches!(op, Op::Timer { .. })),
    ];
    for (key, is) in operations {
        let written = text.matches(&format!("\"{key}\"")).count();
        assert_eq!(ops.iter().filter(|op| is(op)).count(), written, "{key} in {name}");
    }
    let waits = text.matches("\"wait\"").count() + text.matches("\"sync\"").count();
    assert_eq!(ops.iter().filter(|op| matches!(op, Op::Wait { .. })).count(), waits, "wait in {name}");
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let text = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        assert!(rtapp::load("deep.json", &text).is_err());
    }
}

#[test]
fn a_long_chain_of_forks_is_no_overflow() {
    let task = |n: usize| {
        format!("\"t{n}\": {{\"loop\": 1, \"instance\": {}, \"fork\": \"t{}\"}},", usize::from(n == 0), n + 1)
    };
    let tasks: String = (0..3000).map(task).collect();
    let text = format!("{{\"tasks\": {{{tasks} \"t3000\": {{\"loop\": 1, \"instance\": 0, \"run\": 1}}}}}}");
    let workload = rtapp::load("chain.json", &text).unwrap_or_else(|error| panic!("{error}")).workload;
    assert_eq!(workload.programs[0].threads.len(), 3001);
}

#[test]
fn forks_that_multiply_are_an_error() {
    let task = |n: usize| format!("\"t{n}\": {{\"loop\": 9, \"fork\": \"t{}\"}},", n + 1);
    let tasks: String = (0..30).map(task).collect();
    let text = format!("{{\"tasks\": {{{tasks} \"t30\": {{\"loop\": 1, \"run\": 1}}}}}}");
    let message = rtapp::load("bomb.json", &text).unwrap_err().to_string();
    assert!(message.contains("too many threads"), "{message}");
}

#[test]
fn a_task_has_no_control_characters_in_its_name() {
    let text = "{\"tasks\": {\n\"a\\u001b[2J\": {\"loop\": 1, \"run\": 1}}}";
    let message = rtapp::load("t.json", text).unwrap_err().to_string();
    assert_eq!(message, r#"t.json:2: "a\u{1b}[2J": expected a name without control characters"#);
}

/// A piece that changes what a file means, put anywhere.
fn piece() -> impl Strategy<Value = String> {
    let pieces =
        ["{", "}", "[", "]", ",", ":", "\"", "-1", "0", "99999999999999999999", "null", "/*", "//", "\\u12", "é"];
    let keys =
        ["\"loop\":-1,", "\"fork\":\"Main\",", "\"phases\":{},", "\"instance\":0,", "\"cpus\":[],", "\"run\":0,"];
    prop_oneof![
        proptest::sample::select([&pieces[..], &keys].concat()).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_load_or_say_where_they_are_damaged(
        which in 0..2usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..12usize, piece()), 1..6),
    ) {
        let mut text: Vec<char> = ours()[which].1.chars().collect();
        for (at, cut, piece) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(error) = rtapp::load("damaged.json", &text) {
            let lines = text.lines().count().max(1) as u32 + 1;
            prop_assert!((1..=lines).contains(&error.line), "{error}");
        }
    }

    #[test]
    fn any_text_at_all_is_no_panic(text in any::<String>()) {
        let _ = rtapp::load("any.json", &text);
    }
}

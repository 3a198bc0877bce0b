//! What rt-app's events and settings become, one feature a test.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_model::Ns;
use evenkeel_workload::program::{BarrierId, ConditionId, EventId, LockId, PhaseId, SemaphoreId, ThreadIndex, TimerId};
use evenkeel_workload::program::{Calibration, Clamp, Class, SchedParams, Spread, Start, TimerMode, Work};
use evenkeel_workload::rtapp::{self, Imported};
use evenkeel_workload::{Op, Program};

fn load(text: &str) -> Imported {
    rtapp::load("dir/case.json", text).unwrap_or_else(|error| panic!("{error}"))
}

/// The one program of a file that loads without a warning.
fn program(text: &str) -> Program {
    let imported = load(text);
    assert_eq!(imported.warnings, []);
    imported.workload.programs.into_iter().next().unwrap()
}

/// The operations of a task `t` that runs these events once.
fn once(events: &str) -> Vec<Op> {
    ops(&format!(r#"{{"tasks": {{"t": {{"loop": 1, {events}}}}}}}"#))
}

/// The operations of a file's first thread.
fn ops(text: &str) -> Vec<Op> {
    program(text).threads.remove(0).ops
}

fn run(us: u64) -> Op {
    Op::Compute { phase: PhaseId(0), work: Work::Time(Ns::from_us(us)), spread: Spread::None }
}

fn sleep(us: u64) -> Op {
    Op::Sleep { span: Ns::from_us(us), spread: Spread::None }
}

fn warnings(text: &str) -> Vec<String> {
    load(text).warnings.iter().map(ToString::to_string).collect()
}

fn error(text: &str) -> String {
    match rtapp::load("dir/case.json", text) {
        Ok(_) => panic!("loaded: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn repeated_keys_comments_and_trailing_commas_keep_their_order() {
    let text = r#"{
        // one
        "tasks": { "t": { "loop": 1, "run": 1, "sleep": 2, /* again */ "run": 3, "sleep": 4, }, },
    }"#;
    assert_eq!(ops(text), [run(1), sleep(2), run(3), sleep(4)]);
}

#[test]
fn events_match_by_their_beginning_and_the_longer_one_wins() {
    let events =
        r#""run0": 1, "run_big": 2, "runtime1": 3, "sleepy": 4, "unlock2": "m", "sem_wait9": "s", "yield": """#;
    let expected = [
        run(1),
        run(2),
        Op::Spin(Ns::from_us(3)),
        sleep(4),
        Op::Unlock(LockId(0)),
        Op::Acquire(SemaphoreId(0)),
        Op::Yield,
    ];
    assert_eq!(once(events), expected);
}

#[test]
fn events_of_no_length_are_left_out() {
    assert_eq!(once(r#""run": 0, "sleep": 0, "runtime": 0, "run": 5"#), [run(5)]);
}

#[test]
fn a_task_without_loop_runs_for_ever_and_a_loop_beside_events_is_the_phases() {
    let file = |task: &str| format!(r#"{{"tasks": {{"t": {{{task}}}}}, "global": {{"duration": 1}}}}"#);
    let repeat = |times| vec![Op::Repeat { times, body: vec![run(1)] }];
    assert_eq!(ops(&file(r#""run": 1"#)), repeat(None));
    assert_eq!(ops(&file(r#""run": 1, "loop": -1"#)), repeat(None));
    assert_eq!(ops(&file(r#""run": 1, "loop": 7"#)), repeat(Some(7)));
    assert_eq!(ops(&file(r#""run": 1, "loop": 1"#)), [run(1)]);
    assert_eq!(ops(&file(r#""phases": {"p": {"run": 1}}"#)), repeat(None));
    assert_eq!(ops(&file(r#""loop": 0, "phases": {"p": {"run": 1}}"#)), []);
}

#[test]
fn phases_follow_each_other_even_under_one_name_and_loop_by_themselves() {
    let text = r#"{"tasks": {"t": {"loop": 2, "phases": {
        "p": {"loop": 3, "run": 1}, "q": {"sleep": 2}, "p": {"run": 5}}}}}"#;
    let body = vec![Op::Repeat { times: Some(3), body: vec![run(1)] }, sleep(2), run(5)];
    assert_eq!(ops(text), [Op::Repeat { times: Some(2), body }]);
}

#[test]
fn a_phase_with_loop_0_never_ends_as_in_rt_app_and_hides_the_next() {
    let text = "{\"tasks\": {\"t\": {\"phases\": {\"p\": {\"loop\": 0, \"run\": 1},\n\"q\": {\"run\": 2}}}}, \"global\": {\"duration\": 1}}";
    let imported = load(text);
    let inner = vec![Op::Repeat { times: None, body: vec![run(1)] }];
    assert_eq!(imported.workload.programs[0].threads[0].ops, [Op::Repeat { times: None, body: inner }]);
    let lines: Vec<_> = imported.warnings.iter().map(|warning| (warning.line, warning.key.as_str())).collect();
    assert_eq!(lines, [(1, "loop"), (2, "t")]);
}

#[test]
fn instances_are_threads_numbered_through_the_file_and_delays_postpone_them() {
    let program = program(
        r#"{"tasks": {
        "a": {"instance": 2, "delay": 300, "loop": 1, "run": 1},
        "b": {"loop": 1, "run": 1},
        "never": {"instance": 0, "run": 1}}}"#,
    );
    let threads: Vec<_> = program.threads.iter().map(|thread| (thread.name.as_str(), thread.start)).collect();
    let late = Start::At(Ns::from_us(300));
    assert_eq!(threads, [("a-0", late), ("a-1", late), ("b-2", Start::At(Ns::ZERO))]);
}

#[test]
fn locks_and_conditions_are_shared_by_name_and_sync_signals_and_waits() {
    let text = r#"{"tasks": {
        "a": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "sync": {"ref": "d", "mutex": "m"}, "unlock": "m"},
        "b": {"loop": 1, "lock": "m", "signal": "c", "broad": "d", "unlock": "m"}}}"#;
    let program = program(text);
    let (m, c, d) = (LockId(0), ConditionId(0), ConditionId(1));
    let wait = |condition| Op::Wait { condition, lock: m };
    assert_eq!(program.threads[0].ops, [Op::Lock(m), wait(c), Op::Signal(d), wait(d), Op::Unlock(m)]);
    assert_eq!(program.threads[1].ops, [Op::Lock(m), Op::Signal(c), Op::Broadcast(d), Op::Unlock(m)]);
    assert_eq!((program.locks, program.conditions), (vec!["m".into()], vec!["c".into(), "d".into()]));
}

#[test]
fn a_sync_without_the_mutex_takes_it_as_the_tutorial_says() {
    let text = r#"{"tasks": {"t": {"loop": 1, "sync": {"ref": "c", "mutex": "m"}}}}"#;
    let imported = load(text);
    let wait = Op::Wait { condition: ConditionId(0), lock: LockId(0) };
    let expected = [Op::Lock(LockId(0)), Op::Signal(ConditionId(0)), wait, Op::Unlock(LockId(0))];
    assert_eq!(imported.workload.programs[0].threads[0].ops, expected);
    assert_eq!(imported.warnings[0].key, "sync");
}

#[test]
fn a_barrier_waits_for_every_instance_at_every_place_that_names_it() {
    let text = r#"{"tasks": {
        "a": {"instance": 3, "loop": 1, "barrier": "b"}, "c": {"loop": 1, "barrier0": "b", "barrier1": "b"}}}"#;
    let program = program(text);
    assert_eq!((program.barriers[0].name.as_str(), program.barriers[0].parties), ("b", 5));
    assert_eq!(program.threads[3].ops, [Op::Barrier(BarrierId(0)), Op::Barrier(BarrierId(0))]);
}

#[test]
fn semaphores_start_at_zero_and_post_and_wait_mean_the_same_one() {
    let program = program(r#"{"tasks": {"t": {"loop": 1, "sem_post": "s", "sem_wait": "s"}}}"#);
    assert_eq!(program.threads[0].ops, [Op::Post(SemaphoreId(0)), Op::Acquire(SemaphoreId(0))]);
    assert_eq!(program.semaphores[0].count, 0);
}

#[test]
fn timers_are_shared_unless_unique_and_one_absolute_makes_the_timer_absolute() {
    let text = r#"{"tasks": {
        "a": {"instance": 2, "loop": 1,
              "timer": {"ref": "unique1", "period": 5},
              "timer": {"ref": "unique1", "period": 6, "mode": "absolute"},
              "timer": {"ref": "tick", "period": 7}},
        "b": {"loop": 1, "timer": {"ref": "tick", "period": 8}, "timer": {"ref": "unique1", "period": 9}}}}"#;
    let program = program(text);
    let timer = |id, us, mode| Op::Timer { timer: TimerId(id), period: Ns::from_us(us), mode };
    let (absolute, relative) = (TimerMode::Absolute, TimerMode::Relative);
    assert_eq!(program.threads[0].ops, [timer(0, 5, absolute), timer(0, 6, absolute), timer(1, 7, relative)]);
    assert_eq!(program.threads[1].ops, [timer(2, 5, absolute), timer(2, 6, absolute), timer(1, 7, relative)]);
    assert_eq!(program.threads[2].ops, [timer(1, 8, relative), timer(3, 9, relative)]);
    assert_eq!(program.timers, ["a-0:unique1", "tick", "a-1:unique1", "b-2:unique1"]);
}

#[test]
fn a_timer_of_a_forked_thread_says_from_when_it_counts() {
    let text = |event: &str, instances: u32| {
        format!(
            r#"{{"tasks": {{"a": {{"loop": 1, {event}}},
            "b": {{"instance": {instances}, "loop": 1, "timer": {{"ref": "unique", "period": 5}}}}}}}}"#
        )
    };
    let shared = text(r#""timer": {"ref": "tick", "period": 5}, "fork": "b""#, 0).replace("unique", "tick");
    assert!(warnings(&shared).is_empty(), "{:?}", warnings(&shared));
    let forked = warnings(&text(r#""fork": "b""#, 0));
    assert_eq!(forked, ["dir/case.json:2: `timer`: counts from the fork here; in rt-app from the start of the run"]);
    assert!(warnings(&text(r#""run": 1"#, 1)).is_empty());
}

#[test]
fn a_suspend_waits_for_a_resume_of_its_own_task_whatever_its_text() {
    let text = r#"{"tasks": {
        "a": {"loop": 1, "suspend": "", "suspend": "nobody resumes this", "suspend": true, "suspend": "a"},
        "b": {"loop": 1, "resume": "a"}}}"#;
    let program = program(text);
    assert_eq!(program.threads[0].ops, vec![Op::Suspend(EventId(0)); 4]);
    assert_eq!(program.threads[1].ops, [Op::Resume(EventId(0))]);
    assert_eq!(program.events, ["a"]);
}

#[test]
fn a_suspend_on_a_name_that_the_file_resumes_means_that_name_and_says_so() {
    let text =
        "{\"tasks\": {\n\"a\": {\"loop\": 1,\n\"suspend\": \"queue\"}, \"b\": {\"loop\": 1, \"resume\": \"queue\"}}}";
    let imported = load(text);
    assert_eq!(imported.workload.programs[0].threads[0].ops, [Op::Suspend(EventId(0))]);
    assert_eq!(imported.workload.programs[0].events, ["queue"]);
    assert_eq!((imported.warnings[0].line, imported.warnings[0].key.as_str()), (3, "suspend"));
}

#[test]
fn a_suspend_shares_its_condition_with_events_that_name_it() {
    let text = r#"{"tasks": {"a": {"loop": 1, "suspend": ""}, "b": {"loop": 1, "resume": "a", "signal": "a"}}}"#;
    let program = program(text);
    let (condition, lock) = (ConditionId(0), LockId(0));
    assert_eq!(program.threads[0].ops, [Op::Lock(lock), Op::Wait { condition, lock }, Op::Unlock(lock)]);
    let resume = [Op::Lock(lock), Op::Broadcast(condition), Op::Unlock(lock), Op::Signal(condition)];
    assert_eq!(program.threads[1].ops, resume);
}

#[test]
fn a_fork_makes_a_thread_each_time() {
    let text = r#"{"tasks": {
        "main": {"loop": 1, "fork": "w", "fork": "w"}, "w": {"instance": 0, "loop": 1, "run": 4}}}"#;
    let program = program(text);
    assert_eq!(program.threads[0].ops, [Op::Spawn(ThreadIndex(1)), Op::Spawn(ThreadIndex(2))]);
    let forked: Vec<_> = program.threads[1..].iter().map(|t| (t.name.as_str(), t.start, t.ops.clone())).collect();
    assert_eq!(forked, [("w-1-0000", Start::Spawned, vec![run(4)]), ("w-2-0001", Start::Spawned, vec![run(4)])]);
}

#[test]
fn a_loop_that_forks_uses_sixteen_threads_in_turn() {
    let text = |times| {
        format!(
            r#"{{"tasks": {{"main": {{"loop": {times}, "fork": "w", "run": 1}},
            "w": {{"instance": 0, "loop": 1, "run": 4}}}}, "global": {{"duration": 1}}}}"#
        )
    };
    let short = program(&text(3));
    let spawn = |index| Op::Spawn(ThreadIndex(index));
    assert_eq!(short.threads[0].ops, [spawn(1), run(1), spawn(2), run(1), spawn(3), run(1)]);

    let long = load(&text(34));
    assert_eq!(long.warnings[0].key, "fork");
    let program = &long.workload.programs[0];
    assert_eq!(program.threads.len(), 17);
    let Op::Repeat { times: Some(2), body } = &program.threads[0].ops[0] else { panic!("no loop") };
    assert_eq!(body.iter().filter(|op| matches!(op, Op::Spawn(_))).count(), 16);
    assert_eq!(program.threads[0].ops[1..], [spawn(1), run(1), spawn(2), run(1)]);

    assert_eq!(load(&text(-1)).workload.programs[0].threads.len(), 17);

    for times in 1..40 {
        let imported = load(&text(times));
        let ops = &imported.workload.programs[0].threads[0].ops;
        let executed = [executions(ops, |op| matches!(op, Op::Spawn(_))), executions(ops, |op| *op == run(1))];
        assert_eq!(executed, [times as u64; 2]);
        assert_eq!(imported.warnings.len(), usize::from(times > 16), "{times}: {:?}", imported.warnings);
    }
}

/// How often operations that `wanted` picks are executed.
fn executions(ops: &[Op], wanted: fn(&Op) -> bool) -> u64 {
    let count = |op: &Op| match op {
        Op::Repeat { times, body } => times.unwrap() * executions(body, wanted),
        op => u64::from(wanted(op)),
    };
    ops.iter().map(count).sum()
}

#[test]
fn a_task_that_forks_itself_starts_again() {
    let text = r#"{"tasks": {"a": {"loop": 1, "fork": "b"}, "b": {"instance": 0, "loop": 1, "run": 1, "fork": "b"}}}"#;
    let imported = load(text);
    let program = &imported.workload.programs[0];
    assert_eq!(program.threads[1].ops, [run(1), Op::Spawn(ThreadIndex(1))]);
    assert_eq!(imported.warnings[0].key, "fork");

    // One that starts with the run forks a thread of its own, and that one itself.
    let imported = load(r#"{"tasks": {"a": {"loop": 1, "run": 1, "fork": "a"}}}"#);
    let threads = &imported.workload.programs[0].threads;
    assert_eq!(threads.iter().map(|thread| thread.name.as_str()).collect::<Vec<_>>(), ["a-0", "a-1-0000"]);
    assert!(threads.iter().all(|thread| thread.ops == [run(1), Op::Spawn(ThreadIndex(1))]));
}

#[test]
fn policies_become_classes_with_rt_apps_default_priorities() {
    let class =
        |keys: &str| program(&format!(r#"{{"tasks": {{"t": {{"loop": 1, "run": 1{keys}}}}}}}"#)).threads[0].sched.class;
    assert_eq!(class(""), Class::fair(0));
    assert_eq!(class(r#", "priority": -19"#), Class::fair(-19));
    assert_eq!(class(r#", "policy": "SCHED_BATCH", "priority": 19"#), Class::fair(19));
    assert_eq!(class(r#", "policy": "SCHED_IDLE""#), Class::idle());
    assert_eq!(class(r#", "policy": "SCHED_FIFO""#), Class::RealTime { priority: 10 });
    assert_eq!(class(r#", "policy": "SCHED_RR", "priority": 99"#), Class::RealTime { priority: 99 });
    assert_eq!(class(r#", "policy": "SCHED_DEADLINE""#), Class::RealTime { priority: 100 });
    let text = r#"{"tasks": {"t": {"loop": 1, "run": 1}}, "global": {"default_policy": "SCHED_FIFO"}}"#;
    assert_eq!(program(text).threads[0].sched.class, Class::RealTime { priority: 10 });
}

#[test]
fn class_and_clamps_stay_until_changed_and_cores_fall_back_to_the_tasks() {
    let text = r#"{"tasks": {"t": {"loop": 2, "cpus": [5, 4], "util_min": 100, "phases": {
        "p": {"cpus": [0], "run": 1},
        "q": {"policy": "SCHED_FIFO", "run": 2},
        "r": {"util_max": 800, "priority": 7, "run": 3}}}}}"#;
    let thread = program(text).threads.remove(0);
    let params =
        |class, cpus: &[u16], max| SchedParams { class, cpus: Some(cpus.to_vec()), clamp: Clamp { min: 100, max } };
    let (fair, fifo) = (Class::fair(0), |priority| Class::RealTime { priority });
    assert_eq!(thread.sched, params(fair, &[4, 5], 1024));
    let set = |class, cpus, max| Op::Set(params(class, cpus, max));
    let first = [set(fair, &[0], 1024), run(1), set(fifo(10), &[4, 5], 1024), run(2)];
    // The second time the first phase begins under what the last one set.
    let second = [set(fifo(7), &[0], 800), run(1), set(fifo(10), &[4, 5], 800), run(2)];
    let last = [set(fifo(7), &[4, 5], 800), run(3)];
    assert_eq!(thread.ops, [&first[..], &last, &second, &last].concat());
}

#[test]
fn a_phase_that_restores_the_same_parameters_is_one_loop() {
    let text =
        r#"{"tasks": {"t": {"loop": 5, "phases": {"p": {"cpus": [0], "run": 1}, "q": {"cpus": [1], "run": 2}}}}}"#;
    let set = |cpu| Op::Set(SchedParams { cpus: Some(vec![cpu]), ..SchedParams::default() });
    assert_eq!(ops(text), [Op::Repeat { times: Some(5), body: vec![set(0), run(1), set(1), run(2)] }]);
}

#[test]
fn memory_and_io_become_code_of_their_own() {
    let program = program(
        r#"{"tasks": {"t": {"loop": 1, "mem": 1000, "mem": 16000000, "iorun": 10000000,
            "memrun": {"type": "chase", "size": 33554432, "count": 1000000}}},
            "global": {"mem_buffer_size": 1048576, "io_device": "/dev/null"}}"#,
    );
    let instructions =
        |phase, count| Op::Compute { phase: PhaseId(phase), work: Work::Instructions(count), spread: Spread::None };
    let ops = &program.threads[0].ops;
    assert_eq!(ops[..2], [instructions(1, 63), instructions(2, 1_000_000)]);
    // /dev/null: ten system calls of a buffer each, nothing copied.
    assert_eq!(ops[2..], [instructions(3, 10_000), instructions(4, 3_000_000)]);
    let memory: Vec<f64> = program.phases.iter().map(|phase| phase.behaviour.memory_ns).collect();
    assert_eq!(memory[..4], [0.0, 0.0, 4000.0, 0.0]);
    assert!((memory[4] - 100_000.0 / 3.0).abs() < 1e-6, "100 ns a hop of 3 instructions, not {}", memory[4]);
}

#[test]
fn a_chain_is_followed_from_event_to_event() {
    let memory_ns = |size: u64, count: u64| {
        let chase =
            format!(r#"{{"type": "chase", "size": {size}, "stride": 64, "pattern": "random", "count": {count}}}"#);
        program(&format!(r#"{{"tasks": {{"t": {{"loop": 1, "memrun": {chase}}}}}}}"#)).phases[1].behaviour.memory_ns
    };
    for count in [1000, 1_000_000] {
        assert!((memory_ns(33_554_432, count) - 100_000.0 / 3.0).abs() < 1e-6);
        // There is room for 15,625 positions in a million bytes, of which 8192 are on the chain.
        assert_eq!([262_144, 1_000_000].map(|size| memory_ns(size, count)), [0.0, 0.0]);
    }
}

#[test]
fn a_real_device_takes_its_time_after_the_copy() {
    let text = r#"{"tasks": {"t": {"loop": 1, "iorun": 1000000}}, "global": {"io_device": "/data/f"}}"#;
    let imported = load(text);
    assert_eq!(imported.warnings[0].key, "io_device");
    let ops = &imported.workload.programs[0].threads[0].ops;
    // One request of 0.1 ms and a megabyte at 100 MB/s.
    assert_eq!(ops[1..], [sleep(10_100)]);
}

#[test]
fn global_settings_are_taken() {
    let text = |global: &str| format!(r#"{{"global": {{{global}}}, "tasks": {{"t": {{"loop": 1, "run": 1}}}}}}"#);
    let imported = load(&text(r#""duration": 6, "calibration": "CPU4", "gnuplot": true, "frag": 1, "ftrace": "none""#));
    assert_eq!(imported.warnings, []);
    assert_eq!(imported.workload.duration, Some(Ns::from_secs(6)));
    assert_eq!((imported.workload.name.as_str(), imported.workload.programs.len()), ("case", 1));
    assert_eq!(imported.workload.programs[0].name, "case");
    assert_eq!(imported.workload.programs[0].calibration, Calibration::Core(4));

    let program = |global| load(&text(global)).workload.programs.remove(0);
    assert_eq!(program("").calibration, Calibration::Core(0));
    assert_eq!(program(r#""calibration": 78"#).calibration, Calibration::Biggest);
    assert_eq!(load(&text(r#""duration": -1"#)).workload.duration, None);
}

#[test]
fn a_file_that_never_ends_is_stopped_and_says_so() {
    let imported = load(r#"{"tasks": {"t": {"run": 1}}}"#);
    assert_eq!(imported.workload.duration, Some(Ns::from_secs(10)));
    assert!(imported.warnings[0].message.starts_with("runs for ever; stopped after 10"), "{:?}", imported.warnings);
}

#[test]
fn what_is_not_supported_is_named_with_its_line() {
    let text = "{\"tasks\": {\"t\": {\"loop\": 1, \"run\": 1,\n\"taskgroup\": \"/a\",\n\"nodes_membind\": [0],\n\
        \"dl-runtime\": 5,\n\"prioritty\": 3,\n\"loop\": 1,\n\"period\": 1}},\n\
        \"global\": {\"pi_enabled\": true, \"calibration\": 80},\n\"globl\": 1}";
    let expected = [
        (1, "loop", "given again on line 6, which counts"),
        (2, "taskgroup", "task groups"),
        (3, "nodes_membind", "memory nodes"),
        (4, "dl-runtime", "budget"),
        (5, "prioritty", "did you mean \"priority\"?"),
        (7, "period", "budget"),
        (8, "calibration", "biggest core"),
        (8, "pi_enabled", "priority"),
        (9, "globl", "did you mean \"global\"?"),
    ];
    let found = load(text).warnings;
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (warning, (line, key, part)) in found.iter().zip(expected) {
        assert_eq!((warning.line, warning.key.as_str()), (line, key));
        assert!(warning.message.contains(part), "{warning}");
    }
    assert!(found[0].to_string().starts_with("dir/case.json:1: `loop`: "));
}

#[test]
fn events_beside_phases_and_task_keys_in_a_phase_are_named() {
    let text = r#"{"tasks": {"t": {"loop": 1, "runtime": 5, "run": 1, "phases": {"p": {"delay": 1, "run": 2}}}}}"#;
    let found = load(text);
    let keys: Vec<_> = found.warnings.iter().map(|warning| warning.key.as_str()).collect();
    assert_eq!(keys, ["delay", "run", "runtime"]);
    assert_eq!(found.workload.programs[0].threads[0].ops, [run(2)]);
}

#[test]
fn mistakes_are_said_with_file_line_and_what_was_expected() {
    let task = |keys: &str| format!("{{\"tasks\": {{\n\"t\": {{{keys}}}}}}}");
    let cases = [
        (String::new(), "dir/case.json:1: expected an object with \"tasks\", found nothing"),
        ("[]".into(), "dir/case.json:1: expected an object with \"tasks\", found an array"),
        ("{}".into(), "dir/case.json:1: no \"tasks\""),
        ("{\n\"tasks\": {\n]".into(), "dir/case.json:3: not JSON: "),
        (r#"{"tasks": {}}"#.into(), "dir/case.json:1: no thread starts"),
        (
            task("\"run\": -5"),
            "case.json:2: \"run\": expected microseconds, a whole number from 0 to 2147483647, found -5",
        ),
        (task("\"run\": 1.5"), "case.json:2: \"run\": expected microseconds"),
        (task("\"run\": \"5\""), "found the string \"5\""),
        (task("\"run\": 1, \"loop\": -2"), "\"loop\": expected a number of times, or -1 for ever"),
        (task("\"run\": 1, \"delay\": -1"), "\"delay\": expected microseconds"),
        (task("\"run\": 1, \"instance\": -1"), "\"instance\": expected threads"),
        (task("\"run\": 1, \"instance\": 100000"), "case.json:2: too many threads"),
        (task("\"run\": 1,\n\"cpus\": []"), "case.json:3: \"cpus\" is empty"),
        (task("\"run\": 1, \"cpus\": [0,\n1024]"), "case.json:3: \"cpus\": expected an array of core numbers"),
        (task("\"run\": 1, \"policy\": \"SCHED_FIFA\""), "unknown policy \"SCHED_FIFA\": did you mean \"SCHED_FIFO\"?"),
        (task("\"run\": 1, \"priority\": 20"), "\"priority\": expected a nice value from -20 to 19, found 20"),
        (task("\"run\": 1, \"priority\": 0, \"policy\": \"SCHED_RR\""), "a real-time priority from 1 to 99, found 0"),
        (task("\"run\": 1, \"util_min\": 1025"), "\"util_min\": expected a utilisation"),
        (task("\"run\": 1, \"util_min\": 9, \"util_max\": 8"), "\"util_min\" 9 is above \"util_max\" 8"),
        (task("\"loop\": 1"), "case.json:2: no events"),
        (task("\"phases\": {}"), "case.json:2: \"phases\" is empty"),
        (task("\"run\": 0"), "case.json:2: \"t\" loops for ever and takes no time in it"),
        (task("\"barrier\": \"b\""), "case.json:2: \"t\" loops for ever and takes no time in it"),
        (task("\"run\": 1,\n\"fork\": \"tt\""), "case.json:3: unknown task \"tt\": did you mean \"t\"?"),
        (task("\"lock\": 1"), "\"lock\": expected a string, found 1"),
        (task("\"wait\": \"c\""), "\"wait\": expected an object {\"ref\" : CONDITION, \"mutex\" : MUTEX}"),
        (task("\"memrun\": {\"type\": \"raed\", \"size\": 1, \"count\": 1}"), "did you mean \"read\"?"),
        (
            "{\"tasks\": {\"t\": {\"run\": 1}},\n\"global\": {\"duration\": -3}}".into(),
            "case.json:2: \"duration\": expected seconds",
        ),
        (
            "{\"tasks\": {\"t\": {\"run\": 1}},\n\"global\": {\"calibration\": \"cpu\"}}".into(),
            "expected a core such as \"CPU0\"",
        ),
    ];
    for (text, part) in cases {
        let message = error(&text);
        assert!(message.contains(part), "{message}\n  instead of: {part}");
    }
}

#[test]
fn a_barrier_that_only_forked_threads_meet_never_opens() {
    let text = "{\"tasks\": {\"a\": {\"loop\": 1, \"fork\": \"b\"},\n\"b\": {\"instance\": 0, \"barrier\": \"x\"}}}";
    assert!(error(text).contains("case.json:2: the barrier \"x\" is met by forked threads only"), "{}", error(text));
}

#[test]
fn a_missing_reference_is_shared_under_rt_apps_name_for_it() {
    let text = r#"{"tasks": {"t": {"loop": 1, "timer": {"period": 5, "mode": "absolut"}}}}"#;
    let found = warnings(text);
    assert!(found[0].contains("taken as relative: did you mean \"absolute\"?"), "{found:?}");
    assert!(found[1].contains("taken as \"unknown\""), "{found:?}");
}

#[test]
fn a_suspend_without_a_value_is_one_and_moves_no_line() {
    let text = "{\"tasks\": {\"t\": {\n\"loop\": 1, \"suspend\",\n\"run\": 1, \"suspend\" /* as in old files */ }},\n\"x\": 1}";
    let imported = load(text);
    let suspend = Op::Suspend(EventId(0));
    assert_eq!(imported.workload.programs[0].threads[0].ops, [suspend.clone(), run(1), suspend]);
    assert_eq!(imported.warnings[0].line, 4);
}

use evenkeel_model::Ns;
use proptest::prelude::*;

use super::*;
use crate::program::{Class, Op, ReadyQueue, SchedParams, Tasking, ThreadKind, Work};

const PIPELINE: &str = r#"
[[program]]
name = "pipeline"
n = 2
locks = ["table[n]"]
phases.scan = { ilp = 2.0 }
queues = { raw = 8, done = 8 }

[[program.threads]]
name = "source"
do = [{ repeat = 10, do = [{ compute = "100 kinst" }, { put = "raw" }] }, { close = "raw" }]

[[program.threads]]
name = "worker"
count = "n"
skew = { linear = 0.5 }
do = [
    { drain = "raw", do = [{ lock = "table[i+1]", do = [{ compute = "1 Minst" }] }, { put = "done" }] },
    { close = "done" },
    { share = "10 Minst" },
]

[[program.threads]]
name = "sink"
do = [{ drain = "done", do = [{ compute = "20 us" }] }]
"#;

fn one(text: &str, n: Option<u32>) -> Program {
    load("w", text, "w.toml", n).unwrap().programs.remove(0)
}

fn complaint(text: &str) -> String {
    load("w", text, "w.toml", None).unwrap_err().to_string()
}

/// A program with one worker group of three threads, given its objects and operations.
fn three(objects: &str, ops: &str) -> String {
    format!(
        "[[program]]\nname = \"p\"\nphases.x = {{ ilp = 2.0 }}\n{objects}\n[[program.threads]]\nname = \"t\"\ncount = 3\ndo = [\n{ops}\n]\n"
    )
}

#[test]
fn a_share_that_is_split_is_one_loop_for_all_threads_of_its_group() {
    let program = one(
        &three(
            "",
            "{ repeat = 2, do = [{ share = \"9 kinst\", split = true, taper = 1 }] },\n{ share = \"6 kinst\", split = true },\n{ share = \"3 kinst\", split = false }",
        ),
        None,
    );
    assert_eq!(program.splits, [3, 3]);
    let loops = |ops: &[Op]| {
        let part = |op: &Op| match *op {
            Op::Split { split, member, work: Work::Instructions(work), .. } => Some((split.0, member, work)),
            _ => None,
        };
        ops.iter().filter_map(part).collect::<Vec<_>>()
    };
    for (thread, i) in program.threads.iter().zip(0..) {
        assert_eq!(loops(&thread.ops), [(0, i, 9000), (0, i, 4500), (1, i, 6000)]);
    }
    assert_eq!(works(&program), [[1000]; 3]);
    for (group, op, wrong) in [
        ("", "share = \"1 us\", split = true, spread = 0.1", "leave out `spread`"),
        ("skew = { heavy = 2 }", "share = \"1 us\", split = true", "leave out `skew`"),
        ("cpus = [1]", "share = \"1 us\", split = true", "p, thread t-0: shares a loop that is split"),
        ("", "set = { cpus = [1] } }, { share = \"1 us\", split = true", "leave out `cpus`"),
        (
            "",
            "single = [{ task = \"x\", do = [] }] }, { share = \"1 us\", split = true",
            "creates tasks and shares a loop",
        ),
        ("", "compute = \"1 us\", split = true", "\"split\" does not go with \"compute\""),
        ("", "single = [{ share = \"1 us\", split = true }]", "share: not inside single"),
    ] {
        let text = three("", &format!("{{ {op} }}")).replace("count = 3", &format!("count = 3\n{group}"));
        assert!(complaint(&text).contains(wrong), "{}", complaint(&text));
    }
}

fn works(program: &Program) -> Vec<Vec<u64>> {
    let amounts = |ops: &[Op]| {
        let mut all = Vec::new();
        crate::validate::walk(ops, &mut |op| {
            if let Op::Compute { work: Work::Instructions(amount), .. } = op {
                all.push(*amount);
            }
        });
        all
    };
    program.threads.iter().map(|thread| amounts(&thread.ops)).collect()
}

#[test]
fn a_pipeline_counts_its_producers_and_shares_its_work() {
    let p = one(PIPELINE, Some(3));
    assert_eq!(p.threads.len(), 5);
    assert_eq!((p.queues[1].name.as_str(), p.queues[1].producers), ("raw", 1));
    assert_eq!((p.queues[0].name.as_str(), p.queues[0].producers), ("done", 3));
    let shares: Vec<u64> = works(&p)[1..4].iter().map(|all| all[1]).collect();
    assert_eq!(shares, [5_000_000, 3_333_333, 1_666_667], "1.5 : 1 : 0.5, and nothing lost in rounding");
    assert_eq!(p.threads[3].name, "worker-2");
}

#[test]
fn what_code_uses_again_and_again_has_a_range() {
    let text = |kb: &str| {
        let phase = format!("ilp = 2.0, reuse_kb = {kb}");
        three("", "{ compute = \"1 kinst\" }").replace("ilp = 2.0", &phase)
    };
    for (kb, reuses) in [("0", 0.0), ("1600.5", 1600.5), ("1e9", 1e9)] {
        assert_eq!(one(&text(kb), None).phases[0].behaviour.reuse_kb, reuses);
    }
    for (kb, shown) in [("-1", "-1"), ("2e9", "2000000000"), ("nan", "NaN")] {
        let expected = format!("w.toml:3: phase \"x\": expected reuse_kb from 0 to 1e9 kB, not {shown}");
        assert_eq!(complaint(&text(kb)), expected);
    }
}

#[test]
fn the_parties_of_a_barrier_are_its_users() {
    let text = three("barriers = [\"b\"]", "{ repeat = 4, do = [{ compute = \"1 kinst\" }, { barrier = \"b\" }] }");
    assert_eq!(one(&text, None).barriers[0].parties, 3);
}

#[test]
fn each_execution_of_a_loop_has_its_own_iterations() {
    let text = three(
        "loops = { rows = 40 }",
        "{ repeat = 2, do = [{ loop = \"rows\", taper = 1, do = [{ compute = \"1 kinst\" }] }] }",
    );
    let p = one(&text, None);
    let filled: Vec<(&str, u64)> = p.queues.iter().map(|queue| (queue.name.as_str(), queue.filled)).collect();
    assert_eq!(filled, [("rows#0", 40), ("rows#1", 20)]);
}

#[test]
fn a_single_goes_round_and_a_deal_gives_everything_out() {
    let text = three(
        "",
        "{ repeat = 3, do = [{ single = [{ compute = \"7 inst\" }] }] }, { deal = 10, do = [{ compute = \"1 inst\" }] }",
    );
    let p = one(&text, None);
    let dealt: Vec<u64> = p
        .threads
        .iter()
        .map(|thread| match thread.ops[..] {
            [Op::Compute { .. }, Op::Repeat { times: Some(times), .. }] => times,
            _ => 0,
        })
        .collect();
    assert_eq!(dealt, [3, 4, 3]);
}

#[test]
fn a_letter_that_is_bound_anew_is_the_same_in_all_threads() {
    let ops = "{ for = \"i in 0..3\", do = [{ repeat = \"i + 1\", do = [{ share = \"9 inst\" }] }] }";
    assert_eq!(works(&one(&three("", ops), None)), vec![vec![3; 3]; 3]);
}

#[test]
fn a_thread_that_takes_part_in_a_loop_starts_once() {
    let text = |team: u32, master: u32| {
        let spawn = |group: &str, times| {
            format!("do = [{{ repeat = {times}, do = [{{ spawn = \"{group}\" }}, {{ join = \"{group}\" }}] }}]")
        };
        format!(
            "[[program]]\nname = \"p\"\nphases.x = {{ ilp = 2.0 }}\nloops = {{ rows = 40 }}\n\
             [[program.threads]]\nname = \"main\"\n{}\n\
             [[program.threads]]\nname = \"master\"\nstart = \"spawned\"\n{}\n\
             [[program.threads]]\nname = \"team\"\ncount = 4\nstart = \"spawned\"\n\
             do = [{{ loop = \"rows\", do = [{{ compute = \"1 Minst\" }}] }}]\n",
            spawn("master", master),
            spawn("team", team)
        )
    };
    assert_eq!(one(&text(1, 1), None).queues[0].filled, 40);
    for again in [text(3, 1), text(1, 3)] {
        let expected = "w.toml:1: p: thread team-0 starts again, but loop rows has no iterations left by then";
        assert!(complaint(&again).starts_with(expected), "{}", complaint(&again));
    }
}

/// However many threads drain a queue, one gets each item.
#[test]
fn a_thread_that_is_spawned_for_an_item_starts_as_often_as_there_are_items() {
    let text = |head: &str, verb: &str| {
        format!(
            "[[program]]\nname = \"p\"\nphases.x = {{ ilp = 2.0 }}\n{head}\n\
             [[program.threads]]\nname = \"main\"\ncount = 2\n\
             do = [{{ {verb}, do = [{{ spawn = \"team\" }}, {{ join = \"team\" }}] }}]\n\
             [[program.threads]]\nname = \"team\"\ncount = 4\nstart = \"spawned\"\n\
             do = [{{ loop = \"rows\", do = [{{ compute = \"1 Minst\" }}] }}]\n"
        )
    };
    let of_loop = |items| text(&format!("loops = {{ rows = 40, go = {items} }}"), "loop = \"go\"");
    let of_queue = |items| {
        let head = format!(
            "loops = {{ rows = 40 }}\nqueues = {{ go = 8 }}\n[[program.threads]]\nname = \"source\"\n\
             do = [{{ repeat = {items}, do = [{{ put = \"go\" }}] }}, {{ close = \"go\" }}]"
        );
        text(&head, "drain = \"go\"")
    };
    for once in [of_loop(1), of_queue(1)] {
        assert_eq!(one(&once, None).threads.iter().filter(|thread| thread.name.starts_with("team")).count(), 4);
    }
    for again in [of_loop(2), of_queue(2)] {
        let expected = "w.toml:1: p: thread team-0 starts again, but loop rows has no iterations left by then";
        assert!(complaint(&again).starts_with(expected), "{}", complaint(&again));
    }
}

#[test]
fn a_taper_shrinks_the_rounds() {
    let p = one(&three("", "{ repeat = 4, do = [{ compute = \"1600 inst\", taper = 2 }] }"), None);
    assert_eq!(works(&p)[0], [1600, 900, 400, 100]);
}

#[test]
fn mistakes_name_their_line_and_the_way_out() {
    let cases = [
        (
            "{ compute = \"1 kinst\" },\n{ lock = \"cell\" }",
            "w.toml:11: lock: unknown lock \"cell\": did you mean \"cells\"?",
        ),
        ("{ compute = \"5\" }", "w.toml:10: compute: expected work such as"),
        ("{ sleep = \"-1 ms\" }", "w.toml:10: sleep: \"-1 ms\" is negative"),
        ("{ compute = \"1 inst\", spread = 2 }", "w.toml:10: compute: expected spread from 0 to 1"),
        ("{ compute = \"1 inst\", put = \"q\" }", "w.toml:10: \"compute\" and \"put\" are two operations"),
        ("{ put = \"q\", spread = 0.1 }", "w.toml:10: \"spread\" does not go with \"put\""),
        ("{ repeat = 3 }", "w.toml:10: repeat: expected `do"),
        ("{ join = \"t\" }", "w.toml:1: p, thread t-0: joins itself"),
        ("{ repeat = \"n\", do = [] }", "w.toml:10: repeat: cannot work out \"n\""),
        ("{ compute = \"1 inst\", taper = 1 }", "w.toml:10: compute: taper needs a repeat"),
        ("{ drain = \"q\", do = [{ share = \"1 inst\" }] }", "w.toml:10: share: not inside drain"),
        (
            "{ repeat = \"i\", do = [{ share = \"40 Minst\" }] }",
            "w.toml:10: share: not inside a repeat whose count depends on i",
        ),
        (
            "{ repeat = \"i\", do = [{ single = [{ compute = \"10 Minst\" }] }] }",
            "w.toml:10: single: not inside a repeat whose count depends on i",
        ),
        (
            "{ for = \"k in i..3\", do = [{ repeat = \"k\", do = [{ deal = 6, do = [] }] }] }",
            "w.toml:10: deal: not inside a repeat whose count depends on i",
        ),
        (
            "{ for = \"k in 0..i\", do = [{ share = \"1 inst\" }] }",
            "w.toml:10: share: not inside a for whose values depend on i",
        ),
        ("{ compue = \"1 inst\" }", "w.toml:10: unknown key \"compue\": did you mean \"compute\"?"),
        ("{ repeat = 2000000, do = [{ single = [] }] }", "w.toml:10: the program has more than 1000000 operations"),
        ("{ drain = \"q\", do = [] }", "w.toml:1: p: queue q is drained, but no thread puts"),
    ];
    for (ops, expected) in cases {
        let text = three("locks = [\"cells\"]\nqueues = { q = 4 }", ops);
        let message = complaint(&text);
        assert!(message.starts_with(expected), "{message}\n  expected {expected}");
    }
    for (start, expected) in [
        ("spread = 0.2", "w.toml:4: \"spread\" is of a time to start after, and there is no \"start\""),
        ("start = \"spawned\"\nspread = 7", "w.toml:4: \"spread\" is of a time to start after, not of \"spawned\""),
    ] {
        let message = complaint(&format!(
            "[[program]]\nname = \"p\"\nphases.x = {{ ilp = 2.0 }}\n[[program.threads]]\nname = \"t\"\n{start}\ndo = []\n"
        ));
        assert!(message.starts_with(expected), "{message}\n  expected {expected}");
    }
    assert!(complaint("").contains("no program"));
    assert!(complaint("[[program]]\nname = 3").starts_with("w.toml:2: "));
    assert!(complaint("name = \"x").starts_with("w.toml:1: "));
}

/// A program whose only thread creates tasks.
fn one_main(objects: &str, ops: &str) -> String {
    format!(
        "[[program]]\nname = \"p\"\nphases.x = {{ ilp = 2.0 }}\n{objects}\n[[program.threads]]\nname = \"main\"\ndo = [\n{ops}\n]\n"
    )
}

#[test]
fn tasks_are_created_in_loops_over_letters() {
    let text = one_main(
        "regions = [\"a[9]\", \"sum\"]\ntasks = { ready = \"cats\", workers = \"2 + 2\", queue = \"10 inst\" }",
        "{ for = \"i in 0..3\", do = [{ for = \"k in i + 1..3\", do = [
             { task = \"pair\", in = [\"a[3*k]\"], inout = [\"a[3*i]\"], do = [{ compute = \"1 kinst\" }] },
         ] }] },
         { task = \"sum\", in = [\"a[..]\"], out = [\"sum\"], do = [{ compute = \"2 kinst\" }] },
         { taskwait = true }",
    );
    let p = one(&text, None);
    let graph = crate::graph::TaskGraph::new(&p).unwrap();
    // (0, 1), (0, 2), (1, 2), then the sum of everything.
    let before: Vec<&[u32]> = (0..4).map(|task| graph.predecessors(task)).collect();
    assert_eq!(before, [&[][..], &[0], &[0], &[1, 2]]);
    let tasking = p.tasking.as_ref().unwrap();
    assert_eq!((tasking.ready, tasking.workers), (ReadyQueue::Cats, Some(4)));
    assert_eq!((tasking.queue, tasking.create), (Work::Instructions(10), Tasking::default().create));
    assert_eq!(works(&p)[0], [1000, 1000, 1000, 2000], "the work of tasks is the program's");
}

#[test]
fn mistakes_with_tasks_say_what_would_do() {
    let task = "{ task = \"t\", do = [{ compute = \"1 kinst\" }] }";
    let cases = [
        (
            "",
            "{ task = \"t\", in = [\"mesg\"], do = [] }",
            "w.toml:10: task: unknown region \"mesg\": did you mean \"mesh\"?",
        ),
        ("", "{ task = \"t\", in = [\"mesh\"], do = [] }", "w.toml:10: task: \"mesh\" is an array"),
        (
            "",
            "{ task = \"t\", in = [\"mesh[k]\"], do = [] }",
            "w.toml:10: task: cannot work out \"k\": \"k\" has no meaning here",
        ),
        ("", "{ task = \"t\" }", "w.toml:10: task: expected `do"),
        ("", "{ compute = \"1 kinst\", in = [\"mesh[0]\"] }", "w.toml:10: \"in\" does not go with \"compute\""),
        ("", "{ for = \"k to 3\", do = [] }", "w.toml:10: for: expected a letter and its values"),
        ("", "{ for = \"k in 0..9000000\", do = [] }", "w.toml:10: the program has more than 1000000 operations"),
        ("", "{ taskwait = true }", "w.toml:1: p, thread main: waits for tasks, but creates none"),
        (
            "tasks = { ready = \"fifo\" }",
            "{ compute = \"1 kinst\" }",
            "w.toml:1: p: says how tasks are run, but no thread creates one",
        ),
        ("tasks = { ready = \"lifo\" }", task, "w.toml:6: \"lifo\": expected"),
        ("tasks = { workers = 0 }", task, "w.toml:1: p: has 0 workers"),
        ("tasks = { window = 0 }", task, "w.toml:1: p: has a window of 0 tasks"),
        (
            "",
            "{ repeat = \"forever\", do = [{ task = \"t\", do = [] }] }",
            "w.toml:1: p, thread main: creates tasks for ever",
        ),
        (
            "",
            "{ repeat = 2000000, do = [{ task = \"t\", do = [] }] }",
            "w.toml:1: p, thread main: creates 2000000 tasks, more than 1000000",
        ),
        (
            "",
            "{ drain = \"q\", do = [{ task = \"t\", do = [] }] }, { put = \"q\" }, { close = \"q\" }",
            "w.toml:1: p, thread main: creates tasks inside a drain",
        ),
        ("", "{ task = \"t\", do = [{ put = \"q\" }] }", "w.toml:1: p, thread main: task t may only compute"),
        ("", "{ task = \"t\", do = [{ task = \"u\", do = [] }] }", "w.toml:1: p, thread main: task t may only compute"),
    ];
    for (objects, ops, expected) in cases {
        let message = complaint(&one_main(&format!("regions = [\"mesh[4]\"]\nqueues.q = 4\n{objects}"), ops));
        assert!(message.starts_with(expected), "{message}\n  expected {expected}");
    }
    let two = format!("{}[[program.threads]]\nname = \"other\"\ndo = [{task}]\n", one_main("", task));
    assert!(complaint(&two).contains("main and other both create tasks: only one thread can"));
    let set = format!("{{ set = {{ cpus = [0] }} }},\n{task}");
    for tasks in ["tied = true", "main = \"big\"", "ready = \"heft\""] {
        let text = |ops: &str| one_main(&format!("tasks = {{ {tasks} }}"), ops);
        let in_group = text(task).replace("name = \"main\"", "name = \"main\"\ncpus = [0]");
        for tied in [in_group, text(&set)] {
            assert!(complaint(&tied).contains("is tied to a core already"), "{tied}");
        }
    }
}

#[test]
fn a_small_file_does_not_name_more_regions_than_fit_into_memory() {
    let ops = "{ for = \"k in 0..400000\", do = [{ task = \"t\", in = [\"a[..]\"], do = [] }] }";
    let message = complaint(&one_main("regions = [\"a[65536]\"]", ops));
    assert!(message.starts_with("w.toml:8: task: more than 16000000 regions are named by tasks"), "{message}");
}

#[test]
fn a_thread_count_needs_a_program_that_takes_one() {
    let fixed = three("", "{ compute = \"1 inst\" }");
    assert!(load("w", &fixed, "w.toml", Some(4)).unwrap_err().message.contains("add `n = 4`"));
    assert!(load("w", PIPELINE, "w.toml", Some(0)).unwrap_err().message.contains("from 1 to"));
}

#[test]
fn a_runtime_is_under_every_program() {
    let runtime = "[runtime]\nsemaphores = { full = 0 }\nphases.mark = { ilp = 1.0 }\n[[runtime.threads]]\nname = \"gc\"\n\
        service = true\ndo = [{ repeat = \"forever\", do = [{ acquire = \"full\" }, { compute = \"1 kinst\", phase = \"mark\" }] }]\n";
    let program = |name: &str| {
        format!(
            "[[program]]\nname = \"{name}\"\nphases.code = {{ ilp = 2.0 }}\n[[program.threads]]\nname = \"main\"\n\
             do = [{{ compute = \"1 kinst\", phase = \"code\" }}, {{ post = \"full\" }}]\n"
        )
    };
    let both = load("w", &[runtime, &program("a"), &program("b")].concat(), "w.toml", None).unwrap();
    for program in &both.programs {
        let threads: Vec<_> = program.threads.iter().map(|thread| (thread.name.as_str(), thread.kind)).collect();
        assert_eq!(threads, [("main", ThreadKind::Application), ("gc", ThreadKind::Service)], "{}", program.name);
        assert_eq!((program.phases.len(), program.semaphores.len()), (2, 1));
    }
    let without = load("w", &program("a"), "w.toml", None).unwrap_err().message;
    assert!(without.contains("unknown semaphore"), "{without}");
    for (own, expected) in [
        ("semaphores = { full = 4 }", r#"w.toml:2: semaphore "full" is declared twice: here and in program "a""#),
        ("phases.mark = { ilp = 2.0 }", r#"w.toml:3: phase "mark" is declared twice: here and in program "a""#),
    ] {
        let both = program("a").replacen("phases.code", &format!("{own}\nphases.code"), 1);
        assert_eq!(complaint(&[runtime, &both].concat()), expected);
    }
}

#[test]
fn what_a_set_leaves_out_is_its_groups_own() {
    let text = |group: &str, given: &str| three("", &format!("{{ set = {{ {given} }} }}")).replace("count = 3", group);
    let set = |group: &str, given: &str| match &one(&text(group, given), None).threads[0].ops[..] {
        [Op::Set(params)] => params.clone(),
        ops => panic!("{ops:?}"),
    };
    let params = |class, cpus: &[u16]| SchedParams { class, cpus: Some(cpus.to_vec()), ..SchedParams::default() };
    let realtime = |priority| Class::RealTime { priority };
    assert_eq!(set("nice = 3\ncpus = [1]", "nice = 5"), params(Class::fair(5), &[1]));
    assert_eq!(set("nice = 3\ncpus = [1]", "realtime = 9"), params(realtime(9), &[1]));
    assert_eq!(set("realtime = 7\ncpus = [1]", "nice = 5"), params(Class::fair(5), &[1]));
    assert_eq!(set("nice = 3\ncpus = [1]", "cpus = [0, 2]"), params(Class::fair(3), &[0, 2]));
    assert_eq!(set("realtime = 7", "cpus = [0]"), params(realtime(7), &[0]));
    assert_eq!(complaint(&text("nice = 3", "")), "w.toml:9: set: expected nice, realtime or cpus in the braces");
}

#[test]
fn names_have_no_control_characters() {
    let text = three("locks = [\"l\"]", "{ compute = \"1 kinst\" }");
    for (name, line) in [("\"p\"", 2), ("x =", 3), ("\"l\"", 4), ("\"t\"", 6)] {
        let bad = if name == "x =" { r#""\u001b[2J" ="# } else { r#""\u001b[2J""# };
        let message = complaint(&text.replacen(name, bad, 1));
        let expected = format!(r#"w.toml:{line}: "\u{{1b}}[2J": expected a name without control characters"#);
        assert_eq!(message, expected);
    }
    assert!(complaint(&format!("name = \"a\\nb\"\n{text}")).starts_with(r#"w.toml:1: "a\nb": expected a name"#));
}

#[test]
fn a_duration_and_a_name_may_be_given() {
    let text = format!("name = \"mine\"\nduration = \"2 s\"\n{PIPELINE}");
    let workload = load("file", &text, "w.toml", None).unwrap();
    assert_eq!((workload.name.as_str(), workload.duration), ("mine", Some(Ns::from_secs(2))));
}

proptest! {
    /// Whatever stands in a file, the result is a workload that validates or an error.
    #[test]
    fn damaged_files_never_panic(cut in 0usize..PIPELINE.len(), len in 0usize..40, put in "[-\\[\\]{}()\"=,a-z0-9*/+ \n]{0,12}", n in 0u32..9) {
        let end = (cut + len).min(PIPELINE.len());
        let text = format!("{}{put}{}", &PIPELINE[..cut], &PIPELINE[end..]);
        if let Ok(workload) = load("w", &text, "w.toml", Some(n)) {
            prop_assert_eq!(crate::validate::workload(&workload), Ok(()));
        }
    }

    #[test]
    fn shares_sum_up_to_the_total(n in 1u32..40, skew in -1.0f64..1.0, total in 0u64..1_000_000_000) {
        let text = format!("[[program]]\nname = \"p\"\nn = {n}\nphases.x = {{ ilp = 2.0 }}\n[[program.threads]]\nname = \"t\"\ncount = \"n\"\nskew = {{ linear = {skew:?} }}\ndo = [{{ share = \"{total} inst\" }}]\n");
        prop_assert_eq!(works(&one(&text, None)).iter().flatten().sum::<u64>(), total);
    }
}

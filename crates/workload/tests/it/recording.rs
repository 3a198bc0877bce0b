//! Recordings: what loads, what it becomes, and what is said about the rest.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use evenkeel_model::{CoreTypeId, Ns, machines};
use evenkeel_workload::program::{
    List, ListId, LockId, Op, PhaseId, Queue, QueueId, Semaphore, SemaphoreId, Spread, Start, ThreadIndex, ThreadKind,
    Work,
};
use evenkeel_workload::recording::{Division, MAX_AMOUNT, RATES, RecordedItem, RecordedThread, Recording, Step, rate};
use evenkeel_workload::validate;
use proptest::prelude::*;

const HEADER: &str = r#"{"evenkeel":1,"makespan_ns":5000,"threads":2}"#;
const MAIN: &str = r#"{"thread":0,"name":"main","ops":[["run",1000],["spawn",1],["wait"],["io",70],["sleep",50]]}"#;
const CHILD: &str =
    r#"{"thread":1,"name":"child","process":1,"kind":"service","spawned":true,"ops":[["run",300],["wake",0]]}"#;

fn text(lines: &[&str]) -> String {
    lines.join("\n")
}

fn load(lines: &[&str]) -> Recording {
    Recording::from_text(&text(lines), "app.ek").unwrap()
}

fn complaint(lines: &[&str]) -> String {
    Recording::from_text(&text(lines), "app.ek").unwrap_err().to_string()
}

fn compute(work: Work) -> Op {
    Op::Compute { phase: PhaseId(0), work, spread: Spread::None }
}

#[test]
fn threads_become_threads_with_a_semaphore_each() {
    let workload = load(&[HEADER, MAIN, "", CHILD]).workload("app", None);
    validate::workload(&workload).unwrap();
    let program = &workload.programs[0];
    let sleep = |ns| Op::Sleep { span: Ns(ns), spread: Spread::None };
    let main =
        [compute(Work::Time(Ns(1000))), Op::Spawn(ThreadIndex(1)), Op::Acquire(SemaphoreId(0)), sleep(70), sleep(50)];
    assert_eq!(program.threads[0].ops, main);
    assert_eq!(program.threads[1].ops, [compute(Work::Time(Ns(300))), Op::Post(SemaphoreId(0))]);
    assert_eq!((program.threads[0].start, program.threads[1].start), (Start::At(Ns::ZERO), Start::Spawned));
    assert_eq!((program.threads[0].kind, program.threads[1].kind), (ThreadKind::Application, ThreadKind::Service));
    assert_eq!(program.semaphores[0], Semaphore { name: "wake-up of main".into(), count: 0 });
}

#[test]
fn work_is_instructions_where_it_can_be() {
    let first = |recording: &Recording, ran_on| recording.workload("app", ran_on).programs[0].threads[0].ops[0].clone();
    let mut recording = load(&[HEADER, MAIN, CHILD]);
    // 2 instructions a cycle of reference code, of which a large window finds so much, at the highest frequency.
    let machine = machines::by_name("i9-13900k").unwrap();
    let kind = &machine.core_types[0];
    let per_ns = (2.0 * kind.extract).min(kind.width) * kind.max_frequency().per_ns();
    let expected = Work::Instructions((1000.0 * per_ns).round() as u64);
    assert_eq!(first(&recording, Some(&machine)), compute(expected));
    recording.counted = true;
    assert_eq!(first(&recording, Some(&machine)), compute(Work::Instructions(1000)));
    assert_eq!(first(&recording, None), compute(Work::Instructions(1000)));
}

/// A thread that was counted is as fast on the machine that it was recorded on as it was, whatever that takes.
#[test]
fn counted_threads_keep_their_rates() {
    let header = HEADER.replace("\"threads\"", "\"counted\":true,\"threads\"");
    let with = |line: &str, rates: &str| line.replace("\"ops\"", &format!("\"rates\":{rates},\"ops\""));
    let machine = machines::by_name("2B2S").unwrap();
    // How long the first step takes on the big and on the little cores.
    let spans = |main: &str, child: &str| {
        let recording = load(&[&header, &with(MAIN, main), &with(CHILD, child)]);
        let program = recording.workload("app", Some(&machine)).programs.remove(0);
        let span = |thread: usize, core: u8| {
            let Op::Compute { phase, work: Work::Instructions(work), .. } = program.threads[thread].ops[0] else {
                panic!("{:?}", program.threads[thread].ops[0])
            };
            let frequency = machine.core_types[usize::from(core)].max_frequency();
            work as f64 / machine.rate(CoreTypeId(core), frequency, &program.phases[phase.index()].behaviour)
        };
        (program.phases.len(), [span(0, 0), span(0, 1), span(1, 0), span(1, 1)])
    };
    let (phases, [main, _, child, on_little]) = spans("[0.5,null]", "[0.4,0.25]");
    assert_eq!(phases, 2);
    assert!((main - 1000.0 / 0.5).abs() < 1e-3 && (child - 300.0 / 0.4).abs() < 1e-3, "{main} {child}");
    assert!((on_little - 300.0 / 0.25).abs() < 1e-3, "{on_little}");
    let (phases, [_, main, child, _]) = spans("[null,0.5]", "[80]");
    assert_eq!(phases, 2);
    assert!((main - 1000.0 / 0.5).abs() < 1e-3, "{main}");
    assert!((child - 300.0 / 80.0).abs() < 0.2, "{child}: no code is that fast there; an instruction is less work");
    assert_eq!(spans("[0.5,null]", "[0.5,null]").0, 1, "the same code");
    assert_eq!(spans("[]", "[null,null,2]").0, 2, "the machine has no third core type");
    let text = load(&[&header, &with(MAIN, "[1.93,null]"), CHILD]).to_text();
    assert!(text.contains("\"rates\":[1.93,null],\"ops\"") && text.matches("rates").count() == 1, "{text}");
}

#[test]
fn rates_belong_to_instructions() {
    let with = |rates: &str| MAIN.replace("\"ops\"", &format!("\"rates\":{rates},\"ops\""));
    let lines = complaint(&[HEADER, &with("[1]"), CHILD]);
    assert_eq!(lines, "app.ek:2: has \"rates\", which are of instructions: the header needs \"counted\": true");
    let counted = HEADER.replace("\"threads\"", "\"counted\":true,\"threads\"");
    for wrong in ["0", "-1", "1e300", "0.0001"] {
        let said = complaint(&[&counted, &with(&format!("[2,{wrong}]")), CHILD]);
        assert!(said.contains("\"rates\": expected 0.001 to 1000 instructions per ns, or null"), "{said}");
    }
}

/// Who has a lock gives it up without waiting for anything, so that a replay ends whoever comes first.
#[test]
fn locks_are_taken_one_at_a_time_and_given_up() {
    let with = |ops: &str| MAIN.replace("[\"run\",1000]", ops);
    let workload =
        load(&[HEADER, &with(r#"["lock",7],["run",5],["wake",1],["unlock",7],["lock",2],["unlock",2]"#), CHILD]);
    let program = &workload.workload("app", None).programs[0];
    assert_eq!(program.locks, ["lock 2", "lock 7"]);
    assert_eq!(
        (&program.threads[0].ops[0], &program.threads[0].ops[3]),
        (&Op::Lock(LockId(1)), &Op::Unlock(LockId(1)))
    );
    for (ops, wrong) in [
        (r#"["lock",1],["wait"],["unlock",1]"#, "operation 2 is \"wait\" while it has lock 1: expected \"run\""),
        (r#"["lock",1],["lock",2],["unlock",2],["unlock",1]"#, "operation 2 is \"lock\" while it has lock 1"),
        (r#"["unlock",3]"#, "operation 1 gives up lock 3, which it does not have"),
        (r#"["lock",1],["unlock",3]"#, "operation 2 gives up lock 3, which it does not have"),
    ] {
        let said = complaint(&[HEADER, &with(ops), CHILD]);
        assert!(said.starts_with("app.ek:2: ") && said.contains(wrong), "{said}");
    }
    let end = CHILD.replace("]}", r#",["lock",4]]}"#);
    assert!(complaint(&[HEADER, MAIN, &end]).ends_with("never gives up lock 4"));
}

#[test]
fn names_that_several_threads_share_get_a_number() {
    let again = CHILD.replace("child", "main");
    let workload = load(&[HEADER, MAIN, &again]).workload("app", None);
    let names: Vec<_> = workload.programs[0].threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["main#0", "main#1"]);
}

#[test]
fn another_format_is_told_apart() {
    assert_eq!(complaint(&[""]), "app.ek:1: an empty file: expected a recording of `evenkeel record`");
    let start = "app.ek:1: not a recording: expected a header {\"evenkeel\": 1, ...}; column ";
    assert!(complaint(&["[[program]]"]).starts_with(start), "{}", complaint(&["[[program]]"]));
    assert!(complaint(&["{\"tasks\": {}}"]).contains("\"evenkeel\" is missing"));
    let newer = HEADER.replace("\"evenkeel\":1", "\"evenkeel\":2, \"sparkles\":true");
    let newer = complaint(&[&newer]);
    assert_eq!(newer, "app.ek:1: a recording of version 2: this Evenkeel reads version 1, record again with it");
    assert!(complaint(&[&HEADER.replace("makespan_ns", "makespan")]).contains("unknown key \"makespan\""));
    let all = complaint(&[HEADER, MAIN]);
    assert_eq!(all, "app.ek:2: 1 threads, but the header says 2: the file is not complete");
    assert_eq!(complaint(&[&HEADER.replace('2', "0")]), "app.ek:1: no threads: nothing was recorded");
}

#[test]
fn a_mistake_in_a_thread_is_named_with_its_line() {
    let main = |from: &str, to: &str| complaint(&[HEADER, "", &MAIN.replace(from, to), CHILD]);
    assert_eq!(main("run", "rum"), "app.ek:3: column 40: unknown operation \"rum\": did you mean \"run\"?");
    assert!(main("[\"run\",1000]", "[\"run\"]").ends_with("\"run\" lacks its argument, an amount"));
    assert!(main("[\"wait\"]", "[\"wait\",1]").ends_with("\"wait\" has too many arguments"));
    assert!(main("[\"wait\"]", "[]").contains("an empty operation: expected one such as [\"run\", 1200]"));
    assert!(main("[\"wait\"]", "7").contains("expected an operation such as [\"run\", 1200]"));
    assert!(main("1000", "-1").contains("-1: expected a whole number"));
    assert!(main("1000", "9999999999999999").contains("expected at most 1000000000000000"));
    assert!(main(":0", ":1").ends_with(":3: thread 1: expected thread 0, they are numbered in order from 0"));
    assert!(main("\"ops\"", "\"at_ns\":9999999999999999,\"ops\"").contains("\"at_ns\": expected at most"));
    assert!(main("\"ops\"", "\"at_ns\":1,\"spawned\":true,\"ops\"").contains("leave one of them out"));
    assert!(main("[\"wait\"]", "[\"spawn\",2]").ends_with(":3: refers to 2, but there are threads 0 to 1"));
    assert!(main("[\"wait\"]", "[\"spawn\",1]").ends_with("is spawned already: a thread starts once"));
    assert!(main("[\"wait\"]", "[\"spawn\",0]").ends_with("starts by itself: it needs \"spawned\": true"));
}

#[test]
fn what_is_shared_out_becomes_pieces_of_a_list() {
    let main = MAIN.replace("[\"run\",1000]", "[\"share\",7,1000]");
    let child = CHILD.replace("[\"run\",300]", "[\"share\",7,280]");
    let recording = load(&[HEADER, &main, &child]);
    assert_eq!(Recording::from_text(&recording.to_text(), "app.ek"), Ok(recording.clone()));
    let workload = recording.workload("app", None);
    validate::workload(&workload).unwrap();
    let program = &workload.programs[0];
    assert_eq!(program.queues, [Queue { name: "pool 7".into(), capacity: 64, filled: 64, producers: 0 }]);
    for thread in &program.threads {
        assert_eq!(thread.ops[0], Op::Drain { queue: QueueId(0), body: vec![compute(Work::Time(Ns(20)))] });
    }
    let pools = |pools: &str| HEADER.replace("}", &format!(r#","pools":{{{pools}}}}}"#));
    let known = load(&[&pools(r#""7":{"pieces":3}"#), &main, &child]);
    assert_eq!(known.pools, BTreeMap::from([(7, Division { pieces: 3, guided: false })]));
    assert_eq!(known.workload("app", None).programs[0].queues[0].filled, 3);
    // 8, 4, 2, 1, 1: whoever comes takes half of what is left.
    let guided = load(&[&pools(r#""7":{"pieces":16,"guided":true}"#), &main, &child]);
    let queues: Vec<u64> = guided.workload("app", None).programs[0].queues.iter().map(|queue| queue.filled).collect();
    assert_eq!(queues, [1, 1, 1, 2]);
    let complaint_of = |text: &str| complaint(&[&pools(text), &main, &child]);
    assert_eq!(complaint_of(r#""7":{"pieces":0}"#), "app.ek:1: \"pools\": pool 7 has 0 pieces: expected at least 1");
    assert_eq!(complaint_of(r#""8":{"pieces":1}"#), "app.ek:1: \"pools\": no thread shares pool 8");
    assert!(complaint_of(r#""7":{"peices":1}"#).contains("peices"));
    assert_eq!(complaint(&[HEADER, &main, CHILD]), "app.ek:2: only this thread shares pool 7: a pool needs two");
    let twice = child.replace("[\"wake\",0]", "[\"wake\",0],[\"share\",7,1]");
    assert_eq!(complaint(&[HEADER, &main, &twice]), "app.ek:3: shares pool 7 twice: a thread takes part once");
    let lacks = complaint(&[HEADER, &main.replace("7,1000", "7"), &child]);
    assert!(lacks.ends_with("\"share\" lacks its argument, an amount"), "{lacks}");
}

#[test]
fn items_of_a_list_are_taken_in_order() {
    let header = HEADER.replace("\"threads\":2", "\"threads\":2,\"items\":2");
    let main = MAIN.replace("[\"run\",1000]", "[\"run\",1000],[\"wake\",3]").replace("[\"wait\"]", "[\"take\",4]");
    let child = CHILD.replace("[\"run\",300]", "[\"take\",4]").replace(",[\"wake\",0]", "");
    let first = r#"{"item":2,"list":4,"by":1,"ops":[["run",200]]}"#;
    let second = r#"{"item":3,"list":4,"by":0,"ops":[["wait"],["run",100]]}"#;
    let recording = load(&[&header, &main, &child, first, second]);
    assert_eq!(Recording::from_text(&recording.to_text(), "app.ek"), Ok(recording.clone()));
    let workload = recording.workload("app", None);
    validate::workload(&workload).unwrap();
    let program = &workload.programs[0];
    let time = |ns| compute(Work::Time(Ns(ns)));
    let items = vec![vec![time(200)], vec![Op::Acquire(SemaphoreId(3)), time(100)]];
    assert_eq!(program.lists, [List { name: "list 4".into(), items }]);
    assert!(program.threads.iter().all(|thread| thread.ops.contains(&Op::Take(ListId(0)))));
    assert!(program.threads[0].ops.contains(&Op::Post(SemaphoreId(3))) && program.semaphores.len() == 4);

    let said = |lines: [&str; 5]| complaint(&lines);
    let lacks = complaint(&[&header, &main, &child, first]);
    assert_eq!(lacks, "app.ek:4: 1 items, but the header says 2: the file is not complete");
    let number = said([&header, &main, &child, second, first]);
    assert_eq!(number, "app.ek:4: item 3: expected item 2, they are numbered in order, on from the threads");
    let by = said([&header, &main, &child, first, &second.replace("\"by\":0", "\"by\":2")]);
    assert_eq!(by, "app.ek:5: was done by thread 2, but there are threads 0 to 1");
    let other = said([&header, &main, &child, first, &second.replace(":4", ":5")]);
    assert_eq!(other, "app.ek:5: no thread takes from list 5");
    let none = said([&header, &main, &child.replace("[\"take\",4]", "[\"take\",5]"), first, second]);
    assert_eq!(none, "app.ek:3: takes from list 5, which has no items");
    let twice = said([&header, &main, &child.replace("[\"take\",4]", "[\"take\",4],[\"take\",4]"), first, second]);
    assert_eq!(twice, "app.ek:3: takes from list 4 twice: a thread does so until it is empty");
    let within = said([&header, &main, &child, first, &second.replace("[\"run\",100]", "[\"take\",4]")]);
    assert_eq!(
        within,
        "app.ek:5: does what only a thread can: expected \"run\", \"wait\", \"wake\", \"sleep\", \"io\", \"lock\" or \"unlock\""
    );
    // One thread waits for the result of an item before it takes, and the other one does that.
    let waits = main.replace("[\"take\",4]", "[\"result\",2],[\"take\",4]");
    let recording = load(&[&header, &waits, &child, first, second]);
    assert_eq!(Recording::from_text(&recording.to_text(), "app.ek"), Ok(recording.clone()));
    let program = &recording.workload("app", None).programs[0];
    assert!(program.lists[0].items[0].ends_with(&[Op::Post(SemaphoreId(4))]) && program.semaphores.len() == 5);
    assert!(program.threads[0].ops.contains(&Op::Acquire(SemaphoreId(4))));
    let of_thread = said([&header, &waits.replace("[\"result\",2]", "[\"result\",1]"), &child, first, second]);
    assert_eq!(of_thread, "app.ek:2: waits for the result of thread 1: expected that of an item");
    let both = child.replace("[\"take\",4]", "[\"result\",3],[\"take\",4]");
    let never = said([&header, &waits, &both, first, second]);
    assert_eq!(never, "app.ek:2: operation 4 waits for item 2, which is never done");
    // An item that no thread wakes keeps all that take from its list.
    let asleep = said([&header, &main.replace(",[\"wake\",3]", ""), &child, first, second]);
    assert_eq!(asleep, "app.ek:5: operation 1 waits for a wake-up that never comes");
    // One waits for what the other, which has to take it, does afterwards.
    let after = main.replace(",[\"wake\",3]", "").replace("[\"take\",4]", "[\"take\",4],[\"wake\",3]");
    assert_eq!(said([&header, &after, &child, first, second]), asleep);
}

#[test]
fn an_item_takes_locks_as_a_thread_does() {
    let header = HEADER.replace("\"threads\":2", "\"threads\":2,\"items\":1");
    let main = MAIN.replace("[\"run\",1000]", "[\"take\",4]");
    let item = r#"{"item":2,"list":4,"by":1,"ops":[["lock",7],["run",200],["unlock",7]]}"#;
    let workload = load(&[&header, &main, CHILD, item]).workload("app", None);
    validate::workload(&workload).unwrap();
    let ops = vec![Op::Lock(LockId(0)), compute(Work::Time(Ns(200))), Op::Unlock(LockId(0))];
    assert_eq!(workload.programs[0].lists, [List { name: "list 4".into(), items: vec![ops] }]);
}

#[test]
fn a_thread_that_never_goes_on_is_found() {
    let child = |from: &str, to: &str| complaint(&[HEADER, MAIN, &CHILD.replace(from, to)]);
    assert_eq!(child(",[\"wake\",0]", ""), "app.ek:2: operation 3 waits for a wake-up that never comes");
    assert!(
        complaint(&[HEADER, &MAIN.replace("[\"spawn\",1],", ""), CHILD])
            .ends_with(":3: waits to be spawned, but no thread spawns it")
    );
    // Each is spawned by the other.
    let main = MAIN.replace("\"ops\"", "\"spawned\":true,\"ops\"");
    let circle = complaint(&[HEADER, &main, &CHILD.replace("wake", "spawn")]);
    assert_eq!(circle, "app.ek:2: is spawned only by threads that wait for it to be spawned");
    // Each waits for the other to wake it first.
    let both = complaint(&[HEADER, MAIN, &CHILD.replace("[\"run\",300]", "[\"wait\"]")]);
    assert_eq!(both, "app.ek:2: operation 3 waits for a wake-up that never comes");
}

#[test]
fn the_example_of_the_page_loads() {
    let page = include_str!("../../../../docs/recording.md");
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(Recording::from_text(example, "docs/recording.md").unwrap().threads.len(), 2);
}

/// Some 20 MB of text.
#[test]
fn a_million_operations_load() {
    let count = 250_000;
    let ping = [Step::Run(1_234_567), Step::Wake(1), Step::Wait, Step::Sleep(Ns(1_000_000))].repeat(count);
    let pong = [Step::Wait, Step::Run(7_654_321), Step::Wake(0)].repeat(count);
    let thread = |steps| RecordedThread {
        name: "t".into(),
        process: 0,
        kind: ThreadKind::Application,
        start: Start::At(Ns::ZERO),
        rates: Vec::new(),
        steps,
    };
    let recording = Recording { threads: vec![thread(ping), thread(pong)], ..Recording::default() };
    let again = Recording::from_text(&recording.to_text(), "app.ek").unwrap();
    assert_eq!(again, recording);
    assert_eq!(again.workload("app", None).programs[0].threads[1].ops.len(), 3 * count);
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..=MAX_AMOUNT).prop_map(Step::Run),
        Just(Step::Wait),
        (0..6_u32).prop_map(Step::Wake),
        (0..=MAX_AMOUNT).prop_map(|span| Step::Sleep(Ns(span))),
        (0..=MAX_AMOUNT).prop_map(|span| Step::Io(Ns(span))),
        (0..3_u32).prop_map(Step::Spawn),
        (0..2_u32).prop_map(Step::Barrier),
        (0..4_u32, 0..=MAX_AMOUNT).prop_map(|(pool, amount)| Step::Share { pool, amount }),
        (0..2_u32).prop_map(Step::Take),
        (0..6_u32).prop_map(Step::Result),
    ]
}

/// What is done under a lock; now and then it is never given up.
fn locked() -> impl Strategy<Value = Vec<Step>> {
    let within = prop::collection::vec(prop_oneof![Just(Step::Run(5)), (0..3_u32).prop_map(Step::Wake)], 0..3);
    (0..2_u32, within, prop::bool::weighted(0.9)).prop_map(|(lock, within, given_up)| {
        let end = given_up.then_some(Step::Unlock(lock));
        [Step::Lock(lock)].into_iter().chain(within).chain(end).collect()
    })
}

/// Fewer than `most`, where all that is done under a lock counts as one.
fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let some = prop_oneof![9 => step().prop_map(|step| vec![step]), 1 => locked()];
    prop::collection::vec(some, 0..most).prop_map(|steps| steps.concat())
}

fn thread(counted: bool) -> impl Strategy<Value = RecordedThread> {
    let start = prop_oneof![3 => (0..=MAX_AMOUNT).prop_map(|at| Start::At(Ns(at))), 1 => Just(Start::Spawned)];
    let kind = prop_oneof![Just(ThreadKind::Application), Just(ThreadKind::Service)];
    let rates = prop::collection::vec(prop::option::of(RATES.prop_map(rate)), 0..if counted { 4 } else { 1 });
    (any::<String>(), any::<u32>(), kind, start, rates, steps(8)).prop_map(
        |(name, process, kind, start, rates, steps)| RecordedThread { name, process, kind, start, rates, steps },
    )
}

fn recording() -> impl Strategy<Value = Recording> {
    let wake = prop::option::of((0..1_000_000_000_u64).prop_map(Ns));
    let head = (any::<Vec<String>>(), any::<Option<String>>(), any::<u64>(), wake, any::<Vec<String>>());
    let threads = any::<bool>().prop_flat_map(|counted| (Just(counted), prop::collection::vec(thread(counted), 1..4)));
    let division = (1..u32::MAX, any::<bool>()).prop_map(|(pieces, guided)| Division { pieces, guided });
    let pools = prop::collection::btree_map(0..4_u32, division, 0..2);
    let item = (0..2_u32, 0..3_u32, steps(4));
    let items = prop::collection::vec(item.prop_map(|(list, by, steps)| RecordedItem { list, by, steps }), 0..4);
    (head, pools, threads, items).prop_map(
        |((command, machine, makespan, wake, notes), pools, (counted, threads), items)| Recording {
            command,
            machine,
            makespan: Ns(makespan),
            wake,
            counted,
            notes,
            pools,
            threads,
            items,
        },
    )
}

proptest! {
    /// What fits together comes back as it was, and is a program that can be run.
    #[test]
    fn what_is_written_is_read(recording in recording()) {
        if let Ok(again) = Recording::from_text(&recording.to_text(), "app.ek") {
            prop_assert_eq!(&again, &recording);
            prop_assert_eq!(validate::workload(&again.workload("app", None)), Ok(()));
            let machine = machines::by_name("2B2S").unwrap();
            prop_assert_eq!(validate::workload(&again.workload("app", Some(&machine))), Ok(()));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = Recording::from_text(&text, "app.ek");
    }

    #[test]
    fn damaged_recordings_never_panic(at in 0..400_usize, cut in 0..40_usize, insert in "\\PC{0,8}") {
        let mut text: Vec<char> = text(&[HEADER, MAIN, CHILD]).chars().collect();
        let from = at.min(text.len());
        let to = (from + cut).min(text.len());
        text.splice(from..to, insert.chars());
        let _ = Recording::from_text(&text.into_iter().collect::<String>(), "app.ek");
    }
}

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{CoreTypeId, machines};
use evenkeel_perfetto::proto::{Trace, TracePacket, Type};
use prost::Message;

use super::*;
use crate::threads::{Options, Outcome, run};

fn traced() -> (Vec<u8>, Outcome) {
    let machine = machines::by_name("2B2S").unwrap();
    let workload = evenkeel_workload::by_name("Sync-2").unwrap();
    let policy = evenkeel_sched::Setup::parse("colab").unwrap();
    let mut writer = Writer::new(&machine, Vec::new());
    let options = Options { oracle: true, ..Options::default() };
    let outcome = run(&machine, &workload, policy.make(), None, &options, &mut writer).unwrap();
    (writer.finish().unwrap(), outcome)
}

/// What a writer of a small machine makes of these.
fn written(events: &[(u64, Event<'_>)]) -> Trace {
    let mut writer = Writer::new(&machines::by_name("2B2S").unwrap(), Vec::new());
    for (at, event) in events {
        writer.observe(Ns(*at), event);
    }
    Trace::decode(writer.finish().unwrap().as_slice()).unwrap()
}

/// The first thread of a program.
fn created(program: u32) -> Event<'static> {
    Event::Created { thread: ThreadId(program), of: ProgramId(program), program: "mcf", name: "main" }
}

/// Where slices of a track begin, and where they end with which notes.
fn slices(trace: &Trace, track: Track) -> Vec<String> {
    let of_track = |packet: &TracePacket| {
        let (at, event) = (packet.timestamp(), packet.track_event.as_ref()?);
        let notes = event.debug_annotations.iter().map(|note| format!(", {}: {}", note.name(), note.string_value()));
        match event.r#type() {
            _ if event.track_uuid() != track => None,
            Type::SliceBegin => Some(format!("{at} {}", event.name())),
            Type::SliceEnd => Some(format!("{at} end{}", notes.collect::<String>())),
            Type::Counter | Type::Instant | Type::Unspecified => None,
        }
    };
    trace.packet.iter().filter_map(of_track).collect()
}

#[test]
fn where_a_thread_leaves_its_core_the_slice_ends_with_the_reason() {
    let (core, thread) = (CoreId(0), ThreadId(0));
    let (ready, run) = (Event::Ready { thread, core, by: None }, Event::Run { core, thread });
    let stop = |why: Stop<'static>| Event::Stop { core, thread, why };
    let trace = written(&[
        (0, created(0)),
        (0, ready),
        (1, run),
        (3, stop(Stop::Preempted)),
        (3, ready),
        (4, run),
        (5, stop(Stop::Blocked("a task"))),
        (8, ready),
        (8, run),
        (9, stop(Stop::Exited)),
    ]);
    let on_core = [
        "1 mcf/main",
        "3 end, why: preempted",
        "4 mcf/main",
        "5 end, why: blocked",
        "8 mcf/main",
        "9 end, why: exited",
    ];
    assert_eq!(slices(&trace, track_of_core(core)), on_core);
    let of_thread = [
        "0 ready",
        "1 end",
        "1 runs on core 0",
        "3 end, why: preempted",
        "3 ready",
        "4 end",
        "4 runs on core 0",
        "5 end, why: blocked",
        "5 waits: a task",
        "8 end",
        "8 ready",
        "8 end",
        "8 runs on core 0",
        "9 end, why: exited",
    ];
    assert_eq!(slices(&trace, track_of(thread)), of_thread);
}

#[test]
fn a_thread_that_ends_with_its_program_leaves_its_track() {
    let (core, thread) = (CoreId(0), ThreadId(0));
    let ready = Event::Ready { thread, core, by: None };
    let trace = written(&[(0, created(0)), (0, ready), (5, Event::Gone { thread }), (9, created(1))]);
    assert_eq!(slices(&trace, track_of(thread)), ["0 ready", "5 end"]);
}

#[test]
fn programs_of_one_name_are_processes_of_their_own() {
    let trace = written(&[(0, created(0)), (0, created(1))]);
    let processes = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref()?.process.as_ref());
    let named: Vec<_> = processes.map(|process| (process.pid(), process.process_name())).collect();
    assert_eq!(named, [(MACHINE_PID, "2B2S"), (2, "mcf"), (3, "mcf 2")]);
}

#[test]
fn no_two_tracks_of_the_largest_machine_have_one_number() {
    let small = machines::by_name("2B2S").unwrap();
    let large = Machine { cores: vec![small.cores[0]; CoreSet::MAX_CORES], ..small };
    let mut writer = Writer::new(&large, Vec::new());
    writer.observe(Ns(0), &created(0));
    let trace = Trace::decode(writer.finish().unwrap().as_slice()).unwrap();
    let numbers = || trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref()?.uuid);
    assert_eq!(numbers().collect::<BTreeSet<u64>>().len(), numbers().count());
}

#[test]
fn slices_are_balanced_and_tell_how_long_every_core_was_busy() {
    let (bytes, outcome) = traced();
    let trace = Trace::decode(bytes.as_slice()).unwrap();
    let mut described: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    let mut busy: BTreeMap<u64, u64> = BTreeMap::new();
    let mut counters = 0;
    let mut last = 0;
    for packet in &trace.packet {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        if let Some(track) = &packet.track_descriptor {
            let parent = track.parent_uuid;
            assert!(parent.is_none_or(|parent| described.contains_key(&parent)), "parents first: {track:?}");
            assert!(described.insert(track.uuid.unwrap(), format!("{track:?}")).is_none(), "described once");
            continue;
        }
        let event = packet.track_event.as_ref().unwrap();
        let (at, track) = (packet.timestamp.unwrap(), event.track_uuid.unwrap());
        assert!(at >= last, "time never goes back");
        last = at;
        assert!(described.contains_key(&track), "described before use");
        match event.r#type() {
            Type::SliceBegin => assert_eq!(open.insert(track, at), None, "one slice at a time on {track}"),
            Type::SliceEnd => *busy.entry(track).or_default() += at - open.remove(&track).unwrap(),
            Type::Counter => counters += u32::from(event.double_counter_value.unwrap() > 0.0),
            Type::Instant | Type::Unspecified => {}
        }
    }
    assert!(open.is_empty(), "everything is ended: {open:?}");
    assert!(counters > 100, "frequency and power: {counters}");
    for core in &outcome.cores {
        assert_eq!(busy[&track_of_core(core.id)], core.busy.0, "core {}", core.id.0);
    }
    assert_eq!(outcome.cores[0].core_type, CoreTypeId(0));
    let names: Vec<&String> = described.values().collect();
    assert!(names.iter().any(|name| name.contains("core 0 cortex-a57")));
    assert!(names.iter().any(|name| name.contains("fluidanimate")));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    assert!(traced().0 == traced().0);
}

#[test]
fn an_error_in_writing_is_reported_at_the_end() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("disk full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(&machines::by_name("2B2S").unwrap(), Full);
    writer.observe(Ns(1), &created(0));
    assert_eq!(writer.finish().err().unwrap().to_string(), "disk full");
}

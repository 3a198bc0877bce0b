use std::collections::BTreeMap;

use evenkeel_model::{CoreTypeId, machines};
use evenkeel_perfetto::proto::{Trace, Type};
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
    writer.observe(Ns(1), &Event::Created { thread: ThreadId(0), program: "p", name: "t" });
    assert_eq!(writer.finish().err().unwrap().to_string(), "disk full");
}

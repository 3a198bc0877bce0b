//! Recordings of real programs.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use evenkeel_linux::event::Event;
use evenkeel_linux::mask;
use evenkeel_linux::record::{BUFFER, Recorder, RecordingBuilder};
use evenkeel_linux::watch::{Counters, Options, Watch};
use evenkeel_model::{CoreTypeId, Machine, machines};
use evenkeel_workload::recording::{RecordedThread, Step};
use perf_event::Builder;
use perf_event::events::Software;

/// Two processes that compute, and one that sleeps, once a line arrives.
const PROGRAM: &str = "read go; count() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }; \
                       count 200000 & count 100000; sleep 0.05; count 100000; wait";

/// As many equal cores as there are CPUs, by number.
fn machine() -> (Machine, Vec<u16>) {
    let cpus = mask::own().unwrap();
    let mut machine = machines::by_name("2B2S").unwrap().symmetric(CoreTypeId(0));
    machine.cores = vec![machine.cores[0]; usize::from(cpus.iter().copied().max().unwrap()) + 1];
    (machine, cpus)
}

/// The kernel's own counter of nanoseconds is nearly everywhere: it takes the place of the hardware's of instructions,
/// so that one instruction takes a nanosecond.
#[test(ebpf, counting)]
fn what_the_kernel_counts_is_what_is_recorded() {
    let (machine, cpus) = machine();
    let counters = Counters::open(Path::new("/"), &cpus, || Builder::new(Software::CPU_CLOCK));
    let options = Options { events: Some(BUFFER), counters: counters.unwrap(), ..Options::default() };
    let mut watch = Watch::new(options).unwrap();
    let mut program = Command::new("sh").args(["-c", PROGRAM]).stdin(Stdio::piped()).spawn().unwrap();
    watch.follow(program.id()).unwrap();
    let [mut counting, mut timing] = [RecordingBuilder::new(&machine), RecordingBuilder::new(&machine)];
    program.stdin.take().unwrap().write_all(b"\n").unwrap();
    program.wait().unwrap();
    let each = |event| {
        counting.event(event);
        timing.event(Event { instructions: None, ..event });
    };
    watch.events(each).unwrap();
    let (counted, timed) = (counting.finish(), timing.finish());
    assert!(counted.counted && !timed.counted, "{:?}", counted.notes);
    let work = |thread: &RecordedThread| {
        let amount = |step: &Step| if let Step::Run(amount) = step { *amount } else { 0 };
        thread.steps.iter().map(amount).sum::<u64>() as f64
    };
    let mut busy = 0;
    for (counted, timed) in counted.threads.iter().zip(&timed.threads) {
        let same = |of: f64| (0.95..1.05).contains(&of);
        assert!(timed.rates.is_empty());
        if work(timed) > 1e6 {
            let share = work(counted) / work(timed);
            assert!(same(share), "{}: {share} of its time was counted", counted.name);
            assert!(counted.rates[0].is_some_and(same), "{}: {:?}", counted.name, counted.rates);
            busy += 1;
        }
    }
    assert!(busy >= 2, "two of the processes compute");
}

#[test(ebpf)]
fn events_that_are_lost_are_counted_and_the_recording_says_how_to_avoid_it() {
    let (machine, cpus) = machine();
    // Each of these processes is some ten events, of which the buffer holds some seventy.
    let many = "read go; for i in 1 2 3 4 5 6 7 8 9 10; do (:); (:); (:); (:); done";
    let mut program = Command::new("sh").args(["-c", many]).stdin(Stdio::piped()).spawn().unwrap();
    let mut recorder = Recorder::new(&machine, &cpus, program.id(), 1).unwrap();
    program.stdin.take().unwrap().write_all(b"\n").unwrap();
    program.wait().unwrap();
    recorder.advance().unwrap();
    let notes = recorder.finish().notes;
    let lost = notes.iter().find(|note| note.contains("events were lost")).unwrap();
    assert!(lost.contains("the buffer of 4 KiB was full") && lost.contains("--buffer"), "{lost}");
}

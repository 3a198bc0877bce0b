//! Records a real run: the kernel's events become a recording.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitStatus;

use evenkeel_model::{Machine, Ns};
use evenkeel_workload::recording::Recording;

use super::RecordingBuilder;
use crate::clock::clock;
use crate::event::{Event, Tid, What};
use crate::launch::Launched;
use crate::process;
use crate::wait::poll;
use crate::watch::{self, Counters, Missed, Options, Watch};

/// How often the kernel's ring is emptied.
const PERIOD: Ns = Ns::from_ms(10);
/// A thread's name is read again at this age, since many programs name their threads after they have started.
const NAMED_AFTER: Ns = Ns::from_ms(50);
/// How often the records of threads that have ended are given back (assumed: fewer threads begin meanwhile than there are records).
const SWEPT: Ns = Ns::from_ms(100);
/// A CPU that the machine lacks.
const NO_CORE: u16 = u16::MAX;

/// By default so many bytes of events are kept until they are read: half a million events.
pub const BUFFER: u32 = 32 << 20;

/// A recording that is being made.
pub struct Recorder {
    watch: Watch,
    recording: RecordingBuilder,
    /// The machine's cores by CPU.
    core_of: BTreeMap<u16, u16>,
    /// Threads whose name is to be read again, and when.
    unnamed: BTreeMap<Tid, Ns>,
    events: u64,
    swept: Ns,
    /// Why instructions are not counted.
    uncounted: Option<String>,
}

impl Recorder {
    /// Gets everything in place to record a process, its threads, and the processes that it starts. Core `i` of the
    /// machine is the CPU `cpus[i]`. The kernel keeps `buffer` bytes of events until they are read, [`BUFFER`] being enough
    /// unless this process hardly gets to run.
    ///
    /// # Errors
    /// Threads cannot be watched here.
    pub fn new(machine: &Machine, cpus: &[u16], process: Tid, buffer: u32) -> Result<Self, watch::Error> {
        Self::counting(machine, cpus, process, buffer, Counters::instructions(cpus))
    }

    /// The same with these counters, or without any for a reason.
    fn counting(
        machine: &Machine,
        cpus: &[u16],
        process: Tid,
        buffer: u32,
        counters: Result<Counters, String>,
    ) -> Result<Self, watch::Error> {
        let (counters, uncounted) = match counters {
            Ok(counters) => (counters, None),
            Err(why) => (Counters::default(), Some(why)),
        };
        let mut watch = Watch::new(Options { events: Some(buffer), counters, ..Options::default() })?;
        let mut recording = RecordingBuilder::new(machine);
        recording.calls_take(watch.call());
        recording.alive(process);
        watch.follow(process).map_err(|error| watch::Error::Refused(error.to_string()))?;
        let core_of = cpus.iter().zip(0..).map(|(cpu, core)| (*cpu, core)).collect();
        let unnamed = BTreeMap::from([(process, Ns::ZERO)]);
        Ok(Self { watch, recording, core_of, unnamed, events: 0, swept: Ns::ZERO, uncounted })
    }

    /// Takes the events since the last time.
    ///
    /// # Errors
    /// None in practice.
    pub fn advance(&mut self) -> io::Result<()> {
        let (recording, unnamed, events) = (&mut self.recording, &mut self.unnamed, &mut self.events);
        let core_of = &self.core_of;
        self.watch.events(|mut event: Event| {
            *events += 1;
            event.cpu = core_of.get(&event.cpu).copied().unwrap_or(NO_CORE);
            match event.what {
                What::Forked { child, .. } => drop(unnamed.insert(child, event.at)),
                What::Exec { .. } => drop(unnamed.insert(event.tid, event.at)),
                _ => {}
            }
            recording.event(event);
        })?;
        let now = clock();
        // Room for others: what has ended is in its events.
        if now.since(self.swept) >= SWEPT {
            self.watch.sample(now, &mut Vec::new(), &mut Vec::new());
            self.swept = now;
        }
        unnamed.retain(|tid, since| {
            if let Ok(name) = process::text(format!("/proc/{tid}/comm")) {
                recording.name(*tid, name.trim_end());
            }
            now.since(*since) < NAMED_AFTER
        });
        Ok(())
    }

    /// Records until a released command has ended, and returns how it did.
    ///
    /// # Errors
    /// None in practice.
    pub fn follow(&mut self, launched: &mut Launched) -> io::Result<ExitStatus> {
        loop {
            self.advance()?;
            if let Some(status) = launched.poll()? {
                self.advance()?;
                return Ok(status);
            }
            poll(&[launched.end()], PERIOD)?;
        }
    }

    /// What is not seen, why, and what that costs. A text each.
    pub fn missing(&self) -> Vec<String> {
        let uncounted = self.uncounted.as_ref().map(|why| {
            format!(
                "No hardware counters: {why}. Without them work is recorded as time, which on another machine counts as \
                 compute-bound."
            )
        });
        let blind = self.watch.blind().map(|why| {
            format!(
                "The loops and tasks of OpenMP are not seen, which needs Linux 6.6 or newer: {why}. Without that, \
                 work that threads share out is found by its effect only."
            )
        });
        uncounted.into_iter().chain(blind).collect()
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Ends the recording. If something was lost, its notes say what, and how to avoid it.
    pub fn finish(self) -> Recording {
        let lost = self.lost();
        let mut recording = self.recording.finish();
        if self.uncounted.is_none() && !recording.counted && recording.notes.is_empty() {
            recording.notes.push("the hardware counters counted nothing, so that work is recorded as time".into());
        }
        recording.notes.extend(lost);
        recording
    }

    /// What the recording lacks because there was no room for it.
    fn lost(&self) -> Vec<String> {
        let Missed { events, threads, .. } = self.watch.missed();
        let mut notes = Vec::new();
        if events > 0 {
            notes.push(format!(
                "{events} of {} events were lost, because they came faster than they were read and the buffer of {} was \
                 full; the recording has gaps there. A larger --buffer loses fewer",
                self.events + events,
                size(self.watch.buffer())
            ));
        }
        if threads > 0 {
            notes.push(format!(
                "{threads} threads were not recorded, because they started while {} others lived, which is the most that \
                 are recorded at a time; start fewer at a time",
                self.watch.most_threads()
            ));
        }
        notes
    }
}

/// Bytes in words.
fn size(bytes: u32) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes >> 20),
    }
}

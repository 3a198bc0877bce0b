//! Records a real run: what the kernel tells goes to the recorder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use evenkeel_model::{Machine, Ns};
use evenkeel_workload::recording::Recording;

use super::Recorder;
use crate::event::{Event, Tid, What};
use crate::host::{clock, poll};
use crate::watch::{self, Options, Watch};

/// How often the kernel's ring is emptied.
const PERIOD: Ns = Ns::from_ms(10);
/// A thread's name is read again at this age, since many programs name their threads after they have started.
const NAMED_AFTER: Ns = Ns::from_ms(50);
/// A CPU that the machine lacks.
const NO_CORE: u16 = u16::MAX;

/// A recording that is being made.
pub struct Tape {
    watch: Watch,
    recorder: Recorder,
    /// The recorder's cores by CPU.
    core_of: BTreeMap<u16, u16>,
    /// Threads whose name is to be read again, and when.
    unnamed: BTreeMap<Tid, Ns>,
    events: u64,
}

impl Tape {
    /// Gets everything in place to record a process, its threads, and the processes that it starts. Core `i` of the
    /// machine is the CPU `cpus[i]`.
    ///
    /// # Errors
    /// Threads cannot be watched here.
    pub fn new(machine: &Machine, cpus: &[u16], process: Tid) -> Result<Self, watch::Error> {
        let mut watch = Watch::new(&Options { events: true, type_of: Vec::new(), tell_idle: Vec::new() })?;
        let mut recorder = Recorder::new(machine);
        recorder.alive(process);
        watch.follow(process).map_err(|error| watch::Error::Refused(error.to_string()))?;
        let core_of = cpus.iter().zip(0..).map(|(cpu, core)| (*cpu, core)).collect();
        Ok(Self { watch, recorder, core_of, unnamed: BTreeMap::from([(process, Ns::ZERO)]), events: 0 })
    }

    /// Takes what the kernel has told since the last time.
    ///
    /// # Errors
    /// None in practice.
    pub fn advance(&mut self) -> io::Result<()> {
        let (recorder, unnamed, events) = (&mut self.recorder, &mut self.unnamed, &mut self.events);
        let core_of = &self.core_of;
        self.watch.events(|mut event: Event| {
            *events += 1;
            event.cpu = core_of.get(&event.cpu).copied().unwrap_or(NO_CORE);
            match event.what {
                What::Forked { child, .. } => drop(unnamed.insert(child, event.at)),
                What::Exec => drop(unnamed.insert(event.tid, event.at)),
                _ => {}
            }
            recorder.event(event);
        })?;
        let now = clock();
        unnamed.retain(|tid, since| {
            if let Ok(name) = fs::read_to_string(format!("/proc/{tid}/comm")) {
                recorder.name(*tid, name.trim_end());
            }
            now.since(*since) < NAMED_AFTER
        });
        Ok(())
    }

    /// Waits until it is time to go on, or until the process of `process` has ended.
    ///
    /// # Errors
    /// None in practice.
    pub fn wait(&self, process: BorrowedFd<'_>) -> io::Result<()> {
        poll(&[process], PERIOD).map(|_| ())
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Ends the recording. If events were lost, its notes say so.
    pub fn finish(self) -> Recording {
        let lost = self.watch.lost();
        let mut recording = self.recorder.finish();
        if lost > 0 {
            recording.notes.push(format!(
                "{lost} events were lost because they came faster than they could be read; the recording has gaps there"
            ));
        }
        recording
    }
}

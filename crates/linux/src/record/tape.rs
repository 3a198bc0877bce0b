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
use crate::watch::{self, Counters, Options, Watch};

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
    /// Why instructions are not counted.
    uncounted: Option<String>,
}

impl Tape {
    /// Gets everything in place to record a process, its threads, and the processes that it starts. Core `i` of the
    /// machine is the CPU `cpus[i]`.
    ///
    /// # Errors
    /// Threads cannot be watched here.
    pub fn new(machine: &Machine, cpus: &[u16], process: Tid) -> Result<Self, watch::Error> {
        Self::counting(machine, cpus, process, Counters::instructions(cpus))
    }

    /// The same with these counters, or without any for a reason.
    fn counting(
        machine: &Machine,
        cpus: &[u16],
        process: Tid,
        counters: Result<Counters, String>,
    ) -> Result<Self, watch::Error> {
        let (counters, uncounted) = match counters {
            Ok(counters) => (counters, None),
            Err(why) => (Counters::default(), Some(why)),
        };
        let mut watch = Watch::new(Options { events: true, counters, ..Options::default() })?;
        let mut recorder = Recorder::new(machine);
        recorder.alive(process);
        watch.follow(process).map_err(|error| watch::Error::Refused(error.to_string()))?;
        let core_of = cpus.iter().zip(0..).map(|(cpu, core)| (*cpu, core)).collect();
        Ok(Self { watch, recorder, core_of, unnamed: BTreeMap::from([(process, Ns::ZERO)]), events: 0, uncounted })
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

    /// What is not seen, why, and what that costs.
    pub fn missing(&self) -> Option<String> {
        let why = self.uncounted.as_ref()?;
        Some(format!(
            "No hardware counters: {why}. Without them work is recorded as time, which on another machine counts as \
             compute-bound."
        ))
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Ends the recording. If events were lost, its notes say so.
    pub fn finish(self) -> Recording {
        let lost = self.watch.lost();
        let mut recording = self.recorder.finish();
        if self.uncounted.is_none() && !recording.counted && recording.notes.is_empty() {
            recording.notes.push("the hardware counters told nothing, so that work is recorded as time".into());
        }
        if lost > 0 {
            recording.notes.push(format!(
                "{lost} events were lost because they came faster than they could be read; the recording has gaps there"
            ));
        }
        recording
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use evenkeel_model::{CoreTypeId, machines};
    use evenkeel_workload::recording::{RecordedThread, Step};
    use perf_event::Builder;
    use perf_event::events::Software;

    use super::*;
    use crate::mask;

    /// Two processes that compute, and one that sleeps, when they are told to.
    const PROGRAM: &str = "read go; count() { i=0; while [ $i -lt $1 ]; do i=$((i+1)); done; }; \
                           count 200000 & count 100000; sleep 0.05; count 100000; wait";

    /// As many equal cores as there are CPUs, by number.
    fn machine() -> (Machine, Vec<u16>) {
        let cpus = mask::own().unwrap();
        let mut machine = machines::by_name("2B2S").unwrap().symmetric(CoreTypeId(0));
        machine.cores = vec![machine.cores[0]; usize::from(cpus.iter().copied().max().unwrap()) + 1];
        (machine, cpus)
    }

    fn watch(options: Options) -> Option<Watch> {
        match Watch::new(options) {
            Err(watch::Error::NoTypes | watch::Error::NotAllowed) => {
                eprintln!("skipped: nobody may watch threads here");
                None
            }
            watch => Some(watch.unwrap()),
        }
    }

    /// The kernel's own counter of nanoseconds is nearly everywhere: it takes the place of the hardware's of instructions,
    /// so that one instruction takes a nanosecond.
    #[test]
    fn what_the_kernel_counts_is_what_is_recorded() {
        let (machine, cpus) = machine();
        let counters = Counters::open(Path::new("/"), &cpus, || Builder::new(Software::CPU_CLOCK));
        let Ok(counters) = counters.inspect_err(|why| eprintln!("skipped: {why}")) else { return };
        let Some(mut watch) = watch(Options { events: true, counters, ..Options::default() }) else { return };
        let mut program = Command::new("sh").args(["-c", PROGRAM]).stdin(Stdio::piped()).spawn().unwrap();
        watch.follow(program.id()).unwrap();
        let [mut counting, mut timing] = [Recorder::new(&machine), Recorder::new(&machine)];
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

    #[test]
    fn what_is_missing_is_said() {
        let (machine, cpus) = machine();
        if watch(Options::default()).is_some() {
            let tape = |counters| Tape::counting(&machine, &cpus, std::process::id(), counters).unwrap();
            let missing = tape(Err("there are none".into())).missing().unwrap();
            assert!(missing.starts_with("No hardware counters: there are none. Without them work is"), "{missing}");
            assert_eq!(tape(Ok(Counters::default())).missing(), None);
        }
    }
}

//! A simulated machine that reports what happens on it as the kernel would.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use evenkeel_linux::event::{Event, Off, Tid, What};
use evenkeel_linux::record::RecordingBuilder;
use evenkeel_model::{Behaviour, CoreId, Instructions, Machine, Ns, ThreadId};
use evenkeel_sim::{Error, Observer, Options, Outcome, Stop};
use evenkeel_workload::recording::Recording;
use evenkeel_workload::{Op, Workload};

/// Watches a run and keeps what an observer of the kernel would have seen.
#[derive(Default)]
pub struct Tap {
    pub events: Vec<Event>,
    pub names: Vec<(Tid, String)>,
    threads: Vec<Seen>,
    /// What threads have waited for: the place of a name is that of a word in memory.
    waited_for: Vec<String>,
    /// The calls that woke others, the last of which may wake several: when, who, and at which word.
    calls: u32,
    call: Option<(Ns, Option<ThreadId>, u32)>,
    pmu: Option<Pmu>,
}

/// Counters of a machine that has none: for each core, so much, and which thread has run there since when.
pub struct Pmu {
    machine: Machine,
    /// What each thread's code is like.
    code: Vec<Behaviour>,
    cores: Vec<(f64, Option<(ThreadId, Ns)>)>,
}

impl Pmu {
    /// Every thread of the workload has one phase.
    pub fn new(machine: &Machine, workload: &Workload) -> Self {
        let mut code = Vec::new();
        for program in &workload.programs {
            code.extend(program.threads.iter().map(|thread| {
                let phase = phase(&thread.ops).unwrap_or_default();
                program.phases[phase].behaviour
            }));
        }
        Self { machine: machine.clone(), code, cores: vec![(1.0, None); machine.cores.len()] }
    }

    /// What the counter of a core reads.
    fn read(&mut self, core: CoreId, now: Ns) -> Instructions {
        let kind = self.machine.cores[core.index()].core_type;
        let (count, running) = &mut self.cores[core.index()];
        if let Some((thread, since)) = running {
            let frequency = self.machine.core_types[kind.index()].max_frequency();
            *count += now.since(*since).0 as f64 * self.machine.rate(kind, frequency, &self.code[thread.index()]);
            *since = now;
        }
        Instructions(*count as u64)
    }
}

/// The first phase of a thread.
fn phase(ops: &[Op]) -> Option<usize> {
    ops.iter().find_map(|op| match op {
        Op::Compute { phase, .. } => Some(phase.index()),
        Op::Repeat { body, .. } | Op::Drain { body, .. } => phase(body),
        _ => None,
    })
}

#[derive(Clone, Copy, Default)]
struct Seen {
    started: bool,
    blocked: bool,
    cpu: u16,
    /// What it waits for.
    word: u32,
}

/// Thread numbers of the kernel are not ours.
fn tid(thread: ThreadId) -> Tid {
    thread.0 + 1000
}

impl Tap {
    /// One that also sees what the cores count.
    pub fn counting(pmu: Pmu) -> Self {
        Self { pmu: Some(pmu), ..Self::default() }
    }

    /// As if it had not been seen by which futex calls threads woke each other, and where.
    pub fn forget_calls(&mut self) {
        for event in &mut self.events {
            if let What::Woken { call, word, .. } = &mut event.what {
                (*call, *word) = (0, 0);
            }
        }
    }

    fn push(&mut self, at: Ns, thread: ThreadId, core: CoreId, what: What) {
        self.threads[thread.index()].cpu = core.0;
        self.tell(at, thread, core, what);
    }

    fn tell(&mut self, at: Ns, thread: ThreadId, on: CoreId, what: What) {
        let instructions = self.pmu.as_mut().map(|pmu| pmu.read(on, at));
        self.events.push(Event { at, tid: tid(thread), cpu: on.0, instructions, what });
    }

    fn runs(&mut self, core: CoreId, thread: Option<(ThreadId, Ns)>) {
        if let Some(pmu) = &mut self.pmu {
            pmu.cores[core.index()].1 = thread;
        }
    }
}

impl Observer for Tap {
    fn observe(&mut self, at: Ns, event: &evenkeel_sim::Event<'_>) {
        use evenkeel_sim::Event as Sim;
        match *event {
            Sim::Created { thread, name, .. } => {
                self.names.push((tid(thread), name.to_owned()));
                self.threads.push(Seen::default());
            }
            Sim::Ready { thread, core, by } => {
                let seen = std::mem::replace(
                    &mut self.threads[thread.index()],
                    Seen { started: true, blocked: false, cpu: core.0, word: 0 },
                );
                match by {
                    Some(by) if !seen.started => {
                        let on = CoreId(self.threads[by.index()].cpu);
                        self.push(at, by, on, What::Forked { child: tid(thread), process: false });
                    }
                    by if !seen.started || seen.blocked => {
                        let on = by.map_or(core, |by| CoreId(self.threads[by.index()].cpu));
                        let call = (at, by, seen.word);
                        self.calls += u32::from(seen.word != 0 && self.call.replace(call) != Some(call));
                        let call = if seen.word == 0 { 0 } else { self.calls };
                        self.tell(at, thread, on, What::Woken { by: by.map(tid), call, word: seen.word });
                    }
                    _ => {}
                }
            }
            Sim::Run { core, thread } => {
                self.push(at, thread, core, What::On);
                self.runs(core, Some((thread, at)));
            }
            Sim::Stop { core, thread, why } => {
                let off = match why {
                    Stop::Preempted | Stop::Taken | Stop::Yielded => Off::Preempted,
                    Stop::Blocked("sleep") | Stop::Exited => Off::Blocked,
                    Stop::Blocked(_) => Off::Futex,
                };
                if why == Stop::Exited {
                    self.push(at, thread, core, What::Exited);
                }
                self.push(at, thread, core, What::Off(off));
                let seen = &mut self.threads[thread.index()];
                seen.blocked = matches!(why, Stop::Blocked(_));
                seen.word = match why {
                    Stop::Blocked(on) if on.contains("queue") || on.starts_with("lock") => {
                        word(&mut self.waited_for, on)
                    }
                    // What wakes at an exit is the kernel. Barriers are not found here: all their wake-ups count.
                    _ => 0,
                };
                seen.started = why != Stop::Exited;
                self.runs(core, None);
            }
            _ => {}
        }
    }
}

/// The word in memory that threads wait at which wait for this.
fn word(known: &mut Vec<String>, name: &str) -> u32 {
    let place = known.iter().position(|one| one == name).unwrap_or_else(|| {
        known.push(name.to_owned());
        known.len() - 1
    });
    place as u32 + 1
}

pub fn play(machine: &Machine, workload: &Workload, policy: &str, watch: &mut Tap) -> Result<Outcome, Error> {
    let policy = evenkeel_sched::Setup::parse(policy).expect("a policy of the registry").make();
    evenkeel_sim::run(machine, workload, policy, None, &Options::default(), watch)
}

pub fn record(machine: &Machine, tap: &Tap) -> Recording {
    let mut recorder = RecordingBuilder::new(machine);
    tap.events.iter().for_each(|event| recorder.event(*event));
    tap.names.iter().for_each(|(tid, name)| recorder.name(*tid, name));
    recorder.finish()
}

/// The makespans of a run, and of its recording on the same machine.
pub fn there_and_back(machine: &Machine, workload: &Workload, mut tap: Tap) -> (Ns, Ns) {
    let first = play(machine, workload, "cfs", &mut tap).expect("the workload ends");
    let recording = record(machine, &tap);
    assert_eq!(recording.makespan, first.makespan);
    let text = recording.to_text();
    let again = Recording::from_text(&text, "test.ek").expect("a recording loads");
    assert_eq!(again, recording);
    let again =
        play(machine, &again.workload("test", Some(machine)), "cfs", &mut Tap::default()).expect("a recording ends");
    (first.makespan, again.makespan)
}

/// Does to events what full buffers and CPUs that report on their own can do, and worse.
pub fn damage(events: &mut Vec<Event>, at: proptest::sample::Index, how: u8) {
    if events.is_empty() {
        return;
    }
    let at = at.index(events.len());
    match how {
        0 => drop(events.remove(at)),
        1 => drop(events.drain(at..(at + 20).min(events.len()))),
        // Reported late, and with the wrong time.
        2 => events[at].at = Ns(events[at].at.0.saturating_sub(100_000)),
        _ => {
            let again = events[at];
            events.push(again);
        }
    }
}

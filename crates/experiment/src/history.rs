//! What happened in a run: which thread ran on which core when, why it stopped and who woke it, power and frequencies.

use std::collections::BTreeMap;

use evenkeel_model::lane::{Slice, coarser};
use evenkeel_model::{ClusterId, CoreId, CoreSet, Hz, Machine, Ns, ThreadId, Watts};
use evenkeel_sched::policy::Judgement;
use evenkeel_sim::{Event, Observer, Stop};

mod times;

pub use times::Times;

/// Not more judgements than this are kept, of all threads together.
const JUDGED: usize = 1 << 17;
/// A speedup that has changed by less than this since it was noted is no news.
const NEWS: f64 = 0.05;

/// The history of a run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The threads, by [`ThreadId`].
    pub threads: Vec<RecordedThread>,
    /// What ran, in order of time.
    pub spans: Vec<Span>,
    /// What threads waited for: see [`Why::Blocked`].
    pub waited_for: Vec<String>,
    /// The power of each cluster, from each time on until its next.
    pub power: Vec<(Ns, ClusterId, Watts)>,
    /// The power of each part of a real machine that counts its energy, such as a package, from each time on until its next.
    pub metered: Vec<(String, Vec<(Ns, Watts)>)>,
    /// The frequency of each cluster, from each time on until its next.
    pub frequencies: Vec<(Ns, ClusterId, Hz)>,
    /// Which thread waited for which other, for how long and how often, over the whole run.
    pub waits: BTreeMap<Pair, Wait>,
    /// What was thought of threads, in order of time.
    pub judged: Vec<Judged>,
    /// When the run ended.
    pub end: Ns,
    /// The grid through which the older part is seen, if there were too many spans to keep each.
    pub resolution: Option<Ns>,
}

/// A thread of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedThread {
    /// Its program's name.
    pub program: String,
    /// Its own.
    pub name: String,
    /// How long it took from each of its wake-ups until it ran.
    pub latencies: Times,
    /// How long it took from each wake-up that no thread caused, such as a timer's, until it waited again.
    pub responses: Times,
}

/// What was thought of a thread from a time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// From when.
    pub at: Ns,
    /// The thread.
    pub thread: ThreadId,
    /// What the policy thought of it, and its speedup.
    pub judgement: Judgement,
    /// The cores that the policy kept it to, if it did.
    pub kept: Option<CoreSet>,
}

/// A thread that waited, and the one that ended that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The thread that waited.
    pub waiter: ThreadId,
    /// The thread that woke it.
    pub waker: ThreadId,
}

/// How long a thread waited for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// All the times together.
    pub total: Ns,
    /// How many times.
    pub times: u64,
}

/// A thread had a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which core.
    pub core: CoreId,
    /// Which thread.
    pub thread: ThreadId,
    /// From when.
    pub start: Ns,
    /// Until when.
    pub end: Ns,
    /// How long it was ready before, without a core.
    pub ready: Ns,
    /// What made it ready.
    pub woken: Woken,
    /// Why it left the core.
    pub why: Why,
}

/// What made a thread ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// It was ready all the time, or new.
    No,
    /// Time did, or something outside.
    ByItself,
    /// Another thread did.
    By(ThreadId),
}

/// Why a thread left a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// That is not known.
    Unknown,
    /// Another thread ran instead.
    Preempted,
    /// Another core took it over.
    Taken,
    /// It gave way.
    Yielded,
    /// It waited for something: a position in [`History::waited_for`].
    Blocked(u32),
    /// It was done.
    Exited,
    /// The run ended.
    End,
}

impl Why {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Preempted => "preempted",
            Self::Taken => "taken",
            Self::Yielded => "yielded",
            Self::Blocked(_) => "blocked",
            Self::Exited => "exited",
            Self::End => "end",
        }
    }
}

/// Records a run: an observer of it.
#[derive(Clone, Debug)]
pub struct Recorder {
    history: History,
    most: usize,
    running: Vec<Option<Began>>,
    threads: Vec<State>,
    names: BTreeMap<String, u32>,
}

/// A core runs a thread.
#[derive(Clone, Copy, Debug)]
struct Began {
    thread: ThreadId,
    at: Ns,
    ready: Ns,
    woken: Woken,
}

/// A thread as the last events left it.
#[derive(Clone, Copy, Debug)]
struct State {
    ready: Option<Ns>,
    blocked: Option<Ns>,
    woken: Woken,
    /// When no thread woke it, until it waits again.
    began: Option<Ns>,
    /// What was noted of it last.
    judgement: Judgement,
    kept: Option<CoreSet>,
}

impl Recorder {
    /// A recorder for a run on a machine that keeps everything.
    pub fn new(machine: &Machine) -> Self {
        let running = vec![None; machine.cores.len()];
        Self { history: History::default(), most: usize::MAX, running, threads: Vec::new(), names: BTreeMap::new() }
    }

    /// Keeps at most so many spans: of a longer run, the older part is seen through a grid.
    pub fn at_most(mut self, spans: usize) -> Self {
        self.most = spans;
        self
    }

    /// The history of a run that ended at a time.
    pub fn finish(mut self, end: Ns) -> History {
        for core in 0..self.running.len() {
            self.stop(CoreId(core as u16), end, Why::End);
        }
        self.history.end = end;
        self.history.spans.sort_by_key(|span| (span.start, span.core));
        self.history
    }

    fn stop(&mut self, core: CoreId, end: Ns, why: Why) {
        let Some(Began { thread, at, ready, woken }) = self.running[core.index()].take() else { return };
        self.history.spans.push(Span { core, thread, start: at, end, ready, woken, why });
        if self.history.spans.len() >= self.most {
            self.thin(end);
        }
    }

    /// Makes room for as many spans as there are at least, since a lane has at most one a cell of the grid.
    fn thin(&mut self, now: Ns) {
        let cells = (self.most / (2 * self.running.len())).max(1);
        let grid = Ns((now.0 / cells as u64 + 1).next_power_of_two());
        let spans = std::mem::take(&mut self.history.spans);
        for core in (0..self.running.len()).map(|core| CoreId(core as u16)) {
            let of_core = spans.iter().filter(|span| span.core == core);
            let lane: Vec<Slice<ThreadId>> =
                of_core.map(|span| Slice { who: span.thread, from: span.start, to: span.end }).collect();
            let thinner = coarser(&lane, grid).into_iter().map(|Slice { who, from, to }| Span {
                core,
                thread: who,
                start: from,
                end: to,
                ready: Ns::ZERO,
                woken: Woken::No,
                why: Why::Unknown,
            });
            self.history.spans.extend(thinner);
        }
        self.history.resolution = Some(grid);
    }

    /// Something is thought of a thread from now on, or the policy keeps it to some cores.
    fn judge(&mut self, at: Ns, thread: ThreadId, judgement: Option<Judgement>, kept: Option<CoreSet>) {
        let Some(state) = self.threads.get_mut(thread.index()) else { return };
        if let Some(judgement) = judgement {
            let [before, now] = [state.judgement, judgement].map(|judgement| judgement.speedup.unwrap_or(0.0));
            if judgement.label == state.judgement.label && (now - before).abs() < NEWS * before {
                return;
            }
            state.judgement = judgement;
        }
        state.kept = kept.or(state.kept);
        self.history.judged.push(Judged { at, thread, judgement: state.judgement, kept: state.kept });
        if self.history.judged.len() >= JUDGED {
            self.history.judged = last_of_each(std::mem::take(&mut self.history.judged), self.threads.len(), at);
        }
    }

    fn ready(&mut self, at: Ns, thread: ThreadId, by: Option<ThreadId>) {
        let Some(state) = self.threads.get_mut(thread.index()) else { return };
        // One that is queued anew has waited since it became ready.
        state.ready.get_or_insert(at);
        // One that was preempted becomes ready, too.
        let Some(blocked) = state.blocked.take() else { return };
        state.woken = by.map_or(Woken::ByItself, Woken::By);
        match by {
            None => state.began = Some(at),
            Some(waker) => {
                state.began = None;
                let wait = self.history.waits.entry(Pair { waiter: thread, waker }).or_default();
                wait.total += at.since(blocked);
                wait.times += 1;
            }
        }
    }

    fn run(&mut self, at: Ns, core: CoreId, thread: ThreadId) {
        let Some(state) = self.threads.get_mut(thread.index()) else { return };
        let ready = state.ready.take().map_or(Ns::ZERO, |since| at.since(since));
        let woken = std::mem::replace(&mut state.woken, Woken::No);
        if woken != Woken::No {
            self.history.threads[thread.index()].latencies.add(ready);
        }
        self.running[core.index()] = Some(Began { thread, at, ready, woken });
    }

    fn wait(&mut self, at: Ns, thread: ThreadId, what: &str) -> Why {
        if let Some(state) = self.threads.get_mut(thread.index()) {
            state.blocked = Some(at);
            if let Some(began) = state.began.take() {
                self.history.threads[thread.index()].responses.add(at.since(began));
            }
        }
        if let Some(known) = self.names.get(what) {
            return Why::Blocked(*known);
        }
        let next = self.history.waited_for.len() as u32;
        self.history.waited_for.push(what.to_owned());
        self.names.insert(what.to_owned(), next);
        Why::Blocked(next)
    }

    /// A thread is gone: what it waited for is over, should it begin again.
    fn gone(&mut self, thread: ThreadId) {
        if let Some(state) = self.threads.get_mut(thread.index()) {
            (state.ready, state.blocked, state.began, state.woken) = (None, None, None, Woken::No);
        }
    }
}

impl Observer for Recorder {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        match *event {
            Event::Created { program, name, .. } => {
                let thread = RecordedThread { program: program.into(), name: name.into(), ..RecordedThread::default() };
                self.history.threads.push(thread);
                self.threads.push(State {
                    ready: None,
                    blocked: None,
                    woken: Woken::No,
                    began: None,
                    judgement: Judgement::default(),
                    kept: None,
                });
            }
            Event::Ready { thread, by, .. } => self.ready(at, thread, by),
            Event::Run { core, thread } => self.run(at, core, thread),
            Event::Stop { core, thread, why } => {
                let why = match why {
                    Stop::Preempted => Why::Preempted,
                    Stop::Taken => Why::Taken,
                    Stop::Yielded => Why::Yielded,
                    Stop::Blocked(what) => self.wait(at, thread, what),
                    Stop::Exited => {
                        self.gone(thread);
                        Why::Exited
                    }
                };
                self.stop(core, at, why);
            }
            Event::Gone { thread } => self.gone(thread),
            Event::Power { cluster, power } => {
                set(&mut self.history.power, at, cluster, power);
                if self.history.power.len() >= self.most {
                    self.history.power = means(&self.history.power, at, self.most / 2);
                }
            }
            Event::Frequency { cluster, frequency } => set(&mut self.history.frequencies, at, cluster, frequency),
            Event::Judged { thread, judgement } => self.judge(at, thread, Some(judgement), None),
            Event::Affinity { thread, cores } => self.judge(at, thread, None, Some(cores)),
            Event::TaskBegan { .. } | Event::TaskEnded { .. } => {}
        }
    }
}

/// The last judgement of each thread in each cell of a grid, of which there are so many that half of the room is left.
fn last_of_each(judged: Vec<Judged>, threads: usize, now: Ns) -> Vec<Judged> {
    let cells = (JUDGED / 2 / threads.max(1)).max(1);
    let grid = (now.0 / cells as u64 + 1).next_power_of_two();
    let mut later = vec![u64::MAX; threads];
    let last = |judged: &Judged| {
        let cell = judged.at.0 / grid;
        std::mem::replace(&mut later[judged.thread.index()], cell) != cell
    };
    let mut kept: Vec<Judged> = judged.into_iter().rev().filter(last).collect();
    kept.reverse();
    kept
}

/// A cluster has a value from now on. One that it had for no time, between two threads, is left out.
fn set<V>(values: &mut Vec<(Ns, ClusterId, V)>, at: Ns, cluster: ClusterId, value: V) {
    let now = values.iter_mut().rev().take_while(|(since, ..)| *since == at).find(|(_, of, _)| *of == cluster);
    match now {
        Some(last) => last.2 = value,
        None => values.push((at, cluster, value)),
    }
}

/// The power of each cluster in the mean over each cell of a grid that leaves at most so many values.
fn means(power: &[(Ns, ClusterId, Watts)], now: Ns, most: usize) -> Vec<(Ns, ClusterId, Watts)> {
    let clusters = power.iter().map(|(_, cluster, _)| cluster.index() + 1).max().unwrap_or(1);
    let cell = (now.0 / (most / clusters).max(1) as u64 + 1).next_power_of_two();
    let mut result = Vec::new();
    for cluster in 0..clusters {
        let own: Vec<&(Ns, ClusterId, Watts)> = power.iter().filter(|(_, of, _)| of.index() == cluster).collect();
        let mut sums: BTreeMap<u64, (f64, u64)> = BTreeMap::new();
        for (index, (since, _, power)) in own.iter().enumerate() {
            let (mut from, until) = (since.0, own.get(index + 1).map_or(now, |next| next.0).0);
            while from < until {
                let to = until.min((from / cell + 1) * cell);
                let (area, time) = sums.entry(from / cell).or_default();
                *area += power.0 * (to - from) as f64;
                *time += to - from;
                from = to;
            }
        }
        let Some((_, id, last)) = own.last() else { continue };
        result.extend(sums.iter().map(|(at, (area, time))| (Ns(at * cell), *id, Watts(area / *time as f64))));
        result.push((now, *id, *last));
    }
    result.sort_by_key(|(at, cluster, _)| (*at, *cluster));
    result
}

#[cfg(test)]
mod tests;

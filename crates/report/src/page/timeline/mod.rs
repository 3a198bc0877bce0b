//! Which thread ran on which core when, to be looked into: `script/timeline.js` draws what stands here as numbers.

mod columns;

use std::collections::BTreeMap;

use evenkeel_experiment::history::{History, RecordedThread, Why, Woken};
use evenkeel_model::{ClusterId, CoreId, Machine, Ns, Watts};
use evenkeel_sched::policy::Label;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::COLOURS;
use super::groups::Groups;
use columns::Columns;

/// A run that is drawn, below others that began at the same time.
pub struct Drawn<'a> {
    /// What tells it from the others; empty if there are none.
    pub title: &'a str,
    /// What happened in it.
    pub history: &'a History,
    /// The machine, its cores in the order of the run.
    pub machine: &'a Machine,
    /// What the operating system calls each core, if not by its number.
    pub numbers: Option<&'a [u16]>,
    /// Moments that matter to a core, in order of time.
    pub moments: &'a [(CoreId, Ns)],
    /// What happened to the whole run, in order of time: each is a line with a word.
    pub marks: Vec<(Ns, &'a str)>,
    /// What else is known of each thread: pairs of a name and a text.
    pub facts: Vec<Vec<(&'static str, String)>>,
    /// The colours, in the order in which programs have them.
    pub colours: Vec<usize>,
    /// The same for types of cores.
    pub types: Vec<usize>,
}

impl<'a> Drawn<'a> {
    /// A simulated run.
    pub fn simulated(title: &'a str, history: &'a History, machine: &'a Machine) -> Self {
        let mut blame: Vec<Ns> = vec![Ns::ZERO; history.threads.len()];
        for (pair, wait) in &history.waits {
            if let Some(blame) = blame.get_mut(pair.waker.index()) {
                *blame += wait.total;
            }
        }
        let facts = blame.into_iter().map(|blame| match blame {
            Ns::ZERO => Vec::new(),
            _ => vec![("blame", format!("others waited {blame} for it, all of them together"))],
        });
        let (facts, all) = (facts.collect(), || (0..COLOURS).collect());
        let (colours, types) = (all(), all());
        Self { title, history, machine, numbers: None, moments: &[], marks: Vec::new(), facts, colours, types }
    }

    /// As it is, but in colours of its own as far as there are others than `taken`, which mean something else on the page.
    #[must_use]
    pub fn beside(mut self, taken: &[usize]) -> Self {
        for colours in [&mut self.colours, &mut self.types] {
            colours.sort_by_key(|colour| taken.iter().any(|other| other % COLOURS == *colour));
        }
        self
    }
}

/// The document that the script reads.
#[derive(Serialize)]
struct Document<'a> {
    end: u64,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    title: &'a str,
    end: u64,
    /// Whether slices are left out.
    thinned: bool,
    cores: Vec<Core<'a>>,
    threads: Vec<Thread<'a>>,
    /// What has one colour.
    groups: Vec<String>,
    /// The colours, in the order of groups.
    colours: &'a [usize],
    reasons: Vec<String>,
    spans: Packed,
    judged: Packed,
    tracks: Vec<Track>,
    /// By core.
    moments: BTreeMap<usize, Vec<u64>>,
    marks: Vec<(u64, &'a str)>,
}

#[derive(Serialize)]
struct Core<'a> {
    name: String,
    label: String,
    kind: &'a str,
    /// Of its type.
    colour: usize,
    big: bool,
}

#[derive(Serialize)]
struct Thread<'a> {
    program: &'a str,
    name: &'a str,
    group: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    facts: &'a [(&'static str, String)],
}

#[derive(Serialize)]
struct Packed {
    count: usize,
    columns: String,
}

#[derive(Serialize)]
struct Track {
    name: String,
    unit: &'static str,
    scale: f64,
    #[serde(flatten)]
    packed: Packed,
}

/// The figure. `id` is its own on the page, `label` says what it shows to those who do not see it, and `horizon` is when the longest
/// of its runs ended.
pub fn timeline(id: &str, label: &str, runs: &[Drawn<'_>], horizon: Ns) -> Markup {
    let document = Document { end: horizon.0, runs: runs.iter().map(run).collect() };
    // In a script, a name may not look like its end.
    let json = serde_json::to_string(&document).unwrap_or_default().replace('<', "\\u003c");
    html! {
        figure.timeline id=(id) data-label=(label) {
            script type="application/json" { (PreEscaped(json)) }
            noscript { p.note { "A browser draws this with JavaScript, which is switched off here." } }
        }
        @for (run, grid) in runs.iter().filter_map(|run| Some((run, run.history.resolution?))) {
            p.note {
                @if !run.title.is_empty() { (run.title) ": " }
                "there is more than a page can hold: of the older part only what had most of each " (grid) " of a core is kept."
            }
        }
    }
}

fn run<'a>(drawn: &'a Drawn<'_>) -> Run<'a> {
    let Drawn { history, machine, .. } = drawn;
    let mut moments: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (core, at) in drawn.moments {
        moments.entry(core.index()).or_default().push(at.0);
    }
    // Cores big first, as they are drawn; the script knows them by these positions.
    let order: Vec<CoreId> = machine.big().iter().chain(machine.little().iter()).collect();
    let mut position = vec![0; machine.cores.len()];
    for (place, core) in order.iter().enumerate() {
        position[core.index()] = place;
    }
    let groups = Groups::of(history.threads.iter().map(|thread| (&*thread.program, &*thread.name)));
    let facts = |thread: usize| drawn.facts.get(thread).map_or(&[][..], Vec::as_slice);
    Run {
        title: drawn.title,
        end: history.end.0,
        thinned: history.resolution.is_some(),
        cores: order.iter().map(|core| core_of(drawn, *core)).collect(),
        threads: (history.threads.iter().enumerate())
            .map(|(index, thread)| {
                let RecordedThread { program, name, .. } = thread;
                Thread { program, name, group: groups.of[index], facts: facts(index) }
            })
            .collect(),
        groups: groups.names,
        colours: &drawn.colours,
        reasons: reasons(history),
        spans: spans(history, &position),
        judged: judged(history, machine),
        tracks: tracks(history, machine),
        moments: moments.into_iter().map(|(core, times)| (position[core], times)).collect(),
        marks: drawn.marks.iter().map(|(at, text)| (at.0, *text)).collect(),
    }
}

fn core_of<'a>(drawn: &'a Drawn<'_>, core: CoreId) -> Core<'a> {
    let kind = drawn.machine.core_type(core).name.as_str();
    let core_type = drawn.machine.cores[core.index()].core_type.index();
    let number = drawn.numbers.and_then(|numbers| numbers.get(core.index()).copied()).unwrap_or(core.0);
    Core {
        name: format!("{number} {kind}"),
        label: format!("core {number}, {kind}"),
        kind,
        colour: drawn.types.get(core_type % COLOURS).copied().unwrap_or(0),
        big: drawn.machine.big().contains(core),
    }
}

/// Why threads left their cores, in words: first those that a word says, then what they waited for.
const WORDS: [Why; 6] = [Why::Unknown, Why::Preempted, Why::Taken, Why::Yielded, Why::Exited, Why::End];

fn reasons(history: &History) -> Vec<String> {
    let words = WORDS.iter().map(|why| match why {
        Why::Preempted => "preempted: another thread ran",
        Why::Taken => "taken over by another core",
        Why::Yielded => "gave way",
        Why::Exited => "exited",
        Why::End => "the run ended",
        Why::Unknown | Why::Blocked(_) => "",
    });
    let waited = history.waited_for.iter().map(|what| format!("waited for {what}"));
    words.map(str::to_owned).chain(waited).collect()
}

fn reason(why: Why) -> u64 {
    match why {
        Why::Blocked(what) => WORDS.len() as u64 + u64::from(what),
        word => WORDS.iter().position(|other| *other == word).unwrap_or(0) as u64,
    }
}

fn spans(history: &History, position: &[usize]) -> Packed {
    let spans = &history.spans;
    let mut columns = Columns::new();
    columns.rising(spans.iter().map(|span| span.start.0));
    columns.numbers(spans.iter().map(|span| (span.end - span.start).0));
    columns.numbers(spans.iter().map(|span| position[span.core.index()] as u64));
    columns.numbers(spans.iter().map(|span| u64::from(span.thread.0)));
    columns.numbers(spans.iter().map(|span| span.ready.0));
    columns.numbers(spans.iter().map(|span| match span.woken {
        Woken::No => 0,
        Woken::ByItself => 1,
        Woken::By(thread) => u64::from(thread.0) + 2,
    }));
    columns.numbers(spans.iter().map(|span| reason(span.why)));
    Packed { count: spans.len(), columns: columns.text() }
}

/// What was thought of threads: `script/decode.js` has the words.
fn judged(history: &History, machine: &Machine) -> Packed {
    let judged = &history.judged;
    let mut columns = Columns::new();
    columns.rising(judged.iter().map(|judged| judged.at.0));
    columns.numbers(judged.iter().map(|judged| u64::from(judged.thread.0)));
    columns.numbers(judged.iter().map(|judged| match judged.judgement.label {
        Label::Any => 0,
        Label::Big => 1,
        Label::Little => 2,
        Label::Critical => 3,
    }));
    // In hundredths; 0: not known.
    columns.numbers(
        judged
            .iter()
            .map(|judged| judged.judgement.speedup.map_or(0, |speedup| (100.0 * speedup).round().max(1.0) as u64)),
    );
    columns.numbers(judged.iter().map(|judged| match judged.kept {
        None => 0,
        Some(cores) if cores.is_empty() || cores == machine.all() => 0,
        Some(cores) if cores == machine.big() => 1,
        Some(cores) if cores == machine.little() => 2,
        Some(_) => 3,
    }));
    Packed { count: judged.len(), columns: columns.text() }
}

/// Power and frequency of each cluster that has any, and power of what counts its energy itself.
fn tracks(history: &History, machine: &Machine) -> Vec<Track> {
    let power = history.power.iter().map(|(at, cluster, power)| (*cluster, (at.0, microwatts(*power))));
    let frequency = history.frequencies.iter().map(|(at, cluster, frequency)| (*cluster, (at.0, frequency.0)));
    let mut tracks = of_clusters(power.collect(), machine, power_track);
    tracks.extend(
        history.metered.iter().map(|(name, steps)| {
            power_track(name, steps.iter().map(|(at, power)| (at.0, microwatts(*power))).collect())
        }),
    );
    let clocks =
        of_clusters(frequency.collect(), machine, |name, steps| track(format!("clock {name}"), "GHz", 1e-9, steps));
    // A frequency that never changes is no news.
    tracks.extend(clocks.into_iter().filter(|track| track.packed.count > 1));
    tracks.retain(|track| track.packed.count > 0);
    tracks
}

fn microwatts(power: Watts) -> u64 {
    (power.0 * 1e6).round() as u64
}

fn of_clusters(
    steps: Vec<(ClusterId, (u64, u64))>,
    machine: &Machine,
    track: impl Fn(&str, Vec<(u64, u64)>) -> Track,
) -> Vec<Track> {
    let own = |index: usize| steps.iter().filter(move |(of, _)| of.index() == index).map(|(_, step)| *step);
    machine.clusters.iter().enumerate().map(|(index, cluster)| track(&cluster.name, own(index).collect())).collect()
}

fn power_track(of: &str, steps: Vec<(u64, u64)>) -> Track {
    track(format!("power {of}"), "W", 1e-6, steps)
}

/// Times, and the value from each on, in so many units.
fn track(name: String, unit: &'static str, scale: f64, steps: Vec<(u64, u64)>) -> Track {
    let mut columns = Columns::new();
    columns.rising(steps.iter().map(|step| step.0));
    columns.numbers(steps.iter().map(|step| step.1));
    Track { name, unit, scale, packed: Packed { count: steps.len(), columns: columns.text() } }
}

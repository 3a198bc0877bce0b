//! What pages about real threads say of them: what ran where, for how long each ran, and how long others waited for it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use evenkeel_experiment::history::{History, RecordedThread, Span, Why, Woken};
use evenkeel_linux::event::Tid;
use evenkeel_linux::host::Timeline;
use evenkeel_linux::sample::PairWaits;
use evenkeel_model::{CoreId, Machine, Ns, ThreadId, Watts};
use evenkeel_report::page::{self as views, COLOURS, Drawn, Thread, Waited};
use evenkeel_sched::policy::{Judgement, Label};
use maud::{Markup, html};

/// So many threads, or pairs of threads, are shown: enough to find out what matters.
const SHOWN: usize = 20;

/// The program of threads that were seen only after they had exited, and so have no account of their own.
const SHORT_LIVED: &str = "short-lived threads";

/// A thread, as a page shows it.
pub(super) struct Shown {
    /// Its number.
    pub tid: Tid,
    /// Its program.
    pub program: String,
    /// What it is called.
    pub name: String,
    /// It serves its program's runtime system.
    pub service: bool,
    /// How long it ran on each of the machine's core types.
    pub run: Vec<Ns>,
    /// How long it was ready without a core.
    pub delay: Ns,
    /// How long others waited for it, if that is seen.
    pub blame: Option<Ns>,
    /// What a reader is told who points at it: names and texts.
    pub facts: Vec<(&'static str, String)>,
}

impl Shown {
    fn total(&self) -> Ns {
        Ns(self.run.iter().map(|run| run.0).sum())
    }
}

/// What was thought of a thread at the end.
pub(super) fn judged(judgement: Judgement) -> impl Iterator<Item = (&'static str, String)> {
    let label = (judgement.label != Label::Any).then(|| ("label", format!("{}, at the end", judgement.label.name())));
    let speedup = judgement.speedup.map(|speedup| {
        let text = format!("{speedup:.2} times as fast on a big core, as measured at the end");
        ("speedup", text)
    });
    label.into_iter().chain(speedup)
}

/// How long a thread was ready.
pub(super) fn ready(delay: Ns) -> (&'static str, String) {
    ("ready", format!("{delay} without a core, in all"))
}

/// How long others waited for a thread.
pub(super) fn blamed(blame: Ns) -> (&'static str, String) {
    ("blame", format!("others waited {blame} for it, all of them together"))
}

/// That a thread serves its program's runtime system.
pub(super) fn serves(service: bool) -> Option<(&'static str, String)> {
    service.then(|| ("kind", "serves the program's runtime system".into()))
}

/// The threads that a timeline, or who waited, tells of, and that are not among those that have an account. All figures of a page are given
/// all of them, so that colours mean the same in each.
pub(super) fn unlisted(timeline: &Timeline, waited: impl Iterator<Item = Tid>, threads: &[Shown]) -> Vec<Tid> {
    let listed: BTreeSet<Tid> = threads.iter().map(|thread| thread.tid).collect();
    let told: BTreeSet<Tid> =
        timeline.lanes().flat_map(|(_, slices)| slices).map(|slice| slice.who).chain(waited).collect();
    told.difference(&listed).copied().collect()
}

fn unlisted_name(tid: Tid) -> String {
    format!("thread {tid}")
}

/// Which of all threads waited for which, on a page with so many types of cores.
pub(super) fn graph(threads: &[Shown], unlisted: &[Tid], pairs: &[PairWaits], types: usize) -> Markup {
    let names = threads.iter().map(|thread| (thread.program.as_str(), thread.name.clone()));
    let names: Vec<(&str, String)> =
        names.chain(unlisted.iter().map(|tid| (SHORT_LIVED, unlisted_name(*tid)))).collect();
    let tids = threads.iter().map(|thread| thread.tid).chain(unlisted.iter().copied());
    let positions: BTreeMap<Tid, usize> = tids.enumerate().map(|(position, tid)| (tid, position)).collect();
    let waits = pairs.iter().filter_map(|pair| {
        let (waiter, waker) = (*positions.get(&pair.waiter)?, *positions.get(&pair.waker)?);
        Some(Waited { waiter, waker, total: pair.waited, times: pair.times })
    });
    let waits: Vec<Waited> = waits.collect();
    let nodes: Vec<Thread<'_>> = names.iter().map(|(program, name)| Thread { program, name }).collect();
    views::graph("waits", &nodes, &waits, &colours(types))
}

/// The colours of programs, in their order, on a page with so many types of cores, which have the first.
pub(super) fn colours(types: usize) -> Vec<usize> {
    (0..COLOURS).map(|colour| (types + colour) % COLOURS).collect()
}

/// Which thread ran on which core of a machine, until the end. Core `i` is the CPU `cpus[i]`.
pub(super) struct Lanes<'a> {
    pub machine: &'a Machine,
    pub cpus: &'a [u16],
    pub timeline: &'a Timeline,
    pub threads: &'a [Shown],
    /// Those that have no account of their own, as [`unlisted`] finds them.
    pub unlisted: &'a [Tid],
    /// The policies that took over in the middle.
    pub policies: &'a [(Ns, String)],
    pub end: Ns,
}

impl Lanes<'_> {
    /// The figure.
    pub fn draw(&self) -> Markup {
        let cores: BTreeMap<u16, CoreId> =
            self.cpus.iter().enumerate().map(|(core, cpu)| (*cpu, CoreId(core as u16))).collect();
        let moments = self.timeline.moves().iter().filter_map(|moved| Some((*cores.get(&moved.cpu)?, moved.at)));
        let history = self.history(&cores);
        let drawn = Drawn {
            title: "",
            history: &history,
            machine: self.machine,
            numbers: Some(self.cpus),
            moments: &moments.collect::<Vec<_>>(),
            marks: self.policies.iter().map(|(at, policy)| (*at, policy.as_str())).collect(),
            facts: self.threads.iter().map(|thread| thread.facts.clone()).collect(),
            colours: colours(self.machine.core_types.len()),
            types: (0..COLOURS).collect(),
        };
        let untold: Vec<String> =
            self.timeline.untold().iter().map(|(what, why)| format!("{what}, since {why}")).collect();
        html! {
            (views::timeline("timeline", "Which thread ran on which CPU, over time.", &[drawn], history.end))
            @if !untold.is_empty() { p.note { "Not drawn: " (untold.join("; ")) "." } }
        }
    }

    /// The timeline as the history of a run.
    fn history(&self, cores: &BTreeMap<u16, CoreId>) -> History {
        let mut ids: BTreeMap<Tid, ThreadId> = BTreeMap::new();
        // Meters are read until the page is made, which may be later than the end.
        let frequencies = self.timeline.frequencies().filter(|(at, ..)| *at <= self.end).collect();
        let metered = self.timeline.power().map(|(name, steps)| {
            let steps: Vec<(Ns, Watts)> = steps.filter(|(at, _)| *at <= self.end).collect();
            (name.to_owned(), steps)
        });
        let (end, resolution, metered) = (self.end, self.timeline.resolution(), metered.collect());
        let mut history = History { end, resolution, frequencies, metered, ..History::default() };
        for Shown { tid, program, name, .. } in self.threads {
            // Of threads that had one number, one after the other, the last is meant.
            ids.insert(*tid, ThreadId(history.threads.len() as u32));
            let (program, name) = (program.clone(), name.clone());
            history.threads.push(RecordedThread { program, name, ..RecordedThread::default() });
        }
        for tid in self.unlisted {
            ids.insert(*tid, ThreadId(history.threads.len() as u32));
            let (program, name) = (SHORT_LIVED.into(), unlisted_name(*tid));
            history.threads.push(RecordedThread { program, name, ..RecordedThread::default() });
        }
        for (cpu, slices) in self.timeline.lanes() {
            let Some(&core) = cores.get(&cpu) else { continue };
            for slice in slices {
                let Some(&thread) = ids.get(&slice.who) else { continue };
                let (start, end, ready) = (slice.from, slice.to, Ns::ZERO);
                history.spans.push(Span { core, thread, start, end, ready, woken: Woken::No, why: Why::Unknown });
            }
        }
        history.spans.sort_by_key(|span| (span.start, span.core));
        history
    }
}

/// The threads that ran longest, with their time by core type. They come in this order.
pub(super) fn where_time_went(threads: &[Shown], types: &[&str]) -> Markup {
    let longest = threads.iter().map(|thread| (thread.total() + thread.delay).0).max().unwrap_or_default();
    html! {
        div.legend {
            @for (colour, name) in types.iter().enumerate() {
                span class={ "t" (colour % COLOURS) } { b { "ran on " (name) " cores" } }
            }
            span.ready { b { "ready, and had no core" } }
        }
        div.scroll {
            table.bars {
                @for thread in threads.iter().take(SHOWN) { (stacked(thread, longest)) }
            }
        }
        (more(threads.len()))
    }
}

/// A thread's time by core type, one part after the other.
fn stacked(thread: &Shown, longest: u64) -> Markup {
    let mut parts = Vec::new();
    let mut from = 0;
    let runs = thread.run.iter().enumerate().map(|(core_type, run)| (Some(core_type), *run));
    for (core_type, time) in runs.chain([(None, thread.delay)]) {
        parts.push((core_type, from, time));
        from += time.0;
    }
    html! {
        tr {
            th scope="row" {
                (thread.name) @if thread.service { span.soft { " service" } }
            }
            td {
                div.track {
                    @for (core_type, from, time) in parts.into_iter().filter(|(_, _, time)| *time > Ns::ZERO) {
                        @let class = core_type.map_or("ready".to_owned(), |index| format!("k{}", index % COLOURS));
                        i class=(class) style=(span(from, time.0, longest)) title=(time) {}
                    }
                }
            }
            td.n { (thread.total()) }
        }
    }
}

/// A part of a bar of which `whole` is the full width.
fn span(from: u64, length: u64, whole: u64) -> String {
    let percent = |part: u64| 100.0 * part as f64 / whole.max(1) as f64;
    format!("left:{:.2}%;width:{:.2}%", percent(from), percent(length))
}

fn more(count: usize) -> Markup {
    html! { @if count > SHOWN { p.note { "... and " (count - SHOWN) " more." } } }
}

/// The threads that others waited for longest; `None` if no thread waited for one of these.
pub(super) fn blame(threads: &[Shown]) -> Option<Markup> {
    let blamed = |thread: &&Shown| thread.blame.is_some_and(|blame| blame > Ns::ZERO);
    let mut threads: Vec<&Shown> = threads.iter().filter(blamed).collect();
    threads.sort_by_key(|thread| (Reverse(thread.blame), thread.tid));
    let most = threads.first()?.blame.unwrap_or_default().0;
    Some(html! {
        p.soft {
            "For how long other threads waited (in the futex system call) for this one, all of them together. "
            "The thread that others waited for most is worth a fast core."
        }
        div.scroll {
            table.bars {
                @for thread in threads.iter().take(SHOWN) {
                    @let blame = thread.blame.unwrap_or_default();
                    tr {
                        th scope="row" { (thread.name) }
                        td { div.track { i.blame style=(span(0, blame.0, most)) {} } }
                        td.n { (blame) }
                    }
                }
            }
        }
        (more(threads.len()))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use evenkeel_model::machines;
    use serde_json::Value;

    use super::*;

    /// What is drawn of a second on two big and two little cores, and what stands below it.
    fn drawn(timeline: &Timeline, threads: &[Shown]) -> (Value, String) {
        let lanes = Lanes {
            machine: &machines::by_name("2B2S").unwrap(),
            cpus: &[0, 1, 2, 3],
            timeline,
            threads,
            unlisted: &[],
            policies: &[],
            end: Ns::from_secs(1),
        };
        let figure = lanes.draw().into_string();
        let (_, document) = figure.split_once("json\">").unwrap();
        let (document, _) = document.split_once("</script>").unwrap();
        let mut document: Value = serde_json::from_str(document).unwrap();
        (document["runs"][0].take(), figure.split_once("</figure>").unwrap().1.to_owned())
    }

    /// What is drawn below the lanes where files below a root say this at 100 and at 500 ms, and what is not: names and how many values.
    fn meters(file: &str, values: [&str; 2]) -> (Vec<(String, u64)>, String) {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("sys/class/powercap/intel-rapl:0");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("name"), "package-0\n").unwrap();
        fs::write(folder.join("max_energy_range_uj"), "262143328850\n").unwrap();
        let file = tree.path().join("sys").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let tell = |value: &str| fs::write(&file, value).unwrap();
        tell(values[0]);
        let machine = machines::by_name("2B2S").unwrap();
        let mut timeline = Timeline::new(Ns::ZERO, vec![0, 0, 1, 1]);
        timeline = timeline.with_meters(tree.path(), &machine, &[0, 1, 2, 3]);
        for (at, value) in [100, 500].into_iter().zip(values) {
            tell(value);
            timeline.read_meters(Ns::from_ms(at));
        }
        // After the end.
        tell("1\n");
        timeline.read_meters(Ns::from_secs(2));
        timeline.read_meters(Ns::from_secs(3));
        let (run, note) = drawn(&timeline, &[]);
        let track = |track: &Value| (track["name"].as_str().unwrap().to_owned(), track["count"].as_u64().unwrap());
        (run["tracks"].as_array().unwrap().iter().map(track).collect(), note)
    }

    #[test]
    fn clocks_are_drawn_where_the_kernel_tells_them_and_they_change() {
        let clock = "devices/system/cpu/cpu2/cpufreq/scaling_cur_freq";
        let (tracks, note) = meters(clock, ["800000\n", "1200000\n"]);
        assert_eq!(tracks, [("clock little".to_owned(), 2)]);
        assert!(
            note.contains("Not drawn: power, since only root may read") && !note.contains("clocks, since"),
            "{note}"
        );
        assert!(meters(clock, ["800000\n", "800000\n"]).0.is_empty());
    }

    /// The files stand in for a machine that counts its energy.
    #[test]
    fn power_is_drawn_where_the_kernel_counts_energy() {
        let counter = "class/powercap/intel-rapl:0/energy_uj";
        let (tracks, note) = meters(counter, ["1000000\n", "9000000\n"]);
        // From 100 ms to 500 ms, and until after the end.
        assert_eq!(tracks, [("power package-0".to_owned(), 2)]);
        assert!(note.contains("Not drawn: clocks, since the kernel does not tell them (cpufreq)."), "{note}");
        let (run, note) = drawn(&Timeline::default(), &[]);
        assert!(run["tracks"].as_array().unwrap().is_empty());
        assert!(note.is_empty(), "{note}");
    }

    #[test]
    fn programs_have_other_colours_than_types_of_cores() {
        let shown = |tid, program: &str| Shown {
            tid,
            program: program.to_owned(),
            name: "main".to_owned(),
            service: false,
            run: vec![Ns(1), Ns(2)],
            delay: Ns::ZERO,
            blame: None,
            facts: Vec::new(),
        };
        let threads = [shown(1, "one"), shown(2, "other")];
        let (run, _) = drawn(&Timeline::default(), &threads);
        let of_cores = [0, 2].map(|core| run["cores"][core]["colour"].as_u64().unwrap());
        let of_programs = [0, 1].map(|group| run["colours"][group].as_u64().unwrap());
        assert_eq!((of_cores, of_programs), ([0, 1], [2, 3]));
        let bars = where_time_went(&threads, &["big", "little"]).into_string();
        for core in of_cores {
            assert!(
                bars.contains(&format!("class=\"k{core}\"")) && bars.contains(&format!("class=\"t{core}\"")),
                "{bars}"
            );
        }
    }
}

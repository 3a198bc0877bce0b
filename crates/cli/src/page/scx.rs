//! The page of `evenkeel scx --html`.

use evenkeel_linux::host::Timeline;
use evenkeel_linux::sample::PairWaits;
use evenkeel_model::{Machine, Ns};
use evenkeel_report::page::{Made, Series, chart, frame};
use evenkeel_scx::{Figures, Observed, ObservedThread};
use maud::{Markup, html};

use super::run::changes;
use super::threads::{self, Lanes, Shown};
use crate::args::command_line;

/// More moments than this are not kept: then every second one is dropped, and half as many are noted from then on.
const MOST: usize = 2000;

/// The figures over time.
#[derive(Default)]
pub struct Story {
    moments: Vec<(Ns, Figures)>,
    /// Every which moment is noted.
    every: usize,
    skipped: usize,
}

impl Story {
    /// Notes a moment, perhaps.
    pub fn note(&mut self, at: Ns, figures: Figures) {
        self.skipped += 1;
        if self.skipped < self.every {
            return;
        }
        self.end(at, figures);
    }

    /// Notes the last moment.
    pub fn end(&mut self, at: Ns, figures: Figures) {
        self.skipped = 0;
        self.moments.push((at, figures));
        if self.moments.len() >= MOST {
            let mut keep = false;
            self.moments.retain(|_| {
                keep = !keep;
                keep
            });
            self.every = 2 * self.every.max(1);
        }
    }

    /// From each moment to the next: a value of both and the seconds in between.
    fn between(&self, value: impl Fn(&Figures, &Figures, f64) -> f64) -> Vec<(Ns, f64)> {
        let first = (Ns::ZERO, Figures::default());
        let moments: Vec<&(Ns, Figures)> = std::iter::once(&first).chain(&self.moments).collect();
        let value = |pair: &[&(Ns, Figures)]| {
            let seconds = pair[1].0.since(pair[0].0).as_secs_f64();
            (pair[1].0, value(&pair[0].1, &pair[1].1, seconds.max(1e-9)))
        };
        moments.windows(2).map(value).collect()
    }

    /// A value of each moment.
    fn at_each(&self, value: impl Fn(&Figures) -> f64) -> Vec<(Ns, f64)> {
        self.moments.iter().map(|(at, figures)| (*at, value(figures))).collect()
    }
}

/// What a page is about.
pub struct Scheduled<'a> {
    /// What was scheduled, and how that ended, if not well.
    pub heading: &'a str,
    /// The machine.
    pub machine: &'a Machine,
    /// The CPU that each of its cores is.
    pub cpus: &'a [u16],
    /// The policies that took over in the middle.
    pub policies: &'a [(Ns, String)],
    /// What the summary says: names, values, remarks.
    pub facts: &'a [(&'static str, String, String)],
    /// The figures over time.
    pub story: &'a Story,
    /// What was seen of threads.
    pub observed: Option<&'a Observed>,
    /// What this machine cannot tell the policy, and why.
    pub missing: Option<&'a str>,
    /// When it ended.
    pub end: Ns,
}

/// What was seen of threads.
pub(super) struct Seen<'a> {
    pub threads: Vec<ObservedThread>,
    pub timeline: &'a Timeline,
    /// Which waited for which.
    pub pairs: Vec<PairWaits>,
    /// How many threads that had ended are not kept any more.
    pub forgotten: u64,
}

impl<'a> Seen<'a> {
    fn of(observed: &'a Observed) -> Self {
        let (threads, timeline, pairs) = (observed.threads(), observed.timeline(), observed.pairs());
        Self { threads, timeline, pairs, forgotten: observed.forgotten() }
    }
}

impl Scheduled<'_> {
    /// The page.
    pub fn page(&self) -> String {
        self.page_of(self.observed.map(Seen::of))
    }

    pub(super) fn page_of(&self, seen: Option<Seen<'_>>) -> String {
        let facts = self.facts;
        let content = html! {
            h1 { (self.heading) }
            (changes(self.policies))
            @if let Some(missing) = self.missing { p.note { (missing) } }
            (charts(self.story))
            @if let Some(seen) = seen { (self.threads(seen)) }
            h2 { "In numbers" }
            div.scroll {
                table.rows {
                    @for (name, value, remark) in facts { tr { td { (name) } td.n { (value) } td.soft { (remark) } } }
                }
            }
        };
        let made = Made { command: &command_line(), remark: "A real machine differs from run to run." };
        frame("evenkeel scx", &content, made)
    }

    fn threads(&self, Seen { threads, timeline, pairs, forgotten }: Seen<'_>) -> Markup {
        let types: Vec<&str> = self.machine.core_types.iter().map(|kind| kind.name.as_str()).collect();
        let threads: Vec<Shown> = threads.into_iter().map(|thread| shown(thread, types.len())).collect();
        let (machine, cpus, policies, end) = (self.machine, self.cpus, self.policies, self.end);
        let waited = pairs.iter().flat_map(|pair| [pair.waiter, pair.waker]);
        let unlisted = threads::unlisted(timeline, waited, &threads);
        let lanes = Lanes { machine, cpus, timeline, threads: &threads, unlisted: &unlisted, policies, end };
        html! {
            h2 { "What ran where" }
            p.soft {
                "One lane a CPU, big cores tall and on top; grey is idle, or busy with what is not scheduled here. Threads were "
                "sampled some 20 times a second: how long a thread ran between two samples is exact; when, not always."
            }
            (lanes.draw())
            @if forgotten > 0 {
                p.note {
                    "More threads have ended than are kept: the names and times of " (forgotten)
                    ", those that ran for the shortest times, are lost. What ran of them is among the short-lived threads."
                }
            }
            h2 { "Threads that others waited for" }
            // Those that were waited for may all be short-lived, and have no account.
            @if let Some(blamed) = threads::blame(&threads) { (blamed) }
            @if pairs.is_empty() {
                p.soft { "No thread waited for another one (in the futex system call)." }
            } @else {
                (threads::graph(&threads, &unlisted, &pairs, types.len()))
            }
            h2 { "What each thread did" }
            (threads::where_time_went(&threads, &types))
        }
    }
}

fn shown(thread: ObservedThread, types: usize) -> Shown {
    let ObservedThread { tid, program, name, service, run, delay, blame, judgement } = thread;
    let mut facts: Vec<_> = threads::judged(judgement).chain([threads::ready(delay)]).collect();
    facts.push(threads::blamed(blame));
    facts.extend(threads::serves(service));
    let name = if name.is_empty() { "thread".into() } else { name };
    Shown {
        tid,
        program,
        name: format!("{name} {tid}"),
        service,
        run: run[..types].to_vec(),
        delay,
        blame: Some(blame),
        facts,
    }
}

fn charts(story: &Story) -> Markup {
    let series = |name: &str, points: Vec<(Ns, f64)>| Series { name: name.to_owned(), points };
    let rate = |count: fn(&Figures) -> u64| {
        story.between(move |before, after, seconds| count(after).saturating_sub(count(before)) as f64 / seconds)
    };
    let share = story.between(|before, after, _| {
        let (big, little) = (after.big.since(before.big), after.little.since(before.little));
        100.0 * big.0 as f64 / ((big + little).0 as f64)
    });
    let cores = story.between(|before, after, seconds| {
        (after.big.since(before.big) + after.little.since(before.little)).as_secs_f64() / seconds
    });
    let waits = [
        series("a thread for a core", story.at_each(|figures| figures.longest_wait.as_secs_f64() * 1e3)),
        series("an idle core, while one waited", story.at_each(|figures| figures.longest_idle.as_secs_f64() * 1e3)),
        series(
            "an idle big core, while a little one ran",
            story.at_each(|figures| figures.longest_misplaced.as_secs_f64() * 1e3),
        ),
    ];
    let decided = [
        series("threads put on cores", rate(|figures| figures.switches)),
        series("threads stopped", rate(|figures| figures.stops)),
        series("stale decisions", rate(|figures| figures.stale)),
    ];
    html! {
        div.panels {
            (chart("share", "Time on the fastest cores", "% of the time that threads ran", &[series("share", share)]))
            (chart("busy", "Busy cores", "how many cores ran threads, on average", &[series("cores", cores)]))
            (chart("threads", "Threads", "that are scheduled", &[series("threads", story.at_each(|figures| figures.living as f64))]))
            (chart("decisions", "Decisions", "a second", &decided))
            (chart("longest-wait", "The longest wait so far", "ms", &waits))
            (chart("blame", "Waits for other threads", "seconds a second, in futex calls, all threads together",
                &[series("waited", story.between(|before, after, seconds| after.blamed.since(before.blamed).as_secs_f64() / seconds))]))
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;

    use super::*;

    #[test]
    fn however_long_it_lasts_its_story_stays_short() {
        let mut story = Story::default();
        for second in 0..5 * MOST as u64 {
            story.note(Ns::from_secs(second), Figures { switches: 100 * second, ..Figures::default() });
        }
        assert!(story.moments.len() < MOST && story.moments.is_sorted_by_key(|(at, _)| *at));
        let rates = story.between(|before, after, seconds| (after.switches - before.switches) as f64 / seconds);
        assert!(rates.iter().skip(1).all(|(_, rate)| (rate - 100.0).abs() < 1e-6), "{rates:?}");
        let machine = machines::by_name("2B2S").unwrap();
        let page = Scheduled {
            heading: "scx <colab>",
            machine: &machine,
            cpus: &[0, 1, 2, 3],
            policies: &[(Ns(5), "<pfs>".into())],
            facts: &[("threads", "3".into(), String::new())],
            story: &story,
            observed: None,
            missing: None,
            end: Ns::from_secs(1),
        };
        let page = page.page();
        assert!(
            page.contains("scx &lt;colab&gt;") && page.contains("&lt;pfs&gt; from 5 ns on") && !page.contains("NaN")
        );
    }
}

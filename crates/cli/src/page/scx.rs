//! The page of `evenkeel scx --html`.

use evenkeel_model::Ns;
use evenkeel_report::page::{Made, Series, chart, frame};
use evenkeel_scx::Figures;
use maud::html;

use super::run::changes;
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

/// The page. `facts` are what the summary says: names, values, remarks.
pub fn page(
    heading: &str,
    policies: &[(Ns, String)],
    facts: &[(&str, String, String)],
    story: &Story,
    missing: Option<&str>,
) -> String {
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
    let content = html! {
        h1 { (heading) }
        (changes(policies))
        @if let Some(missing) = missing { p.note { (missing) } }
        div.panels {
            (chart("share", "Time on the fastest cores", "% of the time that threads ran", &[series("share", share)]))
            (chart("busy", "Busy cores", "how many cores ran threads, on average", &[series("cores", cores)]))
            (chart("threads", "Threads", "that are scheduled", &[series("threads", story.at_each(|figures| figures.living as f64))]))
            (chart("decisions", "Decisions", "a second", &decided))
            (chart("waits", "The longest wait so far", "ms", &waits))
            (chart("blame", "Waits for other threads", "seconds a second, in futex calls, all threads together",
                &[series("waited", story.between(|before, after, seconds| after.blamed.since(before.blamed).as_secs_f64() / seconds))]))
        }
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

#[cfg(test)]
mod tests {
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
        let page =
            page("scx <colab>", &[(Ns(5), "<pfs>".into())], &[("threads", "3".into(), String::new())], &story, None);
        assert!(
            page.contains("scx &lt;colab&gt;") && page.contains("&lt;pfs&gt; from 5 ns on") && !page.contains("NaN")
        );
    }
}

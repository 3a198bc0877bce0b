//! Bars to the left and right of a zero line: effects against a baseline.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::class;
use super::svg::{Axis, Drawing, NARROW, at, shortened, width_of};
use crate::number;

/// Between rows, and between groups.
const ROW: f64 = 17.0;
const HEADING: f64 = 20.0;
/// What the labels of bars may take at the left, and what numbers take at the right.
const LABELS: f64 = 130.0;
const NUMBERS: f64 = 56.0;
/// Below the bars: the ticks and what they are.
const AXIS: f64 = 34.0;

/// One bar.
pub struct Bar {
    /// What it is for.
    pub label: String,
    /// The effect, as a share: -0.1 for 10 % less; not a number if there is none. `None` for the baseline itself.
    pub effect: Option<f64>,
    /// Its 95 % interval, if there is one.
    pub interval: Option<(f64, f64)>,
    /// Its colour.
    pub colour: usize,
    /// Whether no other bar of its group is better.
    pub best: bool,
}

impl Bar {
    fn number(&self) -> String {
        self.effect.map_or_else(|| "baseline".to_string(), number::percent)
    }

    /// The effect and its interval in words.
    fn said(&self) -> String {
        match self.interval {
            Some((low, high)) => {
                format!(
                    "{} {} (95 %: {} to {})",
                    self.label,
                    self.number(),
                    number::percent(low),
                    number::percent(high)
                )
            }
            None => format!("{} {}", self.label, self.number()),
        }
    }
}

/// Bars under a common heading.
pub struct Group {
    /// The heading.
    pub name: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// A figure: groups of bars on one scale.
pub fn figure(id: &str, title: &str, remark: &str, groups: &[Group]) -> Markup {
    let bars = || groups.iter().flat_map(|group| &group.bars);
    let ends = bars().flat_map(|bar| bar.effect.into_iter().chain(bar.interval.into_iter().flat_map(<[f64; 2]>::from)));
    let ends = ends.map(|end| 100.0 * end).chain([0.0]);
    let labels = bars().map(|bar| width_of(&bar.label)).fold(0.0, f64::max).min(LABELS) + 8.0;
    let axis = Axis::of(ends, 4, (labels, NARROW - NUMBERS - 6.0));
    let mut y = 0.0;
    let (mut rows, mut spans) = (Vec::new(), String::new());
    let zero = at(axis.at(0.0));
    for group in groups {
        rows.push(html! { text.soft.over x="0" y=(at(y + 14.0)) { (shortened(&group.name, NARROW)) } });
        y += HEADING;
        // Not across headings, of which it would cut letters.
        let _ = write!(spans, "M{zero} {}V{}", at(y), at(y + ROW * group.bars.len() as f64));
        for bar in &group.bars {
            rows.push(row(bar, &axis, y));
            y += ROW;
        }
    }
    let bottom = y + 2.0;
    let spoken = groups
        .iter()
        .map(|group| format!("{}: {}", group.name, group.bars.iter().map(Bar::said).collect::<Vec<_>>().join(", ")));
    let spoken = format!("{title}, {remark}. {}", spoken.collect::<Vec<_>>().join("; "));
    let drawing = Drawing {
        id,
        width: NARROW,
        height: bottom + AXIS,
        spoken: &spoken,
        caption: html! { b { (title) } ", " (remark) },
        content: html! {
            (axis.level("% of the baseline", HEADING, bottom))
            @for row in &rows { (row) }
            path.base d=(PreEscaped(spans)) {}
        },
    };
    drawing.figure()
}

fn row(bar: &Bar, axis: &Axis, y: f64) -> Markup {
    let effect = bar.effect.filter(|effect| effect.is_finite()).map(|effect| axis.at(100.0 * effect));
    let (zero, text, labels) = (axis.at(0.0), at(y + 12.0), axis.span().0);
    let ends = bar.interval.filter(|(low, high)| high - low > 0.001).map(|(low, high)| [low, high]);
    html! {
        g {
            title { (bar.said()) }
            text x="0" y=(text) { (shortened(&bar.label, labels)) }
            @if let Some(x) = effect {
                rect class=(class('f', bar.colour)) x=(at(x.min(zero))) y=(at(y + 2.5)) height="12"
                    width=(at((x - zero).abs())) {}
                @if let Some([low, high]) = ends.map(|ends| ends.map(|end| at(axis.at(100.0 * end)))) {
                    @let [top, middle, low_end] = [y + 5.5, y + 8.5, y + 11.5].map(at);
                    path.whisker d=(PreEscaped(format!("M{low} {middle}H{high}M{low} {top}V{low_end}M{high} {top}V{low_end}"))) {}
                }
            }
            text.best[bar.best] x=(at(NARROW)) y=(text) text-anchor="end" { (bar.number()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_without_a_number_have_their_label_only() {
        let bar = |label: &str, effect, interval| Bar { label: label.into(), effect, interval, colour: 9, best: false };
        let odd = [
            bar("<cfs>", None, None),
            bar("gts", Some(f64::NAN), Some((f64::NAN, f64::NAN))),
            bar("eas", Some(f64::INFINITY), Some((-0.1, f64::INFINITY))),
            bar("colab", Some(-0.12), Some((-0.14, -0.1))),
        ];
        let groups = [Group { name: "radix & fft".into(), bars: odd.into() }];
        let drawn = figure("turnaround", "Turnaround", "lower is better", &groups).into_string();
        assert_eq!(drawn.matches("<rect").count(), 1, "{drawn}");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf") && !drawn.contains("<cfs>"), "{drawn}");
        let label = "aria-label=\"Turnaround, lower is better. radix &amp; fft: &lt;cfs&gt; baseline, gts -";
        assert!(drawn.contains(label) && drawn.contains("colab -12.0 % (95 %: -14.0 % to -10.0 %)"), "{drawn}");
        let none = figure("none", "Nothing", "", &[]).into_string();
        assert!(!none.contains("NaN") && none.contains("<svg"), "{none}");
    }
}

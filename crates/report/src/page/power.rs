//! Power over time, a line a scheduler.

use std::fmt::Write;

use evenkeel_experiment::paper::Power;
use evenkeel_model::Watts;
use maud::{Markup, PreEscaped, html};

use super::class;
use super::svg::{Axis, Drawing, NARROW, at, legend};
use crate::number;

const LEFT: f64 = 30.0;
const HEIGHT: f64 = 170.0;
/// Below the lines: the ticks and what they are.
const AXIS: f64 = 32.0;

/// Charts side by side, on axes that they share.
pub fn draw(id: &str, charts: &[Power]) -> Markup {
    let lines = || charts.iter().flat_map(|chart| chart.lines.iter().map(move |line| (chart, line)));
    let most = lines().flat_map(|(_, line)| &line.samples).map(|sample| sample.0).fold(0.0, f64::max);
    let seconds = lines().map(|(chart, line)| line.samples.len() as f64 * chart.every.as_secs_f64());
    let ends = (most, seconds.fold(0.0, f64::max));
    html! {
        div.panels {
            @for (place, chart) in charts.iter().enumerate() { (one(&format!("{id}-{}", place + 1), chart, ends)) }
        }
    }
}

fn one(id: &str, chart: &Power, (most, longest): (f64, f64)) -> Markup {
    let (legend, used) = legend(chart.lines.iter().map(|line| line.name.as_str()).enumerate(), NARROW);
    let (top, right) = (used + 22.0, NARROW - 6.0);
    let bottom = top + HEIGHT;
    let watts = Axis::of([0.0, most], 5, (bottom, top));
    let seconds = Axis::exactly((0.0, longest), 6, (LEFT, right));
    let drawing = Drawing {
        id,
        width: NARROW,
        height: bottom + AXIS,
        spoken: &spoken(chart),
        caption: html! { b { (chart.what) } ", " (chart.source) },
        content: html! {
            (legend)
            text.soft x="0" y=(at(top - 9.0)) { "Power, W" }
            (watts.upright(LEFT, right))
            (seconds.level("time, s", top, bottom))
            @for (index, line) in chart.lines.iter().enumerate() {
                path class={ "line " (class('s', index)) }
                    d=(PreEscaped(path(&line.samples, chart.every.as_secs_f64(), (&seconds, &watts)))) {
                    title { (line.name) }
                }
            }
        },
    };
    drawing.figure()
}

/// A line through the middles of intervals. What is no number is left out.
fn path(samples: &[Watts], every: f64, (seconds, watts): (&Axis, &Axis)) -> String {
    let mut path = String::new();
    for (index, Watts(sample)) in samples.iter().enumerate().filter(|(_, sample)| sample.0.is_finite()) {
        let begin = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{begin}{} {}", at(seconds.at((index as f64 + 0.5) * every)), at(watts.at(*sample)));
    }
    path
}

/// What the lines show, for readers who cannot see them.
fn spoken(chart: &Power) -> String {
    let lines = chart.lines.iter().map(|line| {
        let mean = line.samples.iter().map(|sample| sample.0).sum::<f64>() / line.samples.len().max(1) as f64;
        let seconds = line.samples.len() as f64 * chart.every.as_secs_f64();
        format!("{}: {} W on average for {}", line.name, number::number(mean), number::seconds(seconds))
    });
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use evenkeel_experiment::paper::MeasuredLine;
    use evenkeel_model::Ns;

    use super::*;

    #[test]
    fn a_line_leaves_out_what_is_no_number() {
        let line = |samples: &[f64]| MeasuredLine {
            name: "<gts>".into(),
            samples: samples.iter().copied().map(Watts).collect(),
        };
        let lines = vec![line(&[f64::NAN, 2.0, 4.0]), line(&[])];
        let chart = Power { what: "Whole chip".into(), source: "V.C".into(), every: Ns::from_ms(1000), lines };
        let drawn = draw("power", &[chart.clone(), chart]).into_string();
        assert!(drawn.contains("id=\"power-1\"") && drawn.contains("id=\"power-2\""), "{drawn}");
        assert_eq!(drawn.matches("<path class=\"line s0\" d=\"M").count(), 2, "one a chart");
        let paths = drawn.split(" d=\"").skip(1).filter_map(|rest| rest.split('"').next());
        assert!(paths.into_iter().all(|path| !path.contains("NaN")), "{drawn}");
        assert!(drawn.contains("&lt;gts&gt;") && !drawn.contains("<gts>"), "{drawn}");
    }
}

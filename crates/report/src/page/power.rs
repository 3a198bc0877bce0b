//! Power over time, a line a scheduler.

use std::fmt::Write;

use evenkeel_experiment::paper::Power;
use evenkeel_model::Watts;
use maud::{Markup, PreEscaped, html};

use super::{COLOURS, legend};
use crate::number;

/// Steps on an axis that charts side by side share.
pub fn draw(charts: &[Power]) -> Markup {
    let samples = || charts.iter().flat_map(|chart| &chart.lines).map(|line| &line.samples);
    let (most, longest) =
        (samples().flatten().map(|sample| sample.0).fold(0.0, f64::max), samples().map(Vec::len).max().unwrap_or(0));
    let height = 1.05 * most;
    html! {
        div.panels {
            @for chart in charts {
                figure {
                    h3 { (chart.what) }
                    p.soft { (chart.source) ", up to " (number::number(height)) " W" }
                    div.power role="img" aria-label=(spoken(chart)) {
                        svg viewBox={ "0 0 " (longest.max(1)) " 100" } preserveAspectRatio="none" {
                            @for (index, line) in chart.lines.iter().enumerate() {
                                path class={ "t" (index % COLOURS) } d=(PreEscaped(path(&line.samples, height))) {
                                    title { (line.name) }
                                }
                            }
                        }
                        div.axis { span { "0" } span { (number::seconds(longest as f64 * chart.every.as_secs_f64())) } }
                    }
                    (legend(chart.lines.iter().enumerate().map(|(index, line)| (index, line.name.as_str()))))
                }
            }
        }
    }
}

fn path(samples: &[Watts], height: f64) -> String {
    let mut path = String::new();
    for (index, Watts(watts)) in samples.iter().enumerate() {
        let _ = write!(path, "{}{index}.5 {:.1}", if index == 0 { 'M' } else { 'L' }, 100.0 - 100.0 * watts / height);
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

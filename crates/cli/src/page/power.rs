//! Power over time, a line a scheduler.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::{COLOURS, legend};
use crate::json::Chart;
use crate::table;

/// Steps on an axis that charts side by side share.
pub fn draw(charts: &[Chart]) -> Markup {
    let samples = || charts.iter().flat_map(|chart| &chart.lines).map(|line| &line.watts);
    let (most, longest) =
        (samples().flatten().copied().fold(0.0, f64::max), samples().map(Vec::len).max().unwrap_or(0));
    let height = 1.05 * most;
    html! {
        div.panels {
            @for chart in charts {
                figure {
                    h3 { (chart.what) }
                    p.soft { (chart.source) ", up to " (table::number(height)) " W" }
                    div.power role="img" aria-label=(spoken(chart)) {
                        svg viewBox={ "0 0 " (longest.max(1)) " 100" } preserveAspectRatio="none" {
                            @for (index, line) in chart.lines.iter().enumerate() {
                                path class={ "t" (index % COLOURS) } d=(PreEscaped(path(&line.watts, height))) {
                                    title { (line.name) }
                                }
                            }
                        }
                        div.axis { span { "0" } span { (table::seconds(longest as f64 * chart.every_s)) } }
                    }
                    (legend(chart.lines.iter().enumerate().map(|(index, line)| (index, line.name.as_str()))))
                }
            }
        }
    }
}

fn path(watts: &[f64], height: f64) -> String {
    let mut path = String::new();
    for (index, watts) in watts.iter().enumerate() {
        let _ = write!(path, "{}{index}.5 {:.1}", if index == 0 { 'M' } else { 'L' }, 100.0 - 100.0 * watts / height);
    }
    path
}

/// What the lines show, for those who cannot see them.
fn spoken(chart: &Chart) -> String {
    let lines = chart.lines.iter().map(|line| {
        let mean = line.watts.iter().sum::<f64>() / line.watts.len().max(1) as f64;
        let seconds = line.watts.len() as f64 * chart.every_s;
        format!("{}: {} W on average for {}", line.name, table::number(mean), table::seconds(seconds))
    });
    lines.collect::<Vec<_>>().join("; ")
}

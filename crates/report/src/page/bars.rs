//! Bars to the left and right of a zero line: effects against a baseline.

use maud::{Markup, html};

use super::COLOURS;
use crate::number;

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

/// Bars under a common heading.
pub struct Group {
    /// The heading.
    pub name: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// A scale that all bars of a figure share.
pub struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// One that holds all values, and zero.
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (0.0f64, 0.0f64);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        let margin = (0.04 * (high - low)).max(0.01);
        Self { low: low - margin, high: high + margin }
    }

    /// A position in percent of the width, with one decimal.
    pub fn at(&self, value: f64) -> String {
        format!("{:.1}", 100.0 * (value - self.low) / (self.high - self.low))
    }

    fn span(&self, from: f64, to: f64) -> String {
        let (from, to) = (from.min(to).clamp(self.low, self.high), from.max(to).clamp(self.low, self.high));
        let width = 100.0 * (to - from) / (self.high - self.low);
        format!("left:{}%;width:{width:.1}%", self.at(from))
    }
}

/// A figure: groups of bars on one scale.
pub fn figure(title: &str, remark: &str, groups: &[Group]) -> Markup {
    let all = || groups.iter().flat_map(|group| &group.bars);
    let ends =
        all().flat_map(|bar| bar.effect.into_iter().chain(bar.interval.map(<[f64; 2]>::from).into_iter().flatten()));
    let scale = Scale::of(ends);
    html! {
        section {
            h3 { (title) " " span.note { (remark) } }
            table.bars {
                @for group in groups {
                    tr.group { th colspan="3" { (group.name) } }
                    @for bar in &group.bars { (row(bar, &scale)) }
                }
            }
        }
    }
}

fn row(bar: &Bar, scale: &Scale) -> Markup {
    html! {
        tr {
            th scope="row" { (bar.label) }
            td {
                div.track {
                    i.zero style={ "left:" (scale.at(0.0)) "%" } {}
                    @if let Some(effect) = bar.effect.filter(|effect| effect.is_finite()) {
                        i class={ "k" (bar.colour % COLOURS) } style=(scale.span(0.0, effect)) {}
                        @if let Some((low, high)) = bar.interval.filter(|(low, high)| high - low > 0.001) {
                            i.whisker style=(scale.span(low, high)) {}
                        }
                    }
                }
            }
            td.n.best[bar.best] {
                @match bar.effect { Some(effect) => (number::percent(effect)), None => "baseline" }
            }
        }
    }
}

/// A published and a simulated number on one line.
pub fn dumbbell(scale: &Scale, published: f64, simulated: Option<f64>, miss: bool) -> Markup {
    html! {
        div.track {
            i.zero style={ "left:" (scale.at(0.0)) "%" } {}
            @if let Some(simulated) = simulated {
                i.gap style=(scale.span(published, simulated)) {}
                i.dot style={ "left:" (scale.at(published)) "%" } {}
                i.dot.ours.miss[miss] style={ "left:" (scale.at(simulated)) "%" } {}
            } @else {
                i.dot style={ "left:" (scale.at(published)) "%" } {}
            }
        }
    }
}

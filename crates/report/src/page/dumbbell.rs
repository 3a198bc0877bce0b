//! A published and a simulated number on one line of a table.

use maud::{Markup, html};

/// A scale that all lines share.
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
    fn at(&self, value: f64) -> String {
        format!("{:.1}", 100.0 * (value - self.low) / (self.high - self.low))
    }

    fn span(&self, from: f64, to: f64) -> String {
        let (from, to) = (from.min(to).clamp(self.low, self.high), from.max(to).clamp(self.low, self.high));
        let width = 100.0 * (to - from) / (self.high - self.low);
        format!("left:{}%;width:{width:.1}%", self.at(from))
    }
}

/// The line of a row.
pub fn draw(scale: &Scale, published: f64, simulated: Option<f64>, miss: bool) -> Markup {
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

//! Where the groups of a panel stand, and how their labels are written.

use maud::{Markup, html};

use super::panel::{Group, Panel};
use crate::page::svg::{at, shortened, width_of};

/// The width of a bar.
pub const BAR: f64 = 15.0;
/// Between the pairs of a group.
pub const BETWEEN: f64 = 6.0;
/// Left of the bars, for the axis.
pub const LEFT: f64 = 34.0;
/// Between groups.
const APART: f64 = 18.0;
/// The widest that a label below a group may be.
const LABEL: f64 = 130.0;
/// The longest that a slanted label may be: the first one must not leave the drawing.
const SLANTED: f64 = 80.0;
/// A panel that would be wider has slanted labels, if they are short.
const WIDE: f64 = 620.0;
/// No panel is narrower, for its legend.
const NARROWEST: f64 = 290.0;

/// Where everything is.
pub struct Layout {
    /// The width of the drawing.
    pub width: f64,
    /// The groups.
    pub places: Vec<Place>,
    /// How high the labels are.
    pub labels: f64,
    slanted: bool,
}

/// Where a group is.
pub struct Place {
    /// Where its bars begin.
    pub bars: f64,
    middle: f64,
    /// What its label may take.
    wide: f64,
}

impl Layout {
    /// That of a panel.
    pub fn of(panel: &Panel<'_>) -> Self {
        let count = panel.groups.len().max(1) as f64;
        let bars: Vec<f64> = panel.groups.iter().map(|group| width(group.pairs.len())).collect();
        let longest = |group: &Group<'_>| group.label.iter().map(|line| width_of(line)).fold(0.0, f64::max);
        let labels: Vec<f64> = panel.groups.iter().map(longest).collect();
        let joined = panel.groups.iter().map(|group| width_of(&joined(group))).fold(0.0, f64::max);
        let level: Vec<f64> = bars.iter().zip(&labels).map(|(bars, label)| bars.max(label.min(LABEL))).collect();
        let total = |wide: &[f64]| LEFT + wide.iter().map(|wide| wide + APART).sum::<f64>();
        let slanted = total(&level) > WIDE && joined <= SLANTED;
        let wide = if slanted { bars.clone() } else { level };
        let natural = total(&wide);
        let spare = (NARROWEST - natural).max(0.0) / count;
        let mut x = LEFT;
        let mut places = Vec::new();
        for (wide, bars) in wide.iter().zip(&bars) {
            let all = wide + APART + spare;
            places.push(Place { bars: x + (all - bars) / 2.0, middle: x + all / 2.0, wide: all - 6.0 });
            x += all;
        }
        let lines = panel.groups.iter().map(|group| group.label.len()).max().unwrap_or(0);
        let labels = if slanted { 0.71 * joined + 16.0 } else { 14.0 * lines as f64 + 6.0 };
        Self { width: natural.max(NARROWEST) + 4.0, places, labels, slanted }
    }

    /// The label of a group.
    pub fn label(&self, group: &Group<'_>, place: &Place, bottom: f64) -> Markup {
        let slant = format!("translate({} {}) rotate(-45)", at(place.middle + 5.0), at(bottom + 11.0));
        html! {
            @if self.slanted {
                text text-anchor="end" transform=(slant) { (joined(group)) }
            } @else {
                @for (line, text) in group.label.iter().enumerate() {
                    text.soft[line > 0] x=(at(place.middle)) y=(at(bottom + 14.0 * (line + 1) as f64)) text-anchor="middle" {
                        (shortened(text, place.wide))
                    }
                }
            }
        }
    }
}

/// A label in one line.
fn joined(group: &Group<'_>) -> String {
    group.label.join(", ")
}

/// What the pairs of a group take.
fn width(pairs: usize) -> f64 {
    let pairs = pairs as f64;
    pairs * 2.0 * BAR + (pairs - 1.0).max(0.0) * BETWEEN
}

//! How long threads took, as the share of cases that took no longer (a CDF), on a logarithmic axis.

use evenkeel_experiment::history::Times;
use maud::{Markup, PreEscaped, html};

use super::class;
use super::svg::{Drawing, NARROW, at};
use crate::number;

const HEIGHT: f64 = 184.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 316.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 158.0;
/// From zero, which a logarithm does not have, to the first power of ten, where there is a zero.
const ZERO: f64 = 34.0;
/// A curve has no more corners than this.
const CORNERS: u64 = 200;

/// Times of one policy, or of one kind of thread.
pub struct Curve {
    /// What it is of.
    pub name: String,
    /// Its colour.
    pub colour: usize,
    /// The times.
    pub times: Times,
}

impl Curve {
    /// Of all the times of some threads.
    pub fn new<'a>(name: String, colour: usize, times: impl Iterator<Item = &'a Times>) -> Self {
        let mut all = Times::default();
        times.for_each(|times| all.merge(times));
        Self { name, colour, times: all }
    }
}

/// The figure; nothing if there are no times. `id` is its own on the page.
pub fn figure(id: &str, title: &str, remark: &str, curves: &[Curve]) -> Markup {
    let curves: Vec<&Curve> = curves.iter().filter(|curve| curve.times.count() > 0).collect();
    let longest = curves.iter().map(|curve| curve.times.longest().0).max().unwrap_or(0);
    if longest == 0 {
        return html! {};
    }
    let times = curves.iter().flat_map(|curve| curve.times.cumulative()).map(|(time, _)| time.0);
    let axis = Decades::of(times, longest);
    let content = html! {
        @for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
            path.grid d=(PreEscaped(format!("M{LEFT} {}H{RIGHT}", height(share)))) {}
            text.soft x=(at(LEFT - 5.0)) y=(height(share)) dy="4" text-anchor="end" { (format!("{:.0} %", 100.0 * share)) }
        }
        @if axis.left > LEFT {
            path.grid d=(PreEscaped(format!("M{LEFT} {TOP}V{BOTTOM}"))) {}
            text.soft x=(at(LEFT)) y=(at(BOTTOM + 15.0)) text-anchor="middle" { "0" }
        }
        @for power in axis.low..=axis.high {
            @let x = axis.at(10u64.pow(power));
            path.grid d=(PreEscaped(format!("M{x} {TOP}V{BOTTOM}"))) {}
            text.soft x=(x) y=(at(BOTTOM + 15.0)) text-anchor="middle" { (power_of_ten(power)) }
        }
        @for curve in &curves {
            path class={ "line " (class('s', curve.colour)) } d=(PreEscaped(path(curve, &axis))) {
                title { (curve.name) ": half within " (curve.times.quantile(0.5)) ", 99 % within " (curve.times.quantile(0.99)) }
            }
        }
    };
    let spoken = format!("{title}: the share of cases that took no longer");
    let caption = html! {};
    html! {
        section {
            h3 { (title) }
            p.soft { (remark) }
            (Drawing { id, width: NARROW, height: HEIGHT, spoken: &spoken, caption, content }.figure())
            div.scroll { (numbers(&curves)) }
        }
    }
}

/// What curves show, to be read.
fn numbers(curves: &[&Curve]) -> Markup {
    html! {
        table.rows.times {
            tr { th { "" } th.n.cases { "cases" } th.n { "half within" } th.n { "95 %" } th.n { "99 %" } th.n { "all" } }
            @for curve in curves {
                tr {
                    td.name { span class={ "swatch " (class('k', curve.colour)) } {} (curve.name) }
                    td.n.cases { (curve.times.count()) }
                    @for share in [0.5, 0.95, 0.99, 1.0] { td.n { (number::time(curve.times.quantile(share))) } }
                }
            }
        }
    }
}

/// Powers of ten, in nanoseconds, and where they begin.
struct Decades {
    low: u32,
    high: u32,
    left: f64,
}

impl Decades {
    fn of(times: impl Iterator<Item = u64>, longest: u64) -> Self {
        let (mut left, mut shortest) = (LEFT, longest);
        for time in times {
            match time {
                0 => left = LEFT + ZERO,
                _ => shortest = shortest.min(time),
            }
        }
        let high = (longest.saturating_sub(1).max(1).ilog10() + 1).min(18);
        // More than six decades are not read; what is faster stands at the left end.
        Self { low: shortest.ilog10().max(high.saturating_sub(6)).min(high - 1), high, left }
    }

    fn at(&self, time: u64) -> String {
        if time == 0 {
            return at(LEFT);
        }
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        let share = (libm::log10(time as f64).max(low) - low) / (high - low);
        at(self.left + share * (RIGHT - self.left))
    }
}

/// `100 us` for 5.
fn power_of_ten(power: u32) -> String {
    let unit = ["ns", "us", "ms", "s"][(power as usize / 3).min(3)];
    format!("{} {unit}", 10u64.pow(power - 3 * (power / 3).min(3)))
}

fn height(share: f64) -> String {
    at(BOTTOM - share * (BOTTOM - TOP))
}

fn path(curve: &Curve, axis: &Decades) -> String {
    let count = curve.times.count();
    let mut path = String::new();
    // A corner each so many cases.
    let step = count.div_ceil(CORNERS);
    let mut next = 0;
    for (time, upto) in curve.times.cumulative() {
        if path.is_empty() {
            path = format!("M{} {}", axis.at(time.0), height(0.0));
        }
        if upto >= next || upto == count {
            path += &format!("H{}V{}", axis.at(time.0), height(upto as f64 / count as f64));
            next = upto + step;
        }
    }
    path + &format!("H{RIGHT}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_model::Ns;

    #[test]
    fn what_took_no_time_stands_at_zero_before_the_first_power_of_ten() {
        let drawn = |times: &[u64]| {
            let mut all = Times::default();
            times.iter().for_each(|time| all.add(Ns(*time)));
            figure("f", "Latency", "", &[Curve { name: "cfs".into(), colour: 0, times: all }]).into_string()
        };
        let some = drawn(&[0, 0, 0, 20_000]);
        assert!(some.contains(">0</text>") && some.contains(">10 us</text>"), "{some}");
        // Three quarters at zero, level until what took longer.
        assert!(some.contains(&format!("\"M46 158H46V{}H", height(0.75))), "{some}");
        let none = drawn(&[10_000, 20_000]);
        assert!(!none.contains(">0</text>") && none.contains("\"M46 158H46V"), "{none}");
    }
}

//! Values over time, as lines.

use std::fmt::Write;

use evenkeel_model::Ns;
use maud::{Markup, PreEscaped, html};

use super::class;
use super::svg::{Axis, Drawing, NARROW, at, legend};

/// The least at the left of the lines: charts beside each other begin at the same place if they can.
const LEFT: f64 = 40.0;
const TOP: f64 = 8.0;
const TALL: f64 = 110.0;
/// Below the lines: the ticks and what they are.
const BELOW: f64 = 34.0;

/// A line.
pub struct Series {
    /// What it is of.
    pub name: String,
    /// Its points, in order of time.
    pub points: Vec<(Ns, f64)>,
}

/// The figure. `id` is its own on the page.
pub fn chart(id: &str, title: &str, remark: &str, series: &[Series]) -> Markup {
    let names = || series.iter().enumerate().map(|(index, of)| (index, of.name.as_str()));
    let (names, high) = if series.len() > 1 { legend(names(), NARROW) } else { (html! {}, 0.0) };
    let (top, bottom) = (high + TOP, high + TOP + TALL);
    let points = || series.iter().flat_map(|of| &of.points);
    let end = points().map(|(time, _)| time.as_secs_f64()).fold(0.0, f64::max);
    let up = Axis::of(points().map(|(_, value)| *value).chain([0.0]), 4, (bottom, top));
    let left = up.room().max(LEFT);
    let across = Axis::exactly((0.0, end), 5, (left, NARROW - 10.0));
    let line = |of: &Series| {
        let mut path = String::new();
        for (time, value) in of.points.iter().filter(|(_, value)| value.is_finite()) {
            let step = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{step}{} {}", at(across.at(time.as_secs_f64())), at(up.at(*value)));
        }
        path
    };
    let content = html! {
        (names)
        (across.level("s", top, bottom))
        (up.upright(left, NARROW - 10.0))
        @for (index, of) in series.iter().enumerate() {
            path class={ "line " (class('s', index)) } d=(PreEscaped(line(of))) { title { (of.name) } }
        }
    };
    let caption = html! { b { (title) } ", " (remark) };
    let spoken = format!("{title}, {remark}, over {}", Ns((end * 1e9) as u64));
    Drawing { id, width: NARROW, height: bottom + BELOW, spoken: &spoken, caption, content }.figure()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::svg::width_of;

    #[test]
    fn large_values_have_room_beside_their_axis() {
        for (most, widest) in [(1.0, "1.0"), (150_000.0, "150000"), (-2e9, "-2000000000")] {
            let points = vec![(Ns::ZERO, most), (Ns::from_secs(1), 0.0)];
            let drawn = chart("decisions", "Decisions", "a second", &[Series { name: "all".into(), points }]);
            let drawn = drawn.into_string();
            let values = drawn.split("<text ").filter(|text| text.contains("text-anchor=\"end\""));
            let values = values.map(|text| {
                let x = text.split(" x=\"").nth(1).unwrap().split('"').next().unwrap();
                let value = text.split('>').nth(1).unwrap().split('<').next().unwrap();
                (x.parse::<f64>().unwrap(), value)
            });
            let values: Vec<(f64, &str)> = values.collect();
            assert!(values.iter().any(|(_, value)| *value == widest), "{values:?}");
            assert!(values.iter().all(|(x, value)| x - width_of(value) >= 0.0), "{values:?}");
        }
    }

    #[test]
    fn no_value_is_no_point_and_no_points_are_no_line() {
        let points = [(0, 1.0), (1, f64::NAN), (2, 3.0)].map(|(ms, value)| (Ns::from_ms(ms), value));
        let drawn = chart("switches", "Switches", "a second", &[Series { name: "a<b".into(), points: points.into() }]);
        let drawn = drawn.into_string();
        assert!(!drawn.contains("NaN") && drawn.contains("a&lt;b"), "{drawn}");
        let line = drawn.split("class=\"line s0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(line.matches(['M', 'L']).count(), 2, "{line}");
        let none = chart("none", "None", "", &[]).into_string();
        assert!(!none.contains("NaN") && none.contains("<svg"), "{none}");
    }
}

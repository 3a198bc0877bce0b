//! A panel as grouped bars.

use evenkeel_experiment::paper::{Bound, Published, Row, RowKind};
use maud::{Markup, PreEscaped, html};

use super::layout::{BAR, BETWEEN, LEFT, Layout};
use super::panel::{Form, Group, Pair, Panel};
use crate::page::svg::{Axis, Drawing, at, marked};
use crate::text;

/// How high the bars can be.
const HEIGHT: f64 = 160.0;
/// What numbers above and below bars take.
const NUMBER: f64 = 42.0;
/// How far the arrow of a limit reaches.
const ARROW: f64 = 6.0;

/// The drawing of a panel. `place` is the figure and its paper.
pub fn panel(id: &str, place: &str, panel: &Panel<'_>) -> Markup {
    let layout = Layout::of(panel);
    let (legend, used) = legend(panel, layout.width);
    let title = used + 12.0;
    let rows = || panel.groups.iter().flat_map(|group| &group.pairs).map(|pair| pair.row);
    let values = || rows().flat_map(|row| drawn(panel, row).into_iter().chain(ends(panel, row))).flatten();
    let below = values().any(|value| value < 0.0);
    let above = values().any(|value| value >= 0.0);
    let ceiling = title + if above { NUMBER } else { 14.0 };
    let axis = Axis::of(values().chain([0.0, panel.base()]), 7, (ceiling + HEIGHT, ceiling));
    let bottom = ceiling + HEIGHT + if below { NUMBER } else { 0.0 };
    let (base, right) = (at(axis.at(panel.base())), layout.width - 2.0);
    let drawing = Drawing {
        id,
        width: layout.width,
        height: bottom + layout.labels,
        spoken: &spoken(place, panel),
        caption: html! {
            (place) ": " (panel.axis())
            @if !panel.common.is_empty() { " (" (panel.common.join(", ")) ")" }
            @if let Some(better) = panel.better() { ", " (better) " is better" }
            "."
        },
        content: html! {
            (legend)
            text.soft x="0" y=(at(title)) { (panel.axis()) }
            (axis.upright(LEFT, right))
            path.base d=(PreEscaped(format!("M{LEFT} {base}H{}", at(right)))) {}
            @for (group, place) in panel.groups.iter().zip(&layout.places) {
                (bars(panel, group, &axis, place.bars))
                (layout.label(group, place, bottom))
            }
        },
    };
    drawing.figure()
}

/// What colours and kinds of bars mean. Kinds are grey, which no bar is: each colour has both.
fn legend(panel: &Panel<'_>, width: f64) -> (Markup, f64) {
    let square = |class: &str| html! { path class=(class) d="M0 -8.5h9v9h-9z" {} };
    let series = panel.series.iter().map(|(colour, name)| (square(&format!("f{colour}")), name.as_str()));
    let kinds = [(square("kind light"), "published"), (square("kind"), "simulated")];
    marked(series.chain(kinds), width)
}

/// The published and the simulated value of a row, where they are numbers.
fn drawn(panel: &Panel<'_>, row: &Row) -> [Option<f64>; 2] {
    let value = |value: f64| Some(panel.value(&row.published, value)).filter(|value| value.is_finite());
    [value(row.published.published), row.simulated.and_then(value)]
}

/// The ends of the simulated value's interval, where they are numbers.
fn ends(panel: &Panel<'_>, row: &Row) -> [Option<f64>; 2] {
    let end = |end: f64| Some(panel.value(&row.published, end)).filter(|end| end.is_finite());
    row.interval.map_or([None; 2], |(low, high)| [end(low), end(high)])
}

fn bars(panel: &Panel<'_>, group: &Group<'_>, axis: &Axis, from: f64) -> Markup {
    let place = |index: usize| from + index as f64 * (2.0 * BAR + BETWEEN);
    html! { @for (index, pair) in group.pairs.iter().enumerate() { (both(panel, pair, axis, place(index))) } }
}

/// The two bars of a row, which lead to its line in the table.
fn both(panel: &Panel<'_>, pair: &Pair<'_>, axis: &Axis, x: f64) -> Markup {
    let published = &pair.row.published;
    let colour = panel.series.get(pair.series).map_or(0, |(colour, _)| *colour);
    let [stated, simulated] = drawn(panel, pair.row);
    let [low, high] = ends(panel, pair.row).map(|end| end.map(|end| axis.at(end)));
    // Shorter than a pixel it would be a dash across the bar's end.
    let whisker = low.zip(high).filter(|(low, high)| low - high >= 1.0);
    let arrow = published.bound.zip(stated).map(|(bound, value)| points_up(published, bound, value - panel.base()));
    html! {
        a href={ "#" (published.id) } {
            title { (said(pair.row)) }
            (bar(panel, stated, axis, (x, &format!("f{colour} light")), arrow, None))
            (bar(panel, simulated, axis, (x + BAR, &format!("f{colour}")), None, whisker))
        }
    }
}

/// A bar with its number; an arrow at its end goes up or down, a whisker from its lower to its upper end.
fn bar(
    panel: &Panel<'_>,
    value: Option<f64>,
    axis: &Axis,
    (x, class): (f64, &str),
    arrow: Option<bool>,
    whisker: Option<(f64, f64)>,
) -> Markup {
    let zero = axis.at(0.0);
    let Some(value) = value else {
        return turned("no value", x, zero, true, "soft");
    };
    let end = axis.at(value);
    let up = value >= 0.0;
    let beyond = arrow.map_or(end, |points_up| match points_up == up {
        true if up => end - ARROW - 2.0,
        true => end + ARROW + 2.0,
        false => end,
    });
    let beyond = whisker.map_or(beyond, |(low, high)| if up { beyond.min(high) } else { beyond.max(low) });
    html! {
        rect class=(class) x=(at(x + 0.5)) y=(at(end.min(zero))) width=(at(BAR - 1.0)) height=(at((end - zero).abs())) {}
        @if let Some(points_up) = arrow {
            @let tip = if points_up { -ARROW } else { ARROW };
            path.arrow d=(PreEscaped(format!("M{} {}h9l-4.5 {}z", at(x + 3.0), at(end), at(tip)))) {}
        }
        @if let Some((low, high)) = whisker {
            @let [left, middle] = [x + 4.0, x + BAR / 2.0].map(at);
            @let [low, high] = [low, high].map(at);
            path.whisker d=(PreEscaped(format!("M{middle} {low}V{high}M{left} {low}h7M{left} {high}h7"))) {}
        }
        (turned(&short(panel.form, value), x, beyond, up, ""))
    }
}

/// A text that reads upwards, above or below the end of a bar.
fn turned(text: &str, x: f64, end: f64, up: bool, class: &str) -> Markup {
    let (y, anchor) = if up { (end - 4.0, "start") } else { (end + 4.0, "end") };
    let place = format!("translate({} {}) rotate(-90)", at(x + BAR / 2.0 + 4.0), at(y));
    html! { text class=[(!class.is_empty()).then_some(class)] transform=(place) text-anchor=(anchor) { (text) } }
}

/// Whether more of a limited number is drawn upwards. `size` is its distance from no effect.
pub(super) fn points_up(published: &Published, bound: Bound, size: f64) -> bool {
    let larger_is_up = if size == 0.0 { published.metric.more_is_better() } else { size > 0.0 };
    larger_is_up == (bound == Bound::Above)
}

/// A number of at most six characters.
fn short(form: Form, value: f64) -> String {
    let trimmed = |text: String| text.strip_suffix(".0").map_or(text.clone(), str::to_string);
    match form {
        Form::Percent if value.abs() < 0.05 => "0".to_string(),
        Form::Percent => trimmed(format!("{value:+.1}")),
        Form::Times | Form::Amount if value.abs() < 10.0 => format!("{value:.2}"),
        Form::Times | Form::Amount => trimmed(format!("{value:.1}")),
    }
}

/// A row in words.
fn said(row: &Row) -> String {
    let Row { published, simulated, interval, .. } = row;
    let show = |value: f64| text::published_value(published, value);
    let limit = match published.bound {
        Some(Bound::Below) => "at most ",
        Some(Bound::Above) => "at least ",
        None => "",
    };
    let simulated = simulated.filter(|value| value.is_finite()).map_or_else(|| "no value".to_string(), show);
    let interval = interval.map_or_else(String::new, |(low, high)| format!(" (95 %: {} to {})", show(low), show(high)));
    let remark = if published.kind == RowKind::Result { "" } else { text::remark(row) };
    let remark = if remark.is_empty() { String::new() } else { format!(" ({remark})") };
    format!(
        "{}: published {limit}{}, simulated {simulated}{interval}{remark}",
        published.what,
        show(published.published)
    )
}

/// What a panel shows, for readers who cannot see it.
fn spoken(place: &str, panel: &Panel<'_>) -> String {
    let rows = panel.groups.iter().flat_map(|group| &group.pairs).map(|pair| said(pair.row));
    format!("{place}, {}. {}", panel.axis(), rows.collect::<Vec<_>>().join("; "))
}

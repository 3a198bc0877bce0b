//! Effects against a baseline at each value of something that was varied: a row a value, a dot a policy, with its interval.

use evenkeel_model::Difference;
use maud::{Markup, PreEscaped, html};

use super::class;
use super::svg::{Axis, Drawing, NARROW, at, shortened};
use crate::number;

/// Between the dots of a row, and between rows.
const DOT: f64 = 10.0;
const ROW: f64 = 9.0;
/// What the names of values take at the left.
const NAMES: f64 = 112.0;
/// Below the rows: the ticks and what they are.
const BELOW: f64 = 34.0;

/// A value, with the effect of each policy.
pub struct Row<'a> {
    /// The value.
    pub name: &'a str,
    /// The effects, in the order of the policies.
    pub effects: Vec<Option<Difference>>,
}

/// The figure. `policies` are names with their colours, and `id` is its own on the page.
pub fn figure(id: &str, title: &str, remark: &str, policies: &[(&str, usize)], rows: &[Row<'_>]) -> Markup {
    let effects = || rows.iter().flat_map(|row| row.effects.iter().flatten());
    let ends = effects().flat_map(|effect| {
        let (low, high) = effect.interval.unwrap_or((effect.value, effect.value));
        [low, high, effect.value]
    });
    let high = ROW + DOT * policies.len() as f64;
    let bottom = high * rows.len() as f64;
    let axis = Axis::of(ends.map(|end| 100.0 * end).chain([0.0]), 5, (NAMES, NARROW - 8.0));
    let zero = at(axis.at(0.0));
    let content = html! {
        (axis.level("% of the baseline", 0.0, bottom))
        path.base d=(PreEscaped(format!("M{zero} 0V{}", at(bottom)))) {}
        @for (number, row) in rows.iter().enumerate() {
            @let top = high * number as f64;
            text x=(at(NAMES - 8.0)) y=(at(top + high / 2.0 + 4.0)) text-anchor="end" {
                (shortened(row.name, NAMES - 8.0))
                title { (row.name) }
            }
            @for (place, ((policy, colour), effect)) in policies.iter().zip(&row.effects).enumerate() {
                @if let Some(effect) = effect {
                    @let y = top + (ROW + DOT) / 2.0 + DOT * place as f64;
                    g {
                        title { (row.name) ": " (policy) " " (number::effect(Some(*effect))) }
                        @if let Some((low, high)) = effect.interval {
                            path class={ "line " (class('s', *colour)) }
                                d=(PreEscaped(format!("M{} {}H{}", at(axis.at(100.0 * low)), at(y), at(axis.at(100.0 * high))))) {}
                        }
                        circle class=(class('f', *colour)) cx=(at(axis.at(100.0 * effect.value))) cy=(at(y)) r="3.4" {}
                    }
                }
            }
        }
    };
    let caption = html! { b { (title) } ", " (remark) };
    let spoken = format!("{title} by value: effects of {} policies at {} values", policies.len(), rows.len());
    let drawing = Drawing { id, width: NARROW, height: bottom + BELOW, spoken: &spoken, caption, content };
    html! {
        div {
            (drawing.figure())
            (numbers(title, policies, rows))
        }
    }
}

/// What the figure shows, to be read.
fn numbers(title: &str, policies: &[(&str, usize)], rows: &[Row<'_>]) -> Markup {
    html! {
        details {
            summary { (title) " in numbers" }
            div.scroll {
                table.rows {
                    tr { th { "" } @for (policy, _) in policies { th.n { (policy) } } }
                    @for row in rows {
                        tr { th scope="row" { (row.name) } @for effect in &row.effects { td.n { (number::effect(*effect)) } } }
                    }
                }
            }
        }
    }
}

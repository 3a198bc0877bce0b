//! The figures of the first-order model: the Pareto frontier, and the speedup over alpha and beta (Torng et al., ISCA 2016, Figures 2
//! and 4).

use std::fmt::Write;

use evenkeel_model::marginal::{Frontier, Parameters, Range, heat, pareto};
use maud::{Markup, PreEscaped, html};

use super::svg::{Axis, Drawing, NARROW, at};

/// Voltages of each type in the frontier: every 25 mV.
const STEPS: usize = 25;
const BIG: usize = 4;
const LITTLE: usize = 4;

/// Where both drawings begin, and how high they are.
const LEFT: f64 = 34.0;
const TOP: f64 = 24.0;
const HEIGHT: f64 = 260.0;

/// Both figures, with the parameters that give the published optima.
pub fn draw(id: &str) -> Markup {
    let parameters = Parameters::MATCHED;
    let points = pareto(&parameters.system(BIG, LITTLE), STEPS);
    let ranges = [
        (Range::Unbounded, "optimum", "Speedup at the optimum"),
        (Range::Feasible, "feasible", "Speedup within 0.7 to 1.3 V"),
    ];
    html! {
        div.panels {
            (frontier(&format!("{id}-frontier"), &points))
            @for (range, name, title) in ranges { (speedups(&format!("{id}-{name}"), title, &parameters, range)) }
        }
    }
}

fn frontier(id: &str, points: &[Frontier]) -> Markup {
    let (bottom, right) = (TOP + HEIGHT, NARROW - 8.0);
    let across = Axis::of([0.4, 1.6], 6, (LEFT, right));
    let up = Axis::of([0.4, 1.6], 6, (bottom, TOP));
    let dots = |optimal: bool, size: f64| {
        let mut path = String::new();
        for point in points.iter().filter(|point| point.optimal == optimal) {
            let (x, y) = (across.at(point.performance) - size / 2.0, up.at(point.efficiency) - size / 2.0);
            let _ = write!(path, "M{} {}h{size}v{size}h-{size}z", at(x), at(y));
        }
        path
    };
    let best = points.iter().filter(|point| point.optimal && point.efficiency >= point.performance);
    let best = best.map(|point| point.performance).fold(0.0, f64::max);
    let drawing = Drawing {
        id,
        width: NARROW,
        height: bottom + 32.0,
        spoken: &format!(
            "Energy efficiency over performance: at nominal power performance can be {best:.2} times nominal"
        ),
        caption: html! {
            b { "Energy efficiency over performance" }
            ", 4B4L, all cores busy, voltages from 0.7 to 1.3 V; nominal is 1, 1. Below the line power is higher than nominal; the Pareto "
            "frontier is red. Figure 2."
        },
        content: html! {
            text.soft x="0" y=(at(TOP - 10.0)) { "Energy efficiency over nominal" }
            (up.upright(LEFT, right))
            (across.level("performance over nominal", TOP, bottom))
            path.base d=(PreEscaped(format!("M{LEFT} {}L{} {TOP}", at(bottom), at(right)))) {}
            path.f7 d=(PreEscaped(dots(false, 2.2))) {}
            path.f3 d=(PreEscaped(dots(true, 4.0))) {}
        },
    };
    drawing.figure()
}

fn speedups(id: &str, title: &str, parameters: &Parameters, range: Range) -> Markup {
    let alphas: Vec<f64> = (0..7).map(|step| 1.0 + 0.5 * f64::from(step)).collect();
    let betas: Vec<f64> = (0..7).map(|step| 1.0 + 0.5 * f64::from(step)).collect();
    let cells = heat(parameters, (BIG, LITTLE), &alphas, &betas, range);
    let (wide, high) = ((NARROW - LEFT) / alphas.len() as f64, HEIGHT / betas.len() as f64);
    let place = |values: &[f64], value: f64| values.iter().position(|known| *known == value).unwrap_or(0) as f64;
    let shade = |speedup: f64| ((speedup - 1.0) * 1.5).clamp(0.0, 0.6);
    let most = cells.iter().map(|cell| cell.speedup).fold(0.0, f64::max);
    let drawing = Drawing {
        id,
        width: NARROW,
        height: TOP + HEIGHT + 32.0,
        spoken: &format!("{title} over alpha and beta, up to {most:.2}"),
        caption: html! { b { (title) } ", 4B4L, all cores active, over alpha (across) and beta (down). Figure 4." },
        content: html! {
            text.soft x="0" y=(at(TOP - 10.0)) { "beta" }
            @for cell in &cells {
                @let (x, y) = (LEFT + wide * place(&alphas, cell.alpha), TOP + high * place(&betas, cell.beta));
                @if cell.speedup.is_finite() {
                    rect.f2 x=(at(x + 1.0)) y=(at(y + 1.0)) width=(at(wide - 2.0)) height=(at(high - 2.0))
                        fill-opacity=(format!("{:.2}", shade(cell.speedup))) {}
                    text x=(at(x + wide / 2.0)) y=(at(y + high / 2.0 + 4.0)) text-anchor="middle" {
                        (format!("{:.2}", cell.speedup))
                    }
                }
            }
            @for (place, beta) in betas.iter().enumerate() {
                text.soft x=(at(LEFT - 6.0)) y=(at(TOP + high * (place as f64 + 0.5) + 4.0)) text-anchor="end" { (beta) }
            }
            @for (place, alpha) in alphas.iter().enumerate() {
                text.soft x=(at(LEFT + wide * (place as f64 + 0.5))) y=(at(TOP + HEIGHT + 13.0)) text-anchor="middle" { (alpha) }
            }
            text.soft x=(at(LEFT.midpoint(NARROW))) y=(at(TOP + HEIGHT + 27.0)) text-anchor="middle" { "alpha" }
        },
    };
    drawing.figure()
}

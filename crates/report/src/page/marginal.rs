//! The figures of the first-order model: the Pareto frontier, and the speedup over alpha and beta (Torng et al., ISCA 2016, Figures 2
//! and 4).

use std::fmt::Write;

use evenkeel_model::marginal::{Frontier, Parameters, Range, heat, pareto};
use maud::{Markup, PreEscaped, html};

/// Voltages of each type in the frontier: every 25 mV.
const STEPS: usize = 25;
const BIG: usize = 4;
const LITTLE: usize = 4;

/// Both figures, with the parameters that give the published optima.
pub fn draw() -> Markup {
    let parameters = Parameters::MATCHED;
    let points = pareto(&parameters.system(BIG, LITTLE), STEPS);
    html! {
        div.panels {
            figure {
                h3 { "Energy efficiency over performance" }
                p.soft { "4B4L, all cores busy, voltages from 0.7 to 1.3 V; nominal is 1, 1. Figure 2. Below the line power is higher than nominal." }
                (frontier(&points))
            }
            @for (range, title) in [(Range::Unbounded, "Speedup at the optimum"), (Range::Feasible, "Speedup within 0.7 to 1.3 V")] {
                figure {
                    h3 { (title) }
                    p.soft { "4B4L, all cores active, over alpha (across) and beta (down). Figure 4." }
                    div.scroll { (speedups(&parameters, range)) }
                }
            }
        }
    }
}

/// The axes go from 0.4 to 1.6.
fn frontier(points: &[Frontier]) -> Markup {
    let at = |value: f64| (value - 0.4) / 1.2 * 200.0;
    let dots = |optimal: bool, size: f64| {
        let mut path = String::new();
        for point in points.iter().filter(|point| point.optimal == optimal) {
            let (x, y) = (at(point.performance) - size / 2.0, 200.0 - at(point.efficiency) - size / 2.0);
            let _ = write!(path, "M{x:.1} {y:.1}h{size}v{size}h-{size}z");
        }
        path
    };
    let best = points
        .iter()
        .filter(|point| point.optimal && point.efficiency >= point.performance)
        .map(|point| point.performance);
    let best = best.fold(0.0, f64::max);
    html! {
        svg.frontier viewBox="0 0 200 200" role="img"
            aria-label={ "At nominal power performance can be " (format!("{best:.2}")) " times nominal" } {
            path class="mark" d="M0 200L200 0" {}
            path class="f7" d=(PreEscaped(dots(false, 1.4))) {}
            path class="f3" d=(PreEscaped(dots(true, 2.4))) {}
        }
    }
}

fn speedups(parameters: &Parameters, range: Range) -> Markup {
    let alphas: Vec<f64> = (0..7).map(|step| 1.0 + 0.5 * f64::from(step)).collect();
    let betas: Vec<f64> = (0..7).map(|step| 1.0 + 0.5 * f64::from(step)).collect();
    let cells = heat(parameters, (BIG, LITTLE), &alphas, &betas, range);
    let shade = |speedup: f64| {
        let strength = ((speedup - 1.0) * 150.0).clamp(0.0, 60.0);
        format!("background:color-mix(in srgb, var(--c2) {strength:.0}%, var(--paper))")
    };
    html! {
        table.heat {
            tr { th { "" } @for alpha in &alphas { th.n { (alpha) } } }
            @for beta in &betas {
                tr {
                    th scope="row" { (beta) }
                    @for cell in cells.iter().filter(|cell| cell.beta == *beta) {
                        td style=(shade(cell.speedup)) { (format!("{:.2}", cell.speedup)) }
                    }
                }
            }
        }
    }
}

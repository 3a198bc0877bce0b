//! The papers' figures, drawn as the papers draw them from the rows of an experiment: groups along the axis, a bar a scheduler, the
//! published number beside the simulated one.

mod draw;
mod layout;
mod numbers;
mod panel;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use evenkeel_experiment::paper::{Experiment, PaperFigure, Row};
use maud::{Markup, html};

use super::svg::{at, slug};
use layout::Layout;
pub use numbers::{FigureBar, figure_bars};
use panel::{Names, Panel, panels};

/// Between the panels of a figure, as `figures.css` has it.
const GAP: f64 = 34.0;

/// All figures that rows come from, in the order of the file.
pub fn draw(experiment: &Experiment, rows: &[Row]) -> Markup {
    let names = Names::of(experiment);
    let drawn = experiment.figures.iter().map(|figure| one(experiment, &names, figure, rows));
    let left = rows.iter().filter(|row| row.published.figure().is_none()).count();
    html! {
        h2 { "The paper's figures" }
        p.soft {
            "Light bars with an outline are what the paper published, solid ones what came out here, with a line for the 95 % interval "
            "where there are several seeds. Point at a bar to read what it is. "
            "An arrow marks a limit: the paper says \"more than\" or \"less than\", or gives no number (\"higher\"), for which 1 % stands here."
            @if left > 0 {
                " " (left) " more " @if left == 1 { "row is" } @else { "rows are" } " about no figure, and in the table only."
            }
        }
        div.papers { @for figure in drawn { (figure) } }
    }
}

fn one(experiment: &Experiment, names: &Names, figure: &PaperFigure, rows: &[Row]) -> Markup {
    let own: Vec<&Row> = rows.iter().filter(|row| row.published.figure() == Some(&figure.name)).collect();
    let panels = panels(names, figure.axis, &own);
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut id = |panel: &Panel<'_>| {
        let id = slug(&format!("{} {} {}", experiment.name, figure.name, panel.metric.title()));
        let uses = used.entry(id.clone()).or_default();
        *uses += 1;
        if *uses == 1 { id } else { format!("{id}-{uses}") }
    };
    let place = format!("{} of {}", figure.name, experiment.short());
    let width = panels.iter().map(|panel| Layout::of(panel).width + GAP).sum::<f64>() - GAP;
    html! {
        section style={ "--w:" (at(width)) "px" } {
            h3 { (figure.name) ": " (figure.shows) }
            @if let Some(covers) = &figure.covers { p.note { (covers) } }
            div.panels-of-figure { @for panel in &panels { (draw::panel(&id(panel), &place, panel)) } }
        }
    }
}

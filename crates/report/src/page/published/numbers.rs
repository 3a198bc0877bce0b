//! What the figures show, as numbers: for those who draw them in another way.

use evenkeel_experiment::paper::{Experiment, Row};

use super::draw::points_up;
use super::panel::{Names, panels};

/// A published number and what came out here, as a figure of the paper shows them.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureBar<'a> {
    /// The figure or table of the paper.
    pub figure: &'a str,
    /// What it shows.
    pub shows: &'a str,
    /// Which part of the figure it is in, from 1: one vertical axis.
    pub panel: u32,
    /// What the vertical axis shows.
    pub axis: String,
    /// Where no effect is on that axis.
    pub base: f64,
    /// Which values are better, if the paper's claim is about that.
    pub better: Option<&'static str>,
    /// What stands below the bar and those beside it, in lines.
    pub group: String,
    /// What the bar is of, such as a policy.
    pub series: &'a str,
    /// The colour of that on pages.
    pub colour: u32,
    /// The published number, on that axis.
    pub published: f64,
    /// The simulated one; `None` if nothing was run that it could come from.
    pub simulated: Option<f64>,
    /// The 95 % interval of that from seed to seed, if it has one.
    pub interval: Option<(f64, f64)>,
    /// Set if the paper gives a limit instead of a number: on which side of it on that axis its own is, `above` or `below`.
    pub bound: Option<&'static str>,
    /// The row's stable name.
    pub id: &'a str,
}

/// The bars of all figures of an experiment, in the order in which pages draw them. `each` sees one after the other.
pub fn figure_bars(experiment: &Experiment, rows: &[Row], mut each: impl FnMut(FigureBar<'_>)) {
    let names = Names::of(experiment);
    for figure in &experiment.figures {
        let own: Vec<&Row> = rows.iter().filter(|row| row.published.figure() == Some(&figure.name)).collect();
        for (number, panel) in (1..).zip(panels(&names, figure.axis, &own)) {
            for group in &panel.groups {
                for pair in &group.pairs {
                    let row = &pair.row.published;
                    let published = panel.value(row, row.published);
                    let above = row.bound.map(|bound| points_up(row, bound, published - panel.base()));
                    let Some((colour, series)) = panel.series.get(pair.series) else { continue };
                    each(FigureBar {
                        figure: &figure.name,
                        shows: &figure.shows,
                        panel: number,
                        axis: panel.axis(),
                        base: panel.base(),
                        better: panel.better(),
                        group: group.label.join("\n"),
                        series,
                        colour: *colour as u32,
                        published,
                        simulated: pair.row.simulated.map(|value| panel.value(row, value)),
                        interval: pair.row.interval.map(|(low, high)| (panel.value(row, low), panel.value(row, high))),
                        bound: above.map(|above| if above { "above" } else { "below" }),
                        id: &row.id,
                    });
                }
            }
        }
    }
}

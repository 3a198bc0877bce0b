//! Activity and voltage over time, a panel for each set of techniques (Figure 7 of Torng et al., ISCA 2016).

use std::fmt::Write;

use evenkeel_experiment::paper::{Profiled, ProfiledArm};
use evenkeel_model::Ns;
use evenkeel_sim::workers::{Activity, Slice};
use maud::{Markup, PreEscaped, html};

use super::svg::{Axis, Drawing, at, legend, width_of};
use crate::number;

/// A lane is as many bins wide as the longest run of a panel needs.
const BINS: u64 = 900;

/// Voltages of one colour: up to which one, the colour, and what it is called.
const BANDS: [(f64, usize, &str); 5] = [
    (0.75, 5, "resting, up to 0.75 V"),
    (0.99, 0, "slowed, under 1 V"),
    (1.01, 7, "nominal, 1 V"),
    (1.25, 1, "raised, up to 1.25 V"),
    (f64::INFINITY, 3, "sprinting, above that"),
];

const WIDTH: f64 = 760.0;
/// From lane to lane; a lane of 10 units is drawn as high as this but for what is left between.
const LANE: f64 = 15.0;
/// What stands above the lanes of each set of techniques.
const HEADING: f64 = 26.0;

/// The panels of a profile on an axis that they share.
pub fn draw(id: &str, profiled: &Profiled) -> Markup {
    let longest = profiled.arms.iter().map(|arm| arm.time).max().unwrap_or(Ns(1));
    let bin = (longest.0 / BINS).max(1);
    let names = BANDS.iter().map(|(_, colour, name)| (*colour, *name));
    let (legend, used) = legend(names, WIDTH);
    let mut y = used;
    let mut drawn = Vec::new();
    let name = |core: usize| {
        let core_type = profiled.machine.cores[core].core_type.index();
        format!("{core} {}", profiled.machine.core_types[core_type].name)
    };
    let left = 12.0 + (0..profiled.machine.cores.len()).map(|core| width_of(&name(core))).fold(0.0, f64::max);
    let axis = Axis::exactly((0.0, longest.as_secs_f64() * 1e3), 8, (left, WIDTH - 8.0));
    let scale = (WIDTH - 8.0 - left) / (longest.0 as f64 / bin as f64);
    let over = |arm: &ProfiledArm| number::percent(arm.time.0 as f64 / profiled.arms[0].time.0 as f64 - 1.0);
    for arm in &profiled.arms {
        drawn.push(html! {
            text x="0" y=(at(y + 18.0)) { tspan.best { (arm.policy) } " " (over(arm)) " of time, " (arm.time) }
        });
        y += HEADING;
        for (core, slices) in arm.profile.cores.iter().enumerate() {
            let core_type = profiled.machine.cores[core].core_type.index();
            drawn.push(html! {
                text.soft[core_type > 0] x=(at(left - 6.0)) y=(at(y + 11.0)) text-anchor="end" { (name(core)) }
                path.idle d=(PreEscaped(format!("M{} {}H{}v13H{}z", at(left), at(y), at(WIDTH - 8.0), at(left)))) {}
                g transform={ "translate(" (at(left)) " " (at(y)) ") scale(" (format!("{scale:.5}")) " 1.3)" } {
                    @for (colour, path) in strips(slices, arm.time, bin) {
                        path class={ "f" (colour) } d=(PreEscaped(path)) {}
                    }
                    path.at-work d=(PreEscaped(at_work(slices, arm.time, bin))) {}
                }
            });
            y += LANE;
        }
    }
    let spoken = profiled.arms.iter().map(|arm| format!("{} {} of time", arm.policy, over(arm)));
    let spoken = format!("Activity and voltage of every core. {}", spoken.collect::<Vec<_>>().join("; "));
    let drawing = Drawing {
        id,
        width: WIDTH,
        height: y + 34.0,
        spoken: &spoken,
        caption: html! {
            b { (profiled.what) } ", " (profiled.source) ". A core's strip has the colour of its voltage; the dark part below is where it "
            "executes tasks or serial code, the rest of the time it waits or searches for work."
        },
        content: html! {
            (legend)
            @for part in &drawn { (part) }
            (axis.level("time, ms", y, y + 3.0))
        },
    };
    drawing.figure()
}

/// For each bin of a run that ended then, the slice that the core was in at its middle.
fn bins(slices: &[Slice], end: Ns, bin: u64) -> impl Iterator<Item = &Slice> {
    (0..end.0 / bin).filter_map(move |number| {
        let middle = Ns(number * bin + bin / 2);
        slices.partition_point(|slice| slice.from <= middle).checked_sub(1).map(|at| &slices[at])
    })
}

/// Runs of bins of which something is the same: where they begin, how long they are, and what it is.
fn runs<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<(usize, usize, T)> {
    let mut runs: Vec<(usize, usize, T)> = Vec::new();
    for (at, value) in values.enumerate() {
        match runs.last_mut() {
            Some((_, length, last)) if *last == value => *length += 1,
            _ => runs.push((at, 1, value)),
        }
    }
    runs
}

/// The strips of each colour.
fn strips(slices: &[Slice], end: Ns, bin: u64) -> Vec<(usize, String)> {
    let band =
        |slice: &Slice| BANDS.iter().find(|(most, ..)| slice.volts.0 <= *most).map_or(7, |(_, colour, _)| *colour);
    let mut paths: Vec<(usize, String)> = BANDS.iter().map(|(_, colour, _)| (*colour, String::new())).collect();
    for (from, length, colour) in runs(bins(slices, end, bin).map(band)) {
        if let Some((_, path)) = paths.iter_mut().find(|(known, _)| *known == colour) {
            let _ = write!(path, "M{from} 0h{length}v6h-{length}z");
        }
    }
    paths.retain(|(_, path)| !path.is_empty());
    paths
}

/// Where the core works.
fn at_work(slices: &[Slice], end: Ns, bin: u64) -> String {
    let mut path = String::new();
    for (from, length, works) in runs(bins(slices, end, bin).map(|slice| slice.state == Activity::Works)) {
        if works {
            let _ = write!(path, "M{from} 6h{length}v4h-{length}z");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Volts;

    use super::*;

    #[test]
    fn a_bin_shows_what_was_in_its_middle() {
        let slice = |from, state, volts| Slice { from: Ns(from), state, volts: Volts(volts) };
        let slices = [slice(0, Activity::Works, 1.0), slice(24, Activity::Waits, 0.7), slice(40, Activity::Works, 1.3)];
        assert_eq!(at_work(&slices, Ns(60), 10), "M0 6h2v4h-2zM4 6h2v4h-2z");
        let colours: Vec<usize> = strips(&slices, Ns(60), 10).iter().map(|(colour, _)| *colour).collect();
        assert_eq!(colours, [5, 7, 3], "in the order of the bands");
    }
}

//! Activity and voltage over time, a panel for each set of techniques (Figure 7 of Torng et al., ISCA 2016).

use std::fmt::Write;

use evenkeel_experiment::paper::{Profiled, ProfiledArm};
use evenkeel_model::Ns;
use evenkeel_sim::workers::{Activity, Slice};
use maud::{Markup, PreEscaped, html};

use super::legend;
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

/// The panels of a profile on an axis that they share.
pub fn draw(profiled: &Profiled) -> Markup {
    let longest = profiled.arms.iter().map(|arm| arm.time).max().unwrap_or(Ns(1));
    let bin = (longest.0 / BINS).max(1);
    html! {
        h3 { (profiled.what) }
        p.soft {
            (profiled.source) ". A core's strip has the colour of its voltage; the dark part below is where it executes tasks or serial "
            "code, the rest of the time it waits or searches for work."
        }
        (legend(BANDS.iter().map(|(_, colour, name)| (*colour, *name))))
        @for ProfiledArm { policy: name, time, profile } in &profiled.arms {
            p { b { (name) } " " (number::percent(time.0 as f64 / profiled.arms[0].time.0 as f64 - 1.0)) " of time, " (time) }
            div.lanes role="img" aria-label={ "Activity and voltage of every core with " (name) } {
                @for (core, slices) in profile.cores.iter().enumerate() {
                    @let big = profiled.machine.cores[core].core_type.index() == 0;
                    span.big[big] { (core) " " (profiled.machine.core_types[profiled.machine.cores[core].core_type.index()].name) }
                    svg viewBox={ "0 0 " (longest.0 / bin + 1) " 10" } preserveAspectRatio="none" height="13" {
                        @for (colour, path) in strips(slices, *time, bin) {
                            path class={ "f" (colour) } d=(PreEscaped(path)) {}
                        }
                        path class="at-work" d=(PreEscaped(at_work(slices, *time, bin))) {}
                    }
                }
            }
        }
    }
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

//! Where the time of kernels goes, a bar for each set of techniques (Figure 8 of Torng et al., ISCA 2016).

use evenkeel_experiment::paper::{Breakdown, Ran, breakdown};
use maud::{Markup, PreEscaped, html};

use super::COLOURS;
use super::svg::{Axis, Drawing, at, legend, slug};
use crate::number;

const PARTS: [(usize, &str); 5] = [
    (7, "serial"),
    (0, "all cores active (HP)"),
    (3, "fewer big cores wait than little ones are active (BI < LA)"),
    (1, "enough big cores wait to mug all work (BI >= LA)"),
    (5, "other low-parallel"),
];

const LEFT: f64 = 34.0;
const HEIGHT: f64 = 190.0;
/// From bar to bar, and between kernels.
const BAR: f64 = 8.5;
const APART: f64 = 11.0;
/// Below the bars, for slanted names.
const NAMES: f64 = 62.0;
/// No drawing is narrower, for its legend.
const NARROWEST: f64 = 400.0;

/// The bars of a set; nothing if no workers ran it, or with one kind of techniques only.
pub fn draw(id: &str, ran: &Ran) -> Markup {
    let all = breakdown(ran);
    if all.is_empty() || ran.policies.len() < 2 {
        return html! {};
    }
    html! {
        h2 { "Where the time goes: " (ran.set.name) }
        p.soft {
            "Time over that of " (ran.policies[0]) ", the mean over seeds. The bars of a kernel are, from left to right: "
            (ran.policies.join(", ")) ". Figure 8."
        }
        @for machine in &ran.set.machines {
            (one(&format!("{id}-{}-{}", slug(&ran.set.name), slug(machine)), machine, ran, &all))
        }
    }
}

/// The bars of a machine.
fn one(id: &str, machine: &str, ran: &Ran, all: &[Breakdown]) -> Markup {
    let kernel = BAR * ran.policies.len() as f64 + APART;
    let width = (LEFT + kernel * ran.set.workloads.len() as f64).max(NARROWEST);
    let (legend, used) = legend(PARTS, width);
    let top = used + 24.0;
    let bottom = top + HEIGHT;
    let kernels: Vec<(&str, Vec<&Breakdown>)> = ran
        .set
        .workloads
        .iter()
        .map(|member| {
            let own = all.iter().filter(|bar| bar.machine == *machine && bar.workload == member.name);
            (member.name.as_str(), own.collect())
        })
        .collect();
    let over =
        |bars: &[&Breakdown], bar: &Breakdown| bars.first().map_or(f64::NAN, |first| bar.seconds / first.seconds);
    let times = kernels.iter().flat_map(|(_, bars)| bars.iter().map(move |bar| over(bars, bar)));
    let axis = Axis::of(times.chain([0.0, 1.0]), 7, (bottom, top));
    let base = at(axis.at(1.0));
    let said = kernels.iter().map(|(name, bars)| {
        let bars = bars.iter().map(|bar| format!("{} {}", bar.policy, number::percent(over(bars, bar) - 1.0)));
        format!("{name}: {}", bars.collect::<Vec<_>>().join(", "))
    });
    let drawing = Drawing {
        id,
        width,
        height: bottom + NAMES,
        spoken: &format!("Time on {machine} over {}. {}", ran.policies[0], said.collect::<Vec<_>>().join("; ")),
        caption: html! { b { (machine) } ", time over that of " (ran.policies[0]) ", by what the cores do. Lower is better." },
        content: html! {
            (legend)
            text.soft x="0" y=(at(top - 9.0)) { "Time over " (ran.policies[0]) }
            (axis.upright(LEFT, width))
            @for (place, (name, bars)) in kernels.iter().enumerate() {
                @let from = LEFT + APART / 2.0 + kernel * place as f64;
                @for (index, bar) in bars.iter().enumerate() {
                    (parts(bar, over(bars, bar), &axis, from + BAR * index as f64))
                }
                @let middle = from + BAR * bars.len() as f64 / 2.0;
                text text-anchor="end" transform={ "translate(" (at(middle + 4.0)) " " (at(bottom + 12.0)) ") rotate(-45)" } { (name) }
            }
            path.base d=(PreEscaped(format!("M{LEFT} {base}H{}", at(width)))) {}
        },
    };
    drawing.figure()
}

/// A bar of parts; nothing if there is no time.
fn parts(bar: &Breakdown, time: f64, axis: &Axis, x: f64) -> Markup {
    let shares = [bar.serial, bar.high_parallel, bar.scarce, bar.ample, bar.other_low];
    if !time.is_finite() || shares.iter().any(|share| !share.is_finite()) {
        return html! {};
    }
    let mut from = 0.0;
    let spans = PARTS.iter().zip(shares).map(|((colour, name), share)| {
        let low = from;
        from += share * time;
        (colour % COLOURS, *name, share, axis.at(low), axis.at(from))
    });
    html! {
        g {
            title { (bar.workload) ", " (bar.policy) ": " (number::percent(time - 1.0)) " of time" }
            @for (colour, name, share, low, high) in spans.filter(|(.., low, high)| low - high >= 0.05) {
                rect class={ "f" (colour) } x=(at(x)) y=(at(high)) width=(at(BAR - 1.0)) height=(at(low - high)) {
                    title { (bar.workload) ", " (bar.policy) ", " (name) ": " (format!("{:.1} %", 100.0 * share)) }
                }
            }
        }
    }
}

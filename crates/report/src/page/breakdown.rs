//! Where the time of kernels goes, a bar for each set of techniques (Figure 8 of Torng et al., ISCA 2016).

use evenkeel_experiment::paper::{Breakdown, Ran, breakdown};
use maud::{Markup, html};

use super::{COLOURS, legend};
use crate::number;

const PARTS: [(usize, &str); 5] = [
    (7, "serial"),
    (0, "all cores active (HP)"),
    (3, "fewer big cores wait than little ones are active (BI < LA)"),
    (1, "enough big cores wait to mug all work (BI >= LA)"),
    (5, "other low-parallel"),
];

/// The bars of a set; nothing if no workers ran it, or with one kind of techniques only.
pub fn draw(ran: &Ran) -> Markup {
    let all = breakdown(ran);
    if all.is_empty() || ran.policies.len() < 2 {
        return html! {};
    }
    html! {
        h2 { "Where the time goes: " (ran.set.name) }
        p.soft { "Time over that of " (ran.policies[0]) ", the mean over seeds." }
        (legend(PARTS.into_iter()))
        @for machine in &ran.set.machines {
            details {
                summary { (machine) }
                table.bars {
                    @for member in &ran.set.workloads {
                        @let bars: Vec<&Breakdown> =
                            all.iter().filter(|bar| bar.machine == *machine && bar.workload == member.name).collect();
                        tr.group { th colspan="3" { (member.name) } }
                        @for bar in &bars { (row(bar, bars[0].seconds)) }
                    }
                }
            }
        }
    }
}

/// A bar whose full width is 1.1 of the first one's time.
fn row(bar: &Breakdown, first: f64) -> Markup {
    let shares = [bar.serial, bar.high_parallel, bar.scarce, bar.ample, bar.other_low];
    let scale = bar.seconds / first / 1.1 * 100.0;
    let mut from = 0.0;
    let spans = PARTS.iter().zip(shares).map(|((colour, name), share)| {
        let left = from * scale;
        from += share;
        (colour % COLOURS, *name, format!("left:{left:.1}%;width:{:.1}%", share * scale))
    });
    html! {
        tr {
            th scope="row" { (bar.policy) }
            td { div.track { @for (colour, name, style) in spans { i class={ "k" (colour) } style=(style) title=(name) {} } } }
            td.n { (number::percent(bar.seconds / first - 1.0)) }
        }
    }
}

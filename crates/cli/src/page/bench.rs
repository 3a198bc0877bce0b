//! The page of `evenkeel vm bench --html`.

use evenkeel_linux::vm::bench::{Measured, Row, Scheduler, Total};
use evenkeel_model::Difference;
use evenkeel_report::page::{Bar, Group, Made, bars, frame, slug};
use evenkeel_report::table;
use maud::{Markup, html};

use crate::args::command_line;

/// The page.
pub fn page(machines: &[Measured]) -> String {
    let content = html! {
        h1 { "Schedulers in guests whose cores differ" }
        p.soft {
            "Real programs. Bars are against the guest's own scheduler in the same repetition, with their "
            "95 % interval; predictions are of the simulator, which plays recordings of the same programs."
        }
        @for machine in machines { (one(machine)) }
    };
    let made = Made { command: &command_line(), remark: "Real programs differ from run to run." };
    frame("evenkeel vm bench", &content, made)
}

/// Which differences are good ones.
#[derive(Clone, Copy)]
enum Better {
    Lower,
    Higher,
}

impl Better {
    fn remark(self) -> &'static str {
        match self {
            Self::Lower => "lower is better",
            Self::Higher => "higher is better",
        }
    }

    fn of(self, one: f64, other: f64) -> f64 {
        match self {
            Self::Lower => one.min(other),
            Self::Higher => one.max(other),
        }
    }
}

/// What is shown as 0.0 % is no difference, however certain.
const TRIFLE: f64 = 0.0005;

/// Which scheduler brings programs home sooner, if that can be told from chance; else that none does. Where there are programs alone,
/// their time is meant, else H_ANTT of mixes.
fn headline(machine: &Measured) -> String {
    let alone = machine.totals.iter().any(|total| total.programs.is_some());
    let effect = |total: &Total| if alone { total.programs } else { total.mixes };
    let totals = machine.totals.iter().filter(|total| !total.scheduler.is_stock());
    let found: Vec<(&Scheduler, Difference)> =
        totals.filter_map(|total| Some((&total.scheduler, effect(total)?))).collect();
    let sooner = |a: &&(&Scheduler, Difference), b: &&(&Scheduler, Difference)| a.1.value.total_cmp(&b.1.value);
    // The best of many is good by chance, too: what is said of it must hold for one picked out of them.
    let among = found.len();
    let clear = |found: &&(&Scheduler, Difference)| found.1.value < -TRIFLE && found.1.is_clear_among(among);
    let range = |what: &str, interval: Option<(f64, f64)>| match interval {
        Some((low, high)) => format!(" ({what}: {} to {})", table::percent(low), table::percent(high)),
        None => ", once".into(),
    };
    match (found.iter().filter(clear).min_by(sooner), found.iter().min_by(sooner)) {
        (Some((scheduler, difference)), _) => {
            let (spec, share) = (&machine.spec, table::percent(-difference.value));
            format!(
                "On {spec}, {scheduler} brings programs home {} sooner than the guest's own scheduler{}",
                share.trim_start_matches('+'),
                range("95 % interval", difference.interval)
            )
        }
        (None, Some((scheduler, difference))) => {
            let what = match among {
                1 => "95 % interval".to_owned(),
                several => format!("95 % interval of the best of {several}"),
            };
            format!(
                "On {}, no scheduler is told to be sooner than the guest's own; {scheduler} comes out {}{}",
                machine.spec,
                table::percent(difference.value),
                range(&what, difference.interval_among(among))
            )
        }
        (None, None) => format!("{}: nothing is compared with the guest's own scheduler", machine.spec),
    }
}

fn one(machine: &Measured) -> Markup {
    let spec = machine.spec.to_string();
    let schedulers: Vec<&Scheduler> = machine.totals.iter().map(|total| &total.scheduler).collect();
    let colour = |scheduler: &Scheduler| schedulers.iter().position(|other| *other == scheduler).unwrap_or(0);
    let figure = |name: &str, title: &str, better: Better, value: &dyn Fn(&Row) -> Option<Difference>| {
        let groups = groups(machine, &colour, better, value);
        if groups.is_empty() {
            html! {}
        } else {
            bars(&slug(&format!("{spec} {name}")), title, better.remark(), &groups)
        }
    };
    html! {
        h2 { (headline(machine)) }
        p.note {
            (machine.repetitions) " repetitions"
            @if machine.repetitions < machine.wanted { " of " (machine.wanted) ": the measurement was ended early" }
            @if let Some(shares) = machine.shares { "; a big core has " (percent(shares.big)) " of a real one, a little core " (percent(shares.little)) }
            "."
        }
        div.panels {
            (figure("time", "Time", Better::Lower, &|row| row.against_stock))
            (figure("predicted", "Time, as predicted", Better::Lower, &|row| Some(row.predicted?.against_stock)))
            (figure("h-antt", "H_ANTT", Better::Lower, &|row| row.h_antt_against_stock))
            (figure("h-stp", "H_STP", Better::Higher, &|row| row.h_stp_against_stock))
            (figure("latency", "Wake-up latency, 99 %", Better::Lower, &|row| row.latency?.p99_against_stock))
        }
        div.scroll { (numbers(machine)) }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A group a bench, a bar each scheduler that is compared.
fn groups(
    machine: &Measured,
    colour: &dyn Fn(&Scheduler) -> usize,
    better: Better,
    value: &dyn Fn(&Row) -> Option<Difference>,
) -> Vec<Group> {
    let mut benches: Vec<&str> = machine.rows.iter().map(|row| row.bench.as_str()).collect();
    benches.dedup();
    let group = |bench: &&str| {
        let rows = machine.rows.iter().filter(|row| row.bench == **bench && !row.scheduler.is_stock());
        let found: Vec<(&Row, Difference)> = rows.filter_map(|row| Some((row, value(row)?))).collect();
        let best = found.iter().map(|(_, effect)| effect.value).fold(0.0, |one, other| better.of(one, other));
        let bars = found.iter().map(|(row, effect)| Bar {
            label: row.scheduler.to_string(),
            effect: Some(effect.value),
            interval: effect.interval,
            colour: colour(&row.scheduler),
            best: effect.value == best,
        });
        Group { name: (*bench).to_owned(), bars: bars.collect() }
    };
    benches.iter().map(group).filter(|group| !group.bars.is_empty()).collect()
}

fn numbers(machine: &Measured) -> Markup {
    html! {
        table.rows {
            tr {
                th { "program" } th { "scheduler" } th.n { "runs" } th.n { "makespan, s" } th.n { "ideal, s" } th.n { "predicted, s" }
                th.n { "H_ANTT" } th.n { "H_STP" }
            }
            @for row in &machine.rows {
                tr {
                    td { (row.bench) }
                    td { (row.scheduler) }
                    td.n { (row.runs) @if row.failed > 0 { ", " (row.failed) " failed" } }
                    td.n { (table::spread(row.makespan_s, row.makespan_sd_s)) }
                    td.n { (row.ideal_s.map(table::number).unwrap_or_default()) }
                    td.n { (row.predicted.map(|predicted| table::number(predicted.makespan_s)).unwrap_or_default()) }
                    td.n { (table::number(row.h_antt)) }
                    td.n { (table::number(row.h_stp)) }
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use evenkeel_linux::vm::bench::Host;

    use super::*;

    /// Schedulers that all do as well.
    pub fn measured(policies: &[&str], ratios: [f64; 3]) -> Measured {
        let schedulers = policies.iter().map(|policy| Scheduler { policy: (*policy).into(), host: Host::Run });
        let schedulers: Vec<Scheduler> = schedulers.collect();
        let difference = Difference::of(ratios);
        let row = |scheduler: &Scheduler, against_stock| Row {
            bench: "skewed".into(),
            scheduler: scheduler.clone(),
            runs: 3,
            failed: 0,
            makespan_s: 2.0,
            makespan_sd_s: 0.1,
            began_on_big: None,
            ideal_s: None,
            against_stock,
            predicted: None,
            h_antt: 1.2,
            h_antt_against_stock: None,
            h_stp: 0.8,
            h_stp_against_stock: None,
            latency: None,
        };
        Measured {
            spec: "2B2S:3".parse().unwrap(),
            shares: None,
            rows: std::iter::once(row(&Scheduler::stock(), None))
                .chain(schedulers.iter().map(|scheduler| row(scheduler, difference)))
                .collect(),
            repetitions: 3,
            wanted: 3,
            totals: schedulers
                .iter()
                .map(|scheduler| Total {
                    scheduler: scheduler.clone(),
                    programs: difference,
                    mixes: None,
                    switch_s: None,
                })
                .collect(),
            accuracy: Vec::new(),
        }
    }

    #[test]
    fn the_headline_says_no_more_than_was_measured() {
        let clear = headline(&measured(&["pfs"], [0.60, 0.61, 0.62]));
        assert!(clear.starts_with("On 2B2S:3, run pfs brings programs home 39.0 % sooner"), "{clear}");
        let unclear = headline(&measured(&["pfs"], [0.6, 1.0, 1.3]));
        assert!(unclear.contains("no scheduler is told to be sooner"), "{unclear}");
        let page = page(&[measured(&["pfs"], [0.60, 0.61, 0.62])]);
        assert!(page.contains("id=\"2b2s-3-time\"") && !page.contains("id=\"2b2s-3-predicted\""), "no empty figures");
    }

    #[test]
    fn the_best_of_a_figure_is_the_highest_where_that_is_better() {
        let mut machine = measured(&["pfs", "gts"], [0.5, 0.5, 0.5]);
        for (row, ratio) in machine.rows.iter_mut().zip([1.0, 1.2, 0.9]) {
            row.h_stp_against_stock = Difference::of([ratio]);
        }
        let best = |better, value: &dyn Fn(&Row) -> Option<Difference>| -> Vec<bool> {
            groups(&machine, &|_| 0, better, value).iter().flat_map(|group| &group.bars).map(|bar| bar.best).collect()
        };
        assert_eq!(best(Better::Higher, &|row| row.h_stp_against_stock), [true, false]);
        assert_eq!(best(Better::Lower, &|row| row.h_stp_against_stock), [false, true]);
        assert!(page(&[machine]).contains("H_STP, higher is better"));
    }

    /// The mean of the logarithms is -0.04, its error 0.0058: times 4.30 (alone) that is less, times 7.65 (one of three) more.
    #[test]
    fn an_interval_is_that_of_what_is_said() {
        let ratios = [-0.03_f64, -0.04, -0.05].map(f64::exp);
        let alone = headline(&measured(&["pfs"], ratios));
        assert!(
            alone.ends_with(" 3.9 % sooner than the guest's own scheduler (95 % interval: -6.3 % to -1.5 %)"),
            "{alone}"
        );
        let three = headline(&measured(&["pfs", "gts", "eas"], ratios));
        assert!(three.contains("no scheduler is told to be sooner"), "{three}");
        assert!(three.ends_with("-3.9 % (95 % interval of the best of 3: -8.1 % to +0.4 %)"), "{three}");
    }

    #[test]
    fn a_ninth_scheduler_is_told_from_the_first() {
        let nine = ["cfs", "eevdf", "gts", "eas", "pfs", "wash", "colab", "fcf", "bias"];
        let page = page(&[measured(&nine, [0.60, 0.61, 0.62])]);
        assert!(page.contains("class=\"f0\"") && page.contains("class=\"f0 second\""), "{page}");
    }
}

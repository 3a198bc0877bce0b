//! The page of `evenkeel try --html`, and of `run --ab --html`.

use evenkeel_linux::quote;
use evenkeel_linux::trial::STOCK;
use evenkeel_report::page::{Bar, Group, Made, bars, frame};
use maud::{Markup, html};

use super::report::{Advice, BEYOND, Report};
use crate::args::command_line;

/// A difference to the kernel's own scheduler, with its interval.
type Effect = (f64, Option<(f64, f64)>);

/// The page.
pub fn page(report: &Report<'_>) -> String {
    let command: Vec<String> = report.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let content = html! {
        (advice(report))
        p.note { (report.asked) ": " (report.rounds()) " of " code { (quote::line(&command)) } }
        div.panels {
            (figure(report, "time", "Time", report.trial.faster().first().copied(), &|one| {
                Some((report.trial.difference(one, STOCK)?.value, report.trial.interval(one)))
            }))
            @if report.counts_energy() {
                (figure(report, "energy", "Energy", thriftiest(report), &|one| {
                    Some((report.trial.energy_difference(one)?.value, report.trial.energy_interval(one)))
                }))
            }
        }
        div.scroll { (numbers(report)) }
        p.soft { (report.meaning()) }
    };
    let made = Made { command: &command_line(), remark: "Real programs differ from run to run." };
    frame(report.asked, &content, made)
}

/// What to do, as the headline.
fn advice(report: &Report<'_>) -> Markup {
    match report.advice() {
        Advice::Stay(why) => html! { h1 { (why) } },
        Advice::Use { name, less, line, as_fast } => html! {
            h1 { (name) ": " (less) }
            p.soft { code { (line) } }
            @if !as_fast.is_empty() { p.soft { "As fast, as far as can be told: " (as_fast.join(", ")) "." } }
        },
    }
}

/// The scheduler under which the program takes least energy, if that can be told from chance.
fn thriftiest(report: &Report<'_>) -> Option<usize> {
    let is_less = |one: &usize| report.trial.energy_interval(*one).is_some_and(|(_, high)| high < 0.0);
    let less = (STOCK + 1..report.schedulers.len()).filter(is_less);
    let found = less.filter_map(|one| Some((one, report.trial.energy_difference(one)?.value)));
    found.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(one, _)| one)
}

/// A bar a scheduler, against the kernel's own. An interval that says nothing any more would leave no room for the bars.
fn figure(
    report: &Report<'_>,
    id: &str,
    title: &str,
    best: Option<usize>,
    effect: &dyn Fn(usize) -> Option<Effect>,
) -> Markup {
    let bar = |one: usize| {
        let (value, interval) = effect(one)?;
        Some(Bar {
            label: report.name(one).to_owned(),
            effect: Some(value),
            interval: interval.filter(|(_, high)| *high <= BEYOND),
            colour: one - 1,
            best: best == Some(one),
        })
    };
    let bars_of_all: Vec<Bar> = (STOCK + 1..report.schedulers.len()).filter_map(bar).collect();
    if bars_of_all.is_empty() {
        return html! {};
    }
    bars(id, title, "lower is better", &[Group { name: "against stock".into(), bars: bars_of_all }])
}

/// What the figures show, to be read.
fn numbers(report: &Report<'_>) -> Markup {
    let columns = report.columns();
    let is_number = |column: usize| columns[column].starts_with('>');
    html! {
        table.rows {
            tr { @for (column, name) in columns.iter().enumerate() { th.n[is_number(column)] { (name.trim_start_matches('>')) } } }
            @for one in STOCK..report.schedulers.len() {
                tr { @for (column, cell) in report.row(one).iter().enumerate() { td.n[is_number(column)] { (cell) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::said_of;
    use super::*;

    fn page_of<const N: usize>(rounds: &[[f64; N]], joules: Option<[f64; N]>) -> String {
        said_of(rounds, joules, page)
    }

    #[test]
    fn what_to_do_is_the_headline() {
        let page = page_of(&[[2.0, 1.0], [2.0, 1.02], [2.0, 0.98], [2.0, 1.0]], Some([10.0; 2]));
        assert!(page.contains("<h1>pfs: 50.0 % less time than under the kernel's own scheduler</h1>"), "{page}");
        assert!(page.contains("evenkeel run --policy pfs -- ./app '&lt;b&gt;'") && !page.contains("<b>'"), "{page}");
        assert_eq!(page.matches("<figure").count(), 2, "{page}");
        assert!(page.contains("path class=\"whisker\"") && page.contains("pfs -50.0 % (95 %: "), "{page}");
    }

    #[test]
    fn each_figure_has_a_best_of_its_own() {
        let best = |page: &str| -> Vec<String> {
            let texts = page.split("class=\"best\"").skip(1);
            texts.filter_map(|text| text.split(['>', '<']).nth(1)).map(str::to_owned).collect()
        };
        // 40 J, 30 J and 20 J: what is faster takes more.
        let page = page_of(&[[4.0, 2.4, 3.2]; 3], Some([10.0, 12.5, 6.25]));
        assert_eq!(best(&page), ["-40.0 %", "-50.0 %"], "{page}");
        let page = page_of(&[[1.0, 0.5], [1.0, 1.5], [1.0, 0.9]], Some([10.0; 2]));
        assert_eq!(best(&page), [""; 0], "chance has no best: {page}");
    }

    #[test]
    fn intervals_of_energy_are_as_those_of_time() {
        let rounds = [[1.0, 0.5, 0.9, 1.1, 1.6], [1.0, 0.55, 0.85, 1.0, 1.5], [1.0, 0.45, 0.95, 1.2, 1.7]];
        let page = page_of(&rounds, Some([1.0; 5]));
        let texts = page.split("path class=\"whisker\"").skip(1);
        let whiskers: Vec<&str> = texts.filter_map(|text| text.split('>').next()).collect();
        assert_eq!(whiskers.len(), 8, "{page}");
        assert_eq!(whiskers[..4], whiskers[4..]);
    }

    #[test]
    fn it_fits_desks_and_phones() {
        if !evenkeel_testing::skips(&[&evenkeel_testing::needs::chromium]) {
            let rounds = [[2.0, 1.0, 1.6], [2.0, 1.02, 1.5], [2.0, 0.98, 1.7], [2.0, 1.0, 1.6]];
            evenkeel_testing::browser::fits("try", &page_of(&rounds, Some([10.0; 3])));
        }
    }

    #[test]
    fn a_ninth_scheduler_is_told_from_the_first() {
        let page = page_of(&[[1.0; 10], [1.0; 10]], None);
        assert!(page.contains("class=\"f0\"") && page.contains("class=\"f0 second\""), "{page}");
    }

    #[test]
    fn what_cannot_be_told_is_no_advice_and_what_is_not_counted_no_figure() {
        let page = page_of(&[[1.0, 1.0], [1.0, 2.0]], None);
        assert!(page.contains("<h1>No scheduler is known to be faster than the kernel's own; pfs"), "{page}");
        // Of two rounds the interval reaches beyond every scale.
        assert_eq!((page.matches("<figure").count(), page.matches("path class=\"whisker\"").count()), (1, 0), "{page}");
        assert!(page.contains("beyond +1000 %"), "{page}");
    }
}

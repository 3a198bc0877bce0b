//! The page of papers' evaluations.

use evenkeel_experiment::mean;
use evenkeel_experiment::paper::{
    Carrier, Experiment, Metric, Ran, Reproduction, Row, RowKind, Separated, Summary, Verdict,
};
use maud::{Markup, html};

use super::bars::{Bar, Group, figure};
use super::dumbbell::{self, Scale};
use super::svg::slug;
use super::{Made, colours_of, frame, policies};
use crate::{headline, number, text};

/// The page: one experiment after the other.
pub fn page(name: &str, all: &[Reproduction], command: &str) -> String {
    let content = html! { @for reproduction in all { (one(reproduction)) } };
    frame(&format!("evenkeel reproduce {name}"), &content, Made::simulated(command))
}

fn one(reproduction: &Reproduction) -> Markup {
    let Reproduction { experiment, sets, rows, power, profiles, .. } = reproduction;
    let id = |what: &str| slug(&format!("{} {what}", experiment.name));
    html! {
        h1 { (experiment.title) }
        @if let Some(headline) = headline::of_reproduction(reproduction) { p.lead { (headline) "." } }
        (summary(&reproduction.summary()))
        @if let Some(ranking) = reproduction.ranking() { p.soft { (text::order(&ranking)) } }
        @for separated in &reproduction.separated { (separation(separated)) }
        @if !experiment.figures.is_empty() { (super::published::draw(experiment, rows)) }
        h2 { "Every published number" }
        p.soft {
            "An open dot is what the paper published, a filled one what came out here; a red one is a miss: the wrong sign, "
            "nothing, something where the paper saw nothing, or a limit broken three times over. "
            "Effects in percent of the baseline. Rows marked calibration were used to choose a constant, and do not count. "
            "\"Arithmetic\" is what comes of cores shared out by a rule, without any mechanism. "
            "Below an effect or ratio that was simulated with several seeds is its 95 % interval."
        }
        (published(rows, &reproduction.null.arithmetic))
        @if !power.is_empty() {
            h2 { "Power over time" }
            (super::power::draw(&id("power"), power))
        }
        @if experiment.sets.iter().any(|set| matches!(set.carrier, Carrier::Equations)) {
            h2 { "The first-order model" }
            (super::marginal::draw(&id("model")))
        }
        @for ran in sets { (super::breakdown::draw(&id("breakdown"), ran)) }
        @if !profiles.is_empty() {
            h2 { "Activity and voltage over time" }
            @for (place, profiled) in profiles.iter().enumerate() {
                (super::profile::draw(&id(&format!("activity {}", place + 1)), profiled))
            }
        }
        (policies(&experiment.policies.iter().map(String::as_str).collect::<Vec<_>>()))
        @for ran in sets.iter().filter(|ran| ran.policies.len() > 1) {
            h2 { "By class: " (ran.set.name) }
            p.soft {
                "Each policy against " (ran.policies[0]) " on the same machine, the mean over the workloads of the class. "
                @match text::no_intervals(ran) {
                    Some(why) => { (why) }
                    None => { "Lines show 95 % intervals, from " (ran.seeds().len()) " seeds." }
                }
            }
            @let colours = colours(experiment, ran);
            div.panels {
                @for metric in metrics(ran.set.overview) {
                    (overview(&id(&format!("{} {}", ran.set.name, metric.title())), ran, metric, &colours))
                }
            }
        }
        @for ran in sets.iter().filter(|ran| ran.policies.len() > 1) {
            h2 { "Every workload: " (ran.set.name) }
            p.soft { (ran.set.overview.title()) " against " (ran.policies[0]) ", the mean over core orders and seeds." }
            (heat(ran))
        }
    }
}

/// How many rows came out, simulated and by null models.
fn summary(summary: &Summary) -> Markup {
    html! {
        p.lead { (text::counted(summary)) }
        div.scroll { table.rows {
            tr { th { "" } th.n { "right sign" } th.n { "within a third" } th.n { "close" } th.n { "within 10 %" } }
            @for (name, shares) in text::scores(summary) {
                tr { td { (name) } @for share in shares { td.n { (share) } } }
            }
        } }
    }
}

/// A policy against the others of a set.
fn separation(separated: &Separated) -> Markup {
    let end = |end: Option<f64>| end.map_or_else(|| "-".to_string(), number::percent);
    html! {
        h2 { "What separates " (separated.policy) ": " (separated.metric.title()) " (" (separated.set) ")" }
        div.scroll { table.rows {
            tr { th { "against" } th.n { "effect" } th.n { "95 %, from" } th.n { "to" } th { "" } }
            @for gap in &separated.others {
                tr {
                    td { (gap.policy) }
                    td.n { (number::percent(gap.difference.value)) }
                    td.n { (end(gap.difference.interval.map(|(low, _)| low))) }
                    td.n { (end(gap.difference.interval.map(|(_, high)| high))) }
                    td { @if !gap.difference.is_clear() { "not told apart" } }
                }
            }
        } }
    }
}

/// What the bars of a set show.
fn metrics(overview: Metric) -> [Metric; 2] {
    match overview {
        Metric::HAntt => [Metric::HAntt, Metric::HStp],
        other => [other, Metric::Energy],
    }
}

/// The colours of the experiment's policies, which are the same in all sets, and of those that a set has beside them.
fn colours<'a>(experiment: &'a Experiment, ran: &'a Ran) -> Vec<(usize, &'a str)> {
    let beside = ran.policies.iter().filter(|policy| !experiment.policies.contains(policy));
    let names: Vec<&str> = experiment.policies.iter().chain(beside).map(String::as_str).collect();
    colours_of(&names).into_iter().zip(names).collect()
}

/// The bars of a metric; nothing if the set has none of it, as the first-order model has no energy.
fn overview(id: &str, ran: &Ran, metric: Metric, colours: &[(usize, &str)]) -> Markup {
    let groups = classes(ran, metric, colours);
    let is_known = |bar: &Bar| bar.effect.is_some_and(f64::is_finite);
    if !groups.iter().flat_map(|group| &group.bars).any(is_known) {
        return html! {};
    }
    let better = if metric.more_is_better() { "higher" } else { "lower" };
    figure(id, metric.title(), &format!("{better} is better"), &groups)
}

/// A group a class and machine; a set of single programs has a group a program.
fn classes(ran: &Ran, metric: Metric, colours: &[(usize, &str)]) -> Vec<Group> {
    let colour_of = |policy: &str| colours.iter().find(|(_, name)| *name == policy).map_or(0, |(colour, _)| *colour);
    let mut classes: Vec<&str> = Vec::new();
    for member in &ran.set.workloads {
        if !classes.contains(&member.class()) {
            classes.push(member.class());
        }
    }
    let group = |class: &&str, machine: &String| {
        let members = ran.set.workloads.iter().filter(|member| member.class() == *class);
        let workloads: Vec<&str> = members.map(|member| member.name.as_str()).collect();
        let of = |policy: &String| {
            let effects =
                workloads.iter().filter_map(|workload| ran.effect(workload, machine, metric, policy, &ran.policies[0]));
            mean(effects).unwrap_or(f64::NAN)
        };
        let effects: Vec<f64> = ran.policies.iter().map(of).collect();
        let values = effects.iter().copied();
        let best = values.fold(0.0, if metric.more_is_better() { f64::max } else { f64::min });
        let bars = ran.policies.iter().zip(&effects).skip(1).map(|(policy, effect)| Bar {
            label: policy.clone(),
            effect: Some(*effect),
            interval: ran.interval(&workloads, machine, metric, policy, &ran.policies[0]),
            colour: colour_of(policy),
            best: *effect == best,
        });
        Group { name: format!("{class} on {machine}"), bars: bars.collect() }
    };
    classes.iter().flat_map(|class| ran.set.machines.iter().map(move |machine| group(class, machine))).collect()
}

fn published(rows: &[Row], arithmetic: &[Row]) -> Markup {
    let on_scale = |row: &&Row| row.published.is_effect() && row.published.published.abs() <= 0.5;
    let ends = rows.iter().filter(on_scale).flat_map(|row| [Some(row.published.published), row.simulated]).flatten();
    let scale = Scale::of(ends);
    html! {
        div.scroll {
            table.rows {
                tr {
                    th { "what" } th.n { "published" } th.n { "simulated" } th.n { "arithmetic" } th { "" } th { "" }
                    th.where { "source" }
                }
                @for (one, reckoned) in rows.iter().zip(arithmetic) {
                    (row(one, reckoned.simulated, on_scale(&one).then_some(&scale)))
                }
            }
        }
    }
}

fn row(row: &Row, reckoned: Option<f64>, scale: Option<&Scale>) -> Markup {
    let Row { published, simulated, interval, verdict } = row;
    let show = |value: f64| text::published_value(published, value);
    let miss = *verdict == Verdict::Miss && published.kind == RowKind::Result;
    html! {
        tr id=(published.id) {
            td.what {
                (published.what)
                @if let (Some(note), true) = (&published.note, *verdict != Verdict::Close) {
                    div.note { (note) }
                }
            }
            td.n { (show(published.published)) }
            td.n {
                (simulated.map_or_else(|| "-".to_string(), show))
                @if let Some((low, high)) = *interval { div.note { (show(low)) " to " (show(high)) } }
            }
            td.n { (reckoned.map_or_else(|| "-".to_string(), show)) }
            td.dumbbell {
                @if let Some(scale) = scale { (dumbbell::draw(scale, published.published, *simulated, miss)) }
            }
            td class=(if miss { "miss" } else { "hit" }) { (text::remark(row)) }
            td.note.where { (published.source) }
        }
    }
}

/// The effect of every policy on every workload, shaded by its size.
fn heat(ran: &Ran) -> Markup {
    let (others, metric) = (&ran.policies[1..], ran.set.overview);
    let shade = |effect: f64| {
        let colour = if (effect < 0.0) != metric.more_is_better() { "var(--c2)" } else { "var(--c3)" };
        let strength = (effect.abs() * 120.0).min(60.0);
        format!("background:color-mix(in srgb, {colour} {strength:.0}%, var(--paper))")
    };
    html! {
        div.scroll {
            table.heat {
                tr {
                    th { "" }
                    @for machine in &ran.set.machines { @for policy in others { th.n { (machine) br; (policy) } } }
                }
                @for member in &ran.set.workloads {
                    tr {
                        th scope="row" { (member.name) }
                        @for machine in &ran.set.machines {
                            @for policy in others {
                                @let effect = ran.effect(&member.name, machine, metric, policy, &ran.policies[0]);
                                @let effect = effect.unwrap_or(f64::NAN);
                                td style=(shade(effect)) { (number::percent(effect)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_experiment::paper::{Gap, Measured, Null, Sample, Set};
    use evenkeel_model::Difference;

    use super::*;

    /// A set whose numbers are made up: of what its carrier measures. From seed to seed effects become larger, but for Sync-1's, which
    /// change their sign.
    fn made_up(experiment: &Experiment, set: &Set) -> Ran {
        let metrics: &[Metric] = match set.carrier {
            Carrier::Equations => &[Metric::Throughput],
            _ => &[Metric::HAntt, Metric::HStp, Metric::Time, Metric::Energy],
        };
        let policies = experiment.policies_of(set).to_vec();
        let seeds = if matches!(set.carrier, Carrier::Equations) { 0..1 } else { 0..set.seeds };
        let mut samples = Vec::new();
        for member in &set.workloads {
            for machine in &set.machines {
                for seed in seeds.clone() {
                    samples.extend(policies.iter().enumerate().map(|(place, policy)| {
                        let odd = member.name == "Sync-1" && seed % 2 == 1;
                        let effect = 0.1 * place as f64 * (1.0 + 0.1 * seed as f64);
                        let value = if odd { (1.0 + effect).recip() } else { 1.0 + effect };
                        Sample {
                            workload: member.name.clone(),
                            machine: machine.clone(),
                            policy: policy.clone(),
                            seed,
                            measured: Measured::Values(metrics.iter().map(|metric| (*metric, value)).collect()),
                        }
                    }));
                }
            }
        }
        Ran { set: set.clone(), policies, samples, cores: Vec::new(), capacity: Vec::new() }
    }

    /// An experiment whose numbers are made up.
    fn made_up_of(name: &str) -> Reproduction {
        let [experiment] = <[Experiment; 1]>::try_from(Experiment::by_name(name).unwrap()).unwrap();
        let sets = experiment.sets.iter().map(|set| made_up(&experiment, set)).collect();
        let rows: Vec<Row> = experiment.rows.iter().map(|row| Row::of(row, None)).collect();
        let null = Null { constant: rows.clone(), arithmetic: rows.clone() };
        let (separated, power, profiles) = (Vec::new(), Vec::new(), Vec::new());
        Reproduction { experiment, sets, rows, null, separated, power, profiles, events: 0 }
    }

    /// What is below the head of its page.
    fn body_of(name: &str) -> String {
        let page = page(name, &[made_up_of(name)], "reproduce");
        page.split_once("<body>").unwrap().1.to_owned()
    }

    #[test]
    fn policies_that_need_no_colour_twice_are_not_drawn_as_if_they_were_published() {
        let body = body_of("colab");
        assert!(body.contains("<rect class=\"f2\"") && body.contains("<span class=\"t2\"><b>colab:own</b>"), "{body}");
        assert!(!body.contains(" second\""), "{body}");
    }

    #[test]
    fn what_is_red_is_called_that_and_is_any_miss() {
        let (colab, aaws) = (body_of("colab"), body_of("aaws"));
        assert!(colab.contains("a red one is a miss") && !colab.contains("has the wrong sign"), "{colab}");
        assert!(aaws.contains("frontier is red"), "{aaws}");
        assert!(!colab.contains("orange") && !aaws.contains("orange"));
    }

    #[test]
    fn bars_have_intervals_where_there_are_several_seeds_and_the_page_says_why_there_are_none() {
        let (colab, aaws) = (body_of("colab"), body_of("aaws"));
        let of_set = |page: &str, name: &str| {
            let (_, rest) = page.split_once(&format!("<h2>By class: {name}</h2>")).unwrap();
            rest.split("<h2>").next().unwrap().to_owned()
        };
        let (one, four) = (of_set(&colab, "mixes"), of_set(&colab, "mixes beside others"));
        assert!(one.contains("One seed: there are no intervals.") && !one.contains("95 %"), "{one}");
        assert!(four.contains("class=\"whisker\"") && four.contains("95 % intervals, from 4 seeds."), "{four}");
        // 1.7, 1.77, 1.84 and 1.91 of the baseline; by hand from logarithms, with Student's 3.182.
        assert!(four.contains("colab:own +80.5 % (95 %: +66.5 % to +95.3 %)"), "{four}");
        let model = of_set(&aaws, "model");
        assert!(model.contains("Nothing is drawn from a seed: there are no intervals."), "{model}");
    }

    #[test]
    fn page_and_text_begin_with_what_separates_the_policy_from_the_baseline_of_its_set() {
        let mut colab = made_up_of("colab");
        let gap = |policy: &str, logs: [f64; 3]| Gap {
            policy: policy.into(),
            difference: Difference::of_logarithms(logs).unwrap(),
        };
        colab.separated = vec![Separated {
            set: "mixes beside others".into(),
            policy: "colab:own".into(),
            metric: Metric::HAntt,
            others: vec![gap("eas", [0.1, -0.1, 0.0]), gap("cfs", [-0.10, -0.11, -0.10])],
        }];
        let said = "H_ANTT of colab:own is 9.8 % lower than that of cfs \
                    (95 % interval: 11.1 % to 8.5 % lower; mixes beside others, 3 seeds).";
        let colab = [colab];
        assert!(page("colab", &colab, "reproduce").contains(&format!("</h1><p class=\"lead\">{said}</p>")));
        assert_eq!(text::reproductions(&colab).lines().nth(1), Some(said));
        assert!(!body_of("colab").contains("95 % interval:"), "without a separation");
    }

    #[test]
    fn tables_have_in_brackets_what_seeds_do_not_tell_from_nothing() {
        let text = text::reproductions(&[made_up_of("colab")]);
        let of_set = |name: &str| {
            let (_, rest) = text.split_once(&format!("H_ANTT against cfs: {name} (")).unwrap();
            rest.split("\n\n").next().unwrap()
        };
        let four = of_set("mixes beside others");
        // Of Sync-1, with seeds that are far on both sides; of Sync-2 with such as are on one.
        assert!(four.contains("(+15.7 %)") && four.contains(" +80.5 %") && !four.contains("(+80.5 %)"), "{four}");
        assert!(four.contains("by the 95 % interval from 4 seeds"), "{four}");
        let one = of_set("mixes");
        assert!(!one.contains("(+") && one.contains("One seed: there are no intervals."), "{one}");
    }

    #[test]
    fn what_a_set_does_not_measure_has_no_figure() {
        let body = body_of("aaws");
        let has = |id: &str| body.contains(&format!("id=\"aaws-{id}\""));
        assert!(has("model-throughput-over-nominal") && has("kernels-energy"), "{body}");
        assert!(!has("model-energy"), "{body}");
    }
}

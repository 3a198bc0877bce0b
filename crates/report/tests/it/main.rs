//! The views of one comparison say the same.

use evenkeel_experiment::timeline::Timelines;
use evenkeel_experiment::{Comparison, Control, Plan, Runner, catalog};
use evenkeel_model::Difference;
use evenkeel_report::{json, number, page, text};
use evenkeel_sweep::{AtValue, Effects, PolicySummary, Summary, Varied};

fn radix(seeds: &[u64]) -> Plan {
    Plan {
        workloads: vec![catalog::workload("radix").expect("it comes with Evenkeel").workload],
        machines: vec![catalog::machine("2B2S").expect("it comes with Evenkeel").machine],
        policies: vec![
            catalog::policy("cfs").expect("it comes with Evenkeel"),
            catalog::policy("gts").expect("it comes with Evenkeel"),
        ],
        seeds: seeds.to_vec(),
        ..Plan::default()
    }
}

#[test]
fn text_page_and_document_of_a_comparison_show_the_same_numbers() {
    let control = Control::default();
    let runner = Runner::new(radix(&[1]), &control).unwrap();
    let results = runner.run_all(&control).unwrap();
    let compared = Comparison::of(runner.plan(), &results, "cfs");
    let effect = number::effect(compared.difference(1, |measured| measured.h_antt));
    assert!(text::comparison(&compared).contains(&effect), "{effect}");
    let timelines = Timelines::record(&runner, 1).unwrap();
    let page = page::comparison(&compared, &timelines, "compare <radix>");
    assert!(page.contains(&effect) && page.contains("compare &lt;radix&gt;"), "{effect}");
    assert!(page.matches("<figure class=\"drawn\"").count() >= 3, "turnaround, throughput and energy");
    let runs = page.split("\"title\":").skip(1).map(|run| run.split('"').nth(1).unwrap());
    assert_eq!(runs.collect::<Vec<_>>(), ["cfs", "gts"], "one timeline has all policies");
    for (policy, id) in [("cfs", "waits-1-1"), ("gts", "waits-1-2")] {
        let (_, waits) = page.split_once(&format!("<h3>Who waited for whom under {policy}</h3>")).expect(policy);
        assert!(waits.starts_with(&format!("<figure class=\"drawn\" id=\"{id}\"")), "{policy}: {waits:.200}");
    }
    let document = json::Runs::of(&results.runs, results.events, 0.0);
    for (entry, run) in document.runs.iter().zip(&results.runs) {
        assert_eq!(entry.metrics.makespan_s, run.measurement.makespan.as_secs_f64());
        assert_eq!(entry.order, run.order.name());
    }
    // A number that does not exist is null, which no schema of a plain number would allow otherwise.
    let mut odd = results.clone();
    odd.runs[0].measurement.h_antt = f64::NAN;
    assert!(json::print(&json::Runs::of(&odd.runs, 0, 0.0)).unwrap().contains("\"h_antt\": null"));
}

#[test]
fn core_orders_are_told_apart_on_each_workload_and_over_all() {
    let radix = radix(&[1]);
    let plan = Plan { workloads: vec![radix.workloads[0].clone(); 2], ..radix };
    let control = Control::default();
    let runner = Runner::new(plan, &control).unwrap();
    let mut results = runner.run_all(&control).unwrap();
    // By workload, policy and core order.
    for (run, h_antt) in results.runs.iter_mut().zip([1.0, 1.0, 0.9, 1.1, 1.0, 1.0, 0.8, 1.0]) {
        run.measurement.h_antt = h_antt;
    }
    let compared = Comparison::of(runner.plan(), &results, "cfs");
    let said = ["-10.0 % big-first, +10.0", "-20.0 % big-first, +0.0", "-15.1 % big-first, +4.9"]
        .map(|effects| format!("H_ANTT by core order: gts {effects} % little-first"));
    let (text, timelines) = (text::comparison(&compared), Timelines::record(&runner, 1).unwrap());
    let page = page::comparison(&compared, &timelines, "compare radix");
    for said in &said {
        assert!(text.lines().any(|line| line == said), "{said}: {text}");
        assert!(page.contains(said), "{said}");
    }
    let document = json::Runs::of(&results.runs, 0, 0.0).compared(&compared);
    let of_all = &document.effects.unwrap()[2];
    assert_eq!(of_all.workload, None);
    let effects: Vec<String> = of_all.orders.iter().map(|of| number::percent(of.h_antt.unwrap().effect)).collect();
    assert_eq!(effects, ["-15.1 %", "+4.9 %"]);
}

#[test]
fn core_orders_of_a_sweep_are_told_apart() {
    let effects = |ratio: f64| Effects { h_antt: Difference::of([ratio]), ..Effects::default() };
    let at = |(order, ratio): (&str, f64)| AtValue { value: order.into(), policies: vec![effects(ratio)] };
    let mut summary = Summary {
        baseline: "cfs".into(),
        cells: 1,
        seeds: 1,
        failed: 0,
        first_error: None,
        drawn: true,
        policies: vec![PolicySummary { policy: "gts".into(), effects: effects(1.0), cells: 1, better: 0, worse: 0 }],
        varied: vec![Varied {
            name: "order".into(),
            values: [("big-first", 0.9), ("little-first", 1.1)].map(at).into(),
        }],
    };
    let said = "H_ANTT by core order: gts -10.0 % big-first, +10.0 % little-first";
    let shown = |summary: &Summary| {
        let text = text::sweep(summary).lines().any(|line| line == said);
        (text, page::sweep("grid.parquet", 4, summary, "sweep grid.toml").contains(said))
    };
    assert_eq!(shown(&summary), (true, true));
    summary.varied.clear();
    assert_eq!(shown(&summary), (false, false), "of one core order there is nothing to tell apart");
}

#[test]
fn no_intervals_are_promised_where_seeds_are_all_alike() {
    let (lines, alike) = ("lines show their 95 % interval", "nothing was drawn from the seeds, which are all alike");
    let control = Control::default();
    let runner = Runner::new(radix(&[1, 2]), &control).unwrap();
    let mut results = runner.run_all(&control).unwrap();
    let timelines = Timelines::record(&runner, 1).unwrap();
    for drawn in [true, false] {
        for run in &mut results.runs {
            run.drawn = drawn;
        }
        let compared = Comparison::of(runner.plan(), &results, "cfs");
        let page = page::comparison(&compared, &timelines, "compare radix");
        assert_eq!((page.contains(lines), page.contains(alike)), (drawn, !drawn));
        let effects = Effects { h_antt: Difference::of([0.9, 0.9]), ..Effects::default() };
        let summary = Summary {
            baseline: "cfs".into(),
            cells: 1,
            seeds: 2,
            failed: 0,
            first_error: None,
            drawn,
            policies: vec![PolicySummary { policy: "gts".into(), effects, cells: 1, better: 0, worse: 0 }],
            varied: Vec::new(),
        };
        assert_eq!(page::sweep("grid.parquet", 4, &summary, "sweep grid.toml").contains(lines), drawn);
    }
}

//! The views of one comparison say the same.

use evenkeel_experiment::timeline::Timelines;
use evenkeel_experiment::{Comparison, Control, Plan, Runner, catalog};
use evenkeel_report::{json, number, page, text};

#[test]
fn text_page_and_document_of_a_comparison_show_the_same_numbers() {
    let plan = Plan {
        workloads: vec![catalog::workload("radix").unwrap().workload],
        machines: vec![catalog::machine("2B2S").unwrap().machine],
        policies: vec![catalog::policy("cfs").unwrap(), catalog::policy("gts").unwrap()],
        ..Plan::default()
    };
    let control = Control::default();
    let runner = Runner::new(plan, &control).unwrap();
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

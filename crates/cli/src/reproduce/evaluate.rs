//! Computes published numbers from runs.
//!
//! The unit of everything is a *cell*: one workload on one machine, or one program of it. Its value is a metric averaged
//! over core orders (COLAB 5.1) and seeds, its effect is that value against the baseline's, as the figures normalise.

use std::collections::{BTreeMap, BTreeSet};

use statrs::statistics::Statistics;

use super::experiment::{Aggregate, Baseline, Compare, Experiment, Member, Metric, Published, Selector, Set, Threads};
use super::judge::{Verdict, verdict};
use crate::json::{Chart, Row, Run};

/// The runs of a set, and how many cores its machines have.
pub struct Ran<'a> {
    /// The set.
    pub set: &'a Set,
    /// Its policies.
    pub policies: &'a [String],
    /// Its runs.
    pub runs: &'a [Run],
    /// Cores of each machine of the set, in its order.
    pub cores: Vec<u32>,
    /// What the cores of each machine could do together ([`Metric::Capacity`]).
    pub capacity: Vec<f64>,
}

/// A row with what is known about it besides the numbers.
pub struct Evaluated<'a> {
    /// What is printed as JSON.
    pub row: Row,
    /// What the experiment file says.
    pub published: &'a Published,
    /// How it came out.
    pub verdict: Verdict,
}

/// An experiment that has been run.
pub struct Evaluation<'a> {
    /// What its file says.
    pub experiment: &'a Experiment,
    /// Its sets.
    pub ran: Vec<Ran<'a>>,
    /// Its rows.
    pub rows: Vec<Evaluated<'a>>,
    /// Its charts of power over time.
    pub power: &'a [Chart],
    /// Its activity profiles.
    pub profiles: &'a [super::workers::Profiled],
}

/// Every row of an experiment, in the order of its file.
pub fn rows<'a>(experiment: &'a Experiment, ran: &[Ran<'_>]) -> Vec<Evaluated<'a>> {
    let evaluated = experiment.rows.iter().map(|published| {
        let simulated = simulated(published, ran).filter(|value| value.is_finite());
        Evaluated {
            row: Row {
                id: published.id.clone(),
                what: published.what.clone(),
                published: published.published,
                simulated,
                difference: simulated.map(|simulated| simulated - published.published),
                source: published.source.clone(),
                kind: published.kind,
            },
            published,
            verdict: simulated.map_or(Verdict::Miss, |simulated| verdict(published, simulated)),
        }
    });
    evaluated.collect()
}

/// One workload on one machine under one policy, or one of its programs.
#[derive(Clone, Copy)]
struct Arm<'a> {
    ran: &'a Ran<'a>,
    workload: &'a str,
    machine: &'a str,
    policy: &'a str,
    program: Option<usize>,
    cluster: Option<&'a str>,
}

impl<'a> Arm<'a> {
    fn runs(self) -> impl Iterator<Item = &'a Run> {
        let fits =
            move |run: &&Run| run.workload == self.workload && run.machine == self.machine && run.policy == self.policy;
        self.ran.runs.iter().filter(fits)
    }

    fn value(self, metric: Metric) -> Option<f64> {
        let time = |run: &Run| match self.program {
            Some(program) => run.programs.get(program).and_then(|program| program.turnaround_s).unwrap_or(f64::NAN),
            None => run.metrics.makespan_s,
        };
        let energy = |run: &Run| match self.cluster {
            Some(name) => run.clusters.iter().find(|cluster| cluster.name == name).map_or(f64::NAN, |of| of.energy_j),
            None => run.metrics.energy_j,
        };
        let mean_of = |value: &dyn Fn(&Run) -> f64| mean(self.runs().map(value));
        match metric {
            Metric::HStp => mean_of(&|run| run.metrics.h_stp),
            Metric::HAntt | Metric::Runs => mean_of(&|run| run.metrics.h_antt),
            Metric::Speedup => mean_of(&|run| run.metrics.h_antt).map(f64::recip),
            Metric::Time => mean_of(&time),
            Metric::Performance => mean_of(&time).map(f64::recip),
            Metric::MeanPerformance => mean_of(&geometric_mean).map(f64::recip),
            Metric::Migrations => mean_of(&|run| run.metrics.migrations as f64),
            Metric::Gap => {
                let slowest = self.runs().map(time).reduce(f64::max)?;
                let fastest = self.runs().map(time).reduce(f64::min)?;
                Some(slowest / fastest - 1.0)
            }
            Metric::Energy => mean_of(&energy),
            Metric::Efficiency => mean_of(&energy).map(f64::recip),
            Metric::Power => mean_of(&|run| energy(run) / run.metrics.makespan_s),
            Metric::Edp => mean_of(&|run| run.metrics.edp),
            Metric::Spread => {
                let mean = mean_of(&time)?;
                let variance = mean_of(&|run| (time(run) - mean).powi(2))?;
                Some(variance.sqrt() / mean)
            }
            Metric::Capacity => {
                let machine = self.ran.set.machines.iter().position(|machine| machine == self.machine)?;
                self.ran.capacity.get(machine).copied()
            }
            measured => mean_of(&|run| {
                let found = run.measures.iter().find(|(metric, _)| *metric == measured);
                found.map_or(f64::NAN, |(_, value)| *value)
            }),
        }
    }

    /// The arm that this one is compared with.
    fn baseline(self, baseline: &'a Baseline, all: &'a [Ran<'a>]) -> Option<Self> {
        let ran = match baseline.set() {
            Some(set) => all.iter().find(|ran| ran.set.name == set)?,
            None => self.ran,
        };
        let own = || self.ran.set.workloads.iter().find(|member| member.name == self.workload).map(Member::called);
        let called = baseline.workload().or_else(own)?;
        let workload = &ran.set.workloads.iter().find(|member| member.called() == called)?.name;
        let (machine, policy) = (baseline.machine(), baseline.policy());
        Some(Self {
            ran,
            workload,
            machine: machine.unwrap_or(self.machine),
            policy: policy.unwrap_or(self.policy),
            ..self
        })
    }
}

/// Of the times of the programs of a run.
fn geometric_mean(run: &Run) -> f64 {
    run.programs.iter().map(|program| program.turnaround_s.unwrap_or(f64::NAN)).geometric_mean()
}

/// The number here that corresponds to a published one.
fn simulated(published: &Published, all: &[Ran<'_>]) -> Option<f64> {
    let ran = all.iter().find(|ran| ran.set.name == published.select.set)?;
    let cells = cells(&published.select, ran);
    let Some(policy) = &published.policy else {
        let per_cell = |cell: &(&Member, &str, Option<usize>)| policies_run(ran.runs, &cell.0.name, cell.1);
        return Some(cells.iter().map(per_cell).sum::<usize>() as f64);
    };
    let mut groups: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for (member, machine, program) in cells {
        let cluster = published.select.cluster.as_deref();
        let arm = Arm { ran, workload: &member.name, machine, policy, program, cluster };
        let mut value = arm.value(published.metric)?;
        if let Some(baseline) = &published.baseline {
            value /= arm.baseline(baseline, all)?.value(published.metric)?;
        }
        let class = if published.equal_classes { member.class() } else { "" };
        groups.entry((machine, class)).or_default().push(value);
    }
    let mut by_machine: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ((machine, _), values) in groups {
        let values = if published.equal_classes { vec![average(published, &values)?] } else { values };
        by_machine.entry(machine).or_default().extend(values);
    }
    let effect = published.baseline.is_some() && published.compare == Compare::Effect;
    aggregate(published, by_machine).map(|value| if effect { value - 1.0 } else { value })
}

/// The mean of a row's kind: of ratios the geometric one, if the paper says so.
fn average(published: &Published, values: &[f64]) -> Option<f64> {
    match published.aggregate {
        Aggregate::Geomean => Some(values.geometric_mean()),
        _ => mean(values.iter().copied()),
    }
}

/// What the values of all cells, by machine, come to.
fn aggregate(published: &Published, by_machine: BTreeMap<&str, Vec<f64>>) -> Option<f64> {
    let means = || by_machine.values().filter_map(|values| mean(values.iter().copied()));
    let mut all: Vec<f64> = by_machine.values().flatten().copied().collect();
    match published.aggregate {
        Aggregate::Mean | Aggregate::Geomean => average(published, &all),
        Aggregate::Median => {
            all.sort_by(f64::total_cmp);
            let middle = all.len() / 2;
            let upper = all.get(middle).copied()?;
            Some(if all.len().is_multiple_of(2) { (all[middle - 1] + upper) / 2.0 } else { upper })
        }
        Aggregate::Largest => all.into_iter().reduce(f64::max),
        Aggregate::ThirdLargest => {
            all.sort_by(|a, b| b.total_cmp(a));
            all.get(2).copied()
        }
        Aggregate::Smallest => all.into_iter().reduce(f64::min),
        Aggregate::Best | Aggregate::Worst => {
            let most = published.metric.more_is_better() == (published.aggregate == Aggregate::Best);
            means().reduce(if most { f64::max } else { f64::min })
        }
    }
}

/// The workloads, machines and programs that a row is about.
fn cells<'a>(select: &Selector, ran: &'a Ran<'_>) -> Vec<(&'a Member, &'a str, Option<usize>)> {
    let largest = ran.cores.iter().copied().max().unwrap_or(0);
    let mut cells = Vec::new();
    for (machine, cores) in ran.set.machines.iter().zip(&ran.cores) {
        for member in &ran.set.workloads {
            let run = ran.runs.iter().find(|run| run.workload == member.name);
            let threads_fit = |class: Threads| match (class, member.threads) {
                (Threads::Few, Some(threads)) => threads < *cores,
                (Threads::Many, Some(threads)) => threads >= 2 * largest,
                (_, None) => false,
            };
            let fits = select.class.as_ref().is_none_or(|class| member.is(class))
                && select.workload.as_ref().is_none_or(|workload| *workload == member.called())
                && select.machine.as_ref().is_none_or(|wanted| wanted == machine)
                && select.threads.is_none_or(threads_fit)
                && select.programs.is_none_or(|wanted| run.map(|run| run.programs.len()) == Some(wanted));
            match &select.program {
                _ if !fits => {}
                None => cells.push((member, machine.as_str(), None)),
                Some(name) => {
                    let programs = run.map_or(&[][..], |run| &run.programs).iter().enumerate();
                    let wanted = |index: usize, program: &str| match name.as_str() {
                        "*" => true,
                        "first" => index == 0,
                        "others" => index > 0,
                        name => program == name,
                    };
                    let wanted = programs.filter(|(index, program)| wanted(*index, &program.name));
                    cells.extend(wanted.map(|(index, _)| (member, machine.as_str(), Some(index))));
                }
            }
        }
    }
    cells
}

/// How many policies ran a workload on a machine.
fn policies_run(runs: &[Run], workload: &str, machine: &str) -> usize {
    let of_cell = runs.iter().filter(|run| run.workload == workload && run.machine == machine);
    let names: BTreeSet<&str> = of_cell.map(|run| run.policy.as_str()).collect();
    names.len()
}

/// The effect of a policy on a workload: its value against that of another policy.
pub fn effect(
    ran: &Ran<'_>,
    workload: &str,
    machine: &str,
    metric: Metric,
    policy: &str,
    baseline: &str,
) -> Option<f64> {
    let value = |policy: &str| value(ran, workload, machine, metric, policy);
    Some(value(policy)? / value(baseline)? - 1.0)
}

/// The value of a workload on a machine under a policy.
pub fn value(ran: &Ran<'_>, workload: &str, machine: &str, metric: Metric, policy: &str) -> Option<f64> {
    Arm { ran, workload, machine, policy, program: None, cluster: None }.value(metric)
}

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Metrics, Program};

    fn run(workload: &str, programs: usize, machine: &str, policy: &str, order: &'static str, h_antt: f64) -> Run {
        let program = Program { name: "p".into(), turnaround_s: Some(1.0) };
        let metrics = Metrics { h_antt, h_stp: 1.0 / h_antt, ..Metrics::zero() };
        Run {
            workload: workload.into(),
            machine: machine.into(),
            policy: policy.into(),
            order,
            seed: 1,
            metrics,
            programs: vec![program; programs],
            clusters: Vec::new(),
            measures: Vec::new(),
        }
    }

    /// Every cell of the bundled experiment, with H_ANTT chosen by the test.
    fn evaluate(h_antt: impl Fn(&Member, &str, &str, &str) -> f64) -> Vec<(String, Option<f64>, Verdict)> {
        let experiment = &Experiment::by_name("colab").unwrap()[0];
        let runs: Vec<Vec<Run>> = experiment
            .sets
            .iter()
            .map(|set| {
                let mut runs = Vec::new();
                for member in &set.workloads {
                    for machine in &set.machines {
                        for policy in &experiment.policies {
                            for order in ["big-first", "little-first"] {
                                let value = h_antt(member, machine, policy, order);
                                runs.push(run(&member.name, 2, machine, policy, order, value));
                            }
                        }
                    }
                }
                runs
            })
            .collect();
        let cores = |set: &Set| {
            set.machines
                .iter()
                .map(|name| match name.as_str() {
                    "2B2S" => 4,
                    "4B4S" => 8,
                    _ => 6,
                })
                .collect()
        };
        let ran: Vec<Ran<'_>> = experiment
            .sets
            .iter()
            .zip(&runs)
            .map(|(set, runs)| Ran {
                set,
                policies: &experiment.policies,
                runs,
                cores: cores(set),
                capacity: Vec::new(),
            })
            .collect();
        rows(experiment, &ran).into_iter().map(|row| (row.row.id, row.row.simulated, row.verdict)).collect()
    }

    fn find(rows: &[(String, Option<f64>, Verdict)], id: &str) -> (f64, Verdict) {
        let (_, value, verdict) = rows.iter().find(|row| row.0 == id).unwrap();
        (value.unwrap(), *verdict)
    }

    #[test]
    fn core_orders_are_averaged_before_policies_are_compared() {
        // COLAB: 1 and 2, mean 1.5; CFS: 1 and 3, mean 2. The mean of the ratios would be 0.83.
        let rows = evaluate(|_, _, policy, order| match (policy, order) {
            (_, "big-first") => 1.0,
            ("colab", _) => 2.0,
            _ => 3.0,
        });
        let (value, verdict) = find(&rows, "all-antt-colab-vs-cfs");
        assert!((value - (1.5 / 2.0 - 1.0)).abs() < 1e-12, "{value}");
        assert_eq!(verdict, Verdict::Sign);
    }

    #[test]
    fn selectors_leave_what_they_name() {
        let rows = evaluate(|member, machine, policy, _| match (policy, member.class(), machine) {
            ("colab", "Sync", "2B2S") => 0.8,
            ("colab", "Sync", _) => 0.9,
            ("colab", _, _) => 2.0,
            _ => 1.0,
        });
        assert!((find(&rows, "sync-2b2s-antt-colab-vs-cfs").0 + 0.2).abs() < 1e-12);
        assert!((find(&rows, "sync-antt-colab-vs-cfs").0 + 0.125).abs() < 1e-12);
        assert_eq!(find(&rows, "comp-antt-colab-vs-cfs"), (1.0, Verdict::Miss));
        assert_eq!(find(&rows, "experiments"), (312.0, Verdict::Close));
    }

    /// Two workloads of one class at half, one of another at a twentieth more.
    #[test]
    fn classes_can_count_the_same_however_many_workloads_they_have() {
        let member = |name: &str, class: &str| format!("{{ name = \"{name}\", classes = [\"{class}\"] }}");
        let members = [member("a", "x"), member("b", "x"), member("c", "y")].join(", ");
        let select = "select = { set = \"s\" }\nmetric = \"time\"\nbaseline = \"old\"\naggregate = \"geomean\"";
        let rows_of_the_file = row(0.0, select) + &row(0.0, &format!("{select}\nequal_classes = true"));
        let text = format!(
            "name = \"x\"\ntitle = \"x\"\npolicies = [\"old\", \"new\"]\nseed = 1\n\
             set = [{{ name = \"s\", machines = [\"m\"], workloads = [{members}] }}]\n{rows_of_the_file}"
        );
        let experiment = Experiment::parse(&text).unwrap();
        let timed = |(workload, policy, makespan_s)| {
            let run = run(workload, 1, "m", policy, "declared", 1.0);
            Run { metrics: Metrics { makespan_s, ..run.metrics }, ..run }
        };
        let times = [("a", "new", 0.5), ("b", "new", 0.5), ("c", "new", 1.05)];
        let old = ["a", "b", "c"].map(|workload| (workload, "old", 1.0));
        let runs: Vec<Run> = times.into_iter().chain(old).map(timed).collect();
        let (set, policies) = (&experiment.sets[0], &experiment.policies);
        let ran = [Ran { set, policies, runs: &runs, cores: vec![2], capacity: vec![1.0] }];
        let values: Vec<f64> = rows(&experiment, &ran).iter().map(|row| row.row.simulated.unwrap()).collect();
        let expected = [f64::cbrt(0.25 * 1.05) - 1.0, f64::sqrt(0.5 * 1.05) - 1.0];
        assert!(values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12), "{values:?}");
    }

    #[test]
    fn thread_classes_are_those_of_figure_8() {
        // Few: 4 threads on 6 and 8 cores, Rand-5 with 6 threads on 8. Many: 16 threads or more, on every machine.
        let rows = evaluate(|member, machine, policy, _| match (policy, member.threads.unwrap_or(0), machine) {
            ("colab", 4, "2B4S" | "4B2S" | "4B4S") | ("colab", 6, "4B4S") => 0.5,
            ("colab", 16.., _) => 0.98,
            ("colab", _, _) => 3.0,
            _ => 1.0,
        });
        assert!((find(&rows, "few-threads-antt-colab-vs-cfs").0 + 0.5).abs() < 1e-12);
        assert!((find(&rows, "many-threads-antt-colab-vs-cfs").0 + 0.02).abs() < 1e-12);
    }

    #[test]
    fn best_is_the_best_machine_and_not_the_best_workload() {
        let rows = evaluate(|member, machine, policy, _| match (policy, machine, member.name.as_str()) {
            ("colab", "2B4S", _) => 0.75,
            ("colab", "4B4S", "Sync-1") => 0.1,
            _ => 1.0,
        });
        // 4B4S: one workload of five at 0.1 is a mean of 0.82.
        assert!((find(&rows, "best-antt-colab-vs-cfs").0 + 0.25).abs() < 1e-12);
    }

    #[test]
    fn bounds_judge_by_their_side() {
        let rows = evaluate(|_, _, policy, _| if policy == "colab" { 0.99 } else { 1.0 });
        assert_eq!(find(&rows, "many-threads-antt-colab-vs-cfs").1, Verdict::Close, "1 % is less than 2 %");
        assert_eq!(find(&rows, "2-programs-antt-colab-vs-cfs").1, Verdict::Sign, "1 % is not more than 10 %");
        assert_eq!(find(&rows, "2-programs-antt-wash-vs-cfs").1, Verdict::Miss, "no effect has no sign");
    }

    /// Two sets with another form of the same program: the baseline is on another machine, in another set.
    #[test]
    fn baselines_may_be_elsewhere() {
        let text = r#"
            name = "x"
            title = "x"
            policies = ["cfs"]
            seed = 1
            set = [
                { name = "threads", machines = ["4B"], workloads = [{ name = "a" }, { name = "b" }] },
                { name = "tasks", machines = ["4B4S"], workloads = [{ name = "a-task", as = "a" }, { name = "b-task", as = "b" }] },
            ]
            [[row]]
            id = "ratio"
            what = ""
            published = 2.0
            source = ""
            kind = "result"
            select = { set = "tasks" }
            metric = "performance"
            policy = "cfs"
            baseline = { set = "threads", machine = "4B" }
            compare = "ratio"
            aggregate = "geomean"
        "#;
        let experiment = Experiment::parse(text).unwrap();
        let timed = |workload: &str, machine: &str, makespan_s: f64| {
            let run = run(workload, 1, machine, "cfs", "declared", 1.0);
            Run { metrics: Metrics { makespan_s, ..run.metrics }, ..run }
        };
        let threads = [timed("a", "4B", 4.0), timed("b", "4B", 3.0)];
        let tasks = [timed("a-task", "4B4S", 1.0), timed("b-task", "4B4S", 3.0)];
        let ran: Vec<Ran<'_>> = experiment
            .sets
            .iter()
            .zip([&threads, &tasks])
            .map(|(set, runs)| Ran { set, policies: &experiment.policies, runs, cores: vec![4], capacity: vec![8.0] })
            .collect();
        let rows = rows(&experiment, &ran);
        assert!((rows[0].row.simulated.unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(rows[0].verdict, Verdict::Close);
    }

    /// One workload of two programs, with the times of each in each of two runs, under `old` and `new`.
    fn of_two(rows_of_the_file: &str, times: [[[f64; 2]; 2]; 2]) -> Vec<(f64, Verdict)> {
        let text = format!(
            r#"
            name = "x"
            title = "x"
            policies = ["old", "new"]
            seed = 1
            set = [{{ name = "s", machines = ["m"], workloads = [{{ name = "w" }}] }}]
            {rows_of_the_file}"#
        );
        let experiment = Experiment::parse(&text).unwrap();
        let mut runs = Vec::new();
        for (policy, times) in ["old", "new"].into_iter().zip(times) {
            for times in times {
                let programs =
                    times.map(|time| Program { name: "p".into(), turnaround_s: Some(time) }).into_iter().collect();
                runs.push(Run { programs, ..run("w", 2, "m", policy, "declared", 1.0) });
            }
        }
        let ran = [Ran {
            set: &experiment.sets[0],
            policies: &experiment.policies,
            runs: &runs,
            cores: vec![2],
            capacity: vec![1.0],
        }];
        rows(&experiment, &ran).iter().map(|row| (row.row.simulated.unwrap(), row.verdict)).collect()
    }

    fn row(published: f64, rest: &str) -> String {
        let fixed = r#"what = "", source = "", kind = "result", policy = "new""#.replace(", ", "\n");
        format!("[[row]]\nid = \"r\"\npublished = {published:?}\n{fixed}\n{rest}\n")
    }

    #[test]
    fn programs_are_averaged_geometrically_and_picked_by_name_or_place() {
        let times = [[[1.0, 16.0], [1.0, 16.0]], [[2.0, 2.0], [2.0, 6.0]]];
        let mean = row(0.0, "select = { set = \"s\" }\nmetric = \"mean_performance\"\nbaseline = \"old\"");
        let second =
            row(3.0, "select = { set = \"s\", program = \"others\" }\nmetric = \"performance\"\nbaseline = \"old\"");
        let gap = row(2.0, "select = { set = \"s\", program = \"*\" }\nmetric = \"gap\"\naggregate = \"largest\"");
        let values = of_two(&(mean + &second + &gap), times);
        let expected = [4.0 / ((2.0 + f64::sqrt(12.0)) / 2.0) - 1.0, 16.0 / 4.0 - 1.0, 6.0 / 2.0 - 1.0];
        for ((value, _), expected) in values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-12, "{value}, {expected}");
        }
    }

    #[test]
    fn nothing_is_below_every_limit_and_a_gain_is_no_loss() {
        let judged = |published, bound: &str, new: f64| {
            let select = "select = { set = \"s\" }\nmetric = \"mean_performance\"\nbaseline = \"old\"";
            let text = row(published, &format!("{select}\nbound = \"{bound}\""));
            of_two(&text, [[[1.0; 2]; 2], [[1.0 / new; 2]; 2]])[0].1
        };
        assert_eq!(judged(0.01, "below", 1.0), Verdict::Close);
        assert_eq!(judged(0.01, "below", 1.02), Verdict::Sign);
        assert_eq!(judged(0.0, "above", 1.1), Verdict::Close);
        assert_eq!(judged(0.0, "above", 0.9), Verdict::Miss);
    }
}

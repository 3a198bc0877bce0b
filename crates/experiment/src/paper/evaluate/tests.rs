//! Published numbers from samples whose values the test chooses.

use evenkeel_model::{CoreOrder, Joules, Ns, ThreadKind};
use evenkeel_sim::{Ended, Latency};

use crate::paper::file::Set;
use crate::paper::sample::{Measured, Sample};
use crate::run::{Measurement, ProgramTime, Run, ThreadTime};

use super::*;

/// A sample whose programs, each of which took a second, were slowed down so much.
fn sample(workload: &str, programs: usize, machine: &str, policy: &str, h_antt: f64) -> Sample {
    timed(workload, machine, policy, 1.0, vec![1.0; programs], h_antt)
}

/// A sample that took so many seconds, with programs that took so many.
fn timed(workload: &str, machine: &str, policy: &str, makespan: f64, programs: Vec<f64>, h_antt: f64) -> Sample {
    let ns = |seconds: f64| Ns((seconds * 1e9).round() as u64);
    let program = |seconds| ProgramTime { name: "p".into(), turnaround: Some(ns(seconds)) };
    Sample::from(Run {
        workload: workload.into(),
        machine: machine.into(),
        policy: policy.into(),
        order: CoreOrder::Declared,
        seed: 1,
        ended: Ended::Finished,
        measurement: Measurement {
            makespan: ns(makespan),
            h_antt,
            h_stp: 1.0 / h_antt,
            energy: Joules(0.0),
            migrations: 0,
            context_switches: 0,
            preemptions: 0,
            wakeups: Latency::default(),
            missed_timers: 0,
            stale_answers: 0,
            finished_programs: 0,
        },
        programs: programs.into_iter().map(program).collect(),
        threads: Vec::new(),
        clusters: Vec::new(),
        cores: Vec::new(),
        drawn: true,
        events: 0,
    })
}

/// A set of an experiment with these samples, on machines of so many cores.
fn ran(experiment: &Experiment, set: &Set, samples: Vec<Sample>, cores: Vec<u32>) -> Ran {
    let capacity = cores.iter().map(|cores| f64::from(*cores)).collect();
    Ran { set: set.clone(), policies: experiment.policies.clone(), samples, cores, capacity }
}

/// Every cell of the bundled experiment, with H_ANTT chosen by the test.
fn evaluate(h_antt: impl Fn(&Member, &str, &str, &str) -> f64) -> Vec<(String, Option<f64>, Verdict)> {
    let experiment = &Experiment::by_name("colab").unwrap()[0];
    let cores = |name: &String| match name.as_str() {
        "2B2S" => 4,
        "4B4S" => 8,
        _ => 6,
    };
    let of_set = |set: &Set| {
        let mut samples = Vec::new();
        for member in &set.workloads {
            for machine in &set.machines {
                for policy in &experiment.policies {
                    for order in ["big-first", "little-first"] {
                        let value = h_antt(member, machine, policy, order);
                        samples.push(sample(&member.name, 2, machine, policy, value));
                    }
                }
            }
        }
        ran(experiment, set, samples, set.machines.iter().map(cores).collect())
    };
    let ran: Vec<Ran> = experiment.sets.iter().map(of_set).collect();
    rows(experiment, &ran).into_iter().map(|row| (row.published.id, row.simulated, row.verdict)).collect()
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
        ("colab:own", _) => 2.0,
        _ => 3.0,
    });
    let (value, verdict) = find(&rows, "all-antt-colab-vs-cfs");
    assert!((value - (1.5 / 2.0 - 1.0)).abs() < 1e-12, "{value}");
    assert_eq!(verdict, Verdict::Sign);
}

#[test]
fn selectors_leave_what_they_name() {
    let rows = evaluate(|member, machine, policy, _| match (policy, member.class(), machine) {
        ("colab:own", "Sync", "2B2S") => 0.8,
        ("colab:own", "Sync", _) => 0.9,
        ("colab:own", _, _) => 2.0,
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
    let times = [("a", "new", 0.5), ("b", "new", 0.5), ("c", "new", 1.05)];
    let old = ["a", "b", "c"].map(|workload| (workload, "old", 1.0));
    let all = times.into_iter().chain(old);
    let samples = all.map(|(workload, policy, seconds)| timed(workload, "m", policy, seconds, vec![seconds], 1.0));
    let ran = [ran(&experiment, &experiment.sets[0], samples.collect(), vec![2])];
    let values: Vec<f64> = rows(&experiment, &ran).iter().map(|row| row.simulated.unwrap()).collect();
    let expected = [f64::cbrt(0.25 * 1.05) - 1.0, f64::sqrt(0.5 * 1.05) - 1.0];
    assert!(values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12), "{values:?}");
}

/// 2 and 8 s against 1 and 8: half more in the mean of both, a ninth more in the mean time, and a third in units of 1 and 4 s.
#[test]
fn averages_can_be_taken_before_they_are_compared() {
    let select = "select = { set = \"s\" }\nmetric = \"time\"\nbaseline = \"old\"";
    let of_means = format!("{select}\naggregate = \"of-means\"");
    let in_unit = format!("{of_means}\nunit = \"unit\"");
    let text = format!(
        "name = \"x\"\ntitle = \"x\"\npolicies = [\"unit\", \"old\", \"new\"]\nseed = 1\n\
         set = [{{ name = \"s\", machines = [\"m\"], workloads = [{{ name = \"a\" }}, {{ name = \"b\" }}] }}]\n{}{}{}",
        row(0.0, select),
        row(0.0, &of_means),
        row(0.0, &in_unit),
    );
    let experiment = Experiment::parse(&text).unwrap();
    let times = [("unit", [1.0, 4.0]), ("old", [1.0, 8.0]), ("new", [2.0, 8.0])];
    let samples = times.into_iter().flat_map(|(policy, [a, b])| {
        [("a", a), ("b", b)].map(|(workload, seconds)| timed(workload, "m", policy, seconds, vec![seconds], 1.0))
    });
    let ran = [ran(&experiment, &experiment.sets[0], samples.collect(), vec![2])];
    let values: Vec<f64> = rows(&experiment, &ran).iter().map(|row| row.simulated.unwrap()).collect();
    let expected = [0.5, 10.0 / 9.0 - 1.0, 4.0 / 3.0 - 1.0];
    assert!(values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12), "{values:?}");
}

/// What a row makes of workloads that take so many times as long.
fn aggregated(aggregate: &str, ratios: &[f64]) -> f64 {
    let names: Vec<String> = (0..ratios.len()).map(|place| format!("w{place}")).collect();
    let members: Vec<String> = names.iter().map(|name| format!("{{ name = \"{name}\" }}")).collect();
    let select = "select = { set = \"s\" }\nmetric = \"time\"\nbaseline = \"old\"";
    let text = format!(
        "name = \"x\"\ntitle = \"x\"\npolicies = [\"old\", \"new\"]\nseed = 1\n\
         set = [{{ name = \"s\", machines = [\"m\"], workloads = [{}] }}]\n{}",
        members.join(", "),
        row(0.0, &format!("{select}\naggregate = \"{aggregate}\"")),
    );
    let experiment = Experiment::parse(&text).unwrap();
    let samples = names.iter().zip(ratios).flat_map(|(name, &ratio)| {
        [("old", 1.0), ("new", ratio)].map(|(policy, seconds)| timed(name, "m", policy, seconds, vec![seconds], 1.0))
    });
    let ran = [ran(&experiment, &experiment.sets[0], samples.collect(), vec![2])];
    rows(&experiment, &ran)[0].simulated.unwrap()
}

#[test]
fn five_of_eight_are_below_the_fourth_largest() {
    let ratios = [1.0, 1.05, 1.0, 1.018, 1.0, 1.08, 1.0, 1.03];
    assert!((aggregated("fourth-largest", &ratios) - 0.018).abs() < 1e-9, "the middle one would be half of it");
}

#[test]
fn two_of_three_are_as_near_as_the_second_farthest_whichever_way() {
    for (ratios, expected) in [([1.10, 1.0, 0.91], -0.09), ([1.02, 0.8, 1.03], 0.03)] {
        let value = aggregated("second-farthest", &ratios);
        assert!((value - expected).abs() < 1e-9, "{value} of {ratios:?}");
    }
}

/// With three seeds 0.5, 0.55 and 0.6 of the baseline, whose own time doubles each time; by hand from logarithms, with Student's 4.303.
#[test]
fn effects_and_ratios_have_intervals_and_amounts_and_what_is_picked_out_have_none() {
    let of = |rest: &str| row(0.0, &format!("select = {{ set = \"s\" }}\nmetric = \"time\"\n{rest}"));
    let text = format!(
        "name = \"x\"\ntitle = \"x\"\npolicies = [\"old\", \"new\"]\nseed = 1\n\
         set = [{{ name = \"s\", machines = [\"m\"], workloads = [{{ name = \"w\" }}] }}]\n{}{}{}{}",
        of("baseline = \"old\""),
        of("baseline = \"old\"\ncompare = \"ratio\""),
        of("baseline = \"old\"\naggregate = \"largest\""),
        of(""),
    );
    let experiment = Experiment::parse(&text).unwrap();
    let run = |seed, policy, seconds| Sample { seed, ..timed("w", "m", policy, seconds, vec![seconds], 1.0) };
    let seeds = (1..).zip([(1.0, 0.5), (2.0, 1.1), (4.0, 2.4)]);
    let samples: Vec<Sample> =
        seeds.flat_map(|(seed, (old, new))| [run(seed, "old", old), run(seed, "new", new)]).collect();
    let all = |samples| rows(&experiment, &[ran(&experiment, &experiment.sets[0], samples, vec![2])]);
    let found: Vec<_> = all(samples.clone()).iter().map(|row| row.interval).collect();
    let is = |found: Option<(f64, f64)>, expected: (f64, f64)| {
        found.is_some_and(|(low, high)| (low - expected.0).abs() < 1e-3 && (high - expected.1).abs() < 1e-3)
    };
    assert!(is(found[0], (-0.5627, -0.3121)) && is(found[1], (0.4373, 0.6879)), "{found:?}");
    assert!(found[2..].iter().all(Option::is_none), "{found:?}");
    let one = samples.into_iter().filter(|sample| sample.seed == 1).collect();
    assert!(all(one).iter().all(|row| row.simulated.is_some() && row.interval.is_none()));
}

/// Two runs of 1 and 3 s: a sample's deviation, which is 2^0.5 and not 1.
#[test]
fn times_scatter_as_those_of_a_sample() {
    let text = row(0.0, "select = { set = \"s\", program = \"first\" }\nmetric = \"spread\"");
    let (spread, _) = of_two(&text, [[[1.0; 2]; 2], [[1.0; 2], [3.0; 2]]])[0];
    assert!((spread - f64::sqrt(2.0) / 2.0).abs() < 1e-12, "{spread}");
}

#[test]
fn thread_classes_are_those_of_figure_8() {
    // Few: 4 threads on 6 and 8 cores, Rand-5 with 6 threads on 8. Many: 16 threads or more, on every machine.
    let rows = evaluate(|member, machine, policy, _| match (policy, member.threads.unwrap_or(0), machine) {
        ("colab:own", 4, "2B4S" | "4B2S" | "4B4S") | ("colab:own", 6, "4B4S") => 0.5,
        ("colab:own", 16.., _) => 0.98,
        ("colab:own", _, _) => 3.0,
        _ => 1.0,
    });
    assert!((find(&rows, "few-threads-antt-colab-vs-cfs").0 + 0.5).abs() < 1e-12);
    assert!((find(&rows, "many-threads-antt-colab-vs-cfs").0 + 0.02).abs() < 1e-12);
}

#[test]
fn best_is_the_best_machine_and_not_the_best_workload() {
    let rows = evaluate(|member, machine, policy, _| match (policy, machine, member.name.as_str()) {
        ("colab:own", "2B4S", _) => 0.75,
        ("colab:own", "4B4S", "Sync-1") => 0.1,
        _ => 1.0,
    });
    // 4B4S: one workload of five at 0.1 is a mean of 0.82.
    assert!((find(&rows, "best-antt-colab-vs-cfs").0 + 0.25).abs() < 1e-12);
}

#[test]
fn bounds_judge_by_their_side() {
    let rows = evaluate(|_, _, policy, _| if policy == "colab:own" { 0.99 } else { 1.0 });
    assert_eq!(find(&rows, "many-threads-antt-colab-vs-cfs").1, Verdict::Close, "1 % is less than 2 %");
    assert_eq!(find(&rows, "2-programs-antt-colab-vs-cfs").1, Verdict::Miss, "1 % is far from more than 10 %");
    assert_eq!(find(&rows, "2-programs-antt-wash-vs-cfs").1, Verdict::Miss, "no effect has no sign");
    let rows = evaluate(|_, _, policy, _| if policy == "colab:own" { 0.95 } else { 1.0 });
    assert_eq!(find(&rows, "many-threads-antt-colab-vs-cfs").1, Verdict::Sign, "5 % is not less than 2 %");
    assert_eq!(find(&rows, "2-programs-antt-colab-vs-cfs").1, Verdict::Sign, "5 % is not more than 10 %");
    let rows = evaluate(|_, _, policy, _| if policy == "colab:own" { 0.92 } else { 1.0 });
    assert_eq!(find(&rows, "many-threads-antt-colab-vs-cfs").1, Verdict::Miss, "8 % is far from less than 2 %");
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
    let timed = |workload, machine, seconds| timed(workload, machine, "cfs", seconds, vec![seconds], 1.0);
    let threads = vec![timed("a", "4B", 4.0), timed("b", "4B", 3.0)];
    let tasks = vec![timed("a-task", "4B4S", 1.0), timed("b-task", "4B4S", 3.0)];
    let sets = experiment.sets.iter().zip([threads, tasks]);
    let ran: Vec<Ran> = sets.map(|(set, samples)| ran(&experiment, set, samples, vec![4])).collect();
    let rows = rows(&experiment, &ran);
    assert!((rows[0].simulated.unwrap() - 2.0).abs() < 1e-12);
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
    let mut samples = Vec::new();
    for (policy, times) in ["old", "new"].into_iter().zip(times) {
        samples.extend(times.map(|times| timed("w", "m", policy, 1.0, times.to_vec(), 1.0)));
    }
    let ran = [ran(&experiment, &experiment.sets[0], samples, vec![2])];
    rows(&experiment, &ran).iter().map(|row| (row.simulated.unwrap(), row.verdict)).collect()
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

/// Of two nodes one waits for a lock for half of its time and the other never; another thread runs as long as both, and a service longer.
#[test]
fn what_threads_did_is_told_of_groups_and_not_of_services() {
    let thread = |name: &str, kind, ran, waited, waited_for_locks| ThreadTime {
        program: 0,
        name: name.into(),
        kind,
        ran: Ns(ran),
        waited: Ns(waited),
        waited_for_locks: Ns(waited_for_locks),
    };
    let threads = vec![
        thread("node-0", ThreadKind::Application, 10, 20, 30),
        thread("node-1", ThreadKind::Application, 20, 0, 0),
        thread("nodes", ThreadKind::Application, 30, 0, 0),
        thread("idle", ThreadKind::Application, 0, 0, 0),
        thread("node-2", ThreadKind::Service, 500, 0, 500),
    ];
    let of =
        |groups: &str, metric: &str| row(0.0, &format!("select = {{ set = \"s\"{groups} }}\nmetric = \"{metric}\""));
    let nodes = ", groups = [\"node\"]";
    let text = format!(
        "name = \"x\"\ntitle = \"x\"\npolicies = [\"new\"]\nseed = 1\n\
         set = [{{ name = \"s\", machines = [\"m\"], workloads = [{{ name = \"w\" }}] }}]\n{}{}{}{}",
        of(nodes, "lock_waiting"),
        of(nodes, "cycles"),
        of("", "lock_waiting"),
        of(", groups = [\"nodes\", \"node\"]", "cycles"),
    );
    let experiment = Experiment::parse(&text).unwrap();
    let mut sample = sample("w", 1, "m", "new", 1.0);
    if let Measured::Run(run) = &mut sample.measured {
        run.threads = threads;
    }
    let ran = [ran(&experiment, &experiment.sets[0], vec![sample], vec![2])];
    let values: Vec<f64> = rows(&experiment, &ran).iter().map(|row| row.simulated.unwrap()).collect();
    let expected = [0.25, 0.5, 0.5 / 3.0, 1.0];
    assert!(values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12), "{values:?}");
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

//! scratch
mod common;
use common::random::random_workload;
use common::{compute, machine, play, program, thread, with_costs, workload};
use evenkeel_sim::Options;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

#[test]
fn scratch() {
    let mut runner = TestRunner::deterministic();
    let strategy = (random_workload(), 1..4u16, 0..4u16, any::<bool>());
    let mut worst = Vec::new();
    for i in 0..2000 {
        let ((w, _), big, little, costly) = strategy.new_tree(&mut runner).unwrap().current();
        let m = if costly { with_costs(machine(big, little)) } else { machine(big, little) };
        let options = Options::default();
        let ms = |name: &str| play(&m, &w, name, &options).unwrap().makespan.0 as f64 / 1e6;
        let oracle = ms("oracle");
        let (best, name) = common::policies().filter(|n| *n != "oracle").map(|n| (ms(n), n)).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        worst.push((oracle / best, oracle - best, oracle, best, name, m.name.clone(), w.programs.len(), w.programs[0].threads.len(), i));
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mean = worst.iter().map(|w| w.0.ln()).sum::<f64>() / worst.len() as f64;
    println!("geomean {} ", mean.exp());
    for w in worst.iter().take(15) { println!("{w:?}"); }
    for q in [100, 200, 400, 1000] { println!("{q} {:?}", worst[q]); }
    // independent
    let strategy = (prop::collection::vec(1..80u64, 1..12), 1..4u16, 0..4u16);
    let mut worst = Vec::new();
    for _ in 0..1000 {
        let (work, big, little) = strategy.new_tree(&mut runner).unwrap().current();
        let m = machine(big, little);
        let threads = work.iter().enumerate().map(|(i, ms)| thread(&format!("t{i}"), vec![compute(*ms)])).collect();
        let w = workload(vec![program("p", threads)]);
        let oracle = play(&m, &w, "oracle", &Options::default()).unwrap().makespan.0 as f64 / 1e6;
        // Horvath, Lam and Sethi: the optimum on uniform cores.
        let mut sorted = work.clone(); sorted.sort_by(|a, b| b.cmp(a));
        let speeds: Vec<f64> = (0..big).map(|_| 2.0).chain((0..little).map(|_| 1.0)).collect();
        let mut ideal = sorted.iter().sum::<u64>() as f64 / speeds.iter().sum::<f64>();
        for k in 1..=sorted.len().min(speeds.len()) {
            ideal = ideal.max(sorted[..k].iter().sum::<u64>() as f64 / speeds[..k].iter().sum::<f64>());
        }
        worst.push((oracle - ideal, oracle, ideal, work, m.name.clone()));
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    for w in worst.iter().take(12) { println!("{w:?}"); }
    for q in [100, 200, 400] { println!("{q} {:?}", worst[q]); }
}

#[test]
fn body() {
    let m = evenkeel_model::machines::by_name("2B4S").unwrap();
    let w = evenkeel_workload::by_name("bodytrack").unwrap();
    for name in ["pfs", "colab", "oracle"] {
        let o = play(&m, &w, name, &Options { oracle: true, ..Options::default() }).unwrap();
        println!("{name} {} {:?}", o.makespan, o.cores.iter().map(|c| c.busy.0 / 1000000).collect::<Vec<_>>());
        for t in &o.threads { println!("   {} {:?} waited {} blame {} migr {} ", t.name, t.on_type, t.waited, t.blame, t.migrations); }
    }
}

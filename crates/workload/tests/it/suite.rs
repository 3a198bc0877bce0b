//! The suite and the mixes against the tables of the COLAB paper.

use evenkeel_model::{
    Behaviour, Cluster, ClusterId, Core, CoreSet, CoreType, CoreTypeId, Costs, Hz, Machine, Ns, Opp, Volts,
};
use evenkeel_workload::format::Level::{self, High, Low, Medium, VeryHigh};
use evenkeel_workload::{by_name, mix, suite, validate};

/// COLAB, Table 3.
const TABLE_3: [(&str, Level, Level); 15] = [
    ("blackscholes", Low, High),
    ("bodytrack", Medium, High),
    ("dedup", Medium, High),
    ("ferret", High, Medium),
    ("fluidanimate", VeryHigh, Low),
    ("freqmine", High, High),
    ("swaptions", Low, Low),
    ("radix", Low, High),
    ("lu_ncb", Low, Low),
    ("lu_cb", Low, Low),
    ("ocean_cp", Low, Low),
    ("water_nsquared", Medium, Medium),
    ("water_spatial", Low, Low),
    ("fmm", Medium, Low),
    ("fft", Low, High),
];

/// COLAB, Table 4.
const TABLE_4: [(&str, &str, u32); 26] = [
    ("Sync-1", "water_nsquared fmm", 4),
    ("Sync-2", "dedup fluidanimate", 18),
    ("Sync-3", "water_nsquared fmm fluidanimate bodytrack", 9),
    ("Sync-4", "dedup ferret fmm water_nsquared", 20),
    ("NSync-1", "water_spatial lu_cb", 4),
    ("NSync-2", "blackscholes swaptions", 16),
    ("NSync-3", "radix fft water_spatial lu_cb", 8),
    ("NSync-4", "blackscholes ocean_cp lu_ncb swaptions", 20),
    ("Comm-1", "water_nsquared blackscholes", 4),
    ("Comm-2", "ferret dedup", 16),
    ("Comm-3", "water_nsquared fft radix bodytrack", 9),
    ("Comm-4", "blackscholes dedup ferret water_nsquared", 20),
    ("Comp-1", "water_spatial fmm", 4),
    ("Comp-2", "fluidanimate swaptions", 17),
    ("Comp-3", "lu_ncb fmm water_spatial lu_cb", 8),
    ("Comp-4", "fluidanimate ocean_cp lu_ncb swaptions", 20),
    ("Rand-1", "lu_cb dedup", 19),
    ("Rand-2", "lu_ncb bodytrack", 10),
    ("Rand-3", "ferret water_spatial", 9),
    ("Rand-4", "ocean_cp fft", 8),
    ("Rand-5", "freqmine water_nsquared", 6),
    ("Rand-6", "water_spatial fmm fft fluidanimate", 21),
    ("Rand-7", "fmm water_spatial ferret swaptions", 20),
    ("Rand-8", "water_spatial water_nsquared ferret freqmine", 17),
    ("Rand-9", "blackscholes bodytrack dedup fluidanimate", 55),
    ("Rand-10", "lu_cb lu_ncb bodytrack dedup", 53),
];

/// The thread parameters that a program takes, up to 16.
fn parameters(info: &suite::ProgramInfo) -> impl Iterator<Item = u32> + use<> {
    let least = if info.name == "swaptions" { 2 } else { 1 };
    least..=info.max_threads.unwrap_or(16)
}

/// Two core types in the manner of the Cortex-A57 at 2 GHz and the Cortex-A53 at 1.2 GHz (COLAB 5.1).
fn machine() -> Machine {
    let core_type = |name: &str, width, extract, overlap, mhz| CoreType {
        name: name.into(),
        width,
        extract,
        overlap,
        opps: vec![Opp { frequency: Hz::from_mhz(mhz), voltage: Volts(1.0) }],
        activity: 1.0,
        leakage: 0.1,
        idle_share: 0.1,
        smt: 1.0,
    };
    let cluster = |name: &str, id: u8| Cluster {
        name: name.into(),
        core_type: CoreTypeId(id),
        cores: CoreSet::first(2),
        node: 0,
        cache: id.into(),
        cache_mb: None,
        memory_gbps: None,
    };
    let core = |id: u8| Core { core_type: CoreTypeId(id), cluster: ClusterId(id.into()) };
    Machine {
        name: "2B2S".into(),
        description: String::new(),
        core_types: vec![core_type("big", 3.0, 0.9, 0.35, 2000), core_type("little", 2.0, 0.55, 0.1, 1200)],
        clusters: vec![cluster("big", 0), cluster("little", 1)],
        cores: vec![core(0), core(0), core(1), core(1)],
        siblings: Vec::new(),
        memory_gbps: None,
        costs: Costs {
            context_switch: Ns(2_000),
            process_switch: Ns::ZERO,
            wake: Ns::ZERO,
            take: Ns::ZERO,
            futex: Ns::ZERO,
            line_in_cluster: Ns::ZERO,
            line_across_clusters: Ns::ZERO,
            migrate_in_cluster: Ns(5_000),
            migrate_across_clusters: Ns(20_000),
            remote_memory: 1.0,
            dvfs_transition: Ns(100_000),
            tick: Ns(4_000_000),
        },
    }
}

#[test]
fn the_suite_is_table_3() {
    let ours: Vec<_> = suite::table_3().map(|p| (p.name, p.sync_rate.unwrap(), p.comm_comp.unwrap())).collect();
    assert_eq!(ours, TABLE_3);
    assert!(suite::programs().all(|program| program.source.contains("assumed") && !program.description.is_empty()));
}

#[test]
fn the_page_lists_the_programs_as_they_are() {
    let page = include_str!("../../../../docs/workloads.md");
    let (_, table) = page.split_once("| n alone | structure |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let mut programs = suite::table_3();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let info = programs.next().unwrap();
        let word = |level: Option<Level>| match level.unwrap() {
            Low => "low",
            Medium => "medium",
            High => "high",
            VeryHigh => "very high",
        };
        let n = info.default_threads;
        // "3n + 3", or "n, at most 2".
        let (formula, most) = cells[4].split_once(", at most ").unwrap_or((cells[4], ""));
        let (times, more) = formula.split_once('n').unwrap();
        let more = more.trim_start_matches([' ', '+']);
        let number = |text: &str, none| if text.is_empty() { none } else { text.parse::<u32>().unwrap() };
        let threads = number(times, 1) * n + number(more, 0);
        assert_eq!(info.max_threads, most.parse().ok(), "{row}");
        assert_eq!(suite::program(info.name, None).unwrap().threads.len(), threads as usize, "{row}");
        assert_eq!(
            cells[1..6],
            [info.name, word(info.sync_rate), word(info.comm_comp), cells[4], &n.to_string()],
            "docs/workloads.md"
        );
    }
    assert!(programs.next().is_none());
}

#[test]
fn sync_rates_fall_into_the_classes_of_table_3() {
    for (name, class, _) in TABLE_3 {
        let rate = suite::totals(name, None).unwrap().synchronisations_per_minst();
        println!("{name:15} {rate:8.3} per Minst");
        let range = match class {
            Low => 0.0..0.25,
            Medium => 0.4..1.3,
            High => 1.5..6.0,
            VeryHigh => 15.0..30.0,
        };
        assert!(range.contains(&rate), "{name}: {rate} operations per Minst, {class} is {range:?}");
    }
}

#[test]
fn communication_falls_into_the_classes_of_table_3() {
    for (name, _, class) in TABLE_3 {
        let rate = suite::totals(name, None).unwrap().exchange_ns_per_kinst();
        println!("{name:15} {rate:8.3} ns per kinst");
        let range = match class {
            Low => 0.0..20.0,
            Medium => 20.0..45.0,
            High | VeryHigh => 45.0..1000.0,
        };
        assert!(range.contains(&rate), "{name}: {rate} ns per kinst, {class} is {range:?}");
    }
}

#[test]
fn the_work_is_the_same_for_every_number_of_threads() {
    for info in suite::table_3() {
        let usual = suite::totals(info.name, None).unwrap().instructions;
        for n in parameters(&info) {
            let totals = suite::totals(info.name, Some(n)).unwrap();
            let off = (totals.instructions / usual - 1.0).abs();
            assert!(off < 1e-3, "{} with {n} threads does {off} more or less work", info.name);
            assert!(totals.operations < 300_000.0, "{} with {n}: {} operations", info.name, totals.operations);
        }
    }
}

#[test]
fn a_program_alone_takes_a_fraction_of_a_second_on_four_big_cores() {
    let machine = machine();
    let rate = |behaviour: &Behaviour| machine.rate(CoreTypeId(0), Hz::from_mhz(2000), behaviour);
    for info in suite::table_3() {
        let busy = suite::busy_ns(&suite::program(info.name, None).unwrap(), rate);
        let cores = f64::from(info.default_threads.min(4));
        let longest = busy.iter().copied().fold(busy.iter().sum::<f64>() / cores, f64::max);
        println!("{:15} {:6.1} ms at least", info.name, longest / 1e6);
        assert!((150e6..500e6).contains(&longest), "{}: {longest} ns", info.name);
    }
}

#[test]
fn threads_differ_in_what_a_big_core_gives_them() {
    let machine = machine();
    let speedup = |behaviour: &Behaviour| machine.speedup_over(CoreTypeId(1), behaviour);
    let all: Vec<f64> = suite::table_3()
        .flat_map(|info| suite::program(info.name, None).unwrap().phases)
        .map(|phase| speedup(&phase.behaviour))
        .collect();
    assert!(all.iter().copied().fold(f64::MAX, f64::min) < 1.9, "something must hardly gain: {all:?}");
    assert!(all.iter().copied().fold(0.0, f64::max) > 2.5, "something must gain much: {all:?}");

    // COLAB 5.2: "the bottleneck threads of swaptions are core insensitive while the non-bottleneck threads are core
    // sensitive".
    let swaptions = suite::program("swaptions", None).unwrap();
    let busy = suite::busy_ns(&swaptions, |b| machine.rate(CoreTypeId(0), Hz::from_mhz(2000), b));
    let thread = |name: &str| swaptions.threads.iter().position(|thread| thread.name.starts_with(name)).unwrap();
    assert!(busy[thread("bottleneck")] > 1.3 * busy[thread("worker")], "{busy:?}");
    let phase = |name: &str| &swaptions.phases.iter().find(|phase| phase.name == name).unwrap().behaviour;
    assert!(speedup(phase("long")) + 0.5 < speedup(phase("short")));
}

#[test]
fn the_slowest_stages_of_the_pipelines_are_those_that_the_papers_name() {
    let machine = machine();
    for (name, stage) in [("ferret", "rank"), ("dedup", "compress")] {
        let program = suite::program(name, None).unwrap();
        let busy = suite::busy_ns(&program, |b| machine.rate(CoreTypeId(0), Hz::from_mhz(2000), b));
        let slowest = (0..busy.len()).max_by(|a, b| busy[*a].total_cmp(&busy[*b])).unwrap();
        assert!(program.threads[slowest].name.starts_with(stage), "{name}: {}", program.threads[slowest].name);
    }
}

#[test]
fn every_program_validates_with_every_number_of_threads() {
    for info in suite::table_3() {
        for n in parameters(&info) {
            let program = suite::program(info.name, Some(n)).unwrap();
            assert_eq!(validate::program(&program), Ok(()));
            let n = n as usize;
            let expected = match info.name {
                "blackscholes" | "fluidanimate" | "swaptions" => n + 1,
                "bodytrack" => n + 2,
                "dedup" => 3 * n + 3,
                "ferret" => 4 * n + 3,
                _ => n,
            };
            assert_eq!(program.threads.len(), expected, "{} with n = {n}", info.name);
        }
    }
}

#[test]
fn the_mixes_are_table_4() {
    assert_eq!(mix::table_4().count(), TABLE_4.len());
    for (mix, (id, programs, threads)) in mix::table_4().zip(TABLE_4) {
        let workload = mix::workload(id).unwrap();
        let names: Vec<&str> = workload.programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!((mix.id.as_str(), mix.threads), (id, threads));
        assert_eq!(names.join(" "), programs, "{id}");
        let count: usize = workload.programs.iter().map(|program| program.threads.len()).sum();
        assert_eq!(count, threads as usize, "{id}");
        assert_eq!(validate::workload(&workload), Ok(()));
    }
}

#[test]
fn names_lead_to_workloads_and_mistakes_to_the_nearest_name() {
    assert_eq!(by_name("ferret").unwrap().programs[0].threads.len(), 19);
    let two = by_name("ferret:2").unwrap();
    assert_eq!((two.name.as_str(), two.programs[0].threads.len()), ("ferret:2", 11));
    assert_eq!(by_name("Sync-2").unwrap().programs.len(), 2);
    let pair: Vec<usize> = by_name("ferret:2+fft").unwrap().programs.iter().map(|p| p.threads.len()).collect();
    assert_eq!(pair, [11, 4]);
    let complaint = |name: &str| by_name(name).unwrap_err().to_string();
    assert_eq!(complaint("sync-2"), "unknown workload \"sync-2\": did you mean \"Sync-2\"?");
    assert_eq!(complaint("feret:2"), "unknown workload \"feret\": did you mean \"ferret\"?");
    assert!(complaint("qqqq").contains("evenkeel workloads"));
    assert_eq!(complaint("ferret+ftf"), "unknown program \"ftf\": did you mean \"fft\"?");
    assert!(complaint("ferret:x").contains("expected a thread count"));
    assert!(complaint("Sync-2:4").contains("own thread counts"));
    assert!(complaint("fmm:4").contains("from 1 to 2, not 4"));
}

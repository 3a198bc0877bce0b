//! What Evenkeel makes of saved sysfs trees: `tests/it/sysfs`, one readable file a machine.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;

use evenkeel_model::{CoreTypeId, Machine, Ns};
use evenkeel_topology::{Topology, list};
use proptest::prelude::*;

const MACHINES: [&str; 9] = [
    "apple-m1",
    "hikey960",
    "i7-6700",
    "i9-12900k",
    "rk3588",
    "ryzen-9-7950x",
    "ryzen-ai-9-hx-370",
    "server",
    "snapdragon-888",
];

pub fn text(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sysfs").join(format!("{name}.txt")))
        .unwrap()
}

/// Makes files of lines `path = value`, in which `[0-3]` stands for each of 0 to 3.
pub fn unpack(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (path, value) = line.split_once(" = ").unwrap();
        let paths = match path.split_once('[') {
            None => vec![path.to_owned()],
            Some((before, rest)) => {
                let (numbers, after) = rest.split_once(']').unwrap();
                list::parse(numbers).unwrap().iter().map(|number| format!("{before}{number}{after}")).collect()
            }
        };
        for path in paths {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{value}\n")).unwrap();
        }
    }
    folder
}

pub fn read(text: &str) -> Topology {
    Topology::read(unpack(text).path()).unwrap()
}

/// The tree without the lines that have one of these words.
fn without(name: &str, words: &[&str]) -> Topology {
    let text = text(name);
    read(
        &text
            .lines()
            .filter(|line| !words.iter().any(|word| line.contains(word)))
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    )
}

/// Kinds with capacities and CPUs, then clusters, in a line each.
fn shape(topology: &Topology) -> Vec<String> {
    let kind = |(position, kind): (usize, &evenkeel_topology::CpuType)| {
        let design = kind.design.as_deref().unwrap_or("-");
        format!("{} {design} {} {}", kind.name, kind.capacity, list::text(&topology.cpus_of(position)))
    };
    let kinds = topology.kinds.iter().enumerate().map(kind);
    let clusters = topology.clusters.iter().map(|shared| format!("{} {}", list::text(&shared.cpus), shared.what));
    kinds.chain(clusters).collect()
}

pub fn has(notes: &[String], words: &str) -> bool {
    notes.iter().any(|note| note.contains(words))
}

#[test]
fn arm_big_little() {
    let topology = read(&text("hikey960"));
    let shared = "L2 (cache/index2/shared_cpu_list)";
    let expected = [
        "big cortex-a73 1024 4-7".to_owned(),
        "little cortex-a53 462 0-3".into(),
        format!("0-3 {shared}"),
        format!("4-7 {shared}"),
    ];
    assert_eq!(shape(&topology), expected);
    assert!(topology.kinds[1].source.contains("cpu_capacity 462"));
    assert_eq!(topology.cpus[0].frequencies.len(), 5);
    assert_eq!(topology.cpus[4].max().unwrap().0, 2_362_000_000);
    assert!(topology.notes.is_empty(), "{:?}", topology.notes);
}

/// `cpuinfo_max_freq` says whether boost is on.
#[test]
fn boost_counts_while_it_is_switched_on() {
    let boost = "sys/devices/system/cpu/cpu[4-7]/cpufreq/scaling_boost_frequencies = 2500000\n";
    let off = text("hikey960") + boost;
    let on = off.replace("cpuinfo_max_freq = 2362000", "cpuinfo_max_freq = 2500000");
    let unknown = off.replace("cpuinfo_max_freq", "cpuinfo_min_freq");
    let highest = |text: &str| read(text).cpus[4].max().unwrap().0;
    assert_eq!([off, on, unknown].map(|text| highest(&text)), [2_362_000_000, 2_500_000_000, 2_500_000_000]);
}

#[test]
fn rk3588_has_two_kinds_although_its_big_cores_are_binned() {
    let expected = ["big cortex-a76 1024 4-7", "little cortex-a55 406 0-3", "0-7 L3 (cache/index3/shared_cpu_list)"];
    assert_eq!(shape(&read(&text("rk3588"))), expected);
    // Without the shared cache, the clusters of the devicetree are next.
    let clusters = without("rk3588", &["index3"]).clusters;
    assert_eq!(clusters.iter().map(|shared| shared.cpus[0]).collect::<Vec<_>>(), [0, 4, 6]);
}

#[test]
fn apple_m1() {
    let shape = shape(&read(&text("apple-m1")));
    assert_eq!(shape[..2], ["big firestorm 1024 4-7", "little icestorm 459 0-3"]);
}

#[test]
fn three_kinds() {
    let topology = read(&text("snapdragon-888"));
    assert_eq!(shape(&topology)[..3], ["big - 1024 7", "middle - 863 4-6", "little - 255 0-3"]);
    assert_eq!(topology.clusters.len(), 3);
}

#[test]
fn alder_lake_is_told_apart_by_cppc_else_by_the_counters_devices_else_by_frequency() {
    let topology = read(&text("i9-12900k"));
    assert_eq!(shape(&topology)[..2], ["big cpu-core 1024 0-15", "little cpu-atom 612 16-23"]);
    assert!(topology.kinds[1].source.contains("acpi_cppc/highest_perf"));
    assert!(!has(&topology.notes, "contradicts") && has(&topology.notes, "SMT"), "{:?}", topology.notes);
    assert_eq!((topology.cores(), topology.cpus.len(), topology.clusters.len()), (16, 24, 1));

    let topology = without("i9-12900k", &["acpi_cppc"]);
    assert_eq!(shape(&topology)[..2], ["big cpu-core 1024 0-15", "little cpu-atom 779 16-23"]);
    assert!(has(&topology.notes, "cpu_capacity says that all cores are equal; cpu_core/cpu_atom distinguishes them"));

    let topology = without("i9-12900k", &["acpi_cppc", "event_source"]);
    assert_eq!(shape(&topology)[..2], ["big - 1024 0-15", "little - 779 16-23"]);

    let topology = without("i9-12900k", &["acpi_cppc", "cpufreq"]);
    assert_eq!(shape(&topology)[..2], ["big cpu-core 1024 0-15", "little cpu-atom 512 16-23"]);
    assert!(has(&topology.notes, "nothing says how fast each is"), "{:?}", topology.notes);
}

#[test]
fn zen_5_and_5c_are_two_kinds_and_equal_cores_with_a_ranking_are_one() {
    let shape = |name: &str| shape(&read(&text(name)));
    let expected = [
        "big - 1024 0-3,12-15",
        "little - 672 4-11,16-23",
        "0-3,12-15 L3 (cache/index3/shared_cpu_list)",
        "4-11,16-23 L3 (cache/index3/shared_cpu_list)",
    ];
    assert_eq!(shape("ryzen-ai-9-hx-370"), expected);
    assert_eq!(shape("ryzen-9-7950x")[0], "big - 1024 0-15");
}

#[test]
fn without_cpufreq_the_firmware_and_then_the_kernel_says_the_frequencies() {
    let of = |text: &str, cpuinfo: &str| {
        let folder = unpack(text);
        fs::create_dir_all(folder.path().join("proc")).unwrap();
        fs::write(folder.path().join("proc/cpuinfo"), cpuinfo).unwrap();
        let topology = Topology::read(folder.path()).unwrap();
        round_trip(&topology);
        let toml = topology.to_toml("x").unwrap();
        assert!(toml.contains(&format!("frequencies: {};", topology.clock)) != toml.contains("no frequency is known"));
        let mhz = |cpu: &evenkeel_topology::Cpu| cpu.frequencies.iter().map(|hz| hz.0 / 1_000_000).collect();
        let mhz: Vec<Vec<u64>> = topology.cpus.iter().map(mhz).collect();
        (topology.clock, mhz, has(&topology.notes, "no cpufreq"))
    };
    let two = "sys/devices/system/cpu/online = 0-1\n";
    let shown = "processor\t: 0\nmodel name\t: x\ncpu MHz\t\t: 2596.122\n\nprocessor\t: 1\ncpu MHz\t\t: 2400.000\n\n";
    let cppc = "sys/devices/system/cpu/cpu[0-1]/acpi_cppc/";
    let stated = format!("{two}{cppc}nominal_freq = 2450\n{cppc}lowest_freq = 400\n");
    let settable = format!("{stated}sys/devices/system/cpu/cpu[0-1]/cpufreq/cpuinfo_max_freq = 3700000\n");
    assert_eq!(of(&settable, shown), ("sysfs", vec![vec![3700]; 2], false));
    assert_eq!(of(&stated, shown), ("acpi_cppc/nominal_freq", vec![vec![400, 2450]; 2], true));
    assert_eq!(of(two, shown), ("cpu MHz of /proc/cpuinfo", vec![vec![2596], vec![2400]], true));
    // Arm has no such line, some firmware says 0, and a broken file says nothing.
    for nothing in ["processor\t: 0\nBogoMIPS\t: 48.00\n", "processor: 0\ncpu MHz: 0.000\n", "processor: 0\ncpu MHz: x"]
    {
        assert_eq!(of(two, nothing), ("sysfs", vec![vec![]; 2], false));
    }
}

#[test]
fn kinds_that_share_a_last_level_cache_share_it_in_the_machine() {
    let caches = |topology: Topology| {
        round_trip(&topology);
        let written = topology.to_toml("x").unwrap().matches("\ncache = ").count();
        (topology.machine("x").unwrap().0.clusters.iter().map(|cluster| cluster.cache).collect::<Vec<u16>>(), written)
    };
    assert_eq!(caches(read(&text("i9-12900k"))), (vec![0, 0], 2));
    assert_eq!(caches(read(&text("rk3588"))), (vec![0, 0], 2));
    assert_eq!(caches(read(&text("ryzen-ai-9-hx-370"))), (vec![0, 1], 0), "an L3 for each kind");
    assert_eq!(caches(read(&text("snapdragon-888"))), (vec![0, 1, 2], 0), "clusters without a cache that is known");
    // A package, or what is assumed for want of anything better, is no cache.
    let package = "sys/devices/system/cpu/cpu[0-3]/topology/package_cpus_list = 0-3";
    let package = read(&format!("sys/devices/system/cpu/online = 0-3\n{package}\n"));
    assert_eq!(caches(package.with(Some("0"), None, None).unwrap()), (vec![0, 1], 0));
}

#[test]
fn offline_cpus_are_left_out_and_nodes_are_known() {
    let topology = read(&text("server"));
    assert_eq!(list::text(&topology.ids()), "0-4,6-15");
    assert_eq!((topology.kinds.len(), topology.clusters.len(), topology.nodes()), (1, 4, vec![0, 1]));
    let (machine, cpus) = topology.machine("server").unwrap();
    assert_eq!((machine.cores.len(), cpus[5], machine.clusters[3].node), (15, 6, 1));
}

#[test]
fn hardware_threads_know_each_other() {
    let topology = read(&text("i7-6700"));
    assert_eq!(topology.cpus[5].siblings, [1, 5]);
    assert_eq!(topology.cores(), 4);
}

#[test]
fn contradictions_and_gaps_are_named() {
    let frequency = "cpufreq/cpuinfo_max_freq";
    let wrong = text("hikey960")
        .replace(&format!("{frequency} = 1844000"), &format!("{frequency} = 9000000"))
        .replace("armv8_cortex_a53/cpus = 0-3", "armv8_cortex_a53/cpus = 0-4");
    let topology = read(&wrong);
    assert!(has(&topology.notes, "cpuinfo_max_freq contradicts cpu_capacity"), "{:?}", topology.notes);
    assert_eq!(topology.kinds[1].design, None, "the device is of both kinds");
    let partial = text("hikey960").replace("cpu[0-3]/cpu_capacity", "cpu[0-2]/cpu_capacity");
    assert!(has(&read(&partial).notes, "cpu_capacity is not used: CPUs 3 do not have it"));
}

#[test]
fn a_bare_tree_is_a_symmetric_machine_and_no_tree_says_what_is_missing() {
    let topology = read("sys/devices/system/cpu/online = 0-1");
    assert!(has(&topology.notes, "nothing says how fast the cores are"));
    assert_eq!((topology.kinds.len(), topology.clusters.len()), (1, 1));
    assert!(Topology::read(Path::new("/nowhere")).unwrap_err().contains("/nowhere/sys/devices/system/cpu/online"));
    let error = Topology::read(unpack("sys/devices/system/cpu/online = x").path()).unwrap_err();
    assert!(error.contains("cpu/online: \"x\" is no CPU"), "{error}");
}

#[test]
fn users_say_what_is_big_and_what_is_little() {
    let equal = read("sys/devices/system/cpu/online = 0-3");
    let with = |big, little, ratio| equal.with(big, little, ratio).map(|topology| shape(&topology));
    assert_eq!(with(Some("0,1"), Some("2,3"), Some(3.0)).unwrap()[..2], ["big - 1024 0-1", "little - 341 2-3"]);
    assert_eq!(with(Some("3"), None, None).unwrap()[..2], ["big - 1024 3", "little - 512 0-2"]);
    assert_eq!(with(None, Some("0"), None).unwrap()[..2], ["big - 1024 1-3", "little - 512 0"]);
    assert_eq!(with(Some("0-1"), Some("2"), None).unwrap()[2], "0-2 assumed: nothing says what the cores share");
    assert_eq!(with(Some("1c:big,2c:little"), None, Some(4.0)).unwrap()[..2], ["big - 1024 0", "little - 256 1-2"]);
    assert_eq!(with(Some("3c:big"), None, None).unwrap()[0], "big - 1024 0-2");
    let wrong = |big, little, ratio| with(big, little, ratio).unwrap_err();
    assert!(wrong(Some("0-2"), Some("2,3"), None).contains("CPU 2 is both"));
    assert!(wrong(Some("0-4"), None, None).contains("no CPU 4; this machine has 0-3"));
    assert!(wrong(None, Some("0-3"), None).contains("no core is big"));
    assert!(wrong(Some(""), None, None).contains("no core is big"));
    assert!(wrong(Some("0"), Some("x"), None).contains("--little: \"x\""));
    assert!(wrong(Some("0"), None, Some(0.5)).contains("1 to 100"));
    assert!(wrong(Some("0"), None, Some(f64::NAN)).contains("1 to 100"));
    assert!(wrong(None, None, Some(3.0)).contains("1 kinds of cores"));
    assert!(wrong(Some("0-3"), None, Some(3.0)).contains("no little core"));
    assert!(wrong(Some("3c:big,2c:little"), None, None).contains("only 1 such cores are left"));
    assert!(wrong(Some("2c:little"), None, None).contains("no core is big"));
    assert!(wrong(Some("2c:huge"), None, None).contains("no kind of core \"huge\"; this machine has big, little"));
    assert!(wrong(Some("0c:big"), None, None).contains("4c:big,2c:little"));
    assert!(wrong(Some("c"), None, None).contains("4c:big,2c:little"));
    assert!(wrong(Some("1c:big"), Some("3"), None).contains("there must be no --little"));
}

#[test]
fn notes_do_not_contradict_what_users_say() {
    let equal = read("sys/devices/system/cpu/online = 0-7");
    let notes = |big, little, ratio| equal.with(big, little, ratio).unwrap().notes;
    assert!(has(&notes(None, None, None), "nothing says how fast the cores are"));
    assert!(notes(Some("0-3"), Some("4-7"), Some(3.0)).is_empty());
    assert!(notes(Some("2c:big,2c:little"), None, None).is_empty());
    let unknown = without("i9-12900k", &["acpi_cppc", "cpufreq"]);
    let assumed = |big, ratio| has(&unknown.with(big, None, ratio).unwrap().notes, "nothing says how fast each is");
    assert!(assumed(Some("0-15"), None) && !assumed(Some("0-15"), Some(3.0)) && !assumed(None, Some(3.0)));
    // Of what is left.
    let smt = |little| {
        let notes = read(&text("i9-12900k")).with(Some("0,2"), Some(little), None).unwrap().notes;
        notes.into_iter().find(|note| note.starts_with("SMT"))
    };
    assert_eq!(smt("4,6"), None);
    assert!(smt("4-5,16").unwrap().starts_with("SMT: 2 CPUs share their cores"));
}

#[test]
fn two_speeds_are_two_kinds() {
    let equal = read("sys/devices/system/cpu/online = 0-3");
    let with = |speeds| equal.with_speeds(speeds).map(|topology| shape(&topology));
    assert_eq!(with("0=6,1=2,3=6").unwrap()[..2], ["big - 1024 0,3", "little - 341 1"]);
    for (wrong, why) in [
        ("0", "expected CPUs with their speeds"),
        ("0=1,1=1", "expected two speeds"),
        ("0=3,1=2,2=1", "expected two speeds"),
        ("0=3,9=1", "there is no CPU 9; this machine has 0-3"),
        ("0=300,1=1", "at most 100 times"),
        ("0=3,0=1", "CPU 0 is both"),
    ] {
        assert!(with(wrong).unwrap_err().contains(why), "{wrong}");
    }
}

#[test]
fn counts_are_of_detected_kinds_and_of_whole_cores() {
    let with = |name: &str, big| read(&text(name)).with(Some(big), None, None).map(|topology| shape(&topology));
    assert_eq!(
        with("hikey960", "2c:big,1c:little").unwrap()[..2],
        ["big cortex-a73 1024 4-5", "little cortex-a53 462 0"]
    );
    assert_eq!(with("hikey960", "2c:cortex-a53").unwrap()[0], "big cortex-a53 1024 0-1");
    assert_eq!(
        with("i9-12900k", "2c:big,2c:little").unwrap()[..2],
        ["big cpu-core 1024 0-3", "little cpu-atom 612 16-17"]
    );
    assert!(with("hikey960", "5c:big").unwrap_err().contains("only 4 such cores"));
    // Lists keep the ratio that was found.
    assert_eq!(with("hikey960", "4-7").unwrap()[..2], ["big - 1024 4-7", "little - 462 0-3"]);
    let ratio = read(&text("hikey960")).with(None, None, Some(4.0)).unwrap();
    assert_eq!(ratio.kinds[1].capacity, 256);
}

/// The machine has the capacities of the topology, and its file is the same machine.
pub fn round_trip(topology: &Topology) {
    let (machine, cpus) = topology.machine("a \"machine\"").unwrap();
    assert_eq!(cpus, topology.ids());
    for (position, kind) in topology.kinds.iter().enumerate() {
        assert_eq!(machine.capacity(CoreTypeId(position as u8)), kind.capacity);
    }
    let toml = topology.to_toml("a \"machine\"").unwrap();
    assert_eq!(Machine::from_toml(&toml, "saved.toml").unwrap_or_else(|error| panic!("{error}\n{toml}")), machine);
}

#[test]
fn a_machine_file_is_the_same_machine() {
    for name in MACHINES {
        round_trip(&read(&text(name)));
    }
    let equal = read("sys/devices/system/cpu/online = 0-3");
    round_trip(&equal.with(Some("0"), None, Some(100.0)).unwrap());
    // Frequencies and capacities that contradict each other.
    let odd = text("hikey960").replace("cpu_capacity = 462", "cpu_capacity = 1").replace("1844000", "19000000");
    round_trip(&read(&odd));
    let contradict = "1 GHz, since frequencies and capacities contradict each other";
    assert!(read(&odd).to_toml("x").unwrap().contains(contradict));
    let toml = read(&text("rk3588")).to_toml("x").unwrap();
    assert!(toml.contains("sysfs: cpu_capacity 397") || toml.contains("cpu_capacity"), "{toml}");
}

#[test]
fn a_machine_file_says_that_one_kind_of_unknown_frequency_has_all_assumed() {
    let topology = without("hikey960", &["cpu[4-7]/cpufreq"]);
    round_trip(&topology);
    let toml = topology.to_toml("x").unwrap();
    assert_eq!(toml.matches("assumed: 1 GHz, since not every kind's frequencies are known").count(), 2, "{toml}");
    assert!(!toml.contains("frequencies: sysfs"), "{toml}");
}

#[test]
fn a_machine_file_says_which_costs_were_measured() {
    let mut topology = read(&text("rk3588"));
    topology.overheads.context_switch = Some(Ns(1_500));
    topology.overheads.process_switch = Some(Ns(400));
    topology.overheads.take = Some(Ns(9_000));
    topology.overheads.migrate_across_clusters = Some(Ns(70_000));
    round_trip(&topology);
    let costs = topology.machine("x").unwrap().0.costs;
    assert_eq!((costs.context_switch, costs.process_switch), (Ns(1_500), Ns(400)));
    assert_eq!((costs.take, costs.migrate_across_clusters), (Ns(9_000), Ns(70_000)));
    let toml = topology.to_toml("x").unwrap();
    let source = |key: &str| toml.lines().find(|line| line.starts_with(key)).unwrap().split("source").nth(1).unwrap();
    assert!(source("context_switch_us").contains("measured: two threads"), "{toml}");
    assert!(source("process_switch_us").contains("measured: how much longer two processes"), "{toml}");
    assert!(source("migrate_in_cluster_us").contains("assumed"), "{toml}");
    assert!(source("migrate_across_clusters_us").contains("measured: how much longer 288 KB"), "{toml}");
    assert!(source("take_us").contains("measured: a thread that moves itself"), "{toml}");
}

/// A CPU number of Linux's masks is below 1024, as a core's is.
#[test]
fn every_cpu_that_linux_can_have_is_a_core() {
    let large = read("sys/devices/system/cpu/online = 0-1023");
    assert_eq!(large.machine("x").unwrap().0.cores.len(), 1024);
    round_trip(&large.with(Some("0-511"), Some(""), None).unwrap());
}

/// Trees are many files, so that fewer cases do.
fn fewer() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases / 8, ..usual }
}

proptest! {
    #![proptest_config(fewer())]

    #[test]
    fn no_words_of_a_user_panic(big in "[0-9a-c:,-]{0,12}|\\PC{0,8}", little in proptest::option::of("[0-9,-]{0,6}"), ratio in proptest::option::of(0.0..200.0f64)) {
        let topology = read("sys/devices/system/cpu/online = 0-3");
        if let Ok(topology) = topology.with(Some(&big), little.as_deref(), ratio) {
            round_trip(&topology);
        }
    }

    #[test]
    fn no_values_of_files_panic(values in proptest::collection::vec("[0-9,-]{0,9}|\\PC{0,5}", 12), capacities in proptest::collection::vec(0u64..2000, 8)) {
        let files = [
            "cpu[0-7]/cpufreq/amd_pstate_prefcore_ranking", "cpu[0-7]/acpi_cppc/highest_perf", "cpu[4-7]/cpufreq/cpuinfo_max_freq",
            "cpu[0-3]/cpufreq/cpuinfo_max_freq", "cpu[0-7]/cpufreq/scaling_available_frequencies", "cpu[2-5]/cache/index3/level",
            "cpu[2-5]/cache/index3/shared_cpu_list", "cpu[0-7]/topology/thread_siblings_list",
            "cpu[0-7]/topology/cluster_cpus_list", "cpu[0-7]/topology/package_cpus_list",
        ];
        let mut text = String::from("sys/devices/system/cpu/online = 0-7\n");
        for (file, value) in files.iter().zip(&values) {
            text += &format!("sys/devices/system/cpu/{file} = {value}\n");
        }
        for (id, capacity) in capacities.iter().enumerate() {
            text += &format!("sys/devices/system/cpu/cpu{id}/cpu_capacity = {capacity}\n");
        }
        text += &format!("sys/bus/event_source/devices/cpu_core/cpus = {}\n", values[10]);
        text += &format!("sys/bus/event_source/devices/cpu_atom/cpus = {}\n", values[11]);
        round_trip(&read(&text));
    }
}

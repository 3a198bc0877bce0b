//! What machines say that their cores use, and for how long they can. The trees are made: no machine with an Energy Model has been read.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;

use evenkeel_model::{Behaviour, CoreTypeId, Hz, Machine, Watts, machines};
use evenkeel_topology::Topology;
use proptest::prelude::*;

use crate::sysfs::{has, read, round_trip, text, unpack};

const ENERGY_MODEL: &str = "sys/kernel/debug/energy_model";
/// Coefficients, frequencies in MHz and voltages of the HiKey 960's A53 and A73 (Linux, hi3660.dtsi).
const HIKEY960: [(u32, [(u64, u32); 5]); 2] = [
    (110, [(533, 700_000), (999, 800_000), (1402, 900_000), (1709, 1_000_000), (1844, 1_100_000)]),
    (550, [(903, 700_000), (1421, 800_000), (1805, 900_000), (2112, 1_000_000), (2362, 1_100_000)]),
];

/// The same of the RK3588's A55 and A76 (Linux, rk3588-opp.dtsi), of which several frequencies have one voltage.
const RK3588: [(u32, &[(u64, u32)]); 2] = [
    (
        228,
        &[
            (408, 675_000),
            (816, 675_000),
            (1008, 675_000),
            (1200, 712_500),
            (1416, 762_500),
            (1608, 850_000),
            (1800, 950_000),
        ],
    ),
    (
        416,
        &[
            (408, 675_000),
            (816, 675_000),
            (1200, 675_000),
            (1608, 725_000),
            (1800, 775_000),
            (2016, 850_000),
            (2208, 925_000),
            (2400, 1_000_000),
        ],
    ),
];

/// In uW; Linux cuts off the rest.
fn power(coefficient: u32, (mhz, microvolts): (u64, u32)) -> u64 {
    (f64::from(coefficient) * mhz as f64 * (f64::from(microvolts) / 1e6).powi(2)) as u64
}

/// Frequencies in kHz with the powers that Linux computes.
fn states((coefficient, points): (u32, &[(u64, u32)])) -> Vec<(u64, u64)> {
    points.iter().map(|point| (point.0 * 1000, power(coefficient, *point))).collect()
}

/// The performance domains that Linux makes of these.
fn energy_model(flags: &str) -> String {
    domains(flags, HIKEY960.each_ref().map(|(coefficient, points)| states((*coefficient, &points[..]))))
}

/// Two domains with these states.
fn domains(flags: &str, states: [Vec<(u64, u64)>; 2]) -> String {
    let mut text = String::new();
    for ((domain, cpus), states) in [("cpu0", "0-3"), ("cpu4", "4-7")].into_iter().zip(states) {
        text += &format!("{ENERGY_MODEL}/{domain}/cpus = {cpus}\n{ENERGY_MODEL}/{domain}/flags = {flags}\n");
        for (khz, power) in states {
            let state = format!("{ENERGY_MODEL}/{domain}/ps:{khz}");
            text += &format!("{state}/frequency = {khz}\n{state}/power = {power}\n{state}/cost = 1\n");
            text += &format!("{state}/inefficient = 0\n");
        }
    }
    text
}

/// The same in the devicetree that the kernel was started with, below a tree. Of each cluster one CPU has the coefficient.
fn devicetree(root: &Path) {
    let write = |path: String, bytes: &[u8]| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    for (id, (coefficient, points)) in HIKEY960.into_iter().enumerate() {
        let handle = (id as u32 + 7).to_be_bytes();
        for cpu in 4 * id..4 * id + 4 {
            write(format!("sys/devices/system/cpu/cpu{cpu}/of_node/operating-points-v2"), &handle);
        }
        let property = format!("sys/devices/system/cpu/cpu{}/of_node/dynamic-power-coefficient", 4 * id + 2);
        write(property, &coefficient.to_be_bytes());
        let table = format!("sys/firmware/devicetree/base/opp_table{id}");
        write(format!("{table}/phandle"), &handle);
        for (number, (mhz, microvolts)) in points.into_iter().enumerate() {
            let point = format!("{table}/opp{id}{number}");
            write(format!("{point}/opp-hz"), &(mhz * 1_000_000).to_be_bytes());
            write(format!("{point}/opp-microvolt"), &microvolts.to_be_bytes());
        }
    }
}

/// Powers in mW.
fn milliwatts(topology: &Topology, kind: usize) -> Vec<(u64, f64)> {
    let milliwatts = |(hz, watts): &(Hz, Watts)| (hz.0 / 1_000_000, (watts.0 * 1e3).round());
    topology.powers_of(kind).iter().map(milliwatts).collect()
}

const BIG: [(u64, f64); 5] = [(903, 243.0), (1421, 500.0), (1805, 804.0), (2112, 1162.0), (2362, 1572.0)];
const LITTLE: [(u64, f64); 5] = [(533, 29.0), (999, 70.0), (1402, 125.0), (1709, 188.0), (1844, 245.0)];

#[test]
fn the_energy_model_says_what_a_busy_core_uses() {
    let topology = read(&(text("hikey960") + &energy_model("0x1")));
    assert_eq!((topology.power, topology.powers_known()), (Some("Energy Model"), true));
    assert_eq!((milliwatts(&topology, 0), milliwatts(&topology, 1)), (BIG.to_vec(), LITTLE.to_vec()));
    assert!(topology.notes.is_empty(), "{:?}", topology.notes);
    // A GPU has a domain without CPUs, and one in no known unit.
    let gpu = format!("{ENERGY_MODEL}/gpu/flags = 0\n{ENERGY_MODEL}/gpu/ps:500000/power = 7\n");
    assert_eq!(read(&(text("hikey960") + &energy_model("0x3") + &gpu)), topology);
    // A frequency that the CPU cannot be set to.
    let boost =
        format!("{ENERGY_MODEL}/cpu4/ps:3000000/frequency = 3000000\n{ENERGY_MODEL}/cpu4/ps:3000000/power = 3000000\n");
    assert_eq!(read(&(text("hikey960") + &energy_model("0x1") + &boost)), topology);
    let none = read(&text("hikey960"));
    assert_eq!((none.power, none.powers_known(), none.powers_of(0)), (None, false, &[][..]));
}

#[test]
fn before_linux_6_0_the_energy_model_has_milliwatts() {
    let milliwatts_of = |units: &str| {
        let states =
            [("cpu0", "0-3", 1_844_000, 245), ("cpu4", "4-7", 2_362_000, 1572)].map(|(domain, cpus, khz, power)| {
                let folder = format!("{ENERGY_MODEL}/{domain}");
                let state = format!("{folder}/ps:{khz}");
                format!(
                    "{folder}/cpus = {cpus}\n{folder}/{units}\n{state}/frequency = {khz}\n{state}/power = {power}\n"
                )
            });
        let topology = read(&(text("hikey960") + &states.concat()));
        (milliwatts(&topology, 0), milliwatts(&topology, 1), topology.notes)
    };
    let expected = (vec![(2362, 1572.0)], vec![(1844, 245.0)], vec![]);
    assert_eq!(milliwatts_of("flags = 0x1"), expected);
    assert_eq!(milliwatts_of("units = milliWatts"), expected);
    assert!(has(&milliwatts_of("units = bogoWatts").2, "abstract scale"));
}

#[test]
fn what_is_no_power_is_refused_with_one_note() {
    let refused = |text: &str, why: &str| {
        let topology = read(text);
        assert_eq!((topology.power, topology.powers_known()), (None, false), "{why}");
        let notes: Vec<&String> =
            topology.notes.iter().filter(|note| note.contains("Energy Model is not used")).collect();
        assert!(notes.len() == 1 && notes[0].contains(why), "{why}: {notes:?}");
        round_trip(&topology);
    };
    let with = |flags: &str| text("hikey960") + &energy_model(flags);
    refused(&with("0x4"), "cpu0: its numbers are artificial");
    refused(&with("0x5"), "cpu0: its numbers are artificial");
    refused(&with("0"), "cpu0: its numbers are of an abstract scale");
    refused(&with("yes"), "cpu0: flags is \"yes\"; expected a hexadecimal number");
    let power = "ps:999000/power = 70329";
    for wrong in ["0", "-1", "much", "99999999999999999999999"] {
        let text = with("0x1").replace(power, &format!("ps:999000/power = {wrong}"));
        refused(&text, &format!("cpu0: ps:999000/power is {wrong:?}; expected a number above 0"));
    }
    let missing: String = with("0x1")
        .lines()
        .filter(|line| !line.contains("ps:903000/frequency"))
        .map(|line| format!("{line}\n"))
        .collect();
    refused(&missing, "cpu4: ps:903000/frequency is \"\"");
    refused(&with("0x1").replace("cpu4/cpus = 4-7", "cpu4/cpus = 3-7"), "cpu4: CPU 3 is in another domain, too");
    refused(&with("0x1").replace("cpu4/cpus = 4-7", "cpu4/cpus = x"), "cpu4: cpus: \"x\" is no CPU");
    refused(&format!("{}{ENERGY_MODEL}/cpu0/cpus = 0\n", text("hikey960")), "cpu0: it has no file flags");
}

#[test]
fn the_devicetree_says_it_to_users_who_may_not_read_debugfs() {
    let root = unpack(&text("hikey960"));
    devicetree(root.path());
    let topology = Topology::read(root.path()).unwrap();
    assert_eq!(topology.power, Some("devicetree (dynamic-power-coefficient)"));
    assert_eq!((milliwatts(&topology, 0), milliwatts(&topology, 1)), (BIG.to_vec(), LITTLE.to_vec()));
    // What was measured goes before what is computed, and a disabled point is none.
    let table = root.path().join("sys/firmware/devicetree/base/opp_table1");
    fs::write(table.join("opp13/opp-microwatt"), 1_300_000_u32.to_be_bytes()).unwrap();
    fs::write(table.join("opp14/status"), "disabled\0").unwrap();
    let big = milliwatts(&Topology::read(root.path()).unwrap(), 0);
    assert_eq!(big[2..], [(1805, 804.0), (2112, 1300.0)]);
    // An artificial Energy Model gives way to it.
    let root = unpack(&(text("hikey960") + &energy_model("0x4")));
    devicetree(root.path());
    let topology = Topology::read(root.path()).unwrap();
    assert!(topology.powers_known() && has(&topology.notes, "Energy Model is not used"));
    // Properties that are cut off say nothing.
    for cut in ["opp10/opp-hz", "opp10/opp-microvolt", "phandle"] {
        fs::write(root.path().join("sys/firmware/devicetree/base/opp_table1").join(cut), [0, 1]).unwrap();
        round_trip(&Topology::read(root.path()).unwrap());
    }
    assert!(!Topology::read(root.path()).unwrap().powers_known(), "no table has the handle any more");
}

#[test]
fn a_machine_uses_what_was_read_and_its_file_says_so() {
    let topology = read(&(text("hikey960") + &energy_model("0x1")));
    round_trip(&topology);
    using(&topology);
    let toml = topology.to_toml("x").unwrap();
    assert_eq!(toml.matches("voltages: Energy Model").count(), 2, "{toml}");
    assert!(!toml.contains("assumed: 0.5 W") && !toml.contains("assumed: 0.1 A"), "{toml}");
    assert!(Machine::from_toml(&toml, "x").is_ok());
    // With those of one kind only, the kinds could not be compared.
    let one: String =
        energy_model("0x1").lines().filter(|line| line.contains("cpu4")).map(|line| format!("{line}\n")).collect();
    let one = read(&(text("hikey960") + &one));
    assert!(!one.powers_known() && !one.powers_of(0).is_empty());
    assert_eq!(one.machine("x").unwrap().0.core_types, read(&text("hikey960")).machine("x").unwrap().0.core_types);
}

/// The machine, whose cores use what was read.
fn using(topology: &Topology) -> Machine {
    let machine = topology.machine("x").unwrap().0;
    for (kind, core) in machine.core_types.iter().enumerate() {
        let known = topology.powers_of(kind);
        assert_eq!(known.len(), core.opps.len());
        for ((hz, watts), opp) in known.iter().zip(&core.opps) {
            let rate = machine.rate(CoreTypeId(kind as u8), *hz, &Behaviour::REFERENCE);
            let uses = core.power(*opp, rate);
            assert!((uses.0 / watts.0 - 1.0).abs() < 0.004, "{hz:?}: {uses:?} instead of {watts:?}");
        }
    }
    machine
}

/// The energy of a cycle is the same there, but for what Linux cuts off.
#[test]
fn frequencies_that_share_a_voltage_are_no_leakage() {
    let topology = read(&(text("rk3588") + &domains("0x1", RK3588.map(states))));
    let leakages: Vec<f64> = using(&topology).core_types.iter().map(|core| core.leakage).collect();
    assert_eq!(leakages, [0.0, 0.0]);
}

#[test]
fn two_or_three_powers_of_a_core_that_leaks_are_met_by_voltages_that_rise() {
    let three = [(500_000, 300_000), (1_000_000, 450_000), (1_500_000, 620_000)];
    for states in [&three[..], &three[1..]] {
        let khz: Vec<String> = states.iter().map(|(khz, _)| khz.to_string()).collect();
        let cpus = "sys/devices/system/cpu";
        let settable = format!("{cpus}/cpu[0-7]/cpufreq/scaling_available_frequencies = {}\n", khz.join(" "));
        let domains = domains("0x1", [states.to_vec(), states.to_vec()]);
        let topology = read(&format!("{cpus}/online = 0-7\n{settable}{domains}"));
        let machine = using(&topology);
        let opps = &machine.core_types[0].opps;
        assert!(opps.windows(2).all(|two| two[0].voltage < two[1].voltage), "{opps:?}");
        round_trip(&topology);
    }
}

#[test]
fn a_machine_file_says_it_of_machines_that_do_not() {
    let here = read(&text("hikey960"));
    let saved = read(&(text("hikey960") + &energy_model("0x1"))).to_toml("board").unwrap();
    let board = Machine::from_toml(&saved, "board.toml").unwrap();
    let topology = here.with_powers(&board).unwrap();
    assert_eq!((topology.power, topology.powers_known()), (Some("machine file"), true));
    // A file has millivolts.
    for (kind, expected) in [(0, BIG), (1, LITTLE)] {
        for ((mhz, found), (_, expected)) in milliwatts(&topology, kind).into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.02, "{mhz}: {found} instead of {expected}");
        }
    }
    let three = read(&text("snapdragon-888")).with_powers(&board).unwrap_err();
    assert!(three.contains("its core types number 2, and the kinds of cores here 3"), "{three}");
    let slower = text("hikey960").replace("cpuinfo_max_freq = 2362000", "cpuinfo_max_freq = 800000");
    let slower = slower
        .replace("903000 1421000 1805000 2112000 2362000", "800000")
        .replace("min_freq = 903000", "min_freq = 800000");
    let slower = read(&slower).with_powers(&board).unwrap_err();
    assert!(slower.contains("frequency that CPU 4 can be set to"), "{slower}");
}

#[test]
fn the_machine_file_is_named_as_for_other_commands() {
    let here = read(&text("hikey960"));
    let expected = here.with_powers(&machines::by_name("rk3588").unwrap()).unwrap();
    assert_eq!(here.with_powers_of("RK3588").unwrap(), expected);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.toml");
    fs::write(&path, machines::text("rk3588").unwrap()).unwrap();
    assert_eq!(here.with_powers_of(&path).unwrap(), expected);
    let refused = |name: &Path| here.with_powers_of(name).unwrap_err();
    let none = refused(Path::new("hikey"));
    assert!(none.starts_with("cannot read hikey: ") && none.contains("expected a machine file"), "{none}");
    fs::write(&path, "cores = 4").unwrap();
    assert!(refused(&path).contains("board.toml:1"), "{}", refused(&path));
    fs::write(&path, [0xff]).unwrap();
    assert!(refused(&path).contains("board.toml is no text"), "{}", refused(&path));
}

#[test]
fn rapl_or_a_thermal_zone_says_what_is_sustained() {
    let sustained = |more: &str| read(&(text("hikey960") + more)).sustained.map(|found| (found.power.0, found.source));
    let zone = |id: &str, name: &str, watts: u64| {
        let zone = format!("sys/class/powercap/intel-rapl:{id}");
        format!(
            "{zone}/name = {name}\n{zone}/enabled = 1\n{zone}/constraint_0_name = long_term\n{zone}/constraint_0_power_limit_uw = {watts}000000\n"
        )
    };
    let rapl =
        zone("0", "package-0", 65) + &zone("0:0", "core", 9) + &zone("1", "package-1", 35) + &zone("2", "psys", 7);
    assert_eq!(sustained(&rapl), Some((100.0, "RAPL (constraint_0_power_limit_uw)")));
    assert_eq!(sustained(&rapl.replace("intel-rapl:1/enabled = 1", "intel-rapl:1/enabled = 0")), None);
    assert_eq!(sustained(&rapl.replace("= 65000000", "= lots")), None);

    let thermal = "sys/class/thermal";
    let devices = format!(
        "{thermal}/cooling_device0/type = cpufreq-cpu0\n{thermal}/cooling_device1/type = cpufreq-cpu4\n{thermal}/cooling_device2/type = gpu\n"
    );
    let zone = |id: u32, cooled: &[&str], milliwatts: u32| {
        let zone = format!("{thermal}/thermal_zone{id}");
        let cooled = cooled.iter().enumerate().map(|(position, kind)| format!("{zone}/cdev{position}/type = {kind}\n"));
        cooled.collect::<String>() + &format!("{zone}/sustainable_power = {milliwatts}\n")
    };
    let both = ["cpufreq-cpu0", "cpufreq-cpu4"];
    let zones = devices.clone()
        + &zone(0, &both, 4500)
        + &zone(1, &["gpu"], 900)
        + &zone(2, &both[..1], 300)
        + &zone(3, &both, 0);
    assert_eq!(sustained(&zones), Some((4.5, "thermal zone (sustainable_power)")));
    assert_eq!(sustained(&(rapl + &zones)).unwrap().0, 100.0);
    assert_eq!(sustained(&zone(0, &both, 4500)), None, "nothing says what the zone cools");

    // Where CPUs are left out, what is sustained is shared by what they use.
    let topology = read(&(text("hikey960") + &energy_model("0x1") + &zones));
    let less = topology.within(&[0, 1, 2, 3, 4]).sustained.unwrap().power.0;
    let share = (4.0 * 0.245_436 + 1.571_911) / (4.0 * 0.245_436 + 4.0 * 1.571_911);
    assert!((less / 4.5 / share - 1.0).abs() < 1e-4, "{less}");
    let by_number = read(&(text("hikey960") + &zones)).within(&[0, 4]).sustained.unwrap();
    assert_eq!(by_number.power.0, 4.5 / 4.0);
}

#[test]
fn the_driver_or_the_firmware_says_the_base_frequency() {
    let base = |more: &str| {
        read(&(text("hikey960") + more)).cpus.iter().map(|cpu| cpu.base.map(|hz| hz.0)).collect::<Vec<_>>()
    };
    let file = |name: &str| format!("sys/devices/system/cpu/cpu[4-7]/{name}\n");
    let expected = |hz| [vec![None; 4], vec![Some(hz); 4]].concat();
    let (driver, firmware) = (file("cpufreq/base_frequency = 1800000"), file("acpi_cppc/nominal_freq = 1700"));
    assert_eq!(base(&firmware), expected(1_700_000_000));
    assert_eq!(base(&(firmware + &driver)), expected(1_800_000_000));
    assert_eq!(base(&file("cpufreq/base_frequency = 9800000")), vec![None; 8], "above the highest");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn no_values_of_files_panic(values in proptest::collection::vec("(0x)?[0-9]{1,9}|[0-9,-]{0,5}|\\PC{0,5}", 9), powers in proptest::collection::vec(0u64..u64::MAX, 8)) {
        let mut text = text("hikey960");
        for (file, value) in ["cpu0/cpus", "cpu4/cpus", "cpu0/flags", "cpu4/flags", "cpu0/units"].iter().zip(&values) {
            text += &format!("{ENERGY_MODEL}/{file} = {value}\n");
        }
        for (position, power) in powers.iter().enumerate() {
            let state = format!("{ENERGY_MODEL}/cpu{}/ps:{position}", position / 4 * 4);
            text += &format!("{state}/frequency = {}\n{state}/power = {}\n", power >> (position * 7), power >> (position * 5));
        }
        for (file, value) in ["powercap/intel-rapl:0/name", "powercap/intel-rapl:0/constraint_0_power_limit_uw", "thermal/thermal_zone0/sustainable_power"].iter().zip(&values[5..]) {
            text += &format!("sys/class/{file} = {value}\n");
        }
        round_trip(&read(&text));
        // Any powers of the frequencies that there are.
        let mut known = energy_model("0x1");
        for (coefficient, points) in HIKEY960 {
            for point in points {
                let any = powers[point.0 as usize % 8] >> (point.0 % 60);
                known = known.replacen(&format!("power = {}", power(coefficient, point)), &format!("power = {any}"), 1);
            }
        }
        round_trip(&read(&(crate::sysfs::text("hikey960") + &known)));
    }
}

/// A core with leakage that its powers cannot hide: where a cycle takes less energy at a higher frequency, its voltage is not `sqrt(power / frequency)`.
#[test]
fn a_core_that_leaks_is_the_core_of_its_machine_file() {
    let paper = evenkeel_model::machines::by_name("aaws-4B4L").unwrap();
    let mut files = "sys/devices/system/cpu/online = 0-1\n".to_owned();
    for (cpu, kind) in paper.core_types.iter().enumerate() {
        let khz: Vec<String> = kind.opps.iter().map(|opp| (opp.frequency.0 / 1000).to_string()).collect();
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        files += &format!("{folder}/cpu_capacity = {}\n", 1024 >> cpu);
        files += &format!("{folder}/cpufreq/scaling_available_frequencies = {}\n", khz.join(" "));
    }
    let topology = read(&files).with_powers(&paper).unwrap();
    let machine = topology.machine("x").unwrap().0;
    for (found, kind) in machine.core_types.iter().zip(&paper.core_types) {
        for (here, there) in found.opps.iter().zip(&kind.opps) {
            let share = there.voltage.0 / kind.highest_opp().voltage.0;
            assert!((here.voltage.0 - share).abs() < 0.002, "{here:?} instead of {share}");
        }
        // At its highest voltage, which counts as 1 V here.
        let leaked = kind.leakage * kind.highest_opp().voltage.0;
        assert!((found.leakage / leaked - 1.0).abs() < 0.01, "{} instead of {leaked}", found.leakage);
    }
    let toml = topology.to_toml("x").unwrap();
    assert_eq!(toml.matches("fitted with the leakage").count(), 2, "{toml}");
    round_trip(&topology);
}

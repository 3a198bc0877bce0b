//! Machines in files of other tools: hwloc's XML and devicetrees.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_model::Machine;
use evenkeel_topology::{Topology, list};
use proptest::prelude::*;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/files").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap()
}

/// Kinds with capacities and CPUs.
fn kinds(topology: &Topology) -> Vec<String> {
    let kind = |(position, kind): (usize, &evenkeel_topology::CpuType)| {
        let design = kind.design.as_deref().unwrap_or("-");
        format!("{} {design} {} {}", kind.name, kind.capacity, list::text(&topology.cpus_of(position)))
    };
    topology.kinds.iter().enumerate().map(kind).collect()
}

fn has(notes: &[String], words: &str) -> bool {
    notes.iter().any(|note| note.contains(words))
}

/// A topology is a machine, and its file the same one.
fn usable(topology: &Topology) {
    let Ok((machine, _)) = topology.machine("x") else { return };
    let toml = topology.to_toml("x").unwrap();
    assert_eq!(Machine::from_toml(&toml, "x").unwrap_or_else(|error| panic!("{error}\n{toml}")), machine);
}

#[test]
fn hwloc_tells_kinds_caches_and_threads() {
    let topology = Topology::from_file(&path("core-5-120u.xml")).unwrap();
    assert_eq!(kinds(&topology), ["big IntelCore 1024 0-3", "little IntelAtom 778 4-11"]);
    assert_eq!(topology.model.as_deref(), Some("Intel(R) Core(TM) 5 120U"));
    assert_eq!((topology.cores(), topology.clusters.len(), topology.cpus[3].siblings.clone()), (10, 1, vec![2, 3]));
    assert_eq!(topology.clusters[0].what, "L3Cache");
    assert!(has(&topology.notes, "LinuxCapacity says that all cores are equal; CoreType distinguishes them"));
    usable(&topology);
}

#[test]
fn hwloc_kinds_with_capacities_or_with_an_order_only() {
    let capacities = text("core-5-120u.xml").replacen("value=\"1024\"", "value=\"512\"", 1);
    assert_eq!(
        kinds(&Topology::from_hwloc(&capacities).unwrap()),
        ["big IntelCore 1024 0-3", "little IntelAtom 512 4-11"]
    );
    let bare: String = text("core-5-120u.xml").lines().filter(|line| !line.contains("<info")).collect();
    let topology = Topology::from_hwloc(&bare).unwrap();
    assert_eq!(kinds(&topology), ["big - 1024 0-3", "little - 512 4-11"]);
    assert!(has(&topology.notes, "order of the kinds distinguishes kinds of cores, but nothing says how fast each is"));
    let forced = bare.replacen("forced_efficiency=\"0\"", "forced_efficiency=\"9\"", 1);
    assert_eq!(kinds(&Topology::from_hwloc(&forced).unwrap()), ["big - 1024 4-11", "little - 512 0-3"]);
    let less = text("core-5-120u.xml").replace("allowed_cpuset=\"0x00000fff\"", "allowed_cpuset=\"0x000000fe\"");
    assert_eq!(list::text(&Topology::from_hwloc(&less).unwrap().ids()), "1-7");
}

#[test]
fn a_devicetree_tells_capacities_frequencies_and_caches() {
    let topology = Topology::from_file(&path("big-little.dtb")).unwrap();
    // 530 x 1.8 / (1024 x 2.4)
    assert_eq!(kinds(&topology), ["big cortex-a76 1024 2", "little cortex-a55 398 0-1"]);
    assert_eq!(topology.model.as_deref(), Some("Test board"));
    assert_eq!(topology.clusters[0].what, "L3 (next-level-cache)");
    assert_eq!(topology.cpus[2].max().unwrap().0, 2_400_000_000, "a disabled operating point does not count");
    // The second A55 has no coefficient of its own, but the same table. 228 x 1800 MHz x 0.95 V squared, in uW.
    let milliwatts = |cpu: usize| topology.cpus[cpu].powers.iter().map(|(_, watts)| (watts.0 * 1e3).round()).collect();
    let milliwatts: Vec<Vec<f64>> = (0..3).map(milliwatts).collect();
    assert_eq!(milliwatts, [[105.0, 370.0], [105.0, 370.0], [227.0, 998.0]]);
    assert_eq!(topology.power, Some("devicetree (dynamic-power-coefficient)"));
    usable(&topology);
    let mut padded = fs::read(path("big-little.dtb")).unwrap();
    padded.extend([0; 64]);
    assert_eq!(Topology::from_devicetree(&padded).unwrap(), topology);
}

#[test]
fn what_is_no_machine_says_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let error = Topology::from_file(&path).unwrap_err();
        assert!(error.contains(name), "{error}");
        error
    };
    assert!(refused("a.xml", b"<html/>").contains("expected hwloc's <topology>"));
    assert!(refused("b.xml", b"<topology>").contains("no XML"));
    assert!(refused("c.xml", b"<topology/>").contains("without a CPU"));
    assert!(refused("d.dts", b"/dts-v1/;").contains("dtc"));
    assert!(refused("e.dtb", b"\xd0\x0d\xfe\xed").contains("no devicetree"));
    assert!(refused("f.xml", b"").contains("lstopo"));
    assert!(Topology::from_file(Path::new("/nowhere.xml")).unwrap_err().contains("cannot read /nowhere.xml"));
    assert!(Topology::from_file(folder.path()).unwrap_err().contains("cpu/online"));
}

proptest! {
    #[test]
    fn no_text_and_no_change_of_a_file_panics(
        noise in "\\PC{0,80}",
        at in 0usize..4000,
        cut in 0usize..40,
        new in "[0-9a-fx,\"<>/ =]{0,8}",
        byte in proptest::num::u8::ANY,
    ) {
        let read = |text: &str| Topology::from_hwloc(text).iter().for_each(usable);
        read(&noise);
        let mut text = text("core-5-120u.xml");
        if text.is_char_boundary(at) && text.is_char_boundary(at + cut) {
            text.replace_range(at..at + cut, &new);
            read(&text);
        }
        let mut tree = fs::read(path("big-little.dtb")).unwrap();
        let at = at % tree.len();
        tree[at] = byte;
        Topology::from_devicetree(&tree).iter().for_each(usable);
        tree.truncate(at);
        Topology::from_devicetree(&tree).iter().for_each(usable);
        Topology::from_devicetree(noise.as_bytes()).iter().for_each(usable);
    }
}

//! The machine's performance monitoring units. Machines with several core types have one for each, which counts only what
//! happens on its cores.

use std::fs;
use std::io;
use std::path::Path;

use evenkeel_topology::list;

/// A unit of some cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pmu {
    /// Its type, which PERF_TYPE_HARDWARE takes in the upper half of `config`.
    pub number: u32,
    /// The CPUs that it counts on.
    pub cpus: Vec<u16>,
}

/// The units that `/sys` below `root` lists, in order of their types; none where a single one counts everywhere.
pub(crate) fn of_cores(root: &Path) -> Vec<Pmu> {
    let devices = fs::read_dir(root.join("sys/bus/event_source/devices")).into_iter().flatten().flatten();
    let read = |path: &Path, name: &str| fs::read_to_string(path.join(name)).ok();
    let pmu = |path: &Path| {
        let cpus = list::parse(&read(path, "cpus")?).ok()?;
        Some(Pmu { number: read(path, "type")?.trim().parse().ok()?, cpus })
    };
    let mut pmus: Vec<Pmu> = devices.filter_map(|device| pmu(&device.path())).collect();
    pmus.sort_unstable_by_key(|pmu| pmu.number);
    pmus
}

/// Why a counter cannot be opened.
pub(crate) fn refused(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ENOENT) => io::Error::other("there are none, as in most virtual machines"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_several_core_types_have_a_pmu_for_each() {
        let root = tempfile::tempdir().unwrap();
        let devices = root.path().join("sys/bus/event_source/devices");
        let listed = [("cpu_core", "10", Some("0-3,8")), ("cpu_atom", "4", Some("4-7")), ("power", "9", None)];
        for (name, number, cpus) in listed {
            fs::create_dir_all(devices.join(name)).unwrap();
            fs::write(devices.join(name).join("type"), number).unwrap();
            if let Some(cpus) = cpus {
                fs::write(devices.join(name).join("cpus"), cpus).unwrap();
            }
        }
        let [atom, core] =
            [(4, vec![4, 5, 6, 7]), (10, vec![0, 1, 2, 3, 8])].map(|(number, cpus)| Pmu { number, cpus });
        assert_eq!(of_cores(root.path()), [atom, core]);
        assert_eq!(of_cores(&root.path().join("none")), []);
    }
}

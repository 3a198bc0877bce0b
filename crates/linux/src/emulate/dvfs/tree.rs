//! The files of emulated cores: below a root, those of `/sys` that say what cores there are, what they can be set to and what they use. Names and
//! units are the kernel's (Documentation/admin-guide/pm/cpufreq.rst, Documentation/power/energy-model.rst).

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use evenkeel_topology::list;

use super::CoreClock;

const CPUS: &str = "sys/devices/system/cpu";
const ENERGY_MODEL: &str = "sys/kernel/debug/energy_model";
const MODEL: &str = "sys/firmware/devicetree/base/model";
/// The numbers of an Energy Model are in microwatts.
const IN_WATTS: &str = "0x1";

/// The folder of a core's clock, to which one in the folder of the CPU leads.
fn policy(cpu: u16) -> String {
    format!("{CPUS}/cpufreq/policy{cpu}")
}

/// The file that sets a core's frequency, in kHz.
pub(super) fn setspeed(root: &Path, cpu: u16) -> PathBuf {
    root.join(policy(cpu)).join("scaling_setspeed")
}

/// Says the frequency that a core has.
pub(super) fn say(root: &Path, cpu: u16, khz: u64) -> io::Result<()> {
    fs::write(root.join(policy(cpu)).join("scaling_cur_freq"), format!("{khz}\n"))
}

/// Writes the files of a machine.
pub(super) fn write(root: &Path, machine: &str, cores: &[(u16, &CoreClock)]) -> io::Result<()> {
    let file = |path: String, text: &str| {
        let path = root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, format!("{text}\n"))
    };
    let mut cpus: Vec<u16> = cores.iter().map(|(cpu, _)| *cpu).collect();
    cpus.sort_unstable();
    let all = list::text(&cpus);
    for name in ["online", "possible", "present"] {
        file(format!("{CPUS}/{name}"), &all)?;
    }
    file(MODEL.into(), &format!("{machine}, emulated"))?;
    for (cpu, clock) in cores {
        let own = cpu.to_string();
        let of_cpu = |name: &str, text: &str| file(format!("{CPUS}/cpu{cpu}/{name}"), text);
        of_cpu("cpu_capacity", &clock.capacity.to_string())?;
        let topology = [
            ("core_id", own.as_str()),
            ("physical_package_id", "0"),
            ("core_cpus_list", &own),
            ("thread_siblings_list", &own),
            ("package_cpus_list", &all),
        ];
        for (name, text) in topology {
            of_cpu(&format!("topology/{name}"), text)?;
        }
        let khz: Vec<String> = clock.points.iter().map(|point| point.khz().to_string()).collect();
        let (lowest, highest) = (khz[0].as_str(), khz[khz.len() - 1].as_str());
        let nominal = khz[clock.nominal].as_str();
        let cpufreq = [
            ("affected_cpus", own.as_str()),
            ("related_cpus", &own),
            ("scaling_driver", "evenkeel"),
            ("scaling_governor", "userspace"),
            ("scaling_available_governors", "userspace"),
            ("scaling_available_frequencies", &khz.join(" ")),
            ("cpuinfo_min_freq", lowest),
            ("cpuinfo_max_freq", highest),
            ("scaling_min_freq", lowest),
            ("scaling_max_freq", highest),
            ("base_frequency", nominal),
            ("scaling_cur_freq", nominal),
            ("scaling_setspeed", nominal),
        ];
        for (name, text) in cpufreq {
            file(format!("{}/{name}", policy(*cpu)), text)?;
        }
        symlink(format!("../cpufreq/policy{cpu}"), root.join(format!("{CPUS}/cpu{cpu}/cpufreq")))?;
        let domain = format!("{ENERGY_MODEL}/cpu{cpu}");
        file(format!("{domain}/cpus"), &own)?;
        file(format!("{domain}/flags"), IN_WATTS)?;
        for (point, khz) in clock.points.iter().zip(&khz) {
            file(format!("{domain}/ps:{khz}/frequency"), khz)?;
            let microwatts = (point.busy.0 * 1e6).round().max(1.0);
            file(format!("{domain}/ps:{khz}/power"), &microwatts.to_string())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{Hz, machines};
    use evenkeel_topology::Topology;

    use super::super::Clocks;
    use super::*;

    #[test]
    fn what_reads_this_machine_reads_the_emulated_one() {
        let root = tempfile::tempdir().unwrap();
        let clocks = Clocks::of(&machines::by_name("aaws-4B4L").unwrap(), 19.0).unwrap();
        write(root.path(), &clocks.machine, &[(4, &clocks.little), (1, &clocks.big)]).unwrap();
        let topology = Topology::read(root.path()).unwrap();
        assert_eq!((topology.ids(), topology.kinds.len()), (vec![1, 4], 2));
        assert_eq!(topology.model.as_deref(), Some("aaws-4B4L, emulated"));
        assert!(topology.powers_known(), "{topology:?}");
        for (cpu, kind, clock) in [(1, 0, &clocks.big), (4, 1, &clocks.little)] {
            let cpu = topology.cpu(cpu).unwrap();
            assert_eq!((cpu.kind, cpu.base), (kind, Some(Hz(333_000_000))));
            assert_eq!(cpu.frequencies, clock.points.iter().map(|point| point.frequency).collect::<Vec<_>>());
            for (point, (hz, watts)) in clock.points.iter().zip(&cpu.powers) {
                assert!(point.frequency == *hz && (point.busy.0 - watts.0).abs() < 1e-6);
            }
            let capacity = topology.kinds[kind].capacity;
            assert_eq!(capacity, clock.capacity);
        }
    }
}

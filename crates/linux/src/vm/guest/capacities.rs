//! Publishes in sysfs how fast each core is, as kernels do where the firmware says it: `cpuN/cpu_capacity`, 1024 for the
//! fastest. The guest's kernel has no such file, or one that says 1024. Programs that read it then distinguish big and little
//! cores: `evenkeel run`, schedulers for sched_ext, runtimes. The kernel does not read it: its own scheduler stays oblivious.
//!
//! Files cannot be added to sysfs. So a folder in memory takes the place of `/sys/devices/system/cpu`. It has the new files,
//! and through bind mounts all that was there, live and writable as before.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::mount::{MountFlags, mount, mount_bind, mount_move};

use crate::spec::Spec;

/// Where the kernel has its CPUs.
const CPUS: &str = "/sys/devices/system/cpu";
/// In the folder of each CPU. What the kernel says there is left out.
const FILE: &str = "cpu_capacity";
/// Where the folder is until it is complete.
const STAGE: &str = "/run/evenkeel-cpu";

/// Publishes the capacities of these cores.
pub fn publish(spec: &Spec) -> io::Result<()> {
    fs::create_dir(STAGE)?;
    mount("tmpfs", STAGE, "tmpfs", MountFlags::empty(), Some(c"mode=0755"))?;
    build(Path::new(CPUS), Path::new(STAGE), &|name| capacity(spec, name), &bind)?;
    mount_move(STAGE, CPUS)?;
    fs::remove_dir(STAGE)
}

/// The capacity of what has this name, if it is a CPU: big ones come first.
fn capacity(spec: &Spec, name: &str) -> Option<u32> {
    let cpu: u16 = name.strip_prefix("cpu")?.parse().ok()?;
    Some(if cpu < spec.big { 1024 } else { ((1024.0 / spec.ratio).round() as u32).max(1) })
}

/// Fills `to` with all of `from`, and a capacity in each folder that has one.
fn build(
    from: &Path,
    to: &Path,
    capacity: &dyn Fn(&str) -> Option<u32>,
    bind: &dyn Fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() == FILE {
            continue;
        }
        let (from, to, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
        let capacity_of_this = entry.file_name().to_str().and_then(capacity);
        if kind.is_symlink() {
            // They are relative and stay right: the folder takes the place of the one that it is made from.
            symlink(fs::read_link(&from)?, &to)?;
        } else if !kind.is_dir() {
            fs::write(&to, "")?;
            bind(&from, &to)?;
        } else if let Some(number) = capacity_of_this {
            fs::create_dir(&to)?;
            build(&from, &to, &|_| None, bind)?;
            let file = to.join(FILE);
            fs::write(&file, format!("{number}\n"))?;
            fs::set_permissions(&file, fs::Permissions::from_mode(0o444))?;
        } else {
            fs::create_dir(&to)?;
            bind(&from, &to)?;
        }
    }
    Ok(())
}

fn bind(from: &Path, to: &Path) -> io::Result<()> {
    mount_bind(from, to).map_err(|error| io::Error::other(format!("cannot bind {}: {error}", from.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::path::PathBuf;

    #[test]
    fn big_cores_come_first() {
        let of = |machine: &str, name: &str| capacity(&machine.parse().unwrap(), name);
        let cores = ["cpu0", "cpu1", "cpu2", "cpu3"].map(|name| of("2B2S:3", name));
        assert_eq!(cores, [Some(1024), Some(1024), Some(341), Some(341)]);
        assert_eq!(["cpufreq", "cpuidle", "online", "cpu"].map(|name| of("2B2S:3", name)), [None; 4]);
        assert_eq!((of("1B1S:100", "cpu1"), of("1B1S:1", "cpu1")), (Some(10), Some(1024)));
    }

    #[test]
    fn all_that_was_there_stays_and_cpus_get_a_capacity() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for path in ["cpu0/topology", "cpu10/cache", "cpufreq"] {
            fs::create_dir_all(from.join(path)).unwrap();
        }
        fs::create_dir(&to).unwrap();
        for path in ["online", "cpu0/online", "cpu0/cpu_capacity", "cpu0/topology/core_id", "cpufreq/boost"] {
            fs::write(from.join(path), "1").unwrap();
        }
        symlink("../../node/node0", from.join("cpu0/node0")).unwrap();
        let bound = RefCell::new(Vec::new());
        let bind = |from: &Path, to: &Path| {
            assert_eq!((from.is_dir(), from.is_file()), (to.is_dir(), to.is_file()), "{}", from.display());
            bound.borrow_mut().push(to.to_path_buf());
            Ok(())
        };
        build(&from, &to, &|name| capacity(&"1B1S:2".parse().unwrap(), name), &bind).unwrap();
        let mut bound: Vec<PathBuf> = bound.into_inner();
        bound.sort_unstable();
        let expected = ["cpu0/online", "cpu0/topology", "cpu10/cache", "cpufreq", "online"].map(|path| to.join(path));
        assert_eq!(bound, expected, "folders with all that is in them");
        let text = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!((text("cpu0/cpu_capacity").as_str(), text("cpu10/cpu_capacity").as_str()), ("1024\n", "512\n"));
        assert_eq!(fs::read_link(to.join("cpu0/node0")).unwrap(), Path::new("../../node/node0"));
    }
}

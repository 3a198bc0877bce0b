//! The powers that the environment names. One test a process, because the environment is one for the whole process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use evenkeel_runtime::dedicated::{DedicatedOptions, DedicatedPool, WorkerStart};
use evenkeel_runtime::{BuildError, Pool, PoolBuilder, Topology, this_machine, this_machine_with_speeds};
use evenkeel_topology::{POWERS, SYSFS};

/// Says to this program that it was started by itself.
const INNER: &str = "EVENKEEL_TEST_INNER";

/// Runs one of these tests in a process of its own.
fn alone(test: &str, environment: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(INNER, "1").env("EVENKEEL_THREADS", "2");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn inner() -> bool {
    env::var_os(INNER).is_some()
}

#[test]
fn wrong_ones_are_an_error() {
    if !inner() {
        let output = alone("wrong_ones_are_an_error", &[(POWERS, Path::new("/nowhere.toml"))]);
        // The global pool has no caller to return an error to.
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            said.matches("evenkeel: EVENKEEL_POWERS=/nowhere.toml: cannot read /nowhere.toml").count(),
            1,
            "{said}"
        );
        return;
    }
    let wrong = this_machine().unwrap_err();
    assert!(wrong.starts_with("EVENKEEL_POWERS=/nowhere.toml: "), "{wrong}");
    assert_eq!(PoolBuilder::new().threads(2).build().err(), Some(BuildError::Powers(wrong)));
    // Neither needs them.
    assert!(PoolBuilder::new().threads(1).build().is_ok());
    assert!(PoolBuilder::new().threads(2).cores(Topology::read("/".as_ref()).unwrap()).build().is_ok());
    assert_eq!(Pool::global().install(|| 1), 1);
}

#[test]
fn programs_that_ask_for_no_error_are_told_of_wrong_ones_once() {
    if !inner() {
        let environment = [(POWERS, Path::new("/nowhere.toml"))];
        let output = alone("programs_that_ask_for_no_error_are_told_of_wrong_ones_once", &environment);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.matches("EVENKEEL_POWERS=/nowhere.toml: cannot read /nowhere.toml").count(), 1, "{said}");
        return;
    }
    for _ in 0..2 {
        let options = DedicatedOptions { threads: 2, ..DedicatedOptions::default() };
        let start = |worker: WorkerStart| thread::Builder::new().spawn(|| worker.run()).map(drop);
        let pool = DedicatedPool::start(options, start).unwrap();
        pool.release();
        pool.wait_until_stopped();
    }
}

/// Powers are those of the kinds of cores that there are when the environment has said how fast they are.
#[test]
fn powers_may_be_those_of_cores_whose_speeds_are_given() {
    if !inner() {
        let folder = tempfile::tempdir().unwrap();
        evenkeel_testing::sysfs::equal_cpus(folder.path()).unwrap();
        for (powers, mistakes) in [("aaws-4B4L", 0), ("/nowhere.toml", 1)] {
            let environment = [(SYSFS, folder.path()), (POWERS, Path::new(powers))];
            let output = alone("powers_may_be_those_of_cores_whose_speeds_are_given", &environment);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(said.matches("evenkeel: EVENKEEL_POWERS=").count(), mistakes, "{said}");
        }
        return;
    }
    assert!(this_machine().is_err(), "its cores are of one kind");
    match this_machine_with_speeds("0=3,1=1") {
        // This process may use others only.
        Err(others) if others.contains("may be used") || others.contains("there is no CPU") => {
            eprint!("{}", if env::var(POWERS).unwrap() == "/nowhere.toml" { "evenkeel: EVENKEEL_POWERS=" } else { "" });
        }
        machine => {
            let machine = machine.unwrap();
            assert_eq!(machine.kinds.len(), 2);
            assert_eq!(machine.power == Some("machine file"), env::var(POWERS).unwrap() == "aaws-4B4L");
        }
    }
}

#[test]
fn cores_have_those_of_the_machine_file() {
    let folder = tempfile::tempdir().unwrap();
    if !inner() {
        let cpus = folder.path().join("sys/devices/system/cpu");
        for cpu in 0..64_u64 {
            let cpufreq = cpus.join(format!("cpu{cpu}/cpufreq"));
            fs::create_dir_all(&cpufreq).unwrap();
            fs::write(cpus.join(format!("cpu{cpu}/cpu_capacity")), (1024 >> (cpu % 2)).to_string()).unwrap();
            fs::write(cpufreq.join("cpuinfo_min_freq"), "100000").unwrap();
            fs::write(cpufreq.join("cpuinfo_max_freq"), "666000").unwrap();
        }
        fs::write(cpus.join("online"), "0-63").unwrap();
        let environment = [(SYSFS, folder.path()), (POWERS, Path::new("aaws-4B4L"))];
        alone("cores_have_those_of_the_machine_file", &environment);
        return;
    }
    let machine = match this_machine() {
        // The tree has 64 CPUs, and this process may use others only.
        Err(none) if none.contains("may be used") => return,
        machine => machine.unwrap(),
    };
    assert_eq!(machine.power, Some("machine file"));
    assert!(machine.cpus.iter().all(|cpu| !cpu.powers.is_empty()), "{machine:?}");
    let pool = PoolBuilder::new().threads(2).build().unwrap();
    assert_eq!(pool.install(|| 1), 1);
}

//! Cores that differ where the machine does not say so, from the environment: `EVENKEEL_RAYON_CORES=0=3,1=1`.

use std::env;
use std::sync::OnceLock;

use evenkeel_runtime::{Topology, this_machine_with_speeds};

/// How fast each CPU is, in any unit. There are two speeds.
const CORES: &str = "EVENKEEL_RAYON_CORES";

/// The cores that the variable names. `None`: as the machine says. A mistake is said once, since no caller could get an error.
pub(crate) fn cores() -> Option<Topology> {
    static CORES_GIVEN: OnceLock<Option<Topology>> = OnceLock::new();
    CORES_GIVEN
        .get_or_init(|| {
            let text = env::var(CORES).ok().filter(|text| !text.is_empty())?;
            this_machine_with_speeds(&text)
                .map_err(|wrong| {
                    eprintln!("evenkeel: {CORES}={text:?}: {wrong}; the cores are taken to be as the machine says")
                })
                .ok()
        })
        .clone()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::process::Command;

    use evenkeel_runtime::this_machine_as_it_is;

    use super::*;
    use crate::{ThreadPoolBuilder, join};

    /// Says to this program that it was started by itself.
    const INNER: &str = "EVENKEEL_TEST_INNER";

    fn inner() -> bool {
        env::var_os(INNER).is_some()
    }

    /// Runs one of these tests in a process of its own, in which the variable says this. Returns what that has printed as errors.
    fn alone(test: &str, cores: &str) -> String {
        let mut command = Command::new(env::current_exe().unwrap());
        command.arg(format!("cores::tests::{test}")).args(["--exact", "--nocapture"]);
        command.env(INNER, "1").env(CORES, cores).env_remove("RAYON_NUM_THREADS").env_remove("RAYON_RS_NUM_CPUS");
        let output = command.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Two CPUs that this process may use; `None` if it may use only one.
    fn two_cpus() -> Option<[String; 2]> {
        let cpus = this_machine_as_it_is().unwrap().ids();
        Some([cpus.first()?.to_string(), cpus.get(1)?.to_string()])
    }

    /// The CPUs that this thread may use, as the kernel lists them.
    fn allowed() -> String {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    }

    #[test]
    fn a_pool_has_the_cores_that_are_named_and_a_thread_bound_to_each() {
        let Some(cpus) = two_cpus() else { return };
        if !inner() {
            let said = alone(
                "a_pool_has_the_cores_that_are_named_and_a_thread_bound_to_each",
                &format!("{}=3,{}=1", cpus[0], cpus[1]),
            );
            assert!(!said.contains(CORES), "{said}");
            return;
        }
        let pool = ThreadPoolBuilder::new().build().unwrap();
        assert_eq!(pool.current_num_threads(), 2);
        // One of them may take over the other's core between two of these.
        let bound = pool.broadcast(|_| allowed());
        assert!(bound.iter().all(|cpu| cpus.contains(cpu)), "{bound:?}");
    }

    #[test]
    fn a_mistake_is_said_once_and_pools_work() {
        if !inner() {
            let said = alone("a_mistake_is_said_once_and_pools_work", "0=3,x=1");
            let message = "evenkeel: EVENKEEL_RAYON_CORES=\"0=3,x=1\": expected CPUs with their speeds, as in 0=3,1=1; \
                           the cores are taken to be as the machine says";
            assert_eq!(said.matches(message).count(), 1, "{said}");
            return;
        }
        for _ in 0..2 {
            let pool = ThreadPoolBuilder::new().build().unwrap();
            assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
        }
    }
}

//! Real kernels under `evenkeel scx`: what runs beside the process that decides, and what that one does not delay. What is done in a guest
//! is in scx.sh.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;

use serde_json::Value;

use super::scx::{accounts, quiet_guest};

/// While the process that decides is stopped, for less long than until the machine is given back, cores take threads by themselves: every
/// thread gets on, and the account says how often that was.
#[test(vm)]
fn cores_take_threads_by_themselves_while_the_process_is_late() {
    let folder = tempfile::tempdir().unwrap();
    let (output, errors) = quiet_guest(folder.path(), "stopped", &[]);
    let mut lines = output.lines();
    let ticks: Vec<Vec<u64>> = lines
        .by_ref()
        .take(2 * 4)
        .map(|ticks| ticks.split(' ').map(|ticks| ticks.parse().unwrap()).collect())
        .collect();
    assert_eq!(lines.next(), Some("stopped: 0 disabled"), "{output}\n{errors}");
    for stop in ticks.chunks(2) {
        let ran = stop[0].iter().zip(&stop[1]).filter(|(before, after)| after > before).count();
        assert_eq!(ran, 6, "each thread runs while the process is stopped: {ticks:?}");
    }
    let account: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    // Six threads on four cores, in each of the four times.
    assert!(account["taken_late"].as_u64().unwrap() >= 8, "{account}");
}

/// Threads of the kernel that belong to one core each run there, beside threads of programs that never sleep and are more than the cores:
/// else what waits for them does not end, nor does the command.
#[test(vm)]
fn threads_of_the_kernel_run_beside_hogs() {
    let folder = tempfile::tempdir().unwrap();
    let policies = ["pfs/daemon", "pfs/kernel", "colab/kernel"];
    let (output, errors) = quiet_guest(folder.path(), "kernel-threads", &policies);
    accounts(&(output, errors, 0.0), &policies);
}

/// A hot thread that is on a little core reaches a big one within 20 ms of that being idle. Seen on a quiet machine: each time. On a busy one
/// the cores of a guest stand still for longer now and then.
#[test(vm)]
fn a_hot_thread_reaches_a_big_core_in_20_ms() {
    let folder = tempfile::tempdir().unwrap();
    let policies = ["pfs/daemon", "pfs/kernel", "colab/kernel"];
    let (output, errors) = quiet_guest(folder.path(), "hot", &policies);
    println!("{output}\n{errors}");
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 3 * policies.len(), "{output}\n{errors}");
    for (told, policy) in lines.chunks(3).zip(policies) {
        let (soon, all) = told[0].split_once(" of ").unwrap();
        let [soon, all]: [u64; 2] = [soon, all].map(|times| times.parse().unwrap());
        assert!(all >= 10 && 4 * soon >= all, "{policy}: {} within 20 ms: {}", told[0], told[2]);
        assert_eq!(told[1], format!("{policy} 0 disabled"), "{output}\n{errors}");
    }
}

/// The live view finds the process that schedules the kernel, shows threads that it schedules, and leaves the terminal when `q` is pressed.
#[test(vm)]
fn the_live_view_shows_a_kernel_that_is_scheduled() {
    let folder = tempfile::tempdir().unwrap();
    let (output, errors) = quiet_guest(folder.path(), "top", &[]);
    assert_eq!(output, "top: 0\nscheduled: 7 disabled\n", "{errors}");
    let shown = fs::read(folder.path().join("shown")).unwrap();
    // Until it leaves the alternate screen.
    let leaves = b"\x1b[?1049l";
    let end = shown.windows(leaves.len()).rposition(|bytes| bytes == leaves).unwrap();
    let mut screen = vt100::Parser::new(30, 100, 0);
    screen.process(&shown[..end]);
    let screen = screen.screen().contents();
    for text in ["evenkeel scx", "policy colab", "0 big", "3 little", "programs"] {
        assert!(screen.contains(text), "{text}: {screen}");
    }
}

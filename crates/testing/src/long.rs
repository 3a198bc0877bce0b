//! Tests that take long: told while they run, so that one that hangs is known by its name, and when all have ended.

use std::cmp::Reverse;
use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A test that takes so long is told of at the end: where the time of all went.
const LONG: Duration = Duration::from_secs(10);
/// One that has not ended is told of so often.
const REMINDED: Duration = Duration::from_secs(300);
static TOOK: Mutex<Vec<(&str, Duration)>> = Mutex::new(Vec::new());

/// Notes how long a test took, also when it fails.
pub(crate) struct Timed {
    name: &'static str,
    begun: Instant,
    /// Gone when the test has ended.
    _ended: Sender<()>,
}

impl Timed {
    pub(crate) fn begin(name: &'static str) -> Self {
        let (sender, ended) = mpsc::channel();
        #[expect(clippy::disallowed_methods, reason = "no simulated time")]
        let begun = Instant::now();
        std::thread::spawn(move || {
            while ended.recv_timeout(REMINDED) == Err(RecvTimeoutError::Timeout) {
                println!("\n{name} goes on, after {} min:", begun.elapsed().as_secs() / 60);
                print!("{}", processes(std::process::id(), 1));
            }
        });
        Self { name, begun, _ended: sender }
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        let took = self.begun.elapsed();
        if took >= LONG {
            TOOK.lock().unwrap_or_else(PoisonError::into_inner).push((self.name, took));
        }
    }
}

/// Prints those that took long.
pub(crate) fn print() {
    let mut took = TOOK.lock().unwrap_or_else(PoisonError::into_inner);
    took.sort_by_key(|(_, time)| Reverse(*time));
    for (name, time) in took.iter() {
        println!("{:5} s  {name}", time.as_secs());
    }
}

/// The processes that a process has started, and so on: a line each, with the states of their threads and where in the kernel they wait.
fn processes(parent: u32, depth: usize) -> String {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let tasks = |process: u32| {
        let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()?.parse::<u32>().ok()).collect::<Vec<_>>()
    };
    let mut lines = String::new();
    for thread in tasks(parent) {
        for child in read(format!("/proc/{parent}/task/{thread}/children")).split_whitespace() {
            let Ok(process) = child.parse::<u32>() else { continue };
            let command = read(format!("/proc/{process}/cmdline")).replace('\0', " ");
            let state = |task: &u32| {
                let stat = read(format!("/proc/{process}/task/{task}/stat"));
                let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
                format!("{} {}", state.unwrap_or('?'), read(format!("/proc/{process}/task/{task}/wchan")))
            };
            let states: Vec<String> = tasks(process).iter().take(8).map(state).collect();
            let command: String = command.chars().take(160).collect();
            lines +=
                &format!("{:indent$}{process} {} [{}]\n", "", command.trim(), states.join(", "), indent = 2 * depth);
            if depth < 8 {
                lines += &processes(process, depth + 1);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_goes_on_tells_what_it_waits_for() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 5 & wait"]).spawn().unwrap();
        let told = (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            let told = processes(std::process::id(), 1);
            let both =
                told.contains("sh -c sleep 5 & wait [S") && told.contains("    ") && told.contains(" sleep 5 [S");
            both.then_some(told)
        });
        crate::kill("-9", &[child.id().to_string()]);
        child.wait().unwrap();
        assert!(told.is_some(), "a shell and its sleep are told");
    }
}

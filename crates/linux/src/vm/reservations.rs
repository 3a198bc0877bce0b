//! Which processes hold reservations of CPU time (SCHED_DEADLINE).

use std::fmt;
use std::fs;

use crate::event::Tid;
use crate::realtime::{self, Reservation};

/// A process with a reservation.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    /// Its number.
    pub process: Tid,
    /// What it is, for people.
    pub name: String,
    /// Whether it is stopped, as by Ctrl-Z. It keeps its reservation then.
    pub stopped: bool,
    /// How many CPUs its threads have reserved together.
    pub cpus: f64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stopped = if self.stopped { ", stopped" } else { "" };
        write!(f, "{} (process {}{stopped}) has {:.2} CPUs", self.name, self.process, self.cpus)
    }
}

/// What the QEMU of a guest counts as, together with the process that has its shares enforced.
const GUEST: &str = "evenkeel vm";

/// All of them that are visible here.
pub fn holders() -> Vec<Holder> {
    let mut holders: Vec<Holder> = Vec::new();
    for found in processes().filter_map(holder) {
        match holders.iter_mut().find(|holder| holder.process == found.process) {
            Some(holder) => {
                holder.cpus += found.cpus;
                holder.name = GUEST.to_owned();
            }
            None => holders.push(found),
        }
    }
    holders.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
    holders
}

fn processes() -> impl Iterator<Item = Tid> {
    numbers("/proc")
}

/// The names in a folder that are numbers.
fn numbers(folder: &str) -> impl Iterator<Item = Tid> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn holder(process: Tid) -> Option<Holder> {
    let cpus: f64 =
        numbers(&format!("/proc/{process}/task")).filter_map(realtime::reservation).map(Reservation::share).sum();
    // Kernel threads that set frequencies have this class, too, and no command line.
    let command = Command::of(process).filter(|_| cpus > 0.0)?;
    let guest = command.words.iter().any(|word| word.starts_with("evenkeel,")) && command.name().starts_with("qemu");
    let (process, command) = match Command::of(command.parent).filter(|_| guest) {
        Some(parent) => (command.parent, parent),
        None => (process, command),
    };
    let name = if guest { GUEST.to_owned() } else { command.name() };
    Some(Holder { process, name, stopped: command.state == 'T', cpus })
}

/// What a process is.
struct Command {
    words: Vec<String>,
    state: char,
    parent: Tid,
}

impl Command {
    fn of(process: Tid) -> Option<Self> {
        let text = fs::read(format!("/proc/{process}/cmdline")).ok().filter(|text| !text.is_empty())?;
        let words = text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name before may have spaces and parentheses.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        Some(Self { words, state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
    }

    /// The file name of the program.
    fn name(&self) -> String {
        let program = self.words.first().map_or("", String::as_str);
        program.rsplit('/').next().unwrap_or(program).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Ns;

    use super::*;

    /// A thread of this process reserves a little and is found with it; without the privilege, nothing is.
    #[test]
    fn a_process_that_reserves_is_named() {
        let tried = std::thread::spawn(|| (realtime::reserve(0, Reservation::of(0.02, Ns::from_ms(10))), holders()))
            .join()
            .unwrap();
        let own = tried.1.iter().find(|holder| holder.process == std::process::id());
        let Some(own) = own.filter(|_| tried.0.is_ok()) else {
            assert!(tried.0.is_err() && own.is_none(), "{tried:?}");
            return;
        };
        assert!((own.cpus - 0.02).abs() < 1e-6 && !own.stopped, "{own:?}");
        let said = own.to_string();
        assert!(said.contains(&format!("(process {}) has 0.02 CPUs", std::process::id())), "{said}");
    }
}

//! One run of a program, with the time that it takes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{ExitStatus, Stdio};

use evenkeel_model::Ns;
use rustix::process::{Pid, Signal, kill_process};

use super::Measured;
use crate::clock::clock;
use crate::energy::Counters;
use crate::event::Tid;
use crate::launch::{Arrived, Signals, end_of, tied};
use crate::process::{children, text};
use crate::wait::poll;

/// How often it is looked whether there is a signal, or what the program has loaded; sooner at first, as programs load libraries then.
const FIRST: Ns = Ns::from_ms(2);
const INTERVAL: Ns = Ns::from_ms(50);

/// A run to be made.
pub struct Turn<'a> {
    /// The program with its arguments.
    pub command: &'a [OsString],
    /// Whether its output goes to this program's standard error, and not away. Results go to standard output.
    pub shows: bool,
    /// Variables that its environment is without.
    pub without: &'a [&'a str],
    /// Whether it is one of Evenkeel's hosts: one that is killed lets its program run on, one that is asked to end has it end first.
    pub hosted: bool,
    /// Whether signals reach it that end no program by themselves.
    pub hears: bool,
    /// What counts energy.
    pub counters: &'a Counters,
}

/// A run that has been made.
#[derive(Debug)]
pub struct Ended {
    /// What it took.
    pub measured: Measured,
    /// How it ended.
    pub status: ExitStatus,
    /// The signal that has ended it, and is to end this program, too.
    pub signal: Option<i32>,
    /// The names of the files that it, and what it started, were seen to have in memory, if that was asked for.
    pub loaded: BTreeSet<String>,
}

impl Turn<'_> {
    /// Makes it. What the program reads is empty. Signals are passed on. If this thread is killed, the process that it has
    /// started ends, but not what that has started in turn, except by a host.
    ///
    /// # Errors
    /// No process can be started.
    pub fn run(&self, signals: &Signals, asks_for_loaded: bool) -> io::Result<Ended> {
        let [program, words @ ..] = self.command else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut command = tied(program, if self.hosted { Signal::TERM } else { Signal::KILL });
        command.args(words).stdin(Stdio::null());
        if self.shows {
            command.stdout(io::stderr());
        } else {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        for name in self.without {
            command.env_remove(name);
        }
        let before = self.counters.read();
        let began = clock();
        let mut child = command.spawn()?;
        let end = end_of(child.id())?;
        // What ended nothing before this run was for none.
        let ends = |arrived: &Arrived| Signals::ends(arrived.signal);
        let mut arrived: Vec<Arrived> = signals.take().filter(ends).collect();
        let mut passed = None;
        let mut loaded = BTreeSet::new();
        let mut interval = FIRST;
        let status = loop {
            poll(&[end.as_fd()], interval)?;
            interval = INTERVAL.min(interval + interval);
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if asks_for_loaded {
                look_at(child.id(), &mut loaded);
            }
            arrived.extend(signals.take());
            for arrived in arrived.drain(..) {
                if ends(&arrived) {
                    passed = Some(arrived.signal);
                } else if !self.hears {
                    continue;
                }
                if let Some(signal) = Signal::from_named_raw(arrived.signal).filter(|_| !arrived.by_terminal) {
                    let _ = kill_process(Pid::from_child(&child), signal);
                }
            }
        };
        let measured = Measured { wall: clock() - began, energy_j: self.counters.since(&before) };
        // One of the terminal's may have ended it at once.
        let signal = passed.or_else(|| signals.take().filter(ends).last().map(|arrived| arrived.signal));
        Ok(Ended { measured, status, signal, loaded })
    }
}

/// Adds the names of the files that a process, and all that it has started, have in memory: a program is often started by a script.
fn look_at(process: Tid, loaded: &mut BTreeSet<String>) {
    let mut processes = vec![process];
    while let Some(process) = processes.pop() {
        processes.extend(children(process));
        let maps = text(format!("/proc/{process}/maps")).unwrap_or_default();
        loaded.extend(maps.lines().filter_map(|line| Some(line.rsplit_once('/')?.1.to_owned())));
    }
}

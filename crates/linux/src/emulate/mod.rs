//! Makes this machine asymmetric for a while: on each little core a real-time thread takes as much of the time as makes
//! the core as slow as it should be. Nothing is changed that would have to be undone: when this process ends, however it
//! ends, its threads end with it. With [`dvfs`] all cores have such a thread, and how slow each is follows from its frequency.

pub mod duty;
pub mod dvfs;

mod control;
mod neighbours;
mod occupy;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use evenkeel_model::Ns;
use evenkeel_topology::list;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use signal_hook::consts::SIGCONT;

use crate::clock::clock;
use crate::event::Tid;
use crate::guard::{Change, Guard};
use crate::orphans::Orphans;
use crate::spec::Spec;
use crate::{mask, process};
use control::Control;
use duty::{Account, Duty};
use dvfs::{ClockAccount, Clocked, Clocks, CoreClock, Watcher};
use neighbours::Neighbours;

/// How long a cycle is. A slower core is slow all the time, an emulated one in slices, so short cycles are nearer to the
/// truth; but each costs others two switches and cold caches, of which the account has an estimate only.
pub const PERIOD: Ns = Ns::from_ms(4);
/// Cycles may be this long: shorter ones are mostly switches, longer ones reach the limit of real-time time.
pub const PERIODS: std::ops::RangeInclusive<Ns> = Ns::from_us(50)..=Ns::from_ms(100);
/// The kernel leaves ordinary threads 5 % of every second: by the limit of real-time time, which can be lifted, or since
/// 6.12 by a server for them, which that limit does not bind.
const MOST: f64 = 0.95;
/// What of that is kept for making up for late timers.
const RESERVE: f64 = 0.0025;

/// Which CPUs become big or little, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The CPUs that stay as they are.
    pub big: Vec<u16>,
    /// The CPUs to be made slower.
    pub little: Vec<u16>,
    /// How many times faster a big core is, 1 or more.
    pub ratio: f64,
    /// How long a cycle is.
    pub period: Ns,
    /// What frequencies mean, if they can be set; then the ratio is that at nominal frequencies, and all cores are as slow as theirs says.
    pub clocks: Option<Clocks>,
}

/// Why a machine cannot be made asymmetric.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// More cores than CPUs.
    #[error(
        "{spec} needs {} CPUs, and this process may use {} ({}): name fewer cores, or let `evenkeel vm` make a machine \
         with more cores than there are", spec.cores(), allowed.len(), list::text(allowed)
    )]
    TooFew {
        /// What was requested.
        spec: Spec,
        /// What there is.
        allowed: Vec<u16>,
    },
    /// A CPU that this process may not use.
    #[error("CPU {cpu} cannot be used: expected CPUs of {}, those that this process may use", list::text(allowed))]
    Forbidden {
        /// The CPU.
        cpu: u16,
        /// What there is.
        allowed: Vec<u16>,
    },
    /// Nothing to be made slower.
    #[error("no core is little: expected one at least, as in 1B1L:3")]
    NoLittle,
    /// The kernel would not let real-time threads occupy that much.
    #[error(
        "a ratio of {ratio} means to occupy {:.1} % of a little core, and the kernel gives real-time threads {:.1} % at \
         most (kernel.sched_rt_runtime_us, and its server for ordinary threads): expected a ratio of {:.1} at most",
        100.0 * (1.0 - 1.0 / ratio), 100.0 * most, (10.0 * highest(*most)).floor() / 10.0
    )]
    Ratio {
        /// What was requested.
        ratio: f64,
        /// The share that can be occupied.
        most: f64,
    },
    /// A core type that would be too slow at all of its operating points.
    #[error(
        "machine {machine}: {core} would be more than {slowest:.1} times slower than the fastest core at its highest frequency, \
         which cannot be emulated; choose another machine"
    )]
    TooSlow {
        /// The machine.
        machine: String,
        /// The core type.
        core: String,
        /// How many times slower a core can be made.
        slowest: f64,
    },
    /// No files for frequencies.
    #[error("cannot make the files that set frequencies, in /tmp: {0}")]
    Files(io::Error),
    /// No privilege.
    #[error(
        "cannot occupy CPU {cpu}: this process may not use SCHED_FIFO; expected CAP_SYS_NICE (root has it) or \
         RLIMIT_RTPRIO of 1 or more (`ulimit -r`), and, where cgroups divide real-time time, cpu.rt_runtime_us above 0; \
         `evenkeel vm --symmetric` and `evenkeel sim` need neither"
    )]
    Forbade {
        /// The CPU.
        cpu: u16,
    },
    /// Something else, such as a CPU that went offline.
    #[error("cannot occupy CPU {cpu}: {error}")]
    Thread {
        /// The CPU.
        cpu: u16,
        /// What the kernel said.
        error: io::Error,
    },
    /// The CPUs of this process cannot be read.
    #[error("cannot see which CPUs this process may use: {0}")]
    Affinity(io::Error),
}

/// A command that is confined to a part of what it may use.
#[derive(Debug)]
pub struct Confined {
    before: CpuSet,
    after: CpuSet,
    guard: Tid,
    /// What outlives the process that started it.
    orphans: Orphans,
}

impl Confined {
    /// Waits for what has ended and whose parent has, which is a child of this process then. To be called now and then.
    pub fn reap(&self) {
        let _ = self.orphans.living(self.guard);
    }

    /// The command has ended: what it has left running may use every CPU again, if it still has the machine's mask.
    pub fn end(self) {
        let narrow = |tid: Tid| sched_getaffinity(Pid::from_raw(tid as i32)).is_ok_and(|now| now == self.after);
        let widened = |tid: &Tid| {
            let widens = narrow(*tid) && sched_setaffinity(Pid::from_raw(*tid as i32), &self.before).is_ok();
            widens && !narrow(*tid)
        };
        // What is started meanwhile may have inherited the mask.
        loop {
            let left = self.orphans.living(self.guard).into_iter();
            let threads = left.flat_map(|process| process::family(process).unwrap_or_default());
            if threads.filter(widened).count() == 0 {
                return;
            }
        }
    }
}

impl Plan {
    /// The first CPUs that this process may use become big, the next ones little.
    ///
    /// # Errors
    /// Too few CPUs, or no little one.
    pub fn of(spec: &Spec, period: Ns, clocks: Option<Clocks>) -> Result<Self, Error> {
        Self::among(spec, period, clocks, allowed()?)
    }

    fn among(spec: &Spec, period: Ns, clocks: Option<Clocks>, allowed: Vec<u16>) -> Result<Self, Error> {
        if spec.little == 0 && clocks.is_none() {
            return Err(Error::NoLittle);
        }
        if allowed.len() < usize::from(spec.cores()) {
            return Err(Error::TooFew { spec: *spec, allowed });
        }
        let (big, rest) = allowed.split_at(usize::from(spec.big));
        let little = rest[..usize::from(spec.little)].to_vec();
        let ratio = clocks.as_ref().map_or(spec.ratio, Clocks::ratio);
        Ok(Self { big: big.to_vec(), little, ratio, period, clocks })
    }

    /// All CPUs of the machine, ascending.
    pub fn cpus(&self) -> Vec<u16> {
        let mut cpus = [&self.big[..], &self.little].concat();
        cpus.sort_unstable();
        cpus
    }

    /// Confines a process that has not begun yet, and so all that it starts, to the machine; `None` if the machine is all that the process
    /// may use, so that nothing changes. If this process is killed, the guard undoes it.
    ///
    /// # Errors
    /// The process has gone, or there is no memory.
    pub fn confine(&self, process: Tid, guard: &mut Guard) -> io::Result<Option<Confined>> {
        let pid = Pid::from_raw(process as i32);
        let (before, after) = (sched_getaffinity(pid)?, mask::of(self.cpus()));
        if before == after {
            return Ok(None);
        }
        let started = process::started(process).unwrap_or_default();
        guard.record(&Change { tid: process, started, process, before, after, inherited: true })?;
        sched_setaffinity(pid, &after)?;
        let orphans = Orphans::of(process);
        Ok(Some(Confined { before: mask::lasting(before), after, guard: guard.pid(), orphans }))
    }

    /// The CPUs that a thread occupies: those that are slower, or can be made so.
    fn occupied(&self) -> Vec<(u16, f64, Option<&CoreClock>)> {
        let Some(clocks) = &self.clocks else {
            return self.little.iter().map(|cpu| (*cpu, self.ratio, None)).collect();
        };
        let big = self.big.iter().map(|cpu| (cpu, &clocks.big));
        let all = big.chain(self.little.iter().map(|cpu| (cpu, &clocks.little)));
        all.map(|(cpu, clock)| (*cpu, clock.points[clock.nominal].ratio, Some(clock))).collect()
    }

    fn check(&self, most: f64) -> Result<(), Error> {
        if self.little.is_empty() && self.clocks.is_none() {
            return Err(Error::NoLittle);
        }
        let allowed = allowed()?;
        if let Some(cpu) = self.cpus().into_iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(Error::Forbidden { cpu, allowed });
        }
        if self.ratio > highest(most) {
            return Err(Error::Ratio { ratio: self.ratio, most });
        }
        Ok(())
    }
}

/// The CPUs that this process may use, ascending.
fn allowed() -> Result<Vec<u16>, Error> {
    let set = sched_getaffinity(None).map_err(|error| Error::Affinity(error.into()))?;
    Ok(mask::cpus(&set).collect())
}

/// The share of a CPU that real-time threads can have.
fn most() -> f64 {
    let read = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
        text.trim().parse::<f64>().ok()
    };
    match (read("sched_rt_runtime_us"), read("sched_rt_period_us")) {
        (Some(runtime), Some(period)) if runtime >= 0.0 && period > 0.0 => (runtime / period).min(MOST),
        _ => MOST,
    }
}

/// The highest ratio where real-time threads can have this share.
fn highest(most: f64) -> f64 {
    1.0 / (1.0 - (most - RESERVE).max(0.0))
}

/// How many times slower than another a core can be made.
pub fn slowest() -> f64 {
    highest(most())
}

/// A machine that is asymmetric until this is dropped.
pub struct Emulation {
    threads: Vec<(u16, Arc<Control>, JoinHandle<Account>)>,
    watcher: Option<Watcher>,
    neighbours: Option<Neighbours>,
    /// Set when this process continues after it was stopped.
    continued: Arc<AtomicBool>,
}

/// How slow the little cores were, and what came in between.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The account of each CPU that was occupied: the little ones, or all whose frequencies could be set.
    pub cores: Vec<(u16, Account)>,
    /// What came of the frequencies of these, in the same order, if they could be set.
    pub clocks: Vec<ClockAccount>,
    /// Other Evenkeels that slowed a CPU down at the same time.
    pub neighbours: BTreeSet<(u16, Tid)>,
    /// This process was stopped for a while, by Ctrl-Z or SIGSTOP, and with it the threads that slow CPUs down.
    pub stopped: bool,
}

impl Emulation {
    /// Makes this machine asymmetric.
    ///
    /// # Errors
    /// No privilege, or a plan that this machine or this process cannot follow.
    pub fn start(plan: &Plan) -> Result<Self, Error> {
        let most = most();
        plan.check(most)?;
        let continued = Arc::default();
        let _ = signal_hook::flag::register(SIGCONT, Arc::clone(&continued));
        let occupied = plan.occupied();
        let mut emulation = Self { threads: Vec::new(), watcher: None, neighbours: None, continued };
        let began = clock();
        let mut clocked = Vec::new();
        for (number, (cpu, ratio, core)) in (0..).zip(&occupied) {
            // Cores are not to be away all at the same time.
            let began = began + Ns(number * plan.period.0 / occupied.len() as u64);
            let control = emulation.slow_down(*cpu, Duty::new(*ratio, plan.period, most, began), *ratio)?;
            clocked.extend(core.map(|core| Clocked { cpu: *cpu, clock: core.clone(), control }));
        }
        if let Some(clocks) = &plan.clocks {
            emulation.watcher = Some(Watcher::start(&clocks.machine, clocked).map_err(Error::Files)?);
        }
        // Last, since one that is refused spoils nothing that others measure.
        let cpus: Vec<u16> = occupied.iter().map(|(cpu, _, _)| *cpu).collect();
        emulation.neighbours = Neighbours::of(&cpus).ok();
        Ok(emulation)
    }

    fn slow_down(&mut self, cpu: u16, duty: Duty, ratio: f64) -> Result<Arc<Control>, Error> {
        let (ready, prepared) = mpsc::channel();
        let control = Arc::new(Control::new(ratio));
        let told = control.clone();
        let body = move || {
            let state = occupy::prepare(cpu);
            let prepared = state.is_ok();
            let heard = ready.send(state).is_ok();
            if prepared && heard { occupy::occupy(duty, &told) } else { Account::default() }
        };
        let thread = thread::Builder::new().name(format!("slow-cpu{cpu}")).spawn(body);
        self.threads.push((cpu, control.clone(), thread.map_err(|error| Error::Thread { cpu, error })?));
        match prepared.recv() {
            Ok(Ok(())) => Ok(control),
            Ok(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => Err(Error::Forbade { cpu }),
            Ok(Err(error)) => Err(Error::Thread { cpu, error }),
            Err(_) => Err(Error::Thread { cpu, error: io::ErrorKind::BrokenPipe.into() }),
        }
    }

    /// Where the files are that set frequencies, if they can be set: a folder like `/`.
    pub fn root(&self) -> Option<&Path> {
        self.watcher.as_ref().map(Watcher::root)
    }

    /// Gives the machine back, and returns how slow each little CPU was.
    pub fn finish(mut self) -> Outcome {
        let clocks = self.watcher.take().map(Watcher::finish).unwrap_or_default();
        let cores = self.end();
        let neighbours = self.neighbours.take().map(Neighbours::finish).unwrap_or_default();
        Outcome { cores, clocks, neighbours, stopped: self.continued.load(Ordering::Relaxed) }
    }

    fn end(&mut self) -> Vec<(u16, Account)> {
        self.threads.iter().for_each(|(_, control, _)| control.stop());
        let threads = std::mem::take(&mut self.threads);
        threads.into_iter().map(|(cpu, _, thread)| (cpu, thread.join().unwrap_or_default())).collect()
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(word: &str) -> Spec {
        word.parse().unwrap()
    }

    #[test]
    fn the_first_cpus_become_big() {
        let plan = Plan::among(&spec("1B2S:3"), PERIOD, None, vec![1, 4, 5, 9]).unwrap();
        assert_eq!((plan.big.as_slice(), plan.little.as_slice()), ([1].as_slice(), [4, 5].as_slice()));
        assert_eq!(plan.cpus(), [1, 4, 5]);
    }

    #[test]
    fn what_cannot_be_says_what_could() {
        let message = |word, allowed| Plan::among(&spec(word), PERIOD, None, allowed).unwrap_err().to_string();
        let few = message("2B2S:3", vec![0, 1]);
        assert!(few.contains("2B2S:3 needs 4 CPUs, and this process may use 2 (0-1)"), "{few}");
        assert!(message("2B", vec![0, 1]).contains("1B1L:3"));
        let plan = Plan { big: vec![], little: allowed().unwrap(), ratio: 25.0, period: PERIOD, clocks: None };
        let high = plan.check(0.95).unwrap_err().to_string();
        assert!(high.contains("96.0 %") && high.contains("95.0 %") && high.contains("19.0 at most"), "{high}");
        let plan = Plan { little: vec![1023], ratio: 3.0, ..plan };
        let absent = plan.check(0.95).unwrap_err().to_string();
        assert!(absent.contains("CPU 1023 cannot be used"), "{absent}");
    }

    #[test]
    fn no_more_is_promised_than_the_kernel_gives() {
        assert!(most() <= MOST);
        assert!((19.0..20.0).contains(&highest(0.95)));
        assert!((1.0..1.01).contains(&highest(0.0)), "nothing can be occupied");
    }

    /// By the account of the emulation itself; how fast anything ran meanwhile depends on what else this machine does.
    #[test]
    fn a_cpu_gets_as_slow_as_it_should_be() {
        let cpu = *allowed().unwrap().last().unwrap();
        let plan = Plan { big: vec![], little: vec![cpu], ratio: 3.0, period: PERIOD, clocks: None };
        let mut reached = Vec::new();
        // A stall of the whole machine at the very end cannot be made up for; not so every time.
        while reached.len() < 10 {
            let emulation = match Emulation::start(&plan) {
                Err(Error::Forbade { .. }) => return,
                started => started.unwrap(),
            };
            thread::sleep(std::time::Duration::from_millis(300));
            let accounts = emulation.finish().cores;
            let [(on, account)] = accounts[..] else { panic!("{accounts:?}") };
            assert_eq!(on, cpu);
            assert!(account.cycles > 1 && account.elapsed >= Ns::from_ms(290), "{account:?}");
            reached.push(account.ratio().unwrap());
            if reached.last().is_some_and(|last| (last / plan.ratio - 1.0).abs() < 0.02) {
                return;
            }
        }
        panic!("{reached:?}");
    }
}

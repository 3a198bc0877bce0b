//! Scripts that real threads play.

use std::time::Duration;
use std::{fs, thread};

use evenkeel_model::{CoreId, CoreSet, Ns};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::{PlayedThread, RATIO, Script, Step};

/// Equally fast CPUs of this machine on which threads of this process play. A thread finds out often where it is and what it has
/// run, and on a little core it counts only a part of that as work, as if that were slower.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The CPU that each core is.
    pub cpus: Vec<u16>,
    /// So many of them are big; they come first.
    pub big: u16,
    /// Everything takes this many times as long, so that what disturbs the machine matters less.
    pub stretch: u64,
    /// The CPU of a thread that has apparently run longer than this between two samples stood still: it is a virtual one,
    /// whose host was busy.
    pub standstill: Ns,
}

impl Stage {
    /// Has a thread play each script, to its end. Their names are their numbers. What is returned is as if nothing had been
    /// stretched.
    ///
    /// # Panics
    /// A thread cannot be started, or a script allows itself none of the CPUs.
    pub fn play(&self, scripts: &[Script]) -> Vec<PlayedThread> {
        // Also until each has its own mask.
        self.keep_to(CoreSet::first(self.cpus.len()));
        thread::scope(|scope| {
            let threads = scripts.iter().enumerate().map(|(number, script)| {
                let thread = thread::Builder::new().name(number.to_string());
                thread.spawn_scoped(scope, move || self.perform(script)).expect("a thread")
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().expect("it plays its script")).collect()
        })
    }

    fn perform(&self, script: &Script) -> PlayedThread {
        let mut played = PlayedThread::default();
        // What it may use afterwards does not move it.
        self.keep_to(CoreSet::EMPTY.with(script.on));
        self.sleep(script.begins);
        self.keep_to(script.cores);
        let before = Counted::now();
        for step in &script.steps {
            match step {
                Step::Work(work) => self.compute(*work, &mut played),
                Step::Sleep(span) => self.sleep(*span),
                Step::Restrict(cores) => self.keep_to(*cores),
                Step::Displaced(_) => unreachable!("the kernel moves threads when it wants to"),
            }
        }
        let shrink = |time: Ns| Ns(time.0 / self.stretch);
        let real = Ns(played.big.0 + played.little.0);
        let waited = Counted::now().zip(before).map(|(after, before)| shrink(after.waited_since(before, real)));
        PlayedThread { ended: true, big: shrink(played.big), little: shrink(played.little), waited, ..played }
    }

    fn keep_to(&self, cores: CoreSet) {
        let mut set = CpuSet::new();
        for (core, cpu) in (0..).zip(&self.cpus) {
            if cores.contains(CoreId(core)) {
                set.set(usize::from(*cpu));
            }
        }
        sched_setaffinity(None, &set).expect("CPUs that it may use");
    }

    fn sleep(&self, span: Ns) {
        thread::sleep(Duration::from_nanos(span.0 * self.stretch));
    }

    fn compute(&self, work: Ns, played: &mut PlayedThread) {
        let (mut left, mut counted) = (work.0 * self.stretch * RATIO, used());
        while left > 0 {
            let core = self.core();
            let now = used();
            let time = now.since(counted).min(self.standstill);
            counted = now;
            let big = core.0 < self.big;
            left = left.saturating_sub(time.0 * if big { RATIO } else { 1 });
            *(if big { &mut played.big } else { &mut played.little }) += time;
            played.cores.insert(core);
        }
    }

    /// The core that the caller runs on.
    fn core(&self) -> CoreId {
        let here = sched_getcpu();
        let core = self.cpus.iter().position(|cpu| usize::from(*cpu) == here).expect("a CPU of its mask");
        CoreId(core as u16)
    }
}

/// For how long the kernel says that the caller has run, and has waited for a core.
#[derive(Clone, Copy)]
struct Counted {
    ran: Ns,
    waited: Ns,
}

impl Counted {
    /// `None` if the kernel keeps no count.
    fn now() -> Option<Self> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().ok().map(Ns));
        Some(Self { ran: numbers.next()??, waited: numbers.next()?? })
    }

    /// Time waited since `before`, without the time in which the virtual CPU stood still. The kernel counts that time as
    /// running, though only `real` of it was, and as waiting of the threads that waited meanwhile.
    fn waited_since(self, before: Self, real: Ns) -> Ns {
        let (ran, waited) = (self.ran.since(before.ran), self.waited.since(before.waited));
        if ran <= real { waited } else { Ns((waited.0 as f64 * real.0 as f64 / ran.0 as f64) as u64) }
    }
}

/// What the caller has run.
fn used() -> Ns {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::ThreadCPUTime);
    Ns(tv_sec as u64 * 1_000_000_000 + tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_stands_still_is_not_waited_for() {
        let counted = |ran, waited| Counted { ran: Ns::from_ms(ran), waited: Ns::from_ms(waited) };
        let waited = |real| counted(110, 70).waited_since(counted(10, 10), Ns::from_ms(real));
        assert_eq!(waited(100), Ns::from_ms(60));
        assert_eq!(waited(50), Ns::from_ms(30), "half of the time it was the machine");
        assert_eq!(waited(101), Ns::from_ms(60), "the clocks are not quite one");
    }
}

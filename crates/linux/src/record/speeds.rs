//! Which CPUs get less done in their time than others though the machine says that they are equal.
//!
//! A virtual machine's CPUs look alike whatever its host lets them have. Work that is recorded there as CPU time would
//! count as the same on all of them. So every CPU computes for some milliseconds, all at once, and what each gets done in a
//! nanosecond of CPU time is its speed. Time that other threads of this machine take is no CPU time, and does not count.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use evenkeel_model::Ns;
use evenkeel_topology::list;
use rustix::time::{ClockId, clock_gettime};

use crate::clock::clock;
use crate::windows::{self, MOST, WINDOW};

/// Smaller ratios are noise.
const LEAST: f64 = 1.3;

/// CPUs that are slower than the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Uneven {
    /// The others.
    pub big: Vec<u16>,
    /// The slower ones.
    pub little: Vec<u16>,
    /// How many times faster the others are.
    pub ratio: f64,
}

impl Uneven {
    /// What a reader of the recording should know.
    pub fn note(&self) -> String {
        let (big, little) = (list::text(&self.big), list::text(&self.little));
        let share = 1.0 / self.ratio;
        format!(
            "CPUs {big} and {little} look equal, but ran at speeds 1 : {share:.2} before the program started, and the recording \
             takes them for equal; if that is how they are, give --big {big} --ratio {:.1}",
            self.ratio
        )
    }
}

/// Measures CPUs that the machine describes as equal; `None` if they are, or if they are too busy to measure.
pub fn uneven(cpus: &[u16]) -> Option<Uneven> {
    split(cpus, &measure(cpus)?)
}

/// What each CPU gets done in a nanosecond of CPU time, in steps of a computation.
fn measure(cpus: &[u16]) -> Option<Vec<f64>> {
    let go = AtomicBool::new(false);
    let compute = |cpu: u16| {
        let ready = windows::begin_on(cpu);
        while !go.load(Ordering::Acquire) {
            thread::yield_now();
        }
        ready.then(rate).flatten()
    };
    thread::scope(|scope| {
        let compute = &compute;
        let start = |cpu: &u16| {
            let cpu = *cpu;
            thread::Builder::new().spawn_scoped(scope, move || compute(cpu)).ok()
        };
        let threads: Vec<_> = cpus.iter().map(start).collect();
        go.store(true, Ordering::Release);
        threads.into_iter().map(|thread| thread?.join().ok()?).collect()
    })
}

/// The same of the CPU that this runs on; `None` if it does not get to run.
fn rate() -> Option<f64> {
    let until = clock() + MOST;
    windows::middle(|| window(until))
}

/// The same in one window.
fn window(until: Ns) -> Option<f64> {
    const CHUNK: u64 = 5000;
    let (began, mut steps, mut value) = (cpu_time(), 0, 1_u64);
    while clock() < until {
        for step in 0..CHUNK {
            value = black_box(value.wrapping_mul(step | 1));
        }
        steps += CHUNK;
        let used = cpu_time().since(began);
        if used >= WINDOW {
            return Some(steps as f64 / used.0 as f64);
        }
    }
    None
}

/// The CPU time of this thread, as the kernel counts it.
fn cpu_time() -> Ns {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Ns(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64)
}

/// Parts CPUs at the widest gap between their speeds, if that is wide enough.
fn split(cpus: &[u16], speeds: &[f64]) -> Option<Uneven> {
    let mut order: Vec<(f64, u16)> = speeds.iter().copied().zip(cpus.iter().copied()).collect();
    order.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    let gap = |at: &usize| order[*at - 1].0 / order[*at].0;
    let widest = (1..order.len()).max_by(|one, other| gap(one).total_cmp(&gap(other)))?;
    if gap(&widest) < LEAST {
        return None;
    }
    let (fast, slow) = order.split_at(widest);
    let mean = |part: &[(f64, u16)]| part.iter().map(|(speed, _)| speed).sum::<f64>() / part.len() as f64;
    let sorted = |part: &[(f64, u16)]| {
        let mut cpus: Vec<u16> = part.iter().map(|(_, cpu)| *cpu).collect();
        cpus.sort_unstable();
        cpus
    };
    Some(Uneven { big: sorted(fast), little: sorted(slow), ratio: mean(fast) / mean(slow) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_parted_where_their_speeds_are_furthest_apart() {
        let found = split(&[0, 1, 2, 3], &[0.32, 0.98, 0.34, 1.02]).unwrap();
        assert_eq!((found.big.as_slice(), found.little.as_slice()), ([1, 3].as_slice(), [0, 2].as_slice()));
        assert!((found.ratio - 1.0 / 0.33).abs() < 1e-9);
        let note = found.note();
        assert!(
            note.contains("CPUs 1,3 and 0,2 look equal, but ran at speeds 1 : 0.33")
                && note.contains("--big 1,3 --ratio 3.0"),
            "{note}"
        );
        assert_eq!(split(&[0, 1, 2], &[1.0, 0.95, 0.9]), None);
        assert_eq!(split(&[0], &[1.0]), None);
        assert_eq!(split(&[], &[]), None);
    }
}

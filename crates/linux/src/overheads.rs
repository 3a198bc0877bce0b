//! What switching and moving threads costs on this machine.
//!
//! Machines differ: a switch takes one or two microseconds on a processor, and fifty or more in an emulated guest. So it is measured
//! before a program is recorded, since that is taken off what its threads do, and what a machine file says of this machine.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use evenkeel_model::Ns;
use evenkeel_topology::{Cpu, Overheads, Topology};
use rustix::process::setpriority_process;
use rustix::thread::sched_setaffinity;

use crate::clock::clock;
use crate::mask;

/// A host that holds CPUs to their shares does so within periods of some 10 ms. A window is one of those, and the middle one
/// counts, so that what disturbs one window is of no account.
const WINDOW: Ns = Ns::from_ms(10);
const WINDOWS: usize = 5;
/// On a busy machine it takes longer until the threads have had their time, but not longer than this.
const MOST: Ns = Ns::from_ms(250);
/// Before ordinary work, where this user may, so that it is over soon.
const NICE: i32 = -20;
/// What a thread finds cold after a move, in bytes: an L1 cache; after one to another last-level cache a part of that, too. The
/// same as the bundled machines assume.
const NEAR: usize = 32 << 10;
const FAR: usize = 288 << 10;
/// A cache line, in words.
const LINE: usize = 8;

/// Measures it, in at most half a second. What cannot be measured, because there is one CPU only, or none is free, is `None`.
pub fn measure(topology: &Topology) -> Overheads {
    let near = |from: &Cpu, to: &Cpu| from.cluster == to.cluster && !from.siblings.contains(&to.id);
    let far = |from: &Cpu, to: &Cpu| from.cluster != to.cluster;
    let switches: Vec<Ns> = thread::scope(|scope| {
        let start = |cpu: &Cpu| {
            let cpu = cpu.id;
            thread::Builder::new().spawn_scoped(scope, move || switch(cpu)).ok()
        };
        let threads: Vec<_> = topology.cpus.iter().map(start).collect();
        threads.into_iter().filter_map(|thread| thread?.join().ok()?).collect()
    });
    Overheads {
        context_switch: mean(&switches),
        migrate_in_cluster: moves(&neighbours(&topology.cpus, near), NEAR),
        migrate_across_clusters: moves(&neighbours(&topology.cpus, far), FAR),
    }
}

/// From each CPU the next one, in a circle, of those that a thread may be moved to.
fn neighbours(cpus: &[Cpu], to: impl Fn(&Cpu, &Cpu) -> bool) -> Vec<(u16, u16)> {
    let next = |at: usize| {
        let mut others = (1..cpus.len()).map(|step| &cpus[(at + step) % cpus.len()]);
        Some((cpus[at].id, others.find(|other| to(&cpus[at], other))?.id))
    };
    (0..cpus.len()).filter_map(next).collect()
}

/// What a switch costs on a CPU: two threads there that do nothing but leave it to each other. Of what a switch is, that lacks
/// what it makes of caches.
fn switch(cpu: u16) -> Option<Ns> {
    const MINE: u8 = 0;
    const YOURS: u8 = 1;
    const OVER: u8 = 2;
    let turn = AtomicU8::new(MINE);
    let until = clock() + MOST;
    let partner = || {
        if !bind(cpu) {
            return;
        }
        while turn.load(Ordering::Acquire) != OVER {
            let _ = turn.compare_exchange(YOURS, MINE, Ordering::AcqRel, Ordering::Acquire);
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, partner).ok()?;
        let there_and_back = || {
            let began = clock();
            turn.store(YOURS, Ordering::Release);
            while turn.load(Ordering::Acquire) == YOURS {
                thread::yield_now();
                if clock() > until {
                    return None;
                }
            }
            Some(clock().since(began).0 as i64)
        };
        let both = bind(cpu).then(|| there_and_back().and_then(|_| windows(until, there_and_back))).flatten();
        turn.store(OVER, Ordering::Release);
        Some(Ns(both?.0 / 2))
    })
}

/// What a move costs that a mask makes, from each first CPU to each second one: until the thread is there, and how much longer it
/// then takes for so many bytes than once they are in that CPU's caches.
fn moves(pairs: &[(u16, u16)], bytes: usize) -> Option<Ns> {
    if pairs.is_empty() {
        return None;
    }
    let measured = || {
        let (until, mut bytes) = (clock() + MOST, vec![0_u64; bytes / size_of::<u64>()]);
        let mut next = pairs.iter().cycle();
        windows(until, || {
            let (from, to) = next.next()?;
            bind(*from).then(|| sweep(&mut bytes))?;
            let began = clock();
            bind(*to).then_some(())?;
            let there = clock().since(began);
            let (cold, warm) = (sweep(&mut bytes), sweep(&mut bytes));
            Some((there + cold).0 as i64 - warm.0 as i64)
        })
    };
    thread::scope(|scope| thread::Builder::new().spawn_scoped(scope, measured).ok()?.join().ok()?)
}

/// Uses all these bytes, and returns how long that took.
fn sweep(bytes: &mut [u64]) -> Ns {
    let began = clock();
    for word in bytes.iter_mut().step_by(LINE) {
        *word = black_box(*word + 1);
    }
    clock().since(began)
}

/// Puts this thread on a CPU. Returns whether it may be there.
fn bind(cpu: u16) -> bool {
    let _ = setpriority_process(None, NICE);
    sched_setaffinity(None, &mask::of([cpu])).is_ok()
}

/// The mean of what something costs, in ns, in the middle one of some windows; `None` if it cannot be done, or not in time.
fn windows(until: Ns, mut once: impl FnMut() -> Option<i64>) -> Option<Ns> {
    let mut means = [0; WINDOWS];
    for mean in &mut means {
        let (began, mut sum, mut times) = (clock(), 0, 0);
        while clock().since(began) < WINDOW {
            if clock() > until {
                return None;
            }
            sum += once()?;
            times += 1;
        }
        *mean = sum / i64::max(times, 1);
    }
    means.sort_unstable();
    Some(Ns(means[WINDOWS / 2].max(0) as u64))
}

fn mean(all: &[Ns]) -> Option<Ns> {
    let sum: u64 = all.iter().map(|one| one.0).sum();
    sum.checked_div(all.len() as u64).map(Ns)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_thread_moves_to_the_next_cpu_that_it_may_be_moved_to() {
        let cpu = |id: u16, cluster: usize| Cpu {
            id,
            kind: 0,
            cluster,
            siblings: vec![id & !1, id | 1],
            node: 0,
            frequencies: Vec::new(),
        };
        let cpus = [cpu(0, 0), cpu(1, 0), cpu(2, 0), cpu(4, 1)];
        let near = |from: &Cpu, to: &Cpu| from.cluster == to.cluster && !from.siblings.contains(&to.id);
        assert_eq!(neighbours(&cpus, near), [(0, 2), (1, 2), (2, 0)]);
        assert_eq!(neighbours(&cpus, |from, to| from.cluster != to.cluster), [(0, 4), (1, 4), (2, 4), (4, 0)]);
        assert_eq!(neighbours(&cpus[..1], near), []);
    }

    #[test]
    fn the_middle_window_counts_and_an_end_is_kept() {
        let mut costs = [9, 900, 11, 10, 8].iter();
        let once = || {
            thread::sleep(std::time::Duration::from_millis(10));
            costs.next().copied()
        };
        assert_eq!(windows(clock() + Ns::from_secs(60), once), Some(Ns(10)));
        assert_eq!(windows(Ns::ZERO, || Some(1)), None);
        assert_eq!(windows(clock() + Ns::from_secs(60), || None), None);
        assert_eq!((mean(&[Ns(2), Ns(4)]), mean(&[])), (Some(Ns(3)), None));
    }

    /// A switch takes from a tenth of a microsecond on a processor to some milliseconds where an emulator shares one, and a
    /// move more than a thousandth of that; neither can be measured on a machine that is too busy.
    #[test]
    fn what_is_measured_is_no_longer_than_what_it_is_measured_in() {
        let topology = Topology::read(Path::new("/")).unwrap();
        let found = measure(&topology.within(&mask::own().unwrap()));
        for cost in
            [found.context_switch, found.migrate_in_cluster, found.migrate_across_clusters].into_iter().flatten()
        {
            assert!(cost < MOST, "{found:?}");
        }
        assert!(found.context_switch.is_none_or(|switch| switch > Ns(50)), "{found:?}");
    }
}

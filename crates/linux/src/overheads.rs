//! What switching and moving threads costs on this machine.
//!
//! Machines differ: a switch takes one or two microseconds on a processor, and about a hundred in an emulated guest. So that
//! is measured before a program is recorded, from whose work it is taken off, and for a machine file of this machine.

use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use evenkeel_model::Ns;
use evenkeel_topology::{Cpu, Overheads, Topology};
use rustix::thread::sched_setaffinity;

use crate::clock::clock;
use crate::mask;
use crate::windows::{self, MOST, WINDOW};

/// What a thread finds cold after a move, in bytes: an L1 cache; after one to another last-level cache a part of that, too. The
/// same as the bundled machines assume.
const NEAR: usize = 32 << 10;
const FAR: usize = 288 << 10;
/// A cache line, in words.
const LINE: usize = 8;

/// Measures it, in at most three quarters of a second. What cannot be measured, because there is one CPU only, or none is free, is `None`.
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
    let context_switch = mean(&switches);
    let near = moves(&neighbours(&topology.cpus, near), NEAR);
    let far = moves(&neighbours(&topology.cpus, far), FAR);
    Overheads {
        context_switch,
        take: near.or(far).map(|one| one.there.since(context_switch.unwrap_or(Ns::ZERO))),
        migrate_in_cluster: near.map(|near| near.cold),
        migrate_across_clusters: far.map(|far| far.cold),
    }
}

/// For each CPU the next one, in a circle, to which `to` allows a move.
fn neighbours(cpus: &[Cpu], to: impl Fn(&Cpu, &Cpu) -> bool) -> Vec<(u16, u16)> {
    let next = |at: usize| {
        let mut others = (1..cpus.len()).map(|step| &cpus[(at + step) % cpus.len()]);
        Some((cpus[at].id, others.find(|other| to(&cpus[at], other))?.id))
    };
    (0..cpus.len()).filter_map(next).collect()
}

/// The cost of a switch between two threads that yield a CPU to each other. Cache effects are not included.
fn switch(cpu: u16) -> Option<Ns> {
    const MINE: u8 = 0;
    const YOURS: u8 = 1;
    const OVER: u8 = 2;
    let turn = AtomicU8::new(MINE);
    let until = clock() + MOST;
    let partner = || {
        let ready = windows::begin_on(cpu);
        while ready && turn.load(Ordering::Acquire) != OVER {
            let _ = turn.compare_exchange(YOURS, MINE, Ordering::AcqRel, Ordering::Acquire);
            thread::yield_now();
        }
    };
    let there_and_back = || {
        let began = clock();
        turn.store(YOURS, Ordering::Release);
        while turn.load(Ordering::Acquire) == YOURS {
            thread::yield_now();
            if clock() > until {
                return None;
            }
        }
        Some(clock().since(began).0 as f64)
    };
    let measured = || {
        windows::begin_on(cpu).then_some(())?;
        // The first time lasts until the partner has started.
        there_and_back()?;
        per_time(until, there_and_back)
    };
    thread::scope(|scope| {
        thread::Builder::new().spawn_scoped(scope, partner).ok()?;
        let both = measured();
        turn.store(OVER, Ordering::Release);
        Some(Ns(both?.0 / 2))
    })
}

/// What a move costs.
#[derive(Clone, Copy)]
struct Move {
    /// Until the thread is on the other CPU.
    there: Ns,
    /// How much longer it then takes for its bytes than once they are in that CPU's caches.
    cold: Ns,
}

/// What a move by mask costs, from each first CPU to each second one.
fn moves(pairs: &[(u16, u16)], bytes: usize) -> Option<Move> {
    let measured = || {
        windows::begin_on(pairs.first()?.0).then_some(())?;
        let (until, mut bytes) = (clock() + MOST, vec![0_u64; bytes / size_of::<u64>()]);
        let mut next = pairs.iter().cycle();
        let mut one = |cost: fn(Ns, Ns, Ns) -> f64| {
            per_time(until, || {
                let (from, to) = next.next()?;
                let (from, to) = (mask::of([*from]), mask::of([*to]));
                sched_setaffinity(None, &from).ok()?;
                sweep(&mut bytes);
                let began = clock();
                sched_setaffinity(None, &to).ok()?;
                let there = clock().since(began);
                Some(cost(there, sweep(&mut bytes), sweep(&mut bytes)))
            })
        };
        let there = one(|there, _, _| there.0 as f64)?;
        Some(Move { there, cold: one(|_, cold, warm| cold.0 as f64 - warm.0 as f64)? })
    };
    // In a thread of its own, whose mask ends with it.
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

/// The mean cost of one `once`, in ns, measured over some windows; `None` if it fails, or not in time.
fn per_time(until: Ns, mut once: impl FnMut() -> Option<f64>) -> Option<Ns> {
    let window = || {
        let (began, mut sum, mut times) = (clock(), 0.0, 0.0);
        while clock().since(began) < WINDOW {
            if clock() > until {
                return None;
            }
            sum += once()?;
            times += 1.0;
        }
        // None at all, if this thread did not get to run for the whole window.
        (times > 0.0).then(|| sum / times)
    };
    windows::middle(window).map(|cost| Ns(cost.max(0.0) as u64))
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
    fn what_is_done_in_time_costs_what_each_time_costs() {
        let once = || {
            thread::sleep(std::time::Duration::from_millis(4));
            Some(7.0)
        };
        assert_eq!(per_time(clock() + Ns::from_secs(60), once), Some(Ns(7)));
        assert_eq!(per_time(clock() + Ns::from_secs(60), || Some(-1.0)), Some(Ns::ZERO));
        assert_eq!(per_time(Ns::ZERO, || Some(1.0)), None);
        assert_eq!(per_time(clock() + Ns::from_secs(60), || None), None);
        assert_eq!((mean(&[Ns(2), Ns(4)]), mean(&[])), (Some(Ns(3)), None));
    }

    /// Nothing can be measured on a machine that is too busy. What is, is no less than the system calls that it takes; caches may
    /// have been warm, and a move no longer than a switch.
    #[test]
    fn switches_and_moves_cost_something_and_leave_this_thread_where_it_was() {
        let before = mask::own().unwrap();
        let topology = Topology::read(Path::new("/")).unwrap().within(&before);
        let found = measure(&topology);
        let there = moves(&neighbours(&topology.cpus, |from, to| from.id != to.id), NEAR).map(|one| one.there);
        let calls = [found.context_switch, there];
        assert!(calls.into_iter().flatten().all(|cost| (Ns(50)..MOST).contains(&cost)), "{calls:?}");
        let rest = [found.take, found.migrate_in_cluster, found.migrate_across_clusters];
        assert!(rest.into_iter().flatten().all(|cost| cost < MOST), "{found:?}");
        assert_eq!(mask::own().unwrap(), before);
    }
}

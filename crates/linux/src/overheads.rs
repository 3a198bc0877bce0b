//! What switching and moving threads costs on this machine.
//!
//! Machines differ: a switch takes one or two microseconds on a processor, and about a hundred in an emulated guest. So that
//! is measured before a program is recorded, from whose work it is taken off, and for a machine file of this machine.

use std::hint::black_box;
use std::thread;

use evenkeel_model::Ns;
use evenkeel_topology::{Cpu, Overheads, Topology};
use rustix::thread::sched_setaffinity;

use crate::clock::clock;
use crate::mask;
use crate::turns::{Partner, turn};
use crate::windows::{self, MOST, per_time};

/// What a thread finds cold after a move, in bytes: an L1 cache; after one to another last-level cache a part of that, too. The
/// same as the bundled machines assume.
const NEAR: usize = 32 << 10;
const FAR: usize = 288 << 10;
/// What a thread finds gone after a switch to its process: the translations of so many pages. Assumed, since programs differ; Skylake's
/// first table of data translations has so many entries.
const PAGES: usize = 64;
/// A cache line, in words.
const LINE: usize = 8;

/// Measures it, in half a second, on a busy machine in a few. What cannot be measured, because there is one CPU only, or none is free, is `None`.
pub fn measure(topology: &Topology) -> Overheads {
    let near = |from: &Cpu, to: &Cpu| from.cluster == to.cluster && !from.siblings.contains(&to.id);
    let far = |from: &Cpu, to: &Cpu| from.cluster != to.cluster;
    let switches: Vec<(Option<Ns>, Option<Ns>)> = thread::scope(|scope| {
        let start = |cpu: &Cpu| {
            let cpu = cpu.id;
            thread::Builder::new().spawn_scoped(scope, move || switches(cpu)).ok()
        };
        let threads: Vec<_> = topology.cpus.iter().map(start).collect();
        threads.into_iter().filter_map(|thread| thread?.join().ok()).collect()
    });
    let context_switch = mean(switches.iter().filter_map(|(threads, _)| *threads));
    let process_switch = mean(switches.iter().filter_map(|(_, processes)| *processes));
    let near = moves(&neighbours(&topology.cpus, near), NEAR);
    let far = moves(&neighbours(&topology.cpus, far), FAR);
    Overheads {
        context_switch,
        process_switch,
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

/// The cost of a switch between two threads, and how much more one between two processes costs. Nothing is lost from the caches.
fn switches(cpu: u16) -> (Option<Ns>, Option<Ns>) {
    let same = turn(cpu, Partner::Thread, PAGES);
    let other = turn(cpu, Partner::Process, PAGES);
    (turn(cpu, Partner::Thread, 0), other.zip(same).map(|(other, same)| other.since(same)))
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

fn mean(all: impl Iterator<Item = Ns> + Clone) -> Option<Ns> {
    let sum: u64 = all.clone().map(|one| one.0).sum();
    sum.checked_div(all.count() as u64).map(Ns)
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
            base: None,
            powers: Vec::new(),
        };
        let cpus = [cpu(0, 0), cpu(1, 0), cpu(2, 0), cpu(4, 1)];
        let near = |from: &Cpu, to: &Cpu| from.cluster == to.cluster && !from.siblings.contains(&to.id);
        assert_eq!(neighbours(&cpus, near), [(0, 2), (1, 2), (2, 0)]);
        assert_eq!(neighbours(&cpus, |from, to| from.cluster != to.cluster), [(0, 4), (1, 4), (2, 4), (4, 0)]);
        assert_eq!(neighbours(&cpus[..1], near), []);
    }

    #[test]
    fn a_mean_is_of_what_was_measured() {
        assert_eq!((mean([Ns(2), Ns(4)].into_iter()), mean([].into_iter())), (Some(Ns(3)), None));
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
        let rest = [found.process_switch, found.take, found.migrate_in_cluster, found.migrate_across_clusters];
        assert!(rest.into_iter().flatten().all(|cost| cost < MOST), "{found:?}");
        assert_eq!(mask::own().unwrap(), before);
    }
}

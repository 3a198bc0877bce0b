//! Where Linux starts a thread since 5.10 (SD_BALANCE_FORK: sched_balance_find_dst_cpu, update_pick_idlest).
//!
//! From the whole machine down to one core: another group of cores than the parent's own must have more idle ones that the thread
//! may use. Of several with as many, the one that was used least comes first, since it was done early.
//!
//! Simplified: where all cores are busy, weights are those of this moment, and whether a group has too much to do does not depend
//! on how long its threads waited. Which of another group's idle cores was busy last is told by what was used of it. Memory nodes
//! are groups like others, threads of the idle class are threads like others, and cores of a cluster with a cache of its own level
//! are no group of their own.

use std::cmp::Reverse;

use evenkeel_model::{CoreId, CoreSet, FULL_LOAD, NICE_0_WEIGHT};

use crate::state::State;

/// How much more weight, in percent, cores may have before they count as busier (sched_domain::imbalance_pct where cores are not
/// threads of one).
pub(crate) const IMBALANCE_PCT: u64 = 117;

/// A group of cores, as a new thread sees it (sg_lb_stats). The better one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// Idle cores, the more the better, and what is used of all.
    Spare(Reverse<usize>, u32),
    /// Weight, for the capacity.
    Busy(u64),
    /// The same, with more threads than cores.
    Overloaded(u64),
}

impl Room {
    /// Of a group for a thread: what is counted are the cores that it may use (update_sg_wakeup_stats, group_classify).
    fn of(s: &State, group: CoreSet, allowed: CoreSet) -> Self {
        let usages = s.usages();
        let open = group.and(allowed);
        let used: u32 = open.iter().map(|core| usages.of(core, None, s.capacity(core))).sum();
        let capacity: u64 = group.iter().map(|core| u64::from(s.capacity(core))).sum();
        let threads: usize = open.iter().map(|core| s.occupancy(core)).sum();
        let load = || open.iter().map(|core| s.weight(core)).sum::<u64>() * u64::from(FULL_LOAD) / capacity.max(1);
        let roomy = 100 * capacity > IMBALANCE_PCT * u64::from(used);
        if threads < group.len() || roomy {
            return Self::Spare(Reverse(open.and(s.idle_cores()).len()), used);
        }
        if threads > group.len() { Self::Overloaded(load()) } else { Self::Busy(load()) }
    }

    /// Whether a new thread should rather go there than stay in the parent's group (sched_balance_find_dst_group).
    fn draws_from(self, own: Self) -> bool {
        let lighter = |there: u64, here: u64| {
            there < here + NICE_0_WEIGHT * (IMBALANCE_PCT - 100) / 100 && 100 * here > IMBALANCE_PCT * there
        };
        match (self, own) {
            // Less of Reverse is more.
            (Self::Spare(there, _), Self::Spare(here, _)) => there < here,
            (Self::Busy(there), Self::Busy(here)) | (Self::Overloaded(there), Self::Overloaded(here)) => {
                lighter(there, here)
            }
            _ => self < own,
        }
    }
}

/// The core on which a thread starts whose parent is on a core; `None` if it may not run on any.
pub(crate) fn idlest(s: &State, parent: CoreId, allowed: CoreSet) -> Option<CoreId> {
    let (mut core, mut domain) = (parent, s.machine.all());
    while let Some(own) = around(s, core).filter(|span| span.len() < domain.len()).last() {
        // The first among equals, beginning after the parent's own group.
        let others = groups(s, domain.minus(own), core).filter(|group| group.intersects(&allowed));
        let best = others.map(|group| (Room::of(s, group, allowed), group)).min_by_key(|(room, _)| *room);
        let stays = |room: Room| own.intersects(&allowed) && !room.draws_from(Room::of(s, own, allowed));
        match best.filter(|(room, _)| !stays(*room)) {
            Some((_, group)) => {
                core = idlest_of(s, group.and(allowed))?;
                let spans = around(s, core).filter(|span| span.len() < domain.len());
                domain = spans.last()?;
            }
            None => domain = own,
        }
    }
    allowed.contains(core).then_some(core)
}

/// The domains around a core, smallest first: itself, its hardware threads, and those of [`State::domains`].
fn around(s: &State, core: CoreId) -> impl Iterator<Item = CoreSet> + '_ {
    let own = [core].into_iter().collect();
    [own, s.threads_of(core)].into_iter().chain(s.domains[core.index()].iter().copied())
}

/// The groups of these cores in a circle from a core that is in none of them: the largest domains that do not contain it.
fn groups(s: &State, mut rest: CoreSet, core: CoreId) -> impl Iterator<Item = CoreSet> + '_ {
    std::iter::from_fn(move || {
        let next = rest.around(core).next()?;
        let group = around(s, next).take_while(|span| !span.contains(core)).last()?;
        rest = rest.minus(group);
        Some(group)
    })
}

/// Of the idle ones among these cores the one that was busy last, told by what is used of it; else the one with the least weight
/// (sched_balance_find_dst_group_cpu).
fn idlest_of(s: &State, cores: CoreSet) -> Option<CoreId> {
    let idle = cores.and(s.idle_cores());
    let usages = s.usages();
    let used = |core: &CoreId| Reverse(usages.of(*core, None, s.capacity(*core)));
    idle.iter().min_by_key(used).or_else(|| cores.iter().min_by_key(|core| s.weight(*core)))
}

#[cfg(test)]
mod tests {
    use evenkeel_model::{Clamp, Class, Ns, ProgramId, ThreadId, ThreadKind, machines};

    use super::*;
    use crate::masks::Sets;
    use crate::policy::parts::fair;
    use crate::thread::{NewThread, Run, Thread, Wait};

    /// Threads by core: those that sleep, and how much each uses, and busy ones, the first of which runs and the others wait.
    fn state(machine: &str, asleep: &[(u16, u32)], busy: &[u16]) -> State {
        let machine = machines::by_name(machine).unwrap();
        let (program, kind, clamp) = (ProgramId(0), ThreadKind::Application, Clamp::default());
        let spec = NewThread { program, kind, class: Class::fair(0), cores: machine.all(), on: CoreId(0), clamp };
        let mut s = State::new(machine, fair::BUSY_FACTOR);
        s.ignore_capacities();
        let asleep = asleep.iter().map(|(core, usage)| (CoreId(*core), *usage, Run::Blocked(Wait::Sleep)));
        let busy = busy.iter().map(|core| (CoreId(*core), FULL_LOAD, Run::Ready));
        for (core, usage, run) in asleep.chain(busy) {
            let id = ThreadId(s.threads.len() as u32);
            let mut thread = Thread::new(&spec, &mut Sets::default(), &s.machine);
            let on = &mut s.cores[core.index()];
            thread.core = core;
            thread.usage = crate::Pelt::constant(usage, Ns::ZERO);
            thread.run = match run {
                Run::Ready if on.current.is_none() => {
                    on.current = Some(id);
                    Run::Running
                }
                Run::Ready => {
                    on.queue.push_fair(id, 0, thread.weight());
                    Run::Ready
                }
                other => other,
            };
            s.threads.push(thread);
            s.note(core);
        }
        s
    }

    /// Where a child of a thread on a core starts.
    fn child(s: &State, parent: u16) -> u16 {
        idlest(s, CoreId(parent), s.machine.all()).unwrap().0
    }

    #[test]
    fn of_idle_cores_the_one_that_was_used_least() {
        assert_eq!(child(&state("phenom-1B5S", &[], &[1]), 1), 2, "the next of equals");
        assert_eq!(child(&state("phenom-1B5S", &[(2, 100), (3, 20), (4, 60)], &[1]), 1), 5);
        let all = [(0, 300), (1, 0), (2, 290), (3, 250), (4, 150), (5, 260)];
        let s = state("phenom-1B5S", &all, &[1]);
        assert_eq!(child(&s, 1), 4);
        let some: CoreSet = [2, 3, 5].map(CoreId).into_iter().collect();
        assert_eq!(idlest(&s, CoreId(1), some), Some(CoreId(3)), "of those that it may run on");
        assert_eq!(idlest(&s, CoreId(1), CoreSet::EMPTY), None);
        // Of a slow core as much can be used as of the fast one, which is core 0 or 3.
        let full = state("phenom-1B5S", &[(0, 1024), (1, 1024), (3, 1024)], &[]);
        assert_eq!([0, 1, 3].map(|core| full.usage(CoreId(core), None)), [1024, 1024, 1024]);
    }

    #[test]
    fn another_cluster_must_have_more_idle_cores() {
        // The parent and another thread keep two of four busy there.
        let busy_last = state("odroid-xu3", &[(5, 40), (6, 70)], &[0, 1]);
        assert_eq!(child(&busy_last, 0), 6, "in another cluster the core that was busy last");
        let even = state("odroid-xu3", &[(2, 9)], &[0, 4]);
        assert_eq!(child(&even, 0), 1, "with as many idle cores on either side it stays");
        // Of the other cluster's four idle cores it may use one, of its own two.
        let some: CoreSet = [1, 2, 3, 7].map(CoreId).into_iter().collect();
        assert_eq!(idlest(&state("odroid-xu3", &[], &[0, 1]), CoreId(0), some), Some(CoreId(2)));
    }

    #[test]
    fn a_whole_core_comes_before_a_hardware_thread_of_a_busy_one() {
        let s = state("i9-13900k-ht", &[], &[0]);
        let there = CoreId(child(&s, 0));
        assert!(s.alone(there) && there != CoreId(0), "{there:?}");
    }

    #[test]
    fn where_all_are_busy_it_leaves_a_core_with_more_threads_than_others() {
        let all: Vec<u16> = (0..6).collect();
        assert_eq!(child(&state("phenom-1B5S", &[], &all), 3), 3, "no other has less to do");
        let crowded = [&all[..], &[3, 4]].concat();
        assert_eq!(child(&state("phenom-1B5S", &[], &crowded), 3), 5, "the next after 3 with one thread");
    }

    #[test]
    fn of_two_crowded_clusters_it_leaves_the_one_with_clearly_more_to_do() {
        let one_more = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7];
        assert_eq!(child(&state("odroid-xu3", &[], &one_more), 0) / 4, 0, "8 threads and 7 are nearly as many");
        let two_more = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7];
        assert_eq!(child(&state("odroid-xu3", &[], &two_more), 0), 6, "8 and 6: the first there with the least");
    }
}

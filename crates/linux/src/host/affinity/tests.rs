//! A kernel in small, whose threads start others while masks change: the order of events is drawn, the rule is the same.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::inherit::{Grants, IN_FLIGHT, Newborn};
use super::*;

const TICK: Ns = Ns::from_ms(10);

fn all() -> CpuSet {
    mask::of([0, 1])
}

/// Starting a thread of the same process copies no memory.
const THREAD_IN_FLIGHT: Ns = Ns::from_ms(10);

struct Thread {
    process: Tid,
    /// The process that started its process.
    parent: Tid,
    born: Ns,
    ended: bool,
    mask: CpuSet,
}

/// One thing that happens; numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    /// Time goes by.
    Pass(u64),
    /// A thread starts another one, which can be seen after some time.
    Fork { thread: usize, first: bool, flight: u64 },
    /// A thread ends, seen or not.
    Exit { thread: usize },
    /// A thread that is known is narrowed for some time.
    Narrow { thread: usize, cpu: u16, lasts: u64 },
    /// All threads that can be seen are.
    Sample,
}

fn step() -> impl Strategy<Value = Step> {
    let number = 0..1000usize;
    prop_oneof![
        3 => (0..5_000_000u64).prop_map(Step::Pass),
        6 => (number.clone(), any::<bool>(), 0..1000u64)
            .prop_map(|(thread, first, flight)| Step::Fork { thread, first, flight }),
        3 => number.clone().prop_map(|thread| Step::Exit { thread }),
        3 => (number, 0..2u16, 0..3_000_000u64).prop_map(|(thread, cpu, lasts)| Step::Narrow { thread, cpu, lasts }),
        1 => Just(Step::Sample),
    ]
}

/// A world of threads that are numbered from 1, and what Evenkeel knows of it.
struct World {
    now: Ns,
    threads: Vec<Thread>,
    known: BTreeSet<Tid>,
    processes: BTreeMap<Tid, Ns>,
    /// The thread that is narrow, and until when.
    narrow: Option<(Tid, Ns)>,
    grants: Grants,
}

impl World {
    fn new() -> Self {
        let first = Thread { process: 1, parent: 0, born: Ns::ZERO, ended: false, mask: all() };
        let (now, known) = (Ns::from_secs(1), BTreeSet::from([1]));
        let processes = BTreeMap::from([(1, now)]);
        Self { now, threads: vec![first], known, processes, narrow: None, grants: Grants::default() }
    }

    fn pass(&mut self, time: u64) {
        self.now += Ns(time);
        if let Some((tid, until)) = self.narrow.filter(|(_, until)| self.now >= *until) {
            self.threads[tid as usize - 1].mask = all();
            self.grants.end(tid, until);
            self.narrow = None;
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Pass(time) => self.pass(time),
            Step::Fork { thread, first, flight } => {
                // Mostly by one of the latest, so that there are chains.
                let of = &self.threads[self.threads.len() - 1 - thread % self.threads.len().min(8)];
                if of.born > self.now || of.ended {
                    return;
                }
                let tid = self.threads.len() as Tid + 1;
                let limit = if first { IN_FLIGHT } else { THREAD_IN_FLIGHT };
                let born = self.now + Ns(limit.0 / 1000 * flight);
                let (process, parent) = if first { (tid, of.process) } else { (of.process, of.parent) };
                self.threads.push(Thread { process, parent, born, ended: false, mask: of.mask });
            }
            Step::Exit { thread } => {
                let last = self.threads.len() - 1;
                let thread = last - thread % self.threads.len().min(8);
                // The first one lives on, so that the story does.
                if thread > 0 && self.threads[thread].born <= self.now {
                    self.threads[thread].ended = true;
                }
            }
            Step::Narrow { thread, cpu, lasts } => {
                let known: Vec<Tid> = self.known.iter().copied().collect();
                let tid = known[thread % known.len()];
                let own = self.threads[tid as usize - 1].mask;
                if self.narrow.is_none() && own == all() {
                    let (process, mask) = (self.threads[tid as usize - 1].process, mask::of([cpu]));
                    self.grants.begin(tid, process, self.now, own, mask);
                    self.threads[tid as usize - 1].mask = mask;
                    self.narrow = Some((tid, self.now + Ns(lasts)));
                }
            }
            Step::Sample => self.sample(),
        }
    }

    fn sample(&mut self) {
        let now = self.now;
        let living: BTreeSet<Tid> =
            self.threads.iter().filter(|thread| !thread.ended).map(|thread| thread.process).collect();
        self.processes.retain(|process, _| living.contains(process));
        let unseen = |(place, thread): (usize, &Thread)| {
            let tid = place as Tid + 1;
            let start = Ns(thread.born.0 / TICK.0 * TICK.0);
            let newborn = Newborn {
                tid,
                process: thread.process,
                parent: Some(thread.parent).filter(|parent| living.contains(parent)),
                born: start..=start + TICK,
                mask: thread.mask,
            };
            (thread.born <= now && !thread.ended && !self.known.contains(&tid)).then_some(newborn)
        };
        let newborn: Vec<Newborn> = self.threads.iter().enumerate().filter_map(unseen).collect();
        self.known.extend(newborn.iter().map(|thread| thread.tid));
        let threads = &mut self.threads;
        let begun: Vec<Tid> = newborn.iter().map(|thread| thread.process).collect();
        let chose = self.grants.adopt(newborn, &self.processes, |thread, own| {
            threads[thread.tid as usize - 1].mask = *own;
            Ok(now)
        });
        assert!(chose.unwrap().iter().all(|thread| thread.mask == all()), "no thread here chooses a mask");
        self.grants.seen(now);
        for process in begun {
            self.processes.entry(process).or_insert(now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn no_thread_keeps_a_mask_that_it_has_inherited(steps in proptest::collection::vec(step(), 1..200)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
        }
        world.pass(10_000_000_000);
        world.sample();
        world.sample();
        for (place, thread) in world.threads.iter().enumerate().filter(|(_, thread)| !thread.ended) {
            prop_assert!(thread.mask == all(), "thread {} of process {}", place + 1, thread.process);
        }
    }
}

#[test]
fn a_mask_that_no_thread_was_given_at_that_time_is_the_programs() {
    let mut grants = Grants::default();
    let (at, one) = (Ns::from_secs(1), mask::of([0]));
    let processes = BTreeMap::from([(7, Ns::ZERO), (8, Ns::ZERO)]);
    (85..=100).for_each(|tick| grants.seen(Ns(TICK.0 * tick)));
    grants.begin(7, 7, at, all(), one);
    grants.end(7, at + Ns::from_ms(1));
    let thread = |process, born: Ns, cpu| Newborn {
        tid: 9,
        process,
        parent: None,
        born: born..=born + TICK,
        mask: mask::of([cpu]),
    };
    let inherited =
        |grants: &mut Grants, thread| grants.adopt(vec![thread], &processes, |_, _| Ok(at)).unwrap().is_empty();
    assert!(!inherited(&mut grants, thread(7, at, 1)), "another mask");
    assert!(!inherited(&mut grants, thread(8, at, 0)), "of another process");
    assert!(!inherited(&mut grants, thread(7, Ns::from_ms(900), 0)), "before");
    assert!(inherited(&mut grants, thread(7, at, 0)));
    assert!(inherited(&mut grants, thread(9, at, 0)), "of a process that no sample has seen");
    (101..130).for_each(|tick| grants.seen(Ns(TICK.0 * tick)));
    assert!(!inherited(&mut grants, thread(7, Ns::from_ms(1290), 0)), "much later");
}

/// A process that a sample never saw was started by a bound thread, started a thread that lives on, and its first thread ended.
#[test]
fn a_thread_inherits_from_one_that_was_never_seen() {
    let mut grants = Grants::default();
    let (at, one) = (Ns::from_secs(1), mask::of([0]));
    let processes = BTreeMap::from([(7, Ns::ZERO)]);
    grants.seen(at);
    grants.begin(7, 7, at, all(), one);
    grants.end(7, at + Ns::from_ms(1));
    let born = at + IN_FLIGHT + Ns::from_ms(30);
    let unseen = Newborn { tid: 10, process: 9, parent: None, born: born..=born + TICK, mask: one };
    assert!(grants.adopt(vec![unseen], &processes, |_, _| Ok(born)).unwrap().is_empty());
}

/// While its fork was in flight two samples were taken, one right after the other; its parent was never seen either.
#[test]
fn a_thread_inherits_although_samples_were_taken_while_it_was_started() {
    let mut grants = Grants::default();
    let (at, one) = (Ns::from_secs(1), mask::of([0]));
    let processes = BTreeMap::from([(7, Ns::ZERO)]);
    grants.begin(7, 7, at, all(), one);
    grants.end(7, at + Ns::from_ms(1));
    let born = at + IN_FLIGHT + Ns::from_ms(9);
    [10, 52, 52].into_iter().for_each(|ms| grants.seen(at + Ns::from_ms(ms)));
    let unseen = Newborn { tid: 10, process: 9, parent: Some(7), born: born..=born + TICK, mask: one };
    assert!(grants.adopt(vec![unseen], &processes, |_, _| Ok(born)).unwrap().is_empty());
}

/// Without the privilege to reserve, nothing is tried.
#[test]
fn a_thread_that_has_reserved_time_is_not_moved_and_that_is_no_refusal() {
    use crate::realtime::{Reservation, reserve};

    let tried = std::thread::spawn(|| {
        let one = mask::of([rustix::thread::sched_getcpu() as u16]);
        reserve(0, Reservation::of(0.02, Ns::from_ms(10))).ok().map(|()| sched_setaffinity(None, &one))
    });
    if let Some(Err(error)) = tried.join().unwrap() {
        assert!(!is_refusal(error), "{error}");
    }
    assert!(!is_refusal(Errno::SRCH) && is_refusal(Errno::PERM) && is_refusal(Errno::INVAL));
}

//! Decisions on machines that are not there: what a mock of the kernel's affinity and of a DVFS backend is asked for.
#![allow(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use evenkeel_model::Hz;
use evenkeel_model::stealing::Techniques;
use evenkeel_topology::Topology;

use super::affinity::Affinity;
use super::places::{Exchange, Places};
use super::voltages::Voltages;
use super::*;
use crate::dvfs::{Dvfs, Setting};
use crate::job::{HeapJob, Job};
use crate::state::PoolState;
use crate::worker::Worker;

/// Keeps what it was asked for, and refuses some of it.
#[derive(Clone, Default)]
struct Mock {
    asked: Arc<Mutex<Vec<Mask>>>,
    /// Requests from this one on are refused.
    refuses: Arc<Mutex<Option<usize>>>,
    moving: Arc<AtomicBool>,
}

impl Mock {
    fn asked(&self) -> Vec<Mask> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn refuse(&self, from: usize) {
        *self.refuses.lock().unwrap() = Some(from);
    }
}

impl Affinity for Mock {
    fn mask(&self, _: Tid) -> io::Result<Mask> {
        Ok(vec![0, 1, 2, 3])
    }

    fn restrict(&self, _: Tid, cpus: &[u16]) -> io::Result<()> {
        assert!(!self.moving.swap(true, Ordering::SeqCst), "nobody is moved while somebody else is");
        let mut asked = self.asked.lock().unwrap();
        let refused = self.refuses.lock().unwrap().is_some_and(|from| asked.len() >= from);
        asked.push(cpus.to_vec());
        self.moving.store(false, Ordering::SeqCst);
        if refused { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}

/// Keeps the frequencies that it was asked for, in MHz by CPU.
#[derive(Clone, Default)]
struct Clocks {
    set: Arc<Mutex<Vec<(u16, u64)>>>,
    refuses: bool,
    dropped: Arc<AtomicBool>,
}

impl Dvfs for Clocks {
    fn nominal(&self, _: u16) -> Option<Hz> {
        Some(Hz(1_500_000_000))
    }

    fn set(&mut self, settings: &[Setting]) -> io::Result<()> {
        if self.refuses {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        *self.set.lock().unwrap() = settings.iter().map(|one| (one.cpu, one.frequency.0 / 1_000_000)).collect();
        Ok(())
    }
}

impl Drop for Clocks {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::SeqCst);
    }
}

/// CPUs 0 and 1 are big, 2 and 3 little; all run at 0.5 to 2 GHz.
fn two_and_two() -> Topology {
    let root = tempfile::tempdir().unwrap();
    let cpus = root.path().join("sys/devices/system/cpu");
    for cpu in 0..4 {
        let folder = cpus.join(format!("cpu{cpu}/cpufreq"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("scaling_available_frequencies"), "500000 1000000 1500000 2000000").unwrap();
    }
    fs::write(cpus.join("online"), "0-3").unwrap();
    Topology::read(root.path()).unwrap().with(Some("0,1"), Some("2,3"), Some(3.0)).unwrap()
}

fn uneven(mock: &Mock, techniques: Techniques, clocks: Option<Clocks>) -> Uneven {
    let topology = two_and_two();
    let places = Places::new(Seat::all(&topology), 4, Box::new(mock.clone()));
    let (machine, cpus) = topology.machine("x").unwrap();
    let voltages = clocks.map(|clocks| Voltages::new(&machine, &cpus, techniques, Box::new(clocks)));
    Uneven::new(techniques, places, vec![1.0, 1.0 / 3.0], voltages, None)
}

/// All four are there, and do this.
fn roster(mock: &Mock, techniques: Techniques, clocks: Option<Clocks>, doing: [Doing; 4]) -> Roster {
    let roster = Roster::new(4, Some(uneven(mock, techniques, clocks)), None, Vec::new()).unwrap();
    for (worker, doing) in doing.into_iter().enumerate() {
        roster.arrive(worker, true, Active);
        roster.turn(worker, doing);
    }
    mock.asked();
    roster
}

use Doing::{Active, Waiting};

#[test]
fn workers_take_the_biggest_cores_first_and_leave_as_they_came() {
    let mock = Mock::default();
    let roster = Roster::new(4, Some(uneven(&mock, Techniques::BASE_M, None)), None, Vec::new()).unwrap();
    let before: Vec<_> = (0..4).map(|worker| roster.arrive(worker, true, Active)).collect();
    assert_eq!(mock.asked(), [[0], [1], [2], [3]]);
    for (worker, before) in before.into_iter().enumerate() {
        roster.leave(worker, before);
    }
    assert_eq!(mock.asked(), vec![vec![0, 1, 2, 3]; 4]);
}

#[test]
fn the_busiest_little_worker_is_mugged_after_a_while_and_does_not_mug_back() {
    let mock = Mock::default();
    let roster = roster(&mock, Techniques::BASE_M, None, [Active, Waiting, Active, Active]);
    let mut patience = Patience::default();
    let tasks = |worker| [0, 0, 1, 5][worker];
    let mut failed = |worker, times, away: &dyn Fn() -> bool| {
        patience.failed = times;
        roster.failed(worker, &mut patience, tasks, away)
    };
    let free = || true;
    assert!(!failed(1, 1, &free), "too early");
    assert!(failed(1, 2, &free) && mock.asked().is_empty(), "it looks on for a while");
    let asked = AtomicUsize::new(0);
    while asked.load(Ordering::SeqCst) == 0 {
        failed(1, 3, &|| asked.fetch_add(1, Ordering::SeqCst) > 0);
    }
    assert!(mock.asked().is_empty(), "what it waits for is done: it stays where it is");
    while mock.asked.lock().unwrap().is_empty() {
        assert!(failed(1, 3, &free), "it stays up");
    }
    // The one with the task first.
    assert_eq!(mock.asked(), [[1], [3]]);
    assert!(!failed(1, 4, &free), "on its little core it may sleep");
    assert_eq!(roster.seat(3).cpu, 1);
    assert_eq!(roster.seat(1).cpu, 3);
    roster.turn(2, Waiting);
    assert!(!failed(2, 9, &free) && mock.asked().is_empty(), "little workers mug nobody");
}

#[test]
fn the_first_worker_goes_home_to_a_big_core() {
    let mock = Mock::default();
    let roster = roster(&mock, Techniques::BASE_M, None, [Active, Waiting, Waiting, Waiting]);
    let uneven = roster.uneven().unwrap();
    let mut patience = Patience { failed: 2, since: None };
    uneven.mug(1, &mut patience, &roster.hints, |_| 0, || true, None);
    assert!(mock.asked().is_empty(), "it is on a big core");
    // As if it had been mugged by itself: from CPU 0 to CPU 2.
    roster.hints.set(2, Active);
    assert_eq!(uneven.exchange(2, 0), Exchange::Done);
    roster.hints.set(2, Waiting);
    mock.asked();
    roster.leave(0, Some(vec![0, 1, 2, 3]));
    // Worker 1 waits on CPU 1, worker 2 on CPU 0: the first of them gives way.
    assert_eq!(mock.asked(), [vec![1], vec![2], vec![0, 1, 2, 3]]);
}

/// The first worker has ended a parallel region on little CPU 2, and worker 2 is on its big CPU. All count as active.
fn away(mock: &Mock) -> Roster {
    let roster = roster(mock, Techniques::BASE_M, None, [Active; 4]);
    assert_eq!(roster.uneven().unwrap().exchange(2, 0), Exchange::Done);
    mock.asked();
    roster
}

#[test]
fn the_first_worker_goes_home_to_who_has_nothing_to_run_and_has_not_said_so_yet() {
    let mock = Mock::default();
    let roster = away(&mock);
    let mut looks = 0;
    let ends_its_task = || {
        looks += 1;
        if looks == 3 {
            roster.turn(2, Waiting);
        }
        looks < 9
    };
    roster.uneven().unwrap().go_home(&roster.hints, None, ends_its_task);
    assert_eq!((roster.seat(0).cpu, roster.seat(2).cpu), (0, 2));
    assert_eq!(mock.asked(), [[0], [2]]);
    assert_eq!(looks, 3);
}

#[test]
fn a_task_of_another_thread_keeps_its_big_core() {
    let mock = Mock::default();
    let roster = away(&mock);
    let mut looks = 0;
    roster.uneven().unwrap().go_home(&roster.hints, None, || {
        looks += 1;
        looks < 5
    });
    assert!(mock.asked().is_empty());
    assert_eq!(looks, 5);
    // Nobody is there whose core it could have.
    (1..4).for_each(|worker| roster.turn(worker, Doing::Away));
    roster.uneven().unwrap().go_home(&roster.hints, None, || unreachable!("nothing to wait for"));
    assert!(mock.asked().is_empty());
}

#[test]
fn a_refused_exchange_leaves_both_where_they_are() {
    let mock = Mock::default();
    let roster = roster(&mock, Techniques::BASE_M, None, [Active, Waiting, Active, Active]);
    let uneven = roster.uneven().unwrap();
    mock.refuse(0);
    assert_eq!(uneven.exchange(3, 1), Exchange::Refused);
    assert_eq!(mock.asked(), [[1], [3]], "it is where it was");
    mock.refuse(1);
    assert_eq!(uneven.exchange(3, 1), Exchange::Refused);
    assert_eq!(mock.asked(), [[1], [3], [3]], "the first is put back");
    assert_eq!((roster.seat(1).cpu, roster.seat(3).cpu), (1, 3));
}

/// This thread is all four workers, each on its core.
fn everybody(mock: &Mock) -> Places {
    let places = Places::new(Seat::all(&two_and_two()), 4, Box::new(mock.clone()));
    for worker in 0..4 {
        places.arrive(worker, || ());
    }
    mock.asked();
    places
}

#[test]
fn a_refused_exchange_does_not_move_who_has_left_meanwhile() {
    let mock = Mock::default();
    let places = everybody(&mock);
    // What is refused is the second core of the exchange, after worker 3 has got its mask back.
    mock.refuse(2);
    let leaves = || places.leave(3, &[0, 1, 2, 3]);
    assert_eq!(places.exchange(3, 1, || true, leaves), Exchange::Refused);
    assert_eq!(mock.asked(), [vec![1], vec![0, 1, 2, 3], vec![3]], "and nothing after it");
    assert_eq!((places.seat(1).cpu, places.seat(3).cpu), (1, 3));
}

#[test]
fn a_refused_exchange_moves_who_has_come_meanwhile() {
    let mock = Mock::default();
    let places = everybody(&mock);
    // Another thread becomes worker 3 and takes the core that it was to have.
    mock.refuse(3);
    let changes = || {
        places.leave(3, &[0, 1, 2, 3]);
        places.arrive(3, || ());
    };
    assert_eq!(places.exchange(3, 1, || true, changes), Exchange::Refused);
    assert_eq!(
        mock.asked(),
        [vec![1], vec![0, 1, 2, 3], vec![1], vec![3], vec![3]],
        "the last is the one that has come"
    );
    assert_eq!((places.seat(1).cpu, places.seat(3).cpu), (1, 3));
}

#[test]
fn who_is_not_there_is_not_moved() {
    let mock = Mock::default();
    let roster = roster(&mock, Techniques::BASE_M, None, [Active, Waiting, Active, Active]);
    roster.leave(3, Some(vec![0]));
    mock.asked();
    assert_eq!(roster.uneven().unwrap().exchange(3, 1), Exchange::Refused);
    assert!(mock.asked().is_empty());
}

#[test]
fn any_number_of_exchanges_at_once_keep_one_worker_on_each_core() {
    let mock = Mock::default();
    let roster = roster(&mock, Techniques::BASE_M, None, [Active; 4]);
    let (uneven, done) = (roster.uneven().unwrap(), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for seed in 0..4_usize {
            let done = &done;
            scope.spawn(move || {
                for round in 0..500 {
                    let (one, other) = ((round + seed) % 4, (round / 4 + seed) % 4);
                    if uneven.exchange(one, other) == Exchange::Done {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(done.into_inner() > 0);
    let mut cpus: Vec<u16> = (0..4).map(|worker| roster.seat(worker).cpu).collect();
    cpus.sort_unstable();
    assert_eq!(cpus, [0, 1, 2, 3]);
}

#[test]
fn little_workers_leave_work_to_big_ones_but_not_for_ever() {
    let roster = roster(&Mock::default(), Techniques::BASE, None, [Active, Waiting, Active, Waiting]);
    assert_eq!(roster.holds_back(3, 0), Some(1));
    assert_eq!(roster.holds_back(3, 100), None);
    assert_eq!(roster.holds_back(0, 0), None);
    roster.turn(1, Active);
    assert_eq!(roster.holds_back(3, 0), None, "all big cores are active");
    assert_eq!(roster.first_to_wake(&[2, 0, 3, 1]), Some(3), "the big one that lay down last");
    assert_eq!(roster.first_to_wake(&[2]), Some(0), "whoever sleeps is somebody to wake");
    assert_eq!(roster.first_to_wake(&[]), None);
}

/// What a worker finds that is urgent, after so many failures.
fn finds_urgent(pool: &PoolState, worker: usize, failed: u32) -> bool {
    // SAFETY: nobody else works in this slot, and the pool outlives the call.
    unsafe {
        Worker::enter(&pool.slots[worker], |worker| {
            let job = worker.find(worker.floor(), failed);
            job.is_some_and(|job| {
                Job::run(job, worker.slot());
                true
            })
        })
    }
}

#[test]
fn an_urgent_task_is_left_to_a_big_worker_as_well_but_not_for_ever() {
    let doing = [Active, Waiting, Active, Active];
    let state =
        |techniques, doing| PoolState::new(4, Some(Arc::new(roster(&Mock::default(), techniques, None, doing))));
    let hurry = |pool: &PoolState| {
        // SAFETY: it borrows nothing, does not unwind, and is run once.
        pool.hurry(1, unsafe { HeapJob::leak(|_| ()) });
    };
    let pool = state(Techniques::BASE, doing);
    hurry(&pool);
    assert!(!finds_urgent(&pool, 3, 0), "worker 1 waits on a big core");
    assert!(finds_urgent(&pool, 1, 0));
    hurry(&pool);
    assert!(finds_urgent(&pool, 0, 0), "big workers leave nothing to each other");
    hurry(&pool);
    assert!(finds_urgent(&pool, 3, 100), "nobody came");
    let pool = state(Techniques::BASE, [Active; 4]);
    hurry(&pool);
    assert!(finds_urgent(&pool, 3, 0), "all big cores are active");
    let pool = state(Techniques { biasing: false, ..Techniques::BASE_M }, doing);
    hurry(&pool);
    assert!(finds_urgent(&pool, 3, 0), "without work-biasing whoever looks first has it");
}

#[test]
fn a_big_worker_that_sleeps_is_woken_when_there_is_something_to_mug() {
    let doing = [Active, Waiting, Waiting, Waiting];
    let of = |techniques| roster(&Mock::default(), techniques, None, doing);
    assert_eq!(of(Techniques::BASE_M).found(2), Some(1));
    assert_eq!(of(Techniques::BASE).found(2), None);
    assert_eq!(of(Techniques::BASE_M).found(1), None, "nobody is bigger");
}

#[test]
fn voltages_follow_who_is_active() {
    let clocks = Clocks::default();
    let roster = roster(&Mock::default(), Techniques::BASE_PSM, Some(clocks.clone()), [Active; 4]);
    let set = || clocks.set.lock().unwrap().iter().map(|(_, mhz)| *mhz).collect::<Vec<_>>();
    let paced = set();
    assert!(paced[0] == paced[1] && paced[2] == paced[3], "{paced:?}");
    // What a saved tree does not tell is assumed to be alike, so they differ by what leaks only: an instruction costs less of that on a big core.
    assert!(paced[0] > 1500 && paced[2] < 1500, "{paced:?}");
    roster.turn(2, Waiting);
    roster.turn(3, Waiting);
    let sprinting = set();
    assert_eq!(sprinting[2..], [500, 500], "who waits rests");
    assert!(sprinting[0] > paced[0], "{sprinting:?}");
    for worker in 0..2 {
        roster.leave(worker, None);
    }
    assert_eq!(set(), [2000, 2000, 500, 500], "serially, the big cores sprint");
    assert!(!clocks.dropped.load(Ordering::SeqCst));
    drop(roster);
    assert!(clocks.dropped.load(Ordering::SeqCst), "which puts back what was there");
}

#[test]
fn without_a_technique_its_region_runs_at_what_was_there() {
    let clocks = Clocks::default();
    let roster = roster(&Mock::default(), Techniques::BASE, Some(clocks.clone()), [Active; 4]);
    let set = || clocks.set.lock().unwrap().iter().map(|(_, mhz)| *mhz).collect::<Vec<_>>();
    assert_eq!(set(), [1500; 4]);
    roster.turn(3, Waiting);
    assert_eq!(set(), [1500; 4]);
}

#[test]
fn a_backend_that_refuses_is_named_once_and_puts_back_what_was_there() {
    let mut clocks = Clocks::default();
    clocks.refuses = true;
    let roster = roster(&Mock::default(), Techniques::BASE_PSM, Some(clocks.clone()), [Active; 4]);
    roster.turn(3, Waiting);
    assert_eq!(roster.missing().iter().map(|missing| missing.what).collect::<Vec<_>>(), ["frequencies"]);
    assert!(clocks.dropped.load(Ordering::SeqCst));
}

#[test]
fn books_tell_busy_from_waiting_by_core_type() {
    let books = Books::new(4, 2, true);
    let mock = Mock::default();
    let roster = Roster::new(4, Some(uneven(&mock, Techniques::BASE_M, None)), Some(books), Vec::new()).unwrap();
    for worker in 0..4 {
        roster.arrive(worker, true, Active);
    }
    roster.turn(1, Waiting);
    let mut patience = Patience { failed: 2, since: None };
    while roster.account(1).unwrap().mugs == 0 {
        roster.failed(1, &mut patience, |_| 0, || true);
    }
    let account = roster.account(1).unwrap();
    assert!(account.spans[0].waiting > Ns::ZERO && account.spans[1].busy == Ns::ZERO, "{account:?}");
    let events = roster.events();
    assert!(events.is_sorted_by_key(|event| event.at) && events.iter().any(|event| event.worker == 1 && event.cpu > 1));
}

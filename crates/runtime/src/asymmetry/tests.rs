//! Decisions on machines that are not there: what a mock of the kernel's affinity and of a DVFS backend is made to set.
#![allow(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use evenkeel_model::stealing::Techniques;
use evenkeel_model::{Hz, Ns};
use evenkeel_topology::Topology;

use super::accounts::Accounts;
use super::activity::{Activity, Failures};
use super::placement::{Exchange, Placement, PoolCore};
use super::pool::Asymmetry;
use super::uneven::Uneven;
use super::voltages::{Limit, VoltageOptions, Voltages};
use crate::affinity::{Affinity, Mask, Tid};
use crate::dvfs::{Dvfs, Setting};
use crate::job::{HeapJob, Job};
use crate::state::PoolState;
use crate::trace::What;
use crate::worker::Worker;

mod powers;

/// Keeps the masks that are set, and refuses some of them.
#[derive(Clone, Default)]
struct Mock {
    sets: Arc<Mutex<Vec<Mask>>>,
    /// Requests from this one on are refused.
    refuses: Arc<Mutex<Option<usize>>>,
    moving: Arc<AtomicBool>,
}

impl Mock {
    fn sets(&self) -> Vec<Mask> {
        std::mem::take(&mut self.sets.lock().unwrap())
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
        assert!(!self.moving.swap(true, Ordering::SeqCst), "one thread is moved at a time");
        let mut sets = self.sets.lock().unwrap();
        let refused = self.refuses.lock().unwrap().is_some_and(|from| sets.len() >= from);
        sets.push(cpus.to_vec());
        self.moving.store(false, Ordering::SeqCst);
        if refused { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}

/// Keeps the frequencies that are set, in MHz by CPU.
#[derive(Clone, Default)]
struct Clocks {
    set: Arc<Mutex<Vec<(u16, u64)>>>,
    /// A CPU that a user has limited, and its ceiling.
    limited: Option<(u16, Hz)>,
    refuses: bool,
    dropped: Arc<AtomicBool>,
}

impl Dvfs for Clocks {
    fn ceiling(&self, cpu: u16) -> Option<Hz> {
        let limited = self.limited.filter(|(limited, _)| *limited == cpu);
        Some(limited.map_or(Hz(1_500_000_000), |(_, ceiling)| ceiling))
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

/// CPUs 0 and 1 are big, 2 and 3 little; all run at 0.5 to 2 GHz. What else is known of them is in files.
fn two_and_two_with(files: &[(&str, String)], ratio: f64) -> Topology {
    let root = tempfile::tempdir().unwrap();
    let frequencies = |cpu| {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_available_frequencies");
        (file, "500000 1000000 1500000 2000000".to_owned())
    };
    let all = files.iter().map(|(path, text)| ((*path).to_owned(), text.clone())).chain((0..4).map(frequencies));
    for (path, text) in all.chain([("sys/devices/system/cpu/online".to_owned(), "0-3".to_owned())]) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Topology::read(root.path()).unwrap().with(Some("0,1"), Some("2,3"), Some(ratio)).unwrap()
}

fn two_and_two() -> Topology {
    two_and_two_with(&[], 3.0)
}

fn uneven(mock: &Mock, techniques: Techniques, clocks: Option<Clocks>) -> Uneven {
    let options = VoltageOptions { techniques, target: None, limit: Limit::Highest };
    uneven_on(&two_and_two(), mock, options, clocks)
}

fn uneven_on(topology: &Topology, mock: &Mock, options: VoltageOptions, clocks: Option<Clocks>) -> Uneven {
    let placement = Placement::new(PoolCore::all(topology), 4, Box::new(mock.clone()));
    let (machine, cpus) = topology.machine("x").unwrap();
    let techniques = options.techniques;
    let voltages = clocks.map(|clocks| Voltages::new(&machine, &cpus, options, Box::new(clocks)));
    Uneven::new(techniques, placement, vec![1.0, 1.0 / 3.0], voltages, None)
}

/// All four are there, and do this.
fn asymmetry(mock: &Mock, techniques: Techniques, clocks: Option<Clocks>, doing: [Activity; 4]) -> Asymmetry {
    let asymmetry = Asymmetry::new(4, Some(uneven(mock, techniques, clocks)), None, Vec::new()).unwrap();
    for (worker, doing) in doing.into_iter().enumerate() {
        asymmetry.arrive(worker, true, Active);
        asymmetry.set(worker, doing);
    }
    mock.sets();
    asymmetry
}

use Activity::{Active, Waiting};

#[test]
fn workers_take_the_biggest_cores_first_and_leave_as_they_came() {
    let mock = Mock::default();
    let asymmetry = Asymmetry::new(4, Some(uneven(&mock, Techniques::BASE_M, None)), None, Vec::new()).unwrap();
    let before: Vec<_> = (0..4).map(|worker| asymmetry.arrive(worker, true, Active)).collect();
    assert_eq!(mock.sets(), [[0], [1], [2], [3]]);
    for (worker, before) in before.into_iter().enumerate() {
        asymmetry.leave(worker, before);
    }
    assert_eq!(mock.sets(), vec![vec![0, 1, 2, 3]; 4]);
}

#[test]
fn the_busiest_little_worker_is_mugged_after_a_while_and_does_not_mug_back() {
    let mock = Mock::default();
    let asymmetry = asymmetry(&mock, Techniques::BASE_M, None, [Active, Waiting, Active, Active]);
    let mut failures = Failures::default();
    let tasks = |worker| [0, 0, 1, 5][worker];
    let mut failed = |worker, times, away: &dyn Fn() -> bool| {
        failures.failed = times;
        asymmetry.failed(worker, &mut failures, tasks, away)
    };
    let free = || true;
    assert!(!failed(1, 1, &free), "too early");
    assert!(failed(1, 2, &free) && mock.sets().is_empty(), "it tries on for a while");
    let sets = AtomicUsize::new(0);
    while sets.load(Ordering::SeqCst) == 0 {
        failed(1, 3, &|| sets.fetch_add(1, Ordering::SeqCst) > 0);
    }
    assert!(mock.sets().is_empty(), "what it waits for is done: it stays where it is");
    while mock.sets.lock().unwrap().is_empty() {
        assert!(failed(1, 3, &free), "it stays up");
    }
    // The one with the task first.
    assert_eq!(mock.sets(), [[1], [3]]);
    assert!(!failed(1, 4, &free), "on its little core it may sleep");
    assert_eq!(asymmetry.core(3).cpu, 1);
    assert_eq!(asymmetry.core(1).cpu, 3);
    asymmetry.set(2, Waiting);
    assert!(!failed(2, 9, &free) && mock.sets().is_empty(), "little workers do not mug");
}

#[test]
fn the_first_worker_goes_home_to_a_big_core() {
    let mock = Mock::default();
    let asymmetry = asymmetry(&mock, Techniques::BASE_M, None, [Active, Waiting, Waiting, Waiting]);
    let uneven = asymmetry.uneven().unwrap();
    let mut failures = Failures { failed: 2, since: None };
    uneven.mug(1, &mut failures, &asymmetry.activities, |_| 0, || true, None);
    assert!(mock.sets().is_empty(), "it is on a big core");
    // As if it had been mugged by itself: from CPU 0 to CPU 2.
    asymmetry.activities.set(2, Active);
    assert_eq!(uneven.exchange(2, 0), Exchange::Done);
    asymmetry.activities.set(2, Waiting);
    mock.sets();
    asymmetry.leave(0, Some(vec![0, 1, 2, 3]));
    // Worker 1 waits on CPU 1, worker 2 on CPU 0: the first of them gives way.
    assert_eq!(mock.sets(), [vec![1], vec![2], vec![0, 1, 2, 3]]);
}

/// The first worker has ended a parallel region on little CPU 2, and worker 2 is on its big CPU. All count as active.
fn away(mock: &Mock) -> Asymmetry {
    let asymmetry = asymmetry(mock, Techniques::BASE_M, None, [Active; 4]);
    assert_eq!(asymmetry.uneven().unwrap().exchange(2, 0), Exchange::Done);
    mock.sets();
    asymmetry
}

#[test]
fn the_first_worker_goes_home_to_who_has_nothing_to_run_and_has_not_said_so_yet() {
    let mock = Mock::default();
    let asymmetry = away(&mock);
    let mut tries = 0;
    let ends_its_task = || {
        tries += 1;
        if tries == 3 {
            asymmetry.set(2, Waiting);
        }
        tries < 9
    };
    asymmetry.uneven().unwrap().go_home(&asymmetry.activities, None, ends_its_task);
    assert_eq!((asymmetry.core(0).cpu, asymmetry.core(2).cpu), (0, 2));
    assert_eq!(mock.sets(), [[0], [2]]);
    assert_eq!(tries, 3);
}

#[test]
fn a_task_of_another_thread_keeps_its_big_core() {
    let mock = Mock::default();
    let asymmetry = away(&mock);
    let mut tries = 0;
    asymmetry.uneven().unwrap().go_home(&asymmetry.activities, None, || {
        tries += 1;
        tries < 5
    });
    assert!(mock.sets().is_empty());
    assert_eq!(tries, 5);
    // No worker is there whose core it could have.
    (1..4).for_each(|worker| asymmetry.set(worker, Activity::Away));
    asymmetry.uneven().unwrap().go_home(&asymmetry.activities, None, || unreachable!("nothing to wait for"));
    assert!(mock.sets().is_empty());
}

#[test]
fn a_refused_exchange_leaves_both_where_they_are() {
    let mock = Mock::default();
    let asymmetry = asymmetry(&mock, Techniques::BASE_M, None, [Active, Waiting, Active, Active]);
    let uneven = asymmetry.uneven().unwrap();
    mock.refuse(0);
    assert_eq!(uneven.exchange(3, 1), Exchange::Refused);
    assert_eq!(mock.sets(), [[1], [3]], "it is where it was");
    mock.refuse(1);
    assert_eq!(uneven.exchange(3, 1), Exchange::Refused);
    assert_eq!(mock.sets(), [[1], [3], [3]], "the first is put back");
    assert_eq!((asymmetry.core(1).cpu, asymmetry.core(3).cpu), (1, 3));
}

/// This thread is all four workers, each on its core.
fn all_there(mock: &Mock) -> Placement {
    let placement = Placement::new(PoolCore::all(&two_and_two()), 4, Box::new(mock.clone()));
    for worker in 0..4 {
        placement.arrive(worker, || ());
    }
    mock.sets();
    placement
}

#[test]
fn a_refused_exchange_does_not_move_who_has_left_meanwhile() {
    let mock = Mock::default();
    let placement = all_there(&mock);
    // What is refused is the second core of the exchange, after worker 3 has got its mask back.
    mock.refuse(2);
    let leaves = || placement.leave(3, &[0, 1, 2, 3]);
    assert_eq!(placement.exchange(3, 1, || true, leaves), Exchange::Refused);
    assert_eq!(mock.sets(), [vec![1], vec![0, 1, 2, 3], vec![3]], "and nothing after it");
    assert_eq!((placement.core(1).cpu, placement.core(3).cpu), (1, 3));
}

#[test]
fn a_refused_exchange_moves_who_has_come_meanwhile() {
    let mock = Mock::default();
    let placement = all_there(&mock);
    // Another thread becomes worker 3 and takes the core that it was to have.
    mock.refuse(3);
    let changes = || {
        placement.leave(3, &[0, 1, 2, 3]);
        placement.arrive(3, || ());
    };
    assert_eq!(placement.exchange(3, 1, || true, changes), Exchange::Refused);
    assert_eq!(
        mock.sets(),
        [vec![1], vec![0, 1, 2, 3], vec![1], vec![3], vec![3]],
        "the last is the one that has come"
    );
    assert_eq!((placement.core(1).cpu, placement.core(3).cpu), (1, 3));
}

#[test]
fn who_is_not_there_is_not_moved() {
    let mock = Mock::default();
    let asymmetry = asymmetry(&mock, Techniques::BASE_M, None, [Active, Waiting, Active, Active]);
    asymmetry.leave(3, Some(vec![0]));
    mock.sets();
    assert_eq!(asymmetry.uneven().unwrap().exchange(3, 1), Exchange::Refused);
    assert!(mock.sets().is_empty());
}

#[test]
fn any_number_of_exchanges_at_once_keep_one_worker_on_each_core() {
    let mock = Mock::default();
    let asymmetry = asymmetry(&mock, Techniques::BASE_M, None, [Active; 4]);
    let (uneven, done) = (asymmetry.uneven().unwrap(), AtomicUsize::new(0));
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
    let mut cpus: Vec<u16> = (0..4).map(|worker| asymmetry.core(worker).cpu).collect();
    cpus.sort_unstable();
    assert_eq!(cpus, [0, 1, 2, 3]);
}

#[test]
fn little_workers_leave_work_to_big_ones_but_not_for_ever() {
    let asymmetry = asymmetry(&Mock::default(), Techniques::BASE, None, [Active, Waiting, Active, Waiting]);
    assert_eq!(asymmetry.holds_back(3, 0), Some(1));
    assert_eq!(asymmetry.holds_back(3, 100), None);
    assert_eq!(asymmetry.holds_back(0, 0), None);
    asymmetry.set(1, Active);
    assert_eq!(asymmetry.holds_back(3, 0), None, "all big cores are active");
    assert_eq!(asymmetry.first_to_wake(&[2, 0, 3, 1]), Some(3), "the big one that lay down last");
    assert_eq!(asymmetry.first_to_wake(&[2]), Some(0), "any sleeper can be woken");
    assert_eq!(asymmetry.first_to_wake(&[]), None);
}

/// Eight workers on four CPUs: worker 4 is on big CPU 0, as worker 0 is.
#[test]
fn a_worker_that_waits_beside_a_task_has_no_core_for_another_one() {
    let mock = Mock::default();
    let placement = Placement::new(PoolCore::all(&two_and_two()), 8, Box::new(mock.clone()));
    let uneven = Uneven::new(Techniques::BASE_M, placement, vec![1.0, 1.0 / 3.0], None, None);
    let asymmetry = Asymmetry::new(8, Some(uneven), None, Vec::new()).unwrap();
    for (worker, doing) in [(0, Active), (2, Active), (4, Waiting)] {
        asymmetry.arrive(worker, true, doing);
    }
    mock.sets();
    let tries_to_mug = || asymmetry.failed(4, &mut Failures { failed: 2, since: None }, |_| 0, || true);
    let could_mug = || asymmetry.uneven().unwrap().bigger_that_could_mug(2, &asymmetry.activities);
    assert!(!tries_to_mug() && mock.sets().is_empty());
    assert_eq!(could_mug(), None);
    assert_eq!(asymmetry.holds_back(3, 0), None);
    assert_eq!(asymmetry.first_to_wake(&[3, 4]), Some(0), "the little one has a core for itself");
    asymmetry.set(0, Waiting);
    assert!(tries_to_mug());
    assert_eq!(could_mug(), Some(0));
    assert_eq!(asymmetry.holds_back(3, 0), Some(0));
    assert_eq!(asymmetry.first_to_wake(&[3, 4]), Some(1));
}

/// A kernel that takes so long to move a thread that worker 1 has ended its task by then.
#[derive(Clone, Default)]
struct Slow(Arc<OnceLock<Weak<Asymmetry>>>);

impl Affinity for Slow {
    fn mask(&self, _: Tid) -> io::Result<Mask> {
        Ok(vec![0, 1, 2, 3])
    }

    fn restrict(&self, _: Tid, _: &[u16]) -> io::Result<()> {
        if let Some(asymmetry) = self.0.get().and_then(Weak::upgrade) {
            asymmetry.set(1, Waiting);
        }
        Ok(())
    }
}

#[test]
fn a_turn_notes_what_workers_do_when_it_is_done() {
    let kernel = Slow::default();
    let placement = Placement::new(PoolCore::all(&two_and_two()), 4, Box::new(kernel.clone()));
    let uneven = Uneven::new(Techniques::BASE_M, placement, vec![1.0, 1.0 / 3.0], None, None);
    let accounts = Accounts::new(4, 2, true);
    let asymmetry = Arc::new(Asymmetry::new(4, Some(uneven), Some(accounts), Vec::new()).unwrap());
    for worker in [1, 3] {
        asymmetry.arrive(worker, true, Active);
    }
    kernel.0.set(Arc::downgrade(&asymmetry)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| asymmetry.sample(true, |_| (0, 0, 0), || false));
        while asymmetry.account(3).unwrap().turns == 0 {
            std::thread::yield_now();
        }
        asymmetry.uneven().unwrap().stop();
    });
    let events = asymmetry.events();
    let last = events.iter().rfind(|event| event.worker == 1).unwrap();
    assert_eq!((last.what, last.cpu), (What::Waits, 3));
}

/// A job that does nothing. A queue gets it once.
fn job() -> NonNull<Job> {
    // SAFETY: it borrows nothing, and does not unwind.
    unsafe { HeapJob::leak(|_| ()) }
}

/// Whether a worker finds a job after so many failures. It runs it.
fn finds(pool: &PoolState, worker: usize, failed: u32) -> bool {
    // SAFETY: no other thread works in this slot, and the pool outlives the call.
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
    let state = |techniques, doing| {
        PoolState::new(4, Some(Arc::new(asymmetry(&Mock::default(), techniques, None, doing))), None)
    };
    let hurry = |pool: &PoolState| pool.hurry(1, job());
    let pool = state(Techniques::BASE, doing);
    hurry(&pool);
    assert!(!finds(&pool, 3, 0), "worker 1 waits on a big core");
    assert!(finds(&pool, 1, 0));
    hurry(&pool);
    assert!(finds(&pool, 0, 0), "big workers leave nothing to each other");
    hurry(&pool);
    assert!(finds(&pool, 3, 100), "none has come");
    let pool = state(Techniques::BASE, [Active; 4]);
    hurry(&pool);
    assert!(finds(&pool, 3, 0), "all big cores are active");
    let pool = state(Techniques { biasing: false, ..Techniques::BASE_M }, doing);
    hurry(&pool);
    assert!(finds(&pool, 3, 0), "without work-biasing the first worker that tries has it");
}

#[test]
fn a_worker_that_gets_another_job_has_other_marks_wherever_that_comes_from() {
    let pool = PoolState::new(4, None, None);
    let marks = || pool.slots[3].marks();
    let first = marks();
    pool.inject(job());
    assert!(finds(&pool, 3, 0));
    let second = marks();
    assert_ne!(second, first);
    pool.hurry(1, job());
    assert!(finds(&pool, 3, 0));
    assert_ne!(marks(), second);
}

#[test]
fn no_turns_are_taken_while_an_urgent_task_waits() {
    let (mock, clocks) = (Mock::default(), Clocks::default());
    let asymmetry = asymmetry(&mock, Techniques::BASE_PSM, Some(clocks.clone()), [Active; 4]);
    let pool = PoolState::new(4, Some(Arc::new(asymmetry)), None);
    pool.hurry(1, job());
    std::thread::scope(|scope| {
        scope.spawn(|| pool.sample(true));
        // Each sample begins with frequencies. At the second one the little workers are behind.
        for _ in 0..4 {
            clocks.set.lock().unwrap().clear();
            while clocks.set.lock().unwrap().is_empty() {
                std::thread::yield_now();
            }
        }
        pool.asymmetry.as_ref().unwrap().uneven().unwrap().stop();
    });
    assert!(mock.sets().is_empty());
    assert!(finds(&pool, 0, 0));
}

#[test]
fn a_big_worker_that_sleeps_is_woken_when_there_is_something_to_mug() {
    let doing = [Active, Waiting, Waiting, Waiting];
    let of = |techniques| asymmetry(&Mock::default(), techniques, None, doing);
    assert_eq!(of(Techniques::BASE_M).found(2), Some(1));
    assert_eq!(of(Techniques::BASE).found(2), None);
    assert_eq!(of(Techniques::BASE_M).found(1), None, "none is on a bigger core");
}

#[test]
fn a_backend_that_refuses_is_named_once_and_puts_back_what_was_there() {
    let mut clocks = Clocks::default();
    clocks.refuses = true;
    let asymmetry = asymmetry(&Mock::default(), Techniques::BASE_PSM, Some(clocks.clone()), [Active; 4]);
    asymmetry.set(3, Waiting);
    assert_eq!(asymmetry.missing().iter().map(|missing| missing.what).collect::<Vec<_>>(), ["frequencies"]);
    assert!(clocks.dropped.load(Ordering::SeqCst));
}

#[test]
fn accounts_tell_busy_from_waiting_by_core_type() {
    let accounts = Accounts::new(4, 2, true);
    let mock = Mock::default();
    let asymmetry =
        Asymmetry::new(4, Some(uneven(&mock, Techniques::BASE_M, None)), Some(accounts), Vec::new()).unwrap();
    for worker in 0..4 {
        asymmetry.arrive(worker, true, Active);
    }
    asymmetry.set(1, Waiting);
    let mut failures = Failures { failed: 2, since: None };
    while asymmetry.account(1).unwrap().mugs == 0 {
        asymmetry.failed(1, &mut failures, |_| 0, || true);
    }
    let account = asymmetry.account(1).unwrap();
    assert!(account.spans[0].waiting > Ns::ZERO && account.spans[1].busy == Ns::ZERO, "{account:?}");
    let events = asymmetry.events();
    assert!(events.is_sorted_by_key(|event| event.at) && events.iter().any(|event| event.worker == 1 && event.cpu > 1));
}

//! Counters of a mock, of events of the kernel's own, and of PMUs that only a folder lists.

use std::cell::RefCell;

use evenkeel_model::machines;
use evenkeel_sched::Setup;

use super::*;

/// Mocks a PMU, which machines that run tests may lack: returns the counts that the test sets.
#[derive(Clone, Default)]
struct Mock(Rc<RefCell<BTreeMap<Tid, u64>>>);

struct MockReader(Mock, Tid);

impl Source for Mock {
    fn open(&mut self, tid: Tid, _: Reads) -> io::Result<Box<dyn Read>> {
        if let Some(error) = [(13, libc::EACCES), (24, libc::EMFILE)].iter().find(|(of, _)| *of == tid) {
            return Err(io::Error::from_raw_os_error(error.1));
        }
        Ok(Box::new(MockReader(self.clone(), tid)))
    }
}

impl Read for MockReader {
    fn read(&mut self) -> io::Result<Counts> {
        let counted = self.0.0.borrow().get(&self.1).copied();
        let counted = counted.ok_or_else(|| io::Error::other("it has no counters left"))?;
        Ok(Counts { instructions: Instructions(counted), stalls: None })
    }
}

fn scheduler(policy: &str) -> Scheduler {
    Scheduler::new(machines::by_name("2B2S").unwrap(), Setup::parse(policy).unwrap().make(), None)
}

fn counters(source: &Mock, policy: &str) -> ThreadCounters {
    ThreadCounters::new(Box::new(source.clone()), &scheduler(policy)).unwrap()
}

fn counted(counters: &mut ThreadCounters, tids: &[Tid]) -> Vec<Option<u64>> {
    tids.iter().map(|tid| Some(counters.count(*tid)?.instructions.0)).collect()
}

#[test]
fn nothing_is_counted_where_that_changes_nothing() {
    let counts = |scheduler: &Scheduler| ThreadCounters::new(Box::new(Mock::default()), scheduler).is_some();
    assert_eq!(["pfs", "bias", "cfs"].map(|policy| counts(&scheduler(policy))), [true, true, false]);
    let alike = machines::by_name("x5560-4B").unwrap();
    assert!(!counts(&Scheduler::new(alike, Setup::parse("bias").unwrap().make(), None)));
}

#[test]
fn each_thread_has_its_own_count() {
    let pmu = Mock::default();
    let mut counters = counters(&pmu, "pfs");
    pmu.0.borrow_mut().extend([(1, 100), (2, 0)]);
    assert_eq!(counted(&mut counters, &[1, 2]), [Some(100), Some(0)]);
    pmu.0.borrow_mut().extend([(1, 150), (2, 7)]);
    assert_eq!(counted(&mut counters, &[1, 2]), [Some(150), Some(7)]);
    counters.gone(1);
    assert_eq!(counters.open.len(), 1);
    assert_eq!(counters.missing(), None);
}

#[test]
fn too_many_threads_at_a_time_are_said_and_later_ones_counted_again() {
    let pmu = Mock::default();
    let mut counters = counters(&pmu, "pfs");
    pmu.0.borrow_mut().insert(1, 100);
    assert_eq!(counted(&mut counters, &[24, 1]), [None, Some(100)]);
    let missing = counters.missing().unwrap();
    assert!(missing.starts_with("There are hardware counters for some threads only: Too many open files"), "{missing}");
    assert!(counters.able());
}

#[test]
fn what_is_refused_is_said_once_and_not_tried_again() {
    let mut counters = counters(&Mock::default(), "pfs");
    assert_eq!(counted(&mut counters, &[13, 1]), [None, None]);
    assert!(counters.missing().is_some_and(|why| why.starts_with("No hardware counters: Permission denied")));
    assert!(!counters.able());
}

/// Another program may take a PMU's counters: what a thread has lost does not come back.
#[test]
fn a_thread_that_is_counted_no_more_is_said() {
    let pmu = Mock::default();
    let mut counters = counters(&pmu, "bias");
    pmu.0.borrow_mut().insert(1, 100);
    assert_eq!(counted(&mut counters, &[1]), [Some(100)]);
    pmu.0.borrow_mut().clear();
    assert_eq!(counted(&mut counters, &[1]), [None]);
    pmu.0.borrow_mut().insert(1, 300);
    assert_eq!(counted(&mut counters, &[1]), [None]);
    let said = "There are counters of stalls for some threads only: it has no counters left. Without them bias decides as fcf \
                does.";
    assert_eq!(counters.missing().as_deref(), Some(said));
}

const STALLS: Reads = Reads::Stalls { without: "decides as fcf does" };
/// Software events: the clock of a thread in ns, and how often the kernel gave it a page.
const CLOCK: Event = Event { kind: 1, config: 1 };
const PAGES: Event = Event { kind: 1, config: 2 };

/// Nearly every machine has software events, so they take the places of the hardware's.
fn software(files: usize) -> Perf {
    let stalls = Ok(StallEvents { starved: CLOCK, in_a_cycle: 4, requests: PAGES });
    Perf { pmus: vec![Events { instructions: CLOCK, stalls }], files: Rc::new(Cell::new(files)) }
}

fn this_thread() -> Tid {
    rustix::thread::gettid().as_raw_nonzero().get() as Tid
}

/// Computes for some milliseconds, and touches pages for the first time.
fn work() {
    let mut work = 1_u64;
    (0..20_000_000_u64).for_each(|i| work = std::hint::black_box(work.wrapping_mul(i | 1)));
    let mut pages = vec![0_u8; 16 << 20];
    pages.iter_mut().step_by(4096).for_each(|byte| *byte = std::hint::black_box(1));
}

#[test]
fn the_kernel_counts_what_a_thread_does() {
    if evenkeel_testing::skips(&[&evenkeel_testing::needs::counting]) {
        return;
    }
    let (tid, mut perf) = (this_thread(), software(1));
    let mut reader = perf.open(tid, Reads::Speedups).unwrap();
    let before = reader.read().unwrap();
    work();
    let after = reader.read().unwrap();
    assert!(after.instructions > before.instructions && after.stalls.is_none(), "{before:?}, {after:?}");
    let refused = |perf: &mut Perf, reads| perf.open(tid, reads).is_err_and(|e| e.raw_os_error() == Some(libc::EMFILE));
    assert!(refused(&mut perf, Reads::Speedups));
    drop(reader);
    assert!(refused(&mut perf, STALLS), "that takes three");
    assert!(perf.open(tid, Reads::Speedups).is_ok(), "the file of a thread that is gone is another one's");
}

/// Events of a group count at the same times: two of the same kind count the same.
#[test]
fn the_kernel_counts_stalls_together_with_instructions() {
    if evenkeel_testing::skips(&[&evenkeel_testing::needs::counting]) {
        return;
    }
    let mut reader = software(3).open(this_thread(), STALLS).unwrap();
    work();
    let counts = reader.read().unwrap();
    let stalls = counts.stalls.unwrap();
    assert!(stalls.requests > 0, "{counts:?}");
    let (clock, same) = (counts.instructions.0, 4 * stalls.starved);
    assert!(clock > 0 && clock.abs_diff(same) < clock / 10, "{counts:?}");
}

#[test]
fn a_pmu_without_events_of_stalls_is_said() {
    if evenkeel_testing::skips(&[&evenkeel_testing::needs::counting]) {
        return;
    }
    let mut perf = software(3);
    perf.pmus[0].stalls = Err("the PMU cpu has no event of stalls".into());
    let mut counters = ThreadCounters::new(Box::new(perf), &scheduler("bias")).unwrap();
    assert_eq!(counters.count(this_thread()), None);
    let said = "No counters of stalls: the PMU cpu has no event of stalls. Without them bias decides as fcf does.";
    assert_eq!(counters.missing().as_deref(), Some(said));
}

/// What the kernel would be asked for on a machine whose folder lists this.
#[test]
fn events_are_those_that_the_machine_lists() {
    let root = tempfile::tempdir().unwrap();
    let files = [
        ("type", "4"),
        ("format/event", "config:0-7,32-35"),
        ("format/umask", "config:8-15"),
        ("events/stalled-cycles-frontend", "event=0xa9"),
        ("events/cache-misses", "event=0x64,umask=0x09"),
    ];
    crate::pmu::tests::add(root.path(), "cpu", &files);
    let perf = Perf::of(root.path());
    let [Events { instructions, stalls: Ok(stalls) }] = &perf.pmus[..] else { panic!("there is one, and it has them") };
    assert_eq!(*instructions, Event { kind: 0, config: 1 });
    assert_eq!([stalls.starved, stalls.requests].map(|event| event.config), [0xa9, 0x964]);
}

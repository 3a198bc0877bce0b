//! Instructions that threads retire, where the machine has a PMU.
//!
//! From them the speedup of a thread is measured rather than predicted ([`Rates`](super::Rates)). Machines with several core
//! types have a PMU for each, which counts only while the thread runs on its cores.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::rc::Rc;

use evenkeel_model::Instructions;
use perf_event::Builder;
use perf_event::events::Hardware;
use rustix::process::{Resource, getrlimit};

use crate::event::Tid;
use crate::pmu;

/// Counts for one thread.
pub trait Read {
    /// All instructions since this was opened.
    fn read(&mut self) -> Option<Instructions>;
}

/// Where counters come from.
pub trait Source {
    /// Begins to count for a thread.
    ///
    /// # Errors
    /// It cannot be counted: `ESRCH` if there is no such thread, `EMFILE` if too many are, anything else if no more are to be
    /// opened.
    fn open(&mut self, tid: Tid) -> io::Result<Box<dyn Read>>;
}

/// The counters of threads.
pub struct ThreadCounters {
    source: Box<dyn Source>,
    /// Threads that cannot be counted have nothing to read.
    open: BTreeMap<Tid, Option<Box<dyn Read>>>,
    /// Why a thread is not counted.
    refused: Option<String>,
    /// Nothing more is opened.
    barred: bool,
}

impl ThreadCounters {
    /// Those of this machine's PMUs.
    pub fn of_this_machine() -> Self {
        Self::new(Box::new(Perf::new(Path::new("/"))))
    }

    /// Those of another source.
    pub fn new(source: Box<dyn Source>) -> Self {
        Self { source, open: BTreeMap::new(), refused: None, barred: false }
    }

    /// All instructions that a living thread has retired since the first call for it; `None` if they cannot be counted.
    pub fn count(&mut self, tid: Tid) -> Option<Instructions> {
        let (source, refused, barred) = (&mut self.source, &mut self.refused, &mut self.barred);
        let reader = self.open.entry(tid).or_insert_with(|| {
            if *barred {
                return None;
            }
            match source.open(tid) {
                Ok(reader) => Some(reader),
                // The thread has gone meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => None,
                Err(error) => {
                    *barred = error.raw_os_error() != Some(libc::EMFILE);
                    *refused = Some(error.to_string());
                    None
                }
            }
        });
        reader.as_mut().and_then(|reader| reader.read())
    }

    /// A thread is gone.
    pub fn gone(&mut self, tid: Tid) {
        self.open.remove(&tid);
    }

    /// What is not counted, and why.
    pub fn missing(&self) -> Option<String> {
        let why = self.refused.as_ref()?;
        let some = self.open.values().any(Option::is_some);
        let what = if some { "Hardware counters for some threads only" } else { "No hardware counters" };
        Some(format!("{what}: {why}. Without them a thread counts as gaining from a big core what capacities say."))
    }
}

/// The machine's PMUs.
struct Perf {
    /// The type of each PMU, where there are several. A single one has 0, which is whichever there is.
    pmus: Vec<u32>,
    /// Only the program's own code is counted, which needs fewer privileges.
    event: fn() -> Builder<'static>,
    /// How many more files may be opened.
    files: Rc<Cell<usize>>,
}

impl Perf {
    /// The PMUs that `/sys` below `root` lists.
    pub fn new(root: &Path) -> Self {
        let mut pmus: Vec<u32> = pmu::of_cores(root).iter().map(|pmu| pmu.number).collect();
        if pmus.is_empty() {
            pmus.push(0);
        }
        Self { pmus, event: || Builder::new(Hardware::INSTRUCTIONS), files: Rc::new(Cell::new(files())) }
    }
}

/// Half of the files that this process may open; the others are for all else.
fn files() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| most as usize) / 2
}

impl Source for Perf {
    fn open(&mut self, tid: Tid) -> io::Result<Box<dyn Read>> {
        let files = Files::of(&self.files, self.pmus.len())?;
        let open = |pmu: &u32| {
            let mut builder = (self.event)();
            builder.attrs_mut().config |= u64::from(*pmu) << 32;
            // Pinned: what is counted is exact, nothing is extrapolated.
            builder.observe_pid(tid as libc::pid_t).any_cpu().pinned(true).enabled(true).build()
        };
        let counters: io::Result<Vec<perf_event::Counter>> = self.pmus.iter().map(open).collect();
        Ok(Box::new(Each { counters: counters.map_err(pmu::refused)?, _files: files }))
    }
}

/// Files that may be opened, until this is dropped.
struct Files {
    left: Rc<Cell<usize>>,
    count: usize,
}

impl Files {
    fn of(left: &Rc<Cell<usize>>, count: usize) -> io::Result<Self> {
        let rest = left.get().checked_sub(count).ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
        left.set(rest);
        Ok(Self { left: Rc::clone(left), count })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.left.set(self.left.get() + self.count);
    }
}

/// One of each PMU.
struct Each {
    counters: Vec<perf_event::Counter>,
    _files: Files,
}

impl Read for Each {
    fn read(&mut self) -> Option<Instructions> {
        let counts = self.counters.iter_mut().map(|counter| counter.read().ok());
        counts.sum::<Option<u64>>().map(Instructions)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use perf_event::events::Software;

    use super::*;

    /// Mocks a PMU, which machines that run tests may lack: returns the counts that the test sets.
    #[derive(Clone, Default)]
    struct Mock(Rc<RefCell<BTreeMap<Tid, u64>>>);

    struct MockReader(Mock, Tid);

    impl Source for Mock {
        fn open(&mut self, tid: Tid) -> io::Result<Box<dyn Read>> {
            if let Some(error) = [(13, libc::EACCES), (24, libc::EMFILE)].iter().find(|(of, _)| *of == tid) {
                return Err(io::Error::from_raw_os_error(error.1));
            }
            Ok(Box::new(MockReader(self.clone(), tid)))
        }
    }

    impl Read for MockReader {
        fn read(&mut self) -> Option<Instructions> {
            self.0.0.borrow().get(&self.1).copied().map(Instructions)
        }
    }

    fn counted(counters: &mut ThreadCounters, tids: &[Tid]) -> Vec<Option<u64>> {
        tids.iter().map(|tid| Some(counters.count(*tid)?.0)).collect()
    }

    #[test]
    fn each_thread_has_its_own_count() {
        let pmu = Mock::default();
        let mut counters = ThreadCounters::new(Box::new(pmu.clone()));
        pmu.0.borrow_mut().insert(1, 100);
        assert_eq!(counted(&mut counters, &[1, 2]), [Some(100), None]);
        pmu.0.borrow_mut().extend([(1, 150), (2, 7)]);
        assert_eq!(counted(&mut counters, &[1, 2]), [Some(150), Some(7)]);
        counters.gone(1);
        assert_eq!(counters.open.len(), 1);
        assert_eq!(counters.missing(), None);
    }

    #[test]
    fn too_many_threads_at_a_time_are_said_and_later_ones_counted_again() {
        let pmu = Mock::default();
        let mut counters = ThreadCounters::new(Box::new(pmu.clone()));
        pmu.0.borrow_mut().insert(1, 100);
        assert_eq!(counted(&mut counters, &[24, 1]), [None, Some(100)]);
        let missing = counters.missing().unwrap();
        assert!(missing.starts_with("Hardware counters for some threads only: Too many open files"), "{missing}");
    }

    #[test]
    fn what_is_refused_is_said_once_and_not_tried_again() {
        let mut counters = ThreadCounters::new(Box::new(Mock::default()));
        assert_eq!(counted(&mut counters, &[13, 1]), [None, None]);
        assert!(counters.missing().is_some_and(|why| why.starts_with("No hardware counters: Permission denied")));
    }

    /// Nearly every machine has software events, so one takes the place of the hardware's.
    #[test]
    fn the_kernel_counts_what_a_thread_does() {
        if evenkeel_testing::skips(&[&evenkeel_testing::needs::counting]) {
            return;
        }
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as Tid;
        let mut perf =
            Perf { pmus: vec![0], event: || Builder::new(Software::TASK_CLOCK), files: Rc::new(Cell::new(1)) };
        let mut reader = perf.open(tid).unwrap();
        let before = reader.read();
        let mut work = 1_u64;
        (0..20_000_000_u64).for_each(|i| work = std::hint::black_box(work.wrapping_mul(i | 1)));
        assert!(reader.read() > before && before.is_some());
        assert!(perf.open(tid).is_err_and(|error| error.raw_os_error() == Some(libc::EMFILE)));
        drop(reader);
        assert!(perf.open(tid).is_ok(), "the file of a thread that is gone is another one's");
    }
}

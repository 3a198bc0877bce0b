//! What the PMU counts of threads: from the instructions that they retire on each core type what they gain from a big core is measured;
//! stalls are counted for policies that read them.

use std::collections::BTreeMap;

use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{Increment, Rates, Source, ThreadCounters};
use evenkeel_linux::sample::MAX_TYPES;
use evenkeel_model::Ns;
use evenkeel_sched::Scheduler;

/// What has been measured of each thread under one policy, for the next one.
pub(crate) type Learnt = BTreeMap<Tid, Rates>;

/// How often, under a policy without a period of its own: WASH's quantum (Jibaja et al., CGO 2016, section 7).
const PERIOD: Ns = Ns::from_ms(40);

/// The counters of threads, if what they count changes what the policy does.
#[derive(Default)]
pub(crate) struct Counting {
    counters: Option<ThreadCounters>,
    /// What was measured of threads that are yet to be taken over.
    learnt: Learnt,
}

/// What one measurement of a thread found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// What has been counted since the last one, if the thread ran on one core type only.
    pub(crate) increment: Option<Increment>,
    /// How much faster it is on a big core, once it has run on both types.
    pub(crate) speedup: Option<f64>,
}

impl Counting {
    /// Counts by this source what the policy reads, if it reads anything.
    pub(crate) fn by(source: Box<dyn Source>, scheduler: &Scheduler) -> Self {
        Self { counters: ThreadCounters::new(source, scheduler), ..Self::default() }
    }

    /// Whether anything is counted.
    pub(crate) fn counts(&self) -> bool {
        self.counters.is_some()
    }

    /// What is not counted, and why.
    pub(crate) fn missing(&self) -> Option<String> {
        self.counters.as_ref()?.missing()
    }

    /// How often to measure, if this machine can.
    pub(crate) fn period(&self) -> Option<Ns> {
        self.counters.as_ref().filter(|counters| counters.able()).map(|_| PERIOD)
    }

    /// A policy takes threads over of which this has been measured under an earlier one.
    pub(crate) fn remember(&mut self, learnt: Learnt) {
        self.learnt = learnt;
    }

    /// All threads have been taken over: a later one may have the number of one that has ended meanwhile.
    pub(crate) fn forget(&mut self) {
        self.learnt.clear();
    }

    /// A thread is there: what was measured of it before, and what that shows the policy.
    pub(crate) fn begin(&mut self, tid: Tid, core_types: usize) -> (Rates, Measured) {
        let rates = self.learnt.remove(&tid).unwrap_or_default();
        let speedup = rates.speedup(core_types).filter(|_| self.counts());
        (rates, Measured { increment: None, speedup })
    }

    /// Measures a thread that has run for so long on each of a machine's core types.
    pub(crate) fn measure(
        &mut self,
        tid: Tid,
        rates: &mut Rates,
        on_type: &[Ns; MAX_TYPES],
        core_types: usize,
    ) -> Measured {
        let Some(counters) = &mut self.counters else { return Measured::default() };
        let increment = rates.count(counters.count(tid), on_type);
        Measured { increment, speedup: rates.speedup(core_types) }
    }

    /// A thread is gone, or has another number.
    pub(crate) fn gone(&mut self, tid: Tid) {
        if let Some(counters) = &mut self.counters {
            counters.gone(tid);
        }
    }
}

#[cfg(test)]
pub(crate) use mock::Pmu;

#[cfg(test)]
mod mock {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::io;
    use std::rc::Rc;

    use evenkeel_linux::counts::{Counts, StallCounts};
    use evenkeel_linux::event::Tid;
    use evenkeel_linux::host::{Read, Source};
    use evenkeel_model::Instructions;
    use evenkeel_sched::Reads;

    /// Mocks a PMU, which no machine that tests run on need have: each thread has retired and stalled as the test says.
    #[derive(Clone, Default)]
    pub(crate) struct Pmu(Rc<RefCell<BTreeMap<Tid, Counts>>>);

    impl Pmu {
        pub(crate) fn source(&self) -> Box<dyn Source> {
            Box::new(self.clone())
        }

        /// A thread has retired so many instructions.
        pub(crate) fn set(&self, tid: Tid, retired: u64) {
            self.0.borrow_mut().entry(tid).or_default().instructions = Instructions(retired);
        }

        /// It retires so many more, and in 1000 of them there are so many starved cycles and requests.
        pub(crate) fn add(&self, tid: Tid, retired: u64, [starved, requests]: [u64; 2]) {
            let mut all = self.0.borrow_mut();
            let counts = all.entry(tid).or_default();
            counts.instructions.0 += retired;
            let stalls = counts.stalls.get_or_insert_default();
            stalls.starved += retired / 1000 * starved;
            stalls.requests += retired / 1000 * requests;
        }

        fn get(&self, tid: Tid) -> Counts {
            self.0.borrow().get(&tid).copied().unwrap_or_default()
        }
    }

    /// The counters of one thread.
    struct OfThread {
        pmu: Pmu,
        tid: Tid,
        stalls: bool,
    }

    impl Source for Pmu {
        fn open(&mut self, tid: Tid, reads: Reads) -> io::Result<Box<dyn Read>> {
            Ok(Box::new(OfThread { pmu: self.clone(), tid, stalls: matches!(reads, Reads::Stalls { .. }) }))
        }
    }

    impl Read for OfThread {
        fn read(&mut self) -> io::Result<Counts> {
            let counts = self.pmu.get(self.tid);
            let stalls: Option<StallCounts> = self.stalls.then(|| counts.stalls.unwrap_or_default());
            Ok(Counts { stalls, ..counts })
        }
    }
}

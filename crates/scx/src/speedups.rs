//! What threads gain from a big core, measured by the instructions that they retire on each core type.

use std::collections::BTreeMap;

use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{Rates, ThreadCounters};
use evenkeel_linux::sample::MAX_TYPES;
use evenkeel_model::{Instructions, Ns};
use evenkeel_sched::Scheduler;

/// What has been measured of each thread under one policy, for the next one.
pub(crate) type Learnt = BTreeMap<Tid, Rates>;

/// How often, under a policy without a period of its own: WASH's quantum (Jibaja et al., CGO 2016, section 7).
const PERIOD: Ns = Ns::from_ms(40);

/// The counters of threads' instructions, if those change what the policy does.
#[derive(Default)]
pub(crate) struct Speedups {
    counters: Option<ThreadCounters>,
    /// What was measured of threads that are yet to be taken over.
    learnt: Learnt,
}

/// What one measurement of a thread found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// What it retired since the last one, and on which core type, if that was one.
    pub(crate) retired: Option<(usize, Instructions)>,
    /// How much faster it is on a big core, once it has run on both types.
    pub(crate) speedup: Option<f64>,
}

impl Speedups {
    /// Measures with these counters, if the policy reads speedups.
    pub(crate) fn by(counters: ThreadCounters, scheduler: &Scheduler) -> Self {
        Self { counters: Some(counters).filter(|_| scheduler.wants_speedups()), ..Self::default() }
    }

    /// Whether anything is measured.
    pub(crate) fn measured(&self) -> bool {
        self.counters.is_some()
    }

    /// What is not counted, and why.
    pub(crate) fn missing(&self) -> Option<String> {
        self.counters.as_ref()?.missing()
    }

    /// How often to measure, if this machine can.
    pub(crate) fn period(&self) -> Option<Ns> {
        self.counters.as_ref().filter(|counters| counters.missing().is_none()).map(|_| PERIOD)
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
        let speedup = rates.speedup(core_types).filter(|_| self.measured());
        (rates, Measured { retired: None, speedup })
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
        let retired = rates.count(counters.count(tid), on_type);
        Measured { retired, speedup: rates.speedup(core_types) }
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
    use std::cell::Cell;
    use std::io;
    use std::rc::Rc;

    use evenkeel_linux::event::Tid;
    use evenkeel_linux::host::{Read, Source, ThreadCounters};
    use evenkeel_model::Instructions;

    /// Mocks a PMU, which no machine that tests run on need have: every thread has retired this.
    #[derive(Clone, Default)]
    pub(crate) struct Pmu(Rc<Cell<u64>>);

    impl Pmu {
        pub(crate) fn counters(&self) -> ThreadCounters {
            ThreadCounters::new(Box::new(self.clone()))
        }

        pub(crate) fn set(&self, retired: u64) {
            self.0.set(retired);
        }

        pub(crate) fn get(&self) -> u64 {
            self.0.get()
        }
    }

    impl Source for Pmu {
        fn open(&mut self, _tid: Tid) -> io::Result<Box<dyn Read>> {
            Ok(Box::new(self.clone()))
        }
    }

    impl Read for Pmu {
        fn read(&mut self) -> Option<Instructions> {
            Some(Instructions(self.get()))
        }
    }
}

//! How often speedups are measured, by what threads retire on each core type.

use evenkeel_linux::host::ThreadCounters;
use evenkeel_model::Ns;

/// How often, for a policy that looks at nothing itself: WASH's quantum (Jibaja et al., CGO 2016, section 7).
const PERIOD: Ns = Ns::from_ms(40);

/// How often instructions are to be counted, if they can be.
pub(crate) fn period(counters: Option<&ThreadCounters>) -> Option<Ns> {
    counters.filter(|counters| counters.missing().is_none()).map(|_| PERIOD)
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

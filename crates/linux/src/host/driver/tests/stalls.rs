//! Stalls, which bias scheduling reads. No machine that runs tests need count them, so a mock stands for its PMU.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use evenkeel_sched::Reads;

use super::*;
use crate::counts::StallCounts;
use crate::host::Read;

/// Mocks a PMU: a thread has retired and stalled as the test says.
#[derive(Clone, Default)]
struct Pmu(Rc<RefCell<BTreeMap<Tid, Counts>>>);

struct OfThread(Pmu, Tid);

impl Source for Pmu {
    fn open(&mut self, tid: Tid, reads: Reads) -> io::Result<Box<dyn Read>> {
        assert!(matches!(reads, Reads::Stalls { .. }));
        Ok(Box::new(OfThread(self.clone(), tid)))
    }
}

impl Read for OfThread {
    fn read(&mut self) -> io::Result<Counts> {
        Ok(self.0.0.borrow()[&self.1])
    }
}

/// Where two threads of a big and a little core are after two seconds: the first one of each stalls so often outside of the core, in 1000
/// instructions.
fn played(policy: &str, requests: [u64; 2]) -> [u16; 2] {
    let (mut kernel, pmu) = (kernel("1B1S:3", policy), Pmu::default());
    let mut counters = kernel.driver.counters(Box::new(pmu.clone()));
    let tids = [kernel.start(0, Ns::from_secs(10)), kernel.start(1, Ns::from_secs(10))];
    for period in 1..=200 {
        for (tid, requests) in tids.into_iter().zip(requests) {
            let stalls = StallCounts { starved: 0, requests: period * requests * 10_000 };
            let counts = Counts { instructions: Instructions(period * 10_000_000), stalls: Some(stalls) };
            pmu.0.borrow_mut().insert(tid, counts);
            kernel.thread(tid).sample.counts = counters.as_mut().and_then(|counters| counters.count(tid));
        }
        kernel.sample();
    }
    tids.map(|tid| kernel.thread(tid).sample.cpu)
}

/// As mcf and libquantum (figure 5 of the paper).
#[test]
fn a_thread_that_stalls_much_changes_places_with_one_that_does_not() {
    assert_eq!(played("bias", [70, 2]), [1, 0]);
    assert_eq!(played("bias", [2, 70]), [0, 1], "they are where they belong");
    assert_eq!(played("bias", [70, 70]), [0, 1], "neither gains from the big core");
    assert_eq!(played("bias:offcore=100", [70, 2]), [0, 1], "both gain");
    assert_eq!(played("fcf", [70, 2]), [0, 1], "nothing is counted for it");
}

//! What threads waited for in the futex system call: for each other, or for work.
//!
//! Problem: a thread of a pool waits there for the next piece of work, and a program may have dozens. Their waits, summed up, are longer
//! than the run and say nothing, and each thread that wakes one is blamed for a wait that it was not the cause of.
//!
//! Approach: a wait is for another thread if one of the program ended it, and if the thread that waited does a part of the
//! program's work. How small a part says nothing is WASH's: "1% with 2 cores, 0.5% with 4 cores, and so on" of all execution
//! (Jibaja et al., CGO 2016, section 4). Threads that serve a language's runtime system wait for work in any case.

use std::collections::BTreeMap;

use evenkeel_model::Ns;
use evenkeel_sched::ThreadKind;

use super::summary::Summary;
use crate::event::Tid;

/// A thread whose share of all that is executed is smaller than this divided by the number of cores says nothing about its program (WASH 4).
const RESPONSIBLE: f64 = 0.02;

/// How long all threads together waited in the futex system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Until another thread of the program ended the wait.
    pub waited: Ns,
    /// The rest: for work, for time, until the program ended, or for itself.
    pub idle: Ns,
}

/// Whether a thread ran for so little, of all that its program executed, that it says nothing about it: what it waits for is work.
pub fn does_little(ran: Ns, executed: Ns, cores: usize) -> bool {
    (ran.0 as f64) < executed.0 as f64 * RESPONSIBLE / cores.max(1) as f64
}

/// Tells waits apart, and blames threads for those only that were for them.
pub(super) fn tell_apart(summary: &mut Summary, cores: usize) {
    let Some(pairs) = &summary.pairs else { return };
    let applications = summary.threads.iter().filter(|thread| thread.kind == ThreadKind::Application);
    let executed = applications.map(|thread| thread.total().0).sum::<u64>() + summary.short.total().0;
    for thread in &mut summary.threads {
        thread.idles = thread.kind == ThreadKind::Service || does_little(thread.total(), Ns(executed), cores);
    }
    let idles: BTreeMap<Tid, bool> = summary.threads.iter().map(|thread| (thread.tid, thread.idles)).collect();
    let (mut waited, mut blame) = (Ns::ZERO, BTreeMap::<Tid, Ns>::new());
    for pair in pairs.iter().filter(|pair| idles.get(&pair.waiter) != Some(&true)) {
        waited += pair.waited;
        *blame.entry(pair.waker).or_default() += pair.waited;
    }
    let mut all = summary.short.waited;
    for thread in &mut summary.threads {
        if let Some(inside) = &mut thread.inside {
            inside.blame = blame.get(&thread.tid).copied().unwrap_or_default();
            all += inside.waited;
        }
    }
    summary.waits = Some(Waits { waited, idle: all.since(waited) });
}

#[cfg(test)]
mod tests {
    use super::super::summary::ThreadSummary;
    use super::*;
    use crate::sample::{Inside, MAX_TYPES, PairWaits, Turn};
    use evenkeel_sched::policy::Judgement;

    fn thread(tid: Tid, kind: ThreadKind, run_ms: u64, waited_ms: u64) -> ThreadSummary {
        let mut run = [Ns::ZERO; MAX_TYPES];
        run[0] = Ns::from_ms(run_ms);
        let (waited, blame) = (Ns::from_ms(waited_ms), Ns::from_ms(10_000));
        ThreadSummary {
            tid,
            process: 1,
            name: String::new(),
            kind,
            run,
            delay: Ns::ZERO,
            switches: 0,
            inside: Some(Inside { turn: Turn::Off(Ns::ZERO), preempted: 0, waited, blame }),
            idles: false,
            judgement: Judgement::default(),
        }
    }

    fn pair(waiter: Tid, waker: Tid, ms: u64) -> PairWaits {
        PairWaits { waiter, waker, waited: Ns::from_ms(ms), times: 1 }
    }

    /// Two workers wait for each other, a pool for what the first one submits, a collector for it, too, and a timer ended some of the
    /// second one's waits.
    #[test]
    fn waits_for_threads_are_told_from_waits_for_work() {
        use ThreadKind::{Application, Service};
        let mut summary = Summary {
            threads: vec![
                thread(1, Application, 900, 300),
                thread(2, Application, 900, 500),
                thread(3, Application, 8, 1900),
                thread(4, Service, 700, 1200),
            ],
            pairs: Some(vec![pair(1, 2, 300), pair(2, 1, 400), pair(3, 1, 1900), pair(4, 1, 1200)]),
            ..Summary::default()
        };
        summary.finish(Ns::ZERO, 4);
        assert_eq!(summary.waits, Some(Waits { waited: Ns::from_ms(700), idle: Ns::from_ms(3200) }));
        let mut blamed: Vec<_> =
            summary.threads.iter().map(|thread| (thread.tid, thread.inside.unwrap().blame)).collect();
        blamed.sort_unstable();
        assert_eq!(blamed, [(1, 400), (2, 300), (3, 0), (4, 0)].map(|(tid, ms)| (tid, Ns::from_ms(ms))));
        assert_eq!(summary.waiting_pairs().map(|pair| pair.waiter).collect::<Vec<_>>(), [2, 1]);
    }

    /// A hundred threads that share one lock each do a hundredth of the work, which is enough.
    #[test]
    fn many_threads_that_starve_each_other_do_not_idle() {
        let threads = (1..=100).map(|tid| thread(tid, ThreadKind::Application, 10, 990)).collect();
        let pairs = (1..=100).map(|tid| pair(tid, tid % 100 + 1, 990)).collect();
        let mut summary = Summary { threads, pairs: Some(pairs), ..Summary::default() };
        summary.finish(Ns::ZERO, 4);
        assert_eq!(summary.waits, Some(Waits { waited: Ns::from_ms(99_000), idle: Ns::ZERO }));
    }

    #[test]
    fn what_was_not_seen_is_not_known() {
        let mut summary = Summary::default();
        summary.finish(Ns::ZERO, 4);
        assert_eq!(summary.waits, None);
    }
}

//! The driver over a mock of the kernel.

mod conformance;
mod kernel;
mod stalls;

use evenkeel_model::Instructions;
use evenkeel_sched::POLICIES;
use evenkeel_sched::policy::Guarantee;
use proptest::prelude::*;

use self::kernel::{Kernel, PERIOD, QUANTUM};
use super::*;
use crate::counts::Counts;

/// What a PMU has counted that counts no stalls.
fn retired(instructions: u64) -> Option<Counts> {
    Some(Counts { instructions: Instructions(instructions), stalls: None })
}

fn kernel(spec: &str, policy: &str) -> Kernel {
    Kernel::new(spec, &Setup::parse(policy).unwrap())
}

/// Four equal threads, one a core, on two big cores and two of a third of their speed: 3/4 of a second of work each takes
/// 2.25 s where no thread moves, and 1.125 s at best.
#[test]
fn equal_threads_make_equal_progress_under_pfs() {
    let makespan = |policy: &str| {
        let mut kernel = kernel("2B2S:3", policy);
        for cpu in 0..4 {
            kernel.start(cpu, Ns::from_ms(750));
        }
        kernel.finish()
    };
    assert!(makespan("cfs") >= Ns::from_ms(2250));
    let pfs = makespan("pfs");
    assert!(pfs <= Ns::from_ms(1240), "{pfs}: at most a tenth over the ideal");
}

/// Mugging: a big core without work takes over the thread of a little one.
#[test]
fn an_idle_big_core_takes_over_a_little_ones_thread() {
    for policy in ["pfs", "colab"] {
        let mut kernel = kernel("1B1S:3", policy);
        kernel.start(0, Ns::from_ms(50));
        let slow = kernel.start(1, Ns::from_ms(900));
        (0..4).for_each(|_| kernel.sample());
        assert_eq!(kernel.thread(slow).sample.cpu, 1, "{policy}: the big core is busy");
        (0..4).for_each(|_| kernel.sample());
        assert_eq!(kernel.thread(slow).sample.cpu, 0, "{policy}");
    }
}

/// Both big cores want the same thread first. For one of them that is stale; it takes over the other thread, in the same
/// step.
#[test]
fn two_idle_big_cores_take_over_two_threads_at_once() {
    let takes_over = POLICIES.iter().filter(|policy| policy.guarantees.contains(&Guarantee::TakesOver));
    for policy in takes_over.map(|policy| policy.name) {
        let mut kernel = kernel("2B2S:3", policy);
        (0..2).for_each(|cpu| {
            kernel.start(cpu, Ns::from_ms(45));
        });
        let slow = [kernel.start(2, Ns::from_ms(900)), kernel.start(3, Ns::from_ms(900))];
        (0..5).for_each(|_| kernel.sample());
        let mut cpus = slow.map(|tid| kernel.thread(tid).sample.cpu);
        cpus.sort_unstable();
        assert_eq!(cpus, [0, 1], "{policy}");
        assert_eq!(kernel.driver.stale(), 1, "{policy}");
    }
}

/// WASH keeps the thread that others wait for on the big core.
#[test]
fn whoever_is_waited_for_gets_the_big_core() {
    let mut kernel = kernel("1B1S:3", "wash");
    kernel.start(0, Ns::from_secs(5));
    let critical = kernel.start(1, Ns::from_secs(5));
    kernel.sample();
    (0..30).for_each(|_| {
        kernel.driver.blame(Blame { waker: critical, waited: Ns::from_ms(9) });
        kernel.sample();
    });
    assert_eq!(kernel.thread(critical).sample.cpu, 0);
}

/// Where instructions are counted, the speedup is measured as soon as a thread has run on both core types.
#[test]
fn speedups_are_measured_where_instructions_are_counted() {
    let mut kernel = kernel("1B1S:3", "pfs");
    let tid = kernel.start(0, Ns::from_secs(5));
    kernel.thread(tid).cores = CoreSet::EMPTY.with(CoreId(0)).with(CoreId(1));
    let mut sample = |cpu: u16, rate: u64| {
        let thread = kernel.thread(tid);
        thread.sample.cpu = cpu;
        let before = thread.sample.counts.unwrap_or_default();
        thread.sample.counts = retired(before.instructions.0 + rate * PERIOD.0);
        kernel.sample();
        let id = kernel.driver.thread(tid).unwrap();
        kernel.driver.state().thread(id).speedup
    };
    sample(0, 4);
    assert_eq!(sample(0, 4), None, "it has not run on the little core");
    assert_eq!(sample(1, 2), Some(2.0));
    assert_eq!(sample(1, 1), Some(4.0));
}

/// Nothing is reported of a core type that it has not run on, also if it waited for a core.
#[test]
fn a_thread_that_waits_for_a_little_core_did_all_on_that() {
    let mut kernel = kernel("1B1S:3", "cfs");
    let tid = kernel.start(1, Ns::from_secs(5));
    kernel.sample();
    for counted in 1..=60 {
        let sample = &mut kernel.thread(tid).sample;
        sample.run[1] = sample.run[1].since(QUANTUM);
        sample.delay += QUANTUM;
        sample.counts = retired(counted * 10_000_000);
        kernel.sample();
    }
    let thread = kernel.driver.state().thread(kernel.driver.thread(tid).unwrap());
    assert!(thread.utilisation() > 1000, "{}: it could run all the time", thread.utilisation());
    assert!(thread.window.on_type[0].instructions.is_none());
    // The first count is the one to compare with.
    assert_eq!(thread.instructions.map(|all| all.0), Some(59 * 10_000_000));
}

#[test]
fn a_thread_that_runs_on_both_core_types_between_two_samples_runs_all_the_time() {
    let mut kernel = kernel("1B1S:3", "cfs");
    let tid = kernel.start(1, Ns::from_secs(5));
    kernel.sample();
    for _ in 0..60 {
        let sample = &mut kernel.thread(tid).sample;
        sample.run[0] += Ns::from_ms(5);
        sample.run[1] = sample.run[1].since(Ns::from_ms(5));
        kernel.sample();
    }
    let thread = kernel.driver.state().thread(kernel.driver.thread(tid).unwrap());
    assert!(thread.utilisation() > 1000, "{}", thread.utilisation());
}

/// What a span says that a thread waited is not counted again when it is dispatched.
#[test]
fn no_time_of_two_threads_on_one_core_is_counted_twice() {
    let mut kernel = kernel("1B1S:3", "cfs");
    let tids = [kernel.start(0, Ns::from_secs(5)), kernel.start(0, Ns::from_secs(5))];
    for _ in 0..40 {
        kernel.sample();
        let state = kernel.driver.state();
        for tid in tids {
            let id = kernel.driver.thread(tid).unwrap();
            let thread = state.thread(id);
            let waits = if state.ready(id) { kernel.now.since(thread.since) } else { Ns::ZERO };
            let all = thread.executed + thread.waited + waits;
            assert!(all <= kernel.now, "{all} of {}", kernel.now);
        }
    }
}

/// Without eBPF the kernel counts a wait when it is over, and the scheduler has dispatched the thread meanwhile.
#[test]
fn no_wait_is_counted_by_the_scheduler_and_by_the_kernel() {
    let mut kernel = kernel("1B1S:3", "cfs");
    let tids = [kernel.start(0, Ns::from_secs(5)), kernel.start(0, Ns::from_secs(5))];
    for (ms, had, delays) in [(0, [0, 0], [0, 0]), (10, [10, 0], [0, 0]), (20, [20, 0], [0, 0]), (30, [25, 5], [0, 25])]
    {
        let now = Ns::from_ms(ms);
        for (at, tid) in tids.into_iter().enumerate() {
            let sample = &mut kernel.thread(tid).sample;
            (sample.run[0], sample.delay) = (Ns::from_ms(had[at]), Ns::from_ms(delays[at]));
        }
        let samples: Vec<Sample> = kernel.threads.iter().map(|thread| thread.sample).collect();
        let (kind, class, cores) = (ThreadKind::Application, Class::fair(0), CoreSet::first(2));
        kernel.driver.step(now, &samples, |_| Newcomer { kind, class, cores });
        for tid in tids {
            let thread = kernel.driver.state().thread(kernel.driver.thread(tid).unwrap());
            assert!(thread.executed + thread.waited <= now, "{} and {} of {now}", thread.executed, thread.waited);
        }
    }
}

/// What was measured under the policy before is not measured anew.
#[test]
fn a_driver_that_takes_over_knows_the_measured_speedups() {
    let mut kernel = kernel("1B1S:3", "pfs");
    let tid = kernel.start(0, Ns::from_secs(5));
    for (cpu, rate) in [(0, 4), (0, 4), (1, 2)] {
        let thread = kernel.thread(tid);
        thread.sample.cpu = cpu;
        let before = thread.sample.counts.unwrap_or_default();
        thread.sample.counts = retired(before.instructions.0 + rate * PERIOD.0);
        kernel.sample();
    }
    kernel.hand_over(&Setup::parse("colab").unwrap());
    kernel.thread(tid).sample.counts = None;
    kernel.sample();
    let id = kernel.driver.thread(tid).unwrap();
    assert_eq!(kernel.driver.state().thread(id).speedup, Some(2.0));
}

#[test]
fn a_thread_that_the_kernel_moved_is_where_the_kernel_says() {
    let mut kernel = kernel("2B:1", "cfs");
    let tid = kernel.start(0, Ns::from_secs(1));
    kernel.sample();
    kernel.thread(tid).sample.cpu = 1;
    kernel.sample();
    let id = kernel.driver.thread(tid).unwrap();
    assert_eq!(kernel.driver.state().thread(id).core, CoreId(1));
    assert_eq!(kernel.driver.state().core(CoreId(0)).current, None);
}

#[test]
fn a_thread_that_is_not_there_any_more_is_gone() {
    let mut kernel = kernel("1B1S:3", "pfs");
    let tid = kernel.start(0, Ns::from_ms(15));
    kernel.sample();
    kernel.sample();
    assert_eq!(kernel.driver.gone(), [tid]);
    assert_eq!(kernel.driver.thread(tid), None);
}

#[derive(Clone, Debug)]
enum Event {
    Start { cpu: u16, work_ms: u64, core: Option<u16> },
    Block { which: usize, futex: bool },
    Wake { which: usize },
    Migrate { which: usize, cpu: u16 },
    Blame { which: usize, ms: u64 },
    Sample,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..4_u16, 1..300_u64, prop::option::of(0..4_u16))
            .prop_map(|(cpu, work_ms, core)| { Event::Start { cpu: core.unwrap_or(cpu), work_ms, core } }),
        (0..20_usize, any::<bool>()).prop_map(|(which, futex)| Event::Block { which, futex }),
        (0..20_usize).prop_map(|which| Event::Wake { which }),
        (0..20_usize, 0..4_u16).prop_map(|(which, cpu)| Event::Migrate { which, cpu }),
        (0..20_usize, 0..50_u64).prop_map(|(which, ms)| Event::Blame { which, ms }),
        Just(Event::Sample),
        Just(Event::Sample),
        Just(Event::Sample),
    ]
}

proptest! {
    /// Whatever the kernel and the program do: no order that the thread's own mask forbids (which `sample` checks), no
    /// hang, and the books agree with the kernel.
    #[test]
    fn whatever_happens_orders_can_be_carried_out(
        policy in prop::sample::select(vec!["cfs", "static", "gts", "pfs", "bind-vm", "wash", "colab"]),
        events in prop::collection::vec(event(), 1..80),
    ) {
        let mut kernel = kernel("2B2S:3", policy);
        for event in events {
            let pick = |which: usize, kernel: &Kernel| which.checked_rem(kernel.threads.len());
            match event {
                Event::Start { cpu, work_ms, core } => {
                    let tid = kernel.start(cpu, Ns::from_ms(work_ms));
                    if let Some(core) = core {
                        kernel.thread(tid).cores = CoreSet::EMPTY.with(CoreId(core));
                    }
                }
                Event::Block { which, futex } => {
                    if let Some(which) = pick(which, &kernel) {
                        kernel.threads[which].sample.state = if futex { ThreadState::Futex } else { ThreadState::Blocked };
                    }
                }
                Event::Wake { which } => {
                    if let Some(which) = pick(which, &kernel) {
                        kernel.threads[which].sample.state = ThreadState::Runnable;
                    }
                }
                Event::Migrate { which, cpu } => {
                    if let Some(which) = pick(which, &kernel).filter(|which| {
                        kernel.threads[*which].cores.contains(CoreId(cpu))
                    }) {
                        kernel.threads[which].sample.cpu = cpu;
                    }
                }
                Event::Blame { which, ms } => {
                    if let Some(which) = pick(which, &kernel) {
                        let waker = kernel.threads[which].sample.tid;
                        kernel.driver.blame(Blame { waker, waited: Ns::from_ms(ms) });
                    }
                }
                Event::Sample => kernel.sample(),
            }
        }
        kernel.sample();
        for thread in &kernel.threads {
            let id = kernel.driver.thread(thread.sample.tid);
            let runnable = id.map(|id| kernel.driver.state().thread(id).runnable());
            prop_assert_eq!(runnable, Some(thread.sample.state == ThreadState::Runnable));
        }
    }
}

/// The host takes samples more rarely while this holds.
#[test]
fn threads_that_stay_where_they_are_are_steady() {
    let mut kernel = kernel("2B2S:3", "cfs");
    let first = kernel.start(0, Ns::from_ms(500));
    kernel.start(2, Ns::from_ms(500));
    kernel.sample();
    assert!(!kernel.driver.steady(), "both are new");
    // Where the kernel has them, which need not be where the policy would.
    kernel.sample();
    kernel.sample();
    assert!(kernel.driver.steady());
    kernel.thread(first).sample.cpu = 1;
    kernel.sample();
    assert!(!kernel.driver.steady(), "the kernel has moved one");
    kernel.thread(first).sample.state = ThreadState::Futex;
    kernel.sample();
    assert!(!kernel.driver.steady(), "one waits");
    kernel.sample();
    assert!(kernel.driver.steady(), "it still does");
    kernel.threads.retain(|thread| thread.sample.tid != first);
    kernel.sample();
    assert!(!kernel.driver.steady(), "it has gone");
}

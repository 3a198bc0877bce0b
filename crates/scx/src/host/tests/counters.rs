//! What the policy and the governor of frequencies are told: speedups and stalls, where those are counted, blame, and use.

use evenkeel_linux::counts::Counts;
use evenkeel_linux::monitor::ThreadNow;
use evenkeel_model::Instructions;

use super::*;
use crate::counting::Pmu;

#[test]
fn where_instructions_are_counted_speedups_are_measured() {
    let (mut driver, pmu) = (driver("colab"), Pmu::default());
    driver.count_by(pmu.source());
    driver.orders.begin(100, 1);
    driver.orders.ready(100, 0, true);
    let runs = |driver: &mut Driver<Kernel>, mask: u64, rate: u64| {
        driver.orders.mask(100, mask);
        for _ in 0..4 {
            listen(driver, false, false);
            (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
        }
        listen(driver, false, true);
        for _ in 0..2 {
            driver.orders.now += Ns::from_ms(10);
            pmu.add(100, rate * 10_000_000, [0, 0]);
            listen(driver, true, true);
        }
        driver.sched.state().thread(driver.by_tid[&100]).speedup
    };
    assert_eq!(runs(&mut driver, 1, 4), None, "it has not run on a little core");
    runs(&mut driver, 1 << 3, 1);
    assert_eq!(runs(&mut driver, 1 << 3, 1), Some(4.0));
    assert_eq!(driver.missing(), None);
    let thread = driver.sched.state().thread(driver.by_tid[&100]);
    // Of 120 million: the first count has nothing to compare with, and what it retired on the type that it left is not told.
    assert_eq!(thread.instructions, Some(Instructions(60_000_000)));
}

/// Threads as gobmk, mcf and libquantum (figures 5 and 6 of the paper) on big cores, and one as libquantum on a little one: where each of
/// them is after a second.
fn stalling(policy: &str) -> [Option<usize>; 4] {
    let (mut driver, pmu) = (driver(policy), Pmu::default());
    driver.count_by(pmu.source());
    let threads = [(100, 0, [250, 3]), (101, 1, [40, 70]), (102, 2, [10, 2]), (103, 3, [10, 2])];
    for (tid, cpu, _) in threads {
        driver.orders.begin(tid, 1 << cpu);
        driver.orders.ready(tid, cpu, true);
    }
    settle(&mut driver);
    // From here on they may run everywhere.
    threads.iter().for_each(|(tid, ..)| driver.orders.mask(*tid, u64::MAX));
    settle(&mut driver);
    assert_eq!(threads.map(|(tid, ..)| driver.orders.cpu_of(tid)), [0, 1, 2, 3].map(Some));
    let period = driver.period();
    for tick in 1..=250_u64 {
        driver.orders.now += TICK;
        threads.iter().for_each(|(tid, _, stalls)| pmu.add(*tid, 4_000_000, *stalls));
        listen(&mut driver, true, period.is_some_and(|period| (tick * TICK.0).is_multiple_of(period.0)));
        settle(&mut driver);
    }
    threads.map(|(tid, ..)| driver.orders.cpu_of(tid))
}

#[test]
fn threads_that_stall_much_change_places_with_threads_that_do_not() {
    let on_big = |policy: &str| stalling(policy).map(|cpu| cpu.is_some_and(|cpu| cpu < 2));
    assert_eq!(on_big("bias"), [false, false, true, true]);
    let [gobmk, mcf, ..] = on_big("bias:starved=300");
    assert_eq!([gobmk, mcf], [true, false], "only requests are too many");
    assert_eq!(on_big("fcf"), [true, true, false, false], "nothing is counted for it");
}

/// By the clock it has run for longer than the kernel counts: that is made up for when it runs next.
#[test]
fn time_that_something_else_had_the_core_is_not_counted_again_and_again() {
    let mut driver = driver("cfs");
    driver.orders.begin(100, 1);
    let ran = |driver: &Driver<Kernel>| driver.threads[driver.by_tid[&100].index()].on_type[0];
    for round in 1..=5 {
        driver.orders.ready(100, 0, true);
        settle(&mut driver);
        driver.orders.now += Ns::from_ms(10);
        listen(&mut driver, true, false);
        driver.orders.interrupts(100, Ns::from_ms(3));
        driver.orders.blocks(0, false);
        listen(&mut driver, false, false);
        assert_eq!(ran(&driver), Ns::from_ms(7 * round + 3));
    }
    driver.orders.ready(100, 0, true);
    settle(&mut driver);
    driver.orders.now += Ns::from_ms(10);
    driver.orders.blocks(0, false);
    listen(&mut driver, false, false);
    assert_eq!(ran(&driver), Ns::from_ms(7 * 5 + 10));
}

#[test]
fn what_was_measured_is_handed_to_the_policy_that_comes_next() {
    let (mut before, pmu) = (driver("colab"), Pmu::default());
    before.count_by(pmu.source());
    before.orders.begin(100, 1);
    before.orders.begin(101, 1);
    listen(&mut before, false, false);
    let id = before.by_tid[&100];
    let rates = &mut before.threads[id.index()].rates;
    for (retired, big, little) in [(0, 0, 0), (40, 10, 0), (50, 10, 10)] {
        let mut ran = [Ns::ZERO; evenkeel_linux::sample::MAX_TYPES];
        (ran[0], ran[1]) = (Ns::from_ms(big), Ns::from_ms(little));
        rates.count(Some(Counts { instructions: Instructions(retired), stalls: None }), &ran);
    }
    // By way of a policy that does not want to know it.
    let mut between = driver("cfs");
    between.count_by(pmu.source());
    between.counting.remember(before.learnt());
    let mut after = driver("colab");
    after.count_by(pmu.source());
    for driver in [&mut between, &mut after] {
        for tid in [100, 101] {
            driver.orders.begin(tid, 1 << (tid - 100));
            driver.orders.ready(tid, 0, true);
        }
    }
    settle(&mut between);
    let speedup = |driver: &Driver<Kernel>, tid: Tid| driver.sched.state().thread(driver.by_tid[&tid]).speedup;
    assert_eq!(speedup(&between, 100), None);
    after.counting.remember(between.learnt());
    settle(&mut after);
    after.counting.forget();
    after.orders.now += Ns::from_ms(4);
    listen(&mut after, true, false);
    assert_eq!([100, 101].map(|tid| speedup(&after, tid)), [Some(4.0), None], "as soon as they have run");
    // A later thread with the number of one that has gone.
    let mut later = driver("colab");
    later.count_by(pmu.source());
    later.counting.remember(after.learnt());
    later.counting.forget();
    later.orders.begin(100, 1);
    later.orders.ready(100, 0, true);
    settle(&mut later);
    later.orders.now += Ns::from_ms(4);
    listen(&mut later, true, false);
    assert_eq!(speedup(&later, 100), None);
}

#[test]
fn threads_are_seen_with_what_they_have_done_until_now_and_to_their_end() {
    let mut driver = driver("pfs");
    driver.gone.keep();
    driver.orders.begin(100, 1);
    driver.orders.ready(100, 0, true);
    settle(&mut driver);
    let later = driver.orders.now + Ns::from_ms(3);
    let seen = driver.threads(later);
    assert_eq!((seen[0].tid, seen[0].run[0]), (100, Ns::from_ms(3)), "no tick has accounted for it yet");
    driver.orders.now = later + Ns::from_ms(2);
    driver.orders.blocks(0, true);
    listen(&mut driver, false, false);
    assert_eq!(driver.threads(later), []);
    let gone = driver.gone.take();
    assert_eq!((gone.len(), gone[0].tid, gone[0].run[0]), (1, 100, Ns::from_ms(5)));
}

#[test]
fn who_holds_others_up_in_a_futex_is_blamed() {
    let mut driver = driver("colab");
    driver.pairs = Some(Pairs::default());
    for tid in 100..103 {
        driver.orders.begin(tid, u64::MAX);
        driver.orders.ready(tid, 0, true);
    }
    listen(&mut driver, false, false);
    (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
    listen(&mut driver, false, false);
    let waits = driver.orders.cpu_of(101).unwrap();
    driver.orders.blocks(waits, false);
    driver.orders.now += Ns::from_ms(30);
    driver.orders.woken(101, 100, Ns::from_ms(30));
    listen(&mut driver, false, true);
    let blame = |tid: Tid| driver.sched.state().thread(driver.by_tid[&tid]).blame;
    assert_eq!([100, 101, 102].map(blame), [Ns::from_ms(30), Ns::ZERO, Ns::ZERO]);
    let pairs = driver.pairs.as_ref().map(Pairs::longest_first).unwrap();
    assert_eq!(pairs, [PairWaits { waiter: 101, waker: 100, waited: Ns::from_ms(30), times: 1 }]);
}

/// By the number that it has from then on.
#[test]
fn a_thread_that_has_called_exec_is_blamed_in_place_of_the_first_one() {
    let mut driver = driver("colab");
    driver.pairs = Some(Pairs::default());
    for tid in 100..103 {
        driver.orders.begin(tid, u64::MAX);
    }
    driver.orders.ready(101, 0, true);
    driver.orders.ready(102, 1, true);
    settle(&mut driver);
    let wait = |driver: &mut Driver<Kernel>, waiter: Tid, by: Tid| {
        let waits = driver.orders.cpu_of(waiter).unwrap();
        driver.orders.blocks(waits, false);
        driver.orders.now += Ns::from_ms(30);
        driver.orders.woken(waiter, by, Ns::from_ms(30));
        settle(driver);
    };
    wait(&mut driver, 102, 101);
    let calls = driver.orders.cpu_of(101).unwrap();
    driver.orders.exec(calls, 100);
    wait(&mut driver, 102, 100);
    let pairs = driver.pairs.as_ref().map(Pairs::all).unwrap();
    assert_eq!(pairs.iter().map(|pair| (pair.waiter, pair.waker)).collect::<Vec<_>>(), [(102, 100), (102, 101)]);
    let threads = driver.threads(driver.orders.now);
    let blame: Vec<_> = threads.iter().map(|thread| (thread.tid, thread.blame)).collect();
    assert_eq!(blame, [(100, Some(Ns::from_ms(60))), (102, Some(Ns::ZERO))]);
}

/// What it did before is its old number's.
#[test]
fn a_thread_that_has_called_exec_counts_from_zero_under_its_new_number() {
    let mut driver = driver("pfs");
    driver.gone.keep();
    driver.orders.begin(100, 1);
    driver.orders.begin(101, 1);
    driver.orders.ready(101, 0, true);
    settle(&mut driver);
    driver.orders.now += Ns::from_ms(5);
    driver.orders.exec(0, 100);
    listen(&mut driver, false, false);
    let ran = |threads: Vec<ThreadNow>| threads.iter().map(|thread| (thread.tid, thread.run[0])).collect::<Vec<_>>();
    assert_eq!(ran(driver.gone.take()), [(100, Ns::ZERO), (101, Ns::from_ms(5))]);
    let later = driver.orders.now + Ns::from_ms(2);
    assert_eq!(ran(driver.threads(later)), [(100, Ns::from_ms(2))]);
}

/// It had yet to run then.
#[test]
fn a_thread_that_woke_the_one_that_it_then_waits_for_does_not_wait_for_itself() {
    let mut driver = driver("colab");
    driver.pairs = Some(Pairs::default());
    for tid in [100, 101] {
        driver.orders.begin(tid, u64::MAX);
        driver.orders.ready(tid, 0, true);
    }
    settle(&mut driver);
    let cpus = [100, 101].map(|tid| driver.orders.cpu_of(tid).unwrap());
    cpus.into_iter().for_each(|cpu| driver.orders.blocks(cpu, false));
    driver.orders.now += Ns::from_ms(30);
    // The second one began to wait 10 ms ago, before the first one, which it had woken, was queued.
    driver.orders.woken(100, 101, Ns::from_ms(30));
    driver.orders.now += Ns::from_ms(20);
    driver.orders.woken(101, 100, Ns::from_ms(30));
    listen(&mut driver, false, false);
    let wait = |waiter: Tid, waker: Tid, ms: u64| PairWaits { waiter, waker, waited: Ns::from_ms(ms), times: 1 };
    assert_eq!(driver.pairs.as_ref().map(Pairs::all).unwrap(), [wait(100, 101, 30), wait(101, 100, 20)]);
}

#[test]
fn the_governor_of_frequencies_is_told_how_much_cores_are_used_if_it_asks() {
    let told = |speeds: Speeds| {
        let machine = machines::by_name("2B2S").unwrap();
        let policy = Setup::parse("fcf").unwrap();
        let mut driver = Driver::new(Kernel::new(4), machine, (0..4).collect(), &policy, speeds, Ns::ZERO);
        for cpu in 0..2 {
            driver.orders.begin(100 + cpu as Tid, 1 << cpu);
            driver.orders.ready(100 + cpu as Tid, cpu, true);
        }
        let pass = |driver: &mut Driver<Kernel>, time: u64| {
            for _ in 0..time / 4 {
                listen(driver, true, false);
                (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
                driver.orders.now += Ns::from_ms(4);
            }
            driver.orders.levels.get(&0).copied()
        };
        let busy = pass(&mut driver, 400);
        driver.orders.blocks(0, false);
        let idle = pass(&mut driver, 400);
        (busy, idle, driver.orders.levels.get(&3).copied(), driver.figures().frequencies)
    };
    // The kernel takes all of this core for 512.
    let (busy, idle, unused, times) = told(Speeds::asking(vec![512; 4]));
    assert!(busy > Some(500) && busy <= Some(512) && idle == Some(0) && times > Some(8), "{busy:?} {idle:?} {times:?}");
    assert_eq!(unused, Some(0), "it takes a core of which it is told nothing for used to the full");
    assert_eq!(told(Speeds::default()), (None, None, None, None));
}

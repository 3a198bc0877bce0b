//! What must stay within bounds, whatever the policy decides: memory, waits, and cores without work.

use std::collections::BTreeSet;

use evenkeel_sched::POLICIES;

use super::*;

/// In a long session threads come and go without end: what is kept of them must not grow.
#[test]
fn threads_that_have_ended_leave_nothing_behind() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        let mut driver = driver(policy.name);
        for tid in 100..600 {
            driver.orders.begin(tid, u64::MAX);
            driver.orders.ready(tid, 0, true);
            for _ in 0..4 {
                listen(&mut driver, true, true);
                (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
            }
            listen(&mut driver, false, false);
            // Two live at a time.
            if tid > 100 {
                let old = driver.orders.cpu_of(tid - 1).unwrap();
                driver.orders.blocks(old, true);
            }
        }
        listen(&mut driver, false, false);
        assert_eq!((driver.figures().threads, driver.figures().living), (500, 1), "{}", policy.name);
        let kept = (driver.threads.len(), driver.sched.state().threads.len(), driver.programs.living());
        assert!(kept.0 <= 2 && kept.1 <= 2 && kept.2 == 1, "{}: {kept:?}", policy.name);
    }
}

/// A policy that would leave a thread of the lowest weight waiting for 24 s beside heavy ones.
#[test]
fn no_thread_waits_for_long_whatever_the_policy_decides() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        let mut driver = driver(policy.name);
        for tid in 100..108 {
            let weight = if tid < 104 { 88761 } else { 15 };
            driver.orders.begin(tid, u64::MAX);
            driver.orders.threads.get_mut(&tid).unwrap().weight = weight;
            driver.orders.ready(tid, 0, true);
        }
        for _ in 0..10_000 {
            listen(&mut driver, true, true);
            (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
            driver.orders.now += Ns::from_ms(2);
        }
        let longest = driver.figures().longest_wait;
        assert!(longest < Ns::from_secs(2), "{}: {longest}", policy.name);
    }
}

/// The kernel lets a thread that must not migrate have its last core alone. It is helped there, not sent to another one at each tick.
#[test]
fn who_must_not_migrate_is_helped_where_it_is() {
    let mut driver = driver("cfs");
    for tid in 100..108 {
        driver.orders.begin(tid, u64::MAX);
        driver.orders.threads.get_mut(&tid).unwrap().weight = if tid < 107 { 88761 } else { 15 };
        driver.orders.ready(tid, 0, true);
    }
    driver.orders.held.insert(107, 0);
    let mut ran = false;
    for _ in 0..1_000 {
        listen(&mut driver, true, true);
        (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
        ran |= driver.orders.cpu_of(107).is_some();
        driver.orders.now += Ns::from_ms(2);
    }
    assert!(ran && driver.figures().longest_wait < Ns::from_secs(2), "{ran}, {}", driver.figures().longest_wait);
}

/// Many threads, half of them with the lowest weight. Each of four cores runs one for a tick, and what its policy wants for another: 75 threads a core
/// take less than a second (1.2 s where a policy has two of the cores only), and help begins early enough; 225 take 1.8 s.
#[test]
fn the_more_threads_wait_the_earlier_they_are_helped() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        for (threads, most) in [(300, Ns::from_ms(1300)), (900, Ns::from_ms(2000))] {
            let mut driver = driver(policy.name);
            for tid in 100..100 + threads {
                driver.orders.begin(tid, u64::MAX);
                driver.orders.threads.get_mut(&tid).unwrap().weight = if tid % 2 == 0 { 88761 } else { 15 };
                driver.orders.ready(tid, 0, true);
            }
            for _ in 0..1000 {
                listen(&mut driver, true, false);
                (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
                driver.orders.now += TICK;
            }
            let longest = driver.figures().longest_wait;
            assert!(longest < most, "{}: {threads} threads, {longest}", policy.name);
        }
    }
}

/// A core that is left without work while a thread waits that may use it is told, and for how long; not one whose threads are
/// all bound elsewhere.
#[test]
fn the_figures_tell_how_long_cores_were_left_without_work() {
    let mut driver = driver("static");
    driver.orders.begin(100, u64::MAX);
    driver.orders.ready(100, 0, true);
    listen(&mut driver, false, false);
    assert_eq!(driver.figures().longest_idle, Ns::ZERO, "it was sent to one at once");
    // As a policy would that decides nothing.
    let id = driver.by_tid[&100];
    let Location::Sent(core) = driver.threads[id.index()].location else { panic!("it is sent") };
    (driver.cores[core.index()].sent, driver.cores[core.index()].unsent) = (None, None);
    driver.sched.blocked(driver.now, id, Wait::Sleep);
    driver.sched.ready(driver.now, id, Why::Woken { by: None });
    driver.tell();
    driver.now += Ns::from_ms(7);
    driver.tell();
    assert_eq!(driver.figures().longest_idle, Ns::from_ms(7));
    assert_eq!(driver.figures().longest_misplaced, Ns::ZERO, "nothing runs");
}

/// A thread that was bound to a little core may use a big one again, which is idle: it need not wait for anything else to happen.
#[test]
fn a_mask_that_grows_lets_an_idle_core_have_the_thread() {
    for policy in ["pfs", "colab", "fcf"] {
        let mut driver = driver(policy);
        driver.orders.begin(100, 1 << 3);
        driver.orders.ready(100, 3, true);
        settle(&mut driver);
        assert_eq!(driver.orders.cpu_of(100), Some(3), "{policy}");
        driver.orders.mask(100, u64::MAX);
        settle(&mut driver);
        assert!(driver.orders.cpu_of(100).is_some_and(|cpu| cpu < 2), "{policy}: {:?}", driver.orders.cpu_of(100));
    }
}

/// Of two threads that exchange their cores the slower core's leaves first: the faster core goes on until it has.
#[test]
fn the_faster_core_of_an_exchange_goes_on_until_the_slower_one_has_let_go() {
    let mut driver = driver("pfs");
    let act = |driver: &mut Driver<Kernel>, tick: bool| -> Vec<u16> {
        listen(driver, tick, false);
        driver.orders.kicks.drain(..).filter(|(_, stop)| *stop).map(|(cpu, _)| cpu).collect()
    };
    for tid in 100..104 {
        driver.orders.begin(tid, u64::MAX);
        driver.orders.ready(tid, 0, true);
        act(&mut driver, false);
        (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
        act(&mut driver, false);
    }
    let before: Vec<_> = (0..4).map(|cpu| driver.orders.cpus[cpu].runs.expect("one each")).collect();
    let stopped = std::iter::repeat_with(|| {
        driver.orders.now += Ns::from_ms(4);
        act(&mut driver, true)
    });
    let slow = stopped.take(1000).find(|cpus| !cpus.is_empty()).expect("two threads fall behind");
    assert!(slow.iter().all(|cpu| *cpu >= 2), "first the little cores: {slow:?}");
    let from = usize::from(slow[0]);
    driver.orders.dispatch(from, false);
    let fast = act(&mut driver, false);
    assert!(matches!(fast[..], [cpu] if cpu < 2), "then the big one: {fast:?}");
    driver.orders.dispatch(usize::from(fast[0]), false);
    act(&mut driver, false);
    (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
    assert_eq!(driver.figures.exchanges, 1);
    assert_eq!(driver.orders.cpus[from].runs, Some(before[usize::from(fast[0])]));
    assert_eq!(driver.orders.cpus[usize::from(fast[0])].runs, Some(before[from]));
}

/// Twice as many threads as cores: none waits for a process that does not answer, and once it does, it knows where all are.
#[test]
fn while_the_process_is_late_threads_take_turns() {
    let mut driver = driver("pfs");
    for tid in 100..108 {
        driver.orders.begin(tid, u64::MAX);
        driver.orders.ready(tid, 0, true);
        listen(&mut driver, false, false);
        (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
    }
    listen(&mut driver, false, false);
    let mut ran = BTreeSet::new();
    for _ in 0..8 {
        driver.orders.now += Ns::from_ms(4);
        (0..4).for_each(|cpu| driver.orders.dispatch(cpu, true));
        ran.extend(driver.orders.cpus.iter().filter_map(|cpu| cpu.runs));
    }
    assert_eq!(ran.len(), 8, "{ran:?}");
    for _ in 0..4 {
        listen(&mut driver, true, false);
        (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
    }
    listen(&mut driver, false, false);
    for (cpu, core) in driver.cores.iter().enumerate() {
        let known = core.running.map(|id| driver.threads[id.index()].tid);
        assert!(known.is_some() && known == driver.orders.cpus[cpu].runs, "{cpu}: {known:?}");
    }
}

/// A thread that may use no other core waits for the one that something else has: it is sent to none that it may not use, time and
/// again.
#[test]
fn a_thread_bound_to_a_core_that_is_taken_waits_for_it() {
    let mut driver = driver("pfs");
    driver.orders.begin(100, 1 << 3);
    driver.orders.taken(3, true);
    driver.orders.ready(100, 3, true);
    for _ in 0..8 {
        listen(&mut driver, true, false);
        assert!(driver.orders.kicks.drain(..).all(|(cpu, _)| cpu == 3));
        (0..3).for_each(|cpu| driver.orders.dispatch(cpu, false));
    }
    driver.orders.taken(3, false);
    settle(&mut driver);
    assert_eq!(driver.orders.cpu_of(100), Some(3));
}

/// Threads that may use no other core wait for the one that something else has, and longer than any other: those are helped all the same.
#[test]
fn who_waits_for_a_core_that_is_taken_keeps_no_other_one_waiting() {
    let mut driver = driver("cfs");
    driver.orders.taken(3, true);
    for tid in [98, 99] {
        driver.orders.begin(tid, 1 << 3);
        driver.orders.ready(tid, 3, true);
    }
    for tid in 100..108 {
        driver.orders.begin(tid, 0b0111);
        driver.orders.threads.get_mut(&tid).unwrap().weight = if tid < 104 { 88761 } else { 15 };
        driver.orders.ready(tid, 0, true);
    }
    let mut ran_at: BTreeMap<Tid, Ns> = (100..108).map(|tid| (tid, Ns::ZERO)).collect();
    for _ in 0..5_000 {
        listen(&mut driver, true, true);
        (0..3).for_each(|cpu| driver.orders.dispatch(cpu, false));
        let now = driver.orders.now;
        ran_at.extend(driver.orders.cpus.iter().filter_map(|cpu| Some((cpu.runs?, now))));
        for (tid, at) in &ran_at {
            assert!(now.since(*at) < Ns::from_secs(2), "{tid} has not run since {at}, at {now}");
        }
        driver.orders.now += Ns::from_ms(2);
    }
}

/// Every core is taken, one after the other, so that what becomes ready waits for the last one. Once another one is back it has the thread,
/// although the last one is still taken.
#[test]
fn who_waits_for_the_last_core_gets_the_first_that_is_back() {
    let mut driver = driver("pfs");
    driver.orders.begin(100, u64::MAX);
    (0..4).for_each(|cpu| driver.orders.taken(cpu, true));
    driver.orders.ready(100, 3, true);
    for _ in 0..8 {
        // No core that is taken looks for something to run.
        listen(&mut driver, true, false);
    }
    assert_eq!(driver.orders.cpu_of(100), None);
    driver.orders.taken(0, false);
    for _ in 0..8 {
        listen(&mut driver, true, false);
        driver.orders.dispatch(0, false);
    }
    assert_eq!(driver.orders.cpu_of(100), Some(0));
}

/// The kernel moves a thread, one that exits for example, and tells only where it runs next: the core that it has left is free.
#[test]
fn a_thread_that_the_kernel_moves_without_a_word_leaves_its_core_free() {
    let mut driver = driver("pfs");
    driver.orders.begin(100, u64::MAX);
    driver.orders.ready(100, 0, true);
    settle(&mut driver);
    let first = driver.orders.cpu_of(100).unwrap();
    driver.orders.moves(100, 3);
    listen(&mut driver, false, false);
    assert_eq!(driver.cores[first].running, None);
    // What comes next has that core.
    driver.orders.begin(101, 1 << first);
    driver.orders.ready(101, first, true);
    settle(&mut driver);
    assert_eq!(driver.orders.cpu_of(101), Some(first));
}

//! What must stay within bounds, whatever the policy decides: memory, waits, and cores without work.

use evenkeel_sched::POLICIES;

use super::*;

/// In a long session threads come and go without end: what is kept of them must not grow.
#[test]
fn threads_that_have_ended_leave_nothing_behind() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        let mut books = books(policy.name);
        for tid in 100..600 {
            books.orders.begin(tid, u64::MAX);
            books.orders.ready(tid, 0, true);
            for _ in 0..4 {
                listen(&mut books, true, true);
                (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
            }
            listen(&mut books, false, false);
            // Two live at a time.
            if tid > 100 {
                let old = books.orders.cpu_of(tid - 1).unwrap();
                books.orders.blocks(old, true);
            }
        }
        listen(&mut books, false, false);
        assert_eq!((books.figures().threads, books.figures().living), (500, 1), "{}", policy.name);
        let kept = (books.threads.len(), books.sched.state().threads.len(), books.programs.living());
        assert!(kept.0 <= 2 && kept.1 <= 2 && kept.2 == 1, "{}: {kept:?}", policy.name);
    }
}

/// A policy that would leave a thread of the lowest weight waiting for 24 s beside heavy ones.
#[test]
fn no_thread_waits_for_long_whatever_the_policy_decides() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        let mut books = books(policy.name);
        for tid in 100..108 {
            let weight = if tid < 104 { 88761 } else { 15 };
            books.orders.begin(tid, u64::MAX);
            books.orders.threads.get_mut(&tid).unwrap().weight = weight;
            books.orders.ready(tid, 0, true);
        }
        for _ in 0..10_000 {
            listen(&mut books, true, true);
            (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
            books.orders.now += Ns::from_ms(2);
        }
        let longest = books.figures().longest_wait;
        assert!(longest < Ns::from_secs(2), "{}: {longest}", policy.name);
    }
}

/// A core that is left without work while a thread waits that may use it is told, and for how long; not one whose threads are
/// all bound elsewhere.
#[test]
fn the_figures_tell_how_long_cores_were_left_without_work() {
    let mut books = books("static");
    books.orders.begin(100, u64::MAX);
    books.orders.ready(100, 0, true);
    listen(&mut books, false, false);
    assert_eq!(books.figures().longest_idle, Ns::ZERO, "it was sent to one at once");
    // As a policy would that decides nothing.
    let id = books.by_tid[&100];
    let Place::Sent(core) = books.threads[id.index()].place else { panic!("it is sent") };
    (books.cores[core.index()].sent, books.cores[core.index()].unsent) = (None, None);
    books.sched.blocked(books.now, id, Wait::Sleep);
    books.sched.ready(books.now, id, Why::Woken { by: None });
    books.tell();
    books.now += Ns::from_ms(7);
    books.tell();
    assert_eq!(books.figures().longest_idle, Ns::from_ms(7));
    assert_eq!(books.figures().longest_misplaced, Ns::ZERO, "nothing runs");
}

/// A thread that was bound to a little core may use a big one again, which is idle: it need not wait for anything else to happen.
#[test]
fn a_mask_that_grows_lets_an_idle_core_have_the_thread() {
    for policy in ["pfs", "colab", "fcf"] {
        let mut books = books(policy);
        books.orders.begin(100, 1 << 3);
        books.orders.ready(100, 3, true);
        let settle = |books: &mut Books<Kernel>| {
            for _ in 0..6 {
                listen(books, false, false);
                (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
            }
        };
        settle(&mut books);
        assert_eq!(books.orders.cpu_of(100), Some(3), "{policy}");
        books.orders.mask(100, u64::MAX);
        settle(&mut books);
        assert!(books.orders.cpu_of(100).is_some_and(|cpu| cpu < 2), "{policy}: {:?}", books.orders.cpu_of(100));
    }
}

/// Of two threads that exchange their cores the slower core's leaves first: the faster core goes on until it has.
#[test]
fn the_faster_core_of_an_exchange_goes_on_until_the_slower_one_has_let_go() {
    let mut books = books("pfs");
    let act = |books: &mut Books<Kernel>, tick: bool| -> Vec<u16> {
        listen(books, tick, false);
        books.orders.kicks.drain(..).filter(|(_, stop)| *stop).map(|(cpu, _)| cpu).collect()
    };
    for tid in 100..104 {
        books.orders.begin(tid, u64::MAX);
        books.orders.ready(tid, 0, true);
        act(&mut books, false);
        (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
        act(&mut books, false);
    }
    let before: Vec<_> = (0..4).map(|cpu| books.orders.cpus[cpu].runs.expect("one each")).collect();
    let stopped = std::iter::repeat_with(|| {
        books.orders.now += Ns::from_ms(4);
        act(&mut books, true)
    });
    let slow = stopped.take(1000).find(|cpus| !cpus.is_empty()).expect("two threads fall behind");
    assert!(slow.iter().all(|cpu| *cpu >= 2), "first the little cores: {slow:?}");
    let from = usize::from(slow[0]);
    books.orders.dispatch(from, false);
    let fast = act(&mut books, false);
    assert!(matches!(fast[..], [cpu] if cpu < 2), "then the big one: {fast:?}");
    books.orders.dispatch(usize::from(fast[0]), false);
    act(&mut books, false);
    (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
    assert_eq!(books.orders.cpus[from].runs, Some(before[usize::from(fast[0])]));
    assert_eq!(books.orders.cpus[usize::from(fast[0])].runs, Some(before[from]));
}

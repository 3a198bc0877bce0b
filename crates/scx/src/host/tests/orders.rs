//! Every order that events and orders can have: whatever happens, no thread is forgotten, and in the end the books and the
//! kernel agree on where each one is.

use evenkeel_sched::{POLICIES, Run};

use super::kernel::Where;
use super::*;

/// Random steps, then quiet: everything that waits must get a core while one is idle.
fn play(policy: &str, seed: u64, late: bool) {
    let (mut books, mut draw) = (books(policy), Draw(seed));
    if seed.is_multiple_of(2) {
        books.patience = Ns::from_ms(20);
    }
    for tid in 100..100 + 3 + draw.below(6) as Tid {
        books.orders.begin(tid, u64::MAX);
    }
    let mut next = 200;
    for _ in 0..400 {
        let cpu = draw.below(4);
        books.orders.now += Ns::from_us(10);
        match draw.below(12) {
            0..3 => {
                let blocked = books.orders.threads.iter().filter(|(_, task)| task.place == Where::Blocked);
                let blocked: Vec<Tid> = blocked.map(|(tid, _)| *tid).collect();
                if !blocked.is_empty() {
                    let tid = blocked[draw.below(blocked.len())];
                    books.orders.ready(tid, cpu, true);
                }
            }
            3 => books.orders.blocks(cpu, draw.below(8) == 0),
            4 if draw.below(10) == 0 => {
                books.orders.begin(next, u64::MAX);
                next += 1;
            }
            4..8 => {
                let helps = late && draw.below(4) == 0;
                books.orders.dispatch(cpu, helps);
            }
            8 if draw.below(4) == 0 && !books.orders.threads.is_empty() => {
                let known: Vec<Tid> = books.orders.threads.keys().copied().collect();
                let mask = if draw.below(2) == 0 { u64::MAX } else { 1 << cpu };
                books.orders.mask(known[draw.below(known.len())], mask);
            }
            8 => books.orders.now += Ns::from_ms(1 + draw.below(8) as u64),
            9 if draw.below(8) == 0 => {
                let mut tasks = books.orders.threads.iter();
                if let Some((first, _)) = tasks.find(|(_, task)| task.place == Where::Blocked) {
                    let first = *first;
                    books.orders.exec(cpu, first);
                }
            }
            _ => listen(&mut books, draw.below(2) == 0, draw.below(6) == 0),
        }
    }
    books.patience = Ns::NEVER;
    for round in 0..200 {
        // What was rescued last leaves its core at a tick.
        listen(&mut books, round < 20, false);
        (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
    }
    let state = format!("{policy}, seed {seed}, late {late}");
    assert!(books.orders.events.is_empty(), "{state}: it never comes to rest");
    assert!(books.stops.is_empty(), "{state}: threads are still to be stopped");
    for (tid, task) in &books.orders.threads {
        let (id, place) = (books.by_tid[tid], task.place);
        let expected = match place {
            Where::Blocked => Place::Blocked,
            Where::Waits => Place::Waiting,
            Where::Local => panic!("{state}: {tid} was sent to a core that does not run it"),
            Where::Runs => Place::Running(CoreId(books.orders.cpu_of(*tid).unwrap() as u16)),
        };
        assert_eq!(books.threads[id.index()].place, expected, "{state}: thread {tid}");
        let run = books.sched.state().thread(id).run;
        let agrees = match place {
            Where::Waits => run == Run::Ready,
            Where::Runs => run == Run::Running,
            _ => matches!(run, Run::Blocked(_) | Run::Absent),
        };
        assert!(agrees, "{state}: thread {tid} is {place:?}, to the scheduler {run:?}");
    }
    // Whatever runs blocks: each one that waits must have its turn.
    for _ in 0..200 {
        books.orders.now += Ns::from_ms(5);
        listen(&mut books, true, true);
        (0..4).for_each(|cpu| books.orders.dispatch(cpu, false));
        (0..4).for_each(|cpu| books.orders.blocks(cpu, false));
    }
    let left: Vec<_> = books.orders.threads.iter().filter(|(_, task)| task.place != Where::Blocked).collect();
    assert!(left.is_empty(), "{state}: {left:?} never had their turns");
}

#[test]
fn no_order_of_events_makes_the_books_forget_a_thread() {
    for policy in POLICIES.iter().filter(|policy| !policy.foresight) {
        for seed in 0..150 {
            for late in [false, true] {
                play(policy.name, seed, late);
            }
        }
    }
}

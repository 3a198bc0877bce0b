//! Every order that events and orders can have: whatever happens, no thread is forgotten, and in the end the driver and the
//! kernel agree on where each one is.

use evenkeel_sched::{POLICIES, Run};

use super::kernel::Where;
use super::*;

/// Random steps, then quiet: everything that waits must get a core while one is idle.
fn play(policy: &str, seed: u64, late: bool) {
    let (mut driver, mut draw) = (driver(policy), Draw(seed));
    if seed.is_multiple_of(2) {
        driver.patience = Ns::from_ms(20);
    }
    for tid in 100..100 + 3 + draw.below(6) as Tid {
        driver.orders.begin(tid, u64::MAX);
    }
    let mut next = 200;
    for _ in 0..400 {
        let cpu = draw.below(4);
        driver.orders.now += Ns::from_us(10);
        match draw.below(12) {
            0..3 => {
                let blocked = driver.orders.threads.iter().filter(|(_, task)| task.location == Where::Blocked);
                let blocked: Vec<Tid> = blocked.map(|(tid, _)| *tid).collect();
                if !blocked.is_empty() {
                    let tid = blocked[draw.below(blocked.len())];
                    driver.orders.ready(tid, cpu, true);
                }
            }
            3 => driver.orders.blocks(cpu, draw.below(8) == 0),
            4 if draw.below(10) == 0 => {
                driver.orders.begin(next, u64::MAX);
                next += 1;
            }
            4..8 => {
                let helps = late && draw.below(4) == 0;
                driver.orders.dispatch(cpu, helps);
            }
            8 if draw.below(4) == 0 && !driver.orders.threads.is_empty() => {
                let known: Vec<Tid> = driver.orders.threads.keys().copied().collect();
                let mask = if draw.below(2) == 0 { u64::MAX } else { 1 << cpu };
                driver.orders.mask(known[draw.below(known.len())], mask);
            }
            8 => driver.orders.now += Ns::from_ms(1 + draw.below(8) as u64),
            9 if draw.below(8) == 0 => {
                let mut tasks = driver.orders.threads.iter();
                if let Some((first, _)) = tasks.find(|(_, task)| task.location == Where::Blocked) {
                    let first = *first;
                    driver.orders.exec(cpu, first);
                }
            }
            _ => listen(&mut driver, draw.below(2) == 0, draw.below(6) == 0),
        }
    }
    driver.patience = Ns::NEVER;
    for round in 0..200 {
        // What was rescued last leaves its core at a tick.
        listen(&mut driver, round < 20, false);
        (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
    }
    let state = format!("{policy}, seed {seed}, late {late}");
    assert!(driver.orders.events.is_empty(), "{state}: it never comes to rest");
    assert!(driver.stops.is_empty(), "{state}: threads are still to be stopped");
    for (tid, task) in &driver.orders.threads {
        let (id, place) = (driver.by_tid[tid], task.location);
        let expected = match place {
            Where::Blocked => Location::Blocked,
            Where::Waits => Location::Waiting,
            Where::Local => panic!("{state}: {tid} was sent to a core that does not run it"),
            Where::Runs => Location::Running(CoreId(driver.orders.cpu_of(*tid).unwrap() as u16)),
        };
        assert_eq!(driver.threads[id.index()].location, expected, "{state}: thread {tid}");
        let run = driver.sched.state().thread(id).run;
        let agrees = match place {
            Where::Waits => run == Run::Ready,
            Where::Runs => run == Run::Running,
            _ => matches!(run, Run::Blocked(_) | Run::Absent),
        };
        assert!(agrees, "{state}: thread {tid} is {place:?}, to the scheduler {run:?}");
    }
    // Whatever runs blocks: each one that waits must have its turn.
    for _ in 0..200 {
        driver.orders.now += Ns::from_ms(5);
        listen(&mut driver, true, true);
        (0..4).for_each(|cpu| driver.orders.dispatch(cpu, false));
        (0..4).for_each(|cpu| driver.orders.blocks(cpu, false));
    }
    let left: Vec<_> = driver.orders.threads.iter().filter(|(_, task)| task.location != Where::Blocked).collect();
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

//! Who is to blame for waits, and for whose (`bpf/inside/blame.h`): in the kernel as in the scheduler core, whoever wakes whom when.

use std::collections::BTreeMap;

use evenkeel_model::{Clamp, Class, CoreId, Ns, ProgramId, ThreadId, ThreadKind, machines};
use evenkeel_sched::{NewThread, Scheduler, Setup};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::library::Library;

const THREADS: u32 = 24;

/// A thread's slot.
fn slot(thread: ThreadId) -> u32 {
    thread.0 + 1
}

/// Waits that end one after another: how long after the one before, whose, by whom, and for how long they had lasted.
fn compare(library: &Library, policy: &str, waits: &[(u64, u32, Option<u32>, u64)]) -> Result<(), TestCaseError> {
    let machine = machines::by_name("2B2S").unwrap();
    let mut sched = Scheduler::new(machine.clone(), Setup::parse(policy).unwrap().make(), None);
    let spec = NewThread {
        program: ProgramId(0),
        kind: ThreadKind::Application,
        class: Class::fair(0),
        cores: machine.all(),
        on: CoreId(0),
        clamp: Clamp::default(),
    };
    let threads: Vec<ThreadId> = (0..THREADS).map(|_| sched.create(&spec)).collect();
    library.begin();
    if policy.ends_with("waker") {
        library.blame_waker();
    }
    let (mut now, mut pairs) = (1000, BTreeMap::new());
    for (after, waiter, by, waited) in waits {
        now += after;
        let (thread, by) = (threads[*waiter as usize], by.filter(|by| by != waiter).map(|by| threads[by as usize]));
        // No thread is shown as waiting for itself.
        for (holder, time) in sched.holders(Ns(now), by, Ns(*waited)).filter(|(holder, _)| *holder != thread) {
            *pairs.entry((thread, holder)).or_default() += time.0;
        }
        sched.released(Ns(now), thread, by, Ns(*waited));
        library.released(slot(thread), by.map_or(0, slot), *waited, now);
    }
    for thread in &threads {
        prop_assert_eq!(library.thread(slot(*thread)).blame, sched.state().thread(*thread).blame.0);
        for waiter in &threads {
            let waited = pairs.get(&(*waiter, *thread)).copied().unwrap_or(0);
            prop_assert_eq!(library.waited_for(slot(*waiter), slot(*thread)), waited);
        }
    }
    Ok(())
}

#[test]
fn the_kernel_blames_whom_the_scheduler_core_blames() {
    let library = Library::build();
    let wait = (0..20_u64, 0..THREADS, proptest::option::weighted(0.9, 0..THREADS), 1..900_u64);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for policy in ["colab:culprit=holders", "colab:culprit=waker"] {
        runner.run(&vec(wait.clone(), 0..200), |waits| compare(&library, policy, &waits)).unwrap();
    }
}

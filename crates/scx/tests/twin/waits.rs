//! Who comes next whatever the policy picks, since it has waited for too long (`bpf/inside/waits.h`). Compiled for this machine, as what
//! policies decide.

use crate::library::{CORES, Library};
use crate::state::WAITING;

const MS: u64 = 1_000_000;
const NOW: u64 = 10_000 * MS;

/// Threads 1, 2 and so on wait for core 0, for so many ms.
fn waiting(library: &Library, ms: impl IntoIterator<Item = u64>) {
    library.begin();
    library.machine().cores = 1;
    library.time(NOW);
    let queue = library.queue(0);
    let mut slot = 0;
    for waits in ms {
        queue[slot as usize] = slot + 1;
        slot += 1;
        let thread = library.thread(slot);
        (thread.run, thread.core, thread.since) = (WAITING, 0, NOW - waits * MS);
        (thread.may, thread.wanted) = ([u64::MAX; CORES / 64], [u64::MAX; CORES / 64]);
    }
    library.core(0).queued = slot;
}

/// The thread that comes next; 0 if none has to.
fn next(library: &Library) -> u32 {
    assert_eq!(library.take_overdue(0), 0, "cores that choose do not search before a tick has found one");
    let too_long = library.waits_too_long(0);
    let next = library.comes_next(0);
    assert_eq!(too_long, next != 0);
    assert_eq!(library.take_overdue(0), next, "it does where a core chooses, too");
    next
}

#[test]
fn the_one_that_has_waited_longest_comes_next_once_it_is_too_long() {
    let library = Library::build();
    waiting(&library, []);
    assert_eq!(next(&library), 0);
    waiting(&library, [999, 10]);
    assert_eq!(next(&library), 0);
    waiting(&library, [10, 1000, 1200, 1100]);
    assert_eq!(next(&library), 3);
    (1..=4).for_each(|slot| library.thread(slot).since = NOW);
    assert_eq!(library.take_overdue(0), 0, "they have run meanwhile");
    assert!(!library.waits_too_long(0));
}

/// Each has a tick of 4 ms: by its turn the last one would wait for a second.
#[test]
fn where_many_wait_it_begins_earlier() {
    let library = Library::build();
    for (threads, waits, expected) in [(124, 500, 0), (125, 500, 77), (125, 499, 0), (249, 1, 0), (250, 1, 77)] {
        waiting(&library, (1..=threads).map(|slot| waits + u64::from(slot == 77)));
        assert_eq!(next(&library), expected, "{threads} threads wait for {waits} ms");
    }
}

#[test]
fn one_that_is_bound_elsewhere_holds_up_no_other() {
    let library = Library::build();
    waiting(&library, [2000, 1100]);
    library.bind_elsewhere(1);
    assert_eq!(next(&library), 2);
    waiting(&library, [2000]);
    library.bind_elsewhere(1);
    assert_eq!(next(&library), 0);
}

#[test]
fn a_queue_is_searched_four_times_a_second() {
    let library = Library::build();
    waiting(&library, [800]);
    assert_eq!(next(&library), 0);
    library.time(NOW + 249 * MS);
    assert!(!library.waits_too_long(0), "it has waited for 1.05 s, and is not looked for");
    library.time(NOW + 250 * MS);
    assert!(library.waits_too_long(0));
}

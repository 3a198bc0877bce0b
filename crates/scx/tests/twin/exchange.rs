//! How two threads exchange their cores (`bpf/inside/exchange.h`), whether they run or wait: which thread comes next where, and which one is stopped for that.

use crate::library::Library;
use crate::state::{RUNNING, WAITING, write_two_and_two};

/// `NO_CORE`: one that is stopped gives way, and goes nowhere by itself.
const NONE: u32 = u32::MAX;
const BIG: u32 = 0;
const LITTLE: u32 = 2;

/// Thread 1 is on a big core and thread 2 on a little one, where they run, or threads 3 and 4 do.
fn two(library: &Library, runs: [bool; 2]) {
    library.begin();
    write_two_and_two(library, "bias");
    for ((slot, core), runs) in [(1, BIG), (2, LITTLE)].into_iter().zip(runs) {
        let thread = library.thread(slot);
        (thread.core, thread.run) = (core, if runs { RUNNING } else { WAITING });
        library.core(core as usize).current = if runs { slot } else { slot + 2 };
    }
}

/// Of the big core and the little one, which thread comes next there, and what its thread was told when it was stopped.
fn told(library: &Library) -> [(u32, Option<(u32, u32)>); 2] {
    [BIG, LITTLE].map(|core| (library.comes_next(core), library.stopped(core)))
}

#[test]
fn each_of_two_threads_comes_to_where_the_other_one_was() {
    let library = Library::build();
    for (runs, expected) in [
        // The one on the little core goes, and the other one gives way when it comes.
        ([true, true], [(0, None), (0, Some((BIG, 1)))]),
        // The one that runs goes to where the other one waits, which comes next in its place.
        ([true, false], [(2, Some((LITTLE, 0))), (0, None)]),
        ([false, true], [(0, None), (1, Some((BIG, 0)))]),
        // Those that run give way to them.
        ([false, false], [(2, Some((NONE, 0))), (1, Some((NONE, 0)))]),
    ] {
        for (slot, core, here) in [(2, BIG, 1), (1, LITTLE, 2)] {
            two(&library, runs);
            library.exchange(slot, core, here);
            assert_eq!(told(&library), expected, "{runs:?}, begun by core {core}");
        }
    }
}

/// The thread that would give way no longer has its core.
#[test]
fn no_thread_is_stopped_for_one_that_has_gone() {
    let library = Library::build();
    for (runs, gone) in [([true, true], LITTLE), ([true, false], BIG), ([false, true], LITTLE)] {
        two(&library, runs);
        library.core(gone as usize).current = 5;
        library.exchange(2, BIG, 1);
        assert_eq!(told(&library), [(0, None); 2], "{runs:?}");
    }
}

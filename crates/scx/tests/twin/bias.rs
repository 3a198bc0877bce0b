//! Which two threads change places under bias scheduling (`bpf/policy/faster_first.h`), whether they run or wait.

use crate::library::{CORES, Library};
use crate::state::{RUNNING, WAITING, write_two_and_two};

/// Threads 1 and 2 are on a big core, 3 and 4 on a little one, and each core has as much to do as it can: of each two the first one runs. How far
/// stalls dominate each of them, if that is known, and a thread that may only use cores of its type.
struct Threads {
    dominance: [Option<f64>; 4],
    bound: Option<u32>,
}

impl Threads {
    /// The pair that a core finds.
    fn exchanged(&self, library: &Library, core: u32) -> Option<(u32, u32)> {
        library.begin();
        write_two_and_two(library, "bias");
        for (slot, dominance) in (1..).zip(self.dominance) {
            let (on, runs) = (if slot < 3 { 0 } else { 2 }, slot % 2 == 1);
            let thread = library.thread(slot);
            (thread.core, thread.run) = (on, if runs { RUNNING } else { WAITING });
            // A big core can do twice as much.
            thread.weight = if slot < 3 { 2048 } else { 1024 };
            thread.dominance = dominance.map_or(0, |dominance| (dominance * f64::from(1 << 20)) as u32 + 1);
            (thread.may, thread.wanted) = ([u64::MAX; CORES / 64], [u64::MAX; CORES / 64]);
            if self.bound == Some(slot) {
                thread.may[0] = if slot < 3 { 0b0011 } else { 0b1100 };
            }
            let at = library.core(on as usize);
            if runs {
                (at.current, at.weight) = (slot, thread.weight);
            } else {
                (at.queued, at.queue_weight) = (1, thread.weight);
                library.queue(on as usize)[0] = slot;
            }
        }
        library.time(1_000_000_000);
        let chosen = library.balance(core);
        (chosen != 0).then(|| {
            assert_eq!(chosen >> 32 & 0xffff, 3, "no exchange: {chosen:#x}");
            ((chosen >> 48) as u32, chosen as u32)
        })
    }
}

#[test]
fn threads_on_the_wrong_kinds_of_cores_change_places_whether_they_run_or_wait() {
    let library = Library::build();
    for (dominance, expected) in [
        ([2.0, 0.5, 0.5, 2.0], Some((1, 3))),
        ([0.5, 2.0, 0.5, 2.0], Some((2, 3))),
        ([2.0, 0.5, 2.0, 0.5], Some((1, 4))),
        ([0.5, 2.0, 2.0, 0.5], Some((2, 4))),
        // The most biased ones.
        ([2.0, 3.0, 0.5, 0.25], Some((2, 4))),
        ([3.0, 2.0, 0.25, 0.5], Some((1, 3))),
        // However little a thread is biased, and not without a bias.
        ([1.000_001, 0.5, 0.5, 0.5], Some((1, 3))),
        ([0.5, 1.000_001, 0.5, 0.5], Some((2, 3))),
        ([1.0, 1.0, 0.5, 0.5], None),
        // All on one side.
        ([0.5, 0.5, 0.5, 0.5], None),
        ([2.0, 2.0, 2.0, 2.0], None),
        ([0.5, 0.5, 2.0, 2.0], None),
    ] {
        let threads = Threads { dominance: dominance.map(Some), bound: None };
        assert_eq!(threads.exchanged(&library, 0), expected, "{dominance:?}");
        assert_eq!(threads.exchanged(&library, 2), None, "{dominance:?}: little cores begin none");
    }
    let uncounted = Threads { dominance: [None; 4], bound: None };
    assert_eq!(uncounted.exchanged(&library, 0), None);
    for bound in [2, 4] {
        let threads = Threads { dominance: [0.5, 2.0, 2.0, 0.5].map(Some), bound: Some(bound) };
        assert_eq!(threads.exchanged(&library, 0), None, "{bound} may not go");
    }
}

//! What counters say of work, and what they do not.

use super::*;

/// One thread on one CPU at 2 instructions a ns for a microsecond, then so long a time without a counter, and
/// another thread without one.
fn partly_counted(uncounted: u64) -> Recording {
    counted(
        &machine(),
        &[
            (0, 1, 0, Some(1), On),
            (1000, 1, 0, Some(2001), What::Off(Blocked)),
            (2000, 1, 0, None, BY_ITSELF),
            (2000, 1, 0, None, On),
            (2000 + uncounted, 1, 0, Some(9999), Exited),
            (3000, 2, 2, None, On),
            (3010, 2, 2, Some(1), Exited),
        ],
    )
}

#[test]
fn what_is_not_counted_is_estimated_if_it_is_little() {
    let found = partly_counted(0);
    assert!(found.counted && found.notes.is_empty(), "half a percent is not worth a word: {:?}", found.notes);
    let found = partly_counted(50);
    assert!(found.counted && found.notes[0].starts_with("2 spans of work (5.2 % of it) were not counted; their"));
    assert_eq!(found.threads[0].steps, [Run(2000), Sleep(Ns(1000)), Run(100)]);
    // Half as fast as the big core for 10 ns, and else like the other one.
    assert_eq!((found.threads[1].steps.as_slice(), &found.threads[1].rates), (&[Run(10)][..], &found.threads[0].rates));
    let found = partly_counted(200);
    assert!(!found.counted && found.notes[0].ends_with("recorded as time instead of instructions"));
    assert_eq!(found.threads[0].steps, [Run(1000), Sleep(Ns(1000)), Run(200)]);
    assert!(found.threads.iter().all(|thread| thread.rates.is_empty()));
}

/// Some kernels do not report that a thread began to run, which shows a while later.
#[test]
fn a_start_that_is_told_late_is_work_without_a_count() {
    let found = counted(
        &machine(),
        &[
            (0, 1, 0, Some(1), On),
            (1000, 1, 0, Some(2001), What::Off(Blocked)),
            (2000, 1, 0, Some(2001), BY_ITSELF),
            (2510, 1, 0, Some(2345), On),
            (2500, 1, 0, None, On),
            (2600, 1, 0, Some(2435), Exited),
        ],
    );
    assert_eq!(found.threads[0].steps, [Run(2000), Sleep(Ns(1000)), Run(90 + 19)]);
}

#[test]
fn a_counter_that_goes_back_tells_nothing() {
    let found = counted(
        &machine(),
        &[
            (0, 1, 0, Some(50), On),
            (990, 1, 0, Some(1040), What::Off(Preempted)),
            (990, 1, 0, Some(7), On),
            (1000, 1, 0, Some(3), Exited),
        ],
    );
    assert_eq!(found.threads[0].steps, [Run(1000)]);
    assert_eq!(found.threads[0].rates, [Some(1.0), None]);
}

/// A few nanoseconds after a move are no rate.
#[test]
fn a_core_type_that_a_thread_hardly_used_has_no_rate() {
    let found = counted(
        &machine(),
        &[
            (0, 1, 0, Some(1), On),
            (990, 1, 0, Some(991), What::Off(Preempted)),
            (990, 1, 2, Some(1), On),
            (1000, 1, 2, Some(2), Exited),
        ],
    );
    assert_eq!((found.threads[0].steps.as_slice(), &found.threads[0].rates), (&[Run(991)][..], &vec![Some(1.0), None]));
}

/// CPUs 0 and 1 are hardware threads of one core, and get 1.25 times as much done as one alone.
fn hardware_threads() -> Machine {
    let mut machine = machine();
    machine.core_types[0].smt = 1.25;
    machine.siblings = vec![[evenkeel_model::CoreId(0), evenkeel_model::CoreId(1)].into_iter().collect()];
    machine
}

/// 80 ns beside the other are work of 50.
#[test]
fn time_beside_another_thread_of_the_core_is_less_work() {
    let recording = recorded(
        &hardware_threads(),
        &[
            (0, 1, 0, On),
            (100, 2, 1, On),
            (120, 3, 2, On),
            (180, 1, 0, What::Off(Blocked)),
            (200, 2, 1, Exited),
            (220, 3, 2, Exited),
        ],
    );
    let steps: Vec<_> = recording.threads.iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [vec![Run(100 + 50)], vec![Run(50 + 20)], vec![Run(50)]]);
}

/// 10 ns until it exits, and 2 when it runs once more, as it is preempted on its way out: work of 7.5 for the one beside it.
#[test]
fn who_runs_once_more_on_its_way_out_is_taken_off_again() {
    let recording = recorded(
        &hardware_threads(),
        &[
            (0, 1, 0, On),
            (0, 2, 1, On),
            (10, 2, 1, Exited),
            (12, 2, 1, What::Off(Preempted)),
            (14, 2, 1, On),
            (16, 2, 1, What::Off(Blocked)),
            (1016, 1, 0, Exited),
        ],
    );
    assert_eq!(recording.threads[0].steps, [Run(1004 + 7)]);
}

//! A program that is replaced.

use super::*;

/// The thread that calls exec lives on under the number of the first one, which has gone.
#[test]
fn a_thread_that_calls_exec_takes_over_the_number_of_the_first() {
    let recording = recorded(
        &machine(),
        &[
            (0, 1, 0, On),
            (10, 1, 0, Forked { child: 2, process: false }),
            (20, 2, 1, On),
            (50, 1, 0, Exited),
            (60, 1, 1, What::Exec { before: Some(2) }),
            (150, 1, 1, Exited),
            (400, 3, 1, On),
            (450, 3, 1, Exited),
        ],
    );
    let steps: Vec<_> = recording.threads.iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [vec![Run(10), Step::Spawn(1), Run(40)], vec![Run(130)], vec![Run(50)]]);
    assert_eq!(recording.makespan, Ns(450));
}

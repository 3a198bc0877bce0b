//! How a loop is split: each thread one after the other, as much as its speed is of the sum.

use std::ops::Range;

/// The iterations of thread `number`, of a loop with `trips` of them that threads of these speeds share. Together they have all
/// iterations, each once, in the order of their numbers. Each has one at least, if there are as many.
///
/// Speeds are whole numbers, 1 at least.
pub fn share(trips: u64, speeds: &[u32], number: usize) -> Range<u64> {
    let threads = speeds.len() as u64;
    let each = u64::from(trips >= threads);
    let sum: u128 = speeds.iter().map(|&speed| u128::from(speed)).sum();
    let (mut before, mut start) = (0, 0);
    for (thread, &speed) in (1..).zip(speeds) {
        before += u128::from(speed);
        // To the nearest, but with one for this thread and one for each that comes after it. At most `trips`, which is a u64.
        let end = (u128::from(trips) * before + sum / 2) / sum;
        let end = (end as u64).max(start + each).min(trips - each * (threads - thread));
        if thread == number as u64 + 1 {
            return start..end;
        }
        start = end;
    }
    trips..trips
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_core_three_times_as_fast_gets_three_times_as_much() {
        assert_eq!(share(1000, &[3, 1], 0), 0..750);
        assert_eq!(share(1000, &[3, 1], 1), 750..1000);
        assert_eq!(share(10, &[1, 1, 1, 1], 3), 8..10);
        assert_eq!(share(2, &[9, 1, 1], 0), 0..2, "fewer than threads");
    }

    proptest! {
        #[test]
        fn all_iterations_belong_to_one_thread(
            trips in prop_oneof![0..100u64, any::<u64>()],
            speeds in prop::collection::vec(1..1_000_000u32, 1..40),
        ) {
            let mut next = 0;
            for thread in 0..speeds.len() {
                let share = share(trips, &speeds, thread);
                prop_assert_eq!(share.start, next);
                prop_assert!(share.end >= share.start + u64::from(trips >= speeds.len() as u64));
                next = share.end;
            }
            prop_assert_eq!(next, trips);
        }

        #[test]
        fn each_gets_its_part(trips in 1_000..1_000_000u64, speeds in prop::collection::vec(1..1000u32, 1..8)) {
            let sum: u64 = speeds.iter().map(|&speed| u64::from(speed)).sum();
            for (thread, &speed) in speeds.iter().enumerate() {
                let share = share(trips, &speeds, thread);
                let part = trips as f64 * f64::from(speed) / sum as f64;
                prop_assert!(((share.end - share.start) as f64 - part).abs() <= 1.0 + speeds.len() as f64);
            }
        }
    }
}

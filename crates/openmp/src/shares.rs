//! How many threads a team has whose loops divide themselves, and how many of them each core runs: such a loop gives each thread as much, so that
//! a core three times as fast is to run three times as many.

/// Of what all cores could do, so much at least is to be reached.
const ENOUGH: f64 = 0.95;
/// A team has at most so many threads for each core: each more has to be woken, and waited for at barriers.
const MOST: usize = 4;

/// Of a team with so many threads, how many each core runs: one at least, and the others by turns on the core that would be done first.
///
/// # Panics
/// There are fewer threads than cores.
pub fn apportion(threads: usize, speeds: &[f64]) -> Vec<usize> {
    let mut counts = vec![1; speeds.len()];
    let others = threads.checked_sub(speeds.len()).expect("a thread for each core");
    for _ in 0..others {
        let done = |core: usize| (counts[core] + 1) as f64 / speeds[core];
        let first = (0..counts.len()).min_by(|&one, &other| done(one).total_cmp(&done(other)));
        if let Some(first) = first {
            counts[first] += 1;
        }
    }
    counts
}

/// How much of what all cores could do such a team does, from 0 to 1.
fn efficiency(threads: usize, speeds: &[f64]) -> f64 {
    let counts = apportion(threads, speeds);
    let last = counts.iter().zip(speeds).map(|(&count, speed)| count as f64 / speed).fold(0.0, f64::max);
    threads as f64 / speeds.iter().sum::<f64>() / last
}

/// How many threads a team is to have on cores as fast as that: as few as are enough, or else as many as do most.
pub fn team(speeds: &[f64]) -> usize {
    let sizes = speeds.len()..=MOST * speeds.len();
    let with = |threads| (threads, efficiency(threads, speeds));
    let best = |one: (usize, f64), other: (usize, f64)| if other.1 > one.1 { other } else { one };
    let enough = sizes.clone().map(with).find(|(_, efficiency)| *efficiency >= ENOUGH);
    enough.or_else(|| sizes.map(with).reduce(best)).map_or(speeds.len(), |(threads, _)| threads)
}

/// The core of a thread by its number in the team: the first threads are on a core each, so that a smaller team has as many cores as it can.
pub fn core_of(number: usize, counts: &[usize]) -> usize {
    let Some(mut other) = number.checked_sub(counts.len()) else { return number };
    for (core, count) in counts.iter().enumerate() {
        match other.checked_sub(count - 1) {
            None => return core,
            Some(left) => other = left,
        }
    }
    number % counts.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_core_three_times_as_fast_runs_three_times_as_many() {
        assert_eq!(team(&[3.0, 1.0]), 4);
        assert_eq!(apportion(4, &[3.0, 1.0]), [3, 1]);
        assert_eq!([0, 1, 2, 3].map(|number| core_of(number, &[3, 1])), [0, 1, 0, 0]);
        assert_eq!(team(&[2.0, 2.0, 1.0, 1.0]), 6);
    }

    #[test]
    fn a_team_is_no_larger_than_it_must_be() {
        assert_eq!(team(&[1.0; 8]), 8);
        // 3 of 5 threads on the fast core take 2.14, and 2 on the other one 2: 97 % of what both could do.
        assert_eq!(team(&[1.4, 1.0]), 5);
        // A core that is slow beyond that has one thread all the same.
        assert_eq!(apportion(team(&[50.0, 1.0]), &[50.0, 1.0])[1], 1);
    }

    proptest! {
        #[test]
        fn each_thread_has_a_core_and_each_core_its_threads(
            speeds in prop::collection::vec(1.0..50.0f64, 1..24), more in 0..60usize,
        ) {
            let threads = speeds.len() + more;
            let counts = apportion(threads, &speeds);
            let mut found = vec![0; speeds.len()];
            for number in 0..threads {
                found[core_of(number, &counts)] += 1;
            }
            prop_assert_eq!(&found, &counts);
            prop_assert!(counts.iter().all(|&count| count >= 1));
            let team = team(&speeds);
            prop_assert!((speeds.len()..=MOST * speeds.len()).contains(&team));
            prop_assert!(efficiency(team, &speeds) >= efficiency(speeds.len(), &speeds).min(ENOUGH) - 1e-9);
        }
    }
}

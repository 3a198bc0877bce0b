use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::sample::Inside;

const BEGAN: Ns = Ns::from_secs(1000);
/// CPUs 0 and 1 are big, 2 and 3 little.
const TYPES: [u8; 4] = [0, 0, 1, 1];

fn timeline() -> Timeline {
    Timeline::new(BEGAN, TYPES.to_vec())
}

fn at(ms: u64) -> Ns {
    BEGAN + Ns::from_ms(ms)
}

/// A sample of a thread that has run for so many ms on big and on little cores.
fn sample(tid: Tid, cpu: u16, run: [u64; 2], turn: Option<Turn>) -> Sample {
    let mut sample = Sample { tid, cpu, ..Sample::default() };
    (sample.run[0], sample.run[1]) = (Ns::from_ms(run[0]), Ns::from_ms(run[1]));
    sample.inside = turn.map(|turn| Inside { turn, preempted: 0, waited: Ns::ZERO, blame: Ns::ZERO });
    sample
}

fn slices(timeline: &Timeline, cpu: u16) -> Vec<(Tid, u64, u64)> {
    let lane = timeline.lanes().find(|(lane, _)| *lane == cpu).map_or(&[][..], |(_, slices)| slices);
    lane.iter().map(|slice| (slice.who, slice.from.0 / 1_000_000, slice.to.0 / 1_000_000)).collect()
}

#[test]
fn a_thread_that_goes_on_is_one_slice() {
    let mut timeline = timeline();
    let on = Some(Turn::On(at(3)));
    for round in 1..=5 {
        timeline.sample(at(10 * round), &[sample(7, 1, [10 * round - 3, 0], on)], &[]);
    }
    timeline.sample(at(60), &[sample(7, 1, [49, 0], Some(Turn::Off(at(52))))], &[]);
    timeline.sample(at(70), &[sample(7, 1, [49, 0], Some(Turn::Off(at(52))))], &[]);
    assert_eq!(slices(&timeline, 1), [(7, 3, 52)]);
}

#[test]
fn a_cpu_runs_one_thread_at_a_time_and_no_time_is_lost() {
    let mut timeline = timeline();
    let both = [sample(1, 0, [4, 0], Some(Turn::Off(at(10)))), sample(2, 0, [6, 0], Some(Turn::Off(at(9))))];
    timeline.sample(at(10), &both, &[]);
    assert_eq!(slices(&timeline, 0), [(2, 0, 6), (1, 6, 10)]);
}

#[test]
fn a_moved_thread_was_where_it_was_before() {
    let mut timeline = timeline();
    timeline.sample(at(10), &[sample(1, 0, [10, 0], Some(Turn::On(at(0))))], &[]);
    timeline.sample(at(20), &[sample(1, 2, [14, 6], Some(Turn::On(at(14))))], &[]);
    timeline.sample(at(30), &[sample(1, 3, [14, 15], Some(Turn::On(at(22))))], &[]);
    assert_eq!(slices(&timeline, 0), [(1, 0, 14)]);
    assert_eq!(slices(&timeline, 2), [(1, 14, 21)]);
    assert_eq!(slices(&timeline, 3), [(1, 22, 30)]);
}

#[test]
fn without_ebpf_only_the_length_is_known() {
    let mut timeline = timeline();
    timeline.sample(at(10), &[sample(1, 0, [6, 0], None)], &[]);
    let asleep = Sample { state: ThreadState::Blocked, ..sample(1, 0, [8, 0], None) };
    timeline.sample(at(20), &[asleep], &[]);
    assert_eq!(slices(&timeline, 0), [(1, 4, 12)]);
}

#[test]
fn a_short_life_between_two_samples_is_seen_at_its_end() {
    let mut timeline = timeline();
    timeline.sample(at(10), &[], &[]);
    timeline.sample(at(20), &[], &[sample(9, 3, [0, 2], Some(Turn::Off(at(17))))]);
    assert_eq!(slices(&timeline, 3), [(9, 15, 17)]);
}

#[test]
fn of_too_many_slices_the_grid_keeps_who_had_most() {
    let mut timeline = timeline();
    // Of each 10 ms, 1 has 8 ms and 2 has 2 ms.
    for round in 1..=100 {
        let both = [
            sample(1, 0, [8 * round, 0], Some(Turn::Off(at(10 * round - 2)))),
            sample(2, 0, [2 * round, 0], Some(Turn::Off(at(10 * round)))),
        ];
        timeline.sample(at(10 * round), &both, &[]);
    }
    assert_eq!(slices(&timeline, 0).len(), 200);
    timeline.bound(20);
    assert!(timeline.resolution().is_some_and(|grid| grid > FINEST));
    let kept = slices(&timeline, 0);
    assert!(kept.len() <= 10, "{kept:?}");
    let sum = |whose: Tid| kept.iter().filter(|(tid, ..)| *tid == whose).map(|(_, from, to)| to - from).sum::<u64>();
    assert_eq!(sum(1) + sum(2), 1000, "the CPU was never free: {kept:?}");
    assert!(sum(1) >= 700, "{kept:?}");
}

#[test]
fn of_too_many_moves_every_second_one_stays() {
    let mut timeline = timeline();
    for round in 0..3 * MOVES as u64 {
        timeline.moved(at(round), 1, 0);
    }
    assert!(timeline.moves().len() <= MOVES);
    assert!(timeline.moves().is_sorted_by_key(|moved| moved.at));
    assert_eq!(timeline.moves().last().unwrap().at, Ns::from_ms(3 * MOVES as u64 - 1));
}

/// One sample of one thread: CPU, time run by type in us, and its turn: none, on or off, and how many us ago.
fn step() -> impl Strategy<Value = (u16, [u64; 2], u8, u64)> {
    (0..4u16, [0..12_000u64, 0..12_000u64], 0..3u8, 0..12_000u64)
}

proptest! {
    #[test]
    fn whatever_is_seen_lanes_are_in_order_and_within_what_was_sampled(
        rounds in vec(vec(step(), 3), 1..30),
        limit in 4..40usize,
    ) {
        let mut timeline = timeline();
        let mut run = [[Ns::ZERO; MAX_TYPES]; 3];
        let mut now = BEGAN;
        for round in rounds {
            now += Ns::from_ms(10);
            let samples: Vec<Sample> = round.into_iter().enumerate().map(|(thread, (cpu, ran, turn, ago))| {
                let ago = now.since(Ns::from_us(ago));
                let turn = [None, Some(Turn::On(ago)), Some(Turn::Off(ago))][usize::from(turn)];
                run[thread][0] += Ns::from_us(ran[0]);
                run[thread][1] += Ns::from_us(ran[1]);
                Sample { run: run[thread], ..sample(thread as Tid, cpu, [0, 0], turn) }
            }).collect();
            timeline.sample(now, &samples, &[]);
            timeline.bound(limit);
            let mut count = 0;
            for (cpu, lane) in timeline.lanes() {
                count += lane.len();
                prop_assert!(cpu < 4);
                prop_assert!(lane.iter().all(|slice| slice.from < slice.to));
                prop_assert!(lane.windows(2).all(|pair| pair[0].to <= pair[1].from));
                prop_assert!(lane.last().is_none_or(|last| last.to <= now.since(BEGAN)));
            }
            prop_assert!(count <= limit);
        }
    }
}

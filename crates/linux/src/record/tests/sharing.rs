//! Work that a library says is shared out.

use Off::Futex;
use Sharing::{LoopBegins, LoopEnds, RegionBegins, RegionEnds, Tasks};
use Step::{Run, Share, Spawn, Wait, Wake};
use What::{Exited, Forked, On, Shares};
use proptest::prelude::*;

use super::{machine, recorded, woken};
use crate::event::{Off, Sharing, What};
use evenkeel_workload::recording::{Division, Step};
use std::collections::BTreeMap;

const EIGHTHS: Division = Division { pieces: 8, guided: false };

/// 2 and 3 are started in the region, which 1 is the master of, and end when no piece is left. 3 sleeps until 1 wakes it.
#[test]
fn a_region_that_is_a_loop_is_shared_out_and_ends_at_a_barrier() {
    let recording = recorded(
        &machine(),
        &[
            (0, 1, 0, On),
            (10, 1, 0, Shares(RegionBegins(Some(EIGHTHS)))),
            (10, 1, 0, Forked { child: 2, process: false }),
            (20, 2, 1, On),
            (50, 1, 0, Shares(LoopEnds)),
            (55, 1, 0, What::Off(Futex)),
            (60, 2, 1, Shares(LoopEnds)),
            (62, 1, 0, woken(2)),
            (62, 1, 0, On),
            (65, 1, 0, Shares(RegionEnds)),
            (66, 2, 1, What::Off(Futex)),
            (70, 1, 0, Exited),
        ],
    );
    let first = vec![Run(10), Spawn(1), Share { pool: 0, amount: 40 }, Run(5 + 3), Step::Barrier(0), Run(5)];
    let second = vec![Share { pool: 0, amount: 40 }, Run(5), Step::Barrier(0), Run(1)];
    let steps: Vec<_> = recording.threads.iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [first, second]);
    assert_eq!(recording.pools, BTreeMap::from([(0, EIGHTHS)]));
}

/// What a thread does before it knows of tasks is its own. One that spins then begins when there are some, and no sooner.
#[test]
fn a_region_with_tasks_is_shared_out_from_its_first_task_on() {
    let recording = recorded(
        &machine(),
        &[
            (0, 1, 0, On),
            (0, 1, 0, Shares(RegionBegins(None))),
            (0, 1, 0, Forked { child: 2, process: false }),
            (10, 2, 1, On),
            (30, 1, 0, Shares(Tasks { count: 3, each: false })),
            (40, 1, 0, Shares(Tasks { count: 1, each: true })),
            // The worker of another team's region, in which there is none but it.
            (40, 2, 1, Shares(RegionBegins(Some(EIGHTHS)))),
            (50, 2, 1, What::Off(Futex)),
            (60, 2, 1, woken(1)),
            (60, 2, 1, On),
            (75, 2, 1, Shares(RegionEnds)),
            (80, 2, 1, What::Off(Futex)),
            (90, 1, 0, Shares(RegionEnds)),
            (95, 2, 1, woken(1)),
            (95, 2, 1, On),
            (100, 2, 1, Exited),
            (100, 1, 0, Exited),
        ],
    );
    let master =
        vec![Spawn(1), Run(30), Wake(1), Share { pool: 0, amount: 60 }, Step::Barrier(0), Run(5), Wake(1), Run(5)];
    let worker = vec![Run(20), Wait, Share { pool: 0, amount: 40 }, Step::Barrier(0), Wait, Run(5)];
    let steps: Vec<_> = recording.threads.iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [master, worker]);
    assert_eq!(recording.pools, BTreeMap::from([(0, Division { pieces: 3 + 2, guided: false })]));
}

/// Each time that the team comes there a loop is another pool. What one thread alone comes to is not shared.
#[test]
fn a_loop_within_a_region_is_shared_by_those_who_come_to_it() {
    let guided = Division { pieces: 100, guided: true };
    let comes = |at, tid, cpu| (at, tid, cpu, Shares(LoopBegins { place: 7, division: guided }));
    let goes = |at, tid, cpu| (at, tid, cpu, Shares(LoopEnds));
    let recording = recorded(
        &machine(),
        &[
            (0, 1, 0, On),
            (0, 1, 0, Shares(RegionBegins(None))),
            (0, 1, 0, Forked { child: 2, process: false }),
            (0, 2, 1, On),
            comes(10, 1, 0),
            comes(20, 2, 1),
            goes(30, 1, 0),
            goes(30, 2, 1),
            comes(35, 1, 0),
            comes(40, 2, 1),
            goes(45, 1, 0),
            goes(45, 2, 1),
            comes(45, 1, 0),
            goes(50, 1, 0),
            (60, 1, 0, Shares(RegionEnds)),
            (60, 2, 1, Exited),
            (60, 1, 0, Exited),
        ],
    );
    let share = |pool, amount| Share { pool, amount };
    let master = vec![Spawn(1), Run(10), share(0, 20), Run(5), share(1, 10), Run(15)];
    let worker = vec![Run(20), share(0, 10), Run(10), share(1, 5), Run(15)];
    let steps: Vec<_> = recording.threads.iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [master, worker]);
    assert_eq!(recording.pools, BTreeMap::from([(0, guided), (1, guided)]));
}

/// A thread does all of a region within its region by itself, loops included.
#[test]
fn loops_of_inner_regions_are_no_teams_loops() {
    let recording = recorded(
        &machine(),
        &[
            (0, 1, 0, On),
            (0, 1, 0, Shares(RegionBegins(Some(EIGHTHS)))),
            (0, 1, 0, Forked { child: 2, process: false }),
            (0, 2, 1, On),
            (10, 2, 1, Shares(RegionBegins(None))),
            (10, 2, 1, Shares(LoopBegins { place: 1, division: EIGHTHS })),
            (20, 2, 1, Shares(LoopEnds)),
            (20, 2, 1, Shares(Tasks { count: 2, each: false })),
            (30, 2, 1, Shares(RegionEnds)),
            (40, 2, 1, Shares(LoopEnds)),
            (40, 1, 0, Shares(LoopEnds)),
            (40, 1, 0, Shares(RegionEnds)),
        ],
    );
    let part = Share { pool: 0, amount: 40 };
    let steps: Vec<_> = recording.threads.iter().map(|thread| thread.steps.clone()).collect();
    assert_eq!(steps, [vec![Spawn(1), part, Step::Barrier(0)], vec![part, Step::Barrier(0)]]);
    assert_eq!(recording.pools, BTreeMap::from([(0, EIGHTHS)]));
}

/// Any such event.
pub(super) fn sharing() -> impl Strategy<Value = What> {
    let division = || (0..9_u32, any::<bool>()).prop_map(|(pieces, guided)| Division { pieces, guided });
    let sharing = prop_oneof![
        prop::option::of(division()).prop_map(RegionBegins),
        Just(RegionEnds),
        (0..2_u32, division()).prop_map(|(place, division)| LoopBegins { place, division }),
        Just(LoopEnds),
        (0..9_u32, any::<bool>()).prop_map(|(count, each)| Tasks { count, each }),
    ];
    sharing.prop_map(Shares)
}

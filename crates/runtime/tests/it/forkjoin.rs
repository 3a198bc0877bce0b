//! Whatever a program forks, it gets what it would get alone.

use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_runtime::{Pool, join, scope};
use proptest::prelude::*;

/// A random program: what it computes must not depend on which worker runs which part.
#[derive(Debug, Clone)]
enum Tree {
    Leaf(u64),
    Join(Box<Tree>, Box<Tree>),
    Scope(Vec<Tree>),
    Loop(Vec<Tree>),
    /// Hands over to another pool.
    Elsewhere(Box<Tree>),
}

fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(7) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Tree {
    fn serial(&self) -> u64 {
        match self {
            Tree::Leaf(value) => *value,
            Tree::Join(a, b) => mix(a.serial(), b.serial()),
            Tree::Scope(trees) | Tree::Loop(trees) => trees.iter().fold(1, |sum, tree| mix(sum, tree.serial())),
            Tree::Elsewhere(tree) => tree.serial(),
        }
    }

    fn parallel(&self, pools: &[Pool; 2]) -> u64 {
        match self {
            Tree::Leaf(value) => *value,
            Tree::Join(a, b) => {
                let (a, b) = join(|| a.parallel(pools), || b.parallel(pools));
                mix(a, b)
            }
            Tree::Scope(trees) => {
                let mut values = vec![0; trees.len()];
                scope(|scope| {
                    for (index, (tree, value)) in trees.iter().zip(&mut values).enumerate() {
                        // Every other one from inside of another task.
                        if index.is_multiple_of(2) {
                            scope.spawn(move |_| *value = tree.parallel(pools));
                        } else {
                            scope.spawn(move |scope| scope.spawn(move |_| *value = tree.parallel(pools)));
                        }
                    }
                });
                values.into_iter().fold(1, mix)
            }
            Tree::Loop(trees) => evenkeel_runtime::par_map_reduce(
                0..trees.len(),
                Vec::new,
                |i| vec![trees[i].parallel(pools)],
                |mut a, b| {
                    a.extend(b);
                    a
                },
            )
            .into_iter()
            .fold(1, mix),
            Tree::Elsewhere(tree) => {
                let [a, b] = pools;
                a.install(|| b.install(|| tree.parallel(pools)))
            }
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    any::<u64>().prop_map(Tree::Leaf).prop_recursive(8, 128, 6, |tree| {
        prop_oneof![
            4 => (tree.clone(), tree.clone()).prop_map(|(a, b)| Tree::Join(Box::new(a), Box::new(b))),
            2 => prop::collection::vec(tree.clone(), 0..6).prop_map(Tree::Scope),
            2 => prop::collection::vec(tree.clone(), 0..6).prop_map(Tree::Loop),
            1 => tree.prop_map(|tree| Tree::Elsewhere(Box::new(tree))),
        ]
    })
}

proptest! {
    #[test]
    fn trees_give_what_they_give_serially(tree in trees(), threads in (1..5usize, 1..5usize)) {
        let pools = [Pool::new(threads.0).unwrap(), Pool::new(threads.1).unwrap()];
        prop_assert_eq!(pools[0].install(|| tree.parallel(&pools)), tree.serial());
    }
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn fibonacci() {
    for threads in 1..4 {
        assert_eq!(Pool::new(threads).unwrap().install(|| fib(20)), 6765);
    }
    // And in the global pool.
    assert_eq!(fib(15), 610);
}

#[test]
fn one_thread_joins_without_another() {
    let pool = Pool::new(1).unwrap();
    assert_eq!(pool.install(|| fib(15)), 610);
    assert_eq!(pool.stats().iter().map(|stats| stats.steals).sum::<u64>(), 0);
}

#[test]
fn both_sides_run_at_the_same_time() {
    // Each side waits until it has seen the other one: with one worker only this would not end.
    let pool = Pool::new(2).unwrap();
    let here = AtomicUsize::new(0);
    let meet = || {
        here.fetch_add(1, Ordering::SeqCst);
        while here.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
    };
    pool.join(meet, meet);
    assert!(pool.stats().iter().map(|stats| stats.steals).sum::<u64>() >= 1);
}

#[test]
fn a_sleeping_pool_wakes_up_for_each_task() {
    // Every worker has to come for each round, however long they have slept.
    let pool = Pool::new(4).unwrap();
    for pause in [0, 1, 5, 20] {
        std::thread::sleep(std::time::Duration::from_millis(pause));
        let here = AtomicUsize::new(0);
        pool.scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|_| {
                    here.fetch_add(1, Ordering::SeqCst);
                    while here.load(Ordering::SeqCst) < 4 {
                        std::thread::yield_now();
                    }
                });
            }
        });
    }
}

#[test]
fn tasks_left_above_a_join_are_found() {
    let pool = Pool::new(1).unwrap();
    let ran = AtomicUsize::new(0);
    pool.scope(|scope| {
        let one = || {
            scope.spawn(|_| {
                ran.fetch_add(1, Ordering::SeqCst);
            })
        };
        let (_, b) = join(|| join(one, one), || ran.load(Ordering::SeqCst));
        assert_eq!(b, 2, "what was spawned last runs first");
    });
}

#[test]
fn scopes_return_what_their_body_does() {
    assert_eq!(Pool::new(2).unwrap().scope(|_| 7), 7);
    assert_eq!(scope(|_| 8), 8);
}

#[test]
fn tasks_of_a_scope_may_be_spawned_from_threads_of_no_pool_and_of_others() {
    let (a, b) = (Pool::new(2).unwrap(), Pool::new(1).unwrap());
    let ran = AtomicUsize::new(0);
    a.scope(|scope| {
        let spawn = || {
            scope.spawn(|_| {
                ran.fetch_add(1, Ordering::SeqCst);
            })
        };
        std::thread::scope(|threads| {
            threads.spawn(spawn);
        });
        b.install(spawn);
        b.install(|| a.install(|| b.install(spawn)));
    });
    assert_eq!(ran.into_inner(), 3);
}

#[test]
fn spawns_are_counted() {
    let pool = Pool::new(2).unwrap();
    pool.scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|scope| scope.spawn(|_| {}));
        }
    });
    assert_eq!(pool.stats().iter().map(|stats| stats.spawns).sum::<u64>(), 20);
}

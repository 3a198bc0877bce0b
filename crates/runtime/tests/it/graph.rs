//! Tasks that depend on each other through regions see what they would see one after the other.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_runtime::{Pool, graph, join, scope};
use proptest::prelude::*;

fn few(count: usize) -> usize {
    if cfg!(miri) { count.div_ceil(50) } else { count }
}

/// Pools of several sizes, more workers than cores among them.
fn pools() -> impl Iterator<Item = Pool> {
    [1, 2, 3, 9].into_iter().take(if cfg!(miri) { 3 } else { 4 }).map(|threads| Pool::new(threads).unwrap())
}

#[derive(Debug, Clone)]
struct Work {
    reads: Vec<usize>,
    writes: Vec<usize>,
    priority: u32,
    fails: bool,
}

const REGIONS: usize = 6;

fn work() -> impl Strategy<Value = Work> {
    let region = proptest::collection::btree_set(0..REGIONS, 0..4);
    (region.clone(), region, 0..4_u32, proptest::bool::weighted(0.03)).prop_map(|(reads, writes, priority, fails)| {
        let priority = priority.saturating_sub(1);
        Work {
            reads: reads.difference(&writes).copied().collect(),
            writes: writes.into_iter().collect(),
            priority,
            fails,
        }
    })
}

/// What task `number` makes of what it finds.
fn mix<'a>(number: usize, found: impl Iterator<Item = &'a u64>) -> u64 {
    found.fold(number as u64 + 1, |mixed, value| (mixed ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23))
}

/// The tasks one after the other: the regions in the end, and what each task that ran has found.
fn serially(tasks: &[Work]) -> ([u64; REGIONS], Vec<Option<u64>>) {
    let mut values = [0; REGIONS];
    // Since the last task that wrote a region, itself included: has one that used it failed?
    let (mut writer_failed, mut reader_failed) = ([false; REGIONS], [false; REGIONS]);
    let found = tasks.iter().enumerate().map(|(number, task)| {
        let after_failure = task.reads.iter().any(|&region| writer_failed[region])
            || task.writes.iter().any(|&region| writer_failed[region] || reader_failed[region]);
        let failed = task.fails || after_failure;
        task.reads.iter().for_each(|&region| reader_failed[region] |= failed);
        for &region in &task.writes {
            (writer_failed[region], reader_failed[region]) = (failed, false);
        }
        if after_failure {
            return None;
        }
        let mixed = mix(number, task.reads.iter().chain(&task.writes).map(|&region| &values[region]));
        if !task.fails {
            task.writes.iter().for_each(|&region| values[region] = mixed);
        }
        Some(mixed)
    });
    let found = found.collect();
    (values, found)
}

/// The same as a graph. True in the end if a task has panicked.
fn as_graph(tasks: &[Work], window: Option<usize>) -> ([u64; REGIONS], Vec<Option<u64>>, bool) {
    let mut values = [0; REGIONS];
    let found: Vec<Mutex<Option<u64>>> = tasks.iter().map(|_| Mutex::default()).collect();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        graph(|g| {
            if let Some(window) = window {
                g.window(window);
            }
            let regions: Vec<_> = values.iter_mut().map(|value| g.region(value)).collect();
            for (number, task) in tasks.iter().enumerate() {
                let reads: Vec<_> = task.reads.iter().map(|&region| regions[region].read()).collect();
                let writes: Vec<_> = task.writes.iter().map(|&region| regions[region].write()).collect();
                let found = &found[number];
                g.task((reads, writes)).priority(task.priority).spawn(move |(reads, mut writes)| {
                    let all = reads.into_iter().chain(writes.iter().map(|value| &**value));
                    let mixed = mix(number, all);
                    *found.lock().unwrap() = Some(mixed);
                    if task.fails {
                        resume_unwind(Box::new(number));
                    }
                    writes.iter_mut().for_each(|value| **value = mixed);
                });
            }
        });
    }));
    (values, found.into_iter().map(|found| found.into_inner().unwrap()).collect(), outcome.is_err())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 64 }) })]

    #[test]
    fn tasks_see_what_they_would_see_one_after_the_other(
        tasks in proptest::collection::vec(work(), 0..if cfg!(miri) { 12 } else { 120 }),
        window in proptest::option::of(1..20_usize),
    ) {
        let (values, found) = serially(&tasks);
        for pool in pools() {
            let (parallel, seen, panicked) = pool.install(|| as_graph(&tasks, window));
            prop_assert_eq!(&seen, &found);
            prop_assert_eq!(parallel, values);
            let failed = tasks.iter().zip(&found).any(|(task, found)| task.fails && found.is_some());
            prop_assert_eq!(panicked, failed);
        }
    }
}

type Tile = Vec<f64>;

/// The lower triangle of a matrix in tiles of `b` by `b`, factored in place: A = L Lᵀ.
fn cholesky(tiles: &mut [Vec<Tile>], b: usize) {
    graph(|g| {
        let tiles: Vec<Vec<_>> =
            tiles.iter_mut().map(|row| row.iter_mut().map(|tile| g.region(tile)).collect()).collect();
        for k in 0..tiles.len() {
            // The diagonal is what everything waits for.
            g.task(tiles[k][k].write()).priority(2).spawn(move |a| factor(a, b));
            for row in &tiles[k + 1..] {
                g.task((tiles[k][k].read(), row[k].write())).priority(1).spawn(move |(l, a)| solve(l, a, b));
            }
            for i in k + 1..tiles.len() {
                for j in k + 1..=i {
                    let (left, right) = (tiles[i][k].read(), tiles[j][k].read());
                    g.task((left, right, tiles[i][j].write())).spawn(move |(l, r, a)| subtract(l, r, a, b));
                }
            }
        }
    });
}

fn factor(a: &mut Tile, b: usize) {
    for j in 0..b {
        for k in 0..j {
            for i in j..b {
                a[i * b + j] -= a[i * b + k] * a[j * b + k];
            }
        }
        let root = a[j * b + j].sqrt();
        for i in j..b {
            a[i * b + j] /= root;
        }
        for i in 0..j {
            a[i * b + j] = 0.0;
        }
    }
}

fn solve(l: &Tile, a: &mut Tile, b: usize) {
    for i in 0..b {
        for j in 0..b {
            let dot: f64 = (0..j).map(|k| a[i * b + k] * l[j * b + k]).sum();
            a[i * b + j] = (a[i * b + j] - dot) / l[j * b + j];
        }
    }
}

fn subtract(l: &Tile, r: &Tile, a: &mut Tile, b: usize) {
    for i in 0..b {
        for j in 0..b {
            a[i * b + j] -= (0..b).map(|k| l[i * b + k] * r[j * b + k]).sum::<f64>();
        }
    }
}

#[test]
fn cholesky_by_tiles() {
    let (n, b) = if cfg!(miri) { (3, 2) } else { (8, 8) };
    let size = n * b;
    // Symmetric, and positive definite by its diagonal.
    let entry = |i: usize, j: usize| if i == j { size as f64 } else { 1.0 / (1.0 + i.abs_diff(j) as f64) };
    for pool in pools() {
        let mut tiles: Vec<Vec<Tile>> = (0..n)
            .map(|i| (0..=i).map(|j| (0..b * b).map(|at| entry(i * b + at / b, j * b + at % b)).collect()).collect())
            .collect();
        pool.install(|| cholesky(&mut tiles, b));
        let l = |i: usize, j: usize| if j > i { 0.0 } else { tiles[i / b][j / b][i % b * b + j % b] };
        for i in 0..size {
            for j in 0..=i {
                let product: f64 = (0..=j).map(|k| l(i, k) * l(j, k)).sum();
                assert!((product - entry(i, j)).abs() < 1e-10, "{i} {j}: {product}");
            }
        }
    }
}

#[test]
fn one_region_counts_in_order() {
    for pool in pools() {
        let mut log = Vec::new();
        let tasks = few(5000);
        pool.graph(|g| {
            let log = g.region(&mut log);
            for i in 0..tasks {
                g.task(log.write()).priority(i as u32 % 3).spawn(move |log| log.push(i));
            }
        });
        assert_eq!(log, (0..tasks).collect::<Vec<_>>());
    }
}

#[test]
fn readers_run_between_two_writers() {
    for pool in pools() {
        let mut value = 0;
        pool.graph(|g| {
            let value = g.region(&mut value);
            for round in 0..few(200) {
                g.task(value.write()).spawn(move |value| *value = round);
                for _ in 0..10 {
                    g.task(value.read()).spawn(move |value| assert_eq!(*value, round));
                }
            }
        });
    }
}

#[test]
fn urgent_tasks_go_first() {
    // One worker: nothing runs before the wait, and then the newest would be the first.
    let order = Mutex::new(Vec::new());
    Pool::new(1).unwrap().graph(|g| {
        for (name, priority) in [("a", 1), ("b", 0), ("c", 3), ("d", 3), ("e", 2)] {
            let order = &order;
            g.task(()).priority(priority).spawn(move |()| order.lock().unwrap().push(name));
        }
    });
    assert_eq!(order.into_inner().unwrap(), ["c", "d", "e", "a", "b"]);
}

#[test]
fn parts_of_a_slice_are_regions() {
    for pool in pools() {
        let mut numbers: Vec<u64> = (0..1000).collect();
        let mut sums = [0; 4];
        pool.graph(|g| {
            let parts: Vec<_> = numbers.chunks_mut(250).map(|part| g.region(part)).collect();
            for (part, sum) in parts.iter().zip(&mut sums) {
                let sum = g.region(sum);
                g.task(part.write()).spawn(|part| part.iter_mut().for_each(|x| *x *= 2));
                g.task((part.read(), sum.write())).spawn(|(part, sum)| *sum = part.iter().sum());
            }
            // An array of accesses.
            let [a, b, c, d] = parts[..] else { unreachable!("four parts") };
            g.task([a.write(), b.write(), c.write(), d.write()]).spawn(|[a, _, _, d]| a.swap_with_slice(d));
        });
        assert_eq!(sums.iter().sum::<u64>(), 999_000);
        assert_eq!((numbers[0], numbers[999]), (1500, 498));
    }
}

#[test]
fn now_gives_a_value_back() {
    for pool in pools() {
        let mut value = 1_u64;
        let rounds = pool.graph(|g| {
            let value = g.region(&mut value);
            let mut rounds = 0;
            while g.task(value.read()).now(|value| *value < 1000) {
                g.task(value.write()).spawn(|value| *value *= 3);
                rounds += 1;
            }
            rounds
        });
        assert_eq!((rounds, value), (7, 2187));
    }
}

#[test]
fn a_task_that_runs_now_waits_for_nothing() {
    let mut value = 0;
    graph(|g| {
        g.window(1);
        let value = g.region(&mut value);
        g.task(value.write()).now(|now| {
            let refused = |what: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(what)).is_err());
            refused(&|| g.wait());
            refused(&|| g.task(()).now(|()| ()));
            g.task(value.write()).spawn(|later| *later *= 2);
            *now = 4;
        });
    });
    assert_eq!(value, 8);
}

#[test]
fn wait_waits() {
    for pool in pools() {
        let done = AtomicUsize::new(0);
        pool.graph(|g| {
            g.wait();
            for round in 1..=few(100) {
                for _ in 0..5 {
                    g.task(()).spawn(|()| {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }
                g.wait();
                assert_eq!(done.load(Ordering::Relaxed), 5 * round);
            }
        });
    }
}

#[test]
fn no_more_than_the_window() {
    for pool in pools() {
        for window in [0, 1, 2, 7] {
            let (open, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.graph(|g| {
                g.window(window);
                for _ in 0..few(500) {
                    most.fetch_max(open.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
                    g.task(()).spawn(|()| {
                        open.fetch_sub(1, Ordering::SeqCst);
                    });
                }
            });
            assert!(most.into_inner() <= window.max(1), "window {window}");
            assert_eq!(open.into_inner(), 0);
        }
    }
}

#[test]
fn graphs_joins_and_scopes_in_tasks() {
    for pool in pools() {
        let mut rows = vec![vec![1_u64; 16]; 6];
        let total = &AtomicUsize::new(0);
        pool.graph(|g| {
            let rows: Vec<_> = rows.iter_mut().map(|row| g.region(row)).collect();
            for pair in rows.windows(2) {
                g.task((pair[0].read(), pair[1].write())).spawn(|(above, row)| {
                    graph(|inner| {
                        let parts: Vec<_> = row.chunks_mut(4).map(|part| inner.region(part)).collect();
                        for (part, above) in parts.iter().zip(above.chunks(4)) {
                            inner.task(part.write()).spawn(move |part| {
                                join(|| part[0] += above[0], || total.fetch_add(1, Ordering::Relaxed));
                            });
                        }
                    });
                    scope(|scope| scope.spawn(|_| row[1] += above[1]));
                });
            }
        });
        assert_eq!(rows[5][..6], [6, 6, 1, 1, 6, 1]);
        assert_eq!(total.load(Ordering::Relaxed), 20);
    }
}

#[test]
fn a_panic_is_carried_and_what_depends_on_it_is_not_run() {
    for pool in pools() {
        let (mut a, mut b, mut c) = (0, 0, 0);
        let dropped = AtomicBool::new(false);
        struct Tell<'a>(&'a AtomicBool);
        impl Drop for Tell<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.graph(|g| {
                let (a, b, c) = (g.region(&mut a), g.region(&mut b), g.region(&mut c));
                g.task(a.write()).spawn(|a| {
                    *a = 1;
                    resume_unwind(Box::new("first"));
                });
                let owned = Tell(&dropped);
                g.task((a.read(), b.write())).spawn(move |(_, b)| {
                    let _owned = &owned;
                    *b = 2;
                });
                g.task((b.read(), a.write())).spawn(|(_, a)| *a = 3);
                g.task(c.write()).spawn(|c| *c = 4);
            });
        }))
        .unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"first"));
        assert_eq!((a, b, c), (1, 0, 4));
        assert!(dropped.into_inner(), "what a task owns that is not run");
    }
}

#[test]
fn the_creating_thread_learns_of_a_panic() {
    for pool in pools() {
        let mut value = 0;
        let mut after = false;
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.graph(|g| {
                let value = g.region(&mut value);
                g.task(value.write()).spawn(|_| resume_unwind(Box::new(7)));
                g.task(value.read()).now(|_| after = true);
            });
        }))
        .unwrap_err();
        assert_eq!((panic.downcast_ref(), after), (Some(&7), false));

        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.graph(|g| {
                g.task(()).spawn(|()| resume_unwind(Box::new(8)));
                g.wait();
                after = true;
            });
        }))
        .unwrap_err();
        assert_eq!((panic.downcast_ref(), after), (Some(&8), false));

        // One of its own reaches those that come later, too.
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.graph(|g| {
                let value = g.region(&mut value);
                let own = catch_unwind(AssertUnwindSafe(|| g.task(value.write()).now(|_| resume_unwind(Box::new(9)))));
                g.task(value.write()).spawn(|value| *value = 1);
                own.unwrap_or_else(|panic| resume_unwind(panic))
            })
        }))
        .unwrap_err();
        assert_eq!((panic.downcast_ref(), value), (Some(&9), 0));
    }
}

#[test]
fn a_task_that_writes_a_region_accesses_it_once() {
    let mut value = 0;
    graph(|g| {
        let value = g.region(&mut value);
        let refused = |what: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(what)).is_err());
        refused(&|| g.task((value.read(), value.write())).spawn(|_| ()));
        refused(&|| g.task([value.write(), value.write()]).spawn(|_| ()));
        refused(&|| g.task((value.read(), value.read(), value.write())).now(|_| ()));
        g.task((value.read(), value.read())).spawn(|(a, b)| assert_eq!(a, b));
        g.task(value.write()).spawn(|value| *value += 1);
    });
    assert_eq!(value, 1);
}

#[test]
fn tasks_of_a_graph_are_counted() {
    for pool in pools() {
        pool.graph(|graph| {
            for task in 0..100 {
                graph.task(()).priority(task % 2).spawn(|()| ());
            }
        });
        assert_eq!(pool.stats().iter().map(|stats| stats.spawns).sum::<u64>(), 100);
    }
}

/// What a body holds lies in the task where it fits, and is dropped once, whether it is run or not.
#[test]
fn bodies_of_any_size_are_run_and_dropped_once() {
    struct Held<'a>(&'a AtomicUsize);
    impl Drop for Held<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    #[repr(align(128))]
    struct Aligned(u64);
    let dropped = AtomicUsize::new(0);
    let rounds = few(200);
    for pool in pools() {
        dropped.store(0, Ordering::Relaxed);
        let mut sums = [0_u64; 3];
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.graph(|g| {
                g.window(8);
                let [small, large, aligned] = sums.each_mut().map(|sum| g.region(sum));
                for i in 0..rounds as u64 {
                    let held = Held(&dropped);
                    g.task(small.write()).spawn(move |sum| {
                        let _held = held;
                        *sum += i;
                    });
                    let (held, numbers) = (Held(&dropped), [i; 40]);
                    g.task(large.write()).spawn(move |sum| {
                        let _held = held;
                        *sum += numbers.iter().sum::<u64>();
                    });
                    let (held, number) = (Held(&dropped), Aligned(i));
                    g.task(aligned.write()).spawn(move |sum| {
                        let _held = held;
                        assert!(ptr::from_ref(&number).addr().is_multiple_of(128));
                        *sum += number.0;
                    });
                }
                g.task((small.write(), large.write())).spawn(|_| resume_unwind(Box::new("what comes is not run")));
                let held = Held(&dropped);
                g.task(large.write()).spawn(move |_| drop(held));
            });
        }));
        assert!(panicked.is_err());
        let all = (rounds * (rounds - 1) / 2) as u64;
        assert_eq!((sums, dropped.load(Ordering::Relaxed)), ([all, 40 * all, all], 3 * rounds + 1));
    }
}

/// More tasks than have room in the memory of one wait for one, and one waits for as many.
#[test]
fn any_number_waits_for_any_number() {
    for pool in pools() {
        let (mut shared, mut seen) = (0_u64, vec![0; few(100)]);
        pool.graph(|g| {
            // As good as none.
            g.window(usize::MAX);
            let shared = g.region(&mut shared);
            let seen: Vec<_> = seen.iter_mut().map(|one| g.region(one)).collect();
            for round in 1..4 {
                g.task(shared.write()).spawn(move |shared| *shared += 1);
                for one in &seen {
                    g.task((shared.read(), one.write())).spawn(move |(shared, one)| {
                        assert_eq!(*shared, round);
                        *one += shared;
                    });
                }
            }
            g.task((shared.write(), seen.clone().into_iter().map(|one| one.read()).collect::<Vec<_>>()))
                .spawn(|(_, seen)| assert!(seen.iter().all(|one| **one == 1 + 2 + 3)));
        });
    }
}

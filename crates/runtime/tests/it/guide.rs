//! The Rust that docs/runtime.md shows; `crates/capi/tests/it/guide.rs` checks that it is the same.

use std::error::Error;
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_runtime::{graph, join, scope};

#[test]
fn loops() {
    fn render(image: &AtomicUsize) {
        image.fetch_add(1, Ordering::Relaxed);
    }
    fn blur(row: &mut [u8]) {
        let sum: usize = row.iter().map(|pixel| usize::from(*pixel)).sum();
        row.fill((sum / row.len()) as u8);
    }
    let images: Vec<AtomicUsize> = (0..100).map(AtomicUsize::new).collect();
    let (x, y) = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]);
    let (mut pixels, width) = ([1, 3, 10, 20], 2);

    use evenkeel_runtime::{par_chunks_mut, par_for, par_map_reduce};

    par_for(0..images.len(), |i| render(&images[i]));
    let sum = par_map_reduce(0..x.len(), || 0.0, |i| x[i] * y[i], |a, b| a + b);
    par_chunks_mut(&mut pixels, width, blur);

    assert!(images.into_iter().enumerate().all(|(i, image)| image.into_inner() == i + 1));
    assert_eq!((sum, pixels), (32.0, [2, 2, 15, 15]));
}

/// Puts the smaller half first.
fn partition(data: &mut [u64]) -> usize {
    let middle = data.len() / 2;
    data.select_nth_unstable(middle);
    middle
}

fn sort(data: &mut [u64]) {
    if data.len() < 64 {
        return data.sort_unstable();
    }
    let middle = partition(data);
    let (left, right) = data.split_at_mut(middle);
    join(|| sort(left), || sort(right));
}

#[test]
fn recursion() {
    let mut data: Vec<u64> = (0..10_000).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    sort(&mut data);
    assert!(data.is_sorted());
}

#[test]
fn tasks_that_borrow() {
    struct Part(u64);
    impl Part {
        fn work(&mut self) {
            self.0 *= 2;
        }
    }
    let mut parts = [Part(1), Part(2), Part(3)];

    scope(|scope| {
        for part in &mut parts {
            scope.spawn(move |_| part.work());
        }
    });

    assert_eq!(parts.map(|part| part.0), [2, 4, 6]);
}

#[test]
fn tasks_that_share_data() {
    fn factor(tile: &mut u64) {
        *tile += 1;
    }
    fn solve(first: &u64, tile: &mut u64) {
        *tile *= first;
    }
    let mut tiles = vec![1_u64, 2, 3];

    graph(|g| {
        let tiles: Vec<_> = tiles.iter_mut().map(|tile| g.region(tile)).collect();
        g.task(tiles[0].write()).priority(1).spawn(factor);
        for tile in &tiles[1..] {
            g.task((tiles[0].read(), tile.write())).spawn(|(first, tile)| solve(first, tile));
        }
    });

    assert_eq!(tiles, [2, 4, 6]);
}

fn compute() -> u64 {
    let (a, b) = join(|| 1, || 2);
    a + b
}

#[test]
fn a_pool_of_one_s_own() -> Result<(), Box<dyn Error>> {
    let pool = evenkeel_runtime::Pool::new(4)?;
    let result = pool.install(|| compute() + 1);
    println!("{:?}", pool.stats());

    assert_eq!((result, pool.stats().len()), (4, 4));
    Ok(())
}

/// Compiled only: it wants eight cores and writes a file.
fn cores_that_differ() -> Result<(), Box<dyn Error>> {
    use evenkeel_runtime::{PoolBuilder, Record, this_machine, write_perfetto};

    let machine = this_machine()?.with(Some("0-3"), Some("4-7"), Some(2.5))?; // if the kernel does not know what is fast
    let pool = PoolBuilder::new()
        .cores(machine)
        .techniques("base+m".parse()?) // none, base, base+p, base+ps, base+psm, base+m
        .turns(false) // they are taken where tasks are mugged, by default
        .record(Record::Events)
        .on_missing(|missing| eprintln!("{missing}"))
        .build()?;
    pool.install(compute);
    println!("{:?}", pool.accounts()); // time busy and waiting on each core type, mugs, turns
    write_perfetto(&pool.trace(), File::create("run.pftrace")?)?; // feature "perfetto"
    Ok(())
}

#[test]
fn it_compiles() {
    let _: fn() -> Result<(), Box<dyn Error>> = cores_that_differ;
}

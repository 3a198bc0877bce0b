//! Spanning forest of a list of edges.
//!
//! Non-deterministic, as in the paper: workers unite the sets of each edge's ends in a concurrent union-find, and an edge that
//! united two is in the forest (Anderson and Woll, "Wait-free Parallel Algorithms for the Union-Find Problem", STOC 1991).
//! A root is hung below a smaller one by an atomic exchange, so no cycle can arise.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::Pool;
use crate::inputs::graphs::{Edges, local};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::{gather, tabulate};

/// Edges that one task goes through.
const GRAIN: usize = 1024;

/// `sptree`.
#[derive(Debug)]
pub struct SpanningTree;

impl Kernel for SpanningTree {
    type Input = Edges;
    /// The numbers of the edges of the forest.
    type Output = Vec<u32>;

    const INFO: Info = Info {
        name: "sptree",
        suite: Suite::Pbbs,
        method: Method::Loops,
        input: "randLocalGraph_E_5_100K",
        tasks: 482,
        task_kiloinstructions: 39.0,
    };

    fn input(scale: f64) -> Edges {
        local(scaled(100_000, scale), 5, 15)
    }

    fn run<P: Pool>(pool: &P, edges: &Edges) -> Vec<u32> {
        let parents: Vec<AtomicU32> = tabulate(pool, edges.vertices, 8 * GRAIN, |vertex| AtomicU32::new(vertex as u32));
        gather(pool, edges.pairs.len(), GRAIN, |edge, forest| {
            let (a, b) = edges.pairs[edge];
            if unite(&parents, a, b) {
                forest.push(edge as u32);
            }
        })
    }

    /// No cycle, and as many edges as vertices less components.
    fn check(edges: &Edges, forest: &Vec<u32>) -> Result<(), Wrong> {
        let components = |chosen: &mut dyn Iterator<Item = u32>| {
            let mut parents: Vec<u32> = (0..edges.vertices as u32).collect();
            let mut united = 0;
            for edge in chosen {
                let ends = edges.pairs[edge as usize];
                let [a, b] = [ends.0, ends.1].map(|mut vertex| {
                    while parents[vertex as usize] != vertex {
                        parents[vertex as usize] = parents[parents[vertex as usize] as usize];
                        vertex = parents[vertex as usize];
                    }
                    vertex
                });
                united += usize::from(a != b);
                parents[a as usize] = b;
            }
            united
        };
        let acyclic = components(&mut forest.iter().copied());
        ensure(acyclic == forest.len(), || format!("{} edges close cycles", forest.len() - acyclic))?;
        let needed = components(&mut (0..edges.pairs.len() as u32));
        ensure(forest.len() == needed, || format!("{} edges, {needed} needed", forest.len()))
    }

    /// Forests differ from run to run; their size does not.
    fn digest(forest: &Vec<u32>) -> u64 {
        digest([forest.len() as u64])
    }
}

/// The root of a vertex's set. Halves the way for later calls.
fn root(parents: &[AtomicU32], mut vertex: u32) -> u32 {
    loop {
        let parent = parents[vertex as usize].load(Relaxed);
        let above = parents[parent as usize].load(Relaxed);
        if parent == above {
            return parent;
        }
        // Parents only ever become smaller; a late store leads to an ancestor all the same.
        parents[vertex as usize].store(above, Relaxed);
        vertex = above;
    }
}

/// Whether a and b were in different sets, which are one from now on.
fn unite(parents: &[AtomicU32], a: u32, b: u32) -> bool {
    let (mut a, mut b) = (root(parents, a), root(parents, b));
    while a != b {
        let (low, high) = (a.min(b), a.max(b));
        match parents[high as usize].compare_exchange(high, low, Relaxed, Relaxed) {
            Ok(_) => return true,
            Err(_) => (a, b) = (root(parents, low), root(parents, high)),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn medium_graphs() {
        verify::<SpanningTree>(&SpanningTree::input(0.02));
    }

    #[test]
    fn cycles_and_gaps_are_found_out() {
        let edges = Edges { vertices: 4, pairs: vec![(0, 1), (1, 2), (2, 0), (3, 3)] };
        assert!(SpanningTree::check(&edges, &vec![0, 2]).is_ok());
        assert!(SpanningTree::check(&edges, &vec![0, 1, 2]).is_err());
        assert!(SpanningTree::check(&edges, &vec![0, 3]).is_err());
        assert!(SpanningTree::check(&edges, &vec![0]).is_err());
    }

    proptest! {
        #[test]
        fn any_edges(vertices in 1_usize..40, pairs in prop::collection::vec((0_u32..40, 0_u32..40), 0..80)) {
            let n = vertices as u32;
            let pairs = pairs.into_iter().map(|(a, b)| (a % n, b % n)).collect();
            verify::<SpanningTree>(&Edges { vertices, pairs });
        }
    }
}

//! Breadth-first search: the tree of shortest paths from vertex 0.
//!
//! Level by level, in parallel over the vertices of a level. In `bfs-nd` the first neighbour to reach a vertex becomes its parent.
//! In `bfs-d` every vertex reserves its neighbours first, the one with the highest number wins, and then commits what it
//! won, so that the tree is the same in every run (Blelloch, Fineman, Gibbons and Shun, "Internally Deterministic
//! Parallel Algorithms Can Be Fast", PPoPP 2012, 4).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use bytemuck::zeroed_vec;

use crate::Pool;
use crate::inputs::graphs::{Graph, local};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::{gather, tabulate};

/// Vertices of a level that are one task: about 10 edges each.
const GRAIN: usize = 64;
const ROOT: u32 = 0;
const NONE: u32 = 0;
const VERTICES: usize = 150_000;
const INPUT: &str = "randLocalGraph_J_5_150K";

/// The parent of each vertex plus 1; of the root itself; 0 where there is no path.
pub type Parents = Vec<u32>;

/// `bfs-d`.
#[derive(Debug)]
pub struct BfsDeterministic;

impl Kernel for BfsDeterministic {
    type Input = Graph;
    type Output = Parents;

    const INFO: Info = Info {
        name: "bfs-d",
        suite: Suite::Pbbs,
        method: Method::Loops,
        input: INPUT,
        tasks: 2588,
        task_kiloinstructions: 14.0,
    };

    fn input(scale: f64) -> Graph {
        Graph::new(&local(scaled(VERTICES, scale), 5, 1))
    }

    fn run<P: Pool>(pool: &P, graph: &Graph) -> Parents {
        // The level counted backwards above the parent plus 1: an earlier level is more than any later one.
        let claims: Vec<AtomicU64> = zeroed_vec(graph.vertices());
        let claim = |depth: u32, vertex: u32| u64::from(u32::MAX - depth) << 32 | u64::from(vertex + 1);
        claims[ROOT as usize].store(claim(0, ROOT), Relaxed);
        let (mut level, mut depth) = (vec![ROOT], 0);
        while !level.is_empty() {
            depth += 1;
            pool.par_for(0..level.len(), GRAIN, |index| {
                let mine = claim(depth, level[index]);
                for &next in graph.neighbours(level[index]) {
                    // Looking first spares most of the atomic writes.
                    if claims[next as usize].load(Relaxed) < mine {
                        claims[next as usize].fetch_max(mine, Relaxed);
                    }
                }
            });
            level = gather(pool, level.len(), GRAIN, |index, found| {
                let mine = claim(depth, level[index]);
                let neighbours = graph.neighbours(level[index]).iter();
                found.extend(neighbours.filter(|&&next| claims[next as usize].load(Relaxed) == mine));
            });
        }
        tabulate(pool, claims.len(), 64 * GRAIN, |vertex| claims[vertex].load(Relaxed) as u32)
    }

    fn check(graph: &Graph, parents: &Parents) -> Result<(), Wrong> {
        shortest(graph, parents)
    }

    fn digest(parents: &Parents) -> u64 {
        digest(parents.iter().map(|&parent| parent.into()))
    }
}

/// `bfs-nd`.
#[derive(Debug)]
pub struct BfsNonDeterministic;

impl Kernel for BfsNonDeterministic {
    type Input = Graph;
    type Output = Parents;

    const INFO: Info = Info { name: "bfs-nd", tasks: 3108, task_kiloinstructions: 19.0, ..BfsDeterministic::INFO };

    fn input(scale: f64) -> Graph {
        BfsDeterministic::input(scale)
    }

    fn run<P: Pool>(pool: &P, graph: &Graph) -> Parents {
        let parents: Vec<AtomicU32> = zeroed_vec(graph.vertices());
        parents[ROOT as usize].store(ROOT + 1, Relaxed);
        let mut level = vec![ROOT];
        while !level.is_empty() {
            level = gather(pool, level.len(), GRAIN, |index, found| {
                let vertex = level[index];
                for &next in graph.neighbours(vertex) {
                    let parent = &parents[next as usize];
                    if parent.load(Relaxed) == NONE
                        && parent.compare_exchange(NONE, vertex + 1, Relaxed, Relaxed).is_ok()
                    {
                        found.push(next);
                    }
                }
            });
        }
        parents.into_iter().map(AtomicU32::into_inner).collect()
    }

    fn check(graph: &Graph, parents: &Parents) -> Result<(), Wrong> {
        shortest(graph, parents)
    }

    /// Of the vertices that were reached, since their parents may differ.
    fn digest(parents: &Parents) -> u64 {
        digest(parents.iter().map(|&parent| u64::from(parent != NONE)))
    }
}

/// Compares with the distances of a plain serial search: a parent is a neighbour one step nearer to the root.
fn shortest(graph: &Graph, parents: &Parents) -> Result<(), Wrong> {
    let mut distances = vec![None; graph.vertices()];
    distances[ROOT as usize] = Some(0);
    let (mut queue, mut head) = (vec![ROOT], 0);
    while head < queue.len() {
        let vertex = queue[head];
        head += 1;
        for &next in graph.neighbours(vertex) {
            if distances[next as usize].is_none() {
                distances[next as usize] = distances[vertex as usize].map(|distance: u32| distance + 1);
                queue.push(next);
            }
        }
    }
    ensure(parents.len() == graph.vertices(), || format!("{} parents", parents.len()))?;
    for (vertex, &parent) in parents.iter().enumerate() {
        let right = match (distances[vertex], parent.checked_sub(1)) {
            (None, None) => true,
            (Some(0), Some(parent)) => parent == ROOT,
            (Some(distance), Some(parent)) => {
                distances[parent as usize] == Some(distance - 1)
                    && graph.neighbours(vertex as u32).binary_search(&parent).is_ok()
            }
            _ => false,
        };
        ensure(right, || format!("vertex {vertex} at {:?} has parent {parent} - 1", distances[vertex]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Serial;
    use crate::inputs::graphs::Edges;
    use crate::testing::verify;

    #[test]
    fn medium_graphs() {
        verify::<BfsDeterministic>(&BfsDeterministic::input(0.02));
        verify::<BfsNonDeterministic>(&BfsNonDeterministic::input(0.02));
    }

    #[test]
    fn a_detour_is_found_out() {
        let graph = Graph::new(&Edges { vertices: 4, pairs: vec![(0, 1), (1, 2), (0, 2), (2, 3)] });
        let mut parents = BfsDeterministic::run(&Serial, &graph);
        assert_eq!(parents, [1, 1, 1, 3]);
        parents[2] = 2;
        assert!(shortest(&graph, &parents).is_err());
    }

    proptest! {
        #[test]
        fn any_graph(vertices in 1_usize..40, pairs in prop::collection::vec((0_u32..40, 0_u32..40), 0..80)) {
            let n = vertices as u32;
            let pairs = pairs.into_iter().map(|(a, b)| (a % n, b % n)).collect();
            let graph = Graph::new(&Edges { vertices, pairs });
            verify::<BfsDeterministic>(&graph);
            verify::<BfsNonDeterministic>(&graph);
        }
    }
}

//! A maximal independent set: no two of its vertices are neighbours, and every other vertex has a neighbour in it.
//!
//! Non-deterministic, as in the paper: a worker locks a vertex and its neighbours by atomic operations, and if it gets all of
//! them the vertex is in the set and the neighbours are out. A vertex that meets the lock of another task gives way and comes again in
//! the next round (the greedy set in any order: Blelloch, Fineman and Shun, SPAA 2012).

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use bytemuck::zeroed_vec;

use crate::Pool;
use crate::inputs::graphs::{Graph, local};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::gather;

/// Vertices that one task decides.
const GRAIN: usize = 64;

const FREE: u8 = 0;
const LOCKED: u8 = 1;
const IN: u8 = 2;
const OUT: u8 = 3;

/// `mis`.
#[derive(Debug)]
pub struct IndependentSet;

impl Kernel for IndependentSet {
    type Input = Graph;
    /// Whether each vertex is in the set.
    type Output = Vec<bool>;

    const INFO: Info = Info {
        name: "mis",
        suite: Suite::Pbbs,
        method: Method::Loops,
        input: "randLocalGraph_J_5_50000",
        tasks: 3230,
        task_kiloinstructions: 2.0,
    };

    fn input(scale: f64) -> Graph {
        Graph::new(&local(scaled(50_000, scale), 5, 12))
    }

    fn run<P: Pool>(pool: &P, graph: &Graph) -> Vec<bool> {
        let states: Vec<AtomicU8> = zeroed_vec(graph.vertices());
        let mut again = gather(pool, graph.vertices(), GRAIN, |vertex, again| {
            decide(graph, &states, vertex as u32, again);
        });
        // What is left is little, and as soon as it is one task nothing is in its way.
        while !again.is_empty() {
            again = gather(pool, again.len(), GRAIN, |index, later| decide(graph, &states, again[index], later));
        }
        states.into_iter().map(|state| state.into_inner() == IN).collect()
    }

    fn check(graph: &Graph, set: &Vec<bool>) -> Result<(), Wrong> {
        ensure(set.len() == graph.vertices(), || format!("{} vertices", set.len()))?;
        for (vertex, &inside) in set.iter().enumerate() {
            let near = graph.neighbours(vertex as u32).iter().any(|&neighbour| set[neighbour as usize]);
            ensure(!(inside && near), || format!("vertex {vertex} and a neighbour are in the set"))?;
            ensure(inside || near, || format!("vertex {vertex} could be in the set"))?;
        }
        Ok(())
    }

    /// Sets differ from run to run; that each vertex is in or out does not.
    fn digest(set: &Vec<bool>) -> u64 {
        digest([set.len() as u64])
    }
}

fn lock(state: &AtomicU8) -> Result<u8, u8> {
    state.compare_exchange(FREE, LOCKED, Relaxed, Relaxed)
}

/// Puts `vertex` into the set or finds it out of it; adds it to `again` if the lock of another task is in the way.
fn decide(graph: &Graph, states: &[AtomicU8], vertex: u32, again: &mut Vec<u32>) {
    match lock(&states[vertex as usize]) {
        Ok(_) => {}
        Err(LOCKED) => return again.push(vertex),
        Err(_) => return,
    }
    let neighbours = graph.neighbours(vertex);
    // A neighbour that is in the set would have put this vertex out, so the only obstacle is a lock.
    let obstacle = neighbours.iter().position(|&next| lock(&states[next as usize]) == Err(LOCKED));
    let (mine, of_neighbours) = if obstacle.is_none() { (IN, OUT) } else { (FREE, FREE) };
    for &next in &neighbours[..obstacle.unwrap_or(neighbours.len())] {
        // Locked by this task: what another one had locked was the obstacle.
        if states[next as usize].load(Relaxed) == LOCKED {
            states[next as usize].store(of_neighbours, Relaxed);
        }
    }
    states[vertex as usize].store(mine, Relaxed);
    if obstacle.is_some() {
        again.push(vertex);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::inputs::graphs::Edges;
    use crate::testing::verify;

    #[test]
    fn medium_graphs() {
        verify::<IndependentSet>(&IndependentSet::input(0.05));
    }

    #[test]
    fn neighbours_and_gaps_are_found_out() {
        let path = Graph::new(&Edges { vertices: 4, pairs: vec![(0, 1), (1, 2), (2, 3)] });
        assert!(IndependentSet::check(&path, &vec![true, false, false, true]).is_ok());
        assert!(IndependentSet::check(&path, &vec![true, true, false, true]).is_err());
        assert!(IndependentSet::check(&path, &vec![true, false, false, false]).is_err());
    }

    proptest! {
        #[test]
        fn any_graph(vertices in 1_usize..40, pairs in prop::collection::vec((0_u32..40, 0_u32..40), 0..120)) {
            let n = vertices as u32;
            let pairs = pairs.into_iter().map(|(a, b)| (a % n, b % n)).collect();
            verify::<IndependentSet>(&Graph::new(&Edges { vertices, pairs }));
        }
    }
}

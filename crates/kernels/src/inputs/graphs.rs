//! Random graphs whose edges are mostly short: `randLocalGraph_J` (adjacency) and `randLocalGraph_E` (edges).

use super::Draw;

/// An undirected graph as adjacency lists: sorted, without loops, every edge once from each of its ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the list of each vertex begins in `neighbours`, and one more for the end of the last.
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// The graph with these edges, which may come in any order, from either end, and more than once.
    pub fn new(edges: &Edges) -> Self {
        let both = edges.pairs.iter().filter(|(a, b)| a != b).flat_map(|&(a, b)| [(a, b), (b, a)]);
        let mut arcs: Vec<(u32, u32)> = both.collect();
        arcs.sort_unstable();
        arcs.dedup();
        let mut starts = vec![0; edges.vertices + 1];
        arcs.iter().for_each(|&(from, _)| starts[from as usize + 1] += 1);
        for vertex in 0..edges.vertices {
            starts[vertex + 1] += starts[vertex];
        }
        Self { starts, neighbours: arcs.into_iter().map(|(_, to)| to).collect() }
    }

    /// How many vertices there are.
    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many arcs there are: two an edge.
    pub fn arcs(&self) -> usize {
        self.neighbours.len()
    }

    /// The neighbours of a vertex, in increasing order.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize]
    }
}

/// An undirected graph as a list of edges, which may hold loops and duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edges {
    /// How many vertices there are.
    pub vertices: usize,
    /// The ends of each edge.
    pub pairs: Vec<(u32, u32)>,
}

/// `degree` edges from each vertex. They are like those of a mesh in three dimensions: the chance of an edge falls with
/// the distance of its ends' numbers as `distance^(-4/3)`, so that separators have about `n^(2/3)` vertices.
pub fn local(vertices: usize, degree: usize, seed: u64) -> Edges {
    const DIMENSIONS: u32 = 3;
    let mut draw = Draw::new(seed);
    let mut pairs = Vec::with_capacity(vertices * degree);
    for from in 0..vertices {
        for _ in 0..degree {
            // The range of distances grows eightfold with every other toss of a coin.
            let mut bits = DIMENSIONS + 2;
            while bits < 40 && draw.below(2) == 0 {
                bits += DIMENSIONS;
            }
            let to = (from as u64 + draw.below(1 << bits)) % vertices as u64;
            pairs.push((from as u32, to as u32));
        }
    }
    Edges { vertices, pairs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_distances_grows_with_a_coin() {
        let edges = local(100_000, 5, 1);
        assert_eq!(edges.pairs.len(), 500_000);
        // Below 2^5: all of those that stay (1/2), and an eighth of each range that follows.
        let near = edges.pairs.iter().filter(|(a, b)| (b + 100_000 - a) % 100_000 < 32).count() as f64 / 500_000.0;
        let expected = (0..20).map(|k| 0.5_f64.powi(k + 1) * 0.125_f64.powi(k)).sum::<f64>();
        assert!((near - expected).abs() < 0.005, "{near}, expected {expected}");
    }

    #[test]
    fn adjacency_is_symmetric_sorted_and_simple() {
        let graph = Graph::new(&local(1000, 5, 1));
        let mut arcs = 0;
        for vertex in 0..1000 {
            let neighbours = graph.neighbours(vertex);
            assert!(neighbours.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(neighbours.iter().all(|&n| n != vertex && graph.neighbours(n).contains(&vertex)));
            arcs += neighbours.len();
        }
        assert_eq!(arcs, graph.arcs());
        assert!((7_000..10_000).contains(&arcs), "{arcs} arcs");
    }
}

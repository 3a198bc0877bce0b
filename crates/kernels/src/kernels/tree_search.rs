//! Unbalanced tree search: counts the nodes of a tree whose shape cannot be predicted.
//!
//! A node is a SHA-1 digest, and its children's are digests of it and their number, so any worker can continue anywhere. How many
//! children it has follows from the digest: geometric with a mean that depends on the depth and goes up and down with
//! it (`-a 2`, cyclic), until five periods below the root. A loop over the children of each node, in the loop over its parent's.
//! Follows Olivier et al., "UTS: An Unbalanced Tree Search Benchmark", LCPC 2006, with the random numbers of its
//! version 2.1, so that its sample trees come out.

use std::f64::consts::TAU;

use sha1::{Digest, Sha1};

use crate::Pool;
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::reduce;

/// No node has more children.
const MOST_CHILDREN: usize = 100;

/// `uts`.
#[derive(Debug)]
pub struct TreeSearch;

/// How the mean number of children depends on the depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `-a 2`: `root_children^sin(2 pi depth / period)`, none beyond five periods.
    Cyclic,
    /// `-a 3`: the same down to `period`, none beyond.
    Fixed,
}

/// A forest of trees that differ by their seed.
#[derive(Clone, Copy, Debug)]
pub struct Forest {
    shape: Shape,
    /// `-d`.
    period: u32,
    /// `-b`: the mean number of children of the root.
    root_children: f64,
    /// `-r`: the seed of the first tree; the others follow.
    seed: u32,
    trees: usize,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes, roots included.
    pub nodes: u64,
    /// Nodes without children.
    pub leaves: u64,
    /// The depth of the deepest node.
    pub depth: u32,
}

impl Counts {
    fn and(self, other: Self) -> Self {
        Self { nodes: self.nodes + other.nodes, leaves: self.leaves + other.leaves, depth: self.depth.max(other.depth) }
    }
}

impl Kernel for TreeSearch {
    type Input = Forest;
    type Output = Counts;

    const INFO: Info = Info {
        name: "uts",
        suite: Suite::Uts,
        method: Method::NestedLoops,
        input: "-t 1 -a 2 -d 3 -b 6 -r 502",
        tasks: 1287,
        task_kiloinstructions: 50.0,
    };

    /// A larger scale is more trees, with the seeds 502, 503, ...
    fn input(scale: f64) -> Forest {
        Forest { shape: Shape::Cyclic, period: 3, root_children: 6.0, seed: 502, trees: scaled(1, scale) }
    }

    fn run<P: Pool>(pool: &P, forest: &Forest) -> Counts {
        let tree = |trees: std::ops::Range<usize>| {
            let roots = trees.map(|tree| Node::root(forest.seed + tree as u32));
            roots.map(|root| search(pool, forest, &root)).fold(Counts::default(), Counts::and)
        };
        reduce(pool, 0..forest.trees, 1, &tree, &Counts::and)
    }

    /// The same trees without recursion and without a pool.
    fn check(forest: &Forest, counts: &Counts) -> Result<(), Wrong> {
        let mut stack: Vec<Node> = (0..forest.trees).map(|tree| Node::root(forest.seed + tree as u32)).collect();
        let mut expected = Counts::default();
        while let Some(node) = stack.pop() {
            let children = forest.children(&node);
            let leaves = u64::from(children == 0);
            expected = expected.and(Counts { nodes: 1, leaves, depth: node.depth });
            stack.extend((0..children).map(|child| node.child(child)));
        }
        ensure(*counts == expected, || format!("{counts:?}, expected {expected:?}"))
    }

    fn digest(counts: &Counts) -> u64 {
        digest([counts.nodes, counts.leaves, counts.depth.into()])
    }
}

struct Node {
    state: [u8; 20],
    depth: u32,
}

impl Node {
    fn root(seed: u32) -> Self {
        let state = Sha1::new().chain_update([0; 16]).chain_update(seed.to_be_bytes()).finalize();
        Self { state: state.into(), depth: 0 }
    }

    fn child(&self, number: usize) -> Self {
        let state = Sha1::new().chain_update(self.state).chain_update((number as u32).to_be_bytes()).finalize();
        Self { state: state.into(), depth: self.depth + 1 }
    }

    /// Uniform in `[0, 1)`: 31 bits of the digest.
    fn uniform(&self) -> f64 {
        let [.., a, b, c, d] = self.state;
        f64::from(u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff) / f64::from(1_u32 << 31)
    }
}

impl Forest {
    fn children(&self, node: &Node) -> usize {
        let mean = match self.shape {
            _ if node.depth == 0 => self.root_children,
            Shape::Cyclic if node.depth > 5 * self.period => 0.0,
            Shape::Cyclic => {
                libm::pow(self.root_children, libm::sin(TAU * f64::from(node.depth) / f64::from(self.period)))
            }
            Shape::Fixed if node.depth < self.period => self.root_children,
            Shape::Fixed => 0.0,
        };
        let stop = 1.0 / (1.0 + mean);
        (libm::log(1.0 - node.uniform()) / libm::log(1.0 - stop)).floor().min(MOST_CHILDREN as f64) as usize
    }
}

fn search<P: Pool>(pool: &P, forest: &Forest, node: &Node) -> Counts {
    let children = forest.children(node);
    let below = |numbers: std::ops::Range<usize>| {
        numbers.map(|child| search(pool, forest, &node.child(child))).fold(Counts::default(), Counts::and)
    };
    let here = Counts { nodes: 1, leaves: u64::from(children == 0), depth: node.depth };
    here.and(reduce(pool, 0..children, 1, &below, &Counts::and))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;
    use crate::testing::verify;

    #[test]
    fn the_papers_tree() {
        verify::<TreeSearch>(&TreeSearch::input(3.0));
    }

    /// T1 and T2 of the benchmark's sample trees, as it lists them. Four million digests each: with `EVENKEEL_SLOW` only.
    #[test]
    fn the_sample_trees() {
        if std::env::var_os("EVENKEEL_SLOW").is_none() {
            return;
        }
        let fixed = Forest { shape: Shape::Fixed, period: 10, root_children: 4.0, seed: 19, trees: 1 };
        let counts = TreeSearch::run(&Serial, &fixed);
        assert_eq!(counts, Counts { nodes: 4_130_071, leaves: 3_305_118, depth: 10 });
        let cyclic = Forest { shape: Shape::Cyclic, period: 16, root_children: 6.0, seed: 502, trees: 1 };
        let counts = TreeSearch::run(&Serial, &cyclic);
        assert_eq!(counts, Counts { nodes: 4_117_769, leaves: 2_342_762, depth: 81 });
    }
}

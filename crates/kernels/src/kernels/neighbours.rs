//! k nearest neighbours of every point of the plane, with a k-d tree.
//!
//! The tree is built recursively, by the median along the longer side, both halves at the same time; then each leaf's points
//! search for their neighbours in parallel (Friedman, Bentley and Finkel, ACM TOMS 3, 1977). The paper does not say how many
//! neighbours; 8 here.

use crate::Pool;
use crate::inputs::points::{Point2, in_square};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::tabulate;

/// How many neighbours are searched for.
const NEIGHBOURS: usize = 8;
/// Points of a leaf of the tree.
const LEAF: usize = 8;
/// Subtrees with more points are built by tasks of their own.
const BUILD: usize = 256;
/// Points that one task finds the neighbours of.
const GRAIN: usize = 8;

/// `knn`.
#[derive(Debug)]
pub struct NearestNeighbours;

/// The squared distance and the number of each neighbour, nearest first; infinity where there are fewer.
type Nearest = [(f64, u32); NEIGHBOURS];

enum Tree {
    Leaf(Vec<(Point2, u32)>),
    Split { axis: usize, at: f64, halves: Box<[Tree; 2]> },
}

impl Kernel for NearestNeighbours {
    type Input = Vec<Point2>;
    type Output = Vec<Nearest>;

    const INFO: Info = Info {
        name: "knn",
        suite: Suite::Pbbs,
        method: Method::LoopsAndRecursive,
        input: "2DinCube_5000",
        tasks: 3499,
        task_kiloinstructions: 23.0,
    };

    fn input(scale: f64) -> Vec<Point2> {
        in_square(scaled(5000, scale), 11)
    }

    fn run<P: Pool>(pool: &P, points: &Vec<Point2>) -> Vec<Nearest> {
        let mut numbered: Vec<(Point2, u32)> = points.iter().copied().zip(0..).collect();
        let tree = Tree::build(pool, &mut numbered);
        tabulate(pool, points.len(), GRAIN, |index| {
            let mut nearest = [(f64::INFINITY, u32::MAX); NEIGHBOURS];
            tree.search(points[index], index as u32, &mut nearest);
            nearest
        })
    }

    /// All distances, for 200 of the points.
    fn check(points: &Vec<Point2>, found: &Vec<Nearest>) -> Result<(), Wrong> {
        ensure(found.len() == points.len(), || format!("{} results", found.len()))?;
        for index in (0..points.len()).step_by(points.len().div_ceil(200).max(1)) {
            let others = (0..points.len()).filter(|&other| other != index);
            let mut all: Vec<(f64, u32)> =
                others.map(|other| (squared(points[index], points[other]), other as u32)).collect();
            all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            all.resize(all.len().max(NEIGHBOURS), (f64::INFINITY, u32::MAX));
            ensure(found[index] == all[..NEIGHBOURS], || format!("the neighbours of point {index}"))?;
        }
        Ok(())
    }

    fn digest(found: &Vec<Nearest>) -> u64 {
        digest(found.iter().flatten().map(|&(_, point)| point.into()))
    }
}

fn squared(a: Point2, b: Point2) -> f64 {
    (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])
}

impl Tree {
    fn build<P: Pool>(pool: &P, points: &mut [(Point2, u32)]) -> Self {
        if points.len() <= LEAF {
            return Self::Leaf(points.to_vec());
        }
        let mut sides = [(f64::INFINITY, f64::NEG_INFINITY); 2];
        for (point, _) in &*points {
            for ((low, high), x) in sides.iter_mut().zip(point) {
                (*low, *high) = (low.min(*x), high.max(*x));
            }
        }
        let axis = usize::from(sides[1].1 - sides[1].0 > sides[0].1 - sides[0].0);
        let middle = points.len() / 2;
        let (_, median, _) = points.select_nth_unstable_by(middle, |(a, _), (b, _)| a[axis].total_cmp(&b[axis]));
        let at = median.0[axis];
        let worth_tasks = points.len() > pool.grain(BUILD);
        let (low, high) = points.split_at_mut(middle);
        let (low, high) = if worth_tasks {
            pool.join(|| Self::build(pool, low), || Self::build(pool, high))
        } else {
            (Self::build(pool, low), Self::build(pool, high))
        };
        Self::Split { axis, at, halves: Box::new([low, high]) }
    }

    /// Improves `nearest` by what is in the tree. Of points at the same distance the one with the smaller number is nearer.
    fn search(&self, point: Point2, number: u32, nearest: &mut Nearest) {
        match self {
            Self::Leaf(points) => {
                for &(other, index) in points {
                    let candidate = (squared(point, other), index);
                    if index != number && candidate < nearest[NEIGHBOURS - 1] {
                        let mut place = NEIGHBOURS - 1;
                        while place > 0 && candidate < nearest[place - 1] {
                            nearest[place] = nearest[place - 1];
                            place -= 1;
                        }
                        nearest[place] = candidate;
                    }
                }
            }
            Self::Split { axis, at, halves } => {
                let distance = point[*axis] - at;
                let near = usize::from(distance >= 0.0);
                halves[near].search(point, number, nearest);
                if distance * distance <= nearest[NEIGHBOURS - 1].0 {
                    halves[1 - near].search(point, number, nearest);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn medium_sets() {
        verify::<NearestNeighbours>(&NearestNeighbours::input(0.2));
    }

    proptest! {
        /// Integers, so that many points coincide or are equally far.
        #[test]
        fn any_points(points in prop::collection::vec((-4_i8..4, -4_i8..4), 0..60)) {
            verify::<NearestNeighbours>(&points.into_iter().map(|(x, y)| [x.into(), y.into()]).collect());
        }
    }
}

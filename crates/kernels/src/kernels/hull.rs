//! Convex hull of points in the plane, by quickhull.
//!
//! The point farthest from a line is on the hull, and what lies inside the triangle it makes is not. Both other sides are
//! independent, and each is found by a parallel maximum and filter (Barber, Dobkin and Huhdanpaa, ACM TOMS 22, 1996; in
//! parallel: Blelloch and Little, Journal of Computer and System Sciences 48, 1994).

use std::ops::Range;

use crate::inputs::points::{Point2, kuzmin};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::{gather, reduce};
use crate::{Pool, Serial};

/// Points that one task goes through.
const GRAIN: usize = 1024;

/// `hull`.
#[derive(Debug)]
pub struct ConvexHull;

impl Kernel for ConvexHull {
    type Input = Vec<Point2>;
    /// The numbers of the hull's points, clockwise from the leftmost.
    type Output = Vec<u32>;

    const INFO: Info = Info {
        name: "hull",
        suite: Suite::Pbbs,
        method: Method::Recursive,
        input: "2Dkuzmin_100000",
        tasks: 882,
        task_kiloinstructions: 16.0,
    };

    fn input(scale: f64) -> Vec<Point2> {
        kuzmin(scaled(100_000, scale), 8)
    }

    fn run<P: Pool>(pool: &P, points: &Vec<Point2>) -> Vec<u32> {
        let Some((left, right)) = extremes(pool, points) else {
            return Vec::new();
        };
        if points[left as usize] == points[right as usize] {
            return vec![left];
        }
        let all = points.len();
        let beyond = |a: u32, b: u32| {
            let outside = |point: usize, out: &mut Vec<u32>| {
                if height(points, a, b, point as u32) > 0.0 {
                    out.push(point as u32);
                }
            };
            side(pool, points, &gather(pool, all, GRAIN, outside), a, b)
        };
        let (above, below) = pool.join(|| beyond(left, right), || beyond(right, left));
        [vec![left], above, vec![right], below].concat()
    }

    fn check(points: &Vec<Point2>, hull: &Vec<u32>) -> Result<(), Wrong> {
        ensure(hull.is_empty() == points.is_empty(), || format!("{} corners", hull.len()))?;
        let size = points.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
        let tolerance = 1e-12 * size * size;
        if let &[only] = &hull[..] {
            let same = points.iter().all(|point| *point == points[only as usize]);
            return ensure(same, || "one corner, but different points".into());
        }
        // Each way round has one corner that lies to the right of both corners beside it.
        let at = |corner: usize| points[hull[corner % hull.len()] as usize];
        let right = |corner: &usize| at(*corner) > at(corner + 1) && at(*corner) > at(corner + hull.len() - 1);
        let rightmost: Vec<usize> = (0..hull.len()).filter(right).collect();
        ensure(hull.is_empty() || rightmost.len() == 1, || "it does not go round once".into())?;
        let within = |point: &Point2| at(0) <= *point && *point <= at(rightmost[0]);
        ensure(points.iter().all(within), || "a point is left of the first corner or right of all".into())?;
        for (index, &a) in hull.iter().enumerate() {
            let (b, c) = (hull[(index + 1) % hull.len()], hull[(index + 2) % hull.len()]);
            ensure(hull.len() == 2 || height(points, a, b, c) < 0.0, || format!("no corner at point {b}"))?;
            let outside = (0..points.len() as u32).find(|&point| height(points, a, b, point) > tolerance);
            ensure(outside.is_none(), || format!("point {} is outside", outside.unwrap_or_default()))?;
        }
        Ok(())
    }

    fn digest(hull: &Vec<u32>) -> u64 {
        digest(hull.iter().map(|&point| point.into()))
    }
}

/// Twice the area of the triangle a, b, `point`: positive where `point` is to the left of the way from a to b.
fn height(points: &[Point2], a: u32, b: u32, point: u32) -> f64 {
    let [a, b, point] = [a, b, point].map(|index| points[index as usize]);
    (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])
}

/// The leftmost and the rightmost point; of several the lowest, and the highest.
fn extremes<P: Pool>(pool: &P, points: &[Point2]) -> Option<(u32, u32)> {
    let less = |a: u32, b: u32| (points[a as usize], a) < (points[b as usize], b);
    let leaf = |range: Range<usize>| {
        let mut found: Option<(u32, u32)> = None;
        for point in range.map(|point| point as u32) {
            let (low, high) = found.unwrap_or((point, point));
            found = Some((if less(point, low) { point } else { low }, if less(high, point) { point } else { high }));
        }
        found
    };
    let both = |a: Option<(u32, u32)>, b: Option<(u32, u32)>| match (a, b) {
        (Some((low, high)), Some((lower, higher))) => {
            Some((if less(lower, low) { lower } else { low }, if less(high, higher) { higher } else { high }))
        }
        (one, other) => one.or(other),
    };
    reduce(pool, 0..points.len(), GRAIN, &leaf, &both)
}

/// The corners between a and b, where `outside` are the points to the left of the way from a to b.
fn side<P: Pool>(pool: &P, points: &[Point2], outside: &[u32], a: u32, b: u32) -> Vec<u32> {
    if outside.len() <= 1 {
        return outside.to_vec();
    }
    // Of several on a line parallel to ab an end of that line, since the others are no corners.
    let ends_before = |x: u32, y: u32| (points[x as usize], x) < (points[y as usize], y);
    let farther = |x: (f64, u32), y: (f64, u32)| if y.0 > x.0 || (y.0 == x.0 && ends_before(y.1, x.1)) { y } else { x };
    let farthest = |range: Range<usize>| {
        let heights = outside[range].iter().map(|&point| (height(points, a, b, point), point));
        heights.fold((0.0, u32::MAX), farther)
    };
    let (_, top) = reduce(pool, 0..outside.len(), GRAIN, &farthest, &farther);
    let beyond = |from: u32, to: u32| {
        let outer = gather(pool, outside.len(), GRAIN, |index, out| {
            if height(points, from, to, outside[index]) > 0.0 {
                out.push(outside[index]);
            }
        });
        // Too few to be worth a task.
        if outer.len() <= pool.grain(GRAIN / 8) {
            side(&Serial, points, &outer, from, to)
        } else {
            side(pool, points, &outer, from, to)
        }
    };
    let (before, after) = pool.join(|| beyond(a, top), || beyond(top, b));
    [before, vec![top], after].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::verify;

    #[test]
    fn medium_sets() {
        verify::<ConvexHull>(&ConvexHull::input(0.05));
        verify::<ConvexHull>(&crate::inputs::points::in_square(2000, 1));
    }

    #[test]
    fn a_missing_corner_is_found_out() {
        let square = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]];
        assert_eq!(ConvexHull::run(&Serial, &square), [0, 3, 2, 1]);
        assert!(ConvexHull::check(&square, &vec![0, 3, 2]).is_err());
        assert!(ConvexHull::check(&square, &vec![0, 3, 4, 2, 1]).is_err());
    }

    #[test]
    fn going_round_twice_and_ending_early_are_found_out() {
        let square = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        assert!(ConvexHull::check(&square, &vec![0, 3, 2, 1]).is_ok());
        assert!(ConvexHull::check(&square, &vec![0, 3, 2, 1, 0, 3, 2, 1]).is_err());
        assert!(ConvexHull::check(&square, &vec![3, 2, 1, 0]).is_err(), "it begins at the leftmost");
        let line = vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]];
        assert!(ConvexHull::check(&line, &vec![0, 2]).is_ok());
        assert!(ConvexHull::check(&line, &vec![0, 1]).is_err());
        assert!(ConvexHull::check(&line, &vec![1, 2]).is_err());
    }

    proptest! {
        /// Integers, so that many points lie on one line or coincide.
        #[test]
        fn any_points(points in prop::collection::vec((-4_i8..4, -4_i8..4), 0..60)) {
            verify::<ConvexHull>(&points.into_iter().map(|(x, y)| [x.into(), y.into()]).collect());
        }
    }
}

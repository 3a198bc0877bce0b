//! n bodies that attract each other: all pairs, by leapfrog steps.
//!
//! With the paper's 180 bodies a tree costs more than it saves, so every body sums the attraction of all others; one task is
//! a few bodies (the kick-drift-kick leapfrog: Hockney and Eastwood, "Computer Simulation Using Particles", 1988, 4). The
//! paper does not say how many steps; 10 here.

use crate::Pool;
use crate::inputs::points::{Point3, in_cube};
use crate::kernel::{Info, Kernel, Method, Suite, Wrong, digest, ensure, scaled};
use crate::primitives::fill;

/// Bodies that one task sums the attraction of.
const GRAIN: usize = 4;
const STEPS: usize = 10;
const STEP: f64 = 1e-3;
/// Keeps the attraction of close bodies finite (Plummer softening).
const SOFTENING: f64 = 0.05;
/// By how much of the kinetic energy all energy may change. Masses add up to 1, so no body swings faster than `w = SOFTENING^-1.5`, and leapfrog
/// is off by `(w STEP)^2 / 4 = 0.002` at most.
const DRIFT: f64 = 0.005;
/// By how much of all speeds they may differ from those of the pulls: 0.0065 where bodies are as close as can be, and a tenth a step that is missing.
const MISS: f64 = 0.01;

/// `nbody`; Table III spells it `nboddy`.
#[derive(Debug)]
pub struct NBody;

/// Positions and velocities. Every mass is 1 by the number of bodies, and the constant of gravity is 1.
#[derive(Clone, Debug)]
pub struct Bodies {
    positions: Vec<Point3>,
    velocities: Vec<Point3>,
}

impl Kernel for NBody {
    type Input = Vec<Point3>;
    type Output = Bodies;

    const INFO: Info = Info {
        name: "nbody",
        suite: Suite::Pbbs,
        method: Method::LoopsAndRecursive,
        input: "3DinCube_180",
        tasks: 485,
        task_kiloinstructions: 116.0,
    };

    fn input(scale: f64) -> Vec<Point3> {
        in_cube(scaled(180, scale.sqrt()), 13)
    }

    fn run<P: Pool>(pool: &P, start: &Vec<Point3>) -> Bodies {
        let mut bodies = Bodies { positions: start.clone(), velocities: vec![[0.0; 3]; start.len()] };
        let mut pulls = vec![[0.0; 3]; start.len()];
        attract(pool, &bodies.positions, &mut pulls);
        for _ in 0..STEPS {
            let Bodies { positions, velocities } = &mut bodies;
            for ((position, velocity), pull) in positions.iter_mut().zip(velocities).zip(&pulls) {
                for axis in 0..3 {
                    velocity[axis] += 0.5 * STEP * pull[axis];
                    position[axis] += STEP * velocity[axis];
                }
            }
            attract(pool, &bodies.positions, &mut pulls);
            for (velocity, pull) in bodies.velocities.iter_mut().zip(&pulls) {
                (0..3).for_each(|axis| velocity[axis] += 0.5 * STEP * pull[axis]);
            }
        }
        bodies
    }

    /// Momentum and energy stay what they were, and bodies are as fast as their pulls make them.
    fn check(start: &Vec<Point3>, end: &Bodies) -> Result<(), Wrong> {
        let complete = (end.positions.len(), end.velocities.len()) == (start.len(), start.len());
        ensure(complete, || format!("{} bodies", end.positions.len()))?;
        let (before, moving) = (potential(start), kinetic(&end.velocities));
        let after = moving + potential(&end.positions);
        let bound = DRIFT * moving + 1e-14 * before.abs();
        ensure((after - before).abs() <= bound, || format!("energy {after}, before {before}"))?;
        for axis in 0..3 {
            let momentum = end.velocities.iter().map(|velocity| velocity[axis]).sum::<f64>() / start.len() as f64;
            ensure(momentum.abs() < 1e-12, || format!("momentum {momentum} along axis {axis}"))?;
        }
        // From rest a pull changes with the square of the time: its mean is two thirds of the first one and a third of the last.
        let (first, last) = (pairs(start), pairs(&end.positions));
        let mean = |(first, last): (&f64, &f64)| STEPS as f64 * STEP * (2.0 * first + last) / 3.0;
        let expected: Vec<f64> = first.iter().flatten().zip(last.iter().flatten()).map(mean).collect();
        let squares: f64 = expected.iter().map(|speed| speed * speed).sum();
        let off: f64 =
            end.velocities.iter().flatten().zip(&expected).map(|(found, speed)| (found - speed).powi(2)).sum();
        ensure(off <= MISS * MISS * squares, || format!("{} off the speeds of its pulls", off.sqrt()))
    }

    fn digest(end: &Bodies) -> u64 {
        digest(end.positions.iter().flatten().map(|x| x.to_bits()))
    }
}

fn attract<P: Pool>(pool: &P, positions: &[Point3], pulls: &mut [Point3]) {
    let mass = 1.0 / positions.len() as f64;
    fill(pool, pulls, GRAIN, |body| {
        let here = positions[body];
        let mut pull = [0.0; 3];
        for there in positions {
            let way = [there[0] - here[0], there[1] - here[1], there[2] - here[2]];
            let squared = way[0] * way[0] + way[1] * way[1] + way[2] * way[2] + SOFTENING * SOFTENING;
            // The body itself adds nothing: its way is zero.
            let strength = mass / (squared * squared.sqrt());
            (0..3).for_each(|axis| pull[axis] += strength * way[axis]);
        }
        pull
    });
}

/// Kinetic energy.
fn kinetic(velocities: &[Point3]) -> f64 {
    let mass = 1.0 / velocities.len() as f64;
    velocities.iter().flatten().map(|v| 0.5 * mass * v * v).sum()
}

/// Potential energy.
fn potential(positions: &[Point3]) -> f64 {
    let mass = 1.0 / positions.len() as f64;
    let mut potential = 0.0;
    for (index, a) in positions.iter().enumerate() {
        for b in &positions[..index] {
            potential -= mass * mass / softened(a, b).sqrt();
        }
    }
    potential
}

/// What pulls each body, pair by pair.
fn pairs(positions: &[Point3]) -> Vec<Point3> {
    let mass = 1.0 / positions.len() as f64;
    let mut pulls = vec![[0.0; 3]; positions.len()];
    for (index, a) in positions.iter().enumerate() {
        for (other, b) in positions[..index].iter().enumerate() {
            let squared = softened(a, b);
            for axis in 0..3 {
                let pull = mass * (b[axis] - a[axis]) / (squared * squared.sqrt());
                pulls[index][axis] += pull;
                pulls[other][axis] -= pull;
            }
        }
    }
    pulls
}

/// The square of a distance, with what keeps it above zero.
fn softened(a: &Point3, b: &Point3) -> f64 {
    let squared: f64 = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum();
    squared + SOFTENING * SOFTENING
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Serial;
    use crate::testing::verify;

    #[test]
    fn the_papers_bodies() {
        verify::<NBody>(&NBody::input(1.0));
    }

    #[test]
    fn a_push_is_found_out() {
        let start = NBody::input(0.1);
        let mut end = NBody::run(&Serial, &start);
        end.velocities[0][0] += 1e-6;
        assert!(NBody::check(&start, &end).is_err());
    }

    #[test]
    fn another_time_and_another_force_are_found_out() {
        let start = NBody::input(0.1);
        let pulls = pairs(&start);
        let check = |time: f64, force: f64| {
            let mut end = Bodies { positions: start.clone(), velocities: vec![[0.0; 3]; start.len()] };
            for ((position, velocity), pull) in end.positions.iter_mut().zip(&mut end.velocities).zip(&pulls) {
                for axis in 0..3 {
                    position[axis] += 0.5 * force * time * time * pull[axis];
                    velocity[axis] = force * time * pull[axis];
                }
            }
            NBody::check(&start, &end)
        };
        let time = STEPS as f64 * STEP;
        assert_eq!(check(time, 1.0), Ok(()));
        for (time, force) in [(STEP, 1.0), (time - STEP, 1.0), (-time, 1.0), (time, 2.0), (time, -1.0), (time, 0.0)] {
            assert!(check(time, force).is_err(), "{force} for {time}");
        }
    }

    #[test]
    fn a_body_too_many_is_found_out() {
        let start = NBody::input(0.1);
        let mut end = NBody::run(&Serial, &start);
        end.velocities.push([0.0; 3]);
        assert!(NBody::check(&start, &end).is_err());
    }

    #[test]
    fn bodies_at_one_point_stay_there_and_close_ones_swing() {
        verify::<NBody>(&vec![[0.0; 3]; 2]);
        verify::<NBody>(&vec![[0.0; 3], [0.01, 0.0, 0.0]]);
        verify::<NBody>(&vec![[0.0; 3], [0.0; 3], [0.03, 0.0, 0.02]]);
    }

    proptest! {
        #[test]
        fn any_bodies(bodies in prop::collection::vec((-9_i8..9, -9_i8..9, -9_i8..9), 1..20)) {
            verify::<NBody>(&bodies.into_iter().map(|(x, y, z)| [x.into(), y.into(), z.into()]).collect());
        }
    }
}

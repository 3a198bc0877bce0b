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

    /// Momentum and energy stay what they were, and nothing stands still.
    fn check(start: &Vec<Point3>, end: &Bodies) -> Result<(), Wrong> {
        let at_rest = Bodies { positions: start.clone(), velocities: vec![[0.0; 3]; start.len()] };
        let (before, after) = (energy(&at_rest), energy(end));
        let drift = (after - before).abs() / before.abs().max(f64::MIN_POSITIVE);
        ensure(start.len() < 2 || drift < 1e-3, || format!("energy {after}, before {before}"))?;
        for axis in 0..3 {
            let momentum = end.velocities.iter().map(|velocity| velocity[axis]).sum::<f64>() / start.len() as f64;
            ensure(momentum.abs() < 1e-12, || format!("momentum {momentum} along axis {axis}"))?;
        }
        let moved = end.velocities.iter().filter(|velocity| **velocity != [0.0; 3]).count();
        ensure(start.len() < 2 || moved > 0, || "nothing moves".into())
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

/// Kinetic and potential energy.
fn energy(bodies: &Bodies) -> f64 {
    let mass = 1.0 / bodies.positions.len() as f64;
    let kinetic: f64 = bodies.velocities.iter().flatten().map(|v| 0.5 * mass * v * v).sum();
    let mut potential = 0.0;
    for (index, a) in bodies.positions.iter().enumerate() {
        for b in &bodies.positions[..index] {
            let squared: f64 = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum();
            potential -= mass * mass / (squared + SOFTENING * SOFTENING).sqrt();
        }
    }
    kinetic + potential
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

    proptest! {
        #[test]
        fn any_bodies(bodies in prop::collection::vec((-9_i8..9, -9_i8..9, -9_i8..9), 1..20)) {
            verify::<NBody>(&bodies.into_iter().map(|(x, y, z)| [x.into(), y.into(), z.into()]).collect());
        }
    }
}

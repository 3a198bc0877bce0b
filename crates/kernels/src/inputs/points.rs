//! Points: uniform in a square or a cube, and Kuzmin's disc.

use std::f64::consts::TAU;

use super::Draw;

/// A point of the plane.
pub type Point2 = [f64; 2];
/// A point of space.
pub type Point3 = [f64; 3];

/// `2DinCube`: uniform in the square from -1 to 1.
pub fn in_square(len: usize, seed: u64) -> Vec<Point2> {
    let mut draw = Draw::new(seed);
    (0..len).map(|_| [(); 2].map(|()| draw.between(-1.0, 1.0))).collect()
}

/// `3DinCube`: uniform in the cube from -1 to 1.
pub fn in_cube(len: usize, seed: u64) -> Vec<Point3> {
    let mut draw = Draw::new(seed);
    (0..len).map(|_| [(); 3].map(|()| draw.between(-1.0, 1.0))).collect()
}

/// `2Dkuzmin`: dense in the middle, with a few points far out. The share of points within radius r is
/// `1 - 1 / sqrt(1 + r^2)` (Kuzmin's model of a galaxy: Toomre, Astrophysical Journal 138, 1963).
pub fn kuzmin(len: usize, seed: u64) -> Vec<Point2> {
    let mut draw = Draw::new(seed);
    (0..len)
        .map(|_| {
            let angle = TAU * draw.unit();
            let outside = 1.0 - draw.unit();
            let radius = (1.0 / (outside * outside) - 1.0).sqrt();
            [radius * libm::cos(angle), radius * libm::sin(angle)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_and_the_cube_by_their_moments() {
        let n = 40_000;
        let mut coordinates: Vec<f64> = in_square(n, 1).concat();
        coordinates.extend(in_cube(n, 1).concat());
        let count = coordinates.len() as f64;
        let mean = coordinates.iter().sum::<f64>() / count;
        let variance = coordinates.iter().map(|x| x * x).sum::<f64>() / count;
        assert!(mean.abs() < 0.01 && (variance - 1.0 / 3.0).abs() < 0.01, "{mean} {variance}");
    }

    #[test]
    fn kuzmin_by_its_quantiles() {
        let n = 40_000;
        let mut radii: Vec<f64> = kuzmin(n, 1).iter().map(|[x, y]| x.hypot(*y)).collect();
        radii.sort_by(f64::total_cmp);
        for share in [0.1, 0.5, 0.9, 0.99_f64] {
            let expected = (1.0 / (1.0 - share).powi(2) - 1.0).sqrt();
            let radius = radii[(share * n as f64) as usize];
            assert!((radius / expected - 1.0).abs() < 0.1, "{share}: {radius}, expected {expected}");
        }
        let right = kuzmin(n, 1).iter().filter(|point| point[0] > 0.0).count() as f64 / n as f64;
        assert!((right - 0.5).abs() < 0.01, "{right}");
    }
}

//! How a static parallel loop is split among threads whose cores are not equally fast: what `libevenkeel_omp.so` does in real programs, and the simulator
//! in simulated ones.

mod share;
mod speeds;

pub use share::share;
pub use speeds::{Done, Speeds, alike};

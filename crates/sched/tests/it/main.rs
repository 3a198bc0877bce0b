//! Policies worked out by hand. One binary, so that the crates are linked once.

mod bias;
mod big_little;
mod blame;
mod cfs;
mod colab_figure_1;
mod colab_rules;
mod common;
mod eevdf;
mod forget;
mod pages;
mod protocol;
mod stopped_world;
mod waited;
mod wash_algorithm_1;

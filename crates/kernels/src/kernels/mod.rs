//! One file a kernel. `table.rs` is the hash table of two of them.

pub mod bfs;
pub mod black_scholes;
pub mod cholesky;
pub mod cilksort;
pub mod dictionary;
pub mod duplicates;
pub mod heat;
pub mod hull;
pub mod independent_set;
pub mod knapsack;
pub mod matmul;
pub mod nbody;
pub mod neighbours;
pub mod quicksort;
pub mod radix_sort;
pub mod sample_sort;
pub mod spanning_tree;
pub mod suffix_array;
mod table;
pub mod tree_search;

//! What libbpf-cargo makes of `scx.bpf.c`.
#![allow(unsafe_code, missing_docs, clippy::all, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

include!(concat!(env!("OUT_DIR"), "/scx.skel.rs"));

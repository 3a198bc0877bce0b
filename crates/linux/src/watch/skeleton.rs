//! What libbpf-cargo makes of `watch.bpf.c`.
#![allow(unsafe_code, missing_docs, clippy::all, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

include!(concat!(env!("OUT_DIR"), "/watch.skel.rs"));

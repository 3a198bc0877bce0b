//! What libbpf-cargo makes of `scx.bpf.c` and `inside.bpf.c`.
#![allow(unsafe_code, missing_docs, clippy::all, clippy::undocumented_unsafe_blocks, clippy::unwrap_used)]

include!(concat!(env!("OUT_DIR"), "/scx.skel.rs"));

pub(crate) mod inside {
    include!(concat!(env!("OUT_DIR"), "/inside.skel.rs"));
}

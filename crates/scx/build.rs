//! Compiles the part that runs in the kernel.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

/// The part that does what it is told, and the one that decides by itself.
const PARTS: [&str; 2] = ["scx", "inside"];
/// The headers that the other host's part in the kernel has, too.
const SHARED: &str = "../linux/src/watch";

fn main() {
    for path in ["src/bpf", SHARED] {
        println!("cargo:rerun-if-changed={path}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for part in PARTS {
        SkeletonBuilder::new()
            .source(format!("src/bpf/{part}.bpf.c"))
            .clang_args(["-mcpu=v3", "-Wno-unused-command-line-argument", "-Wno-missing-declarations", "-I", SHARED])
            .build_and_generate(out.join(format!("{part}.skel.rs")))
            .expect("clang compiles the kernel's part; on Debian: apt install clang libelf-dev zlib1g-dev");
    }
}

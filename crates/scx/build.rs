//! Compiles the part that runs in the kernel.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

const SOURCE: &str = "src/bpf/scx.bpf.c";
/// The headers that the other host's part in the kernel has, too.
const SHARED: &str = "../linux/src/watch";

fn main() {
    for path in [SOURCE, "src/bpf/ext.h", SHARED] {
        println!("cargo:rerun-if-changed={path}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    SkeletonBuilder::new()
        .source(SOURCE)
        .clang_args(["-mcpu=v3", "-Wno-unused-command-line-argument", "-Wno-missing-declarations", "-I", SHARED])
        .build_and_generate(out.join("scx.skel.rs"))
        .expect("clang compiles the kernel's part; on Debian: apt install clang libelf-dev zlib1g-dev");
}

//! Compiles the part of `watch` that runs in the kernel.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

const SOURCE: &str = "src/watch/watch.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    for header in ["kernel.h", "calls.h", "waited.h", "running.h", "sharing.h"] {
        println!("cargo:rerun-if-changed=src/watch/{header}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // Lines of the source are noted in what is loaded: the same ones wherever it is compiled.
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let anywhere = format!("-ffile-prefix-map={folder}=/evenkeel");
    SkeletonBuilder::new()
        .source(SOURCE)
        .clang_args(["-mcpu=v3", "-Wno-unused-command-line-argument", "-Wno-missing-declarations", &anywhere])
        .build_and_generate(out.join("watch.skel.rs"))
        .expect("clang compiles the kernel's part; on Debian: apt install clang libelf-dev zlib1g-dev");
}

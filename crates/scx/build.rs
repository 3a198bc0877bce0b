//! Compiles the part that runs in the kernel.

use std::env;
use std::path::PathBuf;

use libbpf_cargo::SkeletonBuilder;

/// The part that does what it is told, and the one that decides by itself.
const PARTS: [&str; 2] = ["scx", "inside"];
/// Its source. `kernel.h`, `calls.h` and `waited.h` are links: the other host's part in the kernel has them, too.
const SOURCE: &str = "src/bpf";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // Lines of the source are noted in what is loaded: the same ones wherever it is compiled.
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let anywhere = format!("-ffile-prefix-map={folder}=/evenkeel");
    for part in PARTS {
        SkeletonBuilder::new()
            .source(format!("{SOURCE}/{part}.bpf.c"))
            .clang_args(["-mcpu=v3", "-Wno-unused-command-line-argument", "-Wno-missing-declarations", &anywhere])
            .build_and_generate(out.join(format!("{part}.skel.rs")))
            .expect("clang compiles the kernel's part; on Debian: apt install clang libelf-dev zlib1g-dev");
    }
}

//! Names the shared library for the linker: programs load the version that they were linked with. `install` makes the links.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let part = |part: &str| env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_default();
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libevenkeel.so.{}.{}", part("MAJOR"), part("MINOR"));
    }
}

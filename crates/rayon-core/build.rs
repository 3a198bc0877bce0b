//! `links` in the manifest, by which cargo keeps a second `rayon-core` out of a program, needs a build script. There is nothing to build.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}

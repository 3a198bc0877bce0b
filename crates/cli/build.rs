//! Packs the pages of the guide, which the command carries for `evenkeel help PAGE`: they are read rarely, and take a third of the space so.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> io::Result<()> {
    // Relative to the crate's folder: one that was compiled elsewhere with the same target folder may run here.
    println!("cargo::rerun-if-changed=docs");
    let out = std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    for folder in ["docs", "docs/policies"].map(Path::new) {
        for page in fs::read_dir(folder)? {
            let page = page?.path();
            let Some(name) = page.file_stem().filter(|_| page.extension().is_some_and(|end| end == "md")) else {
                continue;
            };
            // A folder's first page has the folder's name.
            let name = folder.file_name().filter(|_| name == "README").unwrap_or(name);
            let packed = File::create(Path::new(&out).join(name).with_extension("z"))?;
            let mut packer = ZlibEncoder::new(packed, Compression::best());
            packer.write_all(&fs::read(&page)?)?;
            packer.finish()?;
        }
    }
    Ok(())
}

//! The library that splits loops of OpenMP programs, and what it is told.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result, bail};
use evenkeel_model::{Core, Machine};

/// Its file.
const LIBRARY: &str = "libevenkeel_omp.so";
/// Names another one.
const NAMED: &str = "EVENKEEL_OMP_LIBRARY";
/// What it is to do, for people to say.
const SWITCH: &str = "EVENKEEL_OMP";

/// What a program finds in its environment whose loops are to be split by how fast the cores of this machine are. If the user is to be told, the library
/// says why it leaves some as they are.
pub fn variables(library: &Path, machine: &Machine, cpus: &[u16], tells: bool) -> Vec<(&'static str, OsString)> {
    let capacity = |core: &Core| machine.capacity(core.core_type);
    let cores: Vec<String> =
        machine.cores.iter().zip(cpus).map(|(core, cpu)| format!("{cpu}={}", capacity(core))).collect();
    let mut preload = OsString::from(library);
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let mut variables = vec![("LD_PRELOAD", preload), ("EVENKEEL_OMP_CORES", cores.join(",").into())];
    if tells && env::var_os(SWITCH).is_none_or(|own| own.is_empty()) {
        variables.push((SWITCH, "reasons".into()));
    }
    variables
}

/// Where it is: beside this program, or where packages have it.
pub fn library() -> Result<PathBuf> {
    let library = find()?;
    // Which programs that change their folder find, too.
    let library = path::absolute(&library).with_context(|| format!("cannot find {}", library.display()))?;
    if library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        bail!(
            "{}: the loader takes no path with a space or a colon: put it elsewhere, and name it by {NAMED}",
            library.display()
        );
    }
    Ok(library)
}

fn find() -> Result<PathBuf> {
    if let Some(named) = env::var_os(NAMED).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return if named.is_file() { Ok(named) } else { bail!("{NAMED}: there is no file {}", named.display()) };
    }
    let program = env::current_exe().context("cannot find this program's own file")?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(LIBRARY), folder.join("../lib/evenkeel").join(LIBRARY)];
    if let Some(found) = places.iter().find(|place| place.is_file()) {
        return Ok(found.clone());
    }
    bail!(
        "--openmp needs {LIBRARY}, and there is none in {} or {}: build it (`cargo build --release -p evenkeel-openmp`), \
         and put it there or name it by {NAMED}",
        folder.display(),
        folder.join("../lib/evenkeel").display()
    )
}

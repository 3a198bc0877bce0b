//! Finds a kernel that the guest can run.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::Error;

/// Names a kernel for all commands.
pub const VARIABLE: &str = "EVENKEEL_KERNEL";

/// The kernel to boot: the wanted one, else what `EVENKEEL_KERNEL` names, else the newest that
/// `scripts/kernel` has fetched, else the one that this machine runs.
///
/// # Errors
/// There is none.
pub fn find(wanted: Option<&Path>) -> Result<PathBuf, Error> {
    let named = wanted.map(Path::to_path_buf).or_else(|| env::var_os(VARIABLE).map(PathBuf::from));
    if let Some(path) = named {
        return if path.is_file() { Ok(path) } else { Err(Error::NoSuchKernel(path)) };
    }
    let running = || {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
        Some(PathBuf::from(format!("/boot/vmlinuz-{}", release.trim()))).filter(|path| path.is_file())
    };
    fetched().or_else(running).ok_or(Error::NoKernel)
}

/// Where `scripts/kernel` and `scripts/qemu` keep what they fetch: `$XDG_CACHE_HOME/evenkeel`, or `~/.cache/evenkeel`.
pub(super) fn cache() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    // Without HOME, as services have it, the user's entry in the list of users says where.
    Some(cache.or_else(|| Some(env::home_dir()?.join(".cache")))?.join("evenkeel"))
}

fn fetched() -> Option<PathBuf> {
    images(&cache()?).pop()
}

/// The kernels that `scripts/kernel --others` has fetched, in the order of their names: tests run inside each.
pub fn others() -> Vec<PathBuf> {
    cache().map(|cache| images(&cache.join("kernels"))).unwrap_or_default()
}

fn images(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let image = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"));
    let mut images: Vec<PathBuf> = entries.filter(image).collect();
    images.sort();
    images
}

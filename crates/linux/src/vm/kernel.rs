//! Finds a kernel that the guest can run.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::geteuid;

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

/// Where `scripts/kernel` and `scripts/qemu` keep what they fetch: `$XDG_CACHE_HOME/evenkeel`, or `~/.cache/evenkeel`. For root
/// by `sudo` it is that of the user who called it, if root has fetched nothing.
pub(super) fn cache() -> Option<PathBuf> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    // Without HOME, as services have it, the user's entry in the list of users says where.
    named.map(|named| named.join("evenkeel")).or_else(|| chosen(env::home_dir(), caller))
}

/// The cache in the user's own home, or in that of the caller, if only that one has something.
fn chosen(own: Option<PathBuf>, caller: impl FnOnce() -> Option<PathBuf>) -> Option<PathBuf> {
    let below = |home: PathBuf| home.join(".cache/evenkeel");
    let own = own.map(below);
    if own.as_deref().is_some_and(holds) {
        return own;
    }
    caller().map(below).filter(|cache| holds(cache)).or(own)
}

/// Whether something has been fetched into a cache.
fn holds(cache: &Path) -> bool {
    cache.join("qemu").is_dir() || !images(cache).is_empty()
}

/// The home of the user who called `sudo`, if this is root by it: root runs what that user keeps there. A user who may start
/// this program as root can have it run any other program, too.
fn caller() -> Option<PathBuf> {
    let user = env::var_os("SUDO_UID").filter(|_| geteuid().is_root())?;
    let found = Command::new("getent").arg("passwd").arg(user).output().ok()?;
    home(&String::from_utf8(found.stdout).ok()?)
}

/// The home in an entry of the list of users.
fn home(entry: &str) -> Option<PathBuf> {
    entry.trim_end().split(':').nth(5).filter(|home| home.starts_with('/')).map(PathBuf::from)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_by_sudo_has_the_cache_of_the_caller_unless_it_has_one() {
        let homes = tempfile::tempdir().unwrap();
        let [root, user] = ["root", "user"].map(|name| homes.path().join(name));
        let [own, theirs] = [&root, &user].map(|home| home.join(".cache/evenkeel"));
        let entry = format!("user:x:1000:1000:A user:{}:/bin/sh\n", user.display());
        let found = || chosen(Some(root.clone()), || home(&entry)).unwrap();
        assert_eq!(found(), own, "neither has anything");
        fs::create_dir_all(theirs.join("qemu")).unwrap();
        assert_eq!(found(), theirs);
        assert_eq!(chosen(Some(root.clone()), || home("")).unwrap(), own, "there is no such user");
        fs::create_dir_all(&own).unwrap();
        assert_eq!(found(), theirs, "root's own is empty");
        fs::write(own.join("vmlinuz-7.0"), "").unwrap();
        assert_eq!(found(), own);
    }
}

//! A guest that died on KVM is remembered, so that the next one does not begin there: in a file in the cache folder, for as
//! long as the machine, QEMU and the kernel are the same.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::scratch::boot_id;
use crate::vm::kernel;

/// How a guest died on KVM.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What the kernel of this machine was started as.
    boot: String,
    emulator: Stamp,
    kernel: Stamp,
    /// In QEMU's words.
    pub why: String,
}

/// A file, and what changes when it is replaced.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
struct Stamp {
    path: PathBuf,
    bytes: u64,
    modified_s: i64,
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self { path: path.to_path_buf(), bytes: found.len(), modified_s: found.mtime() })
    }

    fn holds(&self) -> bool {
        Self::of(&self.path).is_ok_and(|now| now == *self)
    }
}

/// The file. All of this is best effort: without it, each guest tries KVM again.
pub struct Memory(Option<PathBuf>);

impl Memory {
    /// The one of this user.
    pub fn here() -> Self {
        Self(kernel::cache().map(|cache| cache.join("kvm-failure.json")))
    }

    /// What is remembered and still holds.
    pub fn read(&self) -> Option<Failure> {
        let failure: Failure = serde_json::from_slice(&fs::read(self.0.as_ref()?).ok()?).ok()?;
        let holds = failure.boot == boot_id() && failure.emulator.holds() && failure.kernel.holds();
        holds.then_some(failure)
    }

    /// Why a guest of this QEMU with this kernel died on KVM, if one did.
    pub fn of(&self, emulator: &Path, kernel: &Path) -> Option<String> {
        let same = |failure: &Failure| failure.emulator.path == emulator && failure.kernel.path == kernel;
        self.read().filter(same).map(|failure| failure.why)
    }

    /// Remembers.
    pub fn write(&self, emulator: &Path, kernel: &Path, why: &str) {
        let (Some(file), Ok(emulator), Ok(kernel)) = (&self.0, Stamp::of(emulator), Stamp::of(kernel)) else { return };
        let failure = Failure { boot: boot_id(), emulator, kernel, why: why.to_owned() };
        let _ = write(file, &failure);
    }

    /// A guest runs on KVM: what was remembered no longer holds.
    pub fn forget(&self) {
        if let Some(file) = &self.0 {
            let _ = fs::remove_file(file);
        }
    }
}

/// Replaces the file in one step: another process reads the old content or the new one.
fn write(file: &Path, failure: &Failure) -> io::Result<()> {
    let folder = file.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut new, failure)?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A memory, an emulator and a kernel in a folder of their own.
    fn setting() -> (tempfile::TempDir, Memory, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let [emulator, kernel] = ["qemu", "vmlinuz"].map(|name| folder.path().join(name));
        fs::write(&emulator, "10.0").unwrap();
        fs::write(&kernel, "7.0").unwrap();
        let memory = Memory(Some(folder.path().join("cache/kvm-failure.json")));
        (folder, memory, emulator, kernel)
    }

    #[test]
    fn a_failure_is_remembered_for_the_same_emulator_kernel_and_boot() {
        let (folder, memory, emulator, kernel) = setting();
        assert_eq!(memory.of(&emulator, &kernel), None);
        memory.write(&emulator, &kernel, "KVM internal error");
        assert_eq!(memory.of(&emulator, &kernel).as_deref(), Some("KVM internal error"));
        let other = folder.path().join("vmlinuz-other");
        fs::write(&other, "7.1").unwrap();
        assert_eq!(memory.of(&emulator, &other), None, "another kernel may work");
        memory.forget();
        assert_eq!(memory.of(&emulator, &kernel), None);
    }

    #[test]
    fn what_changes_is_tried_again() {
        let (_folder, memory, emulator, kernel) = setting();
        memory.write(&emulator, &kernel, "dead");
        fs::write(&emulator, "10.0.1, with another size").unwrap();
        assert_eq!(memory.of(&emulator, &kernel), None, "QEMU was replaced");
        memory.write(&emulator, &kernel, "dead");
        fs::write(&kernel, "7.0.13").unwrap();
        assert_eq!(memory.read(), None, "the kernel was replaced");
        memory.write(&emulator, &kernel, "dead");
        let file = memory.0.as_ref().unwrap();
        fs::write(file, fs::read_to_string(file).unwrap().replace(boot_id().trim(), "an-earlier-boot")).unwrap();
        assert_eq!(memory.read(), None, "the machine was started again");
        fs::write(file, "{").unwrap();
        assert_eq!(memory.read(), None, "a file cut short");
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_no_error() {
        let (folder, _, emulator, kernel) = setting();
        let memory = Memory(Some(folder.path().join("qemu/kvm-failure.json")));
        memory.write(&emulator, &kernel, "dead");
        assert_eq!(memory.of(&emulator, &kernel), None);
        Memory(None).write(&emulator, &kernel, "dead");
    }
}

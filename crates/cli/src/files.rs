//! Reading and writing files, with messages that name them.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// The text of a file.
pub fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

/// Writes a file whole or not at all: under another name in the same folder, then renamed.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let wrong = || format!("cannot write {}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(wrong)?;
    file.write_all(content).with_context(wrong)?;
    readable(file.as_file()).with_context(wrong)?;
    file.persist(path).map_err(|error| error.error).with_context(wrong)?;
    Ok(())
}

/// A temporary file can be read by its owner only; a result should be as readable as any other file.
#[cfg(unix)]
fn readable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_file: &fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.html");
        write(&path, b"first and longer").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_error_names_the_file() {
        let error = write(Path::new("/nowhere/at/all.html"), b"").unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all.html"), "{error}");
    }
}

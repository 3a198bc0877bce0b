//! Control groups: which threads are in one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::event::Tid;

/// Where systems mount them: version 2, alone or beside version 1.
const PLACES: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// The list of a group's threads, in version 2 and 1.
const LISTS: [&str; 2] = ["cgroup.threads", "tasks"];

/// The folder of a group: of a path, or of a name below the place where groups are mounted, as `/proc/PID/cgroup` has it.
pub fn find(name: &str) -> Option<PathBuf> {
    let below = PLACES.map(|place| Path::new(place).join(name.trim_start_matches('/')));
    let is_group = |folder: &PathBuf| LISTS.iter().any(|list| folder.join(list).is_file());
    [PathBuf::from(name)].into_iter().chain(below).filter(|folder| folder.is_absolute()).find(is_group)
}

/// The threads of a group and of all groups in it.
///
/// # Errors
/// The group is gone.
pub fn threads(group: &Path) -> io::Result<Vec<Tid>> {
    let list = LISTS.map(|list| fs::read_to_string(group.join(list)));
    let list = list.into_iter().find(Result::is_ok).ok_or(io::ErrorKind::NotFound)??;
    let mut found: Vec<Tid> =
        list.split_ascii_whitespace().filter_map(|tid| tid.parse().ok()).filter(|tid| *tid > 0).collect();
    for entry in fs::read_dir(group)?.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // One that is gone meanwhile has no threads.
            found.extend(threads(&entry.path()).unwrap_or_default());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files stands for the kernel's, which only root may change.
    #[test]
    fn threads_of_a_group_are_those_of_the_groups_in_it_too() {
        let group = tempfile::tempdir().unwrap();
        fs::create_dir_all(group.path().join("a/b")).unwrap();
        for (folder, tids) in [("", "7\n"), ("a", ""), ("a/b", "8\n9\n")] {
            fs::write(group.path().join(folder).join("cgroup.threads"), tids).unwrap();
        }
        assert_eq!(threads(group.path()).unwrap(), [7, 8, 9]);
        assert_eq!(find(group.path().to_str().unwrap()).as_deref(), Some(group.path()));
        assert_eq!(find(group.path().join("c").to_str().unwrap()), None);
        assert!(threads(&group.path().join("c")).is_err());
    }
}

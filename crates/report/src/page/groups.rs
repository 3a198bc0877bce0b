//! Which threads belong together on a page, and so have one colour.

use super::COLOURS;

/// Groups of threads: programs, or the threads of one program, or those of its threads whose names differ by numbers alone.
pub(super) struct Groups {
    /// What each is called.
    pub names: Vec<String>,
    /// The group of each thread.
    pub of: Vec<usize>,
}

impl Groups {
    /// Of threads, each with its program and its name.
    pub fn of<'a>(threads: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let programs = Self::by(threads.clone().map(|(program, _)| (program, program)));
        if programs.names.len() > 1 {
            return programs;
        }
        let names = threads.map(|(_, name)| name);
        let count = names.clone().count();
        if count <= COLOURS {
            return Self { names: names.map(str::to_owned).collect(), of: (0..count).collect() };
        }
        Self::by(names.map(|name| (kind(name), unnumbered(name))))
    }

    /// Of threads, each with the key of its group and its name. A group has the name that all in it have, else its key.
    fn by<'a>(threads: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut keys: Vec<&str> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let of = threads.map(|(key, name)| {
            let group = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                names.push(name.to_owned());
                names.len() - 1
            });
            if names[group] != name {
                names[group] = key.to_owned();
            }
            group
        });
        let of = of.collect();
        Self { names, of }
    }
}

/// A name without its numbers: `worker` of `worker-3`, `rank` of `rank2`, `ferret` of `ferret 4711` and of `ferret-3 4711`.
pub(super) fn kind(name: &str) -> &str {
    let name = unnumbered(name);
    let stem =
        name.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches(['-', '_', ' ', '.', '#', ':']);
    if stem.is_empty() { name } else { stem }
}

/// A name without the number of its thread, which real threads have behind what they call themselves: `python3` of `python3 4711`.
pub(super) fn unnumbered(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once(' ') {
        Some((own, number)) if !own.is_empty() && is_number(number) => own,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_its_number_is_a_kind() {
        let kinds = [
            ("worker-3", "worker"),
            ("rank2", "rank"),
            ("ferret 4711", "ferret"),
            ("worker-3 4711", "worker"),
            ("GC Thread#2 88", "GC Thread"),
            ("42", "42"),
            ("42 4711", "42"),
            ("main", "main"),
        ];
        for (name, expected) in kinds {
            assert_eq!(kind(name), expected);
        }
    }

    #[test]
    fn threads_are_grouped_by_what_tells_them_apart() {
        let workers: Vec<String> = (0..20).map(|index| format!("worker-{index}")).collect();
        let one = || workers.iter().map(|name| ("app", name.as_str()));
        assert_eq!(Groups::of(one().chain([("app", "main")])).names, ["worker", "main"]);
        assert_eq!(Groups::of(one().take(3)).names, ["worker-0", "worker-1", "worker-2"]);
        let two = Groups::of(one().chain([("other", "main")]));
        assert_eq!((two.names, two.of[19], two.of[20]), (vec!["app".to_owned(), "other".to_owned()], 0, 1));
    }

    #[test]
    fn real_threads_are_grouped_whatever_their_numbers() {
        let names = |name: fn(u32) -> String| {
            let threads: Vec<String> = (0..20).map(|index| format!("{} {}", name(index), 4700 + index)).collect();
            Groups::of(threads.iter().map(|thread| ("app", thread.as_str()))).names
        };
        assert_eq!(names(|index| format!("worker-{index}")), ["worker"]);
        assert_eq!(names(|_| "python3".to_owned()), ["python3"], "the number is none of theirs");
    }
}

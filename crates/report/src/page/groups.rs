//! Which threads belong together on a page, and so have one colour.

use super::COLOURS;

/// Groups of threads: programs, or the threads of one program, or those of its threads whose names differ by a number alone.
pub(super) struct Groups {
    /// What each is called.
    pub names: Vec<String>,
    /// The group of each thread.
    pub of: Vec<usize>,
}

impl Groups {
    /// Of threads, each with its program and its name.
    pub fn of<'a>(threads: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Self {
        let programs = Self::by(threads.clone().map(|(program, _)| program));
        if programs.names.len() > 1 {
            return programs;
        }
        let names = threads.map(|(_, name)| name);
        let count = names.clone().count();
        if count <= COLOURS {
            return Self { names: names.map(str::to_owned).collect(), of: (0..count).collect() };
        }
        Self::by(names.map(kind))
    }

    fn by<'a>(keys: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let of = keys.map(|key| {
            names.iter().position(|name| name == key).unwrap_or_else(|| {
                names.push(key.to_owned());
                names.len() - 1
            })
        });
        let of = of.collect();
        Self { names, of }
    }
}

/// A name without its number: `worker` of `worker-3`, `rank` of `rank2`, `ferret` of `ferret 4711`.
pub(super) fn kind(name: &str) -> &str {
    let stem =
        name.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches(['-', '_', ' ', '.', '#', ':']);
    if stem.is_empty() { name } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_its_number_is_a_kind() {
        let kinds =
            [("worker-3", "worker"), ("rank2", "rank"), ("ferret 4711", "ferret"), ("42", "42"), ("main", "main")];
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
}

//! Names that people type, and the one that they probably meant.

/// The known name that is most like `name`, if one is alike enough to be meant.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name of a megabyte is no typing mistake, and likeness takes quadratic time.
    if name.len() > 64 {
        return None;
    }
    let name = name.to_lowercase();
    let words = |name: &str| name.split(['_', '-', '.']).map(str::to_owned).collect::<Vec<_>>();
    let typed = words(&name);
    // Edits count, and so does having begun to type the right name, or having left out some of its words.
    let likeness = |other: &str| {
        let other = other.to_lowercase();
        let begun = !name.is_empty() && other.starts_with(&name);
        let shortened = typed.len() > 1 && typed.iter().all(|word| words(&other).contains(word));
        strsim::normalized_damerau_levenshtein(&name, &other) + if begun || shortened { 0.3 } else { 0.0 }
    };
    let alike = known.into_iter().map(|other| (likeness(other), other));
    // The first of equals, as lists are in the order in which people know them.
    let best = alike.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    (best.0 >= 0.5).then_some(best.1)
}

/// The end of a message about an unknown name: the nearest known one, or all of them.
pub fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(other) => format!("did you mean {other:?}?"),
        None => format!("known are {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_or_all_of_them() {
        assert_eq!(suggestion("2b3s", ["2B2S", "rk3588"]), r#"did you mean "2B2S"?"#);
        assert_eq!(suggestion("csf", ["cfs", "colab"]), r#"did you mean "cfs"?"#);
        assert_eq!(suggestion("fluid", ["ferret", "fluidanimate"]), r#"did you mean "fluidanimate"?"#);
        assert_eq!(suggestion("cortex-a58", ["cortex-a15", "cortex-a57"]), r#"did you mean "cortex-a57"?"#);
        let costs = ["wake_us", "migrate_in_cluster_us", "migrate_across_clusters_us"];
        assert_eq!(suggestion("migrate_us", costs), r#"did you mean "migrate_in_cluster_us"?"#);
        assert_eq!(suggestion("qqq", ["2B2S", "rk3588"]), "known are 2B2S, rk3588");
    }
}

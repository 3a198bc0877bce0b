//! Names that people type, and the one that they probably meant.

use serde::de::{Deserialize, Deserializer, Error};

use crate::words::short;

/// What is wrong with a name that a file gives, if something is: reports print it, and a terminal obeys control characters.
///
/// # Errors
/// It has control characters.
pub fn printable(name: &str) -> Result<(), String> {
    if name.contains(char::is_control) {
        return Err(format!("{:?}: expected a name without control characters", short(name)));
    }
    Ok(())
}

/// Reads a name, for a field's `deserialize_with`.
///
/// # Errors
/// It is no text, or is not [`printable`].
pub fn name<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    let name = String::deserialize(text)?;
    printable(&name).map_err(D::Error::custom)?;
    Ok(name)
}

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
    fn a_name_has_no_control_characters() {
        assert_eq!(printable("Größe 4, a\u{2019}b"), Ok(()));
        for name in ["a\u{1b}[31m", "a\nb", "\u{7f}", "\u{9b}31m"] {
            assert!(printable(name).unwrap_err().ends_with(": expected a name without control characters"));
        }
        assert!(printable("a\u{1b}b").unwrap_err().starts_with(r#""a\u{1b}b": "#));
    }

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

//! Which setting of a grid is to blame for a mistake, and whether its key or its value is.

use evenkeel_experiment::variation::Setting;
use toml::Value;

use crate::wrong::Spot;

/// The first of some settings that is wrong by itself: one of its keys, or its value in the grid. `why` says what is wrong with a
/// setting alone.
pub fn culprit(kind: &str, settings: &[Setting], why: impl Fn(&Setting) -> Option<String>) -> Option<Spot> {
    let (setting, said) = settings.iter().find_map(|setting| Some((setting, why(setting)?)))?;
    let (path, value) = setting;
    let key = (1..=path.len()).find(|length| {
        let (above, below) = path.split_at(*length);
        names(&said, &above[length - 1])
            && others(above, below, value).iter().all(|other| why(other).as_ref() == Some(&said))
    });
    Some(match key {
        Some(length) => Spot::below(kind, &path[..length]),
        None => Spot::below(kind, path).with(value),
    })
}

/// Settings with other things below a path. A mistake that stays the same is one of the path itself.
fn others(above: &[String], below: &[String], value: &Value) -> Vec<Setting> {
    let values = [Value::Boolean(true), Value::Integer(-1), Value::String("?".into())];
    if below.is_empty() {
        let others = values.into_iter().filter(|other| !other.same_type(value));
        return others.map(|other| (above.to_vec(), other)).collect();
    }
    vec![([above, &["?".to_owned()]].concat(), value.clone())]
}

/// Whether a message speaks of a key.
fn names(message: &str, key: &str) -> bool {
    message.contains(&format!("\"{key}\"")) || message.contains(&format!("`{key}`"))
}

#[cfg(test)]
mod tests {
    use evenkeel_experiment::variation;

    use super::*;

    #[test]
    fn a_key_that_does_not_exist_is_to_blame_and_else_the_value() {
        let spot = |place: &str, value: Value| {
            let why = |setting: &Setting| {
                let error = variation::workload("radix", std::slice::from_ref(setting)).err()?.to_string();
                let begin = variation::with("radix", std::slice::from_ref(setting));
                Some(error.strip_prefix(&begin).unwrap_or(&error).to_owned())
            };
            let path: Vec<String> = place.split('.').map(str::to_owned).collect();
            culprit("workload", &[(path, value)], why)
        };
        let key = |place: &str| Some(Spot::key(std::iter::once("workload").chain(place.split('.'))));
        let value = |place: &str, value: &Value| Some(key(place)?.with(value));
        assert_eq!(spot("program.radix.nn", 1.into()), key("program.radix.nn"));
        assert_eq!(spot("foo", "x".into()), key("foo"));
        // The first key that is unknown, whatever is below it.
        assert_eq!(spot("program.radix.phases.xx.ilp", 1.into()), key("program.radix.phases.xx"));
        for (place, wrong) in [
            ("program", Value::from(5)),
            ("program.radix.n", Value::from("x")),
            ("program.radix.phases", Value::from(1)),
            ("duration", Value::from(5)),
        ] {
            assert_eq!(spot(place, wrong.clone()), value(place, &wrong), "{place}");
        }
        assert_eq!(spot("program.radix.n", 5.into()), None);
    }
}

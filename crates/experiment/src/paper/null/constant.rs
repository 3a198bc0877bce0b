//! The same effect in every row: what a guess without any model would be.

use crate::paper::published::{Published, RowKind};

/// Of fewer numbers than this a constant says nothing but these numbers themselves.
const LEAST_ROWS: usize = 3;

/// What a row's number would be if all published numbers of its kind, the same metric compared in the same way, were the one in their
/// middle. That is a generous guess, for it knows the results. `None` where there are too few to tell.
pub fn constant(row: &Published, all: &[Published]) -> Option<f64> {
    let alike = |other: &&Published| {
        other.kind == RowKind::Result
            && other.metric == row.metric
            && other.compare == row.compare
            && other.baseline.is_some() == row.baseline.is_some()
            && other.bound.is_none()
    };
    let mut numbers: Vec<f64> = all.iter().filter(alike).map(|other| other.published).collect();
    numbers.sort_by(f64::total_cmp);
    (numbers.len() >= LEAST_ROWS).then(|| numbers[numbers.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::file::Experiment;

    #[test]
    fn the_middle_of_what_is_compared_alike() {
        let row = |published: &str, metric: &str, rest: &str| {
            format!(
                "[[row]]\nid = \"r\"\nwhat = \"\"\npublished = {published}\nsource = \"\"\nkind = \"result\"\nmetric = \"{metric}\"\n\
                 policy = \"new\"\nselect = {{ set = \"s\" }}\n{rest}\n"
            )
        };
        let against = "baseline = \"old\"";
        let text = [
            "name = \"x\"\ntitle = \"x\"\npolicies = [\"old\", \"new\"]\nseed = 1\nset = []\n".to_owned(),
            row("-0.1", "time", against),
            row("-0.3", "time", against),
            row("-0.2", "time", against),
            row("-0.9", "time", &format!("{against}\nbound = \"below\"")),
            row("5.0", "time", ""),
            row("0.3", "energy", against),
        ];
        let rows = Experiment::parse(&text.concat()).unwrap().rows;
        let constants: Vec<_> = rows.iter().map(|row| constant(row, &rows)).collect();
        assert_eq!(constants[..3], [Some(-0.2); 3]);
        assert_eq!(constants[3], Some(-0.2), "a limit is judged by it, and does not shift it");
        assert_eq!(constants[4..], [None; 2], "one amount and one energy are too few");
    }
}

//! The figures and tables of a paper that its published numbers come from.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::file::Experiment;
use crate::error::{Error, Result};

/// A figure of a paper, or one of its tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperFigure {
    /// What the sources of rows call it: `Figure 5`.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// How effects are drawn.
    #[serde(default)]
    pub axis: FigureAxis,
    /// Which part of it the rows have, where they do not have all of it.
    pub covers: Option<String>,
}

/// The vertical axis of a figure, as far as it shows effects. Ratios and amounts are drawn as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureAxis {
    /// In percent of the baseline, which is 0.
    #[default]
    Percent,
    /// Over the baseline, which is 1.
    Normalised,
}

/// Makes sure that figures have different names, that each has a row, and that each row's figure is there.
pub(super) fn check(experiment: &Experiment) -> Result<()> {
    let mistake = |text: String| Err(Error::ExperimentFile(text));
    let mut known = BTreeSet::new();
    for figure in &experiment.figures {
        if !known.insert(figure.name.as_str()) {
            return mistake(format!("figure {}: it is there twice", figure.name));
        }
        if !experiment.rows.iter().any(|row| row.figure() == Some(&figure.name)) {
            return mistake(format!("figure {}: it is the source of no row", figure.name));
        }
    }
    for row in &experiment.rows {
        if let Some(name) = row.figure().filter(|name| !known.contains(name)) {
            return mistake(format!("row {}: no [[figure]] has the name {name}, which is its source", row.id));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "name = \"own\"\ntitle = \"\"\npolicies = [\"cfs\"]\nseed = 1\n\
        [[set]]\nname = \"all\"\nmachines = []\nworkloads = []\n";

    fn figure(name: &str) -> String {
        format!("[[figure]]\nname = \"{name}\"\nshows = \"\"\n")
    }

    fn row(source: &str) -> String {
        format!(
            "[[row]]\nid = \"one\"\nwhat = \"\"\npublished = 1.0\nsource = \"{source}\"\nkind = \"result\"\n\
             select = {{ set = \"all\" }}\nmetric = \"time\"\npolicy = \"cfs\"\n"
        )
    }

    fn refused(parts: &[String]) -> String {
        Experiment::parse(&[&[HEAD.to_string()], parts].concat().concat()).unwrap_err().to_string()
    }

    #[test]
    fn figures_and_the_sources_of_rows_fit() {
        let [five, six] = ["Figure 5", "Figure 6"].map(figure);
        let parsed = Experiment::parse(&[HEAD, &five, &row("abstract, 5.3, Figure 5, left")].concat()).unwrap();
        assert_eq!(parsed.rows[0].figure(), Some("Figure 5"));
        let text = Experiment::parse(&[HEAD, &row("5.3; Figure 5 agrees")].concat()).unwrap();
        assert_eq!(text.rows[0].figure(), None, "said in the text");
        assert!(refused(&[five.clone(), five.clone(), row("Figure 5")]).contains("figure Figure 5: it is there twice"));
        assert!(refused(&[five.clone(), six, row("Figure 5")]).contains("figure Figure 6: it is the source of no row"));
        assert!(refused(&[row("8, Table 1")]).contains("row one: no [[figure]] has the name Table 1"));
    }
}

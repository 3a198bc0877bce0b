//! What the measuring programs print: `NAME SECONDS`, `NAME.core NUMBER`, and `NAME.WHAT SECONDS` for further figures.

use std::collections::BTreeMap;

use super::error::Error;
use super::programs;

/// What programs printed, by its name: times in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Output(BTreeMap<String, f64>);

impl Output {
    /// If a name occurs more than once, its last line counts. Other lines are ignored.
    pub fn of(text: &str) -> Self {
        let figure = |line: &str| {
            let (name, seconds) = line.split_once(' ')?;
            let program = name.split_once('.').map_or(name, |(program, _)| program);
            programs::find(program)?;
            let seconds =
                seconds.trim().parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)?;
            Some((name.to_owned(), seconds))
        };
        Self(text.lines().filter_map(figure).collect())
    }

    /// The seconds that a program took.
    pub fn time(&self, program: &str) -> Result<f64, Error> {
        self.get(program).ok_or_else(|| Error::NoTime(program.to_owned()))
    }

    /// The core on which a program began, if it knows.
    pub fn core(&self, program: &str) -> Option<u16> {
        self.figure(program, "core").map(|core| core as u16)
    }

    /// A further figure of a program.
    pub fn figure(&self, program: &str, what: &str) -> Option<f64> {
        self.get(&format!("{program}.{what}"))
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_figure_of_a_program_counts_and_other_lines_do_not() {
        let text = "equal 0.1\nwarning: equal\nother 3.0\nequal 1.25\nlocks -1\nbarrier NaN\nwakeup 0.5\n\
                    wakeup.p99 2.5\nwakeup.p50 x\nequal\nequal.core 3\nbarrier.core -1";
        let output = Output::of(text);
        assert_eq!(output.time("equal").unwrap().to_bits(), 1.25_f64.to_bits());
        assert_eq!((output.figure("wakeup", "p99"), output.figure("wakeup", "p50")), (Some(2.5), None));
        assert_eq!((output.core("equal"), output.core("barrier")), (Some(3), None));
        assert!(output.time("other").is_err() && output.time("locks").is_err() && output.time("barrier").is_err());
    }
}

//! What the measuring programs print: `NAME SECONDS`, `NAME.core NUMBER`, and `NAME.WHAT SECONDS` for further figures; or
//! `NAME.status CODE` if they fail.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::error::Error;

/// What programs printed, by its name: times in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Output(BTreeMap<String, f64>);

impl Output {
    /// If a name occurs more than once, its last line counts. Other lines are ignored.
    pub fn of(text: &str) -> Self {
        let figure = |line: &str| {
            let (name, seconds) = line.split_once(' ')?;
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

    /// A program that failed, and its exit code as shells have it.
    pub fn failed(&self) -> Option<(&str, u8)> {
        self.0.iter().find_map(|(name, code)| Some((name.strip_suffix(".status")?, *code as u8)))
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }
}

/// The last lines of a file, as far as there is one.
pub(super) fn tail(path: &Path) -> String {
    // Assumed: what explains most failures.
    const BYTES: u64 = 4096;
    const LINES: usize = 8;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_figure_of_a_program_counts_and_other_lines_do_not() {
        let text = "equal 0.1\nwarning: equal\nother 3.0\nequal 1.25\nlocks -1\nbarrier NaN\nwakeup 0.5\n\
                    wakeup.p99 2.5\nwakeup.p50 x\nequal\nequal.core 3\nbarrier.core -1\n\
                    xz.status 3";
        let output = Output::of(text);
        assert_eq!(output.time("equal").unwrap().to_bits(), 1.25_f64.to_bits());
        assert_eq!((output.figure("wakeup", "p99"), output.figure("wakeup", "p50")), (Some(2.5), None));
        assert_eq!((output.core("equal"), output.core("barrier")), (Some(3), None));
        assert!(output.time("locks").is_err() && output.time("barrier").is_err() && output.time("warning:").is_err());
        assert_eq!((output.failed(), Output::of("xz 3.0").failed()), (Some(("xz", 3)), None));
    }

    #[test]
    fn of_what_was_written_the_end_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.stderr");
        assert_eq!(tail(&path), "");
        let lines: String = (0..2000).map(|line| format!("line {line}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        assert_eq!(
            tail(&path).lines().collect::<Vec<_>>(),
            (1992..2000).map(|line| format!("line {line}")).collect::<Vec<_>>()
        );
    }
}

//! The format in which people write programs: TOML with the units in the text. `docs/workloads.md` explains it.
//!
//! A file is read once into [`Template`]s; each becomes a [`Program`] for a value of its thread parameter `n`. Work that
//! the file shares out (`share`, `deal`, `loop`) is the same in total for every `n`.

mod amount;
mod error;
mod expr;
mod lower;
mod names;
mod ops;
mod text;

use std::sync::Arc;

use evenkeel_model::Ns;
use evenkeel_model::words::of_toml;
use toml::Spanned;

pub use error::FormatError;
pub use text::Level;

use error::Fault;
use text::{FileText, ProgramText};

use crate::program::{Program, Workload};

/// A workload file.
#[derive(Debug)]
pub struct File {
    /// The workload's name, if the file gives one.
    pub name: Option<String>,
    /// When the run ends, if the file says so.
    pub duration: Option<Ns>,
    /// Whether programs begin again until each has ended once.
    pub rerun: bool,
    /// Its programs, in the order of the file.
    pub programs: Vec<Template>,
}

/// A program of a file, before its thread parameter is known.
#[derive(Debug)]
pub struct Template {
    text: Spanned<ProgramText>,
    source: Source,
}

/// A file and its content, for messages.
#[derive(Clone, Debug)]
struct Source {
    file: Arc<str>,
    text: Arc<str>,
}

/// Reads a workload from the text of a file. `name` is the workload's name if the file gives none; `threads` is the
/// thread parameter `n` of every program that has one.
///
/// # Errors
/// Text that is no TOML, does not follow the format, or describes a program that cannot run.
pub fn load(name: &str, text: &str, file: &str, threads: Option<u32>) -> Result<Workload, FormatError> {
    let parsed = parse(text, file)?;
    if threads.is_some() && parsed.programs.iter().all(|program| program.default_n().is_none()) {
        let message = "no program here takes a thread count: add `n = 4`, its default, to one".to_owned();
        return Err(FormatError { file: file.to_owned(), line: 1, message });
    }
    let instantiate = |program: &Template| program.instantiate(threads.filter(|_| program.default_n().is_some()));
    Ok(Workload {
        name: parsed.name.unwrap_or_else(|| name.to_owned()),
        programs: parsed.programs.iter().map(instantiate).collect::<Result<_, _>>()?,
        duration: parsed.duration,
        rerun: parsed.rerun,
    })
}

/// Reads the text of a file without instantiating its programs.
///
/// # Errors
/// Text that is no TOML or has keys that the format does not know.
pub fn parse(text: &str, file: &str) -> Result<File, FormatError> {
    let source = Source { file: file.into(), text: text.into() };
    let parsed: FileText = toml::from_str(text).map_err(|error| {
        let fault = Fault::new(error.span().unwrap_or(0..0), of_toml(&error, text));
        fault.locate(file, text)
    })?;
    if parsed.program.is_empty() {
        return Err(Fault::new(0..0, "the file has no program: add [[program]]").locate(file, text));
    }
    let duration = parsed
        .duration
        .map(|text| amount::time(text.get_ref()).map_err(|why| Fault::new(text.span(), format!("duration: {why}"))));
    let template = |mut program: Spanned<ProgramText>| {
        parsed.runtime.under(program.get_mut()).map(|()| Template { text: program, source: source.clone() })
    };
    let programs: Result<Vec<Template>, Fault> = parsed.program.into_iter().map(template).collect();
    Ok(File {
        name: parsed.name,
        duration: duration.transpose().map_err(|fault| fault.locate(file, text))?,
        rerun: parsed.rerun,
        programs: programs.map_err(|fault| fault.locate(file, text))?,
    })
}

impl Template {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.text.get_ref().name
    }

    /// The whole file that it is from.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// One line about what it does.
    pub fn description(&self) -> &str {
        &self.text.get_ref().description
    }

    /// Where its numbers come from.
    pub fn source(&self) -> &str {
        &self.text.get_ref().source
    }

    /// How often it synchronises, as the literature classes it.
    pub fn sync_rate(&self) -> Option<Level> {
        self.text.get_ref().sync_rate
    }

    /// How much its threads exchange, as the literature classes it.
    pub fn comm_comp(&self) -> Option<Level> {
        self.text.get_ref().comm_comp
    }

    /// The thread parameter `n` by default; `None` for a program without that parameter.
    pub fn default_n(&self) -> Option<u32> {
        self.text.get_ref().n.as_ref().map(|n| *n.get_ref())
    }

    /// The largest thread parameter, if the program has a limit.
    pub fn max_n(&self) -> Option<u32> {
        self.text.get_ref().max_n.as_ref().map(|n| *n.get_ref())
    }

    /// Whether a phase mostly reads what other threads wrote.
    pub fn exchanges(&self, phase: &str) -> bool {
        self.text.get_ref().phases.get(phase).is_some_and(|phase| phase.get_ref().exchange)
    }

    /// The program for a thread parameter, by default [`Self::default_n`].
    ///
    /// # Errors
    /// A parameter out of range, or a program that the format or [`crate::validate`] refuses.
    pub fn instantiate(&self, n: Option<u32>) -> Result<Program, FormatError> {
        self.build(n).map_err(|fault| fault.locate(&self.source.file, &self.source.text))
    }

    fn build(&self, n: Option<u32>) -> Result<Program, Fault> {
        let text = self.text.get_ref();
        let head = self.head();
        if n.is_some() && text.n.is_none() {
            return Err(Fault::new(head, format!("{} takes no thread count: it has no `n`", text.name)));
        }
        let n = n.or(self.default_n());
        let least = text.min_n.as_ref().map_or(1, |n| *n.get_ref());
        let most = self.max_n().unwrap_or(lower::MOST_THREADS);
        if let Some(n) = n.filter(|n| !(least..=most).contains(n)) {
            return Err(Fault::new(
                head,
                format!("{} takes a thread count from {least} to {most}, not {n}", text.name),
            ));
        }
        let program = lower::lower(text, head.clone(), n)?;
        crate::validate::program(&program).map_err(|problem| Fault::new(head, problem.to_string()))?;
        Ok(program)
    }

    /// Where the program begins in the text.
    fn head(&self) -> std::ops::Range<usize> {
        self.text.span()
    }
}

#[cfg(test)]
mod tests;

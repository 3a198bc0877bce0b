//! The programs that come with Evenkeel: PARSEC and SPLASH-2 programs (COLAB, Table 3), PARSEC programs as an Odroid ran
//! them ("Exploiting Asymmetric Multi-Core Processors with Flexible System Software", Table I), Java programs (WASH,
//! section 7), components of SPEC CPU2006 (bias scheduling, Table 1), static loops of OpenMP programs, and programs made of tasks.

mod census;

use std::sync::LazyLock;

pub use census::{Census, busy_ns, census};

use crate::entry::NameError;
use crate::format::{File, Level, Template};
use crate::program::Program;

/// The suites with their programs. The first two are those of Table 3, in its order.
static SUITES: LazyLock<[(&str, File); 7]> = LazyLock::new(|| {
    [
        ("parsec", bundled(include_str!("../../workloads/parsec.toml"), "workloads/parsec.toml")),
        ("splash2", bundled(include_str!("../../workloads/splash2.toml"), "workloads/splash2.toml")),
        ("odroid-parsec", bundled(include_str!("../../workloads/odroid-parsec.toml"), "workloads/odroid-parsec.toml")),
        ("dacapo", bundled(include_str!("../../workloads/dacapo.toml"), "workloads/dacapo.toml")),
        ("spec2006", bundled(include_str!("../../workloads/spec2006.toml"), "workloads/spec2006.toml")),
        ("spec2006-omp", bundled(include_str!("../../workloads/spec2006-omp.toml"), "workloads/spec2006-omp.toml")),
        ("openmp-loops", bundled(include_str!("../../workloads/openmp-loops.toml"), "workloads/openmp-loops.toml")),
    ]
});

/// Programs made of tasks: classic graphs, and nine PARSEC programs.
static TASKS: LazyLock<[(&str, File); 2]> = LazyLock::new(|| {
    [
        ("task-graphs", bundled(include_str!("../../workloads/task-graphs.toml"), "workloads/task-graphs.toml")),
        ("odroid-tasks", bundled(include_str!("../../workloads/odroid-tasks.toml"), "workloads/odroid-tasks.toml")),
    ]
});

/// A file that is compiled in and that the tests read: a mistake in it is a mistake in this crate.
fn bundled(text: &str, file: &str) -> File {
    crate::format::parse(text, file).unwrap_or_else(|error| panic!("bundled file: {error}"))
}

/// What is known of a program before it is instantiated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramInfo {
    /// The name that commands use.
    pub name: &'static str,
    /// The suite that it is from: the name of its file.
    pub suite: &'static str,
    /// One line for people.
    pub description: &'static str,
    /// Where its numbers come from.
    pub source: &'static str,
    /// How often it synchronises (Table 3).
    pub sync_rate: Option<Level>,
    /// How much it communicates for what it computes (Table 3).
    pub comm_comp: Option<Level>,
    /// Its thread parameter `n` when it runs alone, as in COLAB's Figure 4. Pipelines and programs with a main thread
    /// have more threads than that.
    pub default_threads: u32,
    /// The largest thread parameter, if it has a limit.
    pub max_threads: Option<u32>,
}

type Entry = (&'static str, &'static Template);

fn entries(suites: &'static [(&str, File)]) -> impl Iterator<Item = Entry> {
    suites.iter().flat_map(|(suite, file)| file.programs.iter().map(|program| (*suite, program)))
}

/// The programs of COLAB's Table 3, in its order. Predictors learn from them.
pub fn table_3() -> impl Iterator<Item = ProgramInfo> {
    programs().filter(|program| matches!(program.suite, "parsec" | "splash2"))
}

/// The programs of all suites, but for those made of tasks.
pub fn programs() -> impl Iterator<Item = ProgramInfo> {
    entries(&*SUITES).map(info)
}

/// The programs made of tasks.
pub fn task_programs() -> impl Iterator<Item = ProgramInfo> {
    entries(&*TASKS).map(info)
}

fn info((suite, template): Entry) -> ProgramInfo {
    ProgramInfo {
        name: template.name(),
        suite,
        description: template.description(),
        source: template.source(),
        sync_rate: template.sync_rate(),
        comm_comp: template.comm_comp(),
        default_threads: template.default_n().unwrap_or(1),
        max_threads: template.max_n(),
    }
}

/// A program that comes with Evenkeel, with a thread parameter, by default [`ProgramInfo::default_threads`].
///
/// # Errors
/// An unknown name (with the nearest one), or a thread parameter that the program does not take.
pub fn program(name: &str, threads: Option<u32>) -> Result<Program, NameError> {
    Ok(template(name)?.instantiate(threads)?)
}

/// What a program of the suite amounts to with a thread parameter.
///
/// # Errors
/// As [`program`].
pub fn totals(name: &str, threads: Option<u32>) -> Result<Census, NameError> {
    let template = template(name)?;
    Ok(census(&template.instantiate(threads)?, |phase| template.exchanges(phase)))
}

/// The file that a program comes from, without the others.
///
/// # Errors
/// An unknown name, with the nearest one.
pub fn document(name: &str) -> Result<toml::Table, NameError> {
    let text = template(name)?.text();
    let mut document: toml::Table = text.parse().unwrap_or_default();
    if let Some(toml::Value::Array(programs)) = document.get_mut("program") {
        programs.retain(|program| program.get("name").and_then(toml::Value::as_str) == Some(name));
    }
    Ok(document)
}

fn template(name: &str) -> Result<&'static Template, NameError> {
    let templates = || entries(&*SUITES).chain(entries(&*TASKS)).map(|(_, template)| template);
    let known = || templates().map(Template::name);
    templates().find(|template| template.name() == name).ok_or_else(|| NameError::unknown("program", name, known()))
}

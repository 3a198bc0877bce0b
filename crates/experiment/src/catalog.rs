//! Names become machines, workloads and policies. What has a slash or the ending of a file is a path; any other name is that of
//! something bundled.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use evenkeel_model::{Machine, machines as bundled, names};
use evenkeel_sched::{Setup, policy};
use evenkeel_topology::Topology;
use evenkeel_workload::recording::Recording;
use evenkeel_workload::{Workload, format, rtapp, validate};

use crate::error::{Error, Result};

/// A machine, and what is worth knowing about how it was found.
#[derive(Clone, Debug)]
pub struct FoundMachine {
    /// The machine.
    pub machine: Machine,
    /// Sentences about a description by another tool: sources that contradict each other, what was assumed.
    pub notes: Vec<String>,
}

impl From<Machine> for FoundMachine {
    fn from(machine: Machine) -> Self {
        Self { machine, notes: Vec::new() }
    }
}

/// A workload, and what is worth knowing about how it was found.
#[derive(Clone, Debug)]
pub struct FoundWorkload {
    /// The workload.
    pub workload: Workload,
    /// What the importer could not carry over, a sentence each.
    pub warnings: Vec<String>,
    /// The machine that it was recorded on, if it is a recording that says so.
    pub recorded_on: Option<Machine>,
}

impl From<Workload> for FoundWorkload {
    fn from(workload: Workload) -> Self {
        Self { workload, warnings: Vec::new(), recorded_on: None }
    }
}

/// A machine by its name, or from a file: Evenkeel's own (`.toml`), hwloc's (`.xml`) or a devicetree (`.dtb`). With only so
/// many of its big and other cores: `odroid-xu3:2+2`.
///
/// # Errors
/// There is no such machine, or its file has a mistake.
pub fn machine(name: &str) -> Result<FoundMachine> {
    if let Some((whole, big, little)) = part(name) {
        let FoundMachine { machine, notes } = machine(whole)?;
        let machine = machine
            .with_cores(big, little)
            .map_err(|why| Error::Machine { name: name.to_owned(), why: why.to_string() })?;
        return Ok(FoundMachine { machine, notes });
    }
    if is_path(name) {
        return machine_file(name);
    }
    if let Some((whole, ratio)) = name.rsplit_once(':')
        && ratio.parse::<f64>().is_ok()
        && bundled_machine(whole).is_ok()
    {
        let why = format!(
            "core types say how much faster one is, so a ratio is for `vm` and `emulate` only: expected {whole}, or with \
             fewer cores {whole}:1+1"
        );
        return Err(Error::Machine { name: name.to_owned(), why });
    }
    // A file that has no known ending, but is there, is what was meant by a name that nothing else has.
    bundled_machine(name).map(Into::into).or_else(|unknown| if there(name) { machine_file(name) } else { Err(unknown) })
}

/// Every bundled machine.
///
/// # Errors
/// A file of a bundled machine has a mistake.
pub fn all_machines() -> Result<Vec<Machine>> {
    bundled::names().map(bundled_machine).collect()
}

/// A workload by its name, or from a file: rt-app's (`.json`), Evenkeel's own (`.toml`) or a recording (`.ek`).
///
/// # Errors
/// There is no such workload, or its file has a mistake.
pub fn workload(name: &str) -> Result<FoundWorkload> {
    if is_path(name) {
        return workload_file(name);
    }
    match evenkeel_workload::by_name(name) {
        Err(_) if there(name) => workload_file(name),
        found => Ok(found?.into()),
    }
}

/// A policy by its name, with its knobs.
///
/// # Errors
/// There is no such policy, or it has no such knob.
pub fn policy(name: &str) -> Result<Setup> {
    Ok(Setup::parse(name)?)
}

/// Makes sure that a policy can schedule a machine.
///
/// # Errors
/// The policy refuses it, and says why.
pub fn accepted(policy: &Setup, machine: &Machine) -> Result<()> {
    policy::check(policy.make().as_ref(), machine).map_err(Error::Refused)
}

/// Makes sure that a workload can run on a machine.
///
/// # Errors
/// It needs something that the machine lacks, such as a core.
pub fn fits(workload: &Workload, machine: &Machine) -> Result<()> {
    evenkeel_sim::check(machine, workload).map_err(Error::Unfit)
}

/// Names in the order given, without repetitions.
pub fn once<S: AsRef<str>>(names: &[S]) -> impl Iterator<Item = &str> {
    let first = |position: usize, name: &str| names.iter().position(|other| other.as_ref() == name) == Some(position);
    let names = names.iter().map(AsRef::as_ref).enumerate();
    names.filter(move |(position, name)| first(*position, name)).map(|(_, name)| name)
}

/// The error for a name that does not exist: with the nearest one, if one is near, or with all.
pub fn unknown<'a>(kind: &'static str, name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Error {
    Error::Unknown { kind, name: name.to_owned(), hint: names::suggestion(name, known) }
}

/// The text of a file.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &str) -> Result<String> {
    bounded(path).map_err(|source| Error::Unreadable { path: path.into(), source })
}

/// More than this is read of no file; of a device or a pipe, whose size is not known before, a part of that.
const MOST: u64 = 1 << 30;
const MOST_OF_A_STREAM: u64 = MOST / 16;

/// The text of a file, a device or a pipe, up to a bound.
fn bounded(path: &str) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    let most = if about.is_file() { MOST } else { MOST_OF_A_STREAM };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {} MiB", most >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let before = String::from_utf8_lossy(before);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
        io::Error::other(format!("it is no text (UTF-8) at line {line}, column {column}"))
    })
}

/// `MACHINE:BIG+LITTLE`, taken apart.
pub(crate) fn part(name: &str) -> Option<(&str, usize, usize)> {
    let (whole, counts) = name.rsplit_once(':')?;
    let (big, little) = counts.split_once('+')?;
    Some((whole, big.parse().ok()?, little.parse().ok()?))
}

/// Whether a name is meant as a path: no bundled name has a slash or one of these endings.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains(std::path::is_separator)
        || [".toml", ".json", ".ek", ".xml", ".dtb"].iter().any(|ending| name.ends_with(ending))
}

/// Whether a workload's name means a file: it looks like a path, or nothing else has that name.
pub(crate) fn is_file(name: &str) -> bool {
    is_path(name) || (evenkeel_workload::by_name(name).is_err() && there(name))
}

fn there(path: &str) -> bool {
    Path::new(path).exists()
}

fn bundled_machine(name: &str) -> Result<Machine> {
    Ok(bundled::by_name(name)?)
}

fn machine_file(path: &str) -> Result<FoundMachine> {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    if matches!(ending, Some("xml" | "dtb")) {
        return described_machine(path);
    }
    Ok(Machine::from_toml(&read(path)?, path)?.into())
}

/// A machine as another tool describes it.
fn described_machine(path: &str) -> Result<FoundMachine> {
    // What is wrong with the file names it already.
    let topology = Topology::from_file(Path::new(path)).map_err(Error::File)?;
    let notes = topology.notes.iter().map(|note| format!("{path}: {note}")).collect();
    let machine = topology.machine(&stem(path));
    let (machine, _) = machine.map_err(|why| Error::Machine { name: path.to_owned(), why })?;
    Ok(FoundMachine { machine, notes })
}

fn stem(path: &str) -> Cow<'_, str> {
    Path::new(path).file_stem().map_or(path.into(), |stem| stem.to_string_lossy())
}

fn workload_file(path: &str) -> Result<FoundWorkload> {
    let text = read(path)?;
    let stem = stem(path);
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    let stream = fs::metadata(path).is_ok_and(|about| !about.is_file());
    let found = match ending.or_else(|| stream.then(|| kind_of(&text))) {
        Some("json") => rt_app(path, &text)?,
        Some("toml") => format::load(&stem, &text, path, None).map_err(invalid)?.into(),
        Some("ek") => return recording(path, &stem, &Recording::from_text(&text, path).map_err(invalid)?),
        _ => {
            let expected = "expected an rt-app file (.json), a native workload (.toml) or a recording (.ek)";
            return Err(Error::File(format!("{path}: {expected}")));
        }
    };
    valid(path, found)
}

/// What can be played.
fn valid(path: &str, found: FoundWorkload) -> Result<FoundWorkload> {
    validate::workload(&found.workload).map_err(|problem| Error::File(format!("{path}: {problem}")))?;
    Ok(found)
}

/// What a pipe has to say, whose name has no ending: the ending of a file that begins so.
fn kind_of(text: &str) -> &'static str {
    let text = text.trim_start();
    match text.strip_prefix('{').map(str::trim_start) {
        Some(first) if first.starts_with("\"evenkeel\"") => "ek",
        Some(_) => "json",
        None => "toml",
    }
}

/// A mistake that names its file.
fn invalid(mistake: impl std::error::Error) -> Error {
    Error::File(mistake.to_string())
}

fn rt_app(path: &str, text: &str) -> Result<FoundWorkload> {
    let rtapp::Imported { workload, warnings } = rtapp::load(path, text).map_err(invalid)?;
    Ok(FoundWorkload { warnings: warnings.iter().map(ToString::to_string).collect(), ..workload.into() })
}

/// What was recorded, as a workload of that name. `path` stands in messages; nothing is opened.
///
/// # Errors
/// It states a machine that is none, or cannot be played.
pub fn recording(path: &str, name: &str, recording: &Recording) -> Result<FoundWorkload> {
    let machine = recording.machine.as_ref().map(|text| Machine::from_toml(text, &format!("{path}, machine")));
    let mut recorded_on = machine.transpose()?;
    if let (Some(machine), Some(wake)) = (&mut recorded_on, recording.wake) {
        machine.costs.wake = wake;
    }
    let warnings = recording.notes.iter().map(|note| format!("{path}: {}", one_line(note))).collect();
    let workload = recording.workload(name, recorded_on.as_ref());
    valid(path, FoundWorkload { workload, warnings, recorded_on })
}

/// What a file says, so that it cannot be taken for what this program says: without line breaks and codes for the terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_gets_its_nearest_neighbour_or_all_names() {
        let message = |name| unknown("experiment", name, ["colab", "wash"]).to_string();
        assert_eq!(message("colba"), "unknown experiment \"colba\": did you mean \"colab\"?");
        assert_eq!(message("zzz"), "unknown experiment \"zzz\": known are colab, wash");
    }

    #[test]
    fn a_part_of_a_machine_is_named_by_counts_of_cores() {
        assert_eq!(part("odroid-xu3:2+0"), Some(("odroid-xu3", 2, 0)));
        assert_eq!(part("./m.toml:4+4"), Some(("./m.toml", 4, 4)));
        assert_eq!([part("2B2S:3"), part("2B2S"), part("2B2S:+1"), part("2B2S:1+-1")], [None; 4]);
        let error = machine("odroid-xu3:5+0").unwrap_err().to_string();
        assert_eq!(error, "odroid-xu3:5+0: odroid-xu3 has 4 big and 4 little cores, of which some must stay");
        assert!(machine("2B2S:3").unwrap_err().to_string().contains("a ratio is for `vm` and `emulate` only"));
    }

    #[test]
    fn paths_are_told_from_names() {
        assert!(is_path("./x") && is_path("browser.json") && is_path("/m.toml") && is_path("app.ek"));
        assert!(!is_path("ferret:8") && !is_path("Sync-2"));
    }

    #[test]
    fn what_is_no_text_is_said_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.toml");
        for (bytes, place) in [
            (&b"\xff"[..], "line 1, column 1"),
            (b"\n\xff", "line 2, column 1"),
            (b"a\n\xc3\xa4b\xff\n", "line 2, column 3"),
        ] {
            fs::write(&path, bytes).unwrap();
            let Err(Error::Unreadable { source, .. }) = read(path.to_str().unwrap()) else { panic!("{bytes:?}") };
            assert_eq!(source.to_string(), format!("it is no text (UTF-8) at {place}"));
        }
    }

    #[test]
    fn a_name_counts_once_where_it_stands_first() {
        assert_eq!(once(&["b", "a", "b"]).collect::<Vec<_>>(), ["b", "a"]);
    }
}

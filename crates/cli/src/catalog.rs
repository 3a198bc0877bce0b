//! Names on the command line become machines, workloads and policies.

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use evenkeel_model::{Machine, Ns, machines as bundled, names};
use evenkeel_sched::{Setup, policy};
use evenkeel_topology::Topology;
use evenkeel_workload::recording::Recording;
use evenkeel_workload::{Workload, format, rtapp, validate};

use crate::{files, messages};

/// A machine by its name, or from a file; with only so many of its big and other cores: `odroid-xu3:2+2`.
pub fn machine(name: &str) -> Result<Machine> {
    if let Some((whole, big, little)) = part(name) {
        return machine(whole)?.with_cores(big, little).map_err(|why| anyhow!("{name}: {why}"));
    }
    if is_path(name) { machine_file(name) } else { bundled_machine(name) }
}

/// `MACHINE:BIG+LITTLE`, taken apart.
fn part(name: &str) -> Option<(&str, usize, usize)> {
    let (whole, counts) = name.rsplit_once(':')?;
    let (big, little) = counts.split_once('+')?;
    Some((whole, big.parse().ok()?, little.parse().ok()?))
}

/// A workload and what its importer warns about.
pub struct Imported {
    /// The workload.
    pub workload: Workload,
    /// What the importer could not carry over, a sentence each.
    pub warnings: Vec<String>,
    /// The machine that it was recorded on, if it is a recording that says so.
    pub recorded_on: Option<Machine>,
    /// How long the recorded run took, if it is a recording.
    pub recorded: Option<Ns>,
}

impl Imported {
    fn new(workload: Workload) -> Self {
        Self { workload, warnings: Vec::new(), recorded_on: None, recorded: None }
    }
}

/// A workload by its name, or from a file.
pub fn workload(name: &str) -> Result<Imported> {
    if is_path(name) { workload_file(name) } else { bundled_workload(name) }
}

/// Workloads by their names, each once. Warnings go to standard error.
pub fn workloads<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Workload>> {
    let mut seen: Vec<&str> = Vec::new();
    let mut workloads = Vec::new();
    for name in names {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let imported = workload(name)?;
        imported.warnings.iter().for_each(messages::warning);
        workloads.push(imported.workload);
    }
    Ok(workloads)
}

/// Machines by their names, each once.
pub fn machines(names: &[String]) -> Result<Vec<Machine>> {
    once(names).map(machine).collect()
}

/// Policies by their names, each once.
pub fn policies(names: &[String]) -> Result<Vec<Setup>> {
    once(names).map(policy).collect()
}

/// A policy by its name, with its knobs.
pub fn policy(name: &str) -> Result<Setup> {
    Setup::parse(name).context("`evenkeel policies` lists what there is")
}

/// A policy that can schedule real programs.
pub fn live_policy(name: &str) -> Result<Setup> {
    let setup = policy(name)?;
    if setup.make().foresight() {
        let simulate = "use it with `evenkeel sim` and `evenkeel compare`, and colab or pfs here";
        bail!("policy {} must know the future, which only the simulator can tell: {simulate}", setup.info().name);
    }
    Ok(setup)
}

/// Makes sure that a policy can schedule a machine.
pub fn accepted(policy: &Setup, machine: &Machine) -> Result<()> {
    policy::check(policy.make().as_ref(), machine).map_err(anyhow::Error::msg)
}

/// The error for a name that does not exist: with the nearest one if there is one near, and where to find all.
pub fn unknown<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    list: Option<&str>,
) -> anyhow::Error {
    let known: Vec<&str> = known.into_iter().collect();
    let suggestion = names::nearest(name, known.iter().copied())
        .map(|near| format!(": did you mean \"{near}\"?"))
        .unwrap_or_default();
    let all = match list {
        Some(command) => format!("`{command}` lists all"),
        None => format!("there is: {}", known.join(", ")),
    };
    let separator = if suggestion.is_empty() { "; " } else { " " };
    anyhow!("unknown {kind} \"{name}\"{suggestion}{separator}{all}")
}

/// Names in the order given, without repetitions.
fn once(names: &[String]) -> impl Iterator<Item = &str> {
    let first = |position: usize, name: &String| names.iter().position(|other| other == name) == Some(position);
    names.iter().enumerate().filter(move |(position, name)| first(*position, name)).map(|(_, name)| name.as_str())
}

/// Whether a name is meant as a path: no bundled name has a slash or one of these endings.
fn is_path(name: &str) -> bool {
    name.contains(std::path::is_separator)
        || [".toml", ".json", ".ek", ".xml", ".dtb"].iter().any(|ending| name.ends_with(ending))
}

fn bundled_machine(name: &str) -> Result<Machine> {
    Ok(bundled::by_name(name)?)
}

fn machine_file(path: &str) -> Result<Machine> {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    if matches!(ending, Some("xml" | "dtb")) {
        return described_machine(path);
    }
    Ok(Machine::from_toml(&files::read(path)?, path)?)
}

/// A machine as another tool describes it.
fn described_machine(path: &str) -> Result<Machine> {
    let topology = Topology::from_file(Path::new(path)).map_err(anyhow::Error::msg)?;
    topology.notes.iter().for_each(|note| messages::note(format_args!("{path}: {note}")));
    let (machine, _) = topology.machine(&stem(path)).map_err(|error| anyhow!("{path}: {error}"))?;
    Ok(machine)
}

fn stem(path: &str) -> Cow<'_, str> {
    Path::new(path).file_stem().map_or(path.into(), |stem| stem.to_string_lossy())
}

fn bundled_workload(name: &str) -> Result<Imported> {
    Ok(Imported::new(evenkeel_workload::by_name(name)?))
}

fn workload_file(path: &str) -> Result<Imported> {
    let text = files::read(path)?;
    let stem = stem(path);
    let imported = match Path::new(path).extension().and_then(|ending| ending.to_str()) {
        Some("json") => rt_app(path, &text)?,
        Some("toml") => Imported::new(format::load(&stem, &text, path, None)?),
        Some("ek") => recording(path, &stem, &text)?,
        _ => bail!("{path}: expected an rt-app file (.json), a native workload (.toml) or a recording (.ek)"),
    };
    validate::workload(&imported.workload).with_context(|| path.to_string())?;
    Ok(imported)
}

fn rt_app(path: &str, text: &str) -> Result<Imported> {
    let rtapp::Imported { workload, warnings } = rtapp::load(path, text)?;
    Ok(Imported { warnings: warnings.iter().map(ToString::to_string).collect(), ..Imported::new(workload) })
}

fn recording(path: &str, stem: &str, text: &str) -> Result<Imported> {
    let recording = Recording::from_text(text, path)?;
    let machine = recording.machine.as_ref().map(|text| Machine::from_toml(text, &format!("{path}, machine")));
    let mut recorded_on = machine.transpose()?;
    if let (Some(machine), Some(wake)) = (&mut recorded_on, recording.wake) {
        machine.costs.wake = wake;
    }
    let warnings = recording.notes.iter().map(|note| format!("{path}: {}", one_line(note))).collect();
    let workload = recording.workload(stem, recorded_on.as_ref());
    Ok(Imported { workload, warnings, recorded_on, recorded: Some(recording.makespan) })
}

/// Every bundled machine.
pub fn all_machines() -> Result<Vec<Machine>> {
    bundled::names().map(bundled_machine).collect()
}

/// What a file says, so that it cannot look like what this program says: without line breaks and codes for the terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_gets_its_nearest_neighbour_if_it_is_near() {
        let message =
            |name| unknown("machine", name, ["2B2S", "4B4S", "odroid-xu3"], Some("evenkeel machines")).to_string();
        assert_eq!(message("2b3s"), "unknown machine \"2b3s\": did you mean \"2B2S\"? `evenkeel machines` lists all");
        assert_eq!(message("zzz"), "unknown machine \"zzz\"; `evenkeel machines` lists all");
        assert_eq!(
            message("odroid-xu4"),
            "unknown machine \"odroid-xu4\": did you mean \"odroid-xu3\"? `evenkeel machines` lists all"
        );
    }

    #[test]
    fn a_part_of_a_machine_is_asked_for_by_counts_of_cores() {
        assert_eq!(part("odroid-xu3:2+0"), Some(("odroid-xu3", 2, 0)));
        assert_eq!(part("./m.toml:4+4"), Some(("./m.toml", 4, 4)));
        assert_eq!([part("2B2S:3"), part("2B2S"), part("2B2S:+1"), part("2B2S:1+-1")], [None; 4]);
        let error = machine("odroid-xu3:5+0").unwrap_err().to_string();
        assert_eq!(error, "odroid-xu3:5+0: odroid-xu3 has 4 big and 4 little cores, of which some must stay");
    }

    #[test]
    fn paths_are_told_from_names() {
        assert!(is_path("./x") && is_path("browser.json") && is_path("/m.toml") && is_path("app.ek"));
        assert!(!is_path("ferret:8") && !is_path("Sync-2"));
    }
}

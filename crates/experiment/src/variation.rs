//! Machines and workloads with other values than their files have: what a study varies. A value is named by its place in the
//! file, such as `costs.tick_us` or `program.ferret.phases.rank.ilp`.

use evenkeel_model::names::suggestion;
use evenkeel_model::words::{LARGE, number, plain};
use evenkeel_model::{Machine, Ns, machines, tree};
use evenkeel_sched::Governor;
use evenkeel_workload::program::{MainThread, Program, ReadyQueue};
use evenkeel_workload::{Workload, format, suite, validate};
use serde::Deserialize;
use toml::{Table, Value};

use crate::catalog;
use crate::error::{Error, Result};
use crate::plan::{Beside, Conditions};

/// A value and its place.
pub type Setting = (Vec<String>, Value);

/// `costs.tick_us`.
pub fn place(path: &[String]) -> String {
    path.join(".")
}

/// Whether a place has a meaning on a machine: a cluster or a core type that others have may be missing there.
///
/// # Errors
/// As [`machine`].
pub fn machine_has(name: &str, path: &[String]) -> Result<bool> {
    if is_described(name) {
        return catalog::machine(name).map(|_| false);
    }
    let MachineText { text, file, .. } = MachineText::of(name)?;
    // With its lines, if it has a mistake.
    Machine::from_toml(&text, &file)?;
    let document: Table = text.parse().unwrap_or_default();
    Ok(machines::has(&document, path))
}

/// A machine by its name, as [`catalog::machine`] has it, or of a machine file (`.toml`), with other values.
///
/// # Errors
/// There is no such machine, its description is no machine file, or the values do not fit it.
pub fn machine(name: &str, settings: &[Setting]) -> Result<Machine> {
    if settings.is_empty() {
        return Ok(catalog::machine(name)?.machine);
    }
    let MachineText { text, file, part } = MachineText::of(name)?;
    let machine = machines::varied(&text, &file, settings)
        .map_err(|error| Error::Machine { name: with(name, settings), why: once(settings, error.message) })?;
    match part {
        None => Ok(machine),
        Some((big, little)) => machine
            .with_cores(big, little)
            .map_err(|why| Error::Machine { name: name.to_owned(), why: why.to_string() }),
    }
}

/// Whether a machine is described by a file of another tool.
pub fn is_described(name: &str) -> bool {
    let whole = catalog::part(name).map_or(name, |(whole, ..)| whole);
    whole.ends_with(".xml") || whole.ends_with(".dtb")
}

/// The machine file of a name.
struct MachineText {
    text: String,
    /// What errors call it.
    file: String,
    /// How many of its big and other cores are wanted, if not all.
    part: Option<(usize, usize)>,
}

impl MachineText {
    fn of(name: &str) -> Result<Self> {
        let (whole, part) =
            catalog::part(name).map_or((name, None), |(whole, big, little)| (whole, Some((big, little))));
        let bundled = machines::text(whole);
        if bundled.is_none() || part.is_some() {
            // Says what is wrong with a name.
            catalog::machine(name)?;
        }
        if let Some(text) = bundled {
            return Ok(Self { text: text.to_owned(), file: format!("machines/{whole}.toml"), part });
        }
        if is_described(whole) {
            let why = "only values of machine files (.toml) and of bundled machines can be varied: \
                       `evenkeel topology FILE --save m.toml` makes one";
            return Err(Error::Machine { name: name.to_owned(), why: why.into() });
        }
        Ok(Self { text: catalog::read(whole)?, file: whole.to_owned(), part })
    }
}

/// Whether a place has a meaning in a workload: a program that others have may be missing there.
///
/// # Errors
/// There is no such workload.
pub fn workload_has(name: &str, path: &[String]) -> Result<bool> {
    let found = catalog::workload(name)?.workload;
    let there = match path {
        [first, program, _, ..] if first == "program" => found.programs.iter().any(|known| known.name == *program),
        _ => parts(name).is_none(),
    };
    Ok(there && !is_fixed(name))
}

/// Whether a workload has no values that could be others: a recording or an rt-app file.
pub fn is_fixed(name: &str) -> bool {
    catalog::is_file(name) && !name.ends_with(".toml")
}

/// The programs of a mix. A `+` in the name of a file joins none.
fn parts(name: &str) -> Option<Vec<&str>> {
    evenkeel_workload::parts(name).filter(|_| !catalog::is_file(name))
}

/// A workload by its name, as [`catalog::workload`] has it, with other values: of a workload file (`.toml`), or of programs that come with
/// Evenkeel. Of those that a mix has several times, all have them.
///
/// # Errors
/// There is no such workload, it is something else, or the values do not fit it.
pub fn workload(name: &str, settings: &[Setting]) -> Result<Workload> {
    let found = catalog::workload(name)?.workload;
    if settings.is_empty() {
        return Ok(found);
    }
    if is_fixed(name) {
        let why = "expected a workload file (.toml), a program or a mix: only those have values to vary";
        return Err(Error::File(format!("{name}: {why}")));
    }
    let wrong = |why: String| Error::File(format!("{}: {}", with(name, settings), once(settings, why)));
    let workload = match parts(name) {
        None => {
            let (document, threads) = document(name)?;
            varied(&found.name, name, document, threads, settings).map_err(wrong)?
        }
        Some(parts) => together(found, &parts, settings).map_err(wrong)?,
    };
    validate::workload(&workload).map_err(|problem| wrong(problem.to_string()))?;
    Ok(workload)
}

/// Whether a value is in a program.
fn is_of((path, _): &Setting, program: &str) -> bool {
    path.len() > 2 && path[0] == "program" && path[1] == program
}

/// Several programs that start together, with other values.
fn together(found: Workload, parts: &[&str], settings: &[Setting]) -> std::result::Result<Workload, String> {
    let foreign = |setting: &&Setting| !found.programs.iter().any(|program| is_of(setting, &program.name));
    if let Some((path, _)) = settings.iter().find(foreign) {
        let names: Vec<&String> = found.programs.iter().map(|program| &program.name).collect();
        let known = catalog::once(&names).collect::<Vec<_>>().join(", ");
        let first = place(&path[..path.len().min(2)]);
        return Err(format!("`{first}`: expected a place in one of its programs, as in program.NAME.n: {known}"));
    }
    let mut programs = Vec::new();
    for (part, stock) in parts.iter().zip(&found.programs) {
        let own: Vec<Setting> = settings.iter().filter(|setting| is_of(setting, &stock.name)).cloned().collect();
        let (document, threads) = document(part).map_err(|error| error.to_string())?;
        let varied = varied(part, part, document, threads, &own)?;
        // Some mixes say where the memory of their programs is.
        let says = own.iter().any(|(path, _)| path[2] == "memory");
        let memory = |program: &Program| if says { program.memory } else { stock.memory };
        programs.extend(varied.programs.into_iter().map(|program| Program { memory: memory(&program), ..program }));
    }
    Ok(Workload { programs, ..found })
}

/// What a workload file amounts to with other values. A thread parameter that is one of them replaces that of the name.
fn varied(
    name: &str,
    file: &str,
    mut document: Table,
    threads: Option<u32>,
    settings: &[Setting],
) -> std::result::Result<Workload, String> {
    for (path, value) in settings {
        tree::set(&mut document, path, value.clone())?;
    }
    let said = |(path, _): &Setting| matches!(&path[..], [first, _, last] if first == "program" && last == "n");
    let threads = threads.filter(|_| !settings.iter().any(said));
    format::load(name, &document.to_string(), file, threads).map_err(|error| error.message)
}

/// The workload file of one, and how many threads its name wants.
fn document(name: &str) -> Result<(Table, Option<u32>)> {
    if name.ends_with(".toml") {
        let text = catalog::read(name)?;
        return Ok((text.parse().map_err(|error| Error::File(format!("{name}: {error}")))?, None));
    }
    let (base, threads) = name.split_once(':').map_or((name, None), |(base, threads)| (base, threads.parse().ok()));
    Ok((suite::document(base)?, threads))
}

/// A value as a file has it, but a large number with an exponent.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Float(float) if float.abs() >= LARGE => number(*float),
        other => other.to_string(),
    }
}

/// `2B2S with costs.tick_us = 0`: how an error about a machine or a workload with other values begins.
pub fn with(name: &str, settings: &[Setting]) -> String {
    let set = settings.iter().map(|(path, value)| format!("{} = {}", place(path), shown(value)));
    format!("{name} with {}", set.collect::<Vec<_>>().join(", "))
}

/// What is wrong with some settings, behind what they are: a parser begins with the value that it found, which is said already.
fn once(settings: &[Setting], why: String) -> String {
    let said = settings.iter().find_map(|(_, value)| why.strip_prefix(&format!("{}: ", shown(value))));
    said.map_or_else(|| why.clone(), str::to_owned)
}

/// What the conditions of a run can be, by the names of the options of `evenkeel sim`.
const CONDITIONS: [&str; 8] = ["delay", "governor", "host", "main", "max-time", "noise", "oracle", "tasks"];

/// Whether there is a condition of this name.
pub fn is_condition(path: &[String]) -> bool {
    CONDITIONS.contains(&&*place(path))
}

/// A condition that cannot be what it was set to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{condition}: {why}")]
pub struct ConditionError {
    /// Its name, with what it was set to.
    pub condition: String,
    /// What was expected.
    pub why: String,
}

/// The conditions of a run, each by the name of its option of `evenkeel sim`; others are as usual. `beside` is what `host = "run"`
/// stands for.
///
/// # Errors
/// There is no such condition, it cannot be this, or two of them do not go together.
pub fn conditions(
    settings: impl IntoIterator<Item = Setting>,
    beside: Option<Beside>,
) -> std::result::Result<Conditions, ConditionError> {
    let mut conditions = Conditions::default();
    for (path, value) in settings {
        let name = place(&path);
        set(&mut conditions, &name, &value, beside)
            .map_err(|why| once(&[(path, value.clone())], why))
            .map_err(|why| ConditionError { condition: format!("{name} = {}", shown(&value)), why })?;
    }
    if conditions.beside.is_some() && conditions.oracle {
        let why = "host \"run\" sees no speedups but those of capacities: expected it without oracle";
        return Err(ConditionError { condition: "host".into(), why: why.into() });
    }
    Ok(conditions)
}

fn set(
    conditions: &mut Conditions,
    name: &str,
    value: &Value,
    beside: Option<Beside>,
) -> std::result::Result<(), String> {
    match name {
        "delay" => conditions.delay = duration(value)?,
        "max-time" => {
            conditions.max_time = duration(value)?;
            if conditions.max_time == Ns::ZERO {
                return Err("expected more than no time".into());
            }
        }
        "noise" => conditions.noise = read(value)?,
        "oracle" => conditions.oracle = read(value)?,
        "governor" => conditions.governor = Governor::parse(value.as_str().ok_or("expected text in quotes")?)?,
        "tasks" => conditions.tasks.ready = Some(read::<ReadyQueue>(value)?),
        "main" => conditions.tasks.main = Some(read::<MainThread>(value)?),
        "host" => match value.as_str() {
            Some("scx") => conditions.beside = None,
            Some("run") => {
                conditions.beside = Some(beside.ok_or("only the command `evenkeel` has this host: expected \"scx\"")?)
            }
            _ => return Err("expected \"scx\" or \"run\"".into()),
        },
        other => return Err(format!("there is no such condition: {}", suggestion(other, CONDITIONS.iter().copied()))),
    }
    Ok(())
}

fn read<'a, T: Deserialize<'a>>(value: &Value) -> std::result::Result<T, String> {
    T::deserialize(value.clone()).map_err(|error| match (value, plain(error.message()).split_once(": expected ")) {
        (Value::Datetime(_), Some((_, expected))) => format!("a date: expected {expected}"),
        (_, _) => plain(error.message()),
    })
}

fn duration(value: &Value) -> std::result::Result<Ns, String> {
    let parsed = value.as_str().and_then(|text| humantime::parse_duration(text).ok());
    let parsed = parsed.ok_or("expected a duration with its unit, such as \"500us\"")?;
    let ns = u64::try_from(parsed.as_nanos()).ok().map(Ns).filter(|ns| *ns <= Ns::LONGEST);
    ns.ok_or_else(|| "expected at most 292 years".into())
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Ns;
    use evenkeel_workload::program::Memory;

    use super::*;

    fn set(at: &str, value: impl Into<Value>) -> Setting {
        (at.split('.').map(str::to_owned).collect(), value.into())
    }

    #[test]
    fn machines_and_parts_of_them_have_other_values() {
        let found = machine("odroid-xu3:2+1", &[set("costs.tick_us", 1000)]).unwrap();
        assert_eq!((found.cores.len(), found.costs.tick), (3, Ns::from_ms(1)));
        let error = machine("2B2S", &[set("costs.tick_us", 0)]).unwrap_err().to_string();
        assert!(error.starts_with("2B2S with costs.tick_us = 0: ") && error.contains("tick_us"), "{error}");
        let large = machine("2B2S", &[set("costs.tick_us", 1e308)]).unwrap_err().to_string();
        assert!(large.starts_with("2B2S with costs.tick_us = 1e308: tick_us = 1e308: expected a number"), "{large}");
        assert!(machine_has("2B2S", &set("cluster.little.node", 0).0).unwrap());
        assert!(!machine_has("2B2S", &set("cluster.middle.node", 0).0).unwrap());
    }

    #[test]
    fn programs_and_files_have_other_values() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.toml");
        let text = "[[program]]\nname = \"p\"\nn = 2\nphases.w = { ilp = 2.0, memory_ns = 0 }\n[[program.threads]]\n\
                    name = \"t\"\ncount = \"n\"\ndo = [{ share = \"8 Minst\", phase = \"w\" }]\n";
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let found = workload(path, &[set("program.p.n", 5), set("program.p.phases.w.ilp", 1.0)]).unwrap();
        assert_eq!((found.name.as_str(), found.programs[0].threads.len()), ("w", 5));
        assert_eq!(found.programs[0].phases[0].behaviour.ilp, 1.0);
        let stock = workload("blackscholes:2", &[]).unwrap();
        let found = workload("blackscholes:2", &[set("program.blackscholes.phases.price.ilp", 3.0)]).unwrap();
        assert_eq!(found.programs[0].threads, stock.programs[0].threads);
        assert_eq!(found.programs[0].phases[1].behaviour.ilp, 3.0);
        assert!(workload_has(path, &set("program.p.n", 1).0).unwrap());
        let error = workload(path, &[set("program.p.phases.v.ilp", 1.0)]).unwrap_err().to_string();
        assert!(error.contains("w.toml with program.p.phases.v.ilp = 1.0: `program.p.phases` has no `v`"), "{error}");
    }

    #[test]
    fn programs_of_mixes_have_other_values() {
        let stock = workload("Sync-2", &[]).unwrap();
        let found = workload("Sync-2", &[set("program.dedup.phases.read.ilp", 1.75)]).unwrap();
        assert!(found.programs[0] != stock.programs[0] && found.programs[1] == stock.programs[1]);
        let found = workload("Sync-2", &[set("program.fluidanimate.n", 2)]).unwrap();
        assert_eq!((&found.name, &found.programs[0]), (&stock.name, &stock.programs[0]));
        assert_eq!(found.programs[1], workload("fluidanimate:2", &[]).unwrap().programs[0]);
        let twice = workload("fft:2+fft:4", &[set("program.fft.phases.rows.ilp", 1.5)]).unwrap();
        assert_eq!([0, 1].map(|program| twice.programs[program].phases[0].behaviour.ilp), [1.5, 1.5]);
        assert_eq!([0, 1].map(|program| twice.programs[program].threads.len()), [2, 4]);
        let memory = |place: &str, value: Value| {
            let found = workload("mcf-libquantum-x2-interleaved", &[set(place, value)]).unwrap();
            (found.rerun, [0, 7].map(|program| found.programs[program].memory))
        };
        assert_eq!(memory("program.mcf.phases.price.ilp", 1.5.into()), (true, [Memory::Interleaved; 2]));
        assert_eq!(memory("program.mcf.memory", "local".into()), (true, [Memory::Interleaved, Memory::Local]));
        assert!(workload_has("Sync-2", &set("program.dedup.n", 1).0).unwrap());
        assert!(!workload_has("Sync-2", &set("program.p.n", 1).0).unwrap());
        assert!(!workload_has("Sync-2", &set("duration", 1).0).unwrap());
        let error = workload("Sync-2", &[set("duration", "1s")]).unwrap_err().to_string();
        let expected = "`duration`: expected a place in one of its programs, as in program.NAME.n: dedup, fluidanimate";
        assert_eq!(error, format!("Sync-2 with duration = \"1s\": {expected}"));
    }

    #[test]
    fn a_condition_that_is_a_duration_has_an_end() {
        let delay = |time: &str| conditions([set("delay", time)], None).map(|conditions| conditions.delay);
        assert_eq!(delay("1s"), Ok(Ns::from_secs(1)));
        let error = |time: &str| delay(time).unwrap_err().to_string();
        for longer in ["293y", "1000y"] {
            assert_eq!(error(longer), format!("delay = \"{longer}\": expected at most 292 years"));
        }
        assert_eq!(error("5"), "delay = \"5\": expected a duration with its unit, such as \"500us\"");
    }

    #[test]
    fn recordings_are_played_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.ek");
        let text =
            "{\"evenkeel\":1,\"makespan_ns\":5,\"threads\":1}\n{\"thread\":0,\"name\":\"app\",\"ops\":[[\"run\",5]]}\n";
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        assert!(!workload_has(path, &set("program.w.n", 1).0).unwrap());
        let error = workload(path, &[set("program.w.n", 1)]).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "w.ek: expected a workload file (.toml), a program or a mix: only those have values to vary"
            ),
            "{error}"
        );
    }
}

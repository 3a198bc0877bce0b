//! Defaults of options from a file: the one of `--config`, else the one that `EVENKEEL_CONFIG` names. No file is read that was not
//! named: what a command prints depends on nothing that cannot be seen.
//!
//! Each command has a table, `[run]` or `[vm.bench]`, with its options by their long names. What stands on the command line wins.
//! A default is to the parser what the option's own default is, so that it conflicts with nothing; one that would conflict with what stands on
//! the command line is left out, and two that conflict with each other are refused.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use clap::builder::OsStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};
use evenkeel_model::names::suggestion;
use evenkeel_model::words::{line_and_column, of_toml, short};
use toml::{Table, Value};

use crate::args::Cli;
use crate::messages;

/// Where the file is, if `--config` does not say it.
pub const VARIABLE: &str = evenkeel_linux::vm::CONFIG;

/// More bytes than this no file has that a person wrote.
const MOST: u64 = 1 << 20;

/// Commands that have no defaults, and that help to put a wrong file right.
const WITHOUT: [&str; 3] = ["help", "completions", "man"];

static READ: OnceLock<PathBuf> = OnceLock::new();

static VALUES: OnceLock<Vec<OsString>> = OnceLock::new();

/// The file that defaults have been read from.
pub fn read() -> Option<&'static Path> {
    READ.get().map(PathBuf::as_path)
}

/// The values that the command was given, defaults included, which may name files.
pub fn values() -> &'static [OsString] {
    VALUES.get().map_or(&[], Vec::as_slice)
}

/// Why there is no request.
pub enum Failed {
    /// The command line is wrong, or asks for help.
    Words(clap::Error),
    /// The file is wrong.
    File(anyhow::Error),
}

/// What these words ask for, with the defaults of the file that they, or the environment, name.
pub fn parse(words: &[OsString]) -> Result<Cli, Failed> {
    // Whatever else is wrong, or is missing and has a default in the file.
    let found = Cli::command().ignore_errors(true).try_get_matches_from(words).ok();
    let named = found.as_ref().and_then(|found| found.get_one::<PathBuf>("config").cloned());
    let variable = || std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    // Commands for Evenkeel's own use have no defaults.
    let command = found.as_ref().and_then(|found| found.subcommand_name());
    let own = command.is_some_and(|name| {
        WITHOUT.contains(&name) || Cli::command().find_subcommand(name).is_some_and(Command::is_hide_set)
    });
    let by_variable = named.is_none();
    let Some(path) = named.or_else(variable).filter(|_| found.is_some() && !own) else {
        return with(Cli::command(), words).map_err(Failed::Words);
    };
    // A file that is not named on the command line would come as a surprise.
    let wrong = |error: anyhow::Error| Failed::File(if by_variable { error.context(VARIABLE) } else { error });
    let defaults = with_defaults(&path, found.as_ref()).map_err(wrong)?;
    let path = READ.get_or_init(|| path);
    with(defaults, words).map_err(|error| {
        let invalid =
            |error: &clap::Error| matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation);
        let without = with(Cli::command(), words);
        if !invalid(&error) || without.is_err_and(|error| invalid(&error)) {
            return Failed::Words(error);
        }
        wrong(anyhow::anyhow!("{}: {}", path.display(), in_a_line(error)))
    })
}

/// What is wrong with a value, without what to type for help.
fn in_a_line(error: clap::Error) -> String {
    let error = messages::readable(error);
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(known)) if !known.is_empty() => {
            format!("{first}: expected one of {}", known.join(", "))
        }
        _ => first.to_owned(),
    }
}

/// What words ask a command for.
fn with(mut command: Command, words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    VALUES.get_or_init(|| values_of(&command, &matches));
    Ok(cli)
}

/// Values that may name files: none are those of policies, which may be called as a file is. Of a program that is run, its own file may be meant,
/// if it is not one of `PATH`; its words are its own.
fn values_of(command: &Command, matches: &ArgMatches) -> Vec<OsString> {
    if let Some((name, matches)) = matches.subcommand() {
        return command.find_subcommand(name).map(|command| values_of(command, matches)).unwrap_or_default();
    }
    let of = |arg: &Arg| {
        let values = matches.try_get_raw(arg.get_id().as_str()).ok().flatten().into_iter().flatten();
        let program = arg.is_trailing_var_arg_set() || arg.is_last_set();
        let values = values.take(if program { 1 } else { usize::MAX });
        values
            .filter(|value| !program || value.as_encoded_bytes().contains(&b'/'))
            .map(OsString::from)
            .collect::<Vec<_>>()
    };
    command.get_arguments().filter(|arg| arg.get_id() != "policy").flat_map(of).collect()
}

/// The commands, with the defaults of a file. `typed` is the command line, as far as it makes sense.
fn with_defaults(path: &Path, typed: Option<&ArgMatches>) -> Result<Command> {
    let shown = path.display();
    let unread = || format!("cannot read the configuration {shown}");
    let about = std::fs::metadata(path).with_context(unread)?;
    if !about.is_file() {
        // A pipe that has no writer would be waited for.
        bail!("{shown} is no file: expected a configuration in TOML");
    }
    if about.len() > MOST {
        bail!("{shown} is longer than {} MiB: expected a configuration in TOML", MOST >> 20);
    }
    let text = std::fs::read_to_string(path).with_context(unread)?;
    // Never the parser's own words for it, which repeat the line, however long it is.
    let table: Table = toml::from_str(&text).map_err(|error| {
        let place = error.span().map_or(String::new(), |span| format!(":{}", line_and_column(&text, span.start)));
        anyhow::anyhow!("{shown}{place}: {}", of_toml(&error, &text))
    })?;
    let mut command = Cli::command();
    for (name, value) in &table {
        let Value::Table(options) = value else {
            bail!(
                "{shown}: `{name}` belongs to no command: expected tables such as [run], with options such as policy = \"colab\""
            );
        };
        command = defaults(command, name, options, &format!("{shown}, [{name}"), typed)?;
    }
    Ok(command)
}

/// A command whose subcommand has these defaults; `place` is the file and the name of its table, as far as it is open.
fn defaults(command: Command, name: &str, options: &Table, place: &str, typed: Option<&ArgMatches>) -> Result<Command> {
    let shown = |command: &Command| {
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        commands.map(|command| command.get_name().to_owned()).collect::<Vec<_>>()
    };
    let known = shown(&command);
    if !known.iter().any(|known| known == name) {
        bail!(
            "{place}]: there is no command \"{}\": {}",
            short(name),
            suggestion(name, known.iter().map(String::as_str))
        );
    }
    let typed = typed.and_then(ArgMatches::subcommand).filter(|(chosen, _)| *chosen == name).map(|(_, typed)| typed);
    let mut result = Ok(());
    let command = command.mut_subcommand(name, |mut command| {
        for (option, value) in options {
            let changed = match value {
                Value::Table(options) if command.has_subcommands() => {
                    defaults(command.clone(), option, options, &format!("{place}.{option}"), typed)
                }
                value => with_default(command.clone(), option, value, typed).with_context(|| format!("{place}]")),
            };
            match changed {
                Ok(changed) => command = changed,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        command
    });
    result?;
    if let Some((one, other)) = command.find_subcommand(name).and_then(|command| at_odds(command, options, typed)) {
        bail!("{place}]: `{one}` and `{other}` exclude each other: expected one of them");
    }
    Ok(command)
}

/// Two options of a table that exclude each other, of those that ask for something and give way to nothing on the command line.
fn at_odds<'a>(command: &Command, options: &'a Table, typed: Option<&ArgMatches>) -> Option<(&'a String, &'a String)> {
    let stays = |arg: &&Arg| typed.is_none_or(|typed| !excludes(command, typed, arg));
    let known = |option: &str| command.get_arguments().find(|arg| arg.get_long() == Some(option));
    let asked = options.iter().filter(|(_, value)| **value != Value::Boolean(false));
    let asked: Vec<(&String, &Arg)> =
        asked.filter_map(|(option, _)| Some((option, known(option).filter(stays)?))).collect();
    asked.iter().enumerate().find_map(|(nth, (one, arg))| {
        let (other, _) = asked[..nth].iter().find(|(_, other)| conflict(command, arg, other))?;
        Some((*other, *one))
    })
}

/// Whether two options exclude each other.
fn conflict(command: &Command, one: &Arg, other: &Arg) -> bool {
    let names = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).into_iter().any(|conflicts| conflicts.get_id() == other.get_id())
    };
    names(one, other) || names(other, one)
}

/// Whether something that stands on the command line conflicts with an option.
fn excludes(command: &Command, typed: &ArgMatches, arg: &Arg) -> bool {
    let by_hand = |other: &&Arg| typed.value_source(other.get_id().as_str()) == Some(ValueSource::CommandLine);
    let known = |other: &&Arg| typed.try_contains_id(other.get_id().as_str()).is_ok();
    command.get_arguments().filter(known).filter(by_hand).any(|other| conflict(command, other, arg))
}

/// A command with a default for an option.
fn with_default(command: Command, option: &str, value: &Value, typed: Option<&ArgMatches>) -> Result<Command> {
    // A file that names another one, or asks for help, makes no sense.
    let may_have = |arg: &&Arg| !matches!(arg.get_id().as_str(), "config" | "help" | "version");
    let found = command.get_arguments().filter(may_have).find(|arg| arg.get_long() == Some(option));
    let Some(arg) = found else {
        let known: Vec<String> =
            command.get_arguments().filter(may_have).filter_map(|arg| arg.get_long().map(str::to_owned)).collect();
        if known.is_empty() {
            bail!("there is no option `{}`: this command has none", short(option));
        }
        bail!("there is no option `{}`: {}", short(option), suggestion(option, known.iter().map(String::as_str)));
    };
    let id = arg.get_id().clone();
    let values: Vec<OsStr> = match (arg.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(set)) => vec![OsStr::from(set.to_string())],
        (ArgAction::SetTrue, _) => bail!("`{option}` is {}: expected true or false", short(&value.to_string())),
        (_, Value::Array(values)) if values.is_empty() => bail!("`{option}` is an empty list: expected a value"),
        (ArgAction::Append, Value::Array(values)) => {
            values.iter().map(|value| text(option, value)).collect::<Result<_>>()?
        }
        (_, Value::Array(_)) => bail!("`{option}` is a list: expected one value"),
        (_, value) => vec![text(option, value)?],
    };
    if typed.is_some_and(|typed| excludes(&command, typed, arg)) {
        return Ok(command);
    }
    Ok(command.mut_arg(id, |arg| arg.default_values(values).required(false)))
}

/// A value as it would stand on the command line.
fn text(option: &str, value: &Value) -> Result<OsStr> {
    Ok(OsStr::from(match value {
        Value::String(text) if text.is_empty() => bail!("`{option}` is empty: expected a value"),
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => bail!("`{option}` is {}: expected a text or a number, as on the command line", short(&value.to_string())),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_name_files_are_values_but_for_policies_and_the_words_of_a_program() {
        let values = |line: &str| {
            let mut command = Cli::command();
            let matches = command.try_get_matches_from_mut(line.split(' ')).unwrap();
            let values = values_of(&command, &matches);
            move |name: &str| values.iter().any(|value| value == name)
        };
        let given = values("evenkeel compare w.toml -m2B2S,own.toml --policy pfs --html=page");
        assert!(given("w.toml") && given("2B2S") && given("own.toml") && given("page") && !given("pfs"));
        let given = values("evenkeel run --html page ./app words");
        assert!(given("page") && given("./app") && !given("words"));
        let given = values("evenkeel emulate 1B1L -o out -- ./app words");
        assert!(given("out") && given("./app") && !given("words"));
        let given = values("evenkeel vm bench --html page");
        assert!(given("page"));
    }
}

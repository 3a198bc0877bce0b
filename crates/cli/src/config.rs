//! Defaults of options from a file: the one of `--config`, else the one that `EVENKEEL_CONFIG` names. No file is read that was not
//! named: what a command prints depends on nothing that cannot be seen.
//!
//! Each command has a table, `[run]` or `[vm.bench]`, with its options by their long names. What stands on the command line wins.
//! A default is to the parser what the option's own default is, so that it conflicts with nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::OsStr;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};
use evenkeel_model::names::suggestion;
use toml::{Table, Value};

use crate::args::Cli;

/// Where the file is, if `--config` does not say it.
pub const VARIABLE: &str = evenkeel_linux::vm::CONFIG;

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
    let own = command.is_some_and(|name| Cli::command().find_subcommand(name).is_some_and(Command::is_hide_set));
    let Some(path) = named.or_else(variable).filter(|_| found.is_some() && !own) else {
        return with(Cli::command(), words).map_err(Failed::Words);
    };
    with(with_defaults(&path).map_err(Failed::File)?, words).map_err(|error| {
        let invalid =
            |error: &clap::Error| matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation);
        let without = with(Cli::command(), words);
        if !invalid(&error) || without.is_err_and(|error| invalid(&error)) {
            return Failed::Words(error);
        }
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Failed::File(anyhow::anyhow!("{}: {}", path.display(), first.strip_prefix("error: ").unwrap_or(first)))
    })
}

/// What words ask a command for.
fn with(mut command: Command, words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The commands, with the defaults of a file.
fn with_defaults(path: &Path) -> Result<Command> {
    let shown = path.display();
    let unread = || format!("cannot read the configuration {shown}");
    if !std::fs::metadata(path).with_context(unread)?.is_file() {
        // A pipe that nobody writes to would be waited for.
        bail!("{shown} is no file: expected a configuration in TOML");
    }
    let text = std::fs::read_to_string(path).with_context(unread)?;
    let table: Table = text.parse().with_context(|| format!("{shown} is no configuration in TOML"))?;
    let mut command = Cli::command();
    for (name, value) in &table {
        let Value::Table(options) = value else {
            bail!(
                "{shown}: `{name}` belongs to no command: expected tables such as [run], with options such as policy = \"colab\""
            );
        };
        command = defaults(command, name, options, &format!("{shown}, [{name}"))?;
    }
    Ok(command)
}

/// A command whose subcommand has these defaults; `place` is the file and the name of its table, as far as it is open.
fn defaults(command: Command, name: &str, options: &Table, place: &str) -> Result<Command> {
    let shown = |command: &Command| {
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        commands.map(|command| command.get_name().to_owned()).collect::<Vec<_>>()
    };
    let known = shown(&command);
    if !known.iter().any(|known| known == name) {
        bail!("{place}]: there is no command \"{name}\": {}", suggestion(name, known.iter().map(String::as_str)));
    }
    let mut result = Ok(());
    let command = command.mut_subcommand(name, |mut command| {
        for (option, value) in options {
            let changed = match value {
                Value::Table(options) if command.has_subcommands() => {
                    defaults(command.clone(), option, options, &format!("{place}.{option}"))
                }
                value => with_default(command.clone(), option, value).with_context(|| format!("{place}]")),
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
    result.map(|()| command)
}

/// A command with a default for an option.
fn with_default(command: Command, option: &str, value: &Value) -> Result<Command> {
    // A file that names another one, or asks for help, makes no sense.
    let may_have = |arg: &&Arg| !matches!(arg.get_id().as_str(), "config" | "help" | "version");
    let found = command.get_arguments().filter(may_have).find(|arg| arg.get_long() == Some(option));
    let Some(arg) = found else {
        let known: Vec<String> =
            command.get_arguments().filter(may_have).filter_map(|arg| arg.get_long().map(str::to_owned)).collect();
        if known.is_empty() {
            bail!("there is no option `{option}`: this command has none");
        }
        bail!("there is no option `{option}`: {}", suggestion(option, known.iter().map(String::as_str)));
    };
    let id = arg.get_id().clone();
    let values: Vec<OsStr> = match (arg.get_action(), value) {
        (ArgAction::SetTrue, Value::Boolean(set)) => vec![OsStr::from(set.to_string())],
        (ArgAction::SetTrue, _) => bail!("`{option}` is {value}: expected true or false"),
        (_, Value::Array(values)) if values.is_empty() => bail!("`{option}` is an empty list: expected a value"),
        (ArgAction::Append, Value::Array(values)) => {
            values.iter().map(|value| text(option, value)).collect::<Result<_>>()?
        }
        (_, Value::Array(_)) => bail!("`{option}` is a list: expected one value"),
        (_, value) => vec![text(option, value)?],
    };
    Ok(command.mut_arg(id, |arg| arg.default_values(values).required(false)))
}

/// A value as it would stand on the command line.
fn text(option: &str, value: &Value) -> Result<OsStr> {
    Ok(OsStr::from(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        _ => bail!("`{option}` is {value}: expected a text or a number, as on the command line"),
    }))
}

//! The `evenkeel` command: parses, calls, prints. It holds no scheduling code.

mod args;
mod catalog;
mod clock;
mod closed;
mod commands;
mod config;
mod failed;
mod files;
mod hints;
mod interrupted;
mod json;
mod live;
mod messages;
mod names;
mod openmp;
mod page;
mod page_text;
mod progress;
mod ready;
mod terminal;
mod trace;

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::args::{Command, VmCommand, VmRun};
use crate::config::Failed;

/// Something is wrong with the request.
const USER_ERROR: u8 = 2;
/// Something is wrong with the place that results go to.
const OUTPUT_ERROR: u8 = 1;

fn main() -> ExitCode {
    let _ = evenkeel_linux::launch::outlive_file_limit();
    let words: Vec<_> = std::env::args_os().collect();
    let cli = match config::parse(&words) {
        Ok(cli) => cli,
        Err(Failed::File(error)) => return failure(&error),
        Err(Failed::Words(mistake)) if mistake.kind() == ErrorKind::InvalidUtf8 => return no_utf8(),
        Err(Failed::Words(mistake)) if mistake.use_stderr() => {
            messages::mistake(mistake);
            return ExitCode::from(USER_ERROR);
        }
        // Help, or the version.
        Err(Failed::Words(help)) => return print(&help.render().ansi().to_string()),
    };
    let report = match cli.command {
        Command::Machines(output) => commands::list::machines(output),
        Command::Policies(output) => commands::list::policies(output),
        Command::Workloads(output) => commands::list::workloads(output),
        Command::Sim(args) => commands::sim::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::Merge(args) => commands::sweep::merge(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Help(args) => commands::help::run(&args),
        Command::Completions(args) => commands::help::completions(&args),
        Command::Man(args) => commands::help::man(&args),
        Command::Train(args) => commands::train::run(&args),
        Command::Topology(args) => commands::topology::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::Try(args) => commands::trial::run(&args),
        Command::Run(args) => return status(commands::run::run(&args)),
        Command::Scx(args) if args.list => commands::scx::list(args.format),
        Command::Scx(args) => return status(commands::scx::run(&args)),
        Command::Record(args) => return status(commands::record::run(&args)),
        Command::Vm(VmRun { measure: Some(VmCommand::Bench(args)), .. }) => commands::vm_bench::run(&args),
        Command::Vm(args) => return status(commands::vm::run(&args)),
        Command::Emulate(args) => return status(commands::emulate::run(&args)),
        Command::Guest { machine } => {
            evenkeel_linux::vm::guest::main(machine.as_deref());
            return ExitCode::SUCCESS;
        }
        Command::Tied { args } => {
            let (code, why) = evenkeel_linux::launch::tie(&args);
            messages::error(why);
            return ExitCode::from(code);
        }
        Command::Guard => {
            evenkeel_linux::guard::watch();
            return ExitCode::SUCCESS;
        }
        Command::Start { args } => {
            // Errors reach the process that waits for this one.
            let _ = evenkeel_linux::launch::gate(&args);
            return ExitCode::from(evenkeel_linux::launch::OWN_FAILURE);
        }
    };
    match report {
        Ok(report) => print(&report),
        Err(error) => failure(&error),
    }
}

/// Says which argument is not UTF-8; the parser does not.
fn no_utf8() -> ExitCode {
    let word = std::env::args_os().find(|word| word.to_str().is_none()).unwrap_or_default();
    messages::error(format_args!("{word:?} is not UTF-8: expected names and paths in UTF-8; please rename that file"));
    ExitCode::from(USER_ERROR)
}

/// A command that starts another exits with that one's status. Evenkeel's own failures have those of `env` and `timeout`, and
/// a mistake in the request has [`USER_ERROR`].
fn status(result: anyhow::Result<u8>) -> ExitCode {
    let error = match result {
        Ok(code) => return ExitCode::from(code),
        Err(error) => error,
    };
    let _ = failure(&error);
    ExitCode::from(failed::code(&error).unwrap_or(USER_ERROR))
}

/// Prints what went wrong.
fn failure(error: &anyhow::Error) -> ExitCode {
    if let Some(evenkeel_linux::vm::Error::Interrupted(signal)) = error.downcast_ref() {
        return ExitCode::from(evenkeel_linux::launch::killed_by(*signal));
    }
    if let Some(interrupted) = error.downcast_ref::<interrupted::Interrupted>() {
        let printed = print(&interrupted.report);
        messages::error(interrupted);
        return if printed == ExitCode::SUCCESS { ExitCode::from(interrupted::STATUS) } else { printed };
    }
    if let Some(unwritten) = error.downcast_ref::<files::Unwritten>().filter(|unwritten| !unwritten.report.is_empty()) {
        print(&unwritten.report);
    }
    if let Some(broken) = error.downcast_ref::<interrupted::Broken>().filter(|broken| !broken.report.is_empty()) {
        print(&broken.report);
    }
    match hints::hint(error) {
        Some(hint) => messages::error(format_args!("{error:#}; {hint}")),
        None => messages::error(format_args!("{error:#}")),
    }
    let unwritten = error.is::<files::Unwritten>() || error.is::<failed::Unprinted>() || has_no_place(error);
    ExitCode::from(if unwritten { OUTPUT_ERROR } else { USER_ERROR })
}

/// Whether it is a sweep that has runs and no place for them.
fn has_no_place(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(evenkeel_sweep::Error::NoTable { .. }) => true,
        Some(evenkeel_sweep::Error::Unwritable { source, .. }) => hints::has_no_room(source),
        _ => false,
    }
}

/// Prints a report. A reader that went away (`| head`) is no error.
fn print(report: &str) -> ExitCode {
    if closed::output() {
        messages::error("cannot write the result: standard output is closed");
        return ExitCode::from(OUTPUT_ERROR);
    }
    match terminal::print(report) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            messages::error(format_args!("cannot write the result: {error}"));
            ExitCode::from(OUTPUT_ERROR)
        }
        _ => ExitCode::SUCCESS,
    }
}

//! What to do about an error, in the words of the command line.

use std::io::{self, ErrorKind};

use evenkeel_experiment::{Error, TaskSetting, catalog};

/// What to do about an error, if that is known. It stands behind the message.
pub fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(error) = error.downcast_ref() {
        return of_sweep(error);
    }
    of(error.chain().find_map(|cause| cause.downcast_ref::<Error>())?)
}

fn of_sweep(error: &evenkeel_sweep::Error) -> Option<String> {
    Some(match error {
        evenkeel_sweep::Error::Foreign { .. } | evenkeel_sweep::Error::Lost { .. } => {
            "--output names another file, --drop drops them".into()
        }
        evenkeel_sweep::Error::OtherShard { .. } => {
            "--output names it; if this is its own, --fresh --drop begins it anew".into()
        }
        evenkeel_sweep::Error::DealtAnew { .. } => {
            "--output names another file, --drop leaves them to the other parts".into()
        }
        evenkeel_sweep::Error::TooMany { .. } => "--incomplete merges some of them".into(),
        evenkeel_sweep::Error::Missing { .. } => "--incomplete merges what there is".into(),
        evenkeel_sweep::Error::NoTable { source, .. } => {
            let how = if has_no_room(source) { "expected room there: make some" } else { "see to that" };
            format!("{how}, and the same command, without --fresh, writes it from these")
        }
        evenkeel_sweep::Error::Unwritable { source, .. } if has_no_room(source) => {
            "expected room there: make some, and give the same command again; what is done is not lost".into()
        }
        _ => return None,
    })
}

/// Whether what is written to is full, by itself or by a limit.
pub fn has_no_room(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

fn of(error: &Error) -> Option<String> {
    Some(match error {
        Error::In { source, .. } => return of(source),
        Error::Policy(_) => "`evenkeel policies` lists what there is".into(),
        Error::Run { source: evenkeel_sim::Error::MaxTime { .. }, .. } => "--max-time allows more".into(),
        Error::Run { source: evenkeel_sim::Error::MaxEvents { .. }, .. } | Error::Workers { .. } => {
            "--max-events allows more".into()
        }
        Error::NoModel { machine, .. } => {
            // A machine from a file has a name of its own, which no command takes.
            let machine = if catalog::machine(machine).is_ok() { machine.as_str() } else { "FILE" };
            format!(
                "`evenkeel train --machine {machine} -o OTHER.toml` makes a file with one; without --predictor one is trained"
            )
        }
        Error::WorsePredictor { .. } => "leave out --predictor".into(),
        Error::NoTasks { setting: TaskSetting::ReadyQueue, .. } => "leave out --tasks".into(),
        Error::NoTasks { setting: TaskSetting::MainThread, .. } => "leave out --main".into(),
        Error::NoSpeedups { .. } => "leave out --oracle".into(),
        _ => return None,
    })
}

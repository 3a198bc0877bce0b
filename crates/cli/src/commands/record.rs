//! `evenkeel record`: what a real program does, as a workload.

use anyhow::{Error, Result, anyhow};
use evenkeel_linux::launch::{self, Launched};
use evenkeel_linux::overheads;
use evenkeel_linux::record::{Recorder, speeds};
use evenkeel_report::json::Recorded;
use evenkeel_workload::recording::Step;

use crate::args::{Format, Record};
use crate::failed::Own;
use crate::files::Target;
use crate::{json, live, messages};

/// What the recording calls the machine that it was made on.
const NAME: &str = "recorded";

/// Records the command and returns its exit status.
pub fn run(args: &Record) -> Result<u8> {
    let mut topology = live::topology(&args.cores)?;
    let target = Target::open(&args.file)?;
    topology.overheads = overheads::measure(&topology);
    let (machine, cpus) = topology.machine(NAME).map_err(Error::msg)?;
    let uneven = if topology.kinds.len() == 1 { speeds::uneven(&cpus) } else { None };
    let mut launched = Launched::new(&args.command)?;
    let mut recorder = Recorder::new(&machine, &cpus, launched.pid(), args.buffer << 20)
        .map_err(|error| anyhow!("recording needs eBPF: {error}").context(Own("cannot record")))?;
    launched.release()?;
    let status = recorder.follow(&mut launched)?;
    let (events, missing) = (recorder.events(), recorder.missing());
    let mut recording = recorder.finish();
    recording.notes.extend(uneven.map(|uneven| uneven.note()));
    recording.command = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    recording.machine = Some(topology.to_toml(NAME).map_err(Error::msg)?);
    let written = target.write_somewhere(recording.to_text().as_bytes());
    let items = || recording.items.iter().map(|item| &item.steps);
    let steps = || recording.threads.iter().map(|thread| &thread.steps).chain(items()).flatten();
    let account = Recorded {
        file: args.file.display().to_string(),
        makespan_s: recording.makespan.as_secs_f64(),
        threads: recording.threads.len(),
        steps: steps().count(),
        waits: steps().filter(|step| matches!(step, Step::Wait)).count(),
        events,
        notes: &recording.notes,
        missing,
    };
    let said = match args.format.format {
        Format::Json if !args.quiet => messages::account(&json::print(&account)?),
        _ => {
            say(&account, args.quiet);
            Ok(())
        }
    };
    written?;
    said?;
    Ok(launch::exit_code(status))
}

/// What was recorded, for people.
fn say(account: &Recorded<'_>, quiet: bool) {
    account.notes.iter().for_each(messages::warning);
    if !quiet {
        let Recorded { file, makespan_s, threads, steps, waits, events, .. } = account;
        messages::note(format_args!(
            "{threads} threads, {steps} steps, {waits} of which wait for another thread, in {makespan_s:.3} s \
             ({events} events): {file}"
        ));
        account.missing.iter().for_each(messages::note);
    }
}

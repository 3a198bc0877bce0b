//! `evenkeel record`: what a real program does, as a workload.

use anyhow::{Context, Error, Result, anyhow};
use evenkeel_linux::launch::{self, Launched};
use evenkeel_linux::record::Tape;
use evenkeel_workload::recording::Step;

use crate::args::Record;
use crate::files::Target;
use crate::{live, messages};

/// What the recording calls the machine that it was made on.
const NAME: &str = "recorded";

/// Records the command and answers its exit status.
pub fn run(args: &Record) -> Result<u8> {
    let topology = live::topology(&args.cores)?;
    let (machine, cpus) = topology.machine(NAME).map_err(Error::msg)?;
    let target = Target::open(&args.file)?;
    live::find(&args.command[0])?;
    let mut launched = Launched::new(&args.command).context("cannot start a process")?;
    let mut tape =
        Tape::new(&machine, &cpus, launched.pid()).map_err(|error| anyhow!("recording needs eBPF: {error}"))?;
    launched.release()?;
    let status = loop {
        tape.advance()?;
        if let Some(status) = launched.poll()? {
            break status;
        }
        tape.wait(launched.end())?;
    };
    tape.advance()?;
    let (events, missing) = (tape.events(), tape.missing());
    let mut recording = tape.finish();
    recording.command = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    recording.machine = Some(topology.to_toml(NAME).map_err(Error::msg)?);
    let written = target.write_somewhere(recording.to_text().as_bytes());
    recording.notes.iter().for_each(messages::warning);
    written?;
    if !args.quiet {
        let steps: usize = recording.threads.iter().map(|thread| thread.steps.len()).sum();
        let waits = recording.threads.iter().flat_map(|thread| &thread.steps);
        let waits = waits.filter(|step| matches!(step, Step::Wait)).count();
        messages::note(format_args!(
            "{} threads, {steps} steps, {waits} of them waits for another thread, in {} ({events} events): {}",
            recording.threads.len(),
            recording.makespan,
            args.file.display()
        ));
        missing.iter().for_each(messages::note);
    }
    Ok(launch::exit_code(status))
}

//! `evenkeel vm bench`: small real programs on asymmetric machines, under the guest's own kernel, under each policy of each
//! host, and under other programs' schedulers.

mod predict;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, bail};
use evenkeel_linux::spec::Spec;
use evenkeel_linux::vm::bench::{self, Bench, Caller, Host, Measured, Plan, Played, Scheduler, Unknown};
use evenkeel_linux::vm::{self, kernel};
use evenkeel_model::Ns;
use indicatif::ProgressBar;

use super::vm::{directory, inside, machine, under};
use crate::args::{self, Format, Peer, VmBench};
use crate::failed::Unprinted;
use crate::files::{Target, Unwritten};
use crate::{catalog, messages, page, progress, terminal};

/// Runs the command.
pub fn run(args: &VmBench) -> Result<String> {
    let html = Target::open_some(args.html.as_ref())?;
    let specs = machines(args)?;
    let benches = chosen(args)?;
    once(benches.iter().map(|bench| bench.name.clone()))?;
    let mut command = Command::new(args)?;
    let plan = Plan {
        specs,
        benches,
        schedulers: schedulers(args)?,
        boots: args.boots,
        repeat: args.repeat,
        seconds: args.seconds,
        directory: if args.own.is_empty() { None } else { Some(directory()?) },
        kernel: kernel::find(args.kernel.as_deref())?,
    };
    let as_if = if args.own.is_empty() { "" } else { ", if those of --own take as long as others" };
    messages::note(format_args!("{} runs, which take about {}{as_if}", plan.runs(), rounded(plan.estimate())));
    command.bar = progress::slow_bar("measuring", plan.runs());
    let ended = plan.measure(&mut command);
    let reached = command.bar.position();
    command.bar.finish_and_clear();
    // A page of nothing is no reason to lose the one that is there.
    let html = html.filter(|_| !command.machines.is_empty());
    let written = html.map_or(Ok(()), |target| target.write(page::bench(&command.machines).as_bytes()));
    if let Err(error) = ended {
        // That it cannot be printed does not hide why it ended.
        if let Err(unprinted) = command.print_measured() {
            messages::warning(unprinted);
        }
        if let Err(unwritten) = written {
            messages::warning(unwritten);
        }
        messages::warning(format_args!("ended after {reached} of {} runs", plan.runs()));
        return Err(error);
    }
    let text = match args.output.format {
        Format::Table => report::legend(&plan.benches),
        Format::Json => report::json(&command.machines)?,
    };
    Ok(Unwritten::report(written, text)?)
}

fn machines(args: &VmBench) -> Result<Vec<Spec>> {
    let specs = args.machine.iter().map(|word| machine(word)).collect::<Result<Vec<_>>>()?;
    once(specs.iter().map(ToString::to_string))?;
    Ok(specs)
}

/// What is asked for by name, and each of the user's own programs that is not among it, alone.
fn chosen(args: &VmBench) -> Result<Vec<Bench>> {
    once(args.own.iter().map(|program| program.name.to_string()))?;
    if let Some(program) = args.own.iter().find(|program| Bench::names().any(|name| name == program.name)) {
        bail!("--own {}: a program or mix is named so: expected another name", program.name);
    }
    let mut benches = named(args)?;
    for program in &args.own {
        let has = |bench: &Bench| bench.members.iter().any(|member| member.program == *program);
        if !benches.iter().any(has) {
            benches.push(Bench::named(&program.name, &args.own)?);
        }
    }
    Ok(benches)
}

fn named(args: &VmBench) -> Result<Vec<Bench>> {
    if args.all {
        let (benches, missing) = Bench::everything();
        for why in missing {
            messages::note(format_args!("left out: {why}"));
        }
        return Ok(benches);
    }
    if args.programs.is_empty() {
        return Ok(if args.own.is_empty() { Bench::usual() } else { Vec::new() });
    }
    let mut known: Vec<&str> = Bench::names().collect();
    known.extend(args.own.iter().map(|program| &*program.name));
    let find = |name: &String| {
        Bench::named(name, &args.own).map_err(|error| match error {
            Unknown::Name(name) => catalog::unknown("program", &name, known.clone()).into(),
            error => anyhow::Error::from(error),
        })
    };
    args.programs.iter().map(find).collect()
}

/// The guest's own scheduler, each policy by each host, and the others.
fn schedulers(args: &VmBench) -> Result<Vec<Scheduler>> {
    // On the command line the parser says so; a file of defaults conflicts with nothing.
    if args.path.is_some() && !args.scx {
        bail!(
            "path is set, which is where policies decide under scx: expected --scx as well, or scx = true beside path"
        );
    }
    let mut schedulers = vec![Scheduler::stock()];
    for name in &args.policy {
        let both = catalog::live_policy(name)?.description().in_kernel.is_some();
        let at = |path| args.scx && args.path.is_none_or(|only| only == path);
        let hosts = [
            (Host::Run, true),
            (Host::Scx, if both { at(args::Path::Kernel) } else { args.scx }),
            (Host::Daemon, both && at(args::Path::Daemon)),
        ];
        let hosts = hosts.into_iter().filter(|(_, wanted)| *wanted);
        schedulers.extend(hosts.map(|(host, _)| Scheduler { policy: name.clone(), host }));
    }
    schedulers.extend(args.peer.iter().map(|peer| Scheduler { policy: peer.name.clone(), host: Host::Peer }));
    once(schedulers.iter().map(ToString::to_string))?;
    // A policy of this name is named with its host.
    if let Some(peer) = args.peer.iter().find(|peer| args.policy.contains(&peer.name)) {
        bail!("--peer {}: a policy is named so: expected another name", peer.name);
    }
    Ok(schedulers)
}

/// Makes sure that nothing is measured twice.
fn once(names: impl Iterator<Item = String>) -> Result<()> {
    let mut known = BTreeSet::new();
    for name in names {
        if !known.insert(name.clone()) {
            bail!("{name}: named twice");
        }
    }
    Ok(())
}

/// A duration for people, rounded up.
fn rounded(seconds: f64) -> String {
    if seconds < 100.0 {
        format!("{:.0} seconds", (seconds / 10.0).ceil() * 10.0)
    } else {
        format!("{:.0} minutes", (seconds / 60.0).ceil())
    }
}

/// This command, which measures.
struct Command {
    bar: ProgressBar,
    format: Format,
    /// What is measured so far.
    machines: Vec<Measured>,
    /// By name, what starts other programs' schedulers.
    peers: BTreeMap<String, String>,
    /// Where recordings are kept.
    recordings: Option<PathBuf>,
}

impl Command {
    fn new(args: &VmBench) -> Result<Self> {
        let path = |peer: &Peer| {
            let found = which::which(&peer.program).with_context(|| peer.program.display().to_string())?;
            let path = found.canonicalize().with_context(|| found.display().to_string())?;
            let path = path.to_str().with_context(|| format!("{}: expected a path in UTF-8", path.display()))?;
            Ok((peer.name.clone(), path.to_owned()))
        };
        let peers = args.peer.iter().map(path).collect::<Result<_>>()?;
        if let Some(folder) = &args.recordings {
            fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
        }
        Ok(Self {
            bar: ProgressBar::hidden(),
            format: args.output.format,
            machines: Vec::new(),
            peers,
            recordings: args.recordings.clone(),
        })
    }

    /// Keeps a recording beside those that are there.
    fn keep(&self, recording: &Path) -> Result<()> {
        let (Some(folder), Some(name)) = (&self.recordings, recording.file_stem()) else { return Ok(()) };
        let numbered = |number: u32| folder.join(format!("{}-{number}.ek", name.to_string_lossy()));
        let Some(file) = (1..).map(numbered).find(|file| !file.exists()) else { return Ok(()) };
        let mut content =
            fs::File::open(recording).with_context(|| format!("{}: cannot be read", recording.display()))?;
        let mut target = Target::open(&file)?;
        let copied = io::copy(&mut content, &mut target.writer());
        copied.map_err(target.unwritten())?;
        Ok(target.keep()?)
    }

    /// Prints what was measured before it ended early, as far as that has not been printed.
    fn print_measured(&self) -> Result<()> {
        if self.format == Format::Json && !self.machines.is_empty() {
            printed(terminal::print(&report::json(&self.machines)?))?;
        }
        Ok(())
    }
}

impl Caller for Command {
    type Error = anyhow::Error;

    fn recording(&self, spec: &Spec, file: &Path, command: &[String]) -> Result<Vec<String>> {
        inside(spec, &["record", "-q", "-o", &file.display().to_string()], command)
    }

    fn under(&self, spec: &Spec, scheduler: &Scheduler, command: &[String]) -> Result<Vec<String>> {
        let policy = &scheduler.policy;
        match scheduler.host {
            Host::Stock => Ok(command.to_vec()),
            Host::Run => under(spec, &["run"], policy, Format::Table, command),
            Host::Scx => under(spec, &["scx"], policy, Format::Table, command),
            Host::Daemon => under(spec, &["scx", "--path", "daemon"], policy, Format::Table, command),
            Host::Peer => {
                let program = self.peers.get(policy).with_context(|| format!("{policy}: no such scheduler"))?;
                Ok([program, policy, "--"].into_iter().map(str::to_owned).chain(command.iter().cloned()).collect())
            }
        }
    }

    fn measuring(&self, file: &Path) -> Result<Vec<String>> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        Ok([&program, Path::new("topology"), Path::new("--save"), file].map(|word| word.display().to_string()).into())
    }

    fn predict(
        &self,
        recording: &Path,
        bench: &Bench,
        schedulers: &[(&Scheduler, Option<Ns>)],
        emulated: bool,
    ) -> Result<Vec<Vec<Played>>> {
        self.keep(recording)?;
        predict::play(recording, bench, schedulers, emulated)
    }

    /// A command that failed in the guest is one run; an interrupt, or a guest that cannot be booted, is the end.
    fn continues_after(&self, error: &anyhow::Error) -> bool {
        if let Some(error) = error.downcast_ref::<vm::Error>() {
            return matches!(error, vm::Error::Timeout(_) | vm::Error::Guest { .. });
        }
        match error.downcast_ref::<bench::Error>() {
            Some(error) => {
                use bench::Error::{Failed, NoTime, Program, Switches};
                matches!(error, Failed { .. } | Program { .. } | NoTime(_) | Switches(_))
            }
            // A recording that the simulator refuses.
            None => true,
        }
    }

    fn begins(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn done(&mut self) {
        self.bar.inc(1);
    }

    fn warn(&mut self, text: &str) {
        messages::warning(text);
    }

    /// Prints each machine when it is measured, since all take long.
    fn measured(&mut self, machine: Measured) -> Result<()> {
        let written = match self.format {
            Format::Table => self.bar.suspend(|| terminal::print(&report::table(&machine))),
            Format::Json => Ok(()),
        };
        self.machines.push(machine);
        printed(written)?;
        Ok(())
    }
}

/// A reader that went away (`| head`) is no error: a page is for another one.
fn printed(written: io::Result<()>) -> Result<(), Unprinted> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Unprinted(error.to_string())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, VmCommand, VmRun};

    fn parsed(words: &[&str]) -> VmBench {
        let cli = Cli::try_parse_from(["evenkeel", "vm", "bench"].iter().chain(words)).unwrap();
        match cli.command {
            args::Command::Vm(VmRun { measure: Some(VmCommand::Bench(args)), .. }) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn durations_are_rounded_up() {
        assert_eq!((rounded(41.0), rounded(1201.0)), ("50 seconds".to_owned(), "21 minutes".to_owned()));
    }

    #[test]
    fn each_policy_has_each_host_and_others_come_last() {
        let names = |words: &[&str]| -> Vec<String> {
            schedulers(&parsed(words)).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(&["--policy", "pfs,colab"]), ["stock", "run pfs", "run colab"]);
        let all = names(&["--scx", "--policy", "pfs", "--peer", "scx_lavd=/bin/true"]);
        assert_eq!(all, ["stock", "run pfs", "scx pfs", "scx daemon pfs", "scx_lavd"]);
        let only = |path| names(&["--scx", "--policy", "pfs,static", "--path", path]);
        assert_eq!(only("kernel"), ["stock", "run pfs", "scx pfs", "run static", "scx static"]);
        assert_eq!(only("daemon"), ["stock", "run pfs", "scx daemon pfs", "run static", "scx static"]);
    }

    #[test]
    fn programs_of_the_users_own_are_measured_where_they_are_named_or_alone() {
        let names = |words: &[&str]| -> Vec<String> {
            let words = [&["--own", "app=./app -j{threads}", "--own", "b=make"][..], words].concat();
            chosen(&parsed(&words)).unwrap().into_iter().map(|bench| bench.name).collect()
        };
        assert_eq!(names(&[]), ["app", "b"]);
        assert_eq!(names(&["--programs", "equal,app:2+lu"]), ["equal", "app:2+lu", "b"]);
        assert_eq!(names(&["--programs", "b+app"]), ["b+app"]);
        let all = names(&["--all"]);
        assert!(all.len() > 20 && all.ends_with(&["app".to_owned(), "b".to_owned()]), "{all:?}");
        assert_eq!(chosen(&parsed(&["--own", "c=echo a,b"])).unwrap()[0].members[0].program.about, "echo a,b");
    }

    #[test]
    fn what_does_not_exist_is_one_error() {
        let error = |words: &[&str]| {
            let args = parsed(words);
            let failed = machines(&args).map(drop).and(chosen(&args).map(drop)).and(schedulers(&args).map(drop));
            failed.and(Command::new(&args).map(drop)).unwrap_err().to_string()
        };
        for (words, expected) in [
            (&["--machine", "2B2S:3,255B1S"][..], "\"255B1S\": a guest has at most 255 cores"),
            (&["--programs", "equal,fast"], "fast"),
            (&["--programs", "equal+equal"], "only once"),
            (&["--own", "xz=true"], "--own xz: a program or mix is named so: expected another name"),
            (&["--own", "four=true"], "--own four: a program or mix is named so"),
            (&["--own", "app=true", "--own", "app=false"], "app: named twice"),
            (&["--own", "app=true", "--programs", "app:2"], "app has no {threads}"),
            (&["--own", "app=true", "--programs", "ap"], "did you mean \"app\"?"),
            (&["--policy", "fast"], "fast"),
            (&["--policy", "pfs,pfs"], "run pfs: named twice"),
            (&["--peer", "stock=/bin/true"], "stock: named twice"),
            (&["--peer", "pfs=/bin/true", "--policy", "pfs"], "--peer pfs: a policy is named so"),
            (&["--peer", "x=/no/such/program"], "/no/such/program"),
        ] {
            let found = error(words);
            assert!(found.contains(expected) && !found.contains('\n'), "{words:?}: {found}");
        }
    }

    #[test]
    fn recordings_are_kept_beside_others() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, recording) = (folder.path().join("kept"), folder.path().join("2B2S:3-equal.ek"));
        let command = Command::new(&parsed(&["--recordings", kept.to_str().unwrap()])).unwrap();
        for text in ["first", "second"] {
            fs::write(&recording, text).unwrap();
            command.keep(&recording).unwrap();
        }
        let read = |name: &str| fs::read_to_string(kept.join(name)).unwrap();
        assert_eq!((read("2B2S:3-equal-1.ek"), read("2B2S:3-equal-2.ek")), ("first".into(), "second".into()));
        fs::remove_file(&recording).unwrap();
        assert!(command.keep(&recording).unwrap_err().to_string().ends_with("2B2S:3-equal.ek: cannot be read"));
        // A folder, of which nothing can be copied once it is open.
        fs::create_dir(&recording).unwrap();
        assert!(command.keep(&recording).is_err());
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 2, "nothing is left of one that cannot be kept");
        Command::new(&parsed(&[])).unwrap().keep(&recording).unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let refused = Command::new(&parsed(&["--recordings", folder.path().join("file/x").to_str().unwrap()]));
        assert!(refused.err().unwrap().to_string().ends_with("file/x: cannot be made"));
    }

    #[test]
    fn a_reader_that_went_away_is_no_error_and_a_full_disk_is_one() {
        assert!(printed(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(printed(Err(io::ErrorKind::StorageFull.into())).is_err());
    }

    #[test]
    fn only_a_run_that_failed_by_itself_is_left_out() {
        let (command, signal) = (Command::new(&parsed(&[])).unwrap(), vm::Error::Interrupted(2));
        let failed = bench::Error::Failed { command: "x".into(), code: 125, errors: String::new() };
        let own = bench::Error::Program { program: "app".into(), code: 3, errors: String::new() };
        assert!(command.continues_after(&failed.into()) && command.continues_after(&own.into()));
        assert!(command.continues_after(&anyhow::anyhow!("unusable")));
        assert!(!command.continues_after(&signal.into()));
    }
}

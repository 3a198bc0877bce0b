//! What the commands for real programs share: the machine that they run on, and the account that they give.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anstream::adapter::strip_str;
use anyhow::{Context, Error, Result, bail};
use evenkeel_linux::event::Tid;
use evenkeel_linux::guard::Guard;
use evenkeel_linux::host::{self, Followed, Plan, Short, Summary, Target, ThreadSummary, Waits};
use evenkeel_linux::mask;
use evenkeel_linux::sample::{Inside, PairWaits};
use evenkeel_model::{CoreId, Machine, Ns};
use evenkeel_report::table::{self, Stream};
use evenkeel_sched::policy::{Description, Hook};
use evenkeel_sched::{Setup, ThreadKind};
use evenkeel_topology::{Topology, list};

use crate::args::{Cores, Format, ThisMachine};
use crate::failed::Own;
use crate::{catalog, files, json, messages, terminal};

/// How many threads the summary lists, and how many pairs of a thread that waited and one that was waited for.
const LISTED: usize = 12;
const LISTED_PAIRS: usize = 8;

/// This machine as it is, or as the user says that it is: the CPUs that this process may use.
pub fn topology(cores: &Cores) -> Result<Topology> {
    let chosen = Topology::of_this_machine_with(cores.big.as_deref(), cores.little.as_deref(), cores.ratio);
    let chosen = chosen.map_err(Error::msg)?;
    let usable = usable()?;
    let barred = chosen.ids().into_iter().find(|cpu| !usable.contains(cpu));
    if let Some(cpu) = barred.filter(|_| cores.big.is_some() || cores.little.is_some()) {
        let usable = list::text(&usable);
        bail!("CPU {cpu} is chosen, but this process may only use {usable}; a container or taskset leaves no more");
    }
    Ok(chosen.within(&usable))
}

/// The machine for a scheduler, and the CPU that each of its cores is.
pub fn machine(cores: &Cores) -> Result<(Machine, Vec<u16>)> {
    topology(cores)?.machine("this machine").map_err(Error::msg)
}

/// The same, of a file where the user names one.
pub fn this_machine(this: &ThisMachine) -> Result<(Machine, Vec<u16>)> {
    this.machine.as_deref().map_or_else(|| machine(&this.cores), described)
}

/// This machine as a file has it. `evenkeel topology --save` numbers as cores all CPUs that are online, and those that this process may not use are left
/// out here; a file of those that are left fits as well.
fn described(name: &str) -> Result<(Machine, Vec<u16>)> {
    let machine = catalog::machine(name)?;
    let (usable, online, cores) = (usable()?, mask::online(), machine.cores.len());
    if cores == usable.len() {
        return Ok((machine, usable));
    }
    if cores == online.len() {
        let own = (0..).map(CoreId).zip(&online).filter(|(_, cpu)| usable.contains(cpu));
        return Ok((machine.within(own.map(|(core, _)| core).collect()), usable));
    }
    let here = list::text(&usable);
    let all = if usable == online { String::new() } else { format!(", and {} are online", online.len()) };
    bail!(
        "machine {name} has {cores} cores, but the CPUs that this process may use are {here} ({} of them{all}): expected a core for each, in their order; \
         `evenkeel topology --save FILE.toml` writes such a machine, and `taskset -c CPUS evenkeel ...` leaves fewer CPUs",
        usable.len()
    )
}

/// The CPUs that this process may use, ascending. None is offline.
fn usable() -> Result<Vec<u16>> {
    mask::own().context("cannot read which CPUs this process may use")
}

/// Follows a program as planned until it ends.
pub fn follow(plan: &Plan, target: Target<'_>, guard: Guard) -> Result<Followed> {
    Ok(host::follow(plan, target, guard, &mut |text| messages::warning(text))?)
}

/// A guard, before anything is changed.
pub fn guard() -> Result<Guard> {
    Guard::spawn().context(Own("cannot start the process that gives affinity masks back"))
}

/// Where an account is written: to its file, or to standard error if there is none.
pub fn stream(output: Option<&files::Target>) -> Stream {
    output.map_or(Stream::Errors, |_| Stream::File)
}

/// Writes an account to its file, without styles, or to standard error if there is none or it cannot be written.
pub fn write(text: &str, output: Option<files::Target>, quiet: bool) -> Result<()> {
    let written = output.map(|target| target.write(strip_str(&terminal::styled(text)).to_string().as_bytes()));
    let needed = !quiet && !matches!(written, Some(Ok(())));
    let said = if needed { messages::account(text) } else { Ok(()) };
    written.unwrap_or(Ok(()))?;
    Ok(said?)
}

/// One of this program's commands, with the options for a machine. More options, or `--` and a command, are to follow.
pub fn for_machine(command: &[&str], big: &[u16], little: &[u16], ratio: f64) -> Result<Vec<String>> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut words = vec![program.display().to_string()];
    words.extend(command.iter().map(|word| (*word).to_owned()));
    words.extend(["--big".into(), list::text(big)]);
    if !little.is_empty() {
        words.extend(["--little".into(), list::text(little), "--ratio".into(), ratio.to_string()]);
    }
    Ok(words)
}

/// What a followed program did.
pub struct Account<'a> {
    /// How it was followed.
    pub plan: &'a Plan,
    /// What was seen.
    pub summary: &'a Summary,
    names: BTreeMap<Tid, &'a str>,
}

impl<'a> Account<'a> {
    /// An account of this.
    pub fn new(plan: &'a Plan, summary: &'a Summary) -> Self {
        let names = summary.threads.iter().map(|thread| (thread.tid, thread.name.as_str())).collect();
        Self { plan, summary, names }
    }

    /// What a thread is called, with its number, since many threads share a name.
    pub fn thread_name(&self, tid: Tid) -> String {
        format!("{} {tid}", self.names.get(&tid).copied().filter(|name| !name.is_empty()).unwrap_or("thread"))
    }

    /// What a process is called: its first thread's name.
    pub fn process_name(&self, process: Tid) -> String {
        self.names.get(&process).map_or_else(|| format!("process {process}"), |name| (*name).to_owned())
    }

    /// A CPU with its core type, if it is one of those that threads are moved between.
    pub fn cpu_name(&self, cpu: u16) -> String {
        let core = self.plan.cpus.iter().position(|known| *known == cpu);
        let core = core.map(|core| self.plan.machine.core_type(CoreId(core as u16)));
        core.map_or_else(|| format!("cpu {cpu}"), |core| format!("cpu {cpu} {}", core.name))
    }

    /// The account, for people or for programs.
    pub fn text(&self, format: Format, to: Stream) -> Result<String> {
        match format {
            Format::Table => Ok(self.table(to)),
            Format::Json => json::print(&self.json()),
        }
    }

    /// The names of the core types.
    pub fn types(&self) -> Vec<&str> {
        self.plan.machine.core_types.iter().map(|kind| kind.name.as_str()).collect()
    }

    fn table(&self, to: Stream) -> String {
        let summary = self.summary;
        let mut text = format!("\n{}", table::heading(&format!("evenkeel run: {}", self.plan.policy.name())));
        let mut facts = table::on(to, &["", ">", ""]);
        for (name, value, remark) in self.facts() {
            facts.add_row([name, value, remark]);
        }
        text += &table::text(&facts);
        let _ = write!(text, "\n{}", self.threads(to));
        if summary.threads.len() > LISTED {
            let _ = writeln!(text, "... and {} more; --format json has all", summary.threads.len() - LISTED);
        }
        let pairs: Vec<&PairWaits> = summary.waiting_pairs().collect();
        if !pairs.is_empty() {
            let mut waits = table::on(to, &["waiter", "waker", ">how long", ">times"]);
            for pair in pairs.iter().take(LISTED_PAIRS) {
                waits.add_row([
                    self.thread_name(pair.waiter),
                    self.thread_name(pair.waker),
                    pair.waited.to_string(),
                    pair.times.to_string(),
                ]);
            }
            let _ = write!(text, "\n{}", table::text(&waits));
            if pairs.len() > LISTED_PAIRS {
                let _ = writeln!(text, "... and {} more; --format json has all", pairs.len() - LISTED_PAIRS);
            }
        }
        for note in self.notes() {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }

    /// Name, value and remark of what there is to say of the whole run.
    pub fn facts(&self) -> Vec<(String, String, String)> {
        let summary = self.summary;
        let mut facts = Vec::new();
        let mut fact = |name: &str, value: String, remark: String| facts.push((name.to_owned(), value, remark));
        fact("elapsed", summary.elapsed.to_string(), String::new());
        for (at, policy) in &summary.policies {
            fact("then", policy.clone(), format!("from {at} on"));
        }
        for (name, run) in self.types().iter().zip(summary.run) {
            fact(&format!("on {name} cores"), run.to_string(), "of all threads".into());
        }
        if summary.unseen > Ns::ZERO {
            let remark = "not seen by samples: of threads too short-lived, and of others before they ended";
            fact("not sampled", summary.unseen.to_string(), remark.into());
        }
        let Short { threads, .. } = summary.short;
        if threads > 0 {
            let remark = format!("of {threads} threads that began and ended between two samples, not listed below");
            fact("short-lived", summary.short.total().to_string(), remark);
        }
        fact("ready", summary.delay.to_string(), "of all threads: could run, and had no core".into());
        if let Some(Waits { waited, idle }) = summary.waits {
            fact("waits", waited.to_string(), "of all threads for others: locks, barriers, queues (futex)".into());
            let remark = "of threads that waited for work or time: service threads, and those that did next to nothing";
            fact("idle", idle.to_string(), remark.into());
        }
        let preempted = summary.preempted().map_or_else(String::new, |preempted| format!("{preempted} by preemption"));
        fact("switches", summary.switches.to_string(), preempted);
        fact("moves", summary.moves.to_string(), "to another core type".into());
        if summary.binds > 0 {
            fact("bindings", summary.binds.to_string(), "of a thread to a set of cores".into());
        }
        let every = Ns(summary.elapsed.0 / summary.samples.max(1));
        let share = 100.0 * self.cost();
        fact(
            "cost",
            summary.cost.to_string(),
            format!("{share:.2} % of one CPU, a sample every {every}, at most {} apart", summary.longest_gap),
        );
        if summary.refused > 0 {
            fact("refused", summary.refused.to_string(), "changes of a mask that this user may not make".into());
        }
        facts
    }

    /// What following costs, as a share of one CPU.
    pub fn cost(&self) -> f64 {
        self.summary.cost.0 as f64 / self.summary.elapsed.0.max(1) as f64
    }

    /// What a reader should know: what could not be seen, and what could not be done.
    pub fn notes(&self) -> Vec<String> {
        let unenforced = self.unenforced();
        let unenforced =
            (!unenforced.is_empty()).then(|| format!("Not enforced through affinity: {}.", unenforced.join(", ")));
        self.summary.missing.iter().cloned().chain(unenforced).collect()
    }

    fn threads(&self, to: Stream) -> String {
        let seen = self.summary.pairs.is_some();
        let mut columns = vec!["thread".to_owned(), ">id".into()];
        columns.extend(self.types().iter().map(|name| format!(">on {name}")));
        columns.push(">ready".into());
        if seen {
            columns.extend([">waited".into(), ">waited for".into()]);
        }
        columns.push(String::new());
        let mut threads = table::on(to, &columns.iter().map(String::as_str).collect::<Vec<_>>());
        for thread in self.summary.threads.iter().take(LISTED) {
            let mut row = vec![thread.name.clone(), thread.tid.to_string()];
            row.extend(thread.run[..self.types().len()].iter().map(ToString::to_string));
            row.push(thread.delay.to_string());
            if seen {
                let show = |time: fn(&Inside) -> Ns| thread.inside.as_ref().map_or(Ns::ZERO, time).to_string();
                row.extend([show(|inside| inside.waited), show(|inside| inside.blame)]);
            }
            row.push(match thread.kind {
                ThreadKind::Service => "service".into(),
                ThreadKind::Application if thread.idles => "idle".into(),
                ThreadKind::Application => String::new(),
            });
            threads.add_row(row);
        }
        table::text(&threads)
    }

    /// The policies that decided, one after the other.
    fn deciders(&self) -> Vec<&'static Description> {
        deciders(self.plan.policy.description(), &self.summary.policies)
    }

    /// The hooks of the policies that affinity masks cannot enforce.
    fn unenforced(&self) -> Vec<&'static str> {
        let text = |hook| match hook {
            Hook::Slice => Some("the length of slices"),
            Hook::Charge => Some("the order of threads that wait for the same core"),
            Hook::Preempts => Some("preemption at wake-ups"),
            Hook::Admit | Hook::Place | Hook::Pick | Hook::Balance | Hook::Turned | Hook::Refresh => None,
        };
        let hooks: BTreeSet<Hook> = self.deciders().into_iter().flat_map(Description::hooks).collect();
        hooks.into_iter().filter_map(text).collect()
    }

    fn json(&self) -> json::Followed<'_> {
        let summary = self.summary;
        let seconds = |ns: &Ns| ns.0 as f64 / 1e9;
        let types = self.types();
        let by_type = |run: &[Ns]| run[..types.len()].iter().map(seconds).collect::<Vec<_>>();
        let thread = |thread: &'a ThreadSummary| json::FollowedThread {
            tid: thread.tid,
            process: thread.process,
            name: &thread.name,
            service: thread.kind == ThreadKind::Service,
            idles: summary.pairs.as_ref().map(|_| thread.idles),
            run_s: by_type(&thread.run),
            delay_s: seconds(&thread.delay),
            waited_s: thread.inside.map(|inside| seconds(&inside.waited)),
            blame_s: thread.inside.map(|inside| seconds(&inside.blame)),
            switches: thread.switches,
            preemptions: thread.inside.map(|inside| inside.preempted),
        };
        let pair = |pair: &PairWaits| json::Waits {
            waiter: pair.waiter,
            waker: pair.waker,
            waited_s: seconds(&pair.waited),
            times: pair.times,
        };
        json::Followed {
            policy: self.plan.policy.name(),
            policies: later(&summary.policies),
            core_types: self.types(),
            elapsed_s: seconds(&summary.elapsed),
            run_s: by_type(&summary.run),
            used_s: seconds(&summary.used),
            unseen_s: seconds(&summary.unseen),
            short: json::FollowedShort {
                threads: summary.short.threads,
                run_s: by_type(&summary.short.run),
                delay_s: seconds(&summary.short.delay),
            },
            delay_s: seconds(&summary.delay),
            waited_s: summary.waits.map(|waits| seconds(&waits.waited)),
            idle_s: summary.waits.map(|waits| seconds(&waits.idle)),
            switches: summary.switches,
            preemptions: summary.preempted(),
            moves: summary.moves,
            binds: summary.binds,
            refused: summary.refused,
            samples: summary.samples,
            longest_gap_s: seconds(&summary.longest_gap),
            cost_s: seconds(&summary.cost),
            unenforced: self.unenforced(),
            missing: &summary.missing,
            threads: summary.threads.iter().map(thread).collect(),
            waits: summary.pairs.as_ref().map(|pairs| pairs.iter().map(pair).collect()),
        }
    }
}
/// Policies that took over in the middle, as JSON.
pub fn later(policies: &[(Ns, String)]) -> Vec<json::LaterPolicy<'_>> {
    policies.iter().map(|(at, policy)| json::LaterPolicy { at_s: at.0 as f64 / 1e9, policy }).collect()
}

/// The policies that decided, each once: the first, and those that took over in the middle.
pub fn deciders(first: &'static Description, later: &[(Ns, String)]) -> Vec<&'static Description> {
    let mut all = vec![first];
    for policy in later.iter().filter_map(|(_, name)| Setup::parse(name).ok()).map(|setup| setup.description()) {
        if all.iter().all(|known| known.name != policy.name) {
            all.push(policy);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use evenkeel_linux::host::PERIOD;
    use evenkeel_model::machines;

    use super::*;
    use crate::catalog;

    #[test]
    fn notes_are_of_every_policy_that_decided() {
        let plan = Plan {
            machine: machines::by_name("2B2S").unwrap(),
            cpus: vec![0, 1, 2, 3],
            policy: catalog::live_policy("cfs").unwrap(),
            period: PERIOD,
            timeline: false,
        };
        let notes = |later: &[&str]| {
            let policies = later.iter().map(|name| (Ns::ZERO, (*name).to_owned())).collect();
            Account::new(&plan, &Summary { policies, ..Summary::default() }).notes()
        };
        let slices =
            "Not enforced through affinity: the length of slices, the order of threads that wait for the same core.";
        assert_eq!(notes(&["bias"]), Vec::<String>::new());
        assert_eq!(notes(&["bias", "colab", "cfs", "colab:gc=big"]), [slices]);
    }
}

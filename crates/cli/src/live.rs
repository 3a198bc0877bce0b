//! What the commands for real programs share: the machine that they run on, and the account that they give.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use evenkeel_linux::host::{Plan, Summary, ThreadSummary};
use evenkeel_linux::topology::{Topology, list};
use evenkeel_model::{Machine, Ns};
use evenkeel_sched::Kind;
use serde::Serialize;

use crate::args::{Cores, Format};
use crate::{json, table};

/// How many threads the summary lists.
const LISTED: usize = 12;

/// This machine as it is, or as the user says that it is, and the CPU that each of its cores is.
pub fn machine(cores: &Cores) -> Result<(Machine, Vec<u16>)> {
    let found = Topology::read(Path::new("/")).map_err(anyhow::Error::msg)?;
    let topology = found.with(cores.big.as_deref(), cores.little.as_deref(), cores.ratio);
    topology.and_then(|topology| topology.machine("this machine")).map_err(anyhow::Error::msg)
}

/// Makes sure that a command can be found.
pub fn find(command: &OsStr) -> Result<()> {
    which::which(command).map(|_| ()).with_context(|| {
        format!("{}: no such command; is it installed, executable, and in PATH?", command.to_string_lossy())
    })
}

/// `evenkeel run` of a policy on such a machine, up to its options; `--` and the command are to follow.
pub fn under(policy: &str, big: &[u16], little: &[u16], ratio: f64) -> Result<Vec<String>> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut words = vec![program.display().to_string(), "run".into(), "--policy".into(), policy.into()];
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
}

impl Account<'_> {
    /// The account, for people or for programs.
    pub fn text(&self, format: Format) -> Result<String> {
        match format {
            Format::Table => Ok(self.table()),
            Format::Json => json::print(&self.json()),
        }
    }

    fn types(&self) -> Vec<&str> {
        self.plan.machine.core_types.iter().map(|kind| kind.name.as_str()).collect()
    }

    fn table(&self) -> String {
        let summary = self.summary;
        let mut text = format!("\n{}", table::heading(&format!("evenkeel run: {}", self.plan.policy.name)));
        let mut facts = table::new(&["", ">", ""]);
        let mut fact = |name: &str, value: String, remark: String| {
            facts.add_row([name, value.as_str(), remark.as_str()]);
        };
        fact("elapsed", summary.elapsed.to_string(), String::new());
        for (name, run) in self.types().iter().zip(summary.run) {
            fact(&format!("on {name} cores"), run.to_string(), "of all threads".into());
        }
        fact("moves", summary.moves.to_string(), "to another core type".into());
        if summary.binds > 0 {
            fact("bindings", summary.binds.to_string(), "of a thread to a set of cores".into());
        }
        let share = summary.cost.0 as f64 / summary.elapsed.0.max(1) as f64;
        let every = Ns(summary.elapsed.0 / summary.looks.max(1));
        fact(
            "cost",
            summary.cost.to_string(),
            format!("{:.2} % of one CPU, a look every {every}, at most {} apart", 100.0 * share, summary.longest_gap),
        );
        if summary.refused > 0 {
            fact("refused", summary.refused.to_string(), "changes of a mask that this user may not make".into());
        }
        text += &table::text(&facts);
        let mut columns = vec!["thread".to_owned(), ">id".into()];
        columns.extend(self.types().iter().map(|name| format!(">on {name}")));
        columns.extend([">waited".into(), "".into()]);
        let mut threads = table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
        for thread in summary.threads.iter().take(LISTED) {
            let mut row = vec![thread.name.clone(), thread.tid.to_string()];
            row.extend(thread.run[..self.types().len()].iter().map(ToString::to_string));
            row.push(thread.delay.to_string());
            row.push(if thread.kind == Kind::Service { "service".into() } else { String::new() });
            threads.add_row(row);
        }
        let _ = write!(text, "\n{}", table::text(&threads));
        if summary.threads.len() > LISTED {
            let _ = writeln!(text, "... and {} more", summary.threads.len() - LISTED);
        }
        if let Some(missing) = &summary.missing {
            let _ = writeln!(text, "\n{missing}");
        }
        let unenforced = self.unenforced();
        if !unenforced.is_empty() {
            let _ = writeln!(text, "\nNot enforced through affinity: {}.", unenforced.join(", "));
        }
        text
    }

    /// The hooks of the policy that affinity masks cannot enforce.
    fn unenforced(&self) -> Vec<&'static str> {
        use evenkeel_sched::policy::Hook;
        let text = |hook: &Hook| match hook {
            Hook::Slice => Some("the length of slices"),
            Hook::Charge => Some("the order of threads that wait for the same core"),
            Hook::Preempts => Some("preemption at wake-ups"),
            Hook::Admit | Hook::Place | Hook::Pick | Hook::Balance | Hook::Refresh => None,
        };
        self.plan.policy.hooks.iter().filter_map(text).collect()
    }

    fn json(&self) -> JsonAccount<'_> {
        let seconds = |ns: &Ns| ns.0 as f64 / 1e9;
        let types = self.types();
        let by_type = |run: &[Ns]| run[..types.len()].iter().map(seconds).collect::<Vec<_>>();
        let thread = |thread: &ThreadSummary| JsonThread {
            tid: thread.tid,
            process: thread.process,
            name: thread.name.clone(),
            service: thread.kind == Kind::Service,
            run_s: by_type(&thread.run),
            delay_s: seconds(&thread.delay),
        };
        JsonAccount {
            policy: self.plan.policy.name,
            core_types: types.iter().map(ToString::to_string).collect(),
            elapsed_s: seconds(&self.summary.elapsed),
            run_s: by_type(&self.summary.run),
            moves: self.summary.moves,
            binds: self.summary.binds,
            refused: self.summary.refused,
            looks: self.summary.looks,
            cost_s: seconds(&self.summary.cost),
            unenforced: self.unenforced(),
            threads: self.summary.threads.iter().map(thread).collect(),
        }
    }
}

#[derive(Serialize)]
struct JsonAccount<'a> {
    policy: &'a str,
    core_types: Vec<String>,
    elapsed_s: f64,
    run_s: Vec<f64>,
    moves: u64,
    binds: u64,
    refused: u64,
    looks: u64,
    cost_s: f64,
    unenforced: Vec<&'static str>,
    threads: Vec<JsonThread>,
}

#[derive(Serialize)]
struct JsonThread {
    tid: u32,
    process: u32,
    name: String,
    service: bool,
    run_s: Vec<f64>,
    delay_s: f64,
}

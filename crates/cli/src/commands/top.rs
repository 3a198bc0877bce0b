//! `evenkeel top`: what a host that runs is doing, live, and changes of what it does.

use std::io::{ErrorKind, IsTerminal};

use anyhow::{Result, bail};
use evenkeel_linux::monitor::{self, Change, Watcher};
use evenkeel_report::table;
use evenkeel_sched::POLICIES;
use evenkeel_top::{App, Facts, ThreadRow, View};
use evenkeel_topology::list;

use crate::args::{Format, Pin, Top};
use crate::failed::Unprinted;
use crate::{closed, json, terminal};

/// Shows, prints or changes what was asked for.
pub fn run(args: &Top) -> Result<String> {
    let mut watcher = Watcher::open(host(args.pid)?)?;
    let change = match (&args.policy, &args.pin) {
        (Some(policy), _) => Some(Change::Policy(policy.clone())),
        (None, Some(Pin { tid, cpus })) => Some(Change::Pin { tid: *tid, cpus: cpus.clone() }),
        (None, None) => None,
    };
    if let Some(change) = change {
        watcher.change(change)?;
        return Ok(String::new());
    }
    let policies = POLICIES.iter().filter(|policy| !policy.foresight).map(|policy| policy.name.to_owned());
    let app = App::new(args.every, args.sort, args.filter.clone(), policies.collect());
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if is_terminal && args.count.is_none() && args.format.format == Format::Table {
        evenkeel_top::watch(watcher, app, Facts::new("/"))?;
        return Ok(String::new());
    }
    print(&mut watcher, app, args.count.unwrap_or(1), args.format.format)?;
    Ok(String::new())
}

/// The host to watch: the one of that process, or the only one.
fn host(pid: Option<u32>) -> Result<u32> {
    if let Some(pid) = pid {
        return Ok(pid);
    }
    let found = monitor::found();
    match found.as_slice() {
        [] => bail!(
            "no `evenkeel run` or `evenkeel scx` runs on this machine: start one, such as `evenkeel run -- ./app`"
        ),
        [one] => Ok(one.pid),
        several => {
            let list: Vec<String> = several.iter().map(|host| format!("\n  {}  {}", host.pid, host.command)).collect();
            bail!("there are {} to watch: expected one of these processes as PID{}", several.len(), list.concat())
        }
    }
}

/// Prints snapshots as they come.
fn print(watcher: &mut Watcher, mut app: App, count: u64, format: Format) -> Result<()> {
    let mut facts = Facts::new("/");
    let mut before = None;
    for number in 0..count {
        let now = if number == 0 { Some(watcher.begin(app.every)?) } else { watcher.snapshot()? };
        let Some(now) = now else { return Ok(()) };
        app.show(View::new(before.as_ref(), &now, &mut facts));
        before = Some(now);
        let text = match format {
            Format::Json => json::line(&document(&app.view, &app.rows()))? + "\n",
            Format::Table => text(&app.view, &app.rows()),
        };
        if closed::output() {
            bail!(Unprinted("standard output is closed".into()));
        }
        match terminal::print(&text) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(|error| Unprinted(error.to_string()))?,
        }
    }
    Ok(())
}

fn text(view: &View, rows: &[ThreadRow]) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let or_none = |share: Option<f64>| share.map_or_else(String::new, percent);
    let seconds = view.elapsed.0 as f64 / 1e9;
    let heading = format!("evenkeel {} {}: policy {}, after {seconds:.1} s", view.host, view.pid, view.policy);
    let mut cores = table::new(&[">cpu", "type", ">frequency", ">busy", "thread"]);
    for core in &view.cores {
        cores.add_row([
            core.cpu.to_string(),
            view.core_types.get(core.core_type).cloned().unwrap_or_default(),
            core.frequency.map_or_else(String::new, |clock| format!("{:.2} GHz", clock.0 as f64 / 1e9)),
            or_none(core.busy),
            core.thread.as_ref().map_or_else(String::new, |(name, tid)| format!("{name} {tid}")),
        ]);
    }
    let mut threads =
        table::new(&[">tid", "name", ">on", ">run", ">big", ">ready", ">blame", ">speedup", "label", "pinned"]);
    for row in rows {
        threads.add_row([
            row.tid.to_string(),
            row.name.clone(),
            row.cpu.to_string(),
            percent(row.run),
            or_none(row.big),
            percent(row.ready),
            or_none(row.blame),
            row.speedup.map_or_else(String::new, |speedup| format!("{speedup:.2}")),
            if row.service { "service" } else { row.label.name() }.to_owned(),
            list::text(&row.pinned),
        ]);
    }
    let missing: String = view.missing.iter().map(|missing| format!("{missing}\n")).collect();
    format!("{}{}\n{}{missing}", table::heading(&heading), table::text(&cores), table::text(&threads))
}

fn document<'a>(view: &'a View, rows: &'a [ThreadRow]) -> json::Watched<'a> {
    let core = |core: &evenkeel_top::CoreRow| json::WatchedCore {
        cpu: core.cpu,
        core_type: core.core_type,
        frequency_hz: core.frequency.map(|clock| clock.0),
        busy: core.busy,
        tid: core.thread.as_ref().map(|(_, tid)| *tid),
    };
    let thread = |row: &'a ThreadRow| json::WatchedThread {
        tid: row.tid,
        process: row.process,
        name: &row.name,
        service: row.service,
        state: row.state.name(),
        cpu: row.cpu,
        label: row.label.name(),
        speedup: row.speedup,
        run: row.run,
        big: row.big,
        ready: row.ready,
        blame: row.blame,
        pinned: &row.pinned,
    };
    json::Watched {
        host: &view.host,
        pid: view.pid,
        policy: &view.policy,
        elapsed_s: view.elapsed.0 as f64 / 1e9,
        cost: view.cost,
        core_types: view.core_types.iter().map(String::as_str).collect(),
        cores: view.cores.iter().map(core).collect(),
        threads: rows.iter().map(thread).collect(),
        missing: &view.missing,
    }
}

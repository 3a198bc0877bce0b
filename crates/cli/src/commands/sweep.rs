//! `evenkeel sweep` and `evenkeel merge`: every combination of a grid, on one machine or several.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use evenkeel_experiment::catalog;
use evenkeel_report::{page, text};
use evenkeel_sweep::{Done, Error, Grid, Merging, Request, Shard, Summary};

use crate::args::{Format, Merge, Sweep, beside, command_line};
use crate::clock::Stopwatch;
use crate::files::{Target, Unwritten};
use crate::interrupted::Interrupted;
use crate::progress::Work;
use crate::{json, messages};

/// Runs `sweep`.
pub fn run(args: &Sweep) -> Result<String> {
    let watch = Stopwatch::start();
    let file = args.grid.display().to_string();
    let reading = Work::before_runs();
    let grid = Grid::parse(&catalog::read(&file)?, &file, Some(beside), reading.control().progress)?;
    drop(reading);
    let table = args.table.clone().unwrap_or_else(|| default_table(&args.grid));
    let request = Request { table, shard: args.shard, drop: args.drop, fresh: args.fresh };
    if args.dry_run {
        return plan(&grid, &request, args);
    }
    let named = grid.named().map(Path::new).chain([args.grid.as_path()]);
    apart(args.html.as_deref(), &request.table, named)?;
    let html = Target::open_some(args.html.as_ref())?;
    let work = Work::begin("sweeping", args.limit.max_events);
    let Done { runs, computed, .. } = match evenkeel_sweep::sweep(&grid, &request, &work.control()) {
        Ok(done) => done,
        Err(Error::Stopped { done, of }) => {
            let how = if args.fresh { "without --fresh " } else { "" };
            let reached = format!("{done} of {of} runs; {how}the same command continues from there");
            return Err(Interrupted { report: String::new(), reached }.into());
        }
        Err(error) => return Err(error.into()),
    };
    drop(work);
    report(&request.table, runs, Some(computed), args.output.format, html, watch.seconds())
}

/// Runs `merge`.
pub fn merge(args: &Merge) -> Result<String> {
    let watch = Stopwatch::start();
    apart(args.html.as_deref(), &args.table, args.parts.iter().map(PathBuf::as_path))?;
    let html = Target::open_some(args.html.as_ref())?;
    let runs =
        evenkeel_sweep::merge(&args.parts, &args.table, Merging { incomplete: args.incomplete, drop: args.drop })?;
    report(&args.table, runs, None, args.output.format, html, watch.seconds())
}

/// A page does not take the place of what it is about: the table, its journal, what they are made of.
fn apart<'a>(html: Option<&Path>, table: &Path, others: impl Iterator<Item = &'a Path>) -> Result<()> {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let Some(html) = html else { return Ok(()) };
    let own = evenkeel_sweep::journals(table).into_iter().chain([table.to_path_buf()]);
    for other in others.map(Path::to_path_buf).chain(own) {
        if let (Ok(page), Ok(file)) = (real(html), real(&other))
            && page == file
        {
            bail!("--html {}: it is a file of the sweep: expected another name", html.display());
        }
    }
    Ok(())
}

/// The grid's name, in this folder.
fn default_table(grid: &Path) -> PathBuf {
    let mut name = grid.file_stem().unwrap_or("sweep".as_ref()).to_owned();
    name.push(".parquet");
    name.into()
}

/// What a table amounts to.
fn report(
    table: &Path,
    runs: u64,
    computed: Option<u64>,
    format: Format,
    html: Option<Target>,
    seconds: f64,
) -> Result<String> {
    let summary = Summary::read(table)?;
    if let Some(error) = &summary.first_error {
        let others = if summary.failed > 1 { format!(", and {} more", summary.failed - 1) } else { String::new() };
        messages::warning(format_args!("{error}{others}: see the column `error`"));
    }
    let file = table.display().to_string();
    let page = |target: Target| target.write(page::sweep(&file, runs, &summary, &command_line()).as_bytes());
    let written = html.map_or(Ok(()), page);
    let text = match format {
        Format::Json => json::print(&json::Swept::of(file.into(), runs, computed, &summary, seconds))?,
        Format::Table => told(&summary, &file, runs, computed, seconds),
    };
    Ok(Unwritten::report(written, text)?)
}

/// The same for people.
fn told(summary: &Summary, file: &str, runs: u64, computed: Option<u64>, seconds: f64) -> String {
    let mut text = text::sweep(summary);
    let how = match computed {
        None => String::new(),
        Some(0) => ", all of which were there".into(),
        Some(computed) => {
            let speed = computed as f64 / seconds.max(1e-3);
            let known = if computed < runs { format!(", {} were there", runs - computed) } else { String::new() };
            format!(": {computed} done in {seconds:.1} s, {speed:.0} a second{known}")
        }
    };
    let _ = writeln!(text, "{file} has {runs} runs{how}.");
    text
}

/// What would be run.
fn plan(grid: &Grid, request: &Request, args: &Sweep) -> Result<String> {
    let Request { shard, ref table, .. } = *request;
    let (of_shard, done) = (grid.runs_of(shard), evenkeel_sweep::already(grid, request, args.limit.max_events)?);
    if args.output.format == Format::Json {
        return json::print(&json::Planned::of(&grid.varied(), grid.runs(), (shard.to_string(), of_shard, done)));
    }
    let [workloads, machines, conditions, policies, orders, seeds] = grid.counts();
    let part = match shard {
        Shard::ALL => String::new(),
        part => format!("{of_shard} runs of part {part}, of "),
    };
    let mut text = format!(
        "{part}{} runs, to {}:\n  {workloads} workloads x {machines} machines x {conditions} sets of conditions x {policies} policies x \
         {orders} core orders x {seeds} seeds\n",
        grid.runs(),
        table.display()
    );
    for (name, values) in grid.varied() {
        let _ = writeln!(text, "  {name} = {}", values.join(", "));
    }
    match done {
        0 => {}
        all if all == of_shard => text.push_str("All of them are done already.\n"),
        some => _ = writeln!(text, "{some} of them are done already; {} are left.", of_shard - some),
    }
    Ok(text)
}

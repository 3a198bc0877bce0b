//! `evenkeel help`, `evenkeel completions` and `evenkeel man`: what is known about the commands, in other forms.

use std::fmt::Write;
use std::fs;
use std::io::Read;

use anyhow::{Context, Result};
use clap::CommandFactory;
use evenkeel_experiment::catalog;
use evenkeel_report::table;
use evenkeel_sched::policy::POLICIES;
use flate2::read::ZlibDecoder;

use crate::args::{Cli, Completions, Help, Man};
use crate::names;
use crate::page_text::{laid_out, without_comments};

macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".z"))
    };
}
macro_rules! pages {
    ($($name:literal: $what:literal),* $(,)?) => {
        /// Name, subject and packed text of the guide's pages.
        const PAGES: &[(&str, &str, &[u8])] = &[$(($name, $what, packed!($name))),*];
    };
}
/// Packed text of the pages that describe policies, with a section for each.
const ON_POLICIES: [&[u8]; 6] =
    [packed!("linux"), packed!("big-little"), packed!("wash"), packed!("colab"), packed!("bias"), packed!("oracle")];
pages! {
    "guide": "problems, and what solves them",
    "install": "which package to take, the unit for the scheduler inside the kernel",
    "run": "running a program under a policy",
    "openmp": "loops split by how fast cores are",
    "policies": "which policy to try, and which pages describe them",
    "kernel": "policies inside the kernel",
    "top": "watching a scheduler at work",
    "machines": "machines and their files, governors",
    "workloads": "describing a program",
    "tasks": "programs made of tasks",
    "rt-app": "rt-app files",
    "recording": "recording real programs",
    "emulation": "emulated and virtual machines",
    "sweeps": "every combination of a grid",
    "pages": "what --html writes: timelines to look into, figures",
    "python": "notebooks, plots, a policy written in Python",
    "reproductions": "what of five papers is reproduced, and how",
    "complaints": "reported problems, and which policies solve them",
    "runtime": "the work-stealing runtime",
    "rayon": "the runtime under programs that use Rayon",
    "json": "the fields of --format json",
}

/// Runs `help`.
pub fn run(args: &Help) -> Result<String> {
    let mut root = Cli::command();
    let Some(topic) = &args.topic else {
        let mut text = root.render_long_help().ansi().to_string();
        text += "\nPages of the guide (`evenkeel help PAGE`):\n";
        for (name, what, _) in PAGES {
            let _ = writeln!(text, "  {name:14} {what}");
        }
        text +=
            "  POLICY         what a policy decides, where it wins and where it loses, such as `evenkeel help colab`\n";
        return Ok(text);
    };
    if POLICIES.iter().any(|policy| policy.name == topic) {
        return on_policy(topic);
    }
    if let Some((.., text)) = PAGES.iter().find(|(name, ..)| name == topic && root.find_subcommand(name).is_none()) {
        return Ok(shown(&unpacked(text)?));
    }
    root.build();
    if let Some(command) = root.find_subcommand_mut(topic).filter(|command| !command.is_hide_set()) {
        let mut text = command.render_long_help().ansi().to_string();
        if let Some((.., page)) = PAGES.iter().find(|(name, ..)| name == topic) {
            let _ = write!(text, "\n{}", shown(&unpacked(page)?));
        }
        return Ok(text);
    }
    Err(catalog::unknown("topic", topic, topics(&root)).into())
}

/// What the guide says of a policy: the section under its name.
fn on_policy(name: &str) -> Result<String> {
    let level = |line: &str| line.find(|letter| letter != '#').filter(|level| *level > 0);
    let mut section = String::new();
    for page in ON_POLICIES {
        let page = unpacked(page)?;
        let is_heading = |line: &&str| line.trim_start_matches('#').strip_prefix(' ') == Some(name);
        let mut lines = page.lines().skip_while(|line| level(line).is_none() || !is_heading(line));
        let Some(heading) = lines.next() else { continue };
        let ends = |line: &&str| level(line).is_some_and(|level_there| Some(level_there) <= level(heading));
        for line in [heading].into_iter().chain(lines.take_while(|line| !ends(line))) {
            section += line;
            section.push('\n');
        }
    }
    Ok(shown(&section))
}

/// What there is help for: commands, pages, then policies.
fn topics(root: &clap::Command) -> Vec<&str> {
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set()).map(|command| command.get_name());
    let pages = PAGES.iter().map(|(name, ..)| *name).filter(|page| root.find_subcommand(page).is_none());
    commands.chain(pages).chain(POLICIES.iter().map(|policy| policy.name)).collect()
}

/// A page without comments, laid out for the terminal if there is one: elsewhere it is Markdown, for other programs to read.
fn shown(page: &str) -> String {
    let page = without_comments(page);
    // As wide as tables are there.
    table::new(&[]).width().map(|width| laid_out(&page, width.into())).unwrap_or(page)
}

/// A page as build.rs found it.
fn unpacked(packed: &[u8]) -> Result<String> {
    let mut text = String::new();
    ZlibDecoder::new(packed).read_to_string(&mut text).context("a page of the guide is damaged")?;
    Ok(text)
}

/// Runs `completions`.
pub fn completions(args: &Completions) -> Result<String> {
    let all = Cli::command();
    // Those for Evenkeel's own use would be offered, too.
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let topics = topics(&all);
    let shown = shown.map(|command| names::known(command, &topics, args.shell));
    let root = clap::Command::new("evenkeel").version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    let mut root = root.args(all.get_arguments().cloned()).subcommands(shown);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut root, "evenkeel", &mut script);
    Ok(String::from_utf8(script)?)
}

/// Runs `man`.
pub fn man(args: &Man) -> Result<String> {
    let folder = &args.folder;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), folder)
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(format!("The pages of evenkeel and its commands are in {}.\n", folder.display()))
}

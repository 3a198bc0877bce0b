//! `evenkeel help`, `evenkeel completions` and `evenkeel man`: what is known about the commands, in other forms.

use std::fmt::Write;
use std::fs;
use std::io::Read;

use anyhow::{Context, Result};
use clap::CommandFactory;
use evenkeel_experiment::catalog;
use evenkeel_report::table;
use flate2::read::ZlibDecoder;

use crate::args::{Cli, Completions, Help, Man};
use crate::names;
use crate::page_text::laid_out;

macro_rules! pages {
    ($($name:literal: $what:literal),* $(,)?) => {
        /// Name, subject and packed text of the guide's pages.
        const PAGES: &[(&str, &str, &[u8])] =
            &[$(($name, $what, include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".z")))),*];
    };
}
pages! {
    "guide": "problems, and what solves them",
    "install": "which package to take, the unit for the scheduler inside the kernel",
    "run": "running a program under a policy",
    "openmp": "loops split by how fast cores are",
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
        return Ok(text);
    };
    if let Some((.., text)) = PAGES.iter().find(|(name, ..)| name == topic && root.find_subcommand(name).is_none()) {
        return shown(text);
    }
    root.build();
    if let Some(command) = root.find_subcommand_mut(topic).filter(|command| !command.is_hide_set()) {
        let mut text = command.render_long_help().ansi().to_string();
        if let Some((.., page)) = PAGES.iter().find(|(name, ..)| name == topic) {
            let _ = write!(text, "\n{}", shown(page)?);
        }
        return Ok(text);
    }
    Err(catalog::unknown("topic", topic, topics(&root)).into())
}

/// What there is help for: commands, then pages.
fn topics(root: &clap::Command) -> Vec<&str> {
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set()).map(|command| command.get_name());
    let pages = PAGES.iter().map(|(name, ..)| *name).filter(|page| root.find_subcommand(page).is_none());
    commands.chain(pages).collect()
}

/// A page, laid out for the terminal if there is one.
fn shown(packed: &[u8]) -> Result<String> {
    let page = unpacked(packed)?;
    // As wide as tables are there.
    Ok(table::new(&[]).width().map(|width| laid_out(&page, width.into())).unwrap_or(page))
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
    let root = clap::Command::new("evenkeel").disable_help_subcommand(true);
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

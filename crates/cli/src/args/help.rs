//! `evenkeel help`, `evenkeel completions` and `evenkeel man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// The help's end of `help`.
pub const EXAMPLES: &str = "\
Examples:
  evenkeel help
  evenkeel help sim
  evenkeel help sweeps | less";

/// The help's end of `completions`.
pub const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  evenkeel completions bash > ~/.local/share/bash-completion/completions/evenkeel
  evenkeel completions zsh > ~/.zfunc/_evenkeel
  evenkeel completions fish > ~/.config/fish/completions/evenkeel.fish";

/// The help's end of `man`.
pub const MAN_EXAMPLES: &str = "\
Examples:
  evenkeel man ~/.local/share/man/man1
  evenkeel man /tmp && man /tmp/evenkeel-sim.1";

/// Arguments of `help`.
#[derive(Debug, Args)]
pub struct Help {
    /// A command, or a page of the guide; without one all are listed
    pub topic: Option<String>,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Where the pages are written; it is made if it is not there
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

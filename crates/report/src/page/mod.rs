//! Pages for browsers: each is self-contained, in light and dark, for small and large screens. A figure says in its label what it
//! shows, and can be taken out of its page ([`svg`]).

mod bars;
mod breakdown;
mod comparison;
mod dumbbell;
mod marginal;
mod power;
mod profile;
mod published;
mod reproduction;
mod svg;
#[cfg(test)]
mod tests;
mod timeline;

pub use comparison::page as comparison;
pub use reproduction::page as reproductions;
pub use timeline::{Marks, draw as timeline, legend as timeline_legend};

use evenkeel_sched::POLICIES;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// How many colours there are (Okabe and Ito's, which colour-blind people can tell apart).
pub const COLOURS: usize = 8;

/// What the footers of simulated results say.
const REPEATABLE: &str = "The same command gives the same page.";

/// How a page was made: what its footer says.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    /// The arguments of the command that made it, without the program's name.
    pub command: &'a str,
    /// Whether the same command gives the same page.
    pub remark: &'a str,
}

impl<'a> Made<'a> {
    /// A page of simulated results.
    pub fn simulated(command: &'a str) -> Self {
        Self { command, remark: REPEATABLE }
    }
}

/// The frame of every page.
pub fn frame(title: &str, content: &Markup, made: Made<'_>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) (PreEscaped(include_str!("figures.css"))) }
            }
            body {
                main {
                    (content)
                    footer.note {
                        "Made by evenkeel " (env!("CARGO_PKG_VERSION")) " with "
                        code { "evenkeel " (made.command) }
                        ". " (made.remark)
                    }
                }
            }
        }
    };
    page.into_string()
}

/// Names with their colours.
pub fn legend<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> Markup {
    html! {
        div.legend {
            @for (colour, name) in names {
                span class={ "t" (colour % COLOURS) } { b { (name) } }
            }
        }
    }
}

/// A policy has the same colour on every page, however its knobs are set.
fn colour_of(policy: &str) -> usize {
    let name = policy.split(':').next().unwrap_or_default();
    POLICIES.iter().position(|known| known.name == name).or_else(|| techniques(name)).unwrap_or(0)
}

/// The techniques of simulated workers have the colours of the order in which they are added.
fn techniques(name: &str) -> Option<usize> {
    ["base", "base+p", "base+ps", "base+psm", "base+m"].iter().position(|known| *known == name)
}

/// Policies with their colours.
fn policies<'a>(names: impl Iterator<Item = &'a str>) -> Markup {
    legend(names.map(|name| (colour_of(name), name)))
}

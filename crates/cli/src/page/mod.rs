//! `--html`, `--report`: one self-contained page, in light and dark, for phones and desks. Bars are tables, so that they read aloud
//! and copy well; only timelines are drawings.

mod bars;
mod breakdown;
mod comparison;
mod marginal;
mod power;
mod profile;
mod reproduction;
mod run;
#[cfg(test)]
mod tests;
mod timeline;

pub use comparison::page as compare;
pub use reproduction::page as reproduce;
pub use run::page as run;

use evenkeel_sched::POLICIES;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// How many colours there are (Okabe and Ito's, which colour-blind people can tell apart).
const COLOURS: usize = 8;

/// What the footers of simulated results say.
const REPEATABLE: &str = "The same command gives the same page.";

/// The frame of every page. `remark` ends its footer.
fn frame(title: &str, content: &Markup, remark: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                main {
                    (content)
                    footer.note {
                        "Made by evenkeel " (env!("CARGO_PKG_VERSION")) " with "
                        code { "evenkeel " (command_line()) }
                        ". " (remark)
                    }
                }
            }
        }
    };
    page.into_string()
}

/// What the user typed, without the program's path.
fn command_line() -> String {
    let quote = |word: String| if word.contains(' ') { format!("{word:?}") } else { word };
    std::env::args_os().skip(1).map(|word| quote(word.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
}

/// Names with their colours.
fn legend<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> Markup {
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

//! Pages for browsers: each is self-contained, in light and dark, for small and large screens. A figure says in its label what it
//! shows, and can be taken out of its page (`svg`); a script draws timelines, into which a reader zooms ([`timeline()`]).

mod bars;
mod breakdown;
mod comparison;
mod dumbbell;
mod forest;
mod groups;
mod latency;
mod marginal;
mod power;
mod profile;
mod published;
mod reproduction;
mod run;
mod series;
mod svg;
mod sweep;
#[cfg(test)]
mod tests;
mod timeline;
mod waits;

pub use bars::{Bar, Group, figure as bars};
pub use comparison::page as comparison;
pub use published::{FigureBar, figure_bars};
pub use reproduction::page as reproductions;
pub use run::page as run;
pub use series::{Series, chart};
pub use svg::slug;
pub use sweep::page as sweep;
pub use timeline::{Drawn, timeline};
pub use waits::{Thread, Waited, graph};

use evenkeel_sched::POLICIES;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// How many colours there are. Colour-blind people can tell them apart: what is alike to them in hue differs in lightness (`tests.rs`
/// has by how much).
pub const COLOURS: usize = 8;

/// What the footers of simulated results say.
const REPEATABLE: &str = "The same command gives the same page.";

/// What a browser may do with a page.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'";

/// How pages look.
const STYLE: &str = concat!(include_str!("style.css"), include_str!("figures.css"), include_str!("timeline.css"));

/// What pages do.
const SCRIPT: &str = concat!(
    include_str!("script/time.js"),
    include_str!("script/decode.js"),
    include_str!("script/rows.js"),
    include_str!("script/far.js"),
    include_str!("script/sheet.js"),
    include_str!("script/pen.js"),
    include_str!("script/drawing.js"),
    include_str!("script/timeline.js"),
    include_str!("script/more.js"),
    include_str!("script/details.js"),
    include_str!("script/controls.js"),
    include_str!("script/export.js"),
    include_str!("script/graph.js"),
    include_str!("script/main.js"),
);

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
                // Whatever a name may hold, nothing is fetched.
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                style { (PreEscaped(STYLE)) }
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
                script type="module" { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The class of what has a colour: `how` is `f` for what is filled, `s` for a line, `k` for what is behind text, `t` for text itself.
/// After the last colour they begin anew, `second`: dashed, striped, or pale with an outline.
pub fn class(how: char, colour: usize) -> String {
    let second = if (colour / COLOURS).is_multiple_of(2) { "" } else { " second" };
    format!("{how}{}{second}", colour % COLOURS)
}

/// Names with their colours.
pub fn legend<'a>(names: impl Iterator<Item = (usize, &'a str)>) -> Markup {
    html! {
        div.legend {
            @for (colour, name) in names {
                span class=(class('t', colour)) { b { (name) } }
            }
        }
    }
}

/// A policy has the same colour on every page where no other one has it.
fn colour_of(policy: &str) -> usize {
    let name = policy.split(':').next().unwrap_or_default();
    POLICIES.iter().position(|known| known.name == name).or_else(|| techniques(name)).unwrap_or(0)
}

/// The colours of policies that stand side by side: each has its own, which another has on no page where both are. Where there are more
/// than colours, the rest have them a second time ([`class`]).
fn colours_of(policies: &[&str]) -> Vec<usize> {
    let mut taken = Vec::new();
    for policy in policies {
        let own = colour_of(policy) % COLOURS;
        let wanted = [own].into_iter().chain(0..COLOURS).chain([own + COLOURS]).chain(COLOURS..2 * COLOURS);
        let free = wanted.into_iter().find(|colour| !taken.contains(colour));
        taken.push(free.unwrap_or(own));
    }
    taken
}

/// The techniques of simulated workers have the colours of the order in which they are added.
fn techniques(name: &str) -> Option<usize> {
    ["base", "base+p", "base+ps", "base+psm", "base+m"].iter().position(|known| *known == name)
}

/// Policies with their colours.
fn policies(names: &[&str]) -> Markup {
    legend(colours_of(names).into_iter().zip(names.iter().copied()))
}

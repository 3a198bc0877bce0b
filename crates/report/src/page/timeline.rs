//! Which thread ran on which core when, drawn as lanes.

use std::collections::BTreeSet;
use std::fmt::Write;

use evenkeel_experiment::timeline::{RecordedThread, Timeline};
use evenkeel_model::{CoreId, Machine, Ns};
use maud::{Markup, PreEscaped, html};

use super::COLOURS;

/// What lanes show besides slices.
#[derive(Default)]
pub struct Marks {
    /// What the operating system calls each core, if not by its number.
    pub numbers: Option<Vec<u16>>,
    /// Moments that matter to a core.
    pub moments: Vec<(CoreId, Ns)>,
}

/// Draws a timeline, big cores first and taller.
pub fn draw(timeline: &Timeline, machine: &Machine, marks: &Marks) -> Markup {
    let Timeline { bin, end, horizon, .. } = timeline;
    let cores = machine.big().iter().chain(machine.little().iter());
    let colours = Colours::of(&timeline.threads);
    let bins = horizon.0 / bin.0 + 1;
    html! {
        div.lanes role="img" aria-label={ "Which thread ran on which core, up to " (end) } {
            @for core in cores {
                @let big = machine.big().contains(core);
                @let number = marks.numbers.as_ref().map_or(core.0, |numbers| numbers[core.index()]);
                span.big[big] { (number) " " (machine.core_type(core).name) }
                svg viewBox={ "0 0 " (bins) " 10" } preserveAspectRatio="none" height=(if big { 20 } else { 11 }) {
                    (lane(timeline, core, &colours))
                    @let ticks = marks.ticks(core, bin.0);
                    @if !ticks.is_empty() { path class="mark" d=(PreEscaped(ticks)) {} }
                }
            }
            div.axis { span { "0" } span { (end) @if end < horizon { " of " (horizon) } } }
        }
    }
}

impl Marks {
    /// The moments of a core as a path of ticks, one a bin at most.
    fn ticks(&self, core: CoreId, bin: u64) -> String {
        let bins = self.moments.iter().filter(|(on, _)| *on == core).map(|(_, at)| at.0 / bin);
        let mut ticks = String::new();
        for bin in bins.collect::<BTreeSet<_>>() {
            let _ = write!(ticks, "M{bin}.5 0v4");
        }
        ticks
    }
}

/// One path a thread, so that pointing at any of its slices shows its name.
fn lane(timeline: &Timeline, core: CoreId, colours: &Colours) -> Markup {
    let bins = &timeline.lanes[core.index()];
    let mut paths: Vec<String> = vec![String::new(); timeline.threads.len()];
    let mut from = 0;
    while from < bins.len() {
        let length = bins[from..].iter().take_while(|thread| **thread == bins[from]).count();
        if let Some(thread) = bins[from] {
            let _ = write!(paths[thread.index()], "M{from} 0h{length}v10h-{length}z");
        }
        from += length;
    }
    html! {
        @for (index, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            @let RecordedThread { program, name } = &timeline.threads[index];
            path class={ "f" (colours.0[index] % COLOURS) } d=(PreEscaped(path)) {
                title { @if program != name { (program) "/" } (name) }
            }
        }
    }
}

/// A colour for each thread: that of its program, or its own if there is only one program.
struct Colours(Vec<usize>);

impl Colours {
    fn of(threads: &[RecordedThread]) -> Self {
        let programs = programs(threads);
        let colour = |(index, thread): (usize, &RecordedThread)| match programs.len() {
            1 => index,
            _ => programs.iter().position(|other| *other == thread.program).unwrap_or(0),
        };
        Self(threads.iter().enumerate().map(colour).collect())
    }
}

fn programs(threads: &[RecordedThread]) -> Vec<&str> {
    let mut programs: Vec<&str> = Vec::new();
    for thread in threads {
        if !programs.contains(&thread.program.as_str()) {
            programs.push(&thread.program);
        }
    }
    programs
}

/// What the colours of a timeline stand for.
pub fn legend(timeline: &Timeline) -> Markup {
    let programs = programs(&timeline.threads);
    match programs.len() {
        1 => super::legend(timeline.threads.iter().map(|thread| thread.name.as_str()).enumerate().take(COLOURS)),
        _ => super::legend(programs.into_iter().enumerate().take(COLOURS)),
    }
}

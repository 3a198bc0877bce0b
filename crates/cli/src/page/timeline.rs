//! Who ran on which core when: recorded in bins, so that a long run needs no more than a short one, and drawn as lanes.

use std::collections::BTreeSet;
use std::fmt::Write;

use evenkeel_model::{CoreId, Machine, Ns, ThreadId};
use evenkeel_sim::{Event, Observer};
use maud::{Markup, PreEscaped, html};

use super::COLOURS;

/// Bins of a lane: about the pixels that it has.
const BINS: u64 = 900;

/// Records a run.
pub struct Recorder {
    bin: u64,
    lanes: Vec<Lane>,
    /// Program and name of every thread.
    threads: Vec<(String, String)>,
}

/// One core.
#[derive(Clone, Default)]
struct Lane {
    running: Option<(ThreadId, Ns)>,
    /// The bin that is being filled, and who had how much of it.
    current: u64,
    shares: Vec<(ThreadId, u64)>,
    /// For each full bin who had most of it.
    bins: Vec<Option<ThreadId>>,
}

impl Recorder {
    /// A recorder for a run on a machine that lasts at most `horizon`.
    pub fn new(machine: &Machine, horizon: Ns) -> Self {
        let lanes = vec![Lane::default(); machine.cores.len()];
        Self { bin: (horizon.0 / BINS).max(1), lanes, threads: Vec::new() }
    }

    fn stop(&mut self, core: CoreId, at: Ns) {
        let bin = self.bin;
        let lane = &mut self.lanes[core.index()];
        let Some((thread, since)) = lane.running.take() else { return };
        let (mut from, to) = (since.0, at.0);
        while from < to {
            lane.fill_to(from / bin, bin);
            let end = to.min((from / bin + 1) * bin);
            match lane.shares.iter_mut().find(|(other, _)| *other == thread) {
                Some((_, share)) => *share += end - from,
                None => lane.shares.push((thread, end - from)),
            }
            from = end;
        }
    }
}

impl Lane {
    /// Closes all bins before this one.
    fn fill_to(&mut self, bin: u64, width: u64) {
        while self.current < bin {
            let busy: u64 = self.shares.iter().map(|(_, share)| share).sum();
            let most = self.shares.iter().max_by_key(|(_, share)| *share).map(|(thread, _)| *thread);
            self.bins.push(most.filter(|_| 2 * busy >= width));
            self.shares.clear();
            self.current += 1;
        }
    }
}

impl Observer for Recorder {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        match *event {
            Event::Created { program, name, .. } => self.threads.push((program.to_owned(), name.to_owned())),
            Event::Run { core, thread } => {
                self.stop(core, at);
                self.lanes[core.index()].running = Some((thread, at));
            }
            Event::Stop { core, .. } => self.stop(core, at),
            Event::Ready { .. }
            | Event::TaskBegan { .. }
            | Event::TaskEnded { .. }
            | Event::Affinity { .. }
            | Event::Frequency { .. }
            | Event::Power { .. } => {}
        }
    }
}

/// What lanes show besides slices.
#[derive(Default)]
pub struct Marks {
    /// What the operating system calls each core, if not by its number.
    pub numbers: Option<Vec<u16>>,
    /// Moments that matter to a core.
    pub moments: Vec<(CoreId, Ns)>,
}

/// Draws a recorded run that ended at `end`, big cores first and taller, on an axis up to `horizon`.
pub fn draw(mut recorder: Recorder, machine: &Machine, marks: &Marks, end: Ns, horizon: Ns) -> Markup {
    for core in machine.all().iter() {
        recorder.stop(core, end);
    }
    let width = recorder.bin;
    recorder.lanes.iter_mut().for_each(|lane| lane.fill_to(horizon.0 / width + 1, width));
    let cores = machine.big().iter().chain(machine.little().iter());
    let colours = Colours::of(&recorder.threads);
    let bins = horizon.0 / width + 1;
    html! {
        div.lanes role="img" aria-label={ "Which thread ran on which core, up to " (end) } {
            @for core in cores {
                @let big = machine.big().contains(core);
                @let number = marks.numbers.as_ref().map_or(core.0, |numbers| numbers[core.index()]);
                span.big[big] { (number) " " (machine.core_type(core).name) }
                svg viewBox={ "0 0 " (bins) " 10" } preserveAspectRatio="none" height=(if big { 20 } else { 11 }) {
                    (lane(&recorder, core, &colours))
                    @let ticks = marks.ticks(core, width);
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
fn lane(recorder: &Recorder, core: CoreId, colours: &Colours) -> Markup {
    let bins = &recorder.lanes[core.index()].bins;
    let mut paths: Vec<String> = vec![String::new(); recorder.threads.len()];
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
            @let (program, name) = &recorder.threads[index];
            path class={ "f" (colours.0[index] % COLOURS) } d=(PreEscaped(path)) {
                title { @if program != name { (program) "/" } (name) }
            }
        }
    }
}

/// A colour for each thread: that of its program, or its own if there is only one program.
struct Colours(Vec<usize>);

impl Colours {
    fn of(threads: &[(String, String)]) -> Self {
        let programs = programs(threads);
        let colour = |(index, (program, _)): (usize, &(String, String))| match programs.len() {
            1 => index,
            _ => programs.iter().position(|other| other == program).unwrap_or(0),
        };
        Self(threads.iter().enumerate().map(colour).collect())
    }
}

fn programs(threads: &[(String, String)]) -> Vec<&str> {
    let mut programs: Vec<&str> = Vec::new();
    for (program, _) in threads {
        if !programs.contains(&program.as_str()) {
            programs.push(program);
        }
    }
    programs
}

impl Recorder {
    /// What the colours stand for.
    pub fn legend(&self) -> Markup {
        let programs = programs(&self.threads);
        match programs.len() {
            1 => super::legend(self.threads.iter().map(|(_, name)| name.as_str()).enumerate().take(COLOURS)),
            _ => super::legend(programs.into_iter().enumerate().take(COLOURS)),
        }
    }
}

//! The page of one simulated run.

use evenkeel_experiment::Run;
use evenkeel_experiment::history::{History, RecordedThread, Times};
use evenkeel_model::{Machine, Ns};
use maud::{Markup, html};

use super::groups::Groups;
use super::latency::{Curve, figure};
use super::timeline::{Drawn, timeline};
use super::waits::{Thread, Waited, graph};
use super::{COLOURS, Made, frame};
use crate::text;

/// The page. The machine has its cores in the order of the run.
pub fn page(run: &Run, history: &History, machine: &Machine, command: &str) -> String {
    let drawn = Drawn::simulated("", history, machine);
    let waits = waits("waits", &drawn);
    let content = html! {
        h1 { (run.workload) " on " (run.machine) " under " (run.policy) ": " (run.measurement.makespan) }
        (timeline("timeline", TIMELINE, &[drawn], history.end))
        div.columns {
            section {
                h2 { "In numbers" }
                table.rows {
                    @for (name, value, remark) in text::facts(run) { tr { td { (name) } td.n { (value) } td.soft { (remark) } } }
                }
            }
            section {
                h2 { "Who waited for whom" }
                (waits)
            }
        }
        (latencies(history))
        p.note { (text::conditions(run)) }
    };
    frame("evenkeel sim", &content, Made::simulated(command))
}

/// What a timeline shows, for those who do not see it.
pub(super) const TIMELINE: &str = "Which thread ran on which core, over time.";

/// Who waited for whom in a run that is drawn.
pub(super) fn waits(id: &str, drawn: &Drawn<'_>) -> Markup {
    let history = drawn.history;
    let threads: Vec<Thread<'_>> =
        history.threads.iter().map(|thread| Thread { program: &thread.program, name: &thread.name }).collect();
    let waits = history.waits.iter().map(|(pair, wait)| Waited {
        waiter: pair.waiter.index(),
        waker: pair.waker.index(),
        total: wait.total,
        times: wait.times,
    });
    html! {
        @if history.waits.is_empty() { p.soft { "No thread waited for another one." } }
        (graph(id, &threads, &waits.collect::<Vec<_>>(), &drawn.colours))
    }
}

/// How long threads waited for a core, and how long they took.
fn latencies(history: &History) -> Markup {
    let Groups { names, of } = Groups::of(history.threads.iter().map(|thread| (&*thread.program, &*thread.name)));
    let curves = |times: fn(&RecordedThread) -> &Times| -> Vec<Curve> {
        let curve = |(group, name): (usize, &String)| {
            let own = history.threads.iter().zip(&of).filter(|(_, of)| **of == group);
            Curve::new(name.clone(), group, own.map(|(thread, _)| times(thread)))
        };
        match names.len() {
            // More curves than colours are not told apart.
            count if count > COLOURS => {
                vec![Curve::new("all threads".into(), 0, history.threads.iter().map(times))]
            }
            _ => names.iter().enumerate().map(curve).collect(),
        }
    };
    let waited = figure("wakeups", "Wake-up latency", LATENCY, &curves(|thread| &thread.latencies));
    let took = figure("responses", "Response", RESPONSE, &curves(|thread| &thread.responses));
    let none = history.threads.iter().all(|thread| thread.latencies.longest() == Ns::ZERO);
    html! {
        h2 { "How long it took" }
        @if none { p.soft { "Each thread that was woken ran at once." } }
        div.panels { (waited) (took) }
    }
}

/// What the curves of latencies are of.
pub(super) const LATENCY: &str = "From a thread's wake-up until it ran: the share of cases that took no longer.";
/// What the curves of responses are of.
pub(super) const RESPONSE: &str = "From a wake-up by a timer, or from outside, until the thread waited again: for periodic loads, the work of a period.";

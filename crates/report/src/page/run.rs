//! The page of one simulated run.

use evenkeel_experiment::Run;
use evenkeel_experiment::history::History;
use evenkeel_model::{Machine, Ns};
use maud::{Markup, html};

use super::latency::{Curve, figure};
use super::timeline::{Drawn, timeline};
use super::waits::{Thread, Waited, graph};
use super::{Made, frame};
use crate::text;

/// The page. The machine has its cores in the order of the run.
pub fn page(run: &Run, history: &History, machine: &Machine, command: &str) -> String {
    let content = html! {
        h1 { (run.workload) " on " (run.machine) " under " (run.policy) ": " (run.measurement.makespan) }
        (timeline("timeline", TIMELINE, &[Drawn::simulated("", history, machine)], history.end))
        div.columns {
            section {
                h2 { "In numbers" }
                table.rows {
                    @for (name, value, remark) in text::facts(run) { tr { td { (name) } td.n { (value) } td.soft { (remark) } } }
                }
            }
            (waits(history))
        }
        (latencies(history))
        p.note { (text::conditions(run)) }
    };
    frame("evenkeel sim", &content, Made::simulated(command))
}

/// What a timeline shows, for those who do not see it.
pub(super) const TIMELINE: &str = "Which thread ran on which core, over time.";

/// Who waited for whom.
fn waits(history: &History) -> Markup {
    let threads: Vec<Thread<'_>> =
        history.threads.iter().map(|thread| Thread { program: &thread.program, name: &thread.name }).collect();
    let waits = history.waits.iter().map(|(pair, wait)| Waited {
        waiter: pair.waiter.index(),
        waker: pair.waker.index(),
        total: wait.total,
        times: wait.times,
    });
    let drawn = graph("waits", &threads, &waits.collect::<Vec<_>>());
    html! {
        section {
            h2 { "Who waited for whom" }
            @if history.waits.is_empty() { p.soft { "No thread waited for another one." } }
            (drawn)
        }
    }
}

/// How long threads waited for a core, and how long they took, by program.
fn latencies(history: &History) -> Markup {
    let mut programs: Vec<&str> = Vec::new();
    for thread in &history.threads {
        if !programs.contains(&thread.program.as_str()) {
            programs.push(&thread.program);
        }
    }
    let curves = |of: fn(&evenkeel_experiment::history::RecordedThread) -> &[Ns]| -> Vec<Curve> {
        // One program is told by its threads, if they are few.
        let by_thread = programs.len() == 1 && history.threads.len() <= super::COLOURS;
        let times = |is: &dyn Fn(usize) -> bool| {
            let own = history.threads.iter().enumerate().filter(|(index, _)| is(*index));
            own.flat_map(|(_, thread)| of(thread).iter().copied()).collect()
        };
        if by_thread {
            let threads = history.threads.iter().enumerate();
            return threads
                .map(|(index, thread)| Curve::new(thread.name.clone(), index, times(&|at| at == index)))
                .collect();
        }
        let programs = programs.iter().enumerate();
        let own = |(index, program): (usize, &&str)| {
            Curve::new((*program).to_owned(), index, times(&|at| history.threads[at].program == *program))
        };
        programs.map(own).collect()
    };
    let waited = figure("wakeups", "Wake-up latency", LATENCY, &curves(|thread| &thread.latencies));
    let took = figure("responses", "Response", RESPONSE, &curves(|thread| &thread.responses));
    html! {
        h2 { "How long it took" }
        div.panels { (waited) (took) }
    }
}

/// What the curves of latencies are of.
pub(super) const LATENCY: &str = "From a thread's wake-up until it ran: the share of cases that took no longer.";
/// What the curves of responses are of.
pub(super) const RESPONSE: &str = "From a wake-up by a timer, or from outside, until the thread waited again: for periodic loads, the work of a period.";

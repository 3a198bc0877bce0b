//! The page of `evenkeel run --html`.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_experiment::history::{History, RecordedThread, Span, Why, Woken};
use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{ThreadSummary, Timeline};
use evenkeel_linux::sample::PairWaits;
use evenkeel_model::{CoreId, Ns, ThreadId};
use evenkeel_report::page::{self as views, COLOURS, Drawn, Made, Thread, Waited, frame};
use evenkeel_sched::ThreadKind;
use evenkeel_sched::policy::Label;
use maud::{Markup, html};

use crate::args::command_line;
use crate::live::Account;

/// So many threads, or pairs of threads, are shown: enough to find out what matters.
const SHOWN: usize = 20;

/// The page. `title` is what was followed.
pub fn page(account: &Account<'_>, timeline: &Timeline, title: &str) -> String {
    let summary = account.summary;
    let content = html! {
        h1 { (title) ": " (summary.elapsed) " under " (account.plan.policy.name()) }
        p.soft {
            (summary.threads.len()) " threads on " (cores(account)) ". The policy moved a thread to another core type "
            (summary.moves) " times. Following cost " (format!("{:.2}", 100.0 * account.cost())) " % of one CPU."
        }
        (changes(&summary.policies))
        @for note in account.notes() { p.note { (note) } }
        div.scroll {
            table.rows {
                @for (name, value, remark) in account.facts() {
                    tr { td { (name) } td.n { (value) } td.soft { (remark) } }
                }
            }
        }
        h2 { "What ran where" }
        (lanes(account, timeline))
        h2 { "Threads that others waited for" }
        (blame(account))
        h2 { "What each thread did" }
        (where_time_went(account))
    };
    let made = Made { command: &command_line(), remark: "Real programs differ from run to run." };
    frame(&format!("evenkeel run: {title}"), &content, made)
}

/// The policies that took over in the middle; nothing if none did.
pub(super) fn changes(policies: &[(Ns, String)]) -> Markup {
    let later: Vec<String> = policies.iter().map(|(at, policy)| format!("{policy} from {at} on")).collect();
    html! {
        @if !later.is_empty() { p { "The policy was changed in between: " (later.join(", ")) "." } }
    }
}

/// `2 big and 4 little cores`.
fn cores(account: &Account<'_>) -> String {
    let machine = &account.plan.machine;
    let count = |core_type: usize| machine.cores.iter().filter(|core| core.core_type.index() == core_type).count();
    let kinds: Vec<String> =
        account.types().iter().enumerate().map(|(core_type, name)| format!("{} {name}", count(core_type))).collect();
    format!("{} cores", kinds.join(" and "))
}

fn where_time_went(account: &Account<'_>) -> Markup {
    let threads = &account.summary.threads;
    let longest = threads.iter().map(|thread| (thread.total() + thread.delay).0).max().unwrap_or_default();
    let types = account.types();
    html! {
        div.legend {
            @for (colour, name) in types.iter().enumerate() {
                span class={ "t" (colour % COLOURS) } { b { "ran on " (name) " cores" } }
            }
            span.ready { b { "ready, and had no core" } }
        }
        table.bars {
            @for thread in threads.iter().take(SHOWN) { (stacked(thread, &account.thread_name(thread.tid), types.len(), longest)) }
        }
        (more(threads.len()))
    }
}

/// A thread's time by core type, one part after the other.
fn stacked(thread: &ThreadSummary, label: &str, types: usize, longest: u64) -> Markup {
    let mut parts = Vec::new();
    let mut from = 0;
    let runs = thread.run[..types].iter().enumerate().map(|(core_type, run)| (Some(core_type), *run));
    for (core_type, time) in runs.chain([(None, thread.delay)]) {
        parts.push((core_type, from, time));
        from += time.0;
    }
    html! {
        tr {
            th scope="row" {
                (label) @if thread.kind == ThreadKind::Service { span.soft { " service" } }
            }
            td {
                div.track {
                    @for (core_type, from, time) in parts.into_iter().filter(|(_, _, time)| *time > Ns::ZERO) {
                        @let class = core_type.map_or("ready".to_owned(), |index| format!("k{}", index % COLOURS));
                        i class=(class) style=(span(from, time.0, longest)) title=(time) {}
                    }
                }
            }
            td.n { (thread.total()) }
        }
    }
}

/// A part of a bar of which `whole` is the full width.
fn span(from: u64, length: u64, whole: u64) -> String {
    let percent = |part: u64| 100.0 * part as f64 / whole.max(1) as f64;
    format!("left:{:.2}%;width:{:.2}%", percent(from), percent(length))
}

fn more(count: usize) -> Markup {
    html! { @if count > SHOWN { p.note { "... and " (count - SHOWN) " more." } } }
}

fn blame(account: &Account<'_>) -> Markup {
    let Some(pairs) = &account.summary.pairs else {
        return html! { p.soft { "Not seen: that needs eBPF, and so root." } };
    };
    let blamed =
        |thread: &ThreadSummary| Some((thread.inside?.blame, thread.tid)).filter(|(blame, _)| *blame > Ns::ZERO);
    let mut threads: Vec<(Ns, Tid)> = account.summary.threads.iter().filter_map(blamed).collect();
    threads.sort_by_key(|(blame, tid)| (std::cmp::Reverse(*blame), *tid));
    let most = threads.first().map_or(0, |(blame, _)| blame.0);
    if threads.is_empty() {
        return html! { p.soft { "No thread waited for another one (in the futex system call)." } };
    }
    html! {
        p.soft {
            "For how long other threads waited (in the futex system call) until this one woke them, all of them together. "
            "The thread that others waited for most is worth a fast core."
        }
        table.bars {
            @for (blame, tid) in threads.iter().take(SHOWN) {
                tr {
                    th scope="row" { (account.thread_name(*tid)) }
                    td { div.track { i.k3 style=(span(0, blame.0, most)) {} } }
                    td.n { (blame) }
                }
            }
        }
        (more(threads.len()))
        (graph(account, pairs))
    }
}

/// Which thread waited for which.
fn graph(account: &Account<'_>, pairs: &[PairWaits]) -> Markup {
    let threads: BTreeMap<Tid, &ThreadSummary> =
        account.summary.threads.iter().map(|thread| (thread.tid, thread)).collect();
    let tids: BTreeSet<Tid> = pairs.iter().flat_map(|pair| [pair.waiter, pair.waker]).collect();
    let tids: Vec<Tid> = tids.into_iter().collect();
    let names: Vec<(String, String)> = tids
        .iter()
        .map(|tid| {
            let process = threads.get(tid).map_or(*tid, |thread| thread.process);
            (account.process_name(process), account.thread_name(*tid))
        })
        .collect();
    let nodes: Vec<Thread<'_>> = names.iter().map(|(program, name)| Thread { program, name }).collect();
    let position = |tid: Tid| tids.binary_search(&tid).unwrap_or(0);
    let waits = pairs.iter().map(|pair| Waited {
        waiter: position(pair.waiter),
        waker: position(pair.waker),
        total: pair.waited,
        times: pair.times,
    });
    views::graph("waits", &nodes, &waits.collect::<Vec<_>>())
}

fn lanes(account: &Account<'_>, timeline: &Timeline) -> Markup {
    let plan = account.plan;
    let cores: BTreeMap<u16, CoreId> =
        plan.cpus.iter().enumerate().map(|(core, cpu)| (*cpu, CoreId(core as u16))).collect();
    let (history, facts) = history(account, timeline, &cores);
    let moments = timeline.moves().iter().filter_map(|moved| Some((*cores.get(&moved.cpu)?, moved.at)));
    let drawn = Drawn {
        title: "",
        history: &history,
        machine: &plan.machine,
        numbers: Some(&plan.cpus),
        moments: &moments.collect::<Vec<_>>(),
        marks: account.summary.policies.iter().map(|(at, policy)| (*at, policy.as_str())).collect(),
        facts,
    };
    html! {
        p.soft {
            "One lane a CPU, big cores tall and on top; grey is idle, or busy with something else. A tick is a move by the "
            "policy. How long a thread ran between two samples is exact; when, not always."
        }
        (views::timeline("timeline", "Which thread ran on which CPU, over time.", &[drawn], history.end))
    }
}

/// The timeline as the history of a run, and what the account says of each thread.
fn history(
    account: &Account<'_>,
    timeline: &Timeline,
    cores: &BTreeMap<u16, CoreId>,
) -> (History, Vec<Vec<(&'static str, String)>>) {
    let summary = account.summary;
    let mut ids: BTreeMap<Tid, ThreadId> = BTreeMap::new();
    let mut history = History { end: summary.elapsed, resolution: timeline.resolution(), ..History::default() };
    let mut facts = Vec::new();
    for thread in &summary.threads {
        // Of threads that had one number, one after the other, the last is meant.
        ids.insert(thread.tid, ThreadId(history.threads.len() as u32));
        history.threads.push(RecordedThread {
            program: account.process_name(thread.process),
            name: account.thread_name(thread.tid),
            ..RecordedThread::default()
        });
        facts.push(facts_of(thread));
    }
    for (cpu, slices) in timeline.lanes() {
        let Some(&core) = cores.get(&cpu) else { continue };
        for slice in slices {
            // One that was seen only after it had exited has no account of its own.
            let next = ThreadId(history.threads.len() as u32);
            let thread = *ids.entry(slice.who).or_insert_with(|| {
                let (program, name) = ("short-lived threads".into(), account.thread_name(slice.who));
                history.threads.push(RecordedThread { program, name, ..RecordedThread::default() });
                next
            });
            let (start, end) = (slice.from, slice.to);
            history.spans.push(Span { core, thread, start, end, ready: Ns::ZERO, woken: Woken::No, why: Why::Unknown });
        }
    }
    history.spans.sort_by_key(|span| (span.start, span.core));
    (history, facts)
}

/// What the account says of a thread.
fn facts_of(thread: &ThreadSummary) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if thread.judgement.label != Label::Any {
        facts.push(("label", format!("{}, at the end", thread.judgement.label.name())));
    }
    if let Some(speedup) = thread.judgement.speedup {
        facts.push(("speedup", format!("{speedup:.2} times as fast on a big core, as measured at the end")));
    }
    facts.push(("ready", format!("{} without a core, in all", thread.delay)));
    if let Some(inside) = thread.inside {
        facts.push(("waited", format!("{} for others", inside.waited)));
        facts.push(("blame", format!("others waited {} for it, all of them together", inside.blame)));
    }
    facts.push(("switches", thread.switches.to_string()));
    if thread.kind == ThreadKind::Service {
        facts.push(("kind", "serves the program's runtime system".into()));
    }
    facts
}

//! The page of `evenkeel run --html`.

use evenkeel_linux::event::Tid;
use evenkeel_linux::host::{ThreadSummary, Timeline};
use evenkeel_linux::sample::PairWaits;
use evenkeel_model::Ns;
use evenkeel_report::page::{Made, frame};
use evenkeel_sched::ThreadKind;
use maud::{Markup, html};

use super::threads::{self, Lanes, Shown};
use crate::args::command_line;
use crate::live::Account;

/// The page. `title` is what was followed.
pub fn page(account: &Account<'_>, timeline: &Timeline, title: &str) -> String {
    let summary = account.summary;
    let threads: Vec<Shown> = summary.threads.iter().map(|thread| shown(account, thread)).collect();
    let waited = summary.waiting_pairs().flat_map(|pair| [pair.waiter, pair.waker]);
    let unlisted = threads::unlisted(timeline, waited, &threads);
    let lanes = Lanes {
        machine: &account.plan.machine,
        cpus: &account.plan.cpus,
        timeline,
        threads: &threads,
        unlisted: &unlisted,
        policies: &summary.policies,
        end: summary.elapsed,
    };
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
        p.soft {
            "One lane a CPU, big cores tall and on top; grey is idle, or busy with something else. A tick is a move by the "
            "policy. How long a thread ran between two samples is exact; when, not always."
        }
        (lanes.draw())
        h2 { "Threads that others waited for" }
        (blame(account, &threads, &unlisted))
        h2 { "What each thread did" }
        (threads::where_time_went(&threads, &account.types()))
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

fn blame(account: &Account<'_>, threads: &[Shown], unlisted: &[Tid]) -> Markup {
    if account.summary.pairs.is_none() {
        return html! { p.soft { "Not seen: that needs eBPF, and so root." } };
    }
    let pairs: Vec<PairWaits> = account.summary.waiting_pairs().copied().collect();
    if pairs.is_empty() {
        return html! { p.soft { "No thread waited for another one (in the futex system call)." } };
    }
    html! {
        // Those that were waited for may all be short-lived, and have no account.
        @if let Some(blamed) = threads::blame(threads) { (blamed) }
        (threads::graph(threads, unlisted, &pairs, account.types().len()))
    }
}

/// What the account says of a thread.
fn shown(account: &Account<'_>, thread: &ThreadSummary) -> Shown {
    let mut facts: Vec<_> = threads::judged(thread.judgement).chain([threads::ready(thread.delay)]).collect();
    if let Some(inside) = thread.inside {
        facts.push(("waited", format!("{} for others", inside.waited)));
        facts.push(threads::blamed(inside.blame));
    }
    facts.push(("switches", thread.switches.to_string()));
    let service = thread.kind == ThreadKind::Service;
    facts.extend(threads::serves(service));
    Shown {
        tid: thread.tid,
        program: account.process_name(thread.process),
        name: account.thread_name(thread.tid),
        service,
        run: thread.run[..account.types().len()].to_vec(),
        delay: thread.delay,
        blame: thread.inside.map(|inside| inside.blame),
        facts,
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_linux::host::{PERIOD, Plan, Summary};
    use evenkeel_linux::sample::{Inside, MAX_TYPES, Turn};
    use evenkeel_model::machines;
    use evenkeel_sched::policy::Judgement;

    use super::*;
    use crate::catalog;

    /// The page of one thread for which no other waited, and of these waits.
    fn page_of(pairs: Vec<PairWaits>) -> String {
        let plan = Plan {
            machine: machines::by_name("2B2S").unwrap(),
            cpus: vec![0, 1, 2, 3],
            policy: catalog::live_policy("pfs").unwrap(),
            period: PERIOD,
            timeline: true,
        };
        let thread = ThreadSummary {
            tid: 1,
            process: 1,
            name: "app".into(),
            kind: ThreadKind::Application,
            run: [Ns::from_ms(1); MAX_TYPES],
            delay: Ns::ZERO,
            switches: 1,
            inside: Some(Inside { turn: Turn::Off(Ns::ZERO), preempted: 0, waited: Ns::ZERO, blame: Ns::ZERO }),
            idles: false,
            judgement: Judgement::default(),
        };
        let summary =
            Summary { elapsed: Ns::from_secs(1), threads: vec![thread], pairs: Some(pairs), ..Summary::default() };
        page(&Account::new(&plan, &summary), &Timeline::default(), "app")
    }

    #[test]
    fn waits_for_short_lived_threads_are_waits() {
        let page = page_of(vec![PairWaits { waiter: 1, waker: 99, waited: Ns::from_ms(10), times: 1 }]);
        assert!(page.contains("id=\"waits\"") && !page.contains("No thread waited"), "{page}");
        let page = page_of(Vec::new());
        assert!(!page.contains("id=\"waits\"") && page.contains("No thread waited"), "{page}");
    }
}

use proptest::prelude::*;

use evenkeel_model::ProgramId;
use evenkeel_sched::policy::Label;

use super::*;
use crate::catalog;

fn recorder() -> Recorder {
    Recorder::new(&catalog::machine("2B2S").unwrap().machine)
}

fn created(thread: u32) -> Event<'static> {
    Event::Created { thread: ThreadId(thread), of: ProgramId(0), program: "app", name: "worker" }
}

/// Threads 0 and 1 of one program.
fn two(recorder: &mut Recorder) {
    for thread in 0..2 {
        recorder.observe(Ns(0), &created(thread));
        recorder.observe(Ns(0), &Event::Ready { thread: ThreadId(thread), core: CoreId(0), by: None });
    }
}

#[test]
fn a_wait_is_of_the_one_that_ended_it_and_a_response_ends_with_the_next_wait() {
    let mut seen = recorder();
    two(&mut seen);
    let (one, other) = (ThreadId(0), ThreadId(1));
    let events = [
        (10, Event::Run { core: CoreId(0), thread: one }),
        (20, Event::Stop { core: CoreId(0), thread: one, why: Stop::Blocked("lock \"m\"") }),
        (20, Event::Run { core: CoreId(0), thread: other }),
        (50, Event::Ready { thread: one, core: CoreId(1), by: Some(other) }),
        (53, Event::Run { core: CoreId(1), thread: one }),
        (60, Event::Stop { core: CoreId(1), thread: one, why: Stop::Blocked("sleep") }),
        (90, Event::Ready { thread: one, core: CoreId(1), by: None }),
        (94, Event::Run { core: CoreId(1), thread: one }),
        (95, Event::Stop { core: CoreId(1), thread: one, why: Stop::Preempted }),
        (95, Event::Ready { thread: one, core: CoreId(1), by: None }),
        (97, Event::Run { core: CoreId(1), thread: one }),
        (99, Event::Stop { core: CoreId(1), thread: one, why: Stop::Blocked("sleep") }),
    ];
    for (at, event) in events {
        seen.observe(Ns(at), &event);
    }
    let history = seen.finish(Ns(100));
    let waits: Vec<_> = history.waits.iter().map(|(pair, wait)| (pair.waiter, pair.waker, *wait)).collect();
    assert_eq!(waits, [(one, other, Wait { total: Ns(30), times: 1 })]);
    let times = |times: &Times| times.cumulative().map(|(time, _)| time.0).collect::<Vec<_>>();
    assert_eq!(times(&history.threads[0].latencies), [3, 4]);
    assert_eq!(times(&history.threads[0].responses), [9], "preemption is no end of it");
    assert_eq!(history.waited_for, ["lock \"m\"", "sleep"]);
    let spans: Vec<_> = history.spans.iter().map(|span| (span.start.0, span.end.0, span.woken, span.why)).collect();
    let expected = [
        (10, 20, Woken::No, Why::Blocked(0)),
        (20, 100, Woken::No, Why::End),
        (53, 60, Woken::By(other), Why::Blocked(1)),
        (94, 95, Woken::ByItself, Why::Preempted),
        (97, 99, Woken::No, Why::Blocked(1)),
    ];
    assert_eq!(spans, expected);
    assert_eq!(history.spans[4].ready, Ns(2));
}

#[test]
fn a_thread_that_begins_again_has_waited_for_nothing() {
    let mut seen = recorder();
    two(&mut seen);
    let (core, thread) = (CoreId(0), ThreadId(0));
    let (run, stop) = (Event::Run { core, thread }, |why: Stop<'static>| Event::Stop { core, thread, why });
    let ready = |by: Option<ThreadId>| Event::Ready { thread, core, by };
    let events = [
        (10, run),
        (20, stop(Stop::Blocked("sleep"))),
        (30, Event::Gone { thread }),
        (40, ready(Some(ThreadId(1)))),
        (43, run),
        (50, stop(Stop::Blocked("sleep"))),
        (60, ready(None)),
        (61, run),
        (65, stop(Stop::Exited)),
        (70, ready(None)),
        (71, run),
        (79, stop(Stop::Blocked("sleep"))),
    ];
    for (at, event) in events {
        seen.observe(Ns(at), &event);
    }
    let history = seen.finish(Ns(80));
    assert!(history.waits.is_empty(), "{:?}", history.waits);
    let woken: Vec<Woken> = history.spans.iter().map(|span| span.woken).collect();
    assert_eq!(woken, [Woken::No, Woken::No, Woken::ByItself, Woken::No]);
    assert_eq!(history.threads[0].responses, Times::default(), "it never came to wait again");
}

#[test]
fn a_thread_that_is_queued_anew_has_waited_since_it_woke() {
    let mut seen = recorder();
    two(&mut seen);
    let (core, thread, other) = (CoreId(0), ThreadId(0), ThreadId(1));
    let ready = |core: u16, by: Option<ThreadId>| Event::Ready { thread, core: CoreId(core), by };
    let events = [
        (10, Event::Run { core, thread }),
        (20, Event::Stop { core, thread, why: Stop::Blocked("futex") }),
        (50, ready(0, Some(other))),
        (52, ready(1, None)),
        (55, Event::Run { core: CoreId(1), thread }),
    ];
    for (at, event) in events {
        seen.observe(Ns(at), &event);
    }
    let history = seen.finish(Ns(60));
    let last = history.spans.last().unwrap();
    assert_eq!((last.ready, last.woken), (Ns(5), Woken::By(other)));
}

#[test]
fn what_is_thought_of_a_thread_is_noted_where_it_changes() {
    let mut seen = recorder();
    two(&mut seen);
    let judgement = |label, speedup| Judgement { label, speedup: Some(speedup) };
    let (big, anywhere) = (judgement(Label::Big, 2.0), judgement(Label::Any, 2.0));
    let (one, cores) = (ThreadId(1), CoreSet::EMPTY.with(CoreId(0)));
    seen.observe(Ns(10), &Event::Judged { thread: one, judgement: big });
    seen.observe(Ns(20), &Event::Judged { thread: one, judgement: judgement(Label::Big, 2.01) });
    seen.observe(Ns(30), &Event::Affinity { thread: one, cores });
    seen.observe(Ns(40), &Event::Judged { thread: one, judgement: anywhere });
    let expected = [(10, big, None), (30, big, Some(cores)), (40, anywhere, Some(cores))];
    let judged: Vec<_> = seen.finish(Ns(50)).judged.iter().map(|j| (j.at.0, j.judgement, j.kept)).collect();
    assert_eq!(judged, expected);
}

#[test]
fn however_often_threads_are_judged_the_last_is_kept() {
    let mut seen = recorder();
    two(&mut seen);
    for round in 0..2 * JUDGED as u64 {
        let judgement = Judgement { label: [Label::Big, Label::Little][round as usize % 2], speedup: None };
        let thread = ThreadId((round / 2 % 2) as u32);
        seen.observe(Ns(1000 * round), &Event::Judged { thread, judgement });
    }
    let judged = seen.finish(Ns(2000 * JUDGED as u64)).judged;
    assert!(judged.len() < JUDGED && judged.len() > JUDGED / 8, "{}", judged.len());
    assert!(judged.is_sorted_by_key(|judged| judged.at));
    assert_eq!(judged.last().map(|last| last.at), Some(Ns(1000 * (2 * JUDGED as u64 - 1))));
}

proptest! {
    #[test]
    fn however_little_is_kept_lanes_are_in_order_and_within_the_run(
        turns in proptest::collection::vec((0..4u16, 0..5u32, 1..1000u64), 1..400),
        most in 1..64usize,
    ) {
        let mut seen = recorder().at_most(most);
        for thread in 0..5 {
            seen.observe(Ns(0), &created(thread));
        }
        let mut now = 0;
        for (core, thread, length) in turns {
            seen.observe(Ns(now), &Event::Run { core: CoreId(core), thread: ThreadId(thread) });
            now += length;
            seen.observe(Ns(now), &Event::Stop { core: CoreId(core), thread: ThreadId(thread), why: Stop::Yielded });
        }
        let history = seen.finish(Ns(now));
        prop_assert!(history.spans.len() <= most.max(4), "{} spans", history.spans.len());
        for core in 0..4 {
            let lane: Vec<&Span> = history.spans.iter().filter(|span| span.core == CoreId(core)).collect();
            prop_assert!(lane.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(lane.iter().all(|span| span.start < span.end && span.end <= Ns(now)));
        }
    }
}

//! Threads that are steered from beside their scheduler: what is seen of them, and what becomes of orders. A little core does 1 M
//! instructions a ms, a big one 2 M.

use crate::common::{compute, machine, policy, program, thread, workload};
use evenkeel_model::{CoreId, CoreSet, Ns, ThreadId};
use evenkeel_sched::Wait;
use evenkeel_sched::policy::Judgement;
use evenkeel_sched::steering::{Order, Seen, Steering};
use evenkeel_sim::{Options, Outcome, run_steered};
use evenkeel_workload::program::{SchedParams, Spread, Start, ThreadIndex};
use evenkeel_workload::{Op, Thread, Workload};

/// When, how many threads there are, and of the first: its core, what it waits for, its time on big and little cores.
type First = (u64, usize, CoreId, Option<Wait>, [Ns; 2]);

/// Looks every 2 ms, and gives the orders of its script.
#[derive(Default)]
struct Script {
    orders: Vec<(u64, Order)>,
    due: Vec<Order>,
    seen: Vec<First>,
    /// Big cores that go idle bring the next look forward by so much.
    soon: Option<Ns>,
}

impl Steering for Script {
    fn look(&mut self, now: Ns, threads: &[Seen<'_>]) -> (Ns, Ns) {
        let ms = now.0 / 1_000_000;
        if let Some(first) = threads.first() {
            let times = [0, 1].map(|on| first.on_type.get(on).copied().unwrap_or_default());
            self.seen.push((ms, threads.len(), first.core, first.waits, times));
        }
        self.due = self.orders.iter().filter(|(at, _)| *at == ms).map(|(_, order)| *order).collect();
        (now + Ns::from_ms(2), now + self.soon.unwrap_or(Ns::NEVER.since(now)))
    }

    fn orders(&self) -> Vec<Order> {
        self.due.clone()
    }

    fn judgement(&self, _thread: ThreadId) -> Judgement {
        Judgement::default()
    }
}

fn play(workload: &Workload, script: &mut Script) -> Outcome {
    run_steered(&machine(1, 1), workload, policy("static"), script, &Options::default(), &mut ()).expect("it ends")
}

fn ordered(orders: &[(u64, Order)]) -> Script {
    Script { orders: orders.to_vec(), ..Script::default() }
}

const FIRST: ThreadId = ThreadId(0);
const LITTLE: CoreId = CoreId(1);

#[test]
fn threads_go_where_they_are_moved_and_bound() {
    let one = workload(vec![program("p", vec![thread("t", vec![compute(20)])])]);
    let little = CoreSet::EMPTY.with(LITTLE);
    assert_eq!(play(&one, &mut Script::default()).makespan, Ns::from_ms(10));
    // 4 ms on the big core, 12 on the little one.
    let mut script = ordered(&[(4, Order::Bind(FIRST, little))]);
    let outcome = play(&one, &mut script);
    assert_eq!(
        (outcome.makespan, &outcome.threads[0].on_type[..]),
        (Ns::from_ms(16), &[Ns::from_ms(4), Ns::from_ms(12)][..])
    );
    assert_eq!(script.seen[3], (6, 1, LITTLE, None, [Ns::from_ms(4), Ns::from_ms(2)]));
    // There and back.
    let all = CoreSet::first(2);
    let back = [(4, Order::Bind(FIRST, little)), (8, Order::Bind(FIRST, all)), (8, Order::Move(FIRST, CoreId(0)))];
    assert_eq!(play(&one, &mut ordered(&back)).makespan, Ns::from_ms(8 + 4));
    // A program's own mask comes first, and what leaves no core is refused.
    let mut own = one.clone();
    own.programs[0].threads[0].sched = SchedParams { cpus: Some(vec![1]), ..SchedParams::default() };
    let against = [(2, Order::Move(FIRST, CoreId(0))), (4, Order::Bind(FIRST, CoreSet::EMPTY.with(CoreId(0))))];
    assert_eq!(play(&own, &mut ordered(&against)).makespan, Ns::from_ms(20));
}

#[test]
fn a_thread_that_begins_again_may_run_anywhere_again() {
    let (spawn, join) = (|| Op::Spawn(ThreadIndex(1)), || Op::Join(ThreadIndex(1)));
    let main = thread("main", vec![spawn(), join(), spawn(), join()]);
    let spawned = Thread { start: Start::Spawned, ..thread("spawned", vec![compute(20)]) };
    let twice = workload(vec![program("p", vec![main, spawned])]);
    let mut script = ordered(&[(4, Order::Bind(ThreadId(1), CoreSet::EMPTY.with(LITTLE)))]);
    let outcome = run_steered(&machine(1, 1), &twice, policy("cfs"), &mut script, &Options::default(), &mut ());
    // 20 ms on the little core, beside the one that spawned it, and then 10 on the big one.
    assert_eq!(outcome.expect("it ends").makespan, Ns::from_ms(30));
}

/// When each life of the second thread began in which it was seen.
#[derive(Default)]
struct Lives(Vec<Ns>);

impl Steering for Lives {
    fn look(&mut self, now: Ns, threads: &[Seen<'_>]) -> (Ns, Ns) {
        for seen in threads {
            let had = seen.on_type.iter().copied().sum::<Ns>() + seen.waited;
            assert!(had <= now.since(seen.began), "{seen:?} at {now}");
            assert_eq!(seen.blame, Ns::ZERO, "at {now}");
        }
        self.0.extend(threads.iter().filter(|seen| seen.thread == ThreadId(1)).map(|seen| seen.began));
        self.0.dedup();
        (now + Ns::from_ms(2), Ns::NEVER)
    }

    fn orders(&self) -> Vec<Order> {
        Vec::new()
    }

    fn judgement(&self, _thread: ThreadId) -> Judgement {
        Judgement::default()
    }
}

#[test]
fn what_a_thread_did_before_it_began_again_is_not_seen() {
    let (spawn, join) = (|| Op::Spawn(ThreadIndex(1)), || Op::Join(ThreadIndex(1)));
    let main = thread("main", vec![spawn(), join(), spawn(), join()]);
    let spawned = Thread { start: Start::Spawned, ..thread("spawned", vec![compute(40)]) };
    let twice = workload(vec![program("p", vec![main, spawned])]);
    let mut lives = Lives::default();
    let outcome = run_steered(&machine(1, 0), &twice, policy("cfs"), &mut lives, &Options::default(), &mut ());
    assert_eq!(lives.0, [Ns::ZERO, Ns::from_ms(20)]);
    let outcome = outcome.expect("it ends");
    let spawned = &outcome.threads[1];
    assert_eq!((spawned.on_type[0], spawned.blame), (Ns::from_ms(40), Ns::from_ms(40)), "its account is of both");
}

#[test]
fn waits_are_seen_and_idle_big_cores_bring_a_look_forward() {
    let sleep = Op::Sleep { span: Ns::from_ms(10), spread: Spread::None };
    let sleeps = workload(vec![program("p", vec![thread("t", vec![compute(5), sleep, compute(2)])])]);
    let mut script = Script { soon: Some(Ns::from_us(500)), ..Script::default() };
    assert_eq!(play(&sleeps, &mut script).makespan, Ns::from_us(2_500 + 10_000 + 1_000));
    let at: Vec<(u64, bool)> = script.seen.iter().map(|seen| (seen.0, seen.3 == Some(Wait::Sleep))).collect();
    // At 2.5 ms it goes to sleep, which is seen at once, and then every 2 ms.
    assert_eq!(at[..4], [(0, false), (2, false), (2, true), (4, true)]);
}

//! The schedulers that big.LITTLE boards ship, and the governors of their clusters' frequencies, seen from outside: what
//! "Exploiting Asymmetric Multi-Core Processors with Flexible System Software", section III, and the kernel's documents say
//! of them.

use std::collections::BTreeSet;

use crate::common;
use crate::common::{compute, machine, policy, program, thread, workload};
use evenkeel_model::{CoreId, Hz, Machine, Ns, machines};
use evenkeel_sched::Governor;
use evenkeel_sim::{Event, Observer, Options, Outcome, run};
use evenkeel_workload::program::{Queue, QueueId, Spread, TimerId, TimerMode, Work};
use evenkeel_workload::{Op, Thread, Workload};
use proptest::prelude::*;

/// The sets of cores that were busy together for any time at all, and every change of the two clusters' frequencies.
#[derive(Default)]
struct Watch {
    busy: BTreeSet<u16>,
    since: Ns,
    together: BTreeSet<BTreeSet<u16>>,
    told: usize,
    frequencies: Vec<(Ns, u16, Hz)>,
    /// Of each cluster since when, and what it has used until then.
    powers: [(Ns, f64); 2],
    used: [f64; 2],
}

impl Watch {
    /// What each cluster has used by a time, in J, if the powers that were observed are right.
    fn used(&self, until: Ns) -> [f64; 2] {
        [0, 1].map(|cluster| {
            let (since, watts) = self.powers[cluster];
            self.used[cluster] + watts * until.since(since).as_secs_f64()
        })
    }
}

impl Observer for Watch {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        if at > self.since {
            self.together.insert(self.busy.clone());
            self.since = at;
        }
        match event {
            Event::Run { core, .. } => drop(self.busy.insert(core.0)),
            Event::Stop { core, .. } => drop(self.busy.remove(&core.0)),
            // What a machine begins with is told without a change.
            Event::Frequency { .. } if self.told < 2 => self.told += 1,
            Event::Frequency { cluster, frequency } => self.frequencies.push((at, cluster.0, *frequency)),
            Event::Power { cluster, power } => {
                self.used = self.used(at);
                self.powers.iter_mut().for_each(|(since, _)| *since = at);
                self.powers[cluster.index()].1 = power.0;
            }
            _ => {}
        }
    }
}

fn watch(machine: &Machine, w: &Workload, name: &str, governor: Governor) -> (Outcome, Watch) {
    let mut watch = Watch::default();
    let options = Options { governor, ..Options::default() };
    let outcome = run(machine, w, policy(name), None, &options, &mut watch).expect("runs");
    (outcome, watch)
}

/// So many million instructions in every period of so many ms, so many times. Each such thread has a timer of its own.
fn periodic(timer: u32, million: u64, period: u64, times: u64) -> Thread {
    let timer = Op::Timer { timer: TimerId(timer), period: Ns::from_ms(period), mode: TimerMode::Relative };
    thread("periodic", vec![Op::Repeat { times: Some(times), body: vec![compute(million), timer] }])
}

fn alone(threads: Vec<Thread>) -> Workload {
    let mut p = program("p", threads);
    p.timers = (0..p.threads.len()).map(|timer| timer.to_string()).collect();
    workload(vec![p])
}

fn big_share(outcome: &Outcome, thread: usize) -> f64 {
    let on_type = &outcome.threads[thread].on_type;
    on_type[0].0 as f64 / on_type.iter().map(|time| time.0).sum::<u64>() as f64
}

/// Threads that compute and sleep by turns, so that they want now the one type of core and now the other.
fn moods() -> impl Strategy<Value = Workload> {
    let turn = (1..300u64, 1..300u64)
        .prop_map(|(busy, asleep)| [compute(busy), Op::Sleep { span: Ns::from_ms(asleep), spread: Spread::None }]);
    let threads = prop::collection::vec(prop::collection::vec(turn, 1..6), 1..8);
    threads.prop_map(|threads| {
        let threads = threads.into_iter().enumerate().map(|(i, turns)| thread(&format!("t{i}"), turns.concat()));
        alone(threads.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn cluster_switching_never_runs_both_clusters(w in moods(), big in 1..4u16, little in 1..4u16) {
        let machine = machine(big, little);
        let (_, watch) = watch(&machine, &w, "cluster-switch", Governor::Performance);
        for busy in watch.together {
            let is_big = |core: &u16| machine.big().contains(CoreId(*core));
            prop_assert!(busy.iter().all(is_big) || !busy.iter().any(is_big), "{:?}", busy);
        }
    }

    #[test]
    fn the_in_kernel_switch_never_runs_both_of_a_pair(w in moods(), pairs in 1..4u16) {
        let (_, watch) = watch(&machine(pairs, pairs), &w, "iks", Governor::Performance);
        for busy in watch.together {
            prop_assert!((0..pairs).all(|pair| !(busy.contains(&pair) && busy.contains(&(pair + pairs)))), "{:?}", busy);
        }
    }

    /// Where nothing but work takes time, the powers that are observed make up the energy, whatever changes them.
    #[test]
    fn observed_power_is_that_of_the_energy(w in moods(), narrow in any::<bool>()) {
        let mut odroid = machines::by_name("odroid-xu3").unwrap();
        odroid.costs = machine(1, 1).costs;
        let mut w = w;
        if narrow {
            odroid.memory_gbps = Some(0.5);
            w.programs[0].phases[0].behaviour.memory_bytes = Some(1000.0);
        }
        let (outcome, watch) = watch(&odroid, &w, "gts", Governor::Schedutil);
        let cores = |cluster: usize| odroid.clusters[cluster].cores.iter().map(|core| outcome.cores[core.index()].energy.0);
        for (cluster, used) in watch.used(outcome.makespan).into_iter().enumerate() {
            let energy: f64 = cores(cluster).sum();
            prop_assert!((used - energy).abs() <= 1e-4 * energy, "{} {} {}", cluster, used, energy);
        }
    }

    /// However often frequencies change: no work is lost, cores are busy or idle, and the same seed gives the same run.
    #[test]
    fn the_books_balance_under_every_governor(w in moods(), mhz in 100..2000u64, delay in 0..300_000u64) {
        let odroid = machines::by_name("odroid-xu3").unwrap();
        let work: u64 = w.programs[0].threads.iter().flat_map(|t| &t.ops).map(|op| match op {
            Op::Compute { work: Work::Instructions(count), .. } => *count,
            _ => 0,
        }).sum();
        let governors =
            [Governor::Performance, Governor::Powersave, Governor::Userspace(Hz::from_mhz(mhz)), Governor::Schedutil];
        for governor in governors {
            for name in common::policies(&odroid) {
                let options = Options { governor, delay: Ns(delay), ..Options::default() };
                let outcome = common::play(&odroid, &w, name, &options).expect("runs");
                prop_assert_eq!(outcome.programs[0].instructions.0, work, "{} {:?}", name, governor);
                for core in &outcome.cores {
                    prop_assert_eq!(core.busy + core.idle, outcome.makespan);
                }
                prop_assert_eq!(&outcome, &common::play(&odroid, &w, name, &options).expect("runs"));
            }
        }
    }
}

#[test]
fn cluster_switching_moves_everything_when_one_thread_is_busy() {
    let w = alone(vec![thread("busy", vec![compute(2000)]), periodic(1, 1, 20, 200)]);
    let (outcome, _) = watch(&machine(2, 2), &w, "cluster-switch", Governor::Performance);
    assert!(big_share(&outcome, 0) > 0.8, "{}", big_share(&outcome, 0));
    // The busy one is done after about a second of four, and the small one was with it on the big cores for so long.
    assert!((0.1..0.5).contains(&big_share(&outcome, 1)), "{}", big_share(&outcome, 1));
}

#[test]
fn the_in_kernel_switch_moves_only_the_pair_that_is_busy() {
    let w = alone(vec![thread("busy", vec![compute(2000)]), periodic(1, 1, 20, 40)]);
    let (outcome, watch) = watch(&machine(2, 2), &w, "iks", Governor::Performance);
    assert!(big_share(&outcome, 0) > 0.8, "{}", big_share(&outcome, 0));
    assert!(big_share(&outcome, 1) < 0.1, "{}", big_share(&outcome, 1));
    assert!(
        watch.together.iter().any(|busy| busy.len() == 2),
        "both types at the same time, which cluster switching cannot"
    );
}

/// Five equal threads on four big cores and one that is half as fast: the one on the little core is half done when the big
/// ones are free, and a big one takes over the rest.
#[test]
fn under_gts_a_big_core_that_is_done_takes_over_from_a_little_one() {
    let w = alone((0..5).map(|i| thread(&format!("t{i}"), vec![compute(400)])).collect());
    let (outcome, _) = watch(&machine(4, 1), &w, "gts", Governor::Performance);
    assert!(outcome.makespan >= Ns::from_ms(300) && outcome.makespan < Ns::from_ms(306), "{}", outcome.makespan);
}

/// A pipeline whose middle stage takes longest, so that the others mostly wait for it.
#[test]
fn under_gts_the_longest_stage_of_a_pipeline_gets_the_big_core() {
    let stage = |from: Option<u32>, million, to: Option<u32>| {
        let put = to.map(|queue| Op::Put(QueueId(queue)));
        let body: Vec<Op> = [compute(million)].into_iter().chain(put).collect();
        let all = match from {
            Some(queue) => Op::Drain { queue: QueueId(queue), body },
            None => Op::Repeat { times: Some(300), body },
        };
        thread("stage", [all].into_iter().chain(to.map(|queue| Op::Close(QueueId(queue)))).collect())
    };
    let mut w = alone(vec![stage(None, 1, Some(0)), stage(Some(0), 10, Some(1)), stage(Some(1), 1, None)]);
    let queue = |name: &str| Queue { name: name.into(), capacity: 4, filled: 0, producers: 1 };
    w.programs[0].queues = vec![queue("a"), queue("b")];
    let (outcome, _) = watch(&machine(1, 2), &w, "gts", Governor::Performance);
    let shares = [0, 1, 2].map(|stage| big_share(&outcome, stage));
    assert!(shares[1] > 0.9 && shares[0] < 0.2 && shares[2] < 0.2, "{shares:?}");
}

#[test]
fn on_equal_cores_cluster_switching_and_eas_are_cfs() {
    let w = alone((0..5).map(|i| periodic(i, 3, 5, 50)).collect());
    let (cfs, _) = watch(&machine(0, 4), &w, "cfs", Governor::Performance);
    for policy in ["cluster-switch", "eas"] {
        let (outcome, _) = watch(&machine(0, 4), &w, policy, Governor::Performance);
        assert_eq!((outcome.makespan, outcome.migrations), (cfs.makespan, cfs.migrations), "{policy}");
    }
}

#[test]
fn eas_puts_a_small_thread_on_the_little_cluster_and_a_big_one_on_the_big() {
    let odroid = machines::by_name("odroid-xu3").unwrap();
    // 3 % and 52 % of a big core.
    let w = alone(vec![periodic(0, 1, 10, 200), periodic(1, 20, 10, 100)]);
    let (outcome, _) = watch(&odroid, &w, "eas", Governor::Schedutil);
    assert!(big_share(&outcome, 0) < 0.1, "{}", big_share(&outcome, 0));
    assert!(big_share(&outcome, 1) > 0.8, "{}", big_share(&outcome, 1));
}

#[test]
fn eas_moves_a_misfit_to_a_big_core_though_it_never_sleeps() {
    let little_first = machine(1, 1).ordered(evenkeel_model::CoreOrder::LittleFirst);
    let w = alone(vec![thread("busy", vec![compute(1000)])]);
    let (outcome, _) = watch(&little_first, &w, "eas", Governor::Performance);
    assert!(big_share(&outcome, 0) > 0.7, "{}", big_share(&outcome, 0));
}

#[test]
fn eas_uses_all_cores_when_all_are_needed() {
    let threads = (0..4).map(|i| thread(&format!("t{i}"), vec![compute(400)])).collect();
    let (outcome, _) = watch(&machine(2, 2), &alone(threads), "eas", Governor::Performance);
    assert!(outcome.cores.iter().all(|core| core.busy > Ns::from_ms(50)), "{:?}", outcome.cores);
}

/// A big core that is used to a tenth.
fn light() -> Workload {
    let mut light = periodic(0, 8, 20, 100);
    light.sched.cpus = Some(vec![4]);
    alone(vec![light])
}

#[test]
fn schedutil_follows_use_and_saves_energy() {
    let odroid = machines::by_name("odroid-xu3").unwrap();
    let (fast, watched) = watch(&odroid, &light(), "cfs", Governor::Performance);
    assert_eq!(watched.frequencies, [], "performance is how machines begin");
    let (frugal, watched) = watch(&odroid, &light(), "cfs", Governor::Schedutil);
    let last = watched.frequencies.iter().rev().find(|(_, cluster, _)| *cluster == 1).unwrap();
    assert!(last.2 <= Hz::from_mhz(400), "{last:?}");
    assert!(frugal.energy.0 < 0.95 * fast.energy.0, "{:?} for {:?}", frugal.energy, fast.energy);
    let busy = |outcome: &Outcome| outcome.cores[4].busy;
    assert!(busy(&frugal) > Ns(2 * busy(&fast).0) && frugal.missed_timers == 0, "slower, but not too slow");
}

#[test]
fn schedutil_reaches_the_highest_frequency_when_a_thread_never_sleeps() {
    let odroid = machines::by_name("odroid-xu3").unwrap();
    let mut busy = thread("busy", vec![compute(2000)]);
    busy.sched.cpus = Some(vec![4]);
    let (_, watched) = watch(&odroid, &alone(vec![busy]), "cfs", Governor::Schedutil);
    let of_big: Vec<_> = watched.frequencies.iter().filter(|(_, cluster, _)| *cluster == 1).collect();
    let top = of_big.iter().find(|(_, _, frequency)| *frequency == Hz::from_mhz(1600)).unwrap();
    assert!(top.0 < Ns::from_ms(300), "after some half-lives of the average: {}", top.0);
    let apart = of_big[1..].windows(2).map(|pair| pair[1].0.since(pair[0].0)).min().unwrap();
    assert!(apart >= Ns::from_ms(10), "the rate limit: {apart}");
}

#[test]
fn fixed_frequencies_are_kept_from_the_start() {
    let odroid = machines::by_name("odroid-xu3").unwrap();
    let (_, slow) = watch(&odroid, &light(), "cfs", Governor::Powersave);
    let (_, half) = watch(&odroid, &light(), "cfs", Governor::Userspace(Hz::from_mhz(800)));
    let at_start =
        |list: &[(u16, u64)]| list.iter().map(|(c, mhz)| (Ns::ZERO, *c, Hz::from_mhz(*mhz))).collect::<Vec<_>>();
    assert_eq!(slow.frequencies, at_start(&[(0, 200), (1, 200)]));
    assert_eq!(half.frequencies, at_start(&[(1, 800)]), "the little cluster has no more than that");
}

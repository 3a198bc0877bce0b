//! How long the programs of a recorded run would take on the machine that it was made on, under a policy: to be held against
//! what was measured.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{CoreId, Ns};
use evenkeel_sched::Setup;
use evenkeel_sim::{Event, Observer, Stop};
use evenkeel_workload::recording::{RecordedThread, Recording, Step};

use crate::control::Stage;
use crate::{Beside, Conditions, Control, Error, Plan, Result, Runner, catalog};

/// Seeds with which a recording is played, in both core orders: what starts the programs begins on every core of a machine with eight
/// (assumed to be often enough).
const SEEDS: u64 = 8;

/// A recorded run that was played once.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The seconds until each program was over.
    pub programs_s: Vec<f64>,
    /// Which of them began on a core of the fastest type.
    pub began_on_big: Vec<bool>,
}

/// Plays what programs measure of a recorded run, as [`Runner`] does: with noise, with several seeds and in both core orders, since a
/// kernel that takes all cores for equal may begin a program on any of them. A program is a process that the recorded one has started, with
/// what that starts, and programs come in the order in which they were started. A program's time begins with the first thread that it
/// starts. Where it is `whole`, its process only measures the time of another, of which all counts. What is `beside` steers, as
/// [`Conditions::beside`] says. A switch between two threads takes what the recording says, if there is nothing else known of this policy's.
///
/// # Errors
/// The recording does not state its machine, or cannot be played.
pub fn play(
    path: &str,
    mut recording: Recording,
    whole: &[bool],
    policy: Setup,
    beside: Option<Beside>,
    switch: Option<Ns>,
) -> Result<Vec<Played>> {
    leave_out_starts(&mut recording.threads, whole);
    let programs = programs(&recording.threads);
    let found = catalog::recording(path, "recording", &recording)?;
    let unknown = |why: &str| Error::Machine { name: path.to_owned(), why: why.to_owned() };
    let mut machine = found.recorded_on.ok_or_else(|| unknown("the recording does not state its machine"))?;
    machine.costs.context_switch = switch.unwrap_or(machine.costs.context_switch);
    let conditions = Conditions { beside, noise: true, ..Conditions::default() };
    let plan = Plan {
        workloads: vec![found.workload],
        machines: vec![machine],
        policies: vec![policy],
        conditions,
        seeds: (1..=SEEDS).collect(),
        ..Plan::default()
    };
    let control = Control::default();
    let runner = Runner::new(plan, &control)?;
    control.each(Stage::Runs, &runner.plan().jobs(), |job| {
        let mut lives = Lives(vec![Life::default(); recording.threads.len()]);
        let makespan = runner.run(*job, &mut lives)?.measurement.makespan;
        let over = |threads: &Vec<usize>| threads.iter().filter_map(|thread| lives.0[*thread].ended).max();
        let big = runner.machine(*job).big();
        let on_big = |threads: &Vec<usize>| lives.0[threads[0]].began.is_some_and(|core| big.contains(core));
        Ok(Played {
            programs_s: programs.iter().map(|threads| over(threads).unwrap_or(makespan).as_secs_f64()).collect(),
            began_on_big: programs.iter().map(on_big).collect(),
        })
    })
}

/// Where each thread of a recording runs first, and when it exits, if it does.
struct Lives(Vec<Life>);

#[derive(Clone, Copy, Debug, Default)]
struct Life {
    began: Option<CoreId>,
    ended: Option<Ns>,
}

impl Observer for Lives {
    fn observe(&mut self, at: Ns, event: &Event<'_>) {
        match event {
            Event::Run { thread, core } => drop(self.0[thread.index()].began.get_or_insert(*core)),
            Event::Stop { thread, why: Stop::Exited, .. } => self.0[thread.index()].ended = Some(at),
            _ => {}
        }
    }
}

/// The threads of each program, in the order in which these were started, but for those of processes that only start others: a program may
/// be started by another one, which waits for its own turn before.
fn programs(threads: &[RecordedThread]) -> Vec<Vec<usize>> {
    let mut processes: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (position, thread) in threads.iter().enumerate() {
        processes.entry(thread.process).or_default().push(position);
    }
    let origins = origins(threads);
    let works = |thread: &usize| threads[*thread].steps.iter().any(takes_time);
    let mut found: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (process, threads) in processes.into_iter().filter(|(_, threads)| threads.iter().any(works)) {
        found.entry(*origins.get(&process).unwrap_or(&process)).or_default().extend(threads);
    }
    found.into_values().collect()
}

/// For each process the one that it comes from, or is, of those that the first process has started.
fn origins(threads: &[RecordedThread]) -> BTreeMap<u32, u32> {
    let mut origins: BTreeMap<u32, u32> = BTreeMap::new();
    for thread in threads {
        let started = thread.steps.iter().filter_map(spawned).map(|child| threads[child as usize].process);
        for child in started.filter(|child| *child != thread.process) {
            let first = thread.process == threads[0].process;
            let origin = if first { Some(child) } else { origins.get(&thread.process).copied() };
            if let Some(origin) = origin {
                origins.entry(child).or_insert(origin);
            }
        }
    }
    origins
}

fn spawned(step: &Step) -> Option<u32> {
    if let Step::Spawn(child) = step { Some(*child) } else { None }
}

fn takes_time(step: &Step) -> bool {
    matches!(step, Step::Run(_) | Step::Sleep(_) | Step::Io(_) | Step::Share { .. } | Step::Take(_))
}

/// Programs take their own time, after they have been loaded, and in an emulator loading takes longer than many a run. So what a
/// thread did before it started the first other thread of its process takes no time, and nothing does of what only starts
/// processes, as a shell does. Of a `whole` program all counts but what measures its time.
fn leave_out_starts(threads: &mut [RecordedThread], whole: &[bool]) {
    let processes: Vec<u32> = threads.iter().map(|thread| thread.process).collect();
    let origins = origins(threads);
    let programs: BTreeSet<u32> = origins.values().copied().collect();
    let whole: BTreeSet<u32> =
        programs.into_iter().zip(whole).filter_map(|(one, whole)| whole.then_some(one)).collect();
    let counts =
        |process: u32| origins.get(&process).is_some_and(|origin| *origin != process && whole.contains(origin));
    for thread in threads.iter_mut().filter(|thread| !counts(thread.process)) {
        let own = |step: &Step| spawned(step).is_some_and(|child| processes[child as usize] == thread.process);
        let started = match thread.steps.iter().position(own) {
            Some(first) => first,
            None if thread.steps.iter().any(|step| spawned(step).is_some()) => thread.steps.len(),
            None => continue,
        };
        let rest = thread.steps.split_off(started);
        thread.steps.retain(|step| !matches!(step, Step::Run(_) | Step::Sleep(_) | Step::Io(_)));
        thread.steps.extend(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that takes 50 ms, and starts a program that takes 100 ms to load and has two threads of 10 ms, and one of 4 ms.
    const RECORDED: &str = r#"{"evenkeel":1,"makespan_ns":200000000,"threads":5}
{"thread":0,"name":"sh","process":0,"ops":[["run",50000000],["spawn",1],["spawn",4],["wait"],["wait"],["run",40000000]]}
{"thread":1,"name":"main","process":1,"spawned":true,"ops":[["run",90000000],["io",10000000],["spawn",2],["spawn",3],["wait"],["wait"],["wake",0]]}
{"thread":2,"name":"worker","process":1,"spawned":true,"ops":[["run",10000000],["wake",1]]}
{"thread":3,"name":"worker","process":1,"spawned":true,"ops":[["run",10000000],["wake",1]]}
{"thread":4,"name":"short","process":2,"spawned":true,"ops":[["run",4000000],["wake",0]]}
"#;

    fn predict(machine: Option<&str>, policy: &str, switch: Option<Ns>) -> Result<Vec<Played>> {
        let recording = Recording::from_text(RECORDED, "r.ek").unwrap();
        let recording = Recording { machine: machine.map(str::to_owned), ..recording };
        play("r.ek", recording, &[false; 2], catalog::policy(policy).unwrap(), None, switch)
    }

    #[test]
    fn a_prediction_is_of_what_programs_measure() {
        let machine = evenkeel_model::machines::text("2B2S");
        let (stock, pfs) = (predict(machine, "eevdf", None).unwrap(), predict(machine, "pfs", None).unwrap());
        for played in &pfs {
            let [program, short] = played.programs_s[..] else { panic!("{pfs:?}") };
            assert!((0.01..0.025).contains(&program) && (0.004..0.013).contains(&short), "{pfs:?}");
        }
        for played in &stock {
            assert!((0.01..0.045).contains(&played.programs_s[0]) && played.programs_s.len() == 2, "{stock:?}");
        }
        let dear = predict(machine, "pfs", Some(Ns::from_ms(3))).unwrap();
        // At least one switch to each of its threads.
        let later = |(dear, pfs): (&Played, &Played)| dear.programs_s[0] > pfs.programs_s[0] + 2e-3;
        assert!(dear.iter().zip(&pfs).all(later), "{dear:?}");
        assert_eq!(
            predict(None, "pfs", None).unwrap_err().to_string(),
            "r.ek: the recording does not state its machine"
        );
    }

    /// A shell starts something that starts a program only when another one, which was started later, runs already.
    #[test]
    fn programs_come_in_the_order_in_which_what_starts_them_was_started() {
        let text = r#"{"evenkeel":1,"makespan_ns":50000000,"threads":4}
{"thread":0,"name":"sh","process":0,"ops":[["spawn",1],["spawn",2],["wait"],["wait"]]}
{"thread":1,"name":"timed","process":1,"spawned":true,"ops":[["spawn",3],["wait"],["wake",0]]}
{"thread":2,"name":"other","process":2,"spawned":true,"ops":[["run",1000000],["wake",0]]}
{"thread":3,"name":"program","process":3,"spawned":true,"ops":[["run",30000000],["wake",1]]}
"#;
        let recording = Recording::from_text(text, "r.ek").unwrap();
        assert_eq!(programs(&recording.threads), [[3], [2]]);
    }

    /// A program that loads for 20 ms, and has two processes that take 10 ms each; what measures its time takes 70 ms before.
    #[test]
    fn of_a_whole_program_all_counts_but_what_measures_its_time() {
        let text = r#"{"evenkeel":1,"makespan_ns":200000000,"threads":6}
{"thread":0,"name":"together","process":0,"ops":[["run",5000000],["spawn",1],["spawn",2],["wait"],["wait"]]}
{"thread":1,"name":"timed","process":1,"spawned":true,"ops":[["run",70000000],["spawn",3],["wait"],["wake",0]]}
{"thread":2,"name":"other","process":2,"spawned":true,"ops":[["run",1000000],["wake",0]]}
{"thread":3,"name":"sh","process":3,"spawned":true,"ops":[["run",20000000],["spawn",4],["spawn",5],["wait"],["wait"],["wake",1]]}
{"thread":4,"name":"app","process":4,"spawned":true,"ops":[["run",10000000],["wake",3]]}
{"thread":5,"name":"app","process":5,"spawned":true,"ops":[["run",10000000],["wake",3]]}
"#;
        let machine = evenkeel_model::machines::text("2B2S").map(str::to_owned);
        let recording = Recording { machine, ..Recording::from_text(text, "r.ek").unwrap() };
        let policy = || catalog::policy("pfs").unwrap();
        let times = |whole: [bool; 2]| -> Vec<[f64; 2]> {
            let played = play("r.ek", recording.clone(), &whole, policy(), None, None).unwrap();
            played.into_iter().map(|one| one.programs_s.try_into().unwrap()).collect()
        };
        for [app, other] in times([true, false]) {
            assert!((0.029..0.12).contains(&app) && other < 0.015, "{app} {other}");
        }
        assert!(times([false, true]).iter().all(|[app, _]| *app < 0.025));
        let mut threads = recording.threads.clone();
        leave_out_starts(&mut threads, &[true, false]);
        assert_eq!(programs(&threads), [vec![3, 4, 5], vec![2]]);
    }

    /// What takes all cores for equal begins anywhere, and there a program of one thread stays.
    #[test]
    fn where_a_program_begins_is_chance_and_told() {
        let alone = r#"{"evenkeel":1,"makespan_ns":50000000,"threads":2}
{"thread":0,"name":"sh","process":0,"ops":[["run",9000000],["spawn",1],["wait"]]}
{"thread":1,"name":"program","process":1,"spawned":true,"ops":[["run",30000000],["wake",0]]}
"#;
        let recording = Recording::from_text(alone, "r.ek").unwrap();
        let machine = evenkeel_model::machines::text("2B2S").map(str::to_owned);
        let recording = Recording { machine, ..recording };
        let stock = play("r.ek", recording, &[false], catalog::policy("eevdf").unwrap(), None, None).unwrap();
        let times = |big: bool| stock.iter().filter(move |one| one.began_on_big == [big]).map(|one| one.programs_s[0]);
        assert!(times(false).count() > 0 && times(true).count() > 0, "{stock:?}");
        let (fastest, slowest) = (times(false).fold(f64::INFINITY, f64::min), times(true).fold(0.0, f64::max));
        assert!(fastest > 1.5 * slowest, "{stock:?}");
    }
}

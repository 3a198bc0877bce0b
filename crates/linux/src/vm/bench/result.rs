//! What was measured, beside what would be ideal.

use evenkeel_model::Difference;

use super::benches::{Bench, Member};
use super::difference::of_boots;
use super::error::Error;
use super::output::Output;
use super::predicted::{Predicted, Predictions, Switches};
use super::scheduler::Scheduler;
use super::totals::{self, Accuracy, Total};
use crate::spec::Spec;
use crate::vm::Shares;

/// All runs on one machine.
#[derive(Debug)]
pub struct Measured {
    /// The machine.
    pub spec: Spec,
    /// Its cores' shares of a real one.
    pub shares: Option<Shares>,
    /// A row for each bench and scheduler under which it ran.
    pub rows: Vec<Row>,
    /// How often every bench ran under every scheduler, in all boots together.
    pub repetitions: usize,
    /// How often they were to run.
    pub wanted: usize,
    /// The total of each scheduler.
    pub totals: Vec<Total>,
    /// How far predictions were off, by host.
    pub accuracy: Vec<Accuracy>,
}

/// All runs of one bench under one scheduler. Times are in seconds.
#[derive(Debug)]
pub struct Row {
    /// The bench.
    pub bench: String,
    /// The scheduler.
    pub scheduler: Scheduler,
    /// How many runs.
    pub runs: usize,
    /// How many failed, and are not among these.
    pub failed: usize,
    /// The mean of the makespans.
    pub makespan_s: f64,
    /// Their standard deviation; 0 for a single run.
    pub makespan_sd_s: f64,
    /// Which share of the programs began on a big core, in all runs together. `None` if that is known of none.
    pub began_on_big: Option<f64>,
    /// The ideal makespan: all work, measured on one big core, divided by the capacity of as many cores as the bench has threads.
    /// If one program alone would take longer, its time. `None` where programs sleep, and where one is the user's own.
    pub ideal_s: Option<f64>,
    /// The makespan against that of the guest's own scheduler.
    pub against_stock: Option<Difference>,
    /// What the simulator says, if it can know.
    pub predicted: Option<Predicted>,
    /// The mean of each program's time over its time alone on a machine of as many big cores.
    pub h_antt: f64,
    /// That against the guest's own scheduler.
    pub h_antt_against_stock: Option<Difference>,
    /// The sum of the inverses of these ratios.
    pub h_stp: f64,
    /// That against the guest's own scheduler: above 0 is better.
    pub h_stp_against_stock: Option<Difference>,
    /// How long woken threads waited to run, if a program measures that.
    pub latency: Option<Latency>,
}

/// How long woken threads waited to run, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// Half of them waited no longer: the mean of the runs.
    pub p50_s: f64,
    /// 99 % of them waited no longer: the mean of the runs.
    pub p99_s: f64,
    /// The first against the guest's own scheduler.
    pub p50_against_stock: Option<Difference>,
    /// The second against the guest's own scheduler.
    pub p99_against_stock: Option<Difference>,
}

/// What a program of a bench takes alone, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone {
    /// On one big core; not a number for the user's own.
    pub one_core_s: f64,
    /// On as many big cores as the machine has cores.
    pub big_only_s: f64,
}

/// One run of a bench.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub makespan: f64,
    pub h_antt: f64,
    h_stp: f64,
    p50: Option<f64>,
    p99: Option<f64>,
    /// Which of its programs began on a big core, where that is known.
    began_on_big: Vec<Option<bool>>,
}

impl Run {
    /// `alone` is that of each program.
    pub(super) fn of(spec: &Spec, bench: &Bench, alone: &[Alone], output: &Output) -> Result<Self, Error> {
        let figure = |what| bench.waits().and_then(|program| output.figure(program, what));
        let on_big = |member: &Member| {
            // Where the first of several threads of an installed one ended says nothing of where it began.
            let core = output.core(&member.program.name).filter(|_| member.program.knows_where_it_began());
            core.map(|core| core < spec.big)
        };
        let mut run = Self {
            makespan: 0.0,
            h_antt: 0.0,
            h_stp: 0.0,
            p50: figure("p50"),
            p99: figure("p99"),
            began_on_big: bench.members.iter().map(on_big).collect(),
        };
        for (member, alone) in bench.members.iter().zip(alone) {
            let time = output.time(&member.program.name)?;
            let slowdown = time / alone.big_only_s;
            run.makespan = run.makespan.max(time);
            run.h_antt += slowdown / bench.members.len() as f64;
            run.h_stp += 1.0 / slowdown;
        }
        Ok(run)
    }
}

/// All that is known of one bench on a machine.
#[derive(Debug)]
pub(super) struct Series<'a> {
    pub bench: &'a Bench,
    pub boots: Vec<Boot>,
}

/// What one boot of the machine says of a bench.
#[derive(Debug)]
pub(super) struct Boot {
    /// By program.
    pub alone: Vec<Alone>,
    /// From each recording.
    pub predicted: Vec<Predictions>,
    /// By scheduler, of which the first is the guest's own, then by repetition. `None` failed.
    pub runs: Vec<Vec<Option<Run>>>,
}

impl Boot {
    /// The ratios to the first scheduler, by repetition.
    pub(super) fn ratios(&self, column: usize, value: impl Fn(&Run) -> Option<f64>) -> Vec<Option<f64>> {
        let pairs = self.runs[column].iter().zip(&self.runs[0]);
        pairs.map(|(run, stock)| Some(value(run.as_ref()?)? / value(stock.as_ref()?)?)).collect()
    }

    /// Which of the programs began on a big core, in each run under a scheduler.
    pub(super) fn began_on_big(&self, column: usize) -> impl Iterator<Item = Vec<Option<bool>>> {
        self.runs.get(column).into_iter().flatten().flatten().map(|run| run.began_on_big.clone())
    }

    /// What would be ideal for a bench, in seconds.
    fn ideal(&self, spec: &Spec, bench: &Bench) -> f64 {
        let all = self.alone.iter().map(|alone| alone.one_core_s).sum::<f64>() / spec.capacity_of(bench.uses(spec));
        let each = bench.members.iter().zip(&self.alone);
        each.map(|(member, alone)| alone.one_core_s / spec.capacity_of(member.threads(spec))).fold(all, f64::max)
    }
}

impl Series<'_> {
    fn difference(&self, column: usize, value: impl Fn(&Run) -> Option<f64>) -> Option<Difference> {
        let ratios = |boot: &Boot| boot.ratios(column, &value).into_iter().flatten().collect();
        of_boots(self.boots.iter().map(ratios))
    }

    /// The mean of the boots' values; `None` if a boot has none.
    fn over_boots(&self, value: impl Fn(&Boot) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.boots.iter().map(value).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// `None` if each run failed.
    fn row(&self, spec: &Spec, column: usize, schedulers: &[Scheduler]) -> Option<Row> {
        let scheduler = &schedulers[column];
        let tried = || self.boots.iter().flat_map(|boot| &boot.runs[column]);
        let runs: Vec<Run> = tried().flatten().cloned().collect();
        let began = runs.iter().flat_map(|run| &run.began_on_big).flatten();
        let (makespan_s, makespan_sd_s) = mean_and_deviation(&runs, |run| Some(run.makespan))?;
        let mean = |value: fn(&Run) -> Option<f64>| mean_and_deviation(&runs, value).map(|(mean, _)| mean);
        let latency = mean(|run| run.p50).zip(mean(|run| run.p99)).map(|(p50_s, p99_s)| Latency {
            p50_s,
            p99_s,
            p50_against_stock: self.difference(column, |run| run.p50),
            p99_against_stock: self.difference(column, |run| run.p99),
        });
        Some(Row {
            bench: self.bench.name.clone(),
            scheduler: scheduler.clone(),
            runs: runs.len(),
            failed: tried().count() - runs.len(),
            makespan_s,
            makespan_sd_s,
            began_on_big: totals::mean(&began.map(|on_big| f64::from(u8::from(*on_big))).collect::<Vec<_>>()),
            ideal_s: self.over_boots(|boot| self.bench.has_ideal().then(|| boot.ideal(spec, self.bench))),
            against_stock: self.difference(column, |run| Some(run.makespan)),
            predicted: Predicted::of(&self.boots, schedulers, column),
            h_antt: mean(|run| Some(run.h_antt))?,
            h_antt_against_stock: self.difference(column, |run| Some(run.h_antt)),
            h_stp: mean(|run| Some(run.h_stp))?,
            h_stp_against_stock: self.difference(column, |run| Some(run.h_stp)),
            latency,
        })
    }
}

impl Measured {
    /// The first scheduler is the guest's own.
    pub(super) fn of(
        spec: Spec,
        shares: Option<Shares>,
        schedulers: &[Scheduler],
        series: &[Series<'_>],
        switches: &[Switches],
        wanted: u32,
    ) -> Self {
        let columns = 0..schedulers.len();
        let rows: Vec<Row> = series
            .iter()
            .flat_map(|series| columns.clone().filter_map(|column| series.row(&spec, column, schedulers)))
            .collect();
        let totals = columns.skip(1).map(|column| Total::of(&schedulers[column], column, series, switches)).collect();
        let accuracy = Accuracy::by_host(&rows);
        let tried =
            |series: &Series<'_>, column: usize| series.boots.iter().map(|boot| boot.runs[column].len()).sum::<usize>();
        let tried = |column: usize| series.iter().map(move |series| tried(series, column));
        let repetitions = (0..schedulers.len()).flat_map(tried).min().unwrap_or(0);
        Self { spec, shares, rows, repetitions, wanted: wanted as usize, totals, accuracy }
    }
}

/// The deviation is that of the sample, and 0 for a single run. `None` without any run.
fn mean_and_deviation(runs: &[Run], value: impl Fn(&Run) -> Option<f64>) -> Option<(f64, f64)> {
    let values: Vec<f64> = runs.iter().filter_map(value).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (!values.is_empty()).then(|| (mean, (squares / (values.len().max(2) - 1) as f64).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::bench::{Host, Played, Program};

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }

    fn schedulers() -> Vec<Scheduler> {
        let pfs = |host| Scheduler { policy: "pfs".into(), host };
        vec![Scheduler::stock(), pfs(Host::Run), pfs(Host::Scx)]
    }

    /// A recording that takes so many seconds, wherever programs begin.
    fn played(programs_s: &[f64]) -> Vec<Played> {
        let began = |big| Played { programs_s: programs_s.to_vec(), began_on_big: vec![big; programs_s.len()] };
        [false, true].map(began).to_vec()
    }

    /// Runs of a program by itself, 1.5 s alone on big cores and 6 s on one, and what it printed.
    fn series<'a>(bench: &'a Bench, printed: &[&[Option<&str>]]) -> Series<'a> {
        let alone = vec![Alone { one_core_s: 6.0, big_only_s: 1.5 }; bench.members.len()];
        let spec = "2B2S:2".parse().unwrap();
        let run = |text: &Option<&str>| text.map(|text| Run::of(&spec, bench, &alone, &Output::of(text)).unwrap());
        let runs = printed.iter().map(|texts| texts.iter().map(run).collect()).collect();
        let recording =
            |stock, pfs| schedulers().into_iter().zip([stock, pfs, pfs].map(|time| played(&[time]))).collect();
        let predicted = vec![recording(8.0, 3.0), recording(2.0, 3.0)];
        Series { bench, boots: vec![Boot { alone, predicted, runs }] }
    }

    #[test]
    fn rows_compare_runs_with_the_ideal_and_in_pairs_with_the_first_scheduler() {
        let (spec, bench): (Spec, _) = ("2B2S:2".parse().unwrap(), Bench::named("equal", &[]).unwrap());
        // Twice as long, twice as noisy: the second pair is slow for both.
        let series = series(
            &bench,
            &[&[Some("equal 4"), Some("equal 8")], &[Some("equal 2"), Some("equal 4")], &[None, Some("equal 2")]],
        );
        let measured = Measured::of(spec, None, &schedulers(), &[series], &[], 2);
        let [stock, run, scx] = &measured.rows[..] else { panic!("{measured:?}") };
        assert_eq!((stock.runs, run.runs, scx.runs, scx.failed), (2, 2, 1, 1));
        close(stock.makespan_s, 6.0);
        close(stock.makespan_sd_s, 8.0_f64.sqrt());
        // All cores achieve three times as much as one.
        close(stock.ideal_s.unwrap(), 2.0);
        close(stock.against_stock.unwrap().value, 0.0);
        let difference = run.against_stock.unwrap();
        close(difference.value, -0.5);
        close(difference.error.unwrap(), 0.0);
        close(scx.against_stock.unwrap().value, -0.75);
        assert_eq!(scx.against_stock.unwrap().error, None);
        let predicted = run.predicted.unwrap();
        close(predicted.against_stock.value, -0.25);
        assert!(predicted.against_stock.error.is_some_and(|error| error > 0.5), "-62.5 and +50 %");
        close(predicted.makespan_s, 3.0);
        // Of one program, it is the same.
        close(predicted.h_antt_against_stock.unwrap().value, -0.25);
        close(predicted.h_stp_against_stock.unwrap().value, 1.0 / 0.75 - 1.0);
        close(run.h_antt, 2.0);
        close(run.h_antt_against_stock.unwrap().value, -0.5);
        close(run.h_stp, (1.5 / 2.0 + 1.5 / 4.0) / 2.0);
        close(run.h_stp_against_stock.unwrap().value, 1.0);
        close(run.h_stp_against_stock.unwrap().error.unwrap(), 0.0);
        assert!(Run::of(&spec, &bench, &[Alone { one_core_s: 1.0, big_only_s: 1.0 }], &Output::default()).is_err());
        // Predictions were off by 25 and by 50 points; of 6, 3 and 2 s by 1, 0 and 1 s.
        let [stock, run, scx] = &measured.accuracy[..] else { panic!("{:?}", measured.accuracy) };
        assert_eq!((stock.host, run.host, scx.host), (Host::Stock, Host::Run, Host::Scx));
        assert!(stock.against_stock.is_none() && stock.h_antt_mean_absolute_error.is_none());
        close(stock.times.mean, 1.0 / 6.0);
        close(run.against_stock.as_ref().unwrap().mean, 0.25);
        close(run.times.mean, 0.0);
        let of = scx.against_stock.as_ref().unwrap();
        close(of.mean, 0.5);
        close(of.median, 0.5);
        assert_eq!((of.largest, of.of.0.as_str()), (of.mean, "equal"));
        close(scx.times.largest, 0.5);
    }

    /// Four threads of a program use the four big cores of eight, and its ideal is not what the little ones add.
    #[test]
    fn few_threads_are_ideal_on_the_big_cores_and_no_program_beats_its_own() {
        let spec: Spec = "4B4S:3".parse().unwrap();
        let ideal = |name: &str, works: &[f64]| {
            let alone = works.iter().map(|work| Alone { one_core_s: *work, big_only_s: 1.0 }).collect();
            let boot = Boot { alone, predicted: Vec::new(), runs: Vec::new() };
            boot.ideal(&spec, &Bench::named(name, &[]).unwrap())
        };
        close(ideal("equal:2+lu:2", &[4.0, 4.0]), 2.0);
        close(ideal("equal:2+lu:2", &[6.0, 2.0]), 3.0);
        close(ideal("equal+lu", &[8.0, 8.0]), 3.0);
    }

    #[test]
    fn what_was_measured_until_it_ended_is_told_and_how_much_is_missing() {
        let (spec, equal, lu): (Spec, _, _) =
            ("2B2S:2".parse().unwrap(), Bench::named("equal", &[]).unwrap(), Bench::named("lu", &[]).unwrap());
        // A second boot has begun: one bench has run in it, under two schedulers of three.
        let mut first = series(&equal, &[&[Some("equal 4")], &[Some("equal 2")], &[Some("equal 2")]]);
        first.boots.extend(series(&equal, &[&[Some("equal 8")], &[Some("equal 2")], &[]]).boots);
        let mut second = series(&lu, &[&[Some("lu 4")], &[Some("lu 1")], &[Some("lu 2")]]);
        second.boots.extend(series(&lu, &[&[], &[], &[]]).boots);
        let measured = Measured::of(spec, None, &schedulers(), &[first, second], &[], 2);
        assert_eq!((measured.repetitions, measured.wanted, measured.rows.len()), (1, 2, 6));
        // A half and a quarter.
        close(measured.rows[1].against_stock.unwrap().value, 0.125_f64.sqrt() - 1.0);
        assert_eq!((measured.rows[1].runs, measured.rows[2].runs, measured.rows[4].runs), (2, 1, 1));
        // Of whole repetitions there is one: a half, and a quarter.
        close(measured.totals[0].programs.unwrap().value, 0.125_f64.sqrt() - 1.0);
        assert_eq!(measured.totals[0].programs.unwrap().error, None);
    }

    #[test]
    fn a_mix_is_the_mean_of_its_programs_and_ends_with_the_last() {
        let bench = Bench::named("equal+lu", &[]).unwrap();
        let alone = [1.0, 2.0].map(|big_only_s| Alone { one_core_s: 4.0, big_only_s });
        let run = Run::of(&"2B2S".parse().unwrap(), &bench, &alone, &Output::of("equal 3\nlu 4\n")).unwrap();
        close(run.makespan, 4.0);
        close(run.h_antt, f64::midpoint(3.0, 2.0));
        close(run.h_stp, 1.0 / 3.0 + 1.0 / 2.0);
        let predicted = |programs: [&[f64]; 2]| {
            let predictions = schedulers().into_iter().zip(programs.map(played)).collect();
            let boot = Boot { alone: alone.to_vec(), predicted: vec![predictions], runs: Vec::new() };
            Predicted::of(&[boot], &schedulers(), 1).unwrap()
        };
        // Slowdowns of 4 and 4 under one, of 2 and 4 under the other.
        let found = predicted([&[4.0, 8.0], &[2.0, 8.0]]);
        close(found.against_stock.value, 0.0);
        close(found.h_antt_against_stock.unwrap().value, -0.25);
        // A quarter twice under one, a half and a quarter under the other.
        close(found.h_stp_against_stock.unwrap().value, 0.5);
        // A recording without one of the programs.
        let found = predicted([&[8.0], &[8.0]]);
        assert!(found.h_antt_against_stock.is_none() && found.h_stp_against_stock.is_none());
    }

    /// Two programs, of which the second takes four times as long if it begins on a little core, but under `pfs`.
    #[test]
    fn a_prediction_is_told_where_programs_began() {
        let bench = Bench::named("equal+lu", &[]).unwrap();
        let played = |slow: f64| {
            let all = [[false, false], [true, false], [true, true]];
            let seconds = |began: [bool; 2]| vec![1.0, if began[1] { 1.0 } else { slow }];
            all.map(|began| Played { programs_s: seconds(began), began_on_big: began.to_vec() }).to_vec()
        };
        let cfs = Scheduler { policy: "cfs".into(), host: Host::Run };
        let schedulers = [Scheduler::stock(), cfs, schedulers()[1].clone()];
        let predicted = |stock: &[Option<&str>], cfs: &[Option<&str>]| {
            let mut series = series(&bench, &[stock, cfs, &[]]);
            let predictions = schedulers.iter().cloned().zip([4.0, 4.0, 1.0].map(played));
            series.boots[0].predicted = vec![predictions.collect()];
            [0, 1, 2].map(|column| Predicted::of(&series.boots, &schedulers, column).unwrap())
        };
        let on = |equal: u16, lu: u16| format!("equal 1\nequal.core {equal}\nlu 1\nlu.core {lu}");
        let (big, little, exchanged) = (on(0, 1), on(2, 3), on(3, 0));
        let [stock, cfs, pfs] = predicted(&[Some(&big)], &[Some(&little)]);
        close(stock.makespan_s, 1.0);
        close(cfs.makespan_s, 4.0);
        close(cfs.against_stock.value, 3.0);
        close(pfs.against_stock.value, 0.0);
        // Programs that began where they never did when it was played: nearest is what agrees in one of two.
        let [stock, ..] = predicted(&[Some(&exchanged)], &[None]);
        close(stock.makespan_s, f64::midpoint(4.0, 1.0));
        // Each measured run counts once, in seconds; ratios have geometric means. H_ANTT is 1 and 2.5 times what they take alone.
        let [stock, _, pfs] = predicted(&[Some(&big), Some(&little)], &[None]);
        close(stock.makespan_s, 2.5);
        close(pfs.against_stock.value, 0.5 - 1.0);
        close(pfs.h_antt_against_stock.unwrap().value, 1.0 / 2.5_f64.sqrt() - 1.0);
        // Nothing is known: all count.
        let [stock, ..] = predicted(&[Some("equal 1\nlu 1")], &[None]);
        close(stock.makespan_s, 3.0);
        let [stock, ..] = predicted(&[None], &[None]);
        close(stock.makespan_s, 3.0);
    }

    #[test]
    fn a_program_of_the_users_own_is_compared_and_has_no_ideal() {
        let bench = Bench::named("app", &[Program::own("app=./app").unwrap()]).unwrap();
        let series = series(&bench, &[&[Some("app 4\napp.core 0")], &[Some("app 2")], &[None]]);
        let measured = Measured::of("2B2S:2".parse().unwrap(), None, &schedulers(), &[series], &[], 1);
        let [stock, run] = &measured.rows[..] else { panic!("{measured:?}") };
        assert_eq!((stock.ideal_s, stock.began_on_big, run.ideal_s), (None, None, None));
        close(run.against_stock.unwrap().value, -0.5);
        close(run.h_antt, 2.0 / 1.5);
        close(measured.totals[0].programs.unwrap().value, -0.5);
        assert_eq!(measured.accuracy.len(), 2);
    }

    #[test]
    fn latencies_are_compared_and_have_no_ideal() {
        let bench = Bench::named("wakeup", &[]).unwrap();
        let text = |p50: &str| format!("wakeup 2\nwakeup.p50 {p50}\nwakeup.p99 0.004\n");
        let (stock, other) = (text("0.001"), text("0.003"));
        let series = series(&bench, &[&[Some(&stock)], &[Some(&other)], &[None]]);
        let measured = Measured::of("2B2S:2".parse().unwrap(), None, &schedulers(), &[series], &[], 1);
        assert_eq!(measured.rows.len(), 2);
        let latency = measured.rows[1].latency.unwrap();
        close(latency.p50_against_stock.unwrap().value, 2.0);
        close(latency.p99_s, 0.004);
        assert_eq!(measured.rows[1].ideal_s, None);
        // What only sleeps is in no total.
        assert!(measured.totals.iter().all(|total| total.programs.is_none() && total.mixes.is_none()));
    }
}

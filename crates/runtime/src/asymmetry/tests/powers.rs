//! Frequencies on a machine whose powers are known.

use std::cell::Cell;

use evenkeel_model::marginal::{System, Table};
use evenkeel_model::{CoreTypeId, Volts, Watts, machines};

use super::super::setup::{self, AsymmetryOptions};
use super::super::target::Target;
use super::super::voltages::{Change, Load};
use super::*;
use crate::dvfs::Cpufreq;
use crate::scope::scope;

/// What a core of the machine with powers uses: `C f V^2`, in W, with C in W/GHz/V^2 and a voltage that is linear in the frequency.
fn watts(kind: usize, mhz: u64) -> f64 {
    let ghz = mhz as f64 / 1e3;
    [0.6, 0.1][kind] * ghz * (0.6 + 0.2 * ghz).powi(2)
}

/// A big core does twice as much as a little one (the paper's beta) for six times the power: three times the energy (its alpha).
fn with_powers(more: &[(&str, String)]) -> Topology {
    let mut files = more.to_vec();
    let mut states = Vec::new();
    for (kind, domain, cpus) in [(0, "cpu0", "0-1"), (1, "cpu2", "2-3")] {
        let folder = format!("sys/kernel/debug/energy_model/{domain}");
        states.push((format!("{folder}/cpus"), cpus.to_owned()));
        states.push((format!("{folder}/flags"), "0x1".to_owned()));
        for mhz in [500, 1000, 1500, 2000] {
            let state = format!("{folder}/ps:{mhz}000");
            states.push((format!("{state}/frequency"), format!("{mhz}000")));
            states.push((format!("{state}/power"), format!("{:.0}", watts(kind, mhz) * 1e6)));
        }
    }
    files.extend(states.iter().map(|(path, text)| (path.as_str(), text.clone())));
    two_and_two_with(&files, 2.0)
}

/// All sustain 1.5 GHz together.
fn with_bases() -> Topology {
    let files =
        ["cpu0", "cpu1", "cpu2", "cpu3"].map(|cpu| format!("sys/devices/system/cpu/{cpu}/cpufreq/base_frequency"));
    with_powers(&files.each_ref().map(|file| (file.as_str(), "1500000".to_owned())))
}

/// What the sampling thread does about frequencies.
fn a_quantum_passes(asymmetry: &Asymmetry) {
    asymmetry.uneven().unwrap().follow(Change::All, &asymmetry.activities);
}

/// What is set, in MHz by worker, when so many first workers of each kind are active and the others wait.
fn set_for(topology: &Topology, limit: Limit, active: [usize; 2]) -> Vec<u64> {
    set_on(&Clocks::default(), topology, limit, active)
}

/// The same on these clocks.
fn set_on(clocks: &Clocks, topology: &Topology, limit: Limit, active: [usize; 2]) -> Vec<u64> {
    let mock = Mock::default();
    let target = Target::of(topology).ok();
    let options = VoltageOptions { techniques: Techniques::BASE_PSM, target, limit };
    let uneven = uneven_on(topology, &mock, options, Some(clocks.clone()));
    let asymmetry = Asymmetry::new(4, Some(uneven), None, Vec::new()).unwrap();
    for worker in 0..4 {
        asymmetry.arrive(worker, true, Active);
        asymmetry.set(worker, if worker % 2 < active[worker / 2] { Active } else { Waiting });
    }
    a_quantum_passes(&asymmetry);
    let set = clocks.set.lock().unwrap();
    set.iter().map(|(_, mhz)| *mhz).collect()
}

/// Torng et al., ISCA 2016, III.A: "increasing the voltage of little cores and decreasing the voltage of big cores" when all are active.
#[test]
fn pacing_slows_big_cores_and_speeds_up_little_ones_for_more_throughput_at_the_same_power() {
    let paced = set_for(&with_bases(), Limit::Highest, [2, 2]);
    assert!(paced[0] == paced[1] && paced[2] == paced[3], "{paced:?}");
    assert!(paced[0] < 1500 && paced[2] == 2000, "{paced:?}");
    let power = |mhz: &[u64]| (0..4).map(|core| watts(core / 2, mhz[core])).sum::<f64>();
    let throughput = |mhz: &[u64]| (0..4).map(|core| [2, 1][core / 2] * mhz[core]).sum::<u64>() as f64;
    assert!(power(&paced) <= power(&[1500; 4]) * 1.01, "{paced:?}");
    let gain = throughput(&paced) / throughput(&[1500; 4]);
    assert!(gain > 1.05, "{gain}: {paced:?}");
}

/// III.A: waiting cores rest, and the active ones get what they leave.
#[test]
fn sprinting_gives_active_cores_what_waiting_ones_leave() {
    let machine = with_bases();
    let set_for = |active| set_for(&machine, Limit::Highest, active);
    let paced = set_for([2, 2]);
    let big = set_for([2, 0]);
    assert!(big[0] > 1500 && big[0] > paced[0] && big[2..] == [500, 500], "{big:?}");
    assert_eq!(set_for([1, 1]), [2000, 500, 2000, 500]);
    assert_eq!(set_for([0, 1]), [500, 500, 2000, 500]);
    assert_eq!(set_for([0, 0]), [2000, 2000, 500, 500], "serially, the big cores sprint");
}

/// III.C: the big core that runs a serial part gets the power of the others. Here its thread is a worker meanwhile.
#[test]
fn serial_code_inside_of_install_sprints_and_a_task_that_is_left_does_not() {
    let (topology, clocks) = (with_bases(), Clocks::default());
    let target = Target::of(&topology).ok();
    let options = VoltageOptions { techniques: Techniques::BASE_M, target, limit: Limit::Highest };
    let uneven = uneven_on(&topology, &Mock::default(), options, Some(clocks.clone()));
    let asymmetry = Arc::new(Asymmetry::new(4, Some(uneven), None, Vec::new()).unwrap());
    (1..4).for_each(|worker| {
        asymmetry.arrive(worker, true, Waiting);
    });
    let set = || {
        a_quantum_passes(&asymmetry);
        clocks.set.lock().unwrap().iter().map(|(_, mhz)| *mhz).collect::<Vec<_>>()
    };
    let pool = PoolState::new(4, Some(Arc::clone(&asymmetry)), None);
    let (mut before, mut task, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let installed = pool.in_first_slot(|| {
        before = set();
        scope(|scope| scope.spawn(|_| task = set()));
        after = set();
    });
    assert!(installed.is_ok());
    assert_eq!(before, [2000, 500, 500, 500]);
    assert_eq!(task, [1500; 4], "a region's last task");
    assert_eq!(after, before, "between two regions");
    assert_eq!(set(), [2000, 2000, 500, 500], "outside");
    asymmetry.set(2, Active);
    assert_eq!(set(), [1500; 4], "one of the pool's own workers alone");
}

#[test]
fn a_core_rests_at_its_lowest_frequency_where_the_lowest_voltage_is_enough_for_others() {
    // 1 GHz takes the voltage of 500 MHz.
    let mut files = Vec::new();
    for (domain, cpus, times) in [("cpu0", "0-1", 6), ("cpu2", "2-3", 1)] {
        let folder = format!("sys/kernel/debug/energy_model/{domain}");
        files.extend([(format!("{folder}/cpus"), cpus.to_owned()), (format!("{folder}/flags"), "0x1".to_owned())]);
        for (mhz, power) in [(500, 40_000), (1000, 80_000), (1500, 180_000), (2000, 400_000)] {
            let state = format!("{folder}/ps:{mhz}000");
            let (frequency, power) = (format!("{mhz}000"), (power * times).to_string());
            files.extend([(format!("{state}/frequency"), frequency), (format!("{state}/power"), power)]);
        }
    }
    let files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    let topology = two_and_two_with(&files, 2.0);
    assert!(topology.powers_known());
    let set = set_for(&topology, Limit::Highest, [1, 1]);
    assert_eq!((set[1], set[3]), (500, 500), "{set:?}");
}

/// The paper's regulators take 160 ns; Linux takes too long to rest a core for a moment.
#[test]
fn a_core_that_waits_for_less_than_a_quantum_is_not_slowed_down() {
    let topology = with_bases();
    let (mock, clocks) = (Mock::default(), Clocks::default());
    let target = Target::of(&topology).ok();
    let options = VoltageOptions { techniques: Techniques::BASE_PSM, target, limit: Limit::Highest };
    let uneven = uneven_on(&topology, &mock, options, Some(clocks.clone()));
    let asymmetry = Asymmetry::new(4, Some(uneven), None, Vec::new()).unwrap();
    let set = || clocks.set.lock().unwrap().iter().map(|(_, mhz)| *mhz).collect::<Vec<_>>();
    (0..4).for_each(|worker| {
        asymmetry.arrive(worker, true, Active);
    });
    a_quantum_passes(&asymmetry);
    let paced = set();
    asymmetry.set(1, Waiting);
    asymmetry.set(3, Waiting);
    let sprinting = set();
    assert!(sprinting[0] > paced[0], "at once: {sprinting:?}");
    assert_eq!((sprinting[1], sprinting[3]), (paced[1], paced[3]), "not yet");
    asymmetry.set(1, Active);
    assert!(set()[1] >= paced[1] && set()[0] == sprinting[0]);
    asymmetry.set(1, Waiting);
    a_quantum_passes(&asymmetry);
    assert_eq!((set()[0], set()[1], set()[3]), (sprinting[0], 500, 500), "now they rest");
    asymmetry.set(1, Active);
    asymmetry.set(3, Active);
    assert!(set()[1] >= paced[1] && set()[3] == 2000, "no core is slow while it has a task: {:?}", set());
    a_quantum_passes(&asymmetry);
    assert_eq!(set(), paced);
}

#[test]
fn the_thread_that_samples_slows_cores_down_with_and_without_turns() {
    for turns in [false, true] {
        let (mock, clocks) = (Mock::default(), Clocks::default());
        let asymmetry = asymmetry(&mock, Techniques::BASE_PSM, Some(clocks.clone()), [Active; 4]);
        let slow = || clocks.set.lock().unwrap()[3].1 == 500;
        std::thread::scope(|scope| {
            scope.spawn(|| asymmetry.sample(turns, |_| (0, 0, 0), || false));
            asymmetry.set(3, Waiting);
            while !slow() {
                std::thread::yield_now();
            }
            asymmetry.set(3, Active);
            while slow() {
                std::thread::yield_now();
            }
            asymmetry.uneven().unwrap().stop();
        });
    }
}

/// The last task ends after the sample: cores are slowed down for that before the thread rests.
#[test]
fn no_core_is_fast_while_the_thread_that_samples_rests() {
    let (mock, clocks) = (Mock::default(), Clocks::default());
    let asymmetry = asymmetry(&mock, Techniques::BASE_PSM, Some(clocks.clone()), [Active; 4]);
    let mhz = || clocks.set.lock().unwrap()[3].1;
    assert_ne!(mhz(), 500);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let end_all = |_| {
                (0..4).for_each(|worker| asymmetry.set(worker, Waiting));
                (0, 0, 0)
            };
            asymmetry.sample(true, end_all, || false);
        });
        while mhz() != 500 {
            std::thread::yield_now();
        }
        asymmetry.uneven().unwrap().stop();
    });
}

#[test]
fn the_target_is_what_the_machine_sustains() {
    let limit = |watts: u64| {
        let zone = "sys/class/powercap/intel-rapl:0";
        let name = |file: &str| format!("{zone}/{file}");
        let files = [name("name"), name("constraint_0_name"), name("constraint_0_power_limit_uw")];
        let texts = ["package-0".to_owned(), "long_term".to_owned(), format!("{watts}000000")];
        let files: Vec<(&str, String)> = files.iter().map(String::as_str).zip(texts).collect();
        with_powers(&files)
    };
    // All at their highest use 2.6 W.
    assert_eq!(set_for(&limit(3), Limit::Highest, [2, 2]), [2000; 4]);
    let less = set_for(&limit(1), Limit::Highest, [2, 2]);
    assert!(less[0] < 1100 && less[0] < less[2], "{less:?}");
    assert_eq!(Target::of(&limit(1)), Ok(Target::Stated(Watts(1.0))));
    assert!(Target::of(&with_powers(&[])).unwrap_err().contains("sustain together"));
    assert!(Target::of(&two_and_two()).unwrap_err().contains("what cores use"));
}

#[test]
fn by_default_no_core_is_clocked_above_what_it_had() {
    let machine = with_bases();
    assert_eq!(set_for(&machine, Limit::Ceiling, [2, 2]), [1500; 4]);
    assert_eq!(set_for(&machine, Limit::Ceiling, [1, 1]), [1500, 500, 1500, 500]);
}

/// Of two big CPUs one has a lower ceiling.
fn limited() -> Clocks {
    let mut clocks = Clocks::default();
    clocks.limited = Some((0, Hz(1_200_000_000)));
    clocks
}

#[test]
fn a_limit_of_one_cpu_holds_for_that_cpu() {
    let set_for = |active| set_on(&limited(), &with_bases(), Limit::Ceiling, active);
    assert_eq!(set_for([2, 2]), [1200, 1500, 1500, 1500]);
    assert_eq!(set_for([1, 1]), [1200, 500, 1500, 500]);
    assert_eq!(set_for([0, 0])[0], 1200, "serially, the big cores sprint");
}

#[test]
fn what_was_there_comes_back() {
    let clocks = Clocks::default();
    let asymmetry = asymmetry(&Mock::default(), Techniques::BASE_PSM, Some(clocks.clone()), [Active; 4]);
    assert!(!clocks.dropped.load(Ordering::SeqCst));
    drop(asymmetry);
    assert!(clocks.dropped.load(Ordering::SeqCst));
}

#[test]
fn without_a_technique_its_region_runs_at_what_was_there() {
    let clocks = Clocks::default();
    let asymmetry = asymmetry(&Mock::default(), Techniques::BASE, Some(clocks.clone()), [Active; 4]);
    let set = || clocks.set.lock().unwrap().iter().map(|(_, mhz)| *mhz).collect::<Vec<_>>();
    // The first worker was alone for a moment, and that is a serial region.
    a_quantum_passes(&asymmetry);
    assert_eq!(set(), [1500; 4]);
    asymmetry.set(3, Waiting);
    assert_eq!(set(), [1500; 4]);
    let clocks = limited();
    a_quantum_passes(&super::asymmetry(&Mock::default(), Techniques::BASE, Some(clocks.clone()), [Active; 4]));
    assert_eq!(*clocks.set.lock().unwrap(), [(0, 1200), (1, 1500), (2, 1500), (3, 1500)]);
}

#[test]
fn frequencies_are_set_by_default_where_powers_and_what_is_sustained_are_known() {
    let made = |topology: &Topology, techniques| {
        let wanted = AsymmetryOptions {
            topology,
            workers: 4,
            techniques,
            times: false,
            events: false,
            files: true,
            on_missing: None,
        };
        let (mut missing, clocks, mut asked) = (Vec::new(), Clocks::default(), false);
        let backend = |_: &Topology| -> Result<Box<dyn Dvfs>, String> {
            asked = true;
            if topology.powers_known() { Ok(Box::new(clocks.clone())) } else { Err("none here".into()) }
        };
        let uneven = setup::uneven(wanted, Box::new(Mock::default()), backend, &mut missing).unwrap();
        assert!(techniques.is_some() || uneven.mugs(), "with or without powers");
        let asymmetry = Asymmetry::new(4, Some(uneven), None, Vec::new()).unwrap();
        (0..4).for_each(|worker| {
            asymmetry.arrive(worker, true, Active);
        });
        let set = !clocks.set.lock().unwrap().is_empty();
        (missing.iter().map(|missing| missing.what).collect::<Vec<_>>(), asked, set)
    };
    let (none, some, all) = (two_and_two(), with_powers(&[]), with_bases());
    assert_eq!(made(&none, None), (vec!["powers"], false, false));
    assert_eq!(made(&some, None), (vec!["powers"], false, false), "nothing says what they sustain");
    assert_eq!(made(&all, None), (vec![], true, true));
    assert_eq!(made(&none, Some(Techniques::BASE_PSM)), (vec!["frequencies"], true, false));
    assert_eq!(made(&some, Some(Techniques::BASE_PSM)), (vec![], true, true));
    let without = Techniques { serial_sprinting: false, ..Techniques::BASE_M };
    assert_eq!(made(&all, Some(without)), (vec![], false, false));
}

/// What `evenkeel emulate --dvfs` offers: the governor `userspace`, base frequencies, and the powers of the paper's cores, which leak.
#[test]
fn the_papers_cores_get_the_frequencies_of_the_papers_table() {
    let paper = machines::by_name("aaws-4B4L").unwrap();
    let root = tempfile::tempdir().unwrap();
    let write = |path: String, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("sys/devices/system/cpu/online".into(), "0-3");
    let khz: Vec<String> = paper.core_types[0].opps.iter().map(|opp| (opp.frequency.0 / 1000).to_string()).collect();
    for cpu in 0..4 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        write(format!("{folder}/cpu_capacity"), ["1024", "512"][cpu / 2]);
        let files = [
            ("scaling_governor", "userspace"),
            ("scaling_available_frequencies", &khz.join(" ")),
            ("cpuinfo_min_freq", "111600"),
            ("cpuinfo_max_freq", "554400"),
            ("scaling_max_freq", "554400"),
            ("base_frequency", "333000"),
            ("scaling_setspeed", "333000"),
        ];
        files.into_iter().for_each(|(name, text)| write(format!("{folder}/cpufreq/{name}"), text));
    }
    let topology = Topology::read(root.path()).unwrap().with_powers(&paper).unwrap();
    let (machine, cpus) = topology.machine("x").unwrap();
    // The same two big and two little cores by the machine file, with its voltages and its leakage.
    let mut system = System::of(&paper, |_| Volts(1.0));
    system.groups.iter_mut().for_each(|group| group.cores = 2);
    let table = Table::new(&system);
    let steps: Vec<u64> = khz.iter().map(|khz| khz.parse().unwrap()).collect();
    for active in [[2, 2], [2, 0], [1, 1], [0, 1], [1, 2]] {
        let options = VoltageOptions {
            techniques: Techniques::BASE_PSM,
            target: Target::of(&topology).ok(),
            limit: Limit::Highest,
        };
        let dvfs = Box::new(Cpufreq::open(root.path(), &cpus).unwrap());
        let voltages = Voltages::new(&machine, &cpus, options, dvfs);
        let load = |worker: usize| Load {
            cpu: worker as u16,
            kind: CoreTypeId((worker / 2) as u8),
            thread: None,
            active: worker % 2 < active[worker / 2],
            serial: false,
        };
        voltages.follow(Change::All, || (0..4).map(load).collect()).unwrap();
        for worker in 0..4 {
            let (kind, set) = (worker / 2, worker % 2 < active[worker / 2]);
            let wanted = if set { system.groups[kind].frequency(table.volts(&active)[kind]) / 1e3 } else { 111_600.0 };
            let nearest =
                steps.iter().min_by(|a, b| (**a as f64 - wanted).abs().total_cmp(&(**b as f64 - wanted).abs()));
            let file = root.path().join(format!("sys/devices/system/cpu/cpu{worker}/cpufreq/scaling_setspeed"));
            let found = fs::read_to_string(file).unwrap();
            assert_eq!(found.trim().parse().ok().as_ref(), nearest, "{active:?}, worker {worker}: {wanted} kHz");
        }
    }
}

/// A worker raises frequencies just when the thread that samples wants them lower: that is not forgotten.
#[test]
fn what_is_asked_for_while_another_thread_sets_clocks_is_done_by_that_one() {
    let topology = two_and_two_with(&[], 2.0);
    let (machine, cpus) = topology.machine("x").unwrap();
    let options = || VoltageOptions { techniques: Techniques::BASE_PSM, target: None, limit: Limit::Highest };
    let loads = |active: bool| {
        let load = |cpu: u16| Load { cpu, kind: CoreTypeId((cpu / 2) as u8), thread: None, active, serial: false };
        (0..4).map(load).collect::<Vec<_>>()
    };
    let clocks = Clocks::default();
    let set = Arc::clone(&clocks.set);
    let voltages = Voltages::new(&machine, &cpus, options(), Box::new(clocks));
    voltages.follow(Change::All, || loads(false)).unwrap();
    let rest = set.lock().unwrap().clone();
    voltages.follow(Change::Up, || loads(true)).unwrap();
    assert_ne!(*set.lock().unwrap(), rest);
    let samples = Cell::new(true);
    let now = || {
        if samples.replace(false) {
            voltages.follow(Change::All, || loads(false)).unwrap();
        }
        loads(false)
    };
    voltages.follow(Change::Up, now).unwrap();
    assert_eq!(*set.lock().unwrap(), rest);
}

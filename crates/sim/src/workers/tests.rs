use evenkeel_model::machines;
use proptest::prelude::*;

use super::*;

fn ran(machine: &str, kernel: &str, techniques: Techniques) -> Outcome {
    let table = Table::iii();
    let options = Options { techniques, ..Options::default() };
    let machine = machines::by_name(machine).unwrap();
    run(&machine, table, table.kernel(kernel).unwrap(), &options, &mut ()).unwrap()
}

fn total(parts: &Parts) -> Ns {
    parts.serial + parts.high + parts.scarce + parts.ample + parts.other
}

#[test]
fn mugging_leaves_nothing_to_mug() {
    for kernel in ["radix-2", "bscholes", "sarray"] {
        let (base, mugging) =
            (ran("aaws-4B4L", kernel, Techniques::BASE), ran("aaws-4B4L", kernel, Techniques::BASE_M));
        let could = |outcome: &Outcome| (outcome.parts.scarce + outcome.parts.ample).0 as f64 / outcome.time.0 as f64;
        assert!(could(&base) > 0.01, "{kernel}: {base:?}");
        assert!(could(&mugging) < 0.1 * could(&base), "{kernel}: {mugging:?}");
        assert!(mugging.time < base.time && mugging.mugs > 0 && base.mugs == 0, "{kernel}");
    }
}

#[test]
fn even_loops_come_near_to_what_the_cores_can_do() {
    let table = Table::iii();
    let kernel = Kernel { work: 1.0, ..table.kernel("heat").unwrap().clone() };
    for (machine, big, little) in [("aaws-4B4L", 4.0, 4.0), ("aaws-1B7L", 1.0, 7.0)] {
        let machine = machines::by_name(machine).unwrap();
        let options = Options { techniques: Techniques::NONE, ..Options::default() };
        let (alone, _) = serial(&machine, &kernel, &options);
        let outcome = run(&machine, table, &kernel, &options, &mut ()).unwrap();
        let speedup = alone.as_secs_f64() / outcome.time.as_secs_f64();
        let ideal = big * kernel.beta + little;
        assert!((0.85..1.0).contains(&(speedup / ideal)), "{speedup} of {ideal}");
    }
}

#[test]
fn voltages_change_only_under_techniques_that_scale_them() {
    assert_eq!(ran("aaws-4B4L", "dict", Techniques::NONE).transitions, 0);
    assert!(ran("aaws-4B4L", "dict", Techniques::BASE_PS).transitions > 0);
}

#[test]
fn a_profile_begins_at_zero_and_follows_every_core() {
    let table = Table::iii();
    let machine = machines::by_name("aaws-1B7L").unwrap();
    let options = Options { techniques: Techniques::BASE_PSM, ..Options::default() };
    let mut profile = Profile::default();
    let kernel = table.kernel("radix-2").unwrap();
    let outcome = run(&machine, table, kernel, &options, &mut profile).unwrap();
    assert_eq!(profile.cores.len(), 8);
    for slices in &profile.cores {
        assert!(slices.windows(2).all(|pair| pair[0].from < pair[1].from));
        assert!(slices.last().unwrap().from <= outcome.time);
        assert!(slices.iter().any(|slice| slice.state == Activity::Works));
        assert!(slices.iter().all(|slice| (0.7..=1.3).contains(&slice.volts.0)));
    }
    assert_eq!(outcome, run(&machine, table, kernel, &options, &mut ()).unwrap(), "watching changes nothing");
}

#[test]
fn machines_with_three_core_types_run_workers_too() {
    let machine = machines::by_name("odroid-xu3").unwrap();
    let mut three = machine.clone();
    let mut middle = three.core_types[1].clone();
    middle.name = "middle".into();
    middle.extract *= 1.3;
    middle.width *= 1.3;
    three.core_types.insert(1, middle);
    for core in &mut three.cores {
        core.core_type.0 *= 2;
    }
    three.cores[0].core_type.0 = 1;
    let table = Table::iii();
    for techniques in [Techniques::BASE, Techniques::BASE_PSM] {
        let options = Options { techniques, ..Options::default() };
        let outcome = run(&three, table, table.kernel("radix-2").unwrap(), &options, &mut ()).unwrap();
        assert_eq!(total(&outcome.parts), outcome.time);
    }
}

fn machine() -> impl Strategy<Value = Machine> {
    (1..5_usize, 1..5_usize)
        .prop_map(|(big, little)| machines::by_name("aaws-4B4L").unwrap().with_cores(big, little.min(4)).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is switched on, all work is done once: no faster than the cores can, and every moment belongs to one part.
    #[test]
    fn no_work_is_lost(
        machine in machine(),
        kernel in 0..22_usize,
        seed in any::<u64>(),
        [biasing, serial_sprinting, pacing, sprinting, mugging] in any::<[bool; 5]>(),
    ) {
        let mut table = Table::iii().clone();
        // Small, so that there are many cases.
        let kernel = &mut table.kernels[kernel];
        kernel.tasks = (kernel.tasks / 20).max(4 * kernel.regions);
        kernel.minst /= 20.0;
        kernel.serial_mcycles /= 20.0;
        let kernel = kernel.clone();
        let techniques = Techniques { biasing, serial_sprinting, pacing, sprinting, mugging };
        let options = Options { techniques, seed, ..Options::default() };
        let outcome = run(&machine, &table, &kernel, &options, &mut ()).unwrap();
        prop_assert_eq!(total(&outcome.parts), outcome.time);
        let little_s = kernel.work * kernel.serial_mcycles * 1e6 / 333e6;
        // All cores at 1.3 V.
        let most = (machine.big().len() as f64 * kernel.beta + machine.little().len() as f64) * 554.4 / 333.0;
        prop_assert!(outcome.time.as_secs_f64() >= 0.999 * little_s / most, "{:?}", outcome);
        prop_assert!(outcome.time.as_secs_f64() <= 1.2 * little_s / kernel.beta + 1e-3, "{:?}", outcome);
        prop_assert!(outcome.energy.0 > 0.0 && outcome.energy.0.is_finite());
        prop_assert_eq!(&outcome, &run(&machine, &table, &kernel, &options, &mut ()).unwrap(), "the same again");
        prop_assert!(mugging || outcome.mugs == 0);
        prop_assert!(outcome.steals <= u64::from(kernel.tasks) * 3);
    }
}

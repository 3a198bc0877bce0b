//! What a grid varies: axes, and the machines, workloads, policies and conditions that come of them.

use std::collections::BTreeMap;

use evenkeel_experiment::variation::{self, ConditionError, Setting};
use evenkeel_experiment::{Beside, Conditions, catalog};
use evenkeel_sched::Setup;
use evenkeel_sched::policy::Value as Knob;
use toml::{Table, Value};

use crate::blame::culprit;
use crate::key::{Digest, digest};
use crate::wrong::{Spot, Wrong};

type Result<T> = std::result::Result<T, Wrong>;

/// A value that is varied.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Where it is: `costs`, `tick_us`.
    pub path: Vec<String>,
    /// What it is.
    pub values: Vec<Value>,
}

/// One machine, workload, policy or set of conditions.
#[derive(Clone, Debug)]
pub struct Variant<T> {
    /// What it is made of.
    pub base: T,
    /// Its value on each axis of its kind; `None` where the axis has no meaning for it.
    pub values: Vec<Option<Value>>,
    /// The hash of what it amounts to.
    pub digest: Digest,
}

/// A machine or a workload as the grid names it, and what is changed of it.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name or path.
    pub name: String,
    /// What is changed.
    pub settings: Vec<Setting>,
}

/// The axes of a table in a grid: each value in it is one, with a list for several values.
pub fn axes(table: &Table) -> Vec<Axis> {
    fn below(table: &Table, above: &[String], found: &mut Vec<Axis>) {
        for (key, value) in table {
            let path = [above, std::slice::from_ref(key)].concat();
            match value {
                Value::Table(table) => below(table, &path, found),
                Value::Array(values) => found.push(Axis { path, values: values.clone() }),
                one => found.push(Axis { path, values: vec![one.clone()] }),
            }
        }
    }
    let mut found = Vec::new();
    below(table, &[], &mut found);
    found
}

/// More variants of a kind than this take too long to be looked at before the first run.
const MOST: usize = 1_000_000;

/// Makes sure that the combinations of axes, and so many variants before, are no more than can be looked at.
fn few_enough<'a>(kind: &str, before: usize, axes: impl IntoIterator<Item = &'a Axis>) -> Result<()> {
    let all = axes.into_iter().try_fold(1_usize, |all, axis| all.checked_mul(axis.values.len()));
    if all.and_then(|all| all.checked_add(before)).is_some_and(|all| all <= MOST) {
        return Ok(());
    }
    let why = format!("the values make more than {MOST} of them: expected fewer");
    Err(Wrong::named(Spot::key([kind]), kind, evenkeel_experiment::Error::File(why)))
}

/// Every combination of the values of axes; those of an axis that is left out are `None`. The last axis goes fastest.
fn combinations(axes: &[Axis], applies: impl Fn(&Axis) -> bool) -> Vec<Vec<Option<Value>>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let values: Vec<Option<Value>> =
            if applies(axis) { axis.values.iter().cloned().map(Some).collect() } else { vec![None] };
        let with = |before: Vec<Option<Value>>| {
            values.iter().map(move |value| before.iter().cloned().chain([value.clone()]).collect())
        };
        all = all.into_iter().flat_map(|before| with(before).collect::<Vec<_>>()).collect();
    }
    all
}

/// Machines or workloads: `has` says whether a place has a meaning for one, `make` what one is with other values.
pub fn named<T: std::fmt::Debug>(
    kind: &'static str,
    names: &[String],
    axes: &[Axis],
    has: impl Fn(&str, &[String]) -> evenkeel_experiment::Result<bool>,
    make: impl Fn(&str, &[Setting]) -> evenkeel_experiment::Result<T>,
) -> Result<Vec<(Variant<Named>, T)>> {
    let mut found = Vec::new();
    let mut used = vec![false; axes.len()];
    for name in names {
        let spot = || Spot::name(&format!("{kind}s"), name);
        let meaning: BTreeMap<&[String], bool> = axes
            .iter()
            .map(|axis| Ok((axis.path.as_slice(), has(name, &axis.path)?)))
            .collect::<evenkeel_experiment::Result<_>>()
            .map_err(|source| Wrong::named(spot(), kind, source))?;
        axes.iter().zip(&mut used).for_each(|(axis, used)| *used |= meaning[axis.path.as_slice()]);
        few_enough(kind, found.len(), axes.iter().filter(|axis| meaning[axis.path.as_slice()]))?;
        for values in combinations(axes, |axis| meaning[axis.path.as_slice()]) {
            let set = axes.iter().zip(&values).filter_map(|(axis, value)| Some((axis.path.clone(), value.clone()?)));
            let base = Named { name: name.to_owned(), settings: set.collect() };
            let made = make(name, &base.settings).map_err(|source| {
                let why = |setting: &Setting| {
                    let error = make(name, std::slice::from_ref(setting)).err()?.to_string();
                    // Without the setting, which the message begins with.
                    let begin = variation::with(name, std::slice::from_ref(setting));
                    Some(error.strip_prefix(&begin).unwrap_or(&error).to_owned())
                };
                Wrong::named(culprit(kind, &base.settings, why).unwrap_or_else(spot), kind, source)
            })?;
            found.push((Variant { digest: digest(&made), base, values }, made));
        }
    }
    if let Some((axis, _)) = axes.iter().zip(&used).find(|(_, used)| !**used) {
        let place = format!("{kind}.{}", variation::place(&axis.path));
        let why = format!("the grid has no {kind} with this, but {}", names.join(", "));
        // The name of the program, the core type or the cluster that none has.
        let name = axis.path.get(..2).unwrap_or(&axis.path);
        return Err(Wrong::named(Spot::below(kind, name), place, evenkeel_experiment::Error::File(why)));
    }
    Ok(found)
}

/// Policies, with every combination of the knobs that the grid varies of each.
pub fn policies(names: &[String], axes: &[Axis]) -> Result<Vec<Variant<Setup>>> {
    let mut found: Vec<Variant<Setup>> = Vec::new();
    let mut used = vec![false; axes.len()];
    for name in names {
        let spot = || Spot::name("policies", name);
        let plain = catalog::policy(name).map_err(|source| Wrong::named(spot(), "policies", source))?;
        let own = |axis: &Axis| axis.path[0] == plain.description().name;
        axes.iter().zip(&mut used).for_each(|(axis, used)| *used |= own(axis));
        few_enough("policy", found.len(), axes.iter().filter(|axis| own(axis)))?;
        for values in combinations(axes, own) {
            let set: Vec<Setting> = axes
                .iter()
                .zip(&values)
                .filter_map(|(axis, value)| Some((axis.path.clone(), value.clone()?)))
                .collect();
            let knobs: String = set.iter().map(|setting| knob(name, &plain, setting)).collect::<Result<_>>()?;
            let setup = catalog::policy(&format!("{name}{knobs}")).map_err(|source| {
                let why = |setting: &Setting| {
                    let knob = knob(name, &plain, setting).ok()?;
                    Some(catalog::policy(&format!("{name}{knob}")).err()?.to_string())
                };
                Wrong::named(culprit("policy", &set, why).unwrap_or_else(spot), "policy", source)
            })?;
            if found.iter().all(|known| known.base.name() != setup.name()) {
                found.push(Variant { digest: digest(&setup.name()), base: setup, values });
            }
        }
    }
    if let Some((axis, _)) = axes.iter().zip(&used).find(|(_, used)| !**used) {
        let place = format!("policy.{}", variation::place(&axis.path));
        let why = format!("the grid does not run {}: expected one of {}", axis.path[0], names.join(", "));
        return Err(Wrong::named(Spot::below("policy", &axis.path[..1]), place, evenkeel_experiment::Error::File(why)));
    }
    Ok(found)
}

/// A knob as the name of a policy has it.
fn knob(name: &str, policy: &Setup, (path, value): &Setting) -> Result<String> {
    let wrong = |spot: Spot, why: String| {
        let place = format!("policy.{}", variation::place(path));
        Wrong::named(spot, place, evenkeel_experiment::Error::File(why))
    };
    let spot = Spot::below("policy", path);
    let [_, knob] = &path[..] else {
        return Err(wrong(spot, format!("expected a knob, as in policy.{}.KNOB", path[0])));
    };
    let known = policy.description().knobs.iter().find(|known| known.name == knob);
    // What no policy has is not for true and false either, but that is what its own parser says.
    if value.is_bool() && known.is_some_and(|known| known.value != Knob::Switch || policy.switch(knob)) {
        let why =
            format!("true and false are for a knob that {name} leaves off: expected one of those, or another value");
        return Err(wrong(spot.with(value), why));
    }
    Ok(match value {
        Value::Boolean(false) if known.is_some() => String::new(),
        Value::Boolean(_) => format!(":{knob}"),
        Value::String(word) => format!(":{knob}={word}"),
        other => format!(":{knob}={other}"),
    })
}

/// Conditions, every combination. `beside` is what `host = "run"` stands for.
pub fn conditions(axes: &[Axis], beside: Option<Beside>) -> Result<Vec<Variant<Conditions>>> {
    let of = |values: Vec<Option<Value>>| {
        let set: Vec<Setting> =
            axes.iter().zip(&values).filter_map(|(axis, value)| Some((axis.path.clone(), value.clone()?))).collect();
        let conditions = variation::conditions(set.clone(), beside).map_err(|ConditionError { condition, why }| {
            let unknown = |(path, _): &&Setting| !variation::is_condition(path);
            let unknown = set.iter().find(unknown).map(|(path, _)| Spot::below("conditions", path));
            let alone = |setting: &Setting| Some(variation::conditions([setting.clone()], beside).err()?.why);
            let said = |(path, value): &Setting| {
                (variation::place(path) == condition).then(|| Spot::below("conditions", path).with(value))
            };
            let spot = unknown.or_else(|| culprit("conditions", &set, alone)).or_else(|| set.iter().find_map(said));
            let spot = spot.unwrap_or_else(|| Spot::key(["conditions"]));
            Wrong::named(spot, format!("conditions.{condition}"), evenkeel_experiment::Error::File(why))
        })?;
        // All but functions, which have no text, and the predictors, which are as they are.
        let Conditions { delay, beside, noise, governor, oracle, max_time, tasks, .. } = &conditions;
        let digest = digest(&(delay, beside.is_some(), noise, governor, oracle, max_time, tasks));
        Ok(Variant { base: conditions, values, digest })
    };
    few_enough("conditions", 0, axes)?;
    combinations(axes, |_| true).into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Ns;
    use evenkeel_sched::Governor;

    use super::*;
    use crate::error::Error;

    fn table(text: &str) -> Vec<Axis> {
        axes(&text.parse().unwrap())
    }

    #[test]
    fn every_value_below_a_table_is_an_axis() {
        let found = table("costs.tick_us = [1000, 4000]\ncluster.big.node = 0\ncore.a.opps = [[[1, 2]], [[3, 4]]]");
        let text: Vec<String> =
            found.iter().map(|axis| format!("{} {}", axis.path.join("."), axis.values.len())).collect();
        assert_eq!(text, ["cluster.big.node 1", "core.a.opps 2", "costs.tick_us 2"]);
    }

    #[test]
    fn an_axis_varies_only_what_it_has_a_meaning_for() {
        let names = ["2B2S", "odroid-xu3"].map(str::to_owned);
        let of = |text: &str| {
            named("machine", &names, &table(text), variation::machine_has, variation::machine)
                .map(|found| found.into_iter().map(|(variant, _)| variant).collect::<Vec<_>>())
        };
        let found = of("core.cortex-a57.width = [2.0, 2.4]\ncosts.tick_us = [1000, 4000]").unwrap();
        assert_eq!(found.len(), 4 + 2);
        assert_eq!(found[4].values, [None, Some(1000.into())]);
        // The value of the file itself is no other machine.
        assert_eq!(found[3].digest, digest(&catalog::machine("2B2S").unwrap().machine));
        assert!(found[0].digest != found[1].digest && found[0].digest != found[2].digest);
        let error = of("core.cortex-a76.width = 1").unwrap_err().of("g".into());
        assert_eq!(error.to_string(), "g: machine.core.cortex-a76.width");
    }

    #[test]
    fn knobs_are_of_their_policy_and_each_policy_is_there_once() {
        let names = ["cfs", "colab", "colab:takeover=none"].map(str::to_owned);
        let found = policies(&names[..2], &table("colab.takeover = [\"any\", \"none\"]")).unwrap();
        let text: Vec<&str> = found.iter().map(|policy| policy.base.name()).collect();
        assert_eq!(text, ["cfs", "colab:takeover=any", "colab:takeover=none"]);
        assert_eq!(
            policies(&names[..1], &table("colab.takeover = \"any\"")).unwrap_err().of("g".into()).to_string(),
            "g: policy.colab.takeover"
        );
        assert_eq!(policies(&names, &[]).unwrap().len(), 3);
    }

    #[test]
    fn true_and_false_are_for_switches() {
        let of = |name: &str, text: &str| policies(&[name.to_owned()], &table(text));
        let names =
            |found: Vec<Variant<Setup>>| found.iter().map(|policy| policy.base.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(of("eevdf", "eevdf.asym = [false, true]").unwrap()), ["eevdf", "eevdf:asym"]);
        for (name, wrong) in
            [("eevdf:asym", "eevdf.asym = false"), ("colab", "colab.takeover = false"), ("cfs", "cfs.x = false")]
        {
            assert!(of(name, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn too_many_combinations_are_refused_before_they_are_made() {
        let values: Vec<String> = (1..=1000).map(|value| value.to_string()).collect();
        let axes = table(&(0..6).map(|axis| format!("a{axis} = [{}]\n", values.join(","))).collect::<String>());
        let error = named("machine", &["2B2S".into()], &axes, variation::machine_has, variation::machine).unwrap_err();
        let Error::Named { place, source } = error.of("g".into()) else { panic!() };
        assert!(place == "g: machine" && source.to_string().contains("more than 1000000"), "{source}");
        assert!(conditions(&axes, None).is_err() && policies(&["cfs".into()], &axes).is_err());
    }

    #[test]
    fn conditions_are_those_of_the_command() {
        let found =
            conditions(&table("noise = [false, true]\ndelay = \"1ms\"\ngovernor = \"schedutil\""), None).unwrap();
        assert_eq!(found.iter().map(|variant| variant.base.noise).collect::<Vec<_>>(), [false, true]);
        assert_eq!((found[0].base.delay, found[0].base.governor), (Ns::from_ms(1), Governor::Schedutil));
        for wrong in ["nois = true", "noise = 1", "delay = 5", "governor = \"x\"", "host = \"run\"", "tasks = \"x\""] {
            let error = conditions(&table(wrong), None).unwrap_err().of("g".into());
            let Error::Named { place, source } = error else { panic!("{wrong}") };
            assert!(place.starts_with("g: conditions.") && !source.to_string().is_empty(), "{place}: {source}");
        }
    }
}

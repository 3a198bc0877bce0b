//! What a grid varies: axes, and the policies and conditions that come of them. Machines and workloads: `named.rs`.

use evenkeel_experiment::variation::{self, ConditionError, Setting};
use evenkeel_experiment::{Beside, Conditions, catalog};
use evenkeel_sched::Setup;
use evenkeel_sched::policy::Value as Knob;
use toml::{Table, Value};

use crate::blame::culprit;
use crate::key::{Digest, digest};
use crate::wrong::{Spot, Wrong, list_of};

type Result<T> = std::result::Result<T, Wrong>;

/// A value that is varied.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Where it is: `costs`, `tick_us`.
    pub path: Vec<String>,
    /// What it is.
    pub values: Vec<Value>,
}

/// One policy or set of conditions.
#[derive(Clone, Debug)]
pub struct Variant<T> {
    /// What it is.
    pub base: T,
    /// Its value on each axis of its kind; `None` where the axis has no meaning for it.
    pub values: Vec<Option<Value>>,
    /// The hash of what it amounts to.
    pub digest: Digest,
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

/// How many combinations of axes there are, which are no more with so many variants before than can be looked at.
pub fn count<'a>(kind: &str, before: usize, axes: impl IntoIterator<Item = &'a Axis>) -> Result<usize> {
    let all = axes.into_iter().try_fold(1_usize, |all, axis| all.checked_mul(axis.values.len()));
    if let Some(all) = all.filter(|all| all.checked_add(before).is_some_and(|all| all <= MOST)) {
        return Ok(all);
    }
    let why = format!("the values make more than {MOST} of them: expected fewer");
    Err(Wrong::named(Spot::key([kind]), kind, evenkeel_experiment::Error::File(why)))
}

/// The values of a combination by its number; those of an axis that is left out are `None`. The last axis goes fastest.
pub fn combination(axes: &[Axis], applies: impl Fn(usize) -> bool, number: usize) -> Vec<Option<&Value>> {
    let mut rest = number;
    let value = |(at, axis): (usize, &'_ Axis)| {
        let place = applies(at).then_some(rest % axis.values.len())?;
        rest /= axis.values.len();
        Some(place)
    };
    let places: Vec<Option<usize>> = axes.iter().enumerate().rev().map(value).collect();
    axes.iter().zip(places.into_iter().rev()).map(|(axis, place)| axis.values.get(place?)).collect()
}

/// What a combination sets.
pub fn settings(axes: &[Axis], values: &[Option<&Value>]) -> Vec<Setting> {
    axes.iter().zip(values).filter_map(|(axis, value)| Some((axis.path.clone(), (*value)?.clone()))).collect()
}

/// The first that amounts to the same as one before it, after that one.
pub fn alike(digests: &[Digest]) -> Option<[usize; 2]> {
    let mut order: Vec<usize> = (0..digests.len()).collect();
    order.sort_unstable_by_key(|at| (digests[*at], *at));
    let same = order.windows(2).filter(|pair| digests[pair[0]] == digests[pair[1]]);
    same.min_by_key(|pair| pair[1]).map(|pair| [pair[0], pair[1]])
}

/// Makes sure that no two variants amount to the same. `name` is that of one in the list of the grid.
fn differ<'a, T>(kind: &str, axes: &[Axis], variants: &[Variant<T>], name: impl Fn(usize) -> &'a str) -> Result<()> {
    let digests: Vec<Digest> = variants.iter().map(|variant| variant.digest).collect();
    let Some(pair) = alike(&digests) else { return Ok(()) };
    Err(twice(kind, axes, pair.map(name), pair.map(|at| variants[at].values.iter().map(Option::as_ref).collect())))
}

/// What to say of two of a kind that amount to the same. Each has a name that the grid lists, and its values.
pub fn twice(kind: &str, axes: &[Axis], names: [&str; 2], values: [Vec<Option<&Value>>; 2]) -> Wrong {
    let [first, second] = names;
    let said = |list: &str, first: &Value, second: &Value| {
        format!("{list} has {first} twice, here as {second}: expected it once")
    };
    let differ = axes.iter().zip(values[0].iter().zip(&values[1])).find(|(_, (first, second))| first != second);
    if let (true, Some((axis, (Some(first), Some(second))))) = (first == second, differ) {
        let list = format!("{kind}.{}", variation::place(&axis.path));
        return Wrong::at(Spot::below(kind, &axis.path).with(second), said(&list, first, second));
    }
    let list = list_of(kind);
    Wrong::at(Spot::name(&list, second), said(&list, &first.into(), &second.into()))
}

/// Policies, with every combination of the knobs that the grid varies of each.
pub fn policies(names: &[String], axes: &[Axis]) -> Result<Vec<Variant<Setup>>> {
    let (mut found, mut listed) = (Vec::<Variant<Setup>>::new(), Vec::<&str>::new());
    let mut used = vec![false; axes.len()];
    for name in names {
        let spot = || Spot::name("policies", name);
        let plain = catalog::policy(name).map_err(|source| Wrong::named(spot(), "policies", source))?;
        let own = |axis: &Axis| axis.path[0] == plain.description().name;
        axes.iter().zip(&mut used).for_each(|(axis, used)| *used |= own(axis));
        for number in 0..count("policy", found.len(), axes.iter().filter(|axis| own(axis)))? {
            let values = combination(axes, |at| own(&axes[at]), number);
            let set = settings(axes, &values);
            let knobs: String = set.iter().map(|setting| knob(name, &plain, setting)).collect::<Result<_>>()?;
            let setup = catalog::policy(&format!("{name}{knobs}")).map_err(|source| {
                let why = |setting: &Setting| {
                    let knob = knob(name, &plain, setting).ok()?;
                    Some(catalog::policy(&format!("{name}{knob}")).err()?.to_string())
                };
                Wrong::named(culprit("policy", &set, why).unwrap_or_else(spot), "policy", source)
            })?;
            let values = values.into_iter().map(Option::<&Value>::cloned).collect();
            found.push(Variant { digest: digest(&setup.in_full()), base: setup, values });
            listed.push(name);
        }
    }
    if let Some((axis, _)) = axes.iter().zip(&used).find(|(_, used)| !**used) {
        let place = format!("policy.{}", variation::place(&axis.path));
        let why = format!("the grid does not run {}: expected one of {}", axis.path[0], names.join(", "));
        return Err(Wrong::named(Spot::below("policy", &axis.path[..1]), place, evenkeel_experiment::Error::File(why)));
    }
    differ("policy", axes, &found, |at| listed[at])?;
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
        other => format!(":{knob}={}", variation::shown(other)),
    })
}

/// Conditions, every combination. `beside` is what `host = "run"` stands for.
pub fn conditions(axes: &[Axis], beside: Option<Beside>) -> Result<Vec<Variant<Conditions>>> {
    let of = |number: usize| {
        let values = combination(axes, |_| true, number);
        let set = settings(axes, &values);
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
        let values = values.into_iter().map(Option::<&Value>::cloned).collect();
        Ok(Variant { base: conditions, values, digest })
    };
    let found = (0..count("conditions", 0, axes)?).map(of).collect::<Result<Vec<_>>>()?;
    differ("conditions", axes, &found, |_| "")?;
    Ok(found)
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
    fn the_last_axis_goes_fastest_and_what_is_left_out_has_no_value() {
        let axes = table("a = [1, 2]\nb = [3, 4]\nc = [5, 6, 7]");
        let of = |applies: [bool; 3], number: usize| {
            let values = combination(&axes, |at| applies[at], number);
            values.iter().map(|value| value.map_or_else(|| "-".into(), Value::to_string)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([0, 1, 3, 11].map(|number| of([true; 3], number)), ["1 3 5", "1 3 6", "1 4 5", "2 4 7"]);
        assert_eq!([0, 3, 5].map(|number| of([true, false, true], number)), ["1 - 5", "2 - 5", "2 - 7"]);
        assert_eq!(count("machine", 0, &axes).unwrap(), 12);
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
        let error = conditions(&axes, None).unwrap_err();
        let Error::Named { place, source } = error.of("g".into()) else { panic!() };
        assert!(place == "g: conditions" && source.to_string().contains("more than 1000000"), "{source}");
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

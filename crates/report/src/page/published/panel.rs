//! The rows of a figure, in panels: what one vertical axis can show.

use evenkeel_experiment::paper::{
    Aggregate, Carrier, Experiment, FigureAxis, Metric, Published, Row, RowKind, Set, Threads,
};

use crate::page::{COLOURS, colour_of};

/// A figure with more groups is split by machine.
const GROUPS: usize = 16;

/// The lines of a label.
type Label = [String; 4];

/// Which of them is the baseline.
const BASELINE: usize = 3;

/// What names on axes are made of.
pub struct Names {
    /// What all machines' names begin with, as far as it ends in a separator.
    prefix: String,
    /// Sets with a name of their own.
    sets: Vec<(String, String)>,
    /// Sets with one machine, which their rows need not name.
    single: Vec<(String, String)>,
    /// What bars are of, with a colour that is the same in all figures, in the order of the rows.
    series: Vec<(usize, String)>,
}

/// What the vertical axis of a panel shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Effects in percent.
    Percent,
    /// Times the baseline.
    Times,
    /// Amounts in the metric's unit.
    Amount,
}

/// What stands in the drawing for one row.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The row.
    pub row: &'a Row,
    /// Its bars' series.
    pub series: usize,
}

/// Pairs beside each other.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// What stands below them, in up to four lines.
    pub label: Vec<String>,
    /// The pairs, by their series.
    pub pairs: Vec<Pair<'a>>,
}

/// What is in one drawing.
#[derive(Clone, Debug)]
pub struct Panel<'a> {
    /// What is measured.
    pub metric: Metric,
    /// How.
    pub form: Form,
    /// What it is compared with, if that is the same for all groups.
    pub baseline: Option<String>,
    /// What all groups have in common.
    pub common: Vec<String>,
    /// Along the horizontal axis.
    pub groups: Vec<Group<'a>>,
    /// What the bars of a group are, with their colours.
    pub series: Vec<(usize, String)>,
}

impl Pair<'_> {
    fn has_baseline(&self) -> bool {
        self.row.published.baseline.is_some()
    }
}

impl Names {
    /// Those of an experiment.
    pub fn of(experiment: &Experiment) -> Self {
        let real = || experiment.sets.iter().filter(|set| !matches!(set.carrier, Carrier::Equations));
        let mut machines = real().flat_map(|set| &set.machines);
        let first = machines.next().map_or("", String::as_str);
        let common = machines.fold(first, |common, machine| {
            let same = common.bytes().zip(machine.bytes()).take_while(|(a, b)| a == b).count();
            common.get(..same).unwrap_or("")
        });
        let prefix = common.rfind(['-', ':']).map_or("", |end| &common[..=end]).to_string();
        let alias = |set: &Set| Some((set.name.clone(), set.alias.clone()?));
        let single = real().filter(|set| set.machines.len() == 1);
        let mut names = Self {
            prefix,
            sets: experiment.sets.iter().filter_map(alias).collect(),
            single: single.map(|set| (set.name.clone(), set.machines[0].clone())).collect(),
            series: Vec::new(),
        };
        // The experiment's own policies come first, to have the colours that they have elsewhere; of them last what only the paper has,
        // such as bindVM, which has the first colour for want of one.
        let mut policies: Vec<_> = experiment.policies.iter().map(|policy| (policy.clone(), policy.as_str())).collect();
        policies.sort_by_key(|(_, policy)| {
            colour_of(policy) == 0 && experiment.policies.first().is_some_and(|first| first != policy)
        });
        let rows = experiment.rows.iter().filter(|row| row.figure().is_some());
        let rows: Vec<_> = rows.map(|row| (names.series_of(row), row.policy.as_deref().unwrap_or_default())).collect();
        for (name, policy) in policies.into_iter().chain(rows) {
            if names.series.iter().all(|(_, known)| *known != name) {
                let wanted = colour_of(policy) % COLOURS;
                let taken = |colour: &usize| names.series.iter().any(|(known, _)| known == colour);
                let colours = (wanted..wanted + COLOURS).map(|colour| colour % COLOURS);
                let colour = colours.into_iter().find(|colour| !taken(colour)).unwrap_or(wanted);
                names.series.push((colour, name));
            }
        }
        names
    }

    fn machine<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(&self.prefix).unwrap_or(name)
    }

    fn set(&self, name: &str) -> Option<&str> {
        self.sets.iter().find(|(set, _)| set == name).map(|(_, alias)| alias.as_str())
    }

    /// The machine that a row is about, if it is one.
    fn machine_of<'a>(&'a self, row: &'a Published) -> Option<&'a str> {
        let only = || self.single.iter().find(|(set, _)| *set == row.select.set).map(|(_, machine)| machine);
        row.select.machine.as_ref().or_else(only).map(|machine| self.machine(machine))
    }

    /// What the bars of a row are of.
    fn series_of(&self, row: &Published) -> String {
        let set = self.set(&row.select.set);
        set.or(row.policy.as_deref()).unwrap_or("all policies").to_string()
    }

    /// What a row is compared with, in words.
    fn baseline(&self, row: &Published) -> Option<String> {
        let baseline = row.baseline.as_ref()?;
        let set = baseline.set().and_then(|set| self.set(set));
        let policy = if set.is_some() { None } else { baseline.policy() };
        let machine = baseline.machine().map(|machine| self.machine(machine));
        let known: Vec<&str> = [set, policy, baseline.workload()].into_iter().flatten().collect();
        Some(match (known.join(" "), machine) {
            (known, None) if known.is_empty() => baseline.set().unwrap_or("the baseline").to_string(),
            (known, None) => known,
            (known, Some(machine)) if known.is_empty() => machine.to_string(),
            (known, Some(machine)) => format!("{known} on {machine}"),
        })
    }

    /// What a row is about, where it is run, how it becomes one number, and what it is compared with.
    fn label(&self, row: &Published) -> Label {
        let select = &row.select;
        let threads = select.threads.map(|threads| match threads {
            Threads::Few => "few threads".to_string(),
            Threads::Many => "many threads".to_string(),
        });
        let programs = select.programs.map(|programs| format!("{programs} programs"));
        let parts = [select.workload.clone(), select.class.clone(), threads, programs];
        let about: Vec<String> = parts.into_iter().flatten().collect();
        let about = if about.is_empty() { "all".to_string() } else { about.join(", ") };
        let machine = self.machine_of(row).unwrap_or("all machines");
        let program = select.program.as_deref().map(|program| match program {
            "*" => "each program".to_string(),
            "first" => "first program".to_string(),
            "others" => "other programs".to_string(),
            name => name.to_string(),
        });
        let cluster = select.cluster.as_ref().map(|cluster| format!("{cluster} cores"));
        let groups = select.groups.as_ref().map(|groups| groups.join(" and "));
        let aggregate = match row.aggregate {
            Aggregate::Mean | Aggregate::OfMeans | Aggregate::Geomean => None,
            Aggregate::Median => Some("median"),
            Aggregate::Largest => Some("largest"),
            Aggregate::ThirdLargest => Some("third largest"),
            Aggregate::FourthLargest => Some("fourth largest"),
            Aggregate::Smallest => Some("smallest"),
            Aggregate::SecondSmallest => Some("second smallest"),
            Aggregate::SecondFarthest => Some("second farthest"),
            Aggregate::Best | Aggregate::BestGeomean => Some("best machine"),
            Aggregate::WorstGeomean => Some("worst machine"),
        };
        let rest = [program, cluster, groups, aggregate.map(str::to_string)];
        let baseline = self.baseline(row).map(|baseline| format!("{} {baseline}", relation(row)));
        let rest = rest.into_iter().flatten().collect::<Vec<_>>().join(", ");
        [about, machine.to_string(), rest, baseline.unwrap_or_default()]
    }
}

impl Panel<'_> {
    /// What a value of a row is on the axis.
    pub fn value(&self, row: &Published, value: f64) -> f64 {
        match self.form {
            Form::Percent => 100.0 * value,
            Form::Times if row.is_effect() => 1.0 + value,
            Form::Times | Form::Amount => value,
        }
    }

    /// Which values are better, if any row is a result.
    pub fn better(&self) -> Option<&'static str> {
        let mut pairs = self.groups.iter().flat_map(|group| &group.pairs);
        let result = pairs.any(|pair| pair.row.published.kind == RowKind::Result);
        result.then_some(if self.metric.more_is_better() { "higher" } else { "lower" })
    }

    /// The value of no effect.
    pub fn base(&self) -> f64 {
        if self.form == Form::Times { 1.0 } else { 0.0 }
    }

    /// What the axis shows.
    pub fn axis(&self) -> String {
        let metric = self.metric.title();
        match (self.form, &self.baseline) {
            (Form::Percent, Some(baseline)) => format!("{metric} against {baseline}, %"),
            (Form::Percent, None) => format!("{metric}, % of the baseline"),
            (Form::Times, Some(baseline)) => format!("{metric} over {baseline}"),
            (Form::Times, None) if self.groups.iter().flat_map(|group| &group.pairs).any(Pair::has_baseline) => {
                format!("{metric} over the baseline")
            }
            (Form::Times, None) => metric.to_string(),
            (Form::Amount, _) => match unit(self.metric) {
                Some(unit) => format!("{metric}, {unit}"),
                None => metric.to_string(),
            },
        }
    }
}

/// How a number and its baseline relate.
fn relation(row: &Published) -> &'static str {
    if row.is_effect() { "against" } else { "over" }
}

fn unit(metric: Metric) -> Option<&'static str> {
    match metric {
        Metric::Time => Some("s"),
        Metric::Energy => Some("J"),
        Metric::Power => Some("W"),
        Metric::Edp => Some("Js"),
        _ => None,
    }
}

fn form(axis: FigureAxis, row: &Published) -> Form {
    match axis {
        _ if row.is_ratio() => Form::Times,
        _ if !row.is_effect() => Form::Amount,
        FigureAxis::Percent => Form::Percent,
        FigureAxis::Normalised => Form::Times,
    }
}

/// The panels of a figure's rows, in the order of the rows.
pub fn panels<'a>(names: &Names, axis: FigureAxis, rows: &[&'a Row]) -> Vec<Panel<'a>> {
    let mut found: Vec<((Metric, Form), Vec<&'a Row>)> = Vec::new();
    for row in rows {
        let key = (row.published.metric, form(axis, &row.published));
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => found.push((key, vec![row])),
        }
    }
    let split = |(key, rows)| by_machine(names, rows).into_iter().map(move |rows| (key, rows));
    found.into_iter().flat_map(split).map(|(key, rows)| panel(names, key, &rows)).collect()
}

/// The rows of each machine, if there are too many for one panel.
fn by_machine<'a>(names: &Names, rows: Vec<&'a Row>) -> Vec<Vec<&'a Row>> {
    if rows.len() <= GROUPS {
        return vec![rows];
    }
    let mut split: Vec<(Option<&str>, Vec<&'a Row>)> = Vec::new();
    for row in rows {
        let machine = names.machine_of(&row.published);
        match split.iter_mut().find(|(known, _)| *known == machine) {
            Some((_, rows)) => rows.push(row),
            None => split.push((machine, vec![row])),
        }
    }
    split.into_iter().map(|(_, rows)| rows).collect()
}

fn panel<'a>(names: &Names, (metric, form): (Metric, Form), rows: &[&'a Row]) -> Panel<'a> {
    let mut series: Vec<(usize, String)> = Vec::new();
    let mut groups: Vec<(Label, Vec<Pair<'a>>)> = Vec::new();
    for row in rows {
        let name = names.series_of(&row.published);
        let own = series.iter().position(|(_, known)| *known == name).unwrap_or_else(|| {
            let colour = names.series.iter().find(|(_, known)| *known == name).map_or(0, |(colour, _)| *colour);
            series.push((colour, name));
            series.len() - 1
        });
        let label = names.label(&row.published);
        let pair = Pair { row, series: own };
        let free = |(known, pairs): &&mut (Label, Vec<Pair<'a>>)| {
            *known == label && pairs.iter().all(|pair| pair.series != own)
        };
        match groups.iter_mut().find(free) {
            Some((_, pairs)) => pairs.push(pair),
            None => groups.push((label, vec![pair])),
        }
    }
    // Groups about the same stand beside each other, in the order of the first of them.
    let order: Vec<String> = groups.iter().map(|(label, _)| label[0].clone()).collect();
    groups.sort_by_key(|(label, _)| order.iter().position(|about| *about == label[0]));
    let same = |line: usize| groups.iter().all(|(label, _)| label[line] == groups[0].0[line]);
    let common: Vec<usize> = (0..4).filter(|line| same(*line)).collect();
    // A baseline that all have in common is said by the axis.
    let alone = groups.len() == 1;
    let wanted = |line: &usize| if alone { *line != BASELINE } else { !common.contains(line) };
    let shown = |label: &Label| {
        let lines = (0..4).filter(wanted).map(|line| label[line].clone());
        lines.filter(|line| !line.is_empty()).collect()
    };
    let labels: Vec<Vec<String>> = groups.iter().map(|(label, _)| shown(label)).collect();
    let said = common.iter().filter(|line| !alone && **line != BASELINE).map(|line| groups[0].0[*line].clone());
    let baseline = rows.first().filter(|_| common.contains(&BASELINE)).and_then(|row| names.baseline(&row.published));
    Panel {
        metric,
        form,
        baseline,
        common: said.filter(|part| !part.is_empty() && part != "all").collect(),
        groups: groups
            .into_iter()
            .zip(labels)
            .map(|((_, mut pairs), label)| {
                pairs.sort_by_key(|pair| pair.series);
                Group { label, pairs }
            })
            .collect(),
        series,
    }
}

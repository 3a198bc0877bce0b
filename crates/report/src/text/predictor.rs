//! A speedup predictor for people.

use evenkeel_experiment::thresholds::Thresholds;
use evenkeel_experiment::training::Trained;

use crate::table;

/// The models of a predictor, and how well they do.
pub fn predictor(trained: &Trained) -> String {
    let mut text = table::heading(&format!("Speedup predictor of {}", trained.machine));
    for model in &trained.models {
        let terms: Vec<String> =
            model.terms.iter().map(|(counter, weight)| format!("{weight:+.4} {}", counter.name())).collect();
        text += &format!(
            "\nRead on {}: {} over {} =\n  {:.4} + ({}) / instructions\n\n",
            model.observed_on,
            model.faster,
            model.slower,
            model.intercept,
            terms.join(" ")
        );
        let mut rows = table::new(&["program", ">speedup", ">predicted", ">error"]);
        for program in &model.programs {
            rows.add_row([
                program.name.clone(),
                format!("{:.2}", program.speedup),
                format!("{:.2}", program.predicted),
                table::percent(program.predicted / program.speedup - 1.0),
            ]);
        }
        text += &table::text(&rows);
        text += &format!("Mean error over threads: {:.1} %\n", 100.0 * model.mean_error);
    }
    text += "\nEach program is predicted by the model of all the others (leave one out).\n\n";
    text + &thresholds(&trained.thresholds)
}

fn thresholds(found: &Thresholds) -> String {
    let mut text = table::heading("Thresholds of bias scheduling");
    text += &format!(
        "\nPrograms that a big core makes less than {} times faster are to be on little ones. Of thresholds that tell them apart by\n\
         what stalls them, these have most room on both sides:\n\n    --policy {}\n\n",
        found.split,
        found.policy()
    );
    let mut rows = table::new(&["program", ">speedup", ">starved", ">offcore", "is put wrongly"]);
    for program in &found.programs {
        rows.add_row([
            program.name.clone(),
            format!("{:.2}", program.speedup),
            format!("{:.0}", program.starved),
            format!("{:.1}", program.offcore),
            match program.wrong_on {
                0 => String::new(),
                1 => "on one core type".to_owned(),
                types => format!("on {types} core types"),
            },
        ]);
    }
    text + &table::text(&rows) + "Starved cycles and requests that leave the core, in 1000 instructions.\n"
}

//! What a sweep amounts to, for people.

use evenkeel_sweep::Summary;

use crate::{headline, number, table};

/// A sentence, and how policies differ over everything that was varied.
pub fn sweep(summary: &Summary) -> String {
    let mut text = table::heading(&headline::of_sweep(summary)) + "\n";
    if summary.policies.is_empty() {
        return text;
    }
    let mut rows =
        table::new(&["policy", ">H_ANTT", ">H_STP", ">energy", ">better in", ">worse in", ">not told apart in"]);
    for policy in &summary.policies {
        let [better, worse, neither] = headline::verdicts(summary, policy);
        rows.add_row([
            policy.policy.clone(),
            number::effect(policy.effects.h_antt),
            number::effect(policy.effects.h_stp),
            number::effect(policy.effects.energy),
            better,
            worse,
            neither,
        ]);
    }
    text += &table::text(&rows);
    text.extend(headline::by_order_of_sweep(summary).map(|line| line + "\n"));
    let compared = summary.policies.iter().map(|policy| policy.cells).min().unwrap_or(0);
    let of = if compared < summary.cells { format!(" of {}", summary.cells) } else { String::new() };
    let verdicts = headline::of_verdicts(summary).map(|note| format!(" {note}")).unwrap_or_default();
    text += &format!(
        "\nAgainst {}, from pairs with the same seed, ± half of their 95 % interval: the geometric mean of {compared}{of}\n\
         workloads on machines and what else was varied.{verdicts}\n",
        summary.baseline,
    );
    text
}

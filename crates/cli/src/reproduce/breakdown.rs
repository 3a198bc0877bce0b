//! Where the time of kernels goes (Figure 8 of Torng et al., ISCA 2016).

use comfy_table::Cell;

use super::evaluate::{Ran, mean, value};
use super::experiment::{Host, Metric};
use crate::json::Breakdown;
use crate::table;

/// Every kernel, machine and techniques of a set; nothing of a set that no workers ran.
pub fn of<'a>(ran: &Ran<'a>) -> Vec<Breakdown<'a>> {
    let mut found = Vec::new();
    if !matches!(ran.set.host, Host::Workers(_)) {
        return found;
    }
    for machine in &ran.set.machines {
        for member in &ran.set.workloads {
            for policy in ran.policies {
                let of = |metric| value(ran, &member.name, machine, metric, policy).unwrap_or(f64::NAN);
                found.push(Breakdown {
                    set: &ran.set.name,
                    workload: &member.name,
                    machine,
                    policy,
                    seconds: of(Metric::Time),
                    energy_j: of(Metric::Energy),
                    serial: of(Metric::Serial),
                    high_parallel: of(Metric::HighParallel),
                    scarce: of(Metric::Scarce),
                    ample: of(Metric::Ample),
                    other_low: of(Metric::OtherLow),
                    mugs_per_minst: of(Metric::Mugs),
                    transitions_per_10_us: of(Metric::Transitions),
                });
            }
        }
    }
    found
}

/// A number of a breakdown.
type Part = fn(&Breakdown<'_>) -> f64;

/// The mean over the kernels of a set.
pub fn text(ran: &Ran<'_>) -> String {
    let all = of(ran);
    if all.is_empty() {
        return String::new();
    }
    let columns = [
        "machine",
        "techniques",
        ">serial",
        ">HP",
        ">BI < LA",
        ">BI >= LA",
        ">other LP",
        ">mugs/Minst",
        ">changes/10 us",
    ];
    let mut grid = table::new(&columns);
    for machine in &ran.set.machines {
        for policy in ran.policies {
            let of = |part: Part| {
                let kernels = all.iter().filter(|kernel| kernel.machine == machine && kernel.policy == policy);
                mean(kernels.map(part)).unwrap_or(f64::NAN)
            };
            let parts: [Part; 5] = [|b| b.serial, |b| b.high_parallel, |b| b.scarce, |b| b.ample, |b| b.other_low];
            let rates: [Part; 2] = [|b| b.mugs_per_minst, |b| b.transitions_per_10_us];
            let mut row = vec![Cell::new(machine), Cell::new(policy)];
            row.extend(parts.map(|part| Cell::new(format!("{:.1} %", 100.0 * of(part)))));
            row.extend(rates.map(|rate| Cell::new(table::number(of(rate)))));
            grid.add_row(row);
        }
    }
    let title = format!("Where the time goes: {} (mean over kernels)", ran.set.name);
    format!("\n{}{}", table::heading(&title), table::text(&grid))
}

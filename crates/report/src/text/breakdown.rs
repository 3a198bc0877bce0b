//! Where the time of kernels goes, the mean over the kernels of a set.

use comfy_table::Cell;
use evenkeel_experiment::mean;
use evenkeel_experiment::paper::{Breakdown, Ran, breakdown};

use crate::table;

/// A number of a breakdown.
type Part = fn(&Breakdown) -> f64;

/// The mean over the kernels of a set.
pub fn text(ran: &Ran) -> String {
    let all = breakdown(ran);
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
        for policy in &ran.policies {
            let of = |part: Part| {
                let kernels = all.iter().filter(|kernel| kernel.machine == *machine && kernel.policy == *policy);
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

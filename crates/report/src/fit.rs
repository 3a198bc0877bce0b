//! Tables in terminals that are narrower than they are.

use comfy_table::{ColumnConstraint, Table, Width};

use crate::table::{GAP, NUMBER, letters};

/// Longer words, such as paths, may be broken.
const LONGEST: usize = 24;

/// What is wider, such as a name of a megabyte, is broken anywhere: the library adds up widths in 16 bits.
const WIDEST: usize = 10_000;

/// How wide a column is.
#[derive(Clone, Copy, Default)]
struct Needed {
    /// With every cell on one line, the heading included.
    whole: usize,
    /// With every cell on one line, and the heading broken between words.
    cells: usize,
    /// With texts broken between words, and spreads below their numbers.
    least: usize,
}

/// Has a table fit in the terminal, if it is printed on one: texts are broken between words. Where that does not do, spreads stand below
/// their numbers, in the columns first that get narrower by most. What does not fit then is broken by the terminal, rather than inside words
/// and numbers here.
pub fn fit(table: &mut Table) {
    let Some(terminal) = table.width() else { return };
    let numbers: Vec<bool> = table.column_iter().map(|column| column.constraint() == Some(&NUMBER)).collect();
    let needed = needed(table, &numbers);
    let mut widths: Vec<usize> =
        needed.iter().zip(&numbers).map(|(needed, number)| if *number { needed.whole } else { needed.least }).collect();
    let (terminal, mut gap) = (usize::from(terminal), usize::from(GAP));
    let room = |gap: usize| terminal.saturating_sub(gap * needed.len().saturating_sub(1));
    loop {
        let excess = widths.iter().sum::<usize>().saturating_sub(room(gap));
        // Headings first, and no more than they must be.
        let narrowest = |at: &usize| match widths[*at] {
            width if width > needed[*at].cells => needed[*at].cells.max(width.saturating_sub(excess)),
            _ => needed[*at].least,
        };
        let narrower = |at: &usize| widths[*at] - narrowest(at);
        match (0..widths.len()).max_by_key(narrower).filter(|at| narrower(at) > 0) {
            _ if excess == 0 => break,
            Some(widest) => widths[widest] = narrowest(&widest),
            None if gap > 1 => gap -= 1,
            None => break,
        }
    }
    // The last column's gap is beyond the end of the line.
    let all = widths.iter().sum::<usize>() + gap * widths.len();
    let bounded = |width: usize| width.min(WIDEST) as u16;
    table.set_width(bounded(all.max(terminal + gap)));
    for (((column, width), number), needed) in table.column_iter_mut().zip(widths).zip(numbers).zip(&needed) {
        column.set_padding((0, bounded(gap)));
        let width = Width::Fixed(bounded(width + gap));
        column.set_constraint(if number || needed.whole > WIDEST {
            ColumnConstraint::Absolute(width)
        } else {
            ColumnConstraint::LowerBoundary(width)
        });
    }
}

fn needed(table: &Table, numbers: &[bool]) -> Vec<Needed> {
    let mut needed = vec![Needed::default(); numbers.len()];
    let longest = |parts: &mut dyn Iterator<Item = &str>| parts.map(letters).max().unwrap_or(0);
    let heads = table.header().into_iter().map(|row| (row, true));
    for (row, head) in heads.chain(table.row_iter().map(|row| (row, false))) {
        for ((cell, needed), number) in row.cell_iter().zip(&mut needed).zip(numbers) {
            let content = cell.content();
            let least = match *number && !head {
                // Two, of which the second begins with the sign.
                true => {
                    longest(&mut content.lines().flat_map(|line| line.split(" ±")))
                        + usize::from(content.contains(" ±"))
                }
                false => longest(&mut content.split_whitespace()).min(LONGEST),
            };
            let whole = longest(&mut content.lines());
            needed.whole = needed.whole.max(whole);
            needed.cells = needed.cells.max(if head { least } else { whole });
            needed.least = needed.least.max(least);
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use crate::table;

    fn compared(width: u16) -> String {
        let mut table = table::new(&["policy", ">H_ANTT", ">", ">makespan s", "why"]);
        table.set_width(width);
        table.add_row(["cfs", "2.340 ±0.025", "", "0.5567 ±0.0070", "the kernel's own"]);
        table.add_row(["colab:takeover=any", "2.260 ±0.012", "-3.4 ±14.1 %", "0.5275", "all that is said of it"]);
        table::text(&table).replace("\u{1b}[1m", "").replace("\u{1b}[0m", "")
    }

    #[test]
    fn words_and_numbers_are_never_broken() {
        for width in [200, 100, 80, 60, 50, 40, 20] {
            let text = compared(width);
            for word in
                ["colab:takeover=any", "2.260", "±0.012", "±14.1 %", "0.5567", "±0.0070", "makespan", "kernel's"]
            {
                assert!(text.contains(word), "{width}: {word}\n{text}");
            }
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= usize::from(width) || width < 60, "{width}: {widest}\n{text}");
        }
        assert_eq!(compared(200).lines().count(), 3);
        // Nor does it end in a panic where a cell is wider than a terminal can be.
        let mut wide = table::new(&["policy", ">H_ANTT"]);
        wide.set_width(80).add_row(["x".repeat(70_000), "9".repeat(70_000)]);
        assert!(table::text(&wide).contains("999"));
        assert!(compared(80).contains("-3.4 ±14.1 %"), "{}", compared(80));
        let narrow = "\
policy              H_ANTT                makespan  why
                                                 s
cfs                  2.340                  0.5567  the
                    ±0.025                 ±0.0070  kernel's
                                                    own
colab:takeover=any   2.260  -3.4 ±14.1 %    0.5275  all that
                    ±0.012                          is said
                                                    of it
";
        assert_eq!(compared(60), narrow);
        let mut counted = table::new(&["policy", ">not told apart in"]);
        counted.set_width(20);
        counted.add_row(["gts", "1"]);
        let counted = table::text(&counted).replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        assert_eq!(counted, "policy      not told\n            apart in\ngts                1\n");
    }
}

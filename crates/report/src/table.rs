//! Tables for people. Styles are always written; the stream that prints them strips what does not fit it.

use anstyle::Style;
use comfy_table::{Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use crate::fit::fit;

pub use crate::number::{number, percent, seconds, spread};

/// Of columns of numbers, which are not broken.
pub(crate) const NUMBER: ColumnConstraint = ColumnConstraint::ContentWidth;

/// Between columns.
pub(crate) const GAP: u16 = 2;

/// In a narrower terminal lines are broken there, as it does it, rather than inside numbers.
const NARROWEST: u16 = 60;

const HEADING: Style = Style::new().bold();

/// A table with these columns. Columns whose name begins with `>` are aligned to the right. Without any name there is
/// no heading.
pub fn new(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).enforce_styling();
    table.style_text_only();
    match table.width() {
        // A terminal that does not say how wide it is.
        Some(0) => table.set_width(std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).unwrap_or(80)),
        Some(width) if width < NARROWEST => table.set_width(NARROWEST),
        _ => &mut table,
    };
    let heading = |name: &&str| Cell::new(name.trim_start_matches('>')).add_attribute(Attribute::Bold);
    table.set_header(columns.iter().map(heading));
    if columns.iter().all(|name| name.trim_start_matches('>').is_empty()) {
        table.set_header(comfy_table::Row::new());
    }
    for (column, name) in table.column_iter_mut().zip(columns) {
        column.set_padding((0, GAP));
        if name.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(NUMBER);
        }
    }
    table
}

/// A cell that stands out.
pub fn bold(text: impl ToString) -> Cell {
    Cell::new(text.to_string()).add_attribute(Attribute::Bold)
}

/// A heading over a table.
pub fn heading(text: &str) -> String {
    format!("{HEADING}{text}{HEADING:#}\n")
}

/// A table as text, without blanks at the ends of its lines.
pub fn text(table: &Table) -> String {
    let mut table = table.clone();
    fit(&mut table);
    table.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

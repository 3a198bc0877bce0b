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

const BOLD: Style = Style::new().bold();

/// Follows each bold letter of a cell of which only a part is bold, until the table is text. It takes no room, and stays with its letter
/// wherever a line is broken; styles would be measured and broken like text.
const MARK: char = '\u{34f}';

/// Where a table is written, which says how wide it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
    /// A file, whose lines are as long as they are.
    File,
}

/// A table on standard output with these columns. Columns whose name begins with `>` are aligned to the right. Without any
/// name there is no heading.
pub fn new(columns: &[&str]) -> Table {
    on(Stream::Output, columns)
}

/// As [`new`], elsewhere.
pub fn on(stream: Stream, columns: &[&str]) -> Table {
    let mut table = Table::new();
    match stream {
        Stream::Output => &mut table,
        Stream::Errors => table.use_stderr(),
        Stream::File => table.force_no_tty(),
    };
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

/// Words that stand out in a cell with others.
pub fn bold_words(text: &str) -> String {
    let mut words = String::new();
    for letter in text.chars() {
        words.push(letter);
        words.extend((!letter.is_whitespace()).then_some(MARK));
    }
    words
}

/// How many letters a text of a cell has.
pub(crate) fn letters(text: &str) -> usize {
    text.chars().filter(|letter| *letter != MARK).count()
}

/// A heading over a table.
pub fn heading(text: &str) -> String {
    format!("{BOLD}{text}{BOLD:#}\n")
}

/// A table as text, without blanks at the ends of its lines.
pub fn text(table: &Table) -> String {
    let mut table = table.clone();
    fit(&mut table);
    table.lines().map(|line| styled(line.trim_end()) + "\n").collect()
}

/// A line with a style in place of marks.
fn styled(line: &str) -> String {
    let mut rest = line.chars().peekable();
    let letters = std::iter::from_fn(|| Some((rest.next()?, rest.next_if_eq(&MARK).is_some())));
    let letters: Vec<(char, bool)> = letters.collect();
    let parts = letters.chunk_by(|(_, bold), (_, next)| bold == next).map(|part| {
        let text: String = part.iter().map(|(letter, _)| letter).collect();
        if part[0].1 { format!("{BOLD}{text}{BOLD:#}") } else { text }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_as_wide_as_its_lines_whatever_terminal_there_is() {
        let long = "word ".repeat(100);
        let mut table = on(Stream::File, &["what"]);
        table.add_row([&long]);
        assert_eq!((table.width(), text(&table).lines().count()), (None, 2));
    }

    #[test]
    fn bold_words_take_no_room_and_are_bold_wherever_lines_are_broken() {
        let mut table = new(&["who", "what", "of"]);
        let long = "/a/path/of/many/folders/that/is/broken";
        let what = format!("plain {} {long}", bold_words(&format!("bold words {long}")));
        table.set_width(60).add_row(["this has its own words, too", &what, "whom"]);
        let text = text(&table).replace("\u{1b}[1m", "<").replace("\u{1b}[0m", ">");
        let expected = "\
<who>                      <what>                           <of>
this has its own words,  plain <bold> <words> </a/path/of/m>  whom
too                      <any/folders/that/is/broken>
                         /a/path/of/many/folders/that/
                         is/broken
";
        assert_eq!(text, expected);
    }
}

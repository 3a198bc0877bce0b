//! A page of the guide as a terminal shows it best: paragraphs as wide as that is, tables in columns.

use std::mem::take;

use evenkeel_report::table;

/// Lines that are longer are hard to read.
const WIDEST: usize = 100;

/// A page, which is Markdown, as text for a terminal that is so wide.
pub fn laid_out(page: &str, width: usize) -> String {
    let mut text = Laid { out: String::new(), width: width.min(WIDEST), paragraph: String::new(), rows: Vec::new() };
    let mut in_code = false;
    for line in page.lines() {
        let bare = line.trim_start();
        if bare.starts_with("```") {
            text.end();
            in_code = !in_code;
        } else if in_code {
            text.out += &format!("    {line}\n");
        } else if line.starts_with('|') {
            text.end_paragraph();
            text.rows.push(cells(line));
        } else if line.starts_with('#') {
            text.end();
            text.out += &table::heading(&without_links(line.trim_start_matches('#').trim_start()));
        } else if bare.is_empty() || bare.starts_with("<!--") {
            text.end();
            text.out += if text.out.ends_with("\n\n") { "" } else { "\n" };
        } else {
            if text.rows.is_empty() && !begins_item(bare) && !text.paragraph.is_empty() {
                text.paragraph += &format!(" {bare}");
                continue;
            }
            text.end();
            text.paragraph = line.to_owned();
        }
    }
    text.end();
    text.out
}

/// Whether a line is the first of an item of a list.
fn begins_item(line: &str) -> bool {
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    line.starts_with("- ") || (number.len() < line.len() && number.starts_with(". "))
}

/// The cells of a row, whose bars may stand in code as `\|`.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\0");
    row.split('|').map(|cell| without_links(cell.trim()).replace('\0', "|")).collect()
}

/// `[words](place)` as the words: nothing in a terminal leads to the place.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        out += before;
        match link.split_once("](").and_then(|(words, place)| Some((words, place.split_once(')')?.1))) {
            Some((words, after)) if !words.contains(']') => {
                out += words;
                rest = after;
            }
            _ => {
                out.push('[');
                rest = link;
            }
        }
    }
    out + rest
}

struct Laid {
    out: String,
    width: usize,
    /// What is not written yet.
    paragraph: String,
    rows: Vec<Vec<String>>,
}

impl Laid {
    fn end(&mut self) {
        self.end_paragraph();
        let rows = take(&mut self.rows);
        let Some((names, rows)) = rows.split_first() else { return };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut table = table::new(&names);
        // Below the names is a line of dashes.
        for row in rows.iter().skip(1) {
            table.add_row(row);
        }
        self.out += &table::text(&table);
    }

    fn end_paragraph(&mut self) {
        let text = without_links(&take(&mut self.paragraph));
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { return };
        let indent = text.len() - text.trim_start().len();
        let hanging = if begins_item(text.trim_start()) { indent + first.len() + 1 } else { indent };
        let mut line = format!("{}{first}", " ".repeat(indent));
        for word in words {
            if line.chars().count() + 1 + word.chars().count() > self.width {
                self.out += &(take(&mut line) + "\n");
                line = format!("{}{word}", " ".repeat(hanging));
            } else {
                line += &format!(" {word}");
            }
        }
        self.out += &(line + "\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_as_wide_as_the_terminal_and_code_stays() {
        let page = "\
# Sweeps

A [grid](machines.md#grid) is a file of
several lines [1].
- an item that is longer
  than a line
- another

```
evenkeel sweep   grid.toml
```
| key | what it is |
| --- | --- |
| `a \\| b` | [one](x) of two |
";
        let text = laid_out(page, 20).replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        let expected = "\
Sweeps

A grid is a file of
several lines [1].
- an item that is
  longer than a line
- another

    evenkeel sweep   grid.toml
key      what it is
`a | b`  one of two
";
        assert_eq!(text, expected);
    }
}

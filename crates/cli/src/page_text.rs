//! A page of the guide without what is only for those who write it, and as a terminal shows it best: paragraphs as wide as that is, tables in
//! columns, bold words bold.

use std::mem::take;

use anstream::adapter::strip_str;
use anstyle::Style;
use evenkeel_report::table;

/// Lines that are longer are hard to read.
const WIDEST: usize = 100;

const BOLD: Style = Style::new().bold();

/// A page, which is Markdown, without its comments: they tell generators where to write. Comments are lines of their own; those in blocks of
/// code stay.
pub fn without_comments(page: &str) -> String {
    let mut out = String::new();
    let (mut in_code, mut in_comment, mut after_comment) = (false, false, false);
    for line in page.lines() {
        let bare = line.trim();
        in_code ^= bare.starts_with("```") && !in_comment;
        in_comment |= bare.starts_with("<!--") && !in_code;
        if in_comment {
            in_comment = !bare.ends_with("-->");
            after_comment = true;
            continue;
        }
        // Empty lines before and after a comment would be two.
        if !(after_comment && bare.is_empty() && (out.is_empty() || out.ends_with("\n\n"))) {
            out += line;
            out.push('\n');
        }
        after_comment = false;
    }
    out
}

/// A page, which is Markdown without comments, as text for a terminal that is so wide.
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
            text.out += &table::heading(&words(line.trim_start_matches('#').trim_start(), str::to_owned));
        } else if bare.is_empty() {
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
    row.split('|').map(|text| text.trim().replace('\0', "|")).collect()
}

/// What a text says, with what is bold in a style.
fn words(text: &str, bold: impl Fn(&str) -> String) -> String {
    let text = without_links(text);
    // Every second part is bold. In code `**` is no mark.
    let mut parts = vec![String::new()];
    for (number, piece) in text.split('`').enumerate() {
        let last = parts.len() - 1;
        parts[last] += if number > 0 { "`" } else { "" };
        let mut pieces = piece.splitn(if number % 2 == 1 { 1 } else { usize::MAX }, "**");
        parts[last] += pieces.next().unwrap_or_default();
        parts.extend(pieces.map(str::to_owned));
    }
    // A mark that has no other is none.
    if parts.len() % 2 == 0 {
        return text;
    }
    let styled = |(number, part): (usize, &String)| if number % 2 == 1 { bold(part) } else { part.clone() };
    parts.iter().enumerate().map(styled).collect()
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
        // They are bold as they are.
        let names: Vec<String> = names.iter().map(|name| words(name, str::to_owned)).collect();
        let mut table = table::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        // Below the names is a line of dashes.
        for row in rows.iter().skip(1) {
            table.add_row(row.iter().map(|cell| words(cell, table::bold_words)));
        }
        self.out += &table::text(&table);
    }

    fn end_paragraph(&mut self) {
        let text = words(&take(&mut self.paragraph), |text| format!("{BOLD}{text}{BOLD:#}"));
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { return };
        let indent = text.len() - text.trim_start().len();
        let hanging = if begins_item(text.trim_start()) { indent + first.len() + 1 } else { indent };
        let mut line = format!("{}{first}", " ".repeat(indent));
        for word in words {
            if columns(&line) + 1 + columns(word) > self.width {
                self.out += &(take(&mut line) + "\n");
                line = format!("{}{word}", " ".repeat(hanging));
            } else {
                line += &format!(" {word}");
            }
        }
        self.out += &(line + "\n");
    }
}

/// How many columns a text takes, of which styles take none.
fn columns(text: &str) -> usize {
    strip_str(text).map(|part| part.chars().count()).sum()
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

    #[test]
    fn bold_words_are_bold_and_take_no_more_room() {
        let page = "\
**Wins** over `a/**/b` and **[all](x) others**
| **1** | a **2** |
| --- | --- |
| **3** | a **4** |
";
        let text = laid_out(page, 22).replace("\u{1b}[1m", "<").replace("\u{1b}[0m", ">");
        assert_eq!(text, "<Wins> over `a/**/b` and\n<all others>\n<1>  <a 2>\n<3>  a <4>\n");
        // A mark without another one is none.
        assert_eq!(laid_out("**a** 2 ** 3", 22), "**a** 2 ** 3\n");
    }

    #[test]
    fn comments_are_left_out_but_in_code() {
        let page = "\
# A

<!-- from the code: a
over lines -->

text
<!-- end -->
```
<!-- shown -->


```
";
        assert_eq!(without_comments(page), "# A\n\ntext\n```\n<!-- shown -->\n\n\n```\n");
    }
}

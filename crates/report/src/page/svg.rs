//! What the drawings of pages share: a frame, axes with round ticks, text and legends.
//!
//! Each drawing is a `<figure class="drawn">` with one `<svg>` that can be taken out of its page: it has its legend within, and
//! gets its colours from classes. Lengths are user units, of which text is 11 high.

use maud::{Markup, PreEscaped, html};

use super::class;

/// The width of drawings that fit a phone.
pub const NARROW: f64 = 340.0;

/// How far the lines of a legend are apart.
const LINE: f64 = 15.0;

/// Between a vertical axis and its values.
const GAP: f64 = 5.0;

/// A drawing, by what stands around it.
pub struct Drawing<'a> {
    /// A name that no other element of the page has ([`slug`]).
    pub id: &'a str,
    /// Its width in user units.
    pub width: f64,
    /// Its height in user units.
    pub height: f64,
    /// What it shows, for readers who cannot see it.
    pub spoken: &'a str,
    /// What stands below.
    pub caption: Markup,
    /// What is drawn.
    pub content: Markup,
}

impl Drawing<'_> {
    /// The figure, as one picture.
    pub fn figure(&self) -> Markup {
        self.of_role("img")
    }

    /// The figure, whose parts can be focused and have names of their own.
    pub fn of_parts(&self) -> Markup {
        self.of_role("group")
    }

    fn of_role(&self, role: &str) -> Markup {
        let Self { id, width, height, spoken, caption, content } = self;
        html! {
            figure.drawn id=(id) style={ "--w:" (at(*width)) "px" } {
                div.scroll {
                    svg viewBox={ "0 0 " (at(*width)) " " (at(*height)) } role=(role) aria-label=(spoken) { (content) }
                }
                figcaption { (caption) }
            }
        }
    }
}

/// A coordinate with one decimal at most; zero in place of what is no number.
pub fn at(coordinate: f64) -> String {
    let rounded = if coordinate.is_finite() { (coordinate * 10.0).round() / 10.0 + 0.0 } else { 0.0 };
    rounded.to_string()
}

/// A name for an id: lower-case letters, digits and single dashes.
pub fn slug(name: &str) -> String {
    let parts = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// How wide a letter is at most: fonts differ, and what counts are the wide ones (DejaVu Sans, Verdana).
fn width_of_letter(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | 'J' | '\'' | '|' | '!' | '.' | ',' | ':' | ';' | ' ' => NARROWEST,
        'f' | 'r' | 't' | '-' | '(' | ')' | '[' | ']' | '/' | '"' => 5.0,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '&' | '+' | '=' | '<' | '>' | '\u{2026}' => 11.0,
        'A'..='Z' => 8.7,
        // What takes two columns of a terminal, such as Chinese.
        '\u{1100}'.. => 11.0,
        _ => 7.0,
    }
}

/// The least that a letter takes.
const NARROWEST: f64 = 3.6;

/// How wide a text is at most.
pub fn width_of(text: &str) -> f64 {
    text.chars().map(width_of_letter).sum()
}

/// A text that is no wider, with an ellipsis for what is left out: of the middle, since names differ at either end.
pub fn shortened(text: &str, width: f64) -> String {
    if width_of(text) <= width {
        return text.to_string();
    }
    let letters: Vec<char> = text.chars().collect();
    let keeping = |kept: usize| -> String {
        let (begin, end) = (kept - kept / 2, letters.len() - kept / 2);
        letters[..begin].iter().chain(&['\u{2026}']).chain(&letters[end..]).collect()
    };
    let most = letters.len().min((width / NARROWEST) as usize);
    (0..=most).rev().map(keeping).find(|cut| width_of(cut) <= width).unwrap_or_default()
}

/// A scale from values to coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    values: (f64, f64),
    step: f64,
    span: (f64, f64),
}

impl Axis {
    /// An axis that holds all values that are numbers. It begins and ends at a tick; there are about `ticks` of them.
    pub fn of(values: impl IntoIterator<Item = f64>, ticks: usize, span: (f64, f64)) -> Self {
        let ends = values.into_iter().filter(|value| value.is_finite());
        let ends = ends.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        let (low, high) = ends.unwrap_or((0.0, 1.0));
        let high = if high - low > 1e-9 * high.abs().max(1e-9) { high } else { low + low.abs().max(1.0) };
        let step = round_step((high - low) / ticks.max(1) as f64);
        // A value that is a tick but for its rounding needs no further one.
        let values = ((low / step + 1e-6).floor() * step, (high / step - 1e-6).ceil() * step);
        Self { values, step, span }
    }

    /// An axis without ticks at its ends.
    pub fn exactly(values: (f64, f64), ticks: usize, span: (f64, f64)) -> Self {
        let values = if values.1 > values.0 { values } else { (values.0, values.0 + 1.0) };
        Self { values, step: round_step((values.1 - values.0) / ticks.max(1) as f64), span }
    }

    /// Where a value is.
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        self.span.0 + (value.clamp(low, high) - low) / (high - low) * (self.span.1 - self.span.0)
    }

    /// Where it ends.
    pub fn span(&self) -> (f64, f64) {
        self.span
    }

    /// The round values on it.
    pub fn ticks(&self) -> impl Iterator<Item = f64> {
        let (step, high) = (self.step, self.values.1);
        let first = (self.values.0 / step - 1e-6).ceil();
        (0..).map(move |tick| (first + f64::from(tick)) * step).take_while(move |tick| *tick <= high + 1e-6 * step)
    }

    /// What stands at a tick.
    pub fn label(&self, tick: f64) -> String {
        let decimals = (-(self.step.log10() + 1e-9).floor()).clamp(0.0, 6.0) as usize;
        format!("{:.decimals$}", (tick / self.step).round() * self.step + 0.0)
    }

    /// What the values of a vertical axis take at its left.
    pub fn room(&self) -> f64 {
        self.ticks().map(|tick| width_of(&self.label(tick))).fold(0.0, f64::max) + GAP
    }

    /// A vertical axis: a line across at each tick, and its value to the left.
    pub fn upright(&self, from: f64, to: f64) -> Markup {
        html! {
            @for tick in self.ticks() {
                @let y = self.at(tick);
                path.grid d=(PreEscaped(format!("M{} {}H{}", at(from), at(y), at(to)))) {}
                text.soft x=(at(from - GAP)) y=(at(y + 4.0)) text-anchor="end" { (self.label(tick)) }
            }
        }
    }

    /// A horizontal axis: a line up at each tick, its value below, and what it measures below that.
    pub fn level(&self, title: &str, from: f64, to: f64) -> Markup {
        html! {
            @for tick in self.ticks() {
                @let x = self.at(tick);
                path.grid d=(PreEscaped(format!("M{} {}V{}", at(x), at(from), at(to)))) {}
                text.soft x=(at(x)) y=(at(to + 13.0)) text-anchor="middle" { (self.label(tick)) }
            }
            text.soft x=(at(self.span.0.midpoint(self.span.1))) y=(at(to + 27.0)) text-anchor="middle" { (title) }
        }
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let first = [1.0, 2.0, 5.0].into_iter().find(|first| first * power >= step * 0.999);
    first.unwrap_or(10.0) * power
}

/// Names with their colours, in lines that are no wider, and how high they are.
pub fn legend<'a>(names: impl IntoIterator<Item = (usize, &'a str)>, width: f64) -> (Markup, f64) {
    let mark = |colour: usize| html! { path class=(class('f', colour)) d="M0 -8.5h9v9h-9z" {} };
    marked(names.into_iter().map(|(colour, name)| (mark(colour), name)), width)
}

/// Names with marks that are 9 wide, in lines that are no wider, and how high they are.
pub fn marked<'a>(names: impl IntoIterator<Item = (Markup, &'a str)>, width: f64) -> (Markup, f64) {
    let (mut x, mut y) = (0.0, 10.0);
    let drawn: Vec<Markup> = names
        .into_iter()
        .map(|(mark, name)| {
            let shown = shortened(name, width - 13.0);
            let wide = 13.0 + width_of(&shown) + 14.0;
            if x > 0.0 && x + wide - 14.0 > width {
                (x, y) = (0.0, y + LINE);
            }
            let place = format!("translate({} {})", at(x), at(y));
            x += wide;
            html! { g transform=(place) { (mark) text x="13" { (shown) } } }
        })
        .collect();
    (html! { @for item in &drawn { (item) } }, if drawn.is_empty() { 0.0 } else { y + 6.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_begin_and_end_at_round_values() {
        let axis = Axis::of([-3.1, 0.0, 12.0, f64::NAN], 5, (0.0, 200.0));
        let labels: Vec<String> = axis.ticks().map(|tick| axis.label(tick)).collect();
        assert_eq!(labels, ["-5", "0", "5", "10", "15"]);
        assert_eq!([axis.at(-5.0), axis.at(15.0), axis.at(99.0)], [0.0, 200.0, 200.0]);
        let axis = Axis::of([0.0, 1.0], 5, (100.0, 0.0));
        let labels: Vec<String> = axis.ticks().map(|tick| axis.label(tick)).collect();
        assert_eq!(labels, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(axis.at(0.25), 75.0);
    }

    #[test]
    fn there_is_an_axis_of_anything() {
        for values in [vec![], vec![f64::NAN], vec![2.0, 2.0], vec![0.0], vec![f64::INFINITY, 1e-12]] {
            let axis = Axis::of(values, 4, (0.0, 10.0));
            let count = axis.ticks().count();
            assert!((2..12).contains(&count), "{axis:?}");
            assert!(axis.at(f64::NAN).is_nan() && axis.at(0.0).is_finite(), "{axis:?}");
        }
        assert_eq!([at(f64::NAN), at(-0.01), at(1.25)], ["0", "0", "1.3"]);
    }

    #[test]
    fn names_become_ids_and_fit() {
        assert_eq!(slug("H_ANTT over  cfs, 4+0"), "h-antt-over-cfs-4-0");
        assert_eq!([shortened("fluidanimate", 48.0), shortened("fft", 48.0)], ["flu…ate", "fft"]);
        let (drawn, height) = legend([(0, "<one>"), (9, "another")], 60.0);
        assert_eq!(height, 31.0, "two lines");
        assert!(drawn.into_string().contains("&lt;one&gt;"));
    }
}

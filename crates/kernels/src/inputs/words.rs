//! Words and text whose letters follow each other as in English: `trigramSeq` and `trigramString`.

use super::Draw;

/// Where the probabilities come from: the Gettysburg Address (1863) and the beginning of the Declaration of Independence
/// (1776). PBBS has a table of a larger text; the distribution is of the same kind.
const ENGLISH: &str = include_str!("english.txt");

/// The letters, and the space that ends a word.
const SYMBOLS: usize = 27;
const SPACE: usize = 26;
/// No word is longer.
const LONGEST: usize = 100;

/// How often each symbol follows each pair, from left to right.
struct Trigrams(Vec<[u32; SYMBOLS]>);

impl Trigrams {
    fn english() -> Self {
        let mut counts = vec![[0; SYMBOLS]; SYMBOLS * SYMBOLS];
        for word in ENGLISH.split(|letter: char| !letter.is_ascii_alphabetic()).filter(|word| !word.is_empty()) {
            let (mut first, mut second) = (SPACE, SPACE);
            let letters = word.bytes().map(|letter| usize::from(letter.to_ascii_lowercase() - b'a'));
            for symbol in letters.chain([SPACE]) {
                counts[first * SYMBOLS + second][symbol] += 1;
                (first, second) = (second, symbol);
            }
        }
        Self(counts)
    }

    /// Adds a word without its space. A word has at least one letter: nothing in the text begins with a space.
    fn word(&self, draw: &mut Draw, out: &mut Vec<u8>) {
        let (mut first, mut second) = (SPACE, SPACE);
        for _ in 0..LONGEST {
            let counts = &self.0[first * SYMBOLS + second];
            let mut left = draw.below(counts.iter().map(|&count| u64::from(count)).sum());
            let follows = |&count: &u32| match left.checked_sub(u64::from(count)) {
                None => true,
                Some(rest) => {
                    left = rest;
                    false
                }
            };
            let symbol = counts.iter().position(follows).unwrap_or(SPACE);
            if symbol == SPACE {
                break;
            }
            out.push(b'a' + symbol as u8);
            (first, second) = (second, symbol);
        }
    }
}

/// Many words, one after the other in one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    text: Vec<u8>,
    /// Where each word begins, and one more for the end of the last.
    starts: Vec<u32>,
}

impl Words {
    /// These words.
    pub fn new<W: AsRef<[u8]>>(words: &[W]) -> Self {
        let mut all = Self { text: Vec::new(), starts: vec![0] };
        for word in words {
            all.text.extend(word.as_ref());
            all.starts.push(all.text.len() as u32);
        }
        all
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word with this number.
    pub fn get(&self, word: u32) -> &[u8] {
        &self.text[self.starts[word as usize] as usize..self.starts[word as usize + 1] as usize]
    }
}

/// `trigramSeq`: so many words.
pub fn words(count: usize, seed: u64) -> Words {
    let (english, mut draw) = (Trigrams::english(), Draw::new(seed));
    let mut all = Words { text: Vec::new(), starts: vec![0] };
    for _ in 0..count {
        english.word(&mut draw, &mut all.text);
        all.starts.push(all.text.len() as u32);
    }
    all
}

/// `trigramString`: words with spaces between them, so many bytes.
pub fn text(len: usize, seed: u64) -> Vec<u8> {
    let (english, mut draw) = (Trigrams::english(), Draw::new(seed));
    let mut text = Vec::with_capacity(len + LONGEST);
    while text.len() < len {
        english.word(&mut draw, &mut text);
        text.push(b' ');
    }
    text.truncate(len);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_as_frequent_as_in_the_source() {
        let source: Vec<u8> = ENGLISH.bytes().filter(u8::is_ascii_alphabetic).map(|b| b.to_ascii_lowercase()).collect();
        let drawn: Vec<u8> = text(200_000, 1).into_iter().filter(|&b| b != b' ').collect();
        for letter in b'a'..=b'z' {
            let share = |text: &[u8]| text.iter().filter(|&&b| b == letter).count() as f64 / text.len() as f64;
            assert!((share(&source) - share(&drawn)).abs() < 0.005, "{}", letter as char);
        }
    }

    #[test]
    fn words_are_as_long_as_in_the_source() {
        let words = words(50_000, 1);
        let mean = words.text.len() as f64 / words.len() as f64;
        let source: Vec<_> =
            ENGLISH.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
        let expected = source.iter().map(|word| word.len()).sum::<usize>() as f64 / source.len() as f64;
        assert!((mean - expected).abs() < 0.1, "{mean}, expected {expected}");
        assert!((0..words.len() as u32).all(|word| (1..=LONGEST).contains(&words.get(word).len())));
    }

    #[test]
    fn every_trigram_is_one_of_the_source() {
        let english = Trigrams::english();
        let index = |byte: u8| if byte == b' ' { SPACE } else { usize::from(byte - b'a') };
        for three in text(10_000, 2).windows(3).filter(|three| three[0] != b' ' && three[1] != b' ') {
            assert!(english.0[index(three[0]) * SYMBOLS + index(three[1])][index(three[2])] > 0, "{three:?}");
        }
    }
}

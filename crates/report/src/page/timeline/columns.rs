//! Columns of numbers as a page carries them: unsigned LEB128, deflated, base64. `script/decode.js` reads them.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Columns, one after the other.
pub(super) struct Columns(DeflateEncoder<Vec<u8>>);

impl Columns {
    /// None yet.
    pub fn new() -> Self {
        Self(DeflateEncoder::new(Vec::new(), Compression::default()))
    }

    /// Adds a column of numbers.
    pub fn numbers(&mut self, numbers: impl Iterator<Item = u64>) {
        let mut bytes = Vec::new();
        for mut number in numbers {
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        }
        // Into memory, which does not fail.
        let _ = self.0.write_all(&bytes);
    }

    /// Adds a column of numbers that never fall, as differences.
    pub fn rising(&mut self, numbers: impl Iterator<Item = u64>) {
        let mut before = 0;
        self.numbers(numbers.map(|number| number.saturating_sub(std::mem::replace(&mut before, number))));
    }

    /// The text.
    pub fn text(self) -> String {
        STANDARD.encode(self.0.finish().unwrap_or_default())
    }
}

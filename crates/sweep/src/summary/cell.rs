//! The runs of a workload on a machine under certain conditions, which may be very many.

use std::io::{Read, Result, Seek, SeekFrom, Write};
use std::ops::Range;

use tempfile::{SpooledTempFile, spooled_tempfile};

use super::METRICS;
use crate::places::IN_MEMORY;

/// The metrics of a cell's rows. Those of very many are in a file without a name.
pub struct Cell {
    rows: SpooledTempFile,
    /// Where the next row is.
    at: u64,
}

const WIDTH: usize = METRICS * size_of::<f64>();

impl Default for Cell {
    fn default() -> Self {
        Self { rows: spooled_tempfile(IN_MEMORY), at: 0 }
    }
}

impl Cell {
    pub fn set(&mut self, row: u64, metrics: [f64; METRICS]) -> Result<()> {
        if self.at != row {
            self.rows.seek(SeekFrom::Start(row * WIDTH as u64))?;
        }
        self.at = row + 1;
        self.rows.write_all(metrics.map(f64::to_le_bytes).as_flattened())
    }

    /// The rows of a range. Those that are missing have zeros, whose ratios are no numbers.
    pub fn get(&mut self, rows: Range<usize>, of: u64) -> Result<Vec<[f64; METRICS]>> {
        self.rows.set_len(of * WIDTH as u64)?;
        self.rows.seek(SeekFrom::Start((rows.start * WIDTH) as u64))?;
        self.at = u64::MAX;
        let mut bytes = vec![0; rows.len() * WIDTH];
        self.rows.read_exact(&mut bytes)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        let (rows, _) = numbers.as_chunks::<METRICS>();
        Ok(rows.iter().map(|row| row.map(f64::from_le_bytes)).collect())
    }

    pub fn clear(&mut self) -> Result<()> {
        self.at = u64::MAX;
        self.rows.set_len(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_its_rows_wherever_they_are_kept() {
        for rows in [10, 2 * IN_MEMORY / WIDTH] {
            let mut cell = Cell::default();
            for row in (0..rows - 1).rev().step_by(2) {
                cell.set(row as u64, [row as f64, -1.0, 0.5]).unwrap();
            }
            let found = cell.get(rows - 3..rows, rows as u64).unwrap();
            assert_eq!(found, [[0.0; 3], [(rows - 2) as f64, -1.0, 0.5], [0.0; 3]]);
            cell.clear().unwrap();
            assert_eq!(cell.get(0..2, rows as u64).unwrap(), [[0.0; 3]; 2]);
        }
    }
}

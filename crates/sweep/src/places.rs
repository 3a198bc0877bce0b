//! Which runs of a grid are done, and where in the journal they are. In memory is a bit a run; places of many runs are in a file
//! without a name.

use std::io::{Read, Result, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{SpooledTempFile, spooled_tempfile_in};

/// What is larger is in a file, and not in memory.
pub const IN_MEMORY: usize = 1 << 20;

/// A set of runs.
#[derive(Debug)]
pub struct Runs(Vec<AtomicU64>);

impl Runs {
    /// None of so many.
    pub fn none(of: u64) -> Self {
        Self(std::iter::repeat_with(AtomicU64::default).take(of.div_ceil(64) as usize).collect())
    }

    /// Whether it has a run.
    pub fn has(&self, run: u64) -> bool {
        self.0[run as usize / 64].load(Ordering::Relaxed) >> (run % 64) & 1 == 1
    }

    /// Adds a run.
    pub fn add(&self, run: u64) {
        self.0[run as usize / 64].fetch_or(1 << (run % 64), Ordering::Relaxed);
    }

    /// Has none any more.
    pub fn clear(&self) {
        self.0.iter().for_each(|bits| bits.store(0, Ordering::Relaxed));
    }

    /// How many it has.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|bits| u64::from(bits.load(Ordering::Relaxed).count_ones())).sum()
    }
}

/// The places of runs in a journal.
#[derive(Debug)]
pub struct Places {
    /// Those that have a place.
    pub done: Runs,
    places: Mutex<SpooledTempFile>,
}

const WIDTH: u64 = 8;

impl Places {
    /// None of so many runs yet. If they are many, a folder has them.
    pub fn none(of: u64, folder: &Path) -> Self {
        Self { done: Runs::none(of), places: Mutex::new(spooled_tempfile_in(IN_MEMORY, folder)) }
    }

    /// A run is at a place.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn set(&self, run: u64, place: u64) -> Result<()> {
        let mut places = self.at(run)?;
        places.write_all(&place.to_le_bytes())?;
        self.done.add(run);
        Ok(())
    }

    /// The place of a run, if it is done.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn get(&self, run: u64) -> Result<Option<u64>> {
        if !self.done.has(run) {
            return Ok(None);
        }
        let mut place = [0; WIDTH as usize];
        self.at(run)?.read_exact(&mut place)?;
        Ok(Some(u64::from_le_bytes(place)))
    }

    fn at(&self, run: u64) -> Result<MutexGuard<'_, SpooledTempFile>> {
        // What another thread left half written is not done.
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.seek(SeekFrom::Start(run * WIDTH))?;
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_kept_in_memory_and_beyond() {
        let folder = tempfile::tempdir().unwrap();
        for runs in [100, IN_MEMORY as u64] {
            let places = Places::none(runs, folder.path());
            assert_eq!(places.get(runs - 1).unwrap(), None);
            for run in [runs - 1, 0, 63, 64] {
                places.set(run, u64::MAX - run).unwrap();
            }
            assert_eq!(
                [0, 63, 64, runs - 1].map(|run| places.get(run).unwrap().map(|at| u64::MAX - at)),
                [0, 63, 64, runs - 1].map(Some)
            );
            assert_eq!((places.get(1).unwrap(), places.done.count()), (None, 4));
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing to be left behind");
            places.done.clear();
            assert_eq!(places.get(0).unwrap(), None);
        }
    }
}

//! What a run is known by: the hash of its inputs.

use std::fmt::{self, Debug, Write};
use std::str::FromStr;

use evenkeel_model::Machine;
use evenkeel_workload::Workload;

/// The hash of all that a run's result depends on: machine, workload, policy, conditions, core order, seed, and the version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key([u8; 16]);

/// The hash of some of that.
pub(crate) type Digest = [u8; 32];

/// A new one of these is another simulator.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Key {
    /// Of a run, from the digests of its parts.
    pub(crate) fn of(parts: &[Digest], seed: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(VERSION.as_bytes());
        for part in parts {
            hasher.update(part);
        }
        hasher.update(&seed.to_le_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(key)
    }
}

impl fmt::Display for Key {
    /// In hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Key {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut key = [0; 16];
        if text.len() != 2 * key.len() || !text.is_ascii() {
            return Err(());
        }
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(drop)?;
            *byte = u8::from_str_radix(digits, 16).map_err(drop)?;
        }
        Ok(Self(key))
    }
}

impl Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a run depends on, by its hash.
pub(crate) trait Known {
    /// The hash of what it is; what it is called is no part of that.
    fn digest(&self) -> Digest;
}

impl Known for Machine {
    fn digest(&self) -> Digest {
        digest(&self.unnamed())
    }
}

impl Known for Workload {
    fn digest(&self) -> Digest {
        let Self { name: _, programs, duration, rerun } = self;
        digest(&(programs, duration, rerun))
    }
}

/// A hash in hexadecimal digits.
pub(crate) fn hexadecimal(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of a value, of which its `Debug` text has every field: what is simulated, not how its file is written.
pub(crate) fn digest(value: &impl Debug) -> Digest {
    struct Text(blake3::Hasher);
    impl Write for Text {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut text = Text(blake3::Hasher::new());
    // Writing into a hasher does not fail.
    let _ = write!(text, "{value:?}");
    *text.0.finalize().as_bytes()
}

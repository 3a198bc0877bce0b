//! Other Evenkeels that slow the same CPUs down at the same time, so that none of them is as slow as it should be.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixDatagram;

use crate::event::Tid;
use crate::presence;

/// Says which CPUs this process slows down, and receives the process numbers of others that begin to slow down the same.
pub(super) struct Neighbours {
    names: Vec<(u16, UnixDatagram)>,
    known: BTreeSet<(u16, Tid)>,
}

impl Neighbours {
    /// Of these CPUs.
    ///
    /// # Errors
    /// No socket can be opened.
    pub fn of(cpus: &[u16]) -> io::Result<Self> {
        let own = std::process::id();
        let mut all = Self { names: Vec::new(), known: BTreeSet::new() };
        for cpu in cpus {
            let beginning = format!("evenkeel-slows-{cpu}-");
            // The own name comes first: of two that begin at the same time at least one finds the other and informs it.
            // One process may slow the same CPU down twice, as tests do.
            let name = (0..64).find_map(|number| presence::take(&format!("{beginning}{own}-{number}")).ok());
            all.names.push((*cpu, name.ok_or(io::ErrorKind::AddrInUse)?));
            for name in presence::taken(&beginning) {
                let other = name.split('-').next().and_then(|pid| pid.parse().ok()).filter(|pid| *pid != own);
                if let Some(other) = other {
                    all.known.insert((*cpu, other));
                    presence::send(&format!("{beginning}{name}"), &own.to_string());
                }
            }
        }
        Ok(all)
    }

    /// The processes that have slowed a CPU down meanwhile as well.
    pub fn finish(mut self) -> BTreeSet<(u16, Tid)> {
        for (cpu, name) in &self.names {
            self.known.extend(presence::received(name).iter().filter_map(|pid| Some((*cpu, pid.parse().ok()?))));
        }
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_slow_the_same_cpu_down_each_knows_the_other() {
        // Stands for another process, with the number of the first process here.
        let other = presence::take("evenkeel-slows-1022-1-0").unwrap();
        let own = Neighbours::of(&[1021, 1022]).unwrap();
        assert_eq!(presence::received(&other), [std::process::id().to_string()], "the first one receives it");
        let name = presence::taken("evenkeel-slows-1021-").pop().unwrap();
        presence::send(&format!("evenkeel-slows-1021-{name}"), "2");
        assert_eq!(own.finish(), BTreeSet::from([(1021, 2), (1022, 1)]));
        drop(other);
        assert!(Neighbours::of(&[1022]).unwrap().finish().is_empty(), "one that has ended is none");
    }
}

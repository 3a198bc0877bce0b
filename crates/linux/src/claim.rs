//! Which Evenkeel follows which process: two that move the same threads would undo each other's moves.
//!
//! An Evenkeel that follows a process claims it by a name ([`presence`]). The claim covers all descendants of the process.
//! So a process that is to be followed may neither have an ancestor nor a descendant that is followed, and the guard of
//! an Evenkeel that was killed leaves alone what the next one follows.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixDatagram;

use crate::event::Tid;
use crate::{presence, process};

const NAME: &str = "evenkeel-follows-";

/// A process that this Evenkeel follows, until this is dropped.
#[derive(Debug)]
pub struct Claim {
    _names: [UnixDatagram; 2],
}

/// Why a process cannot be claimed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another Evenkeel has it.
    #[error(
        "process {process} is followed by another Evenkeel already, process {holder}{}: expected one Evenkeel for a process \
         and all that it starts; end the other one, or let it run to its end", related(*process, *claimed)
    )]
    Taken {
        /// The process that was to be claimed.
        process: Tid,
        /// The process that is claimed: the same, an ancestor or a descendant.
        claimed: Tid,
        /// The other Evenkeel.
        holder: Tid,
    },
    /// The name cannot be taken.
    #[error("cannot announce to other Evenkeels that process {process} is followed: {error}")]
    Name {
        /// The process.
        process: Tid,
        /// What the kernel said.
        error: io::Error,
    },
}

fn related(process: Tid, claimed: Tid) -> String {
    if process == claimed { String::new() } else { format!(", with process {claimed} of the same family") }
}

impl Claim {
    /// Claims a process and what descends from it.
    ///
    /// # Errors
    /// Another Evenkeel has claimed it, or an ancestor, or a descendant.
    pub fn new(process: Tid) -> Result<Self, Error> {
        // The own claim comes first: of two that claim at the same time at least one sees the other.
        let (own, holder) = (identity(process), std::process::id());
        let first = presence::take(&format!("{NAME}{own}"));
        let names = first.and_then(|first| Ok([first, presence::take(&format!("{NAME}{own}-{holder}"))?]));
        let claim = match names {
            Ok(names) => Ok(Self { _names: names }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(Error::Taken { process, claimed: process, holder: 0 })
            }
            Err(error) => Err(Error::Name { process, error }),
        };
        let claims = claims();
        let family = [process].into_iter().chain(ancestors(process)).chain(descendants(process));
        let found = family.flat_map(|member| claims.iter().filter(move |(claimed, _)| *claimed == member));
        let other = found.copied().find(|(claimed, by)| *by != holder || (claim.is_err() && *claimed == process));
        match (claim, other) {
            (Ok(claim), None) => Ok(claim),
            (Ok(_) | Err(Error::Taken { .. }), Some((claimed, holder))) => {
                Err(Error::Taken { process, claimed, holder })
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// The processes that Evenkeels follow.
pub struct Followed(BTreeSet<Tid>);

impl Followed {
    /// The processes that are claimed now.
    pub fn now() -> Self {
        Self(claims().into_iter().map(|(claimed, _)| claimed).collect())
    }

    /// Whether a process is one of them, or descends from one.
    pub fn include(&self, process: Tid) -> bool {
        !self.0.is_empty() && [process].into_iter().chain(ancestors(process)).any(|member| self.0.contains(&member))
    }
}

/// Which process is claimed, and the Evenkeel that claims it.
fn claims() -> Vec<(Tid, Tid)> {
    presence::taken(NAME).iter().filter_map(|name| parse(name)).collect()
}

/// A process is its number and its start: numbers are used again.
fn identity(process: Tid) -> String {
    format!("{process}-{}", process::started(process).unwrap_or_default())
}

/// Parses a claim: the process, if its start time matches, and the Evenkeel that claims it.
fn parse(name: &str) -> Option<(Tid, Tid)> {
    let (identity, holder) = name.rsplit_once('-')?;
    let process = identity.split_once('-')?.0.parse().ok()?;
    (self::identity(process) == identity).then_some((process, holder.parse().ok()?))
}

fn ancestors(process: Tid) -> Vec<Tid> {
    let mut found = Vec::new();
    let mut next = process::parent(process);
    while let Some(parent) = next.filter(|parent| *parent != 0 && !found.contains(parent)) {
        found.push(parent);
        next = process::parent(parent);
    }
    found
}

fn descendants(process: Tid) -> Vec<Tid> {
    let (mut found, mut next) = (Vec::new(), vec![process]);
    while let Some(process) = next.pop() {
        let children = process::children(process);
        found.extend(&children);
        next.extend(children);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_claimed_once_with_all_that_descends_from_it() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 60 & read end; kill $!"]).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut child = Vec::new();
        while child.is_empty() {
            child = descendants(shell.id());
        }
        let (shell_id, child) = (shell.id(), child[0]);
        // Stands for another Evenkeel, with the number of the first process here.
        let other = |process| presence::take(&format!("{NAME}{}-1", identity(process))).unwrap();
        let taken = |process| match Claim::new(process) {
            Err(Error::Taken { claimed, holder, .. }) => Some((claimed, holder)),
            Err(error) => panic!("{error}"),
            Ok(_) => None,
        };
        let claim = other(shell_id);
        assert_eq!(taken(shell_id), Some((shell_id, 1)));
        assert_eq!(taken(child), Some((shell_id, 1)), "it descends from the one that is claimed");
        assert_eq!(taken(std::process::id()), Some((shell_id, 1)), "it would follow the shell as well");
        drop(claim);
        assert_eq!(taken(child), None, "a claim ends when it is dropped, also one that failed");
        let own = Claim::new(shell_id).unwrap();
        assert_eq!(taken(shell_id), Some((shell_id, std::process::id())), "nor twice by the same Evenkeel");
        drop(own);
        let stale = presence::take(&format!("{NAME}{child}-1-1")).unwrap();
        assert_eq!(taken(child), None, "that was another process of this number");
        drop((stale, shell.stdin.take()));
        shell.wait().unwrap();
    }
}

//! One call that follows a program from now until it ends.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitStatus;

use super::follow::{Follow, Plan, barred};
use super::summary::Summary;
use super::used::Used;
use crate::claim::{self, Claim};
use crate::event::Tid;
use crate::guard::Guard;
use crate::launch::{self, Launched, Signals};
use crate::orphans::Orphans;

/// What is followed.
pub enum Target<'a> {
    /// A command that has been started and not been released.
    Command(&'a mut Launched),
    /// A process that runs, until it has ended or a signal ends this process.
    Process(Tid),
}

/// What became of it.
pub struct Followed {
    /// How the command ended; `None` for a process that others started.
    pub status: Option<ExitStatus>,
    /// The account.
    pub summary: Summary,
}

/// Why a program is not followed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none.
    #[error("there is no process {0}; `ps` lists those that there are")]
    NoProcess(Tid),
    /// It is a zombie.
    #[error("process {0} has ended (it is a zombie: its parent has not waited for it); expected one that runs")]
    Ended(Tid),
    /// Another Evenkeel follows it.
    #[error(transparent)]
    Claimed(#[from] claim::Error),
    /// It did not become the command.
    #[error(transparent)]
    NotStarted(#[from] launch::Error),
    /// Its threads cannot be sampled.
    #[error("cannot sample the threads of process {process}: {error}")]
    Unseen {
        /// The process.
        process: Tid,
        /// What the kernel said.
        error: io::Error,
    },
    /// Nothing would undo what is changed.
    #[error("cannot keep a guard that gives affinity masks back: {0}")]
    Unguarded(io::Error),
    /// Something that does not happen.
    #[error("cannot wait for the program: {0}")]
    Wait(io::Error),
}

/// Follows a program as planned until it ends, and returns the account. `say` gets at once what cannot be done.
///
/// # Errors
/// There is no such program, it is followed already, or nothing can be changed safely.
pub fn follow(plan: &Plan, target: Target<'_>, guard: Guard, say: &mut dyn FnMut(&str)) -> Result<Followed, Error> {
    match target {
        Target::Command(launched) => command(plan, launched, guard, say),
        Target::Process(process) => attach(plan, process, guard, say),
    }
}

fn command(plan: &Plan, launched: &mut Launched, guard: Guard, say: &mut dyn FnMut(&str)) -> Result<Followed, Error> {
    let process = launched.pid();
    // All that this process starts, its orphans included.
    let _claim = Claim::new(std::process::id())?;
    let used = Used::of_child(process);
    let mut follow = open(plan, process, used, Some(Orphans::of(process)), guard, say)?;
    // It is there now; once it is released, it may have ended before it is sampled.
    follow.step().map_err(Error::Unguarded)?;
    launched.release()?;
    loop {
        follow.step().map_err(Error::Unguarded)?;
        if let Some(status) = launched.poll().map_err(Error::Wait)? {
            return Ok(Followed { status: Some(status), summary: follow.finish() });
        }
        follow.wait(launched.end()).map_err(Error::Wait)?;
    }
}

fn attach(plan: &Plan, process: Tid, guard: Guard, say: &mut dyn FnMut(&str)) -> Result<Followed, Error> {
    let end = launch::end_of(process).map_err(|_| Error::NoProcess(process))?;
    let ended = |end: BorrowedFd<'_>| launch::ended(end).map_err(Error::Wait);
    if ended(end.as_fd())? {
        return Err(Error::Ended(process));
    }
    // One that can move nothing is in no one's way, and must not be: it may be of any user.
    let _claim = barred(process).is_none().then(|| Claim::new(process)).transpose()?;
    let signals = Signals::new().map_err(Error::Wait)?;
    let mut follow = open(plan, process, Used::of_process(process), None, guard, say)?;
    loop {
        follow.step().map_err(Error::Unguarded)?;
        if ended(end.as_fd())? || signals.end_signal().is_some() {
            return Ok(Followed { status: None, summary: follow.finish() });
        }
        follow.wait(end.as_fd()).map_err(Error::Wait)?;
    }
}

fn open(
    plan: &Plan,
    process: Tid,
    used: Used,
    orphans: Option<Orphans>,
    guard: Guard,
    say: &mut dyn FnMut(&str),
) -> Result<Follow, Error> {
    let follow = Follow::new(plan, process, used, orphans, guard).map_err(|error| Error::Unseen { process, error })?;
    if let Some(why) = follow.barred() {
        say(&format!("nothing can be moved: {why}"));
    }
    Ok(follow)
}

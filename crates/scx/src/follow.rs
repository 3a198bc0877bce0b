//! Scheduling until a command has ended, this process is told to end, or a time is over.

use std::ops::ControlFlow;
use std::process::ExitStatus;

use evenkeel_linux::launch::{Launched, Signals};
use evenkeel_linux::pins::Pins;
use evenkeel_linux::{clock, wait};
use evenkeel_model::Ns;

use crate::only::{Chosen, Only};
use crate::session::Session;
use crate::{Error, Figures, Observed};

/// How long a signal may go unnoticed that another thread has got, or that the kernel has taken the machine back.
const POLL: Ns = Ns::from_ms(100);

/// How often processes that have joined the control group are found, and a process or group that has gone is noticed.
const JOIN: Ns = Ns::from_ms(500);

/// What is scheduled, and until when.
pub struct Follow<'a> {
    /// What ends it.
    pub end: End<'a>,
    /// What is scheduled, if not all.
    pub only: Option<&'a Only>,
    /// For how long at most.
    pub time: Option<Ns>,
    /// How often figures are told, if they are.
    pub figures: Option<Ns>,
    /// What is kept up to date about threads, if it is.
    pub observed: Option<&'a mut Observed>,
}

/// What ends the scheduling.
pub enum End<'a> {
    /// The end of a command that has been started and not been released.
    Command(&'a mut Launched),
    /// A signal to end.
    Signal(Signals),
}

impl End<'_> {
    /// Whether that has come, and how the command ended.
    fn come(&mut self) -> Result<(bool, Option<ExitStatus>), Error> {
        Ok(match self {
            Self::Command(command) => {
                let status = command.poll().map_err(Error::Wait)?;
                (status.is_some(), status)
            }
            Self::Signal(signals) => (signals.end_signal().is_some(), None),
        })
    }
}

impl Session {
    /// Schedules until the end, and returns how the command ended, if it has. `tell` is given what has been done, and in which
    /// time; that it breaks off is an end, too.
    ///
    /// # Errors
    /// What is to be scheduled is not there, or the command cannot be started.
    pub fn follow(
        &self,
        follow: Follow<'_>,
        mut tell: impl FnMut(&Figures, Ns) -> ControlFlow<()>,
    ) -> Result<Option<ExitStatus>, Error> {
        let Follow { mut end, only, time, figures, mut observed } = follow;
        let began = clock::clock();
        let chosen = |only| Chosen::of(only).map_err(|error| Error::NotAdopted { only: only.clone(), error });
        let mut chosen = only.map(chosen).transpose()?;
        if let End::Command(command) = &mut end {
            command.release().map_err(Error::NotStarted)?;
        }
        let (mut told, mut joined) = (began, began);
        // Given back at the end.
        let mut pins = Pins::default();
        loop {
            let now = clock::clock();
            self.pins.make(&mut pins);
            if let Some(observed) = &mut observed {
                observed.update();
            }
            let (come, status) = end.come()?;
            if come || self.ended() || time.is_some_and(|time| now.since(began) >= time) {
                return Ok(status);
            }
            if figures.is_some_and(|every| now.since(told) >= every) {
                told = now;
                if tell(&self.figures(), now.since(began)).is_break() {
                    return Ok(status);
                }
            }
            if let Some(chosen) = &mut chosen
                && now.since(joined) >= JOIN
            {
                joined = now;
                if chosen.gone(self.figures().living) {
                    return Ok(status);
                }
                if let Some(Only::Group(_)) = only {
                    // What joins it later. It may go in this moment.
                    let _ = chosen.join();
                }
            }
            let due = |since: Ns, every: Option<Ns>| every.map_or(POLL, |every| (since + every).since(now));
            let most = due(began, time).min(due(told, figures)).min(POLL);
            let ends = match &end {
                End::Command(command) => Some(command.end()),
                End::Signal(_) => None,
            };
            wait::poll(ends.as_slice(), most).map_err(Error::Wait)?;
        }
    }
}

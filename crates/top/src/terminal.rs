//! The terminal, a host, and what is on the screen, together.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use evenkeel_linux::monitor::{self, Reply, Request, Snapshot, Watcher};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::app::{Act, App};
use crate::draw::draw;
use crate::facts::Facts;
use crate::view::View;

/// How long what the host says may go unnoticed.
const POLL: Duration = Duration::from_millis(50);
/// Signals that end a program in a terminal. Ctrl-C is a key here.
const ENDING: [i32; 3] = [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT];

/// Why a host cannot be watched any longer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host's side.
    #[error(transparent)]
    Host(#[from] monitor::Error),
    /// The terminal's side.
    #[error("cannot use the terminal: {0}")]
    Terminal(io::Error),
}

/// Shows a host until a key, or a signal, ends that. The terminal is left as it was, whatever happens.
///
/// # Errors
/// The terminal is none, or what the host says cannot be understood.
pub fn watch(mut watcher: Watcher, app: App, facts: Facts) -> Result<(), Error> {
    let requests = watcher.requests().map_err(Error::Terminal)?;
    let (tells, told) = channel();
    std::thread::spawn(move || {
        loop {
            let next = watcher.hear();
            let over = !matches!(next, Ok(Some(_)));
            if tells.send(next).is_err() || over {
                return;
            }
        }
    });
    let over = Arc::new(AtomicBool::new(false));
    for signal in ENDING {
        signal_hook::flag::register(signal, Arc::clone(&over)).map_err(Error::Terminal)?;
    }
    let mut screen = Screen { app, facts, before: None, requests, told, over };
    let mut terminal = ratatui::try_init().map_err(Error::Terminal)?;
    let shown = screen.run(&mut terminal);
    let restored = ratatui::try_restore().map_err(Error::Terminal);
    shown.and(restored)
}

struct Screen {
    app: App,
    facts: Facts,
    before: Option<Snapshot>,
    requests: monitor::Requests,
    told: Receiver<Result<Option<Reply>, monitor::Error>>,
    over: Arc<AtomicBool>,
}

impl Screen {
    fn run(&mut self, terminal: &mut DefaultTerminal) -> Result<(), Error> {
        self.ask(Request::Every(self.app.every));
        let mut changed = true;
        while !self.over.load(Ordering::Relaxed) {
            changed |= self.hear()?;
            if std::mem::take(&mut changed) {
                terminal.draw(|frame| draw(&mut self.app, frame)).map_err(Error::Terminal)?;
            }
            // A signal ends the wait, too.
            match event::poll(POLL) {
                Ok(false) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(true) => {}
                Err(error) => return Err(Error::Terminal(error)),
            }
            changed = true;
            match event::read().map_err(Error::Terminal)? {
                Event::Key(key) if key.kind != KeyEventKind::Release => match self.app.key(key) {
                    Some(Act::Quit) => return Ok(()),
                    Some(Act::Ask(request)) => self.ask(request),
                    None => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// The host may have gone; then its end is heard next.
    fn ask(&mut self, request: Request) {
        let _ = self.requests.send(&request);
    }

    /// Takes what the host has said. Returns whether there is anything new.
    fn hear(&mut self) -> Result<bool, Error> {
        let mut new = false;
        loop {
            let reply = match self.told.try_recv() {
                Ok(reply) => reply?,
                Err(TryRecvError::Empty) => return Ok(new),
                Err(TryRecvError::Disconnected) => None,
            };
            match reply {
                Some(Reply::Snapshot(now)) => {
                    self.app.show(View::new(self.before.as_ref(), &now, &mut self.facts));
                    self.before = Some(now);
                }
                Some(reply) => self.app.hear(&reply),
                None => {
                    new |= !std::mem::replace(&mut self.app.ended, true);
                    return Ok(new);
                }
            }
            new = true;
        }
    }
}

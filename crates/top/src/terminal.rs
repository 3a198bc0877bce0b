//! The terminal, a host, and what is on the screen, together.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use evenkeel_linux::monitor::{self, Reply, Snapshot, Watcher};
use evenkeel_linux::wait;
use evenkeel_model::Ns;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGSTOP, SIGTERM, SIGTSTP};

use crate::app::{Act, App};
use crate::draw::draw;
use crate::facts::Facts;
use crate::view::View;

/// How long what the host says may go unnoticed.
const POLL: Ns = Ns::from_ms(50);
/// Signals that end a program in a terminal. Ctrl-C and Ctrl-Z are keys here.
const ENDING: [i32; 3] = [SIGTERM, SIGHUP, SIGINT];

/// Why a host cannot be watched any longer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The host's side.
    #[error(transparent)]
    Host(#[from] monitor::Error),
    /// The terminal's side.
    #[error("cannot use the terminal: {0}")]
    Terminal(io::Error),
    /// The terminal was closed.
    #[error("the terminal has gone")]
    Gone,
}

/// Shows a host until a key, or a signal, ends that. The terminal is left as it was, whatever happens.
///
/// # Errors
/// The terminal is none, or what the host says cannot be understood.
pub fn watch(mut watcher: Watcher, mut app: App, mut facts: Facts) -> Result<(), Error> {
    // What is wrong already is said without a screen.
    let first = watcher.begin(app.every)?;
    watcher.wait_at_most(None)?;
    app.show(View::new(None, &first, &mut facts));
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
    let flag = |signals: &[i32]| {
        let flag = Arc::new(AtomicBool::new(false));
        let register = |signal: &i32| signal_hook::flag::register(*signal, Arc::clone(&flag)).map(drop);
        signals.iter().try_for_each(register).map(|()| flag).map_err(Error::Terminal)
    };
    let (over, stopped) = (flag(&ENDING)?, flag(&[SIGTSTP])?);
    let mut screen = Screen { app, facts, before: first, requests, told, over, stopped };
    loop {
        let shown = ratatui::try_init().map_err(Error::Terminal).and_then(|mut terminal| {
            let shown = screen.run(&mut terminal);
            if shown.is_err() {
                // Its drop would write to a terminal that may have gone, and panic.
                let _ = terminal.show_cursor();
                std::mem::forget(terminal);
            }
            shown
        });
        let restored = ratatui::try_restore().map_err(Error::Terminal);
        shown.and(restored)?;
        if !screen.stopped.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        // Until a shell, which has the terminal meanwhile, lets it go on.
        signal_hook::low_level::raise(SIGSTOP).map_err(Error::Terminal)?;
    }
}

struct Screen {
    app: App,
    facts: Facts,
    before: Snapshot,
    requests: monitor::Requests,
    told: Receiver<Result<Option<Reply>, monitor::Error>>,
    /// It is to end.
    over: Arc<AtomicBool>,
    /// It is to stop (SIGTSTP).
    stopped: Arc<AtomicBool>,
}

impl Screen {
    fn run(&mut self, terminal: &mut DefaultTerminal) -> Result<(), Error> {
        let mut changed = true;
        while !self.over.load(Ordering::Relaxed) && !self.stopped.load(Ordering::Relaxed) {
            changed |= self.hear()?;
            if std::mem::take(&mut changed) {
                terminal.draw(|frame| draw(&mut self.app, frame)).map_err(Error::Terminal)?;
            }
            // A terminal that has gone would be read for ever in crossterm.
            if wait::input(io::stdin().as_fd(), POLL).map_err(Error::Terminal)? {
                return Err(Error::Gone);
            }
            while event::poll(Duration::ZERO).map_err(Error::Terminal)? {
                changed = true;
                let act = match event::read().map_err(Error::Terminal)? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => self.app.key(key),
                    _ => None,
                };
                match act {
                    Some(Act::Quit) => return Ok(()),
                    Some(Act::Stop) => self.stopped.store(true, Ordering::Relaxed),
                    Some(Act::Ask(request)) => self.requests.send(&request),
                    None => {}
                }
            }
        }
        Ok(())
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
                    self.app.show(View::new(Some(&self.before), &now, &mut self.facts));
                    self.before = now;
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

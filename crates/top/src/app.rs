//! What is on the screen, and what keys do to it.

use evenkeel_linux::event::Tid;
use evenkeel_linux::monitor::{Change, PERIODS, Reply, Request};
use evenkeel_model::Ns;
use evenkeel_topology::list;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::sort::Sort;
use crate::view::{ThreadRow, View};

/// The screen.
#[derive(Clone, Debug)]
pub struct App {
    /// What is shown, once there is something.
    pub view: View,
    /// By what threads are sorted.
    pub sort: Sort,
    /// The other way round.
    pub reverse: bool,
    /// Only threads are shown whose name, number or process's number has this in it.
    pub filter: String,
    /// The thread that keys are about.
    pub selected: Option<Tid>,
    /// How often there is a snapshot.
    pub every: Ns,
    /// The view does not change until this is over.
    pub paused: bool,
    /// What keys are for.
    pub mode: Mode,
    /// What was said last: what was done, or could not be done.
    pub said: Option<Said>,
    /// The host has ended.
    pub ended: bool,
    /// The policies to choose from.
    pub policies: Vec<String>,
    /// How many threads there is room for, as it was drawn last.
    pub page: usize,
}

/// A line at the bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// It could not be done.
    pub refused: bool,
    /// What, and why.
    pub text: String,
}

/// What keys are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// For what the help names.
    #[default]
    Table,
    /// For a filter.
    Filter,
    /// For the CPUs that a thread is to be pinned to.
    Pin(Tid, String),
    /// For a policy, and which of them is chosen.
    Policy(usize),
    /// For leaving the help.
    Help,
}

/// What a key asks for that the screen cannot do itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// The end.
    Quit,
    /// A stop, until the shell lets it go on.
    Stop,
    /// A request to the host.
    Ask(Request),
}

impl App {
    /// A screen without anything on it.
    pub fn new(every: Ns, sort: Sort, filter: String, policies: Vec<String>) -> Self {
        Self {
            view: View::default(),
            sort,
            reverse: false,
            filter,
            selected: None,
            every,
            paused: false,
            mode: Mode::Table,
            said: None,
            ended: false,
            policies,
            page: 1,
        }
    }

    /// The threads that are shown, in order.
    pub fn rows(&self) -> Vec<ThreadRow> {
        let filter = self.filter.to_lowercase();
        let shown = |row: &&ThreadRow| {
            row.name.to_lowercase().contains(&filter)
                || row.tid.to_string().contains(&filter)
                || row.process.to_string().contains(&filter)
        };
        let mut rows: Vec<ThreadRow> = self.view.threads.iter().filter(shown).cloned().collect();
        self.sort.sort(&mut rows, self.reverse);
        rows
    }

    /// There is something new to be seen.
    pub fn show(&mut self, view: View) {
        if !self.paused {
            self.view = view;
        }
    }

    /// What the host said of a change.
    pub fn hear(&mut self, reply: &Reply) {
        // The next snapshot says the same; what keys do next must not wait for it.
        match reply {
            Reply::Done(Change::Policy(name)) => self.view.policy.clone_from(name),
            Reply::Done(Change::Pin { tid, cpus }) => {
                let row = self.view.threads.iter_mut().find(|row| row.tid == *tid);
                row.into_iter().for_each(|row| row.pinned.clone_from(cpus));
            }
            Reply::Snapshot(_) | Reply::Refused(_) => {}
        }
        let done = |text: String| Some(Said { refused: false, text });
        self.said = match reply {
            Reply::Snapshot(_) => return,
            Reply::Done(Change::Policy(name)) => done(format!("policy {name} decides from now on")),
            Reply::Done(Change::Pin { tid, cpus }) if cpus.is_empty() => {
                done(format!("thread {tid} is pinned no longer"))
            }
            Reply::Done(Change::Pin { tid, cpus }) => {
                done(format!("thread {tid} is pinned to CPU {}", list::text(cpus)))
            }
            Reply::Refused(why) => Some(Said { refused: true, text: why.clone() }),
        };
    }

    /// A key was pressed.
    pub fn key(&mut self, key: KeyEvent) -> Option<Act> {
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return match key.code {
                KeyCode::Char('c') => Some(Act::Quit),
                KeyCode::Char('z') => Some(Act::Stop),
                // No other is that of its letter.
                _ => None,
            };
        }
        match std::mem::take(&mut self.mode) {
            Mode::Table => self.command(key.code),
            Mode::Help => None,
            Mode::Filter => {
                let mut text = std::mem::take(&mut self.filter);
                match edit(&mut text, key.code) {
                    Edit::Goes => self.mode = Mode::Filter,
                    Edit::Done => {}
                    Edit::Cancelled => text.clear(),
                }
                self.filter = text;
                None
            }
            Mode::Pin(tid, mut text) => match edit(&mut text, key.code) {
                Edit::Goes => {
                    self.mode = Mode::Pin(tid, text);
                    None
                }
                Edit::Cancelled => None,
                Edit::Done => match list::parse(&text) {
                    Ok(cpus) => self.change(Change::Pin { tid, cpus }),
                    Err(why) => {
                        self.said = Some(Said { refused: true, text: why });
                        self.mode = Mode::Pin(tid, text);
                        None
                    }
                },
            },
            Mode::Policy(chosen) => self.choose(chosen, key.code),
        }
    }

    fn command(&mut self, key: KeyCode) -> Option<Act> {
        self.said = None;
        match key {
            // Not Esc: one too many after a filter would end it.
            KeyCode::Char('q') => return Some(Act::Quit),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('r') => self.reverse = !self.reverse,
            KeyCode::Char('>' | 's') | KeyCode::Right => self.sort = self.sort.moved(1),
            KeyCode::Char('<' | 'S') | KeyCode::Left => self.sort = self.sort.moved(Sort::ALL.len() - 1),
            KeyCode::Down | KeyCode::Char('j') => self.select(1),
            KeyCode::Up | KeyCode::Char('k') => self.select(-1),
            KeyCode::PageDown => self.select(self.page as isize),
            KeyCode::PageUp => self.select(-(self.page as isize)),
            KeyCode::Home => self.select(isize::MIN),
            KeyCode::End => self.select(isize::MAX),
            KeyCode::Char('+') => return self.period(Ns(self.every.0 / 2)),
            KeyCode::Char('-') => return self.period(Ns(self.every.0 * 2)),
            KeyCode::Char('P') => {
                let name = self.view.policy.split(':').next().unwrap_or_default();
                let at = self.policies.iter().position(|policy| policy == name);
                self.mode = Mode::Policy(at.unwrap_or_default());
            }
            KeyCode::Char('p') | KeyCode::Enter => match self.selected_row() {
                Some(row) => self.mode = Mode::Pin(row.tid, list::text(&row.pinned)),
                None => {
                    let text = "no thread is selected: the arrow keys select one".into();
                    self.said = Some(Said { refused: true, text });
                }
            },
            _ => {}
        }
        None
    }

    fn choose(&mut self, chosen: usize, key: KeyCode) -> Option<Act> {
        let last = self.policies.len().saturating_sub(1);
        let chosen = match key {
            KeyCode::Up | KeyCode::Char('k') => chosen.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => (chosen + 1).min(last),
            KeyCode::Home => 0,
            KeyCode::End => last,
            KeyCode::Enter => {
                return self.policies.get(chosen).cloned().and_then(|name| self.change(Change::Policy(name)));
            }
            KeyCode::Esc | KeyCode::Char('q') => return None,
            _ => chosen,
        };
        self.mode = Mode::Policy(chosen);
        None
    }

    fn change(&mut self, change: Change) -> Option<Act> {
        if self.ended {
            self.said = Some(Said { refused: true, text: "the host has ended: nothing can be changed".into() });
            return None;
        }
        Some(Act::Ask(Request::Change(change)))
    }

    fn period(&mut self, every: Ns) -> Option<Act> {
        self.every = every.clamp(*PERIODS.start(), *PERIODS.end());
        self.said = Some(Said { refused: false, text: format!("a snapshot every {}", self.every) });
        Some(Act::Ask(Request::Every(self.every)))
    }

    fn selected_row(&self) -> Option<ThreadRow> {
        self.rows().into_iter().find(|row| Some(row.tid) == self.selected)
    }

    /// Selects the thread so many rows below; the first one if none was.
    fn select(&mut self, by: isize) {
        let rows = self.rows();
        let at = rows.iter().position(|row| Some(row.tid) == self.selected);
        let to = match at {
            Some(at) => at.saturating_add_signed(by),
            None if by == isize::MAX => rows.len(),
            None => 0,
        };
        self.selected = rows.get(to.min(rows.len().saturating_sub(1))).map(|row| row.tid);
    }
}

/// What a key does to a text.
enum Edit {
    Goes,
    Done,
    Cancelled,
}

fn edit(text: &mut String, key: KeyCode) -> Edit {
    match key {
        KeyCode::Enter => return Edit::Done,
        KeyCode::Esc => return Edit::Cancelled,
        KeyCode::Backspace => drop(text.pop()),
        KeyCode::Char(letter) => text.push(letter),
        _ => {}
    }
    Edit::Goes
}

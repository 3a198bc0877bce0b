//! A program in a terminal of its own, and what is on that terminal's screen.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::run::eventually;

/// A pseudo-terminal with a program in it, which is killed at the end.
pub struct Terminal {
    program: Child,
    keys: File,
    screen: Arc<Mutex<vt100::Parser>>,
    /// The program's side, to see how it leaves it.
    inside: File,
}

/// Both sides of a new terminal, the program's second.
fn ends(columns: u16, rows: u16) -> (File, File) {
    let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&outside).unwrap();
    unlockpt(&outside).unwrap();
    let name = ptsname(&outside, Vec::new()).unwrap().into_string().unwrap();
    let inside = File::options().read(true).write(true).open(name).unwrap();
    tcsetwinsize(&outside, Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    (File::from(outside), inside)
}

fn within(command: &mut Command, inside: &File) -> Child {
    let side = || Stdio::from(inside.try_clone().unwrap());
    command.env("TERM", "xterm-256color").stdin(side()).stdout(side()).stderr(side()).spawn().unwrap()
}

/// Waits until a program that draws has begun to use a terminal, which then goes away, and until the program has ended. The
/// terminal is so small that what is drawn has room without being read.
pub fn taken_away(mut command: Command) {
    let (outside, inside) = ends(1, 1);
    let mut program = within(&mut command, &inside);
    // It holds the terminal, too.
    drop(command);
    eventually("use of the terminal", || !tcgetattr(&inside).unwrap().local_modes.contains(LocalModes::ICANON));
    drop((outside, inside));
    eventually("the program's end", || program.try_wait().unwrap().is_some());
}

impl Terminal {
    /// Starts a program in a terminal of so many columns and rows.
    pub fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let (keys, inside) = ends(columns, rows);
        let program = within(&mut command, &inside);
        let mut output = keys.try_clone().unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..length]);
            }
        });
        Self { program, keys, screen, inside }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen has a text on it, on however slow a machine.
    pub fn shows(&self, text: &str) -> String {
        self.becomes(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be.
    pub fn becomes(&self, what: &str, mut is: impl FnMut(&str) -> bool) -> String {
        for _ in 0..3000 {
            let screen = self.screen();
            if is(&screen) {
                return screen;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{what} is not on the screen:\n{}", self.screen());
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.program);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the program's end. Returns its status, and whether it has left the terminal as terminals are: with lines, echoes
    /// and its first screen.
    pub fn end(mut self) -> (ExitStatus, bool) {
        let status = self.program.wait().unwrap();
        // What it wrote last may still be on its way to the screen.
        for _ in 0..500 {
            if self.left() {
                return (status, true);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        (status, false)
    }

    /// Whether the terminal is as terminals are.
    pub fn left(&self) -> bool {
        let modes = tcgetattr(&self.inside).unwrap().local_modes;
        let screen = self.screen.lock().unwrap();
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
            && !screen.screen().alternate_screen()
            && !screen.screen().hide_cursor()
    }

    /// Whether the program is stopped.
    pub fn stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.program.id())).unwrap();
        stat.contains(") T ")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

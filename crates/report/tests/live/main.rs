//! Pages in a real browser, as readers have them: `#[test(chromium)]`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[macro_use]
extern crate evenkeel_testing_macros;

mod figures;
mod keyboard;
mod pages;
mod paper;
mod papers;
mod plain;
mod screens;
mod timeline;
mod touch;

fn main() -> std::process::ExitCode {
    evenkeel_testing::main()
}

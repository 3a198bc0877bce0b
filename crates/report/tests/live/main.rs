//! Pages in a real browser, as readers have them: `#[test(chromium)]`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[macro_use]
extern crate evenkeel_testing_macros;

mod browser;
mod pages;
mod screens;
mod timeline;

fn main() -> std::process::ExitCode {
    evenkeel_testing::main()
}

//! The harness.

use std::env;
use std::io::Write;
use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::{Arguments, Completion, Trial};

use crate::long::{self, Timed};
use crate::needs::{NAMES, Need};

/// A test, as `#[test]` registers it.
pub struct Test {
    /// With the path of its module, which begins with the name of the binary.
    pub name: &'static str,
    /// What it needs of the machine.
    pub needs: &'static [&'static Need],
    /// The test itself: it fails by a panic.
    pub run: fn(),
}

inventory::collect!(Test);

/// Runs the tests of this binary, with the arguments of the compiler's own harness.
pub fn main() -> ExitCode {
    if let Err(message) = &*REQUIRED {
        eprintln!("{message}");
        return ExitCode::from(2);
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(1);
    let mut tests: Vec<&Test> = inventory::iter::<Test>.into_iter().collect();
    tests.sort_unstable_by_key(|test| test.name);
    let trial = |test: &'static Test| {
        let name = test.name.split_once("::").map_or(test.name, |(_, name)| name);
        Trial::ignorable_test(name, || match missing(test.needs)? {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => {
                let _timed = Timed::begin(name);
                (test.run)();
                Ok(Completion::Completed)
            }
        })
    };
    let conclusion = libtest_mimic::run(&arguments, tests.into_iter().map(trial).collect());
    long::print();
    conclusion.exit_code()
}

/// Whether a unit test has to be skipped, which cannot be in a binary `tests/live` since it sees what is private. The
/// compiler's harness has no word for that and calls it passed; the line that this writes is what `make test` goes by.
///
/// # Panics
/// If something is missing that `EVENKEEL_REQUIRE` demands.
#[expect(clippy::panic, reason = "a test fails by panicking")]
pub fn skips(needs: &[&Need]) -> bool {
    match missing(needs) {
        Err(message) => panic!("{message}"),
        Ok(None) => false,
        Ok(Some(reason)) => {
            let thread = std::thread::current();
            let line = format!("test {} ... ignored, {reason}\n", thread.name().unwrap_or("?"));
            // Not by `eprintln!`, which the harness keeps to itself when a test passes.
            let _ = std::io::stderr().write_all(line.as_bytes());
            true
        }
    }
}

/// What is missing, or the failure that it is.
fn missing(needs: &[&Need]) -> Result<Option<String>, String> {
    let required = REQUIRED.as_ref().map_err(String::clone)?;
    let missing = needs.iter().find_map(|need| Some((need.name, need.missing()?)));
    match missing {
        Some((name, why)) if required.contains(name) => {
            Err(format!("this needs {name}, which EVENKEEL_REQUIRE demands: {why}"))
        }
        Some((name, why)) => Ok(Some(format!("needs {name}: {why}"))),
        None => Ok(None),
    }
}

static REQUIRED: LazyLock<Result<Required, String>> =
    LazyLock::new(|| Required::from_text(&env::var("EVENKEEL_REQUIRE").unwrap_or_default()));

/// What `EVENKEEL_REQUIRE` demands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Required {
    All,
    Names(Vec<String>),
}

impl Required {
    fn from_text(text: &str) -> Result<Self, String> {
        let mut names: Vec<String> = Vec::new();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.replace('-', "_") {
                all if all == "all" => return Ok(Self::All),
                name if NAMES.contains(&name.as_str()) => names.push(name),
                _ => {
                    return Err(format!(
                        "EVENKEEL_REQUIRE: `{name}` is not known; expected all, or some of {}",
                        NAMES.join(", ")
                    ));
                }
            }
        }
        Ok(Self::Names(names))
    }

    fn contains(&self, need: &str) -> bool {
        match self {
            Self::All => true,
            Self::Names(names) => names.iter().any(|name| name == need),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_known_by_name() {
        assert_eq!(Required::from_text(""), Ok(Required::Names(vec![])));
        let two = Required::from_text("ebpf, two-cpus").unwrap();
        assert!(two.contains("ebpf") && two.contains("two_cpus") && !two.contains("vm"));
        assert!(Required::from_text("python").unwrap().contains("python"));
        assert!(Required::from_text("ebpf,all").unwrap().contains("vm"));
        let message = Required::from_text("ebpf,moon").unwrap_err();
        assert!(message.contains("`moon`") && message.contains("two_cpus"), "{message}");
    }
}

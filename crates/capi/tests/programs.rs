//! The examples, compiled by the system's compilers against the libraries that cargo has built for this test.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

const HERE: &str = env!("CARGO_MANIFEST_DIR");
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

#[derive(Clone, Copy)]
enum Link {
    Static,
    Dynamic,
}

/// Where cargo puts the libraries of a test: beside it.
fn libraries() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn compiler(source: &Path) -> Command {
    let (variable, default, standard) = match source.extension() {
        Some(c) if c == "c" => ("CC", "cc", "-std=c11"),
        _ => ("CXX", "c++", "-std=c++17"),
    };
    let mut command = Command::new(env::var_os(variable).unwrap_or(default.into()));
    command.arg(standard);
    command
}

fn compile(source: &Path, link: Link) -> PathBuf {
    let kind = match link {
        Link::Static => "static",
        Link::Dynamic => "dynamic",
    };
    let name = source.file_name().unwrap().to_str().unwrap().replace('.', "-");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{kind}"));
    let mut command = compiler(source);
    command.args(STRICT).arg("-O1").arg("-I").arg(Path::new(HERE).join("include")).arg(source).arg("-o").arg(&program);
    match link {
        Link::Static => command.arg(libraries().join("libevenkeel.a")).args(["-lpthread", "-ldl", "-lm"]),
        Link::Dynamic => command.arg("-L").arg(libraries()).arg("-levenkeel"),
    };
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && messages.is_empty(), "{command:?}:\n{messages}");
    program
}

fn run(program: &Path) -> Output {
    Command::new(program).env("LD_LIBRARY_PATH", libraries()).env("EVENKEEL_THREADS", "3").output().unwrap()
}

fn prints(example: &str, expected: &str) {
    let source = Path::new(HERE).join("examples").join(example);
    for link in [Link::Static, Link::Dynamic] {
        let output = run(&compile(&source, link));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        assert!(output.status.success());
    }
}

#[test]
fn parallel_for_in_c() {
    prints("parallel_for.c", "785216 of 1000000 points: pi is about 3.1409\ncounted in two halves: the same\n");
}

#[test]
fn sort_in_cpp() {
    prints(
        "sort.cpp",
        "300000 numbers are in order\nthe longest gap is 284\n92 ways for 8 queens\ncaught: 500 is one too many\n",
    );
}

#[test]
fn tasks_in_cpp() {
    prints(
        "tasks.cpp",
        "680 tasks: L times its transpose is the matrix\n\
         100000 after 5 rounds\n\
         caught: no root of a negative number\n",
    );
}

/// Each header compiles alone, as C and as C++.
#[test]
fn headers_need_nothing_before_them() {
    for (name, include) in [("alone.c", "evenkeel.h"), ("alone.cpp", "evenkeel.h"), ("alone-hpp.cpp", "evenkeel.hpp")] {
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&source, format!("#include \"{include}\"\nint main(void) {{ return 0; }}\n")).unwrap();
        assert!(run(&compile(&source, Link::Static)).status.success());
    }
}

#[test]
fn an_exception_out_of_c_ends_the_process_with_a_message() {
    let output = run(&compile(&Path::new(HERE).join("tests/throws.cpp"), Link::Static));
    assert!(!output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "evenkeel: an exception has left a function that was called by evenkeel\n"
    );
}

//! The examples, compiled by the system's compilers against the libraries that cargo has built for this test, installed as users do.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::{env, fs};

const HERE: &str = env!("CARGO_MANIFEST_DIR");
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

#[derive(Clone, Copy)]
enum Link {
    Static,
    Dynamic,
}

/// Where everything is installed.
static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prefix");
    // Cargo puts the libraries of a test beside it.
    let test = env::current_exe().unwrap();
    let mut install = Command::new(Path::new(HERE).join("install"));
    assert!(install.env_remove("DESTDIR").arg(&prefix).arg(test.parent().unwrap()).status().unwrap().success());
    prefix
});

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
    compile_with(compiler(source), source, link)
}

fn compile_with(mut command: Command, source: &Path, link: Link) -> PathBuf {
    let kind = match link {
        Link::Static => "static",
        Link::Dynamic => "dynamic",
    };
    command.args(STRICT).arg("-O1").arg("-I").arg(PREFIX.join("include")).arg(source);
    match link {
        Link::Static => command.arg(PREFIX.join("lib/libevenkeel.a")).args(["-lpthread", "-ldl", "-lm"]),
        Link::Dynamic => command.arg("-L").arg(PREFIX.join("lib")).arg("-levenkeel"),
    };
    build(command, source, kind)
}

/// Has a compiler make the program, without a warning.
fn build(mut command: Command, source: &Path, kind: &str) -> PathBuf {
    let name = source.file_name().unwrap().to_str().unwrap().replace('.', "-");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{kind}"));
    command.arg("-o").arg(&program);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && messages.is_empty(), "{command:?}:\n{messages}");
    program
}

fn run(program: &Path) -> Output {
    run_with(program, &[])
}

fn run_with(program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", PREFIX.join("lib")).env("EVENKEEL_THREADS", "3").args(arguments).output().unwrap()
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

#[test]
fn the_guide_in_cpp() {
    prints("guide.cpp", "100 images, 3412, 6, 42\n");
}

#[test]
fn cores_in_c() {
    prints("cores.c", "the sum is 499999500000\n");
    let program = compile(&Path::new(HERE).join("examples/cores.c"), Link::Static);
    let cpus = evenkeel_runtime::this_machine().unwrap().ids();
    let big = cpus[0].to_string();
    let named = match cpus.get(1) {
        Some(little) => run_with(&program, &[&big, &little.to_string()]),
        None => run_with(&program, &[&big]),
    };
    assert_eq!(String::from_utf8_lossy(&named.stdout), "the sum is 499999500000\n");
    let refused = run_with(&program, &["0-"]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).starts_with("evenkeel: cores are wrong: expected lists of CPUs"));
}

#[test]
fn options_in_cpp() {
    let output = run(&compile(&Path::new(HERE).join("tests/it/options.cpp"), Link::Dynamic));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "refused: no such techniques: expected none or base, then + and letters of p, s and m, as in base+psm\n\
         2 threads\n"
    );
}

#[test]
fn forks_in_c() {
    for link in [Link::Static, Link::Dynamic] {
        let source = Path::new(HERE).join("tests/it/fork.c");
        let mut command = compiler(&source);
        // `fork` is of POSIX.
        command.arg("-D_POSIX_C_SOURCE=200809L");
        let output = run(&compile_with(command, &source, link));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let expected = "the global pool in a child: 0\nanother pool: 0\nthe parent's still work\n";
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}

/// What `pkg-config` says is enough to compile and link.
#[test]
fn pkg_config_finds_it() {
    let query = |options: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", PREFIX.join("lib/pkgconfig")).args(options).arg("evenkeel").output()
    };
    if evenkeel_testing::skips(&[&evenkeel_testing::needs::pkg_config]) {
        return;
    }
    let says = |options: &[&str]| String::from_utf8(query(options).unwrap().stdout).unwrap();
    assert_eq!(says(&["--modversion"]).trim(), env!("CARGO_PKG_VERSION"));
    let source = Path::new(HERE).join("examples/cores.c");
    let mut command = compiler(&source);
    command.arg(&source).args(says(&["--cflags", "--libs"]).split_whitespace());
    let output = run(&build(command, &source, "pkg-config"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "the sum is 499999500000\n");
    assert!(says(&["--static", "--libs"]).trim().ends_with("-lpthread -ldl -lm"));
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
    let output = run(&compile(&Path::new(HERE).join("tests/it/throws.cpp"), Link::Static));
    assert!(!output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "evenkeel: an exception has left a function that was called by evenkeel\n"
    );
}

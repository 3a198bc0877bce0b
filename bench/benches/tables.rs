//! `cargo bench --manifest-path bench/Cargo.toml`: what the runtime costs and gains, as tables: fork-join, kernels, and both coarse tasks and kernels on a big
//! and a little core. `make bench` has these too, with peers in other languages, and the simulator's.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let programs =
        [env!("CARGO_BIN_EXE_forkjoin"), env!("CARGO_BIN_EXE_kernels"), concat!(env!("CARGO_MANIFEST_DIR"), "/uneven")];
    for program in programs {
        match Command::new(program).status() {
            Ok(status) if status.success() => println!(),
            Ok(status) => {
                eprintln!("{program}: {status}");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("{program}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

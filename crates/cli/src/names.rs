//! What shells complete where a command takes a name.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::Shell;
use evenkeel_model::machines;
use evenkeel_report::json::Workloads;
use evenkeel_sched::policy::POLICIES;

/// Commands that schedule real threads: no policy may know the future.
const LIVE: [&str; 7] = ["run", "try", "scx", "top", "vm", "bench", "emulate"];
/// Of these, the ones to which a machine is so many cores, as in 2B2S:3.
const COUNTED: [&str; 3] = ["vm", "bench", "emulate"];

/// A command whose arguments say which names they take. Where files may stand as well only bash is told, which offers files where no
/// name fits.
pub fn known(command: Command, topics: &[&str], shell: Shell) -> Command {
    let (live, counted) = (LIVE.contains(&command.get_name()), COUNTED.contains(&command.get_name()));
    let with_names = |arg: Arg| {
        let names: Vec<String> = match arg.get_id().as_str() {
            "policy" | "baseline" => {
                let fit = POLICIES.iter().filter(|policy| !(live && policy.foresight));
                fit.map(|policy| policy.name.to_owned()).collect()
            }
            "topic" => topics.iter().map(|topic| (*topic).to_owned()).collect(),
            "experiment" => ["all", "aaws", "bias", "colab", "odroid", "wash"].map(str::to_owned).to_vec(),
            "machine" if shell == Shell::Bash && !counted => machines::names().map(str::to_owned).collect(),
            "workload" | "workloads" if shell == Shell::Bash => workloads(),
            _ => return arg,
        };
        arg.value_parser(PossibleValuesParser::new(names))
    };
    command.mut_args(with_names).mut_subcommands(|command| known(command, topics, shell))
}

fn workloads() -> Vec<String> {
    let Workloads { programs, task_programs, mixes } = Workloads::all();
    let programs = programs.iter().map(|program| program.name).chain(task_programs.iter().map(|program| program.name));
    programs.chain(mixes.iter().map(|mix| mix.name)).map(str::to_owned).collect()
}

//! The command line.

use std::path::PathBuf;

use clap::Parser;
use command_line::Shell;

const AFTER_HELP: &str = "\
The files are those git would commit now: changed and new ones too, ignored ones not; with --ref those of that commit,
which this repository must have. Standard error says which. The command runs in the same subfolder of a fresh checkout on
the worker, without input. When all slots of all workers are taken, it waits.

Workers are read from a TOML file; without one there is one worker, this machine by SSH, with 6 slots:

    [[worker]]
    name = \"local\"
    host = \"localhost\"        # as ssh takes it
    slots = 6
    folder = \"build-worker\"   # there; from the home folder unless absolute
    ssh_args = []             # for example [\"-p2222\"]

A worker needs git, flock, setsid and a POSIX shell.

Environment: BUILD_DISPATCH_CONFIG (as --config).

Exit codes: the command's own (255 becomes 254; 128 + number for a signal), 125 when it could not be run, 2 wrong usage,
130 and 143 interrupted.

Examples:
  build-dispatch cargo test
  build-dispatch --ref v1.2.0 --env CI make check
  build-dispatch --worker local sh -c 'cargo build --release'
  build-dispatch --completions bash > ~/.local/share/bash-completion/completions/build-dispatch";

/// Run a command on this directory's files on a build worker.
#[derive(Debug, Parser)]
#[command(name = "build-dispatch", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The file that lists the workers.
    #[arg(long, value_name = "FILE", env = "BUILD_DISPATCH_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Use this worker only.
    #[arg(long, value_name = "NAME")]
    pub(crate) worker: Option<String>,
    /// Dispatch the files of this commit, tag or branch in place of those of the directory.
    #[arg(long = "ref", value_name = "REV")]
    pub(crate) reference: Option<String>,
    /// A variable of this environment that the command gets there; may be given several times.
    #[arg(long = "env", value_name = "NAME")]
    pub(crate) passed: Vec<String>,
    /// Print completions for a shell, and end.
    #[arg(long, value_name = "SHELL", exclusive = true)]
    pub(crate) completions: Option<Shell>,
    /// Print the manual page (roff), and end.
    #[arg(long, exclusive = true)]
    pub(crate) man: bool,
    /// The command and its arguments. No shell reads them.
    #[arg(
        required_unless_present_any = ["completions", "man"],
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        let arguments = Arguments::parse_from([
            "build-dispatch",
            "--worker",
            "a",
            "cargo",
            "test",
            "--",
            "--worker",
        ]);
        assert_eq!(arguments.command, ["cargo", "test", "--", "--worker"]);
        assert!(Arguments::try_parse_from(["build-dispatch"]).is_err());
        assert!(Arguments::try_parse_from(["build-dispatch", "--man"]).is_ok());
    }

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }
}

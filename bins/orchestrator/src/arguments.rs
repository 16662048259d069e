//! The command line.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
pub(crate) use command_line::print_raw as print;
use command_line::{CompletionsOptions, ManOptions};
use daemon::log::LogFormat;
use daemon::objects::{ClaimObjectsOptions, MigrateObjectsOptions, ObjectsTask};
use daemon::settings::ConfigOptions;
use daemon::store::{BackupOptions, MigrateOptions, RestoreOptions, StoreCheckOptions, StoreTask};

/// Exit code when the configuration is wrong or the orchestrator cannot start.
pub(crate) const EXIT_FAILED: u8 = 1;

/// Starts AI agents when they are mentioned, when a pull request is opened, and by schedule.
#[derive(Debug, Parser)]
#[command(
    name = "orchestrator",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Exit codes: 0 ok, 1 the configuration is invalid or the orchestrator cannot start, 2 wrong usage, 6 with --check: the database, the object storage or a VM host does not answer.\n\
        Signals: SIGHUP reads the configuration again; SIGTERM and Ctrl-C end every agent within its grace period.\n\n\
        Examples:\n  orchestrator orchestrator.toml\n  orchestrator --check orchestrator.toml"
)]
pub(crate) struct Arguments {
    /// The configuration, `orchestrator.toml`; `conf.d` and the other files stand beside it
    #[arg(value_name = "CONFIG_FILE", required = true)]
    pub(crate) config: Option<PathBuf>,

    /// Check the whole configuration, the database and the object storage, print the routing
    /// table, and end
    #[arg(long)]
    pub(crate) check: bool,

    /// With --check: ask no database, no object storage and no VM host, so that one that is away
    /// for a moment keeps nothing from starting
    #[arg(long, requires = "check")]
    pub(crate) offline: bool,

    /// How `--check` prints
    #[arg(long, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) format: OutputFormat,

    /// How much is logged: debug, info, warn, error
    #[arg(long, value_name = "LEVEL", env = "LOG_LEVEL", default_value = "info")]
    pub(crate) log_level: String,

    /// How the log looks; JSON lines unless said, in the data folder where a terminal shows the
    /// first screen. LOG_FORMAT says it as well
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// What to do; the daemon runs unless said
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What there is beside the daemon.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// What may be set, and what is in force
    #[command(
        after_help = "Examples:\n  orchestrator config --show orchestrator.toml\n  orchestrator config --schema"
    )]
    Config {
        #[command(flatten)]
        what: ConfigOptions,
        /// The configuration, `orchestrator.toml`
        #[arg(value_name = "CONFIG_FILE", required_unless_present = "schema")]
        config: Option<PathBuf>,
    },
    /// The store of runs and queue: check it, move it to PostgreSQL and back, save and restore it
    #[command(
        subcommand,
        after_help = "Exit codes: 0 done, 1 the store is damaged or it could not be done, 2 usage.\n\nExamples:\n  orchestrator store check --config orchestrator.toml\n  orchestrator store migrate --from /var/lib/orrery-orchestrator --to config --config orchestrator.toml\n  orchestrator store backup --to /srv/backup/orchestrator-monday --config orchestrator.toml\n  orchestrator store restore --from /srv/backup/orchestrator-monday --config orchestrator.toml"
    )]
    Store(StoreCommand),
    /// Logs of agents in object storage: bring them to another one, or back
    #[command(
        subcommand,
        after_help = "Examples:\n  orchestrator objects migrate --to s3://new/agents --config orchestrator.toml\n  orchestrator objects migrate --to data --config orchestrator.toml"
    )]
    Objects(ObjectsCommand),
    /// Print completions for a shell
    #[command(
        after_help = "Examples:\n  orchestrator completions bash > ~/.local/share/bash-completion/completions/orchestrator\n  orchestrator completions zsh > ~/.zfunc/_orchestrator"
    )]
    Completions(CompletionsOptions),
    /// Print the manual page (roff), or write one for each command
    #[command(
        after_help = "Examples:\n  orchestrator man | man -l -\n  orchestrator man --out ~/.local/share/man/man1"
    )]
    Man(ManOptions),
}

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Read every row, and compare checksums and counts
    #[command(
        after_help = "A store in a folder must not be in use, one in PostgreSQL may be. Exit codes: 0 it is whole, 1 it is damaged or cannot be read, 2 usage.\n\nExamples:\n  orchestrator store check --config orchestrator.toml\n  orchestrator store check /srv/backup/monday"
    )]
    Check(StoreCheckOptions),
    /// Copy the store into an empty one, in a folder or in PostgreSQL, and compare both
    #[command(
        after_help = "Neither may be in use. Exit codes: 0 done, 1 it could not be done, 2 usage.\n\nExamples:\n  orchestrator store migrate --from /var/lib/orrery-orchestrator --to config --config orchestrator.toml\n  orchestrator store migrate --from config --to /srv/back --config orchestrator.toml"
    )]
    Migrate(MigrateOptions),
    /// Copy the configured store into an empty folder, and compare both; one in PostgreSQL may be
    /// in use meanwhile
    #[command(
        after_help = "Exit codes: 0 done, 1 it could not be done, 2 usage.\n\nExamples:\n  orchestrator store backup --to /srv/backup/monday --config orchestrator.toml"
    )]
    Backup(BackupOptions),
    /// Copy a backup into the configured store, which has to be empty, and compare both
    #[command(
        after_help = "Exit codes: 0 done, 1 it could not be done, 2 usage.\n\nExamples:\n  orchestrator store restore --from /srv/backup/monday --config orchestrator.toml"
    )]
    Restore(RestoreOptions),
}

/// What to do with files in object storage.
#[derive(Debug, Subcommand)]
pub(crate) enum ObjectsCommand {
    /// Copy the logs of agents from the storage of `[objects]` to another one, or back into the
    /// data folder (`--to data`), and compare each; what is there already is not copied again
    #[command(
        after_help = "Copies from storage to storage while the orchestrator goes on, and once more when it is stopped; into the data folder when it is stopped. Exit codes: 0 all is there, 1 it is not, 2 usage, 3 all but what the running service stores meanwhile.\n\nExamples:\n  orchestrator objects migrate --to s3://new/agents --config orchestrator.toml\n  orchestrator objects migrate --to data --leave-damaged --config orchestrator.toml"
    )]
    Migrate(MigrateObjectsOptions),
    /// Make the place of `[objects]` that of the configured store, where another one of the same
    /// installation had it: after a backup was restored for good, and the former store is over
    #[command(
        after_help = "No service may run on the configured store, and none ever again on the former one. Exit codes: 0 done, 1 it could not be done, 2 usage.\n\nExamples:\n  orchestrator objects claim --config orchestrator.toml"
    )]
    Claim(ClaimObjectsOptions),
}

impl ObjectsCommand {
    /// The same for all programs.
    pub(crate) fn task(&self) -> ObjectsTask<'_> {
        match self {
            Self::Migrate(options) => ObjectsTask::Migrate(options),
            Self::Claim(options) => ObjectsTask::Claim(options),
        }
    }
}

impl StoreCommand {
    /// The same for all programs.
    pub(crate) fn task(&self) -> StoreTask<'_> {
        match self {
            Self::Check(options) => StoreTask::Check(options),
            Self::Migrate(options) => StoreTask::Migrate(options),
            Self::Backup(options) => StoreTask::Backup(options),
            Self::Restore(options) => StoreTask::Restore(options),
        }
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Human,
    /// For programs.
    Json,
}

/// Says something to people, on standard error.
pub(crate) fn print_note(text: &str) {
    // Nobody may be there to read it.
    let _ = writeln!(
        std::io::stderr().lock(),
        "orchestrator: {}",
        text.trim_end()
    );
}

/// Prints diagnostics as they are, on standard error.
pub(crate) fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }
}

//! The command line.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::{CompletionsOptions, ManOptions, print, print_note};
use config_core::{Colours, Diagnostics, Environment};
use daemon::log::LogFormat;
use daemon::settings::{ConfigOptions, ConfigText, effective};
use search_core::role::{self, Os, ServerFlags, ServerSettings, keys, parse_environment};

/// Exit code when the configuration is wrong or the server cannot start.
pub(crate) const FAILED: u8 = 1;

const AFTER_HELP: &str = "\
Environment: SERVICE_SETTINGS_PATH, SERVICE_DATA_PATH, LOG_LEVEL, LOG_FORMAT, SERVICE_SERVER_HOSTNAME,
SERVICE_CACHE_SIZE, SERVICE_MAX_CONCURRENT_SEARCHES, SERVICE_STORAGE, SERVICE_WS_UPSTREAM,
SERVICE_MAX_WATCHED_FOLDERS, SERVICE_MAX_LEARNT_DOCUMENTS, SERVICE_MAX_GRAPH_DOCUMENTS,
SERVICE_API_TOKEN, ORRERY_MAX_CONNECTIONS, ORRERY_MAX_CONNECTIONS_PER_ADDRESS; a flag wins over a
variable. For search over machines: SERVICE_SEARCH_MODE, SERVICE_SNAPSHOTS, SERVICE_INDEX_PARTS,
SERVICE_INDEX_PART. For these and for backups: CLOUDSTORE_ACCESS_KEY_ID,
CLOUDSTORE_SECRET_ACCESS_KEY, SERVICE_PROFILE_OBJSTORE_REGION, SERVICE_PROFILE_OBJSTORE_ENDPOINT,
SERVICE_PROFILE_OBJSTORE_ALLOW_HTTP.

Exit codes: 0 ok, 1 the configuration is invalid or the server cannot start, 2 wrong usage.

Examples:
  search-server
  search-server --config roles.json --data ~/search --listen 127.0.0.1:9000
  search-server --check --config roles.json
  SERVICE_API_TOKEN=... search-server --listen 0.0.0.0:8000";

/// Private search over your own sources, with a web page at `/`.
#[derive(Debug, Parser)]
#[command(name = "search-server", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// What to do instead of serving.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The role file; created on the first start.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<String>,
    /// Where indexes, conversations and summaries are kept.
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) data: Option<String>,
    /// Where to listen; 127.0.0.1:8000 unless said.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// How much is logged: debug, info, warn, error.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// How the log looks; JSON lines unless said, in the data folder where a terminal shows the
    /// first screen.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// Check the configuration, say everything that is wrong with it, and end.
    #[arg(long)]
    pub(crate) check: bool,
    /// With --check: do not ask the storage of snapshots, so that one that is away for a moment
    /// keeps nothing from starting.
    #[arg(long, requires = "check")]
    pub(crate) offline: bool,
    /// How conversations and summaries are kept: redb, sqlite, memory, concurrent-map.
    #[arg(long, global = true, value_name = "BACKEND")]
    pub(crate) storage: Option<String>,
    /// How the results of `--check` and of commands are printed.
    #[arg(long, global = true, value_enum, default_value_t = OutputFormat::Human)]
    pub(crate) format: OutputFormat,
    /// Listen beyond this machine without a token. Everybody who reaches the address can search.
    #[arg(long)]
    pub(crate) allow_unauthenticated: bool,
}

/// What to do instead of serving.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Save conversations, summaries and the role file to S3-compatible object storage.
    #[command(
        after_help = "Examples:\n  search-server backup --bucket backups\n  search-server backup --bucket backups --prefix laptop"
    )]
    Backup(BackupLocation),
    /// Bring them back.
    #[command(
        after_help = "Examples:\n  search-server restore --bucket backups\n  search-server restore --bucket backups --backup 2026-11-20T10-00-00Z --force"
    )]
    Restore(RestoreArguments),
    /// Put what is indexed into an Elasticsearch-compatible index, and keep it like that.
    #[command(
        after_help = "Examples:\n  search-server export --elasticsearch http://127.0.0.1:9200 --index docs\n  search-server export --elasticsearch https://search.example --index docs --role Docs --authorization-file key"
    )]
    Export(ExportOptions),
    /// Look at the index snapshots that indexers have published.
    #[command(
        subcommand,
        after_help = "Examples:\n  search-server snapshot list\n  search-server snapshot verify --format json"
    )]
    Snapshot(SnapshotCommand),
    /// What may be set, and which variables and flags are in force.
    #[command(
        after_help = "Examples:\n  search-server config --show\n  search-server config --schema > roles.schema.json"
    )]
    Config(ConfigOptions),
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  search-server completions bash > ~/.local/share/bash-completion/completions/search-server\n  search-server completions zsh > ~/.zfunc/_search-server"
    )]
    Completions(CompletionsOptions),
    /// Print the manual page (roff), or write one for each command.
    #[command(
        after_help = "Examples:\n  search-server man | man -l -\n  search-server man --out ~/.local/share/man/man1"
    )]
    Man(ManOptions),
}

/// What is exported, and where to.
#[derive(Debug, Args)]
pub(crate) struct ExportOptions {
    /// The server: Elasticsearch, OpenSearch or Quickwit.
    #[arg(long, value_name = "URL")]
    pub(crate) elasticsearch: String,
    /// The index there; it is made where there is none.
    #[arg(long, value_name = "NAME")]
    pub(crate) index: String,
    /// The role whose sources are exported; the default one when absent.
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// A file with the value of the header `Authorization`, for example `ApiKey …`.
    #[arg(long, value_name = "FILE")]
    pub(crate) authorization_file: Option<std::path::PathBuf>,
    /// Put documents again that have not changed since they were put.
    #[arg(long)]
    pub(crate) all: bool,
}

/// What to do with snapshots. Where they are is set by SERVICE_SNAPSHOTS.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SnapshotCommand {
    /// List what is published, by whom, and how much it is.
    #[command(
        after_help = "Examples:\n  search-server snapshot list\n  search-server snapshot list --format json"
    )]
    List,
    /// Fetch every file that is published, and compare it with its digest; exit code 1 where one
    /// differs.
    #[command(
        after_help = "Examples:\n  search-server snapshot verify\n  search-server snapshot verify --format json"
    )]
    Verify,
    /// Remove what is published of a source or part that no server is configured with any more.
    #[command(
        long_about = "Remove what is published of a source or part that no server is configured \
                      with any more: a source that was taken out of the roles, or the parts of \
                      before SERVICE_INDEX_PARTS was changed. Refused while an indexer publishes it.",
        after_help = "Examples:\n  search-server snapshot list\n  search-server snapshot remove 0a1b2c3d\n  search-server snapshot remove 0a1b2c3d 1-of-1"
    )]
    Remove {
        /// The source, as `snapshot list` shows it.
        source: String,
        /// One of its parts, such as `1-of-3`; all of them when absent.
        part: Option<String>,
    },
}

/// Where backups are.
#[derive(Debug, Args)]
pub(crate) struct BackupLocation {
    /// The bucket. Keys and address come from CLOUDSTORE_ACCESS_KEY_ID,
    /// CLOUDSTORE_SECRET_ACCESS_KEY, SERVICE_PROFILE_OBJSTORE_REGION and
    /// SERVICE_PROFILE_OBJSTORE_ENDPOINT.
    #[arg(long, value_name = "NAME")]
    pub(crate) bucket: String,
    /// What the names of all objects begin with.
    #[arg(long, value_name = "PREFIX", default_value = "orrery")]
    pub(crate) prefix: String,
}

/// What `restore` takes.
#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    #[command(flatten)]
    pub(crate) location: BackupLocation,
    /// The backup to restore; the latest when absent.
    #[arg(long, value_name = "ID")]
    pub(crate) backup: Option<String>,
    /// Replace what is there. Without it, only an empty state is filled and an existing role file
    /// stays.
    #[arg(long)]
    pub(crate) force: bool,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Lines for people.
    Human,
    /// One JSON document.
    Json,
}

impl Arguments {
    /// The settings in force.
    pub(crate) fn settings(
        &self,
        environment: &Environment,
    ) -> Result<ServerSettings, Diagnostics> {
        parse_environment(&self.flags(), environment, Os::current())
    }

    fn flags(&self) -> ServerFlags {
        ServerFlags {
            config: self.config.clone(),
            data: self.data.clone(),
            log_level: self.log_level.clone(),
            listen: self.listen.clone(),
            server: None,
            storage: self.storage.clone(),
        }
    }

    /// Prints what may be set, or what is in force.
    pub(crate) fn config(&self, options: ConfigOptions, environment: &Environment) -> ExitCode {
        if options.schema {
            let mut schema = role::schema();
            schema["x-variables"] = keys().schema("")["x-variables"].take();
            print(&format!("{schema:#}"));
            return ExitCode::SUCCESS;
        }
        let shown = self.settings(environment).and_then(|_| {
            let flags = self.flags();
            effective(&keys(), &ConfigText::none(), &flags.values(), environment)
        });
        match shown {
            Ok(text) => {
                print(text.trim_end());
                ExitCode::SUCCESS
            }
            Err(wrong) => self.report(&wrong),
        }
    }

    /// Prints everything that is wrong.
    pub(crate) fn report(&self, diagnostics: &Diagnostics) -> ExitCode {
        match self.format {
            OutputFormat::Human => print_note(&diagnostics.render(colours())),
            OutputFormat::Json => {
                let list: Vec<_> = diagnostics.iter().collect();
                print(
                    &serde_json::json!({"valid": !diagnostics.has_errors(), "diagnostics": list})
                        .to_string(),
                );
            }
        }
        if diagnostics.has_errors() {
            ExitCode::from(FAILED)
        } else {
            ExitCode::SUCCESS
        }
    }
}

fn colours() -> Colours {
    if std::io::stderr().is_terminal() {
        Colours::On
    } else {
        Colours::Off
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }
}

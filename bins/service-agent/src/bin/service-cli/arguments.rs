//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::{CompletionsOptions, ManOptions};
use service_agent::TargetArguments;

const AFTER_HELP: &str = "\
Every command prints one JSON document to standard output; a failure is {\"status\": \"error\", \"error\": {\"kind\", \"detail\"}}.
Without --server and SERVICE_SERVER_API_ENDPOINT the server of this machine is asked; when none runs,
the sources are searched in this process.

Environment: SERVICE_SERVER_API_ENDPOINT, SERVICE_API_TOKEN, SERVICE_SETTINGS_PATH, SERVICE_DATA_PATH.

Exit codes: 0 ok, 1 failed, 2 wrong usage, 4 nothing found, 5 not allowed, 6 unreachable, 7 timed out, 130 interrupted.

Examples:
  service-cli search tides --limit 1
  service-cli health
  echo 'The moon and the tides.' | service-cli extract --role Sky";

/// Search from scripts.
#[derive(Debug, Parser)]
#[command(name = "service-cli", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) target: TargetArguments,
}

/// What is asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Search the sources of a role.
    #[command(
        after_help = "Examples:\n  service-cli search 'orbit of planets' --limit 3 --body\n  service-cli search tides --role Sky --source Files --skip 10"
    )]
    Search(CliSearchArguments),
    /// The roles and their sources.
    #[command(after_help = "Examples:\n  service-cli roles")]
    Roles,
    /// The role file, secrets as `***`.
    #[command(after_help = "Examples:\n  service-cli config get")]
    Config {
        #[command(subcommand)]
        command: CliConfigCommand,
    },
    /// The concepts of a role, or what is near one of them.
    #[command(
        after_help = "Examples:\n  service-cli graph\n  service-cli graph planet --role Sky --limit 5"
    )]
    Graph {
        /// A concept; the most frequent ones when left out.
        concept: Option<String>,
        #[command(flatten)]
        role: RoleName,
        /// Concepts to give.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// The words that a role declares to mean the same.
    #[command(after_help = "Examples:\n  service-cli thesaurus --role Sky")]
    Thesaurus {
        #[command(flatten)]
        role: RoleName,
    },
    /// Titles, concepts and words that begin with, or are nearly, what is given.
    #[command(
        after_help = "Examples:\n  service-cli autocomplete orb\n  service-cli autocomplete plan --limit 3"
    )]
    Autocomplete {
        /// The beginning.
        q: String,
        #[command(flatten)]
        role: RoleName,
        /// Suggestions to give.
        #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
    },
    /// Documents.
    #[command(after_help = "Examples:\n  service-cli documents get 0123456789abcdef")]
    Documents {
        #[command(subcommand)]
        command: DocumentsCommand,
    },
    /// Summarise a document, or the text on standard input.
    #[command(
        after_help = "Examples:\n  service-cli summarize --document 0123456789abcdef\n  cat notes.md | service-cli summarize --max-length 500"
    )]
    Summarize {
        /// Id of a document.
        #[arg(long, value_name = "ID")]
        document: Option<String>,
        #[command(flatten)]
        role: RoleName,
        /// Longest summary, in characters.
        #[arg(long, value_name = "CHARACTERS")]
        max_length: Option<u32>,
    },
    /// Ask a question; the answer has its sources with it.
    #[command(
        after_help = "Examples:\n  service-cli chat 'why are there tides?'\n  git log -5 | service-cli chat -"
    )]
    Chat {
        /// The question; `-` reads it from standard input.
        #[arg(allow_hyphen_values = true)]
        message: String,
        #[command(flatten)]
        role: RoleName,
        /// Go on with a conversation, by its id.
        #[arg(long, value_name = "ID")]
        conversation: Option<String>,
    },
    /// How each source is.
    #[command(after_help = "Examples:\n  service-cli sources --role Sky")]
    Sources {
        /// Only those of this role.
        #[arg(long, value_name = "NAME")]
        role: Option<String>,
    },
    /// Compare a source with its index again.
    #[command(after_help = "Examples:\n  service-cli reindex Sky Files")]
    Reindex {
        /// A role.
        role: String,
        /// One of its sources.
        source: String,
    },
    /// What of a source is not indexed, and why.
    #[command(
        after_help = "Examples:\n  service-cli skipped Sky Files --reason hidden_by_gitignore"
    )]
    Skipped(SkippedArguments),
    /// How the server is.
    #[command(after_help = "Examples:\n  service-cli health")]
    Health,
    /// Write concepts of the role's thesaurus in the text on standard input by their names.
    #[command(
        after_help = "Examples:\n  cat page.md | service-cli replace --writing markdown --raw > linked.md"
    )]
    Replace {
        #[command(flatten)]
        role: RoleName,
        /// How a concept is written.
        #[arg(long, value_enum, default_value_t = ConceptFormat::Plain)]
        writing: ConceptFormat,
        /// Print the text alone, not a JSON document.
        #[arg(long)]
        raw: bool,
    },
    /// Find the paragraphs on standard input that hold a concept of the role's thesaurus.
    #[command(after_help = "Examples:\n  cat page.md | service-cli extract --role Sky")]
    Extract {
        #[command(flatten)]
        role: RoleName,
    },
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  service-cli completions bash > ~/.local/share/bash-completion/completions/service-cli\n  service-cli completions zsh > ~/.zfunc/_service-cli"
    )]
    Completions(CompletionsOptions),
    /// Print the manual page (roff), or write one for each command.
    #[command(
        after_help = "Examples:\n  service-cli man | man -l -\n  service-cli man --out ~/.local/share/man/man1"
    )]
    Man(ManOptions),
}

/// Which role is meant.
#[derive(Debug, Clone, Args)]
pub(crate) struct RoleName {
    /// The role; the default role unless said.
    #[arg(long = "role", value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `config …`
#[derive(Debug, Subcommand)]
pub(crate) enum CliConfigCommand {
    /// The role file in force.
    #[command(after_help = "Examples:\n  service-cli config get > answer.json")]
    Get,
    /// Find every mistake of a role file, without using it.
    #[command(after_help = "Examples:\n  service-cli config validate roles.json")]
    Validate {
        /// The file; `-` reads standard input.
        file: PathBuf,
    },
    /// Replace the role file; `***` keeps the secret that stands there.
    #[command(after_help = "Examples:\n  service-cli config set roles.json")]
    Set {
        /// The new file; `-` reads standard input.
        file: PathBuf,
    },
}

/// `documents …`
#[derive(Debug, Subcommand)]
pub(crate) enum DocumentsCommand {
    /// The text of a document.
    #[command(after_help = "Examples:\n  service-cli documents get 0123456789abcdef --role Sky")]
    Get {
        /// Id of a result.
        id: String,
        #[command(flatten)]
        role: RoleName,
    },
}

/// `search …`
#[derive(Debug, Args)]
pub(crate) struct CliSearchArguments {
    /// What to look for: words, "phrases", AND, OR, NOT or -, (groups), prefix*, title: path: tag:
    /// source: kind: is: after: before:, re:/regular expressions/
    #[arg(allow_hyphen_values = true)]
    pub(crate) query: String,
    /// Results to give, at most 1000.
    #[arg(long, default_value_t = 10, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) limit: u16,
    /// Results to pass over.
    #[arg(long, default_value_t = 0)]
    pub(crate) skip: u32,
    /// Further words or phrases, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) terms: Vec<String>,
    /// Whether all words have to occur or any may.
    #[arg(long, value_parser = ["and", "or"])]
    pub(crate) operator: Option<String>,
    #[command(flatten)]
    pub(crate) role: RoleName,
    /// Only these sources of the role.
    #[arg(long = "source", value_name = "NAME")]
    pub(crate) sources: Vec<String>,
    /// Say what each score is made of.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Give the text of each document too.
    #[arg(long)]
    pub(crate) body: bool,
    /// Where nothing is found while sources are being indexed, ask again for so many seconds.
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(0..=3600))]
    pub(crate) wait: u16,
}

/// How `replace` writes a concept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConceptFormat {
    /// Its name.
    Plain,
    /// `[name](address)`, or the name where it has no address.
    Markdown,
    /// `[[name]]`.
    Wiki,
    /// `<a href="address">name</a>`; the text around it is taken as HTML.
    Html,
}

/// What `skipped` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct SkippedArguments {
    /// A role.
    pub(crate) role: String,
    /// One of its sources.
    pub(crate) source: String,
    /// Only this reason, as `sources` names it.
    #[arg(long, value_name = "NAME")]
    pub(crate) reason: Option<String>,
    /// Go on after this path: the `next` of the page before.
    #[arg(long, value_name = "PATH")]
    pub(crate) after: Option<String>,
    /// Paths to print, at most 1000.
    #[arg(long, default_value_t = 100)]
    pub(crate) limit: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }
}

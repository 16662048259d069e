//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::{CompletionsOptions, ManOptions};
use serde_json::{Value, json};
use service_agent::TargetArguments;

const AFTER_HELP: &str = "\
Without --server and SERVICE_SERVER_API_ENDPOINT the server of this machine is asked; when none runs,
the sources are searched in this process.

Environment: SERVICE_SERVER_API_ENDPOINT, SERVICE_API_TOKEN, SERVICE_SETTINGS_PATH, SERVICE_DATA_PATH.

Exit codes: 0 ok, 1 failed, 2 wrong usage, 4 nothing found, 5 not allowed, 6 unreachable, 7 timed out,
130 interrupted, 128 + number for another signal.

Examples:
  service-agent search 'orbit of planets'
  service-agent interactive
  service-agent roles list --format json
  service-agent --server http://search.example:8000/ search tides   # SERVICE_API_TOKEN holds the token";

/// Search your own sources from the terminal.
#[derive(Debug, Parser)]
#[command(name = "service-agent", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) target: TargetArguments,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t = OutputFormat::Human, global = true)]
    pub(crate) format: OutputFormat,
}

/// What is asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Search the sources of a role.
    #[command(
        after_help = "Examples:\n  service-agent search 'orbit of planets'\n  service-agent search 'title:moon -draft' --limit 3 --explain\n  service-agent search tides --terms 'sea,moon' --operator and --role Sky\n  service-agent search 're:/fn \\w+_tide\\(/ path:*.rs'\n  service-agent search --for-agent --budget-tokens 500 'why are there two tides a day'"
    )]
    Search(SearchArguments),
    /// What can be searched.
    #[command(after_help = "Examples:\n  service-agent roles list")]
    Roles {
        #[command(subcommand)]
        command: RolesCommand,
    },
    /// Bring indexes up to date, and show how far they are.
    #[command(
        after_help = "Examples:\n  service-agent index\n  service-agent index --role Sky --source Files"
    )]
    Index {
        /// Only the sources of this role.
        #[arg(long, value_name = "NAME")]
        role: Option<String>,
        /// Only the source of this name.
        #[arg(long, value_name = "NAME")]
        source: Option<String>,
    },
    /// Show, check and change the role file.
    #[command(after_help = "Examples:\n  service-agent config get\n  service-agent config edit")]
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// The concepts of a role, or what is near one of them.
    #[command(
        after_help = "Examples:\n  service-agent graph\n  service-agent graph planet --limit 5"
    )]
    Graph {
        /// A concept; the most frequent ones when left out.
        concept: Option<String>,
        /// The role; the default role unless said.
        #[arg(long, value_name = "NAME")]
        role: Option<String>,
        /// Concepts to show, at most 500.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=500))]
        limit: u16,
    },
    /// Ask a question, and get an answer with its sources as it comes.
    #[command(
        after_help = "Examples:\n  service-agent chat 'why are there tides?'\n  git log -5 | service-agent chat - --role Sky"
    )]
    Chat {
        /// The question; `-` reads it from standard input.
        #[arg(allow_hyphen_values = true)]
        message: String,
        /// The role that answers; the default role unless said.
        #[arg(long, value_name = "NAME")]
        role: Option<String>,
        /// Go on with a conversation, by its id.
        #[arg(long, value_name = "ID")]
        conversation: Option<String>,
    },
    /// Be a server of the Model Context Protocol on standard input and output.
    #[command(
        after_help = "Examples:\n  service-agent mcp   # as the command of a client, such as an editor"
    )]
    Mcp,
    /// A full screen: search while you type, read, filter, chat.
    #[command(
        after_help = "F1 shows the keys; Ctrl-C leaves. Colours by TERM, COLORTERM and NO_COLOR.\n\nExamples:\n  service-agent interactive\n  service-agent interactive --in-process"
    )]
    Interactive,
    /// Read commands line by line: with history and completion in a terminal, or from a pipe.
    #[command(after_help = REPL_HELP)]
    Repl,
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  service-agent completions bash > ~/.local/share/bash-completion/completions/service-agent\n  service-agent completions zsh > ~/.zfunc/_service-agent"
    )]
    Completions(CompletionsOptions),
    /// Print the manual page (roff), or write one for each command.
    #[command(
        after_help = "Examples:\n  service-agent man | man -l -\n  service-agent man --out ~/.local/share/man/man1"
    )]
    Man(ManOptions),
}

const REPL_HELP: &str = "\
Every command of service-agent works, with its options; `help` lists them, `use NAME` searches as another role, `quit`
or Ctrl-D leaves. Words are quoted as in a shell. The history is kept in $XDG_STATE_HOME/service/history (else
~/.local/state/service/history), for its owner alone; a line that begins with a space is not kept.

From a pipe each line is a command, `#` begins a comment, and the exit code is that of the last command that failed.

Examples:
  service-agent repl
  printf 'roles list\\nsearch tides --limit 1\\n' | service-agent repl --format json";

/// `roles …`
#[derive(Debug, Subcommand)]
pub(crate) enum RolesCommand {
    /// List the roles and their sources.
    #[command(
        after_help = "Examples:\n  service-agent roles list\n  service-agent roles list --format json"
    )]
    List,
}

/// `config …`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the role file, secrets as `***`.
    #[command(
        after_help = "Examples:\n  service-agent config get > roles.json\n  service-agent config get /roles/0/name"
    )]
    Get {
        /// Only this part: a JSON pointer such as /roles/0/name.
        pointer: Option<String>,
    },
    /// Replace the role file; `***` keeps the secret that stands there.
    #[command(after_help = "Examples:\n  service-agent config set roles.json")]
    Set {
        /// The new file; `-` reads standard input.
        file: PathBuf,
    },
    /// Find every mistake of a role file, without using it.
    #[command(after_help = "Examples:\n  service-agent config validate roles.json")]
    Validate {
        /// The file; `-` reads standard input.
        file: PathBuf,
    },
    /// Change the role file in $VISUAL or $EDITOR; nothing happens when it is left as it was.
    #[command(after_help = "Examples:\n  EDITOR=nano service-agent config edit")]
    Edit,
}

/// `search …`
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// What to look for: words, "phrases", AND, OR, NOT or -, (groups), prefix*, title: path: tag:
    /// source: kind: is: after: before:, re:/regular expressions/
    #[arg(allow_hyphen_values = true)]
    pub(crate) query: String,
    /// Results to show, at most 1000.
    #[arg(long, default_value_t = 10, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) limit: u16,
    /// Further words or phrases, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub(crate) terms: Vec<String>,
    /// Whether all words have to occur (and) or any may (or).
    #[arg(long, value_enum)]
    pub(crate) operator: Option<OperatorName>,
    /// The role to search; the default role unless said.
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
    /// Say what each score is made of.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print the smallest set of passages that answers, with paths and lines, for a program that
    /// reads on.
    #[arg(long)]
    pub(crate) for_agent: bool,
    /// Tokens of all passages together, at most 100000.
    #[arg(long, default_value_t = 1000, value_name = "TOKENS", requires = "for_agent", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) budget_tokens: u32,
    /// Where nothing is found while sources are being indexed, ask again for so many seconds.
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(0..=3600))]
    pub(crate) wait: u16,
}

/// Spellings of the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperatorName {
    /// All words.
    And,
    /// Any word.
    Or,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Human,
    /// One JSON document, as the server answers it.
    Json,
}

impl SearchArguments {
    /// How long to ask again.
    pub(crate) fn wait(&self) -> Duration {
        Duration::from_secs(self.wait.into())
    }

    /// The body for the server.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({"search_term": self.query, "limit": self.limit});
        if let Some(role) = &self.role {
            body["role"] = role.as_str().into();
        }
        let terms = self.terms.iter().map(|term| term.trim());
        let terms: Vec<&str> = terms.filter(|term| !term.is_empty()).collect();
        if !terms.is_empty() {
            body["terms"] = terms.into();
        }
        if let Some(operator) = self.operator {
            body["operator"] = match operator {
                OperatorName::And => "and",
                OperatorName::Or => "or",
            }
            .into();
        }
        if self.for_agent {
            body["budget_tokens"] = self.budget_tokens.into();
        }
        if self.explain {
            body["explain"] = true.into();
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_help_ends_with_examples_that_are_understood() {
        scripted_peers::assert_understood::<Arguments>();
    }

    #[test]
    fn the_contract_s_options_are_understood() {
        let line = [
            "service-agent",
            "search",
            "orbit",
            "--limit",
            "3",
            "--terms",
            "a, b",
            "--operator",
            "and",
            "--role",
            "R",
        ];
        let Command::Search(search) = Arguments::parse_from(line).command else {
            panic!("search")
        };
        assert_eq!(
            search.body(),
            json!({"search_term": "orbit", "limit": 3, "role": "R", "terms": ["a", "b"], "operator": "and"})
        );
        assert!(
            Arguments::try_parse_from(["service-agent", "search", "x", "--limit", "-1"]).is_err()
        );
        assert!(
            Arguments::try_parse_from(["service-agent", "search", "x", "--limit", "1001"]).is_err()
        );
    }
}

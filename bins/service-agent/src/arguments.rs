//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use search_core::query::{Operator, SearchRequest};
use search_engine::answering::SearchOrder;

const AFTER_HELP: &str = "\
Without --server and SERVICE_SERVER_API_ENDPOINT the server of this machine is asked; when none runs,
the sources are searched in this process.

Environment: SERVICE_SERVER_API_ENDPOINT, SERVICE_API_TOKEN, SERVICE_SETTINGS_PATH, SERVICE_DATA_PATH.

Exit codes: 0 ok, 1 failed, 2 wrong usage, 4 nothing found, 5 not allowed, 6 unreachable, 7 timed out.";

/// Search your own sources from the terminal.
#[derive(Debug, Parser)]
#[command(name = "service-agent", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) place: Place,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t = Format::Human, global = true)]
    pub(crate) format: Format,
}

/// Where is searched.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// URL of the server to ask.
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    /// Search in this process, even when a server runs.
    #[arg(long, global = true, conflicts_with = "server")]
    pub(crate) in_process: bool,
    /// The role file, for searching in this process.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<String>,
    /// Where indexes are kept, for searching in this process.
    #[arg(long, value_name = "FOLDER", global = true)]
    pub(crate) data: Option<String>,
}

/// What is asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Search the sources of a role.
    Search(SearchArguments),
    /// What can be searched.
    Roles {
        #[command(subcommand)]
        command: RolesCommand,
    },
}

/// `roles …`
#[derive(Debug, Subcommand)]
pub(crate) enum RolesCommand {
    /// List the roles and their sources.
    List,
}

/// `search …`
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// What to look for.
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
pub(crate) enum Format {
    /// For people.
    Human,
    /// One JSON document, as the server answers it.
    Json,
}

impl SearchArguments {
    /// The order for a search desk.
    pub(crate) fn order(&self) -> SearchOrder {
        let terms = self
            .terms
            .iter()
            .map(|term| term.trim().to_owned())
            .filter(|term| !term.is_empty());
        SearchOrder {
            role: self.role.clone(),
            request: SearchRequest {
                text: self.query.clone(),
                terms: terms.collect(),
                operator: self.operator.map(|operator| match operator {
                    OperatorName::And => Operator::And,
                    OperatorName::Or => Operator::Or,
                }),
            },
            limit: usize::from(self.limit),
            ..SearchOrder::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
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
        let order = search.order();
        assert_eq!((order.limit, order.role.as_deref()), (3, Some("R")));
        assert_eq!(order.request.terms, ["a", "b"]);
        assert_eq!(order.request.operator, Some(Operator::And));
        assert!(
            Arguments::try_parse_from(["service-agent", "search", "x", "--limit", "-1"]).is_err()
        );
        assert!(
            Arguments::try_parse_from(["service-agent", "search", "x", "--limit", "1001"]).is_err()
        );
    }
}

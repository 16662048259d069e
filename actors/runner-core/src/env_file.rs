//! The files a step writes to: `GITHUB_OUTPUT`, `GITHUB_ENV`, `GITHUB_STATE`, `GITHUB_PATH`, the
//! summary.
//!
//! Page "Workflow commands", "Environment files".

use std::collections::HashMap;

use crate::limits::{MAX_ENV_FILE_BYTES, MAX_SUMMARIES_BYTES, MAX_SUMMARY_BYTES};

/// Why such a file cannot be used: the step fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvFileError {
    /// It is too large.
    #[error("the file has {0} bytes, {MAX_ENV_FILE_BYTES} at most")]
    TooLarge(usize),
    /// It is not text.
    #[error("the file is not UTF-8")]
    NotText,
    /// A line is neither `name=value` nor `name<<delimiter`.
    #[error("line {line} is neither `name=value` nor `name<<delimiter`")]
    Line {
        /// From 1.
        line: usize,
    },
    /// No name stands before the `=` or `<<`.
    #[error("line {line} has no name")]
    NoName {
        /// From 1.
        line: usize,
    },
    /// The delimiter never comes.
    #[error("the delimiter of line {line} does not come again")]
    Open {
        /// From 1.
        line: usize,
    },
}

/// Reads names and values, in order; of a name that comes twice the last counts.
///
/// # Errors
/// When the file is wrong; nothing of it is used then.
pub fn parse_pairs(bytes: &[u8]) -> Result<Vec<(String, String)>, EnvFileError> {
    let text = checked(bytes)?;
    let lines: Vec<&str> = lines(text).collect();
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut at = 0;
    while at < lines.len() {
        let (line, number) = (lines[at], at + 1);
        at += 1;
        if line.is_empty() {
            continue;
        }
        let (name, value) = match (line.find('='), line.find("<<")) {
            (equals, Some(heredoc)) if equals.is_none_or(|equals| heredoc < equals) => {
                let (name, delimiter) = (&line[..heredoc], &line[heredoc + 2..]);
                if delimiter.is_empty() {
                    return Err(EnvFileError::Line { line: number });
                }
                let length = lines[at..].iter().position(|line| *line == delimiter);
                let length = length.ok_or(EnvFileError::Open { line: number })?;
                let value = lines[at..at + length].join("\n");
                at += length + 1;
                (name, value)
            }
            (Some(equals), _) => (&line[..equals], line[equals + 1..].to_owned()),
            (None, _) => return Err(EnvFileError::Line { line: number }),
        };
        if name.trim().is_empty() {
            return Err(EnvFileError::NoName { line: number });
        }
        match places.get(name) {
            Some(place) => pairs[*place].1 = value,
            None => {
                places.insert(name, pairs.len());
                pairs.push((name.to_owned(), value));
            }
        }
    }
    Ok(pairs)
}

/// Reads `GITHUB_ENV`: as [`parse_pairs`], but variables of the runner itself stay as they are
/// (`printenv >> "$GITHUB_ENV"` is no mistake).
///
/// # Errors
/// When the file is wrong.
pub fn parse_env(bytes: &[u8]) -> Result<SetVariables, EnvFileError> {
    let pairs = parse_pairs(bytes)?.into_iter();
    let (refused, pairs) = pairs.partition::<Vec<_>, _>(|(name, _)| is_refused(name));
    Ok(SetVariables {
        pairs: pairs
            .into_iter()
            .filter(|(name, _)| !is_reserved(name))
            .collect(),
        refused: refused.into_iter().map(|(name, _)| name).collect(),
    })
}

/// What a step sets for later ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetVariables {
    /// Names and values.
    pub pairs: Vec<(String, String)>,
    /// Names that no step may set: an error is noted, and the step goes on.
    pub refused: Vec<String>,
}

/// Whether setting a variable is noted as an error: Node.js runs code that it names.
pub fn is_refused(name: &str) -> bool {
    name.eq_ignore_ascii_case("NODE_OPTIONS")
}

/// What the runner's own variables are called behind `RUNNER_`.
const OWN_RUNNER_VARIABLES: [&str; 8] = [
    "ARCH",
    "DEBUG",
    "ENVIRONMENT",
    "NAME",
    "OS",
    "TEMP",
    "TOOL_CACHE",
    "WORKSPACE",
];

/// What the runner's own variables are called behind `GITHUB_` (page "Variables reference"). Others
/// that begin so are the workflow's: actions set `GITHUB_PAGES`, scripts `GITHUB_TOKEN`.
const OWN_VARIABLES: [&str; 40] = [
    "ACTION",
    "ACTIONS",
    "ACTION_PATH",
    "ACTION_REF",
    "ACTION_REPOSITORY",
    "ACTOR",
    "ACTOR_ID",
    "API_URL",
    "ARTIFACTS",
    "ARTIFACTS_LIST",
    "BASE_REF",
    "ENV",
    "EVENT_NAME",
    "EVENT_PATH",
    "GRAPHQL_URL",
    "HEAD_REF",
    "JOB",
    "OUTPUT",
    "PATH",
    "REF",
    "REF_NAME",
    "REF_PROTECTED",
    "REF_TYPE",
    "REPOSITORY",
    "REPOSITORY_ID",
    "REPOSITORY_OWNER",
    "REPOSITORY_OWNER_ID",
    "RETENTION_DAYS",
    "RUN_ATTEMPT",
    "RUN_ID",
    "RUN_NUMBER",
    "SERVER_URL",
    "SHA",
    "STATE",
    "STEP_SUMMARY",
    "TRIGGERING_ACTOR",
    "WORKFLOW",
    "WORKFLOW_REF",
    "WORKFLOW_SHA",
    "WORKSPACE",
];

/// Whether a variable belongs to the runner: a step cannot set it for later ones.
pub fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_own = |name: &str| OWN_VARIABLES.contains(&name);
    let is_runner = |name: &str| OWN_RUNNER_VARIABLES.contains(&name);
    upper.strip_prefix("GITHUB_").is_some_and(is_own)
        || upper.strip_prefix("RUNNER_").is_some_and(is_runner)
}

/// What of them Gitea's runner calls `GITEA_` as well.
const GITEA_VARIABLES: [&str; 7] = [
    "ACTIONS",
    "ENV",
    "OUTPUT",
    "PATH",
    "RUN_ID",
    "STATE",
    "STEP_SUMMARY",
];

/// The names that a variable of the runner has beside its own at Gitea and Forgejo: `GITHUB_OUTPUT`
/// is `FORGEJO_OUTPUT` and `GITEA_OUTPUT` there.
pub fn names_of_forges(name: &str) -> impl Iterator<Item = String> {
    let rest = name.strip_prefix("GITHUB_");
    let rest = rest.filter(|rest| OWN_VARIABLES.contains(rest));
    let gitea = rest.filter(|rest| GITEA_VARIABLES.contains(rest));
    let forgejo = rest.map(|rest| format!("FORGEJO_{rest}"));
    forgejo
        .into_iter()
        .chain(gitea.map(|rest| format!("GITEA_{rest}")))
}

/// Whether a variable is one of those: a step cannot set it for later ones there.
pub fn is_of_forges(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let is_in = |prefix: &str, known: &[&str]| {
        upper
            .strip_prefix(prefix)
            .is_some_and(|rest| known.contains(&rest))
    };
    is_in("FORGEJO_", &OWN_VARIABLES) || is_in("GITEA_", &GITEA_VARIABLES)
}

/// Reads `GITHUB_PATH`: a directory a line. The last line stands first in `PATH`.
///
/// # Errors
/// When the file is wrong.
pub fn parse_path(bytes: &[u8]) -> Result<Vec<String>, EnvFileError> {
    let text = checked(bytes)?;
    Ok(lines(text)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect())
}

/// Reads a step's summary; what is too much is cut off, and said so.
pub fn parse_summary(bytes: &[u8]) -> String {
    let most = bytes.len().min(MAX_SUMMARY_BYTES);
    let mut text = String::from_utf8_lossy(&bytes[..most]).into_owned();
    if bytes.len() > MAX_SUMMARY_BYTES {
        text.push_str("\n\n(cut off: the summary is larger than 1 MiB)\n");
    }
    text
}

/// Puts the summary of a composite action's step behind those of the steps before it.
pub fn add_summary(all: &mut Option<String>, summary: Option<String>) {
    let Some(summary) = summary else {
        return;
    };
    let all = all.get_or_insert_default();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(&summary);
    all.truncate(all.floor_char_boundary(MAX_SUMMARIES_BYTES));
}

fn checked(bytes: &[u8]) -> Result<&str, EnvFileError> {
    if bytes.len() > MAX_ENV_FILE_BYTES {
        return Err(EnvFileError::TooLarge(bytes.len()));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|_| EnvFileError::NotText)
}

/// The lines, without their ends; the last needs none.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
}

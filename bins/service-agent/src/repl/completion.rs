//! What may follow in a line: commands, options, their values, roles and sources. Pure.

use std::sync::{Arc, RwLock};

use clap::{Arg, Command};
use command_line::quoted;
use search_core::answer::RoleList;

/// Names that only the server knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    roles: Vec<String>,
    sources: Vec<String>,
}

/// Names that may be completed, as the reading thread sees them.
pub(crate) type SharedNames = Arc<RwLock<Names>>;

/// Something that may follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletionCandidate {
    pub(crate) text: String,
    pub(crate) about: Option<String>,
}

impl Names {
    pub(crate) fn from_roles(list: &RoleList) -> Self {
        let roles = list.roles.iter().map(|role| role.name.clone()).collect();
        let sources = list.roles.iter().flat_map(|role| &role.haystacks);
        let mut sources: Vec<String> = sources.map(|source| source.name.clone()).collect();
        sources.sort();
        sources.dedup();
        Self { roles, sources }
    }
}

/// The word that is being typed at the end of `before`: where it begins, and what may stand there.
pub(crate) fn candidates(
    table: &Command,
    names: &Names,
    before: &str,
) -> (usize, Vec<CompletionCandidate>) {
    let start = before.rfind(char::is_whitespace).map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    let typed = &before[start..];
    let earlier: Vec<&str> = before[..start].split_whitespace().collect();
    let mut command = table;
    let mut wanted: Option<&Arg> = None;
    for (at, word) in earlier.iter().enumerate() {
        let word = if at == 0 {
            word.trim_start_matches('/')
        } else {
            word
        };
        if let Some(inner) = command.find_subcommand(word) {
            command = inner;
            wanted = None;
            continue;
        }
        let option = word
            .strip_prefix("--")
            .and_then(|name| option(table, command, name));
        wanted = option.filter(|option| option.get_action().takes_values());
    }
    let all = match wanted {
        Some(argument) => values(argument, names),
        None if typed.starts_with('-') => options(table, command),
        None => words(command, names),
    };
    // Names with spaces are quoted; what is typed has no quote yet.
    let bare = typed.trim_start_matches('\'').to_lowercase();
    let fits = |one: &CompletionCandidate| {
        let text = one.text.trim_start_matches('\'').to_lowercase();
        text.starts_with(&bare)
    };
    let mut found: Vec<CompletionCandidate> = all.into_iter().filter(fits).collect();
    found.sort_by(|one, other| one.text.cmp(&other.text));
    (start, found)
}

/// Subcommands, and values of the first argument without a name.
fn words(command: &Command, names: &Names) -> Vec<CompletionCandidate> {
    let commands = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set());
    let mut all: Vec<CompletionCandidate> = commands
        .map(|inner| candidate(inner.get_name(), inner.get_about().map(ToString::to_string)))
        .collect();
    if let Some(first) = command.get_positionals().next() {
        all.extend(values(first, names));
    }
    all
}

fn options(table: &Command, command: &Command) -> Vec<CompletionCandidate> {
    let mut all: Vec<CompletionCandidate> = command
        .get_arguments()
        .chain(global(table))
        .filter(|argument| !argument.is_hide_set())
        .filter_map(|argument| {
            let long = argument.get_long()?;
            let about = argument.get_help().map(ToString::to_string);
            Some(candidate(&format!("--{long}"), about))
        })
        .collect();
    if all.iter().all(|one| one.text != "--help") {
        all.push(candidate("--help", Some("Print help".to_owned())));
    }
    all.sort_by(|one, other| one.text.cmp(&other.text));
    all.dedup_by(|one, other| one.text == other.text);
    all
}

fn global(table: &Command) -> impl Iterator<Item = &Arg> {
    table
        .get_arguments()
        .filter(|argument| argument.is_global_set())
}

fn option<'a>(table: &'a Command, command: &'a Command, name: &str) -> Option<&'a Arg> {
    let mut all = command.get_arguments().chain(global(table));
    all.find(|argument| argument.get_long() == Some(name))
}

/// What an argument may be.
fn values(argument: &Arg, names: &Names) -> Vec<CompletionCandidate> {
    let known = match argument.get_id().as_str() {
        "role" => &names.roles[..],
        "source" => &names.sources[..],
        _ => &[],
    };
    if !known.is_empty() {
        return known
            .iter()
            .map(|name| candidate(&quoted(name), None))
            .collect();
    }
    let possible = argument.get_possible_values();
    possible
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| candidate(value.get_name(), value.get_help().map(ToString::to_string)))
        .collect()
}

fn candidate(text: &str, about: Option<String>) -> CompletionCandidate {
    CompletionCandidate {
        text: text.to_owned(),
        about,
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::table;
    use super::*;

    fn texts(before: &str) -> Vec<String> {
        let names = Names {
            roles: vec!["Sky".to_owned(), "Deep Sea".to_owned()],
            sources: vec!["Files".to_owned()],
        };
        let mut table = table();
        table.build();
        let (start, found) = candidates(&table, &names, before);
        let typed = &before[start..];
        assert!(!typed.contains(' '), "{typed}");
        found.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn commands_options_and_names_are_completed() {
        for (before, expected) in [
            ("se", &["search"][..]),
            ("/se", &[]),
            ("roles ", &["help", "list"]),
            ("config v", &["validate"]),
            ("search x --li", &["--limit"]),
            ("search x --operator ", &["and", "or"]),
            ("search x --role ", &["'Deep Sea'", "Sky"]),
            ("search x --role s", &["Sky"]),
            ("search x --role d", &["'Deep Sea'"]),
            ("index --source ", &["Files"]),
            ("use ", &["'Deep Sea'", "Sky"]),
            ("search x --format j", &["json"]),
            ("completions z", &["zsh"]),
            ("nonsense ", &[]),
        ] {
            let found = texts(before);
            if before == "nonsense " {
                assert!(found.contains(&"search".to_owned()));
                continue;
            }
            assert_eq!(found, expected, "{before:?}");
        }
        assert!(texts("").len() > 10);
    }
}

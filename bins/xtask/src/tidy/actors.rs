//! docs/ACTORS.md names every actor, every message that one handles and every name in the tree,
//! and no message that nobody handles.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::markdown;
use super::rust_text::{code_only, is_test_file};

/// The page of actors and messages.
pub(super) const PAGE: &str = "docs/ACTORS.md";

/// Its own actor and messages are on the first page of its documentation.
const SUPERVISION: &str = "actors/supervision/";

/// What the tables call the column of messages.
const MESSAGES: &str = "Message in";

/// Checks the page against the sources.
pub(super) fn check<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str)>,
    page: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut handled: BTreeMap<String, String> = BTreeMap::new();
    let products =
        sources.filter(|(path, _)| !is_test_file(path) && !path.starts_with(SUPERVISION));
    for (path, source) in products {
        let code = code_only(source);
        for (number, line) in (1..).zip(code.lines()) {
            let place = || format!("{path}:{number}");
            if let Some(actor) = implemented(line, "Actor")
                && !has_word(page, actor)
            {
                let text = format!("the actor `{actor}` is not in {PAGE}");
                findings.push(Finding::error(place(), text));
            }
            if let Some(message) = message_of(line) {
                handled.entry(message.to_owned()).or_insert_with(place);
            }
        }
        for (number, name) in names_in_the_tree(source) {
            if !has_word(page, name) {
                let text = format!("the name `{name}` of the tree is not in {PAGE}");
                findings.push(Finding::error(format!("{path}:{number}"), text));
            }
        }
    }
    for (message, place) in &handled {
        if !page.contains(&format!("`{message}`")) {
            let text = format!("the message `{message}` is not in {PAGE}");
            findings.push(Finding::error(place, text));
        }
    }
    for (number, message) in messages_in(page) {
        if !handled.contains_key(message) {
            let text = format!("no actor handles `{message}`");
            findings.push(Finding::error(format!("{PAGE}:{number}"), text));
        }
    }
    findings
}

/// The type that a line implements this trait for.
pub(super) fn implemented<'a>(line: &'a str, of: &str) -> Option<&'a str> {
    let (head, rest) = line.split_once(" for ")?;
    let is_it = head.starts_with("impl") && head.rsplit([' ', ':']).next() == Some(of);
    is_it.then(|| word(rest))
}

/// The message that a line implements a handler of.
fn message_of(line: &str) -> Option<&str> {
    let (head, rest) = line.split_once("Handler<")?;
    let path = rest.split(['<', '>']).next()?;
    (head.starts_with("impl") && line.contains(" for ")).then(|| path.rsplit("::").next())?
}

/// The names that children and supervisors are given as they are written, with their lines.
fn names_in_the_tree(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = source.find("#[cfg(test)]\nmod ");
    let source = &source[..tests.unwrap_or(source.len())];
    source.match_indices("Spec::new(").filter_map(|(at, call)| {
        let line = source[..at].rsplit('\n').next().unwrap_or_default();
        let argument = source[at + call.len()..].trim_start().strip_prefix('"')?;
        let name = argument.split('"').next()?;
        let is_code = !line.trim_start().starts_with("//");
        let is_spec = line.ends_with("Child") || line.ends_with("Supervisor");
        (is_code && is_spec).then(|| (source[..at].matches('\n').count() + 1, name))
    })
}

/// The messages in the tables' columns of messages.
fn messages_in(page: &str) -> Vec<(usize, &str)> {
    let (_, prose) = markdown::split(page);
    let mut messages = Vec::new();
    let mut column = None;
    for (number, line) in prose {
        if !line.starts_with('|') {
            column = None;
            continue;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let Some(found) = cells.iter().position(|cell| *cell == MESSAGES) {
            column = Some(found);
            continue;
        }
        let cell = column.and_then(|column| cells.get(column).copied());
        let named = cell.unwrap_or_default().split('`').skip(1).step_by(2);
        messages.extend(named.map(|message| (number, message)));
    }
    messages
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Whether the page has this word by itself, not as a part of another.
fn has_word(page: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    page.match_indices(word).any(|(at, _)| {
        let before = page[..at].chars().next_back();
        let after = page[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "impl Actor for Clock {}\nimpl Handler<Tick> for Clock {}\n\
        impl<T> actix::Handler<messages::Wind<T>> for Clock {}\n// ChildSpec::new(\"old\", x)\n\
        ChildSpec::new(\n    \"clock\", x)\n\
        #[cfg(test)]\nmod tests {\n    ChildSpec::new(\"other\", x)\n}\n";
    const TABLE: &str = "| Message in | From |\n|---|---|\n";

    fn found(page: &str) -> Vec<String> {
        let sources = [
            ("actors/a/src/b.rs", SOURCE),
            ("actors/a/tests/c.rs", "impl Actor for D"),
        ];
        let findings = check(sources.into_iter(), page);
        let shown = |finding: &Finding| format!("{} {}", finding.place, finding.text);
        findings.iter().map(shown).collect()
    }

    #[test]
    fn code_and_page_name_the_same() {
        let page = format!("`clock`: Clock\n\n{TABLE}| `Tick`, `Wind` | `Spring` |\n");
        assert_eq!(found(&page), [""; 0]);
    }

    #[test]
    fn what_is_on_one_side_only_is_found() {
        let page = format!("a-clock, Clocks\n\n{TABLE}| `Tick`, `Strike` | x |\n");
        assert_eq!(
            found(&page),
            [
                "actors/a/src/b.rs:1 the actor `Clock` is not in docs/ACTORS.md",
                "actors/a/src/b.rs:5 the name `clock` of the tree is not in docs/ACTORS.md",
                "actors/a/src/b.rs:3 the message `Wind` is not in docs/ACTORS.md",
                "docs/ACTORS.md:5 no actor handles `Strike`",
            ]
        );
    }
}

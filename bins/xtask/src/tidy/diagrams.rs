//! The diagrams in front of modules name what is there.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::rust_text::code_only;

/// Names of others, which our code need not know.
const OTHERS: [&str; 5] = ["CycloneDX", "MiB", "PostgreSQL", "S3", "Snowball"];

/// Checks the diagrams (blocks ```` ```text ```` of `//!` comments) of all sources: a capitalised
/// name in one is a name in the code of some source.
pub(super) fn check<'a>(sources: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Vec<Finding> {
    let own = sources.clone().filter(|(path, _)| path.contains("/src/"));
    let named: Vec<(&str, usize, &str)> = own
        .flat_map(|(path, text)| names(text).map(move |(line, name)| (path, line, name)))
        .collect();
    let mut unknown: BTreeSet<&str> = named.iter().map(|(_, _, name)| *name).collect();
    unknown.retain(|name| !OTHERS.contains(name));
    for (_, text) in sources {
        if unknown.iter().any(|name| text.contains(name)) {
            let code = code_only(text);
            let known: BTreeSet<&str> = code.split(|c: char| !is_of_name(c)).collect();
            unknown.retain(|name| !known.contains(name));
        }
    }
    let missing = named
        .into_iter()
        .filter(|(_, _, name)| unknown.contains(name));
    missing
        .map(|(path, line, name)| {
            let text = format!("the diagram names `{name}`, which no code has");
            Finding::error(format!("{path}:{line}"), text)
        })
        .collect()
}

/// Capitalised names in the diagrams of a source, with their lines.
fn names(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    let comments = (1..).zip(source.lines());
    let comments = comments.map_while(|(line, text)| Some((line, text.strip_prefix("//!")?)));
    let drawn = comments.filter(move |(_, text)| {
        if let Some(opened) = text.trim().strip_prefix("```") {
            inside = !inside && opened == "text";
            return false;
        }
        inside
    });
    drawn.flat_map(|(line, text)| words(text).map(move |word| (line, word)))
}

/// The names like `Type` or `TwoWords`; no parts of paths, files and generic arguments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    text.split(|c: char| !is_of_name(c)).filter(move |word| {
        let start = at;
        let end = start + word.len();
        at = end + text[end..].chars().next().map_or(0, char::len_utf8);
        let is_part = text[..start].ends_with(['.', ':', '/', '<'])
            || text[end..].starts_with(['-', '.', '\'']);
        let mut letters = word.chars();
        let is_name = letters.next().is_some_and(|c| c.is_ascii_uppercase())
            && letters.next().is_some_and(|c| !c.is_ascii_uppercase());
        is_name && !is_part
    })
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(diagram: &str, code: &str) -> Vec<String> {
        let source =
            format!("//! A module.\n//!\n//! ```text\n{diagram}//! ```\n//! A Sentence.\n");
        let sources = [
            ("a/src/a.rs", source.as_str()),
            ("a/tests/b.rs", "//! ```text\n//! Gone\n//! ```\n"),
            ("a/src/c.rs", code),
        ];
        let findings = check(sources.into_iter());
        let shown = |one: Finding| format!("{} {}", one.place, one.text);
        findings.into_iter().map(shown).collect()
    }

    #[test]
    fn i14_a_diagram_that_names_what_is_not_there_is_refused() {
        let diagram =
            "//! edge ──Talk──▶ ChatService ─▶ Board: HTTP to S3, a.Rs, x::Y, Vec<Item>\n";
        let code = "// Board, Talk\nstruct ChatService(Vec<u8>);\nconst X: &str = \"Talk\";\n";
        assert_eq!(
            found(diagram, code),
            [
                "a/src/a.rs:4 the diagram names `Talk`, which no code has",
                "a/src/a.rs:4 the diagram names `Board`, which no code has",
            ]
        );
        let code = format!("{code}enum Asked {{ Talk }}\nfn f(board: Board) {{}}\n");
        assert_eq!(found(diagram, &code), [""; 0]);
    }

    #[test]
    fn other_blocks_are_no_diagrams() {
        let example =
            "//! ```\n//! ```\n//! Board\n//! ```rust\n//! Board::f();\n//! ```\n//! ```text\n";
        assert_eq!(found(example, ""), [""; 0]);
    }
}

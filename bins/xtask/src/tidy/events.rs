//! Log events: each that the programs can write stands in docs/LOGGING.md, and no other.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::rust_text::is_test_file;

/// The page with the table of events.
pub(super) const PAGE: &str = "docs/LOGGING.md";

/// Checks the events of all sources against the page's table.
pub(super) fn check<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str)>,
    page: &str,
) -> Vec<Finding> {
    let mut written = BTreeMap::new();
    for (path, source) in sources.filter(|(path, _)| !is_test_file(path)) {
        for (number, line) in (1..).zip(source.lines()) {
            written.extend(event(line).map(|name| (name, format!("{path}:{number}"))));
        }
    }
    let listed: BTreeSet<&str> = page.lines().filter_map(row).collect();
    let mut findings = Vec::new();
    for (name, place) in &written {
        if !listed.contains(name) {
            findings.push(Finding::error(
                place,
                format!("the event `{name}` is not listed in {PAGE}"),
            ));
        }
        if !name.contains('.') {
            findings.push(Finding::warning(
                place,
                format!("the event `{name}`: join subject and verb by a dot"),
            ));
        }
    }
    let gone = listed
        .into_iter()
        .filter(|name| !written.contains_key(name));
    findings.extend(
        gone.map(|name| Finding::error(PAGE, format!("no source writes the event `{name}`"))),
    );
    findings
}

/// The name in `event = "…"`.
fn event(line: &str) -> Option<&str> {
    let name = line.split_once("event = \"")?.1.split('"').next()?;
    let plain = |c: char| c.is_ascii_lowercase() || "._".contains(c);
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

/// The name in the first cell of a table's row: "| `…` |".
fn row(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("| `")?.split_once('`')?;
    let levels = ["error", "warn", "info", "debug"];
    (rest.starts_with(" | ") && !levels.contains(&name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_page_say_the_same() {
        let event = concat!("tracing::info!(event", " = \"actor.started\", actor);");
        let page = "| Level | Means |\n| `error` | bad |\n| `actor.started` | info | x | y |\n";
        assert_eq!(check([("a.rs", event)].into_iter(), page), []);
        let texts = |findings: Vec<Finding>| {
            findings
                .into_iter()
                .map(|finding| finding.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(check([("a.rs", event)].into_iter(), "")),
            ["the event `actor.started` is not listed in docs/LOGGING.md"]
        );
        assert_eq!(
            texts(check([("a/tests/a.rs", event)].into_iter(), page)),
            ["no source writes the event `actor.started`"]
        );
        let dotless = event.replace('.', "_").replace("tracing::info", "info");
        let found = texts(check(
            [("a.rs", dotless.as_str())].into_iter(),
            "| `actor_started` | info |",
        ));
        assert_eq!(
            found,
            ["the event `actor_started`: join subject and verb by a dot"]
        );
    }
}

//! Problem types and reasons: each that an answer can have stands on a page with what to do, and
//! no other.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::markdown;
use super::rust_text::is_test_file;

/// The page of problem types, statuses and reasons of VMs.
pub(super) const PAGE: &str = "docs/PROBLEMS.md";

/// The edge that is no web crate's: it passes requests on to products.
const FRONT_DOOR: &str = "bins/platform/src/front/";

/// What `Problem::kind` puts before each word.
const PREFIX: &str = "urn:orrery:problem:";

/// The enum whose words are the reasons of failed VMs.
const VM_REASONS: &str = "pub enum FailureReason {";

/// Checks the page against the sources of the edges and of the VM manager's model.
pub(super) fn check<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str)>,
    page: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut kinds: BTreeMap<&str, String> = BTreeMap::new();
    let mut reasons: BTreeMap<String, String> = BTreeMap::new();
    for (path, source) in sources.filter(|(path, _)| !is_test_file(path)) {
        if path.starts_with("web/") || path.starts_with(FRONT_DOOR) {
            for (line, kind) in kinds_of(source) {
                kinds
                    .entry(kind)
                    .or_insert_with(|| format!("{path}:{line}"));
            }
        }
        reasons.extend(vm_reasons(source).map(|(line, reason)| (reason, format!("{path}:{line}"))));
    }
    let described: BTreeMap<&str, (usize, String)> = sections(page);
    for (kind, place) in &kinds {
        let missing = match described.get(kind) {
            None => vec![format!("### {kind}")],
            Some((_, section)) => {
                let type_ = format!("\"type\": \"{PREFIX}{kind}\"");
                let wanted = ["What happened:".to_owned(), "What to do:".to_owned(), type_];
                wanted
                    .into_iter()
                    .filter(|text| !section.contains(text))
                    .collect()
            }
        };
        let finding = |text| {
            Finding::error(
                place,
                format!("the problem `{kind}` lacks `{text}` in {PAGE}"),
            )
        };
        findings.extend(missing.into_iter().map(finding));
    }
    for (kind, (line, _)) in described
        .iter()
        .filter(|(kind, _)| !kinds.contains_key(*kind))
    {
        findings.push(Finding::error(
            format!("{PAGE}:{line}"),
            format!("no edge answers `{kind}`"),
        ));
    }
    let rows: BTreeMap<&str, usize> = rows_of_reasons(page).collect();
    for (reason, place) in reasons
        .iter()
        .filter(|(reason, _)| !rows.contains_key(reason.as_str()))
    {
        findings.push(Finding::error(
            place,
            format!("the reason `{reason}` is not in {PAGE}"),
        ));
    }
    for (reason, line) in rows
        .iter()
        .filter(|(reason, _)| !reasons.contains_key(**reason))
    {
        findings.push(Finding::error(
            format!("{PAGE}:{line}"),
            format!("no VM fails by `{reason}`"),
        ));
    }
    findings
}

/// Every word in `.kind("…", "…")`, with its line.
fn kinds_of(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source.match_indices(".kind(").filter_map(|(at, mark)| {
        let argument = source[at + mark.len()..].trim_start().strip_prefix('"')?;
        let (kind, rest) = argument.split_once('"')?;
        // Two arguments; other methods of that name take none.
        rest.trim_start()
            .starts_with(',')
            .then(|| (source[..at].matches('\n').count() + 1, kind))
    })
}

/// The words of the enum of reasons as JSON has them.
fn vm_reasons(source: &str) -> impl Iterator<Item = (usize, String)> {
    let lines = (1..)
        .zip(source.lines())
        .skip_while(|(_, line)| *line != VM_REASONS)
        .skip(1);
    let mut renamed = None;
    lines
        .take_while(|(_, line)| *line != "}")
        .filter_map(move |(number, line)| {
            let line = line.trim();
            if let Some(rename) = line.strip_prefix("#[serde(rename = \"") {
                renamed = rename.split('"').next().map(str::to_owned);
                return None;
            }
            let variant = line.strip_suffix(',')?;
            if !variant.chars().all(char::is_alphanumeric) {
                return None;
            }
            Some((
                number,
                renamed.take().unwrap_or_else(|| snake_case(variant)),
            ))
        })
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// The text below each third-level heading, with the heading's line.
fn sections(page: &str) -> BTreeMap<&str, (usize, String)> {
    let mut sections = BTreeMap::new();
    let mut open: Option<&str> = None;
    for (number, line) in (1..).zip(page.lines()) {
        if line.starts_with('#') {
            open = line.strip_prefix("### ");
            if let Some(name) = open {
                sections.insert(name, (number, String::new()));
            }
        } else if let Some((_, text)) = open.and_then(|name| sections.get_mut(name)) {
            text.push_str(line);
            text.push('\n');
        }
    }
    sections
}

/// The words in the first cells of the table of VM reasons.
fn rows_of_reasons(page: &str) -> impl Iterator<Item = (&str, usize)> {
    let (_, prose) = markdown::split(page);
    let table = prose
        .into_iter()
        .skip_while(|(_, line)| *line != "## Why a VM failed");
    table.filter_map(|(number, line)| Some((line.strip_prefix("| `")?.split('`').next()?, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str =
        "Problem::conflict(x)\n    .kind(\n        \"no-room\", \"No room\")\nerror.kind()";
    const ENUM: &str = "pub enum FailureReason {\n    /// Doc.\n    BootDeadline,\n    #[serde(rename = \"gone\")]\n    Ended,\n}\n";

    fn page(kind: &str, reasons: &[&str]) -> String {
        let rows: String = reasons
            .iter()
            .map(|reason| format!("| `{reason}` | x | y |\n"))
            .collect();
        format!(
            "## By type\n\n### {kind}\n\nWhat happened: x\n\nWhat to do: y\n\n```json\n{{\"type\": \"{PREFIX}{kind}\"}}\n```\n\n\
             ## Why a VM failed\n\n| Reason | x | y |\n|---|---|---|\n{rows}"
        )
    }

    fn found(page: &str) -> Vec<String> {
        let sources = [("web/a/src/b.rs", SOURCE), ("actors/c/src/d.rs", ENUM)];
        let findings = check(sources.into_iter(), page);
        findings
            .iter()
            .map(|finding| format!("{} {}", finding.place, finding.text))
            .collect()
    }

    #[test]
    fn code_and_page_name_the_same() {
        assert_eq!(found(&page("no-room", &["boot_deadline", "gone"])), [""; 0]);
    }

    #[test]
    fn what_is_on_one_side_only_is_found() {
        assert_eq!(
            found(&page("overloaded", &["boot_deadline", "lost"])),
            [
                "web/a/src/b.rs:2 the problem `no-room` lacks `### no-room` in docs/PROBLEMS.md",
                "docs/PROBLEMS.md:3 no edge answers `overloaded`",
                "actors/c/src/d.rs:5 the reason `gone` is not in docs/PROBLEMS.md",
                "docs/PROBLEMS.md:18 no VM fails by `lost`",
            ]
        );
    }

    #[test]
    fn an_entry_says_what_to_do_and_has_an_example() {
        let page = page("no-room", &["boot_deadline", "gone"]);
        let without = page
            .replace("What to do:", "Then:")
            .replace("\"type\"", "\"kind\"");
        assert_eq!(
            found(&without),
            [
                "web/a/src/b.rs:2 the problem `no-room` lacks `What to do:` in docs/PROBLEMS.md",
                "web/a/src/b.rs:2 the problem `no-room` lacks `\"type\": \"urn:orrery:problem:no-room\"` in docs/PROBLEMS.md",
            ]
        );
    }
}

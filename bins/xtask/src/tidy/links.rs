//! Links and paths in the documentation: what they point at is there.

use super::finding::Finding;
use super::markdown;
use super::tree::FileTree;

/// The folders of sources: a path in code that begins with one is meant from the root.
const SOURCES: [&str; 4] = ["actors/", "web/", "bins/", "integration-tests/"];

/// Checks the relative links of one Markdown file, and the paths of sources that it names.
pub(super) fn check(path: &str, text: &str, tree: &FileTree) -> Vec<Finding> {
    let (_, prose) = markdown::split(text);
    let mut findings = Vec::new();
    for (number, line) in prose {
        for target in targets(&markdown::without_code(line)) {
            let problem = broken(path, &target, tree);
            findings
                .extend(problem.map(|problem| Finding::error(format!("{path}:{number}"), problem)));
        }
        for file in source_paths(line).filter(|file| !tree.holds(file)) {
            let text = format!("there is no `{file}` in this checkout");
            findings.push(Finding::error(format!("{path}:{number}"), text));
        }
    }
    findings
}

/// Why a link leads nowhere; `None` for one that is fine or leaves the checkout by `http`.
fn broken(path: &str, target: &str, tree: &FileTree) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = if file.is_empty() {
        Some(path.to_owned())
    } else {
        resolve(path, file)
    };
    let Some(file) = file.filter(|file| tree.holds(file)) else {
        return Some(format!(
            "the link `{target}` leads to no file of this checkout"
        ));
    };
    let known = anchor.is_empty() || !file.ends_with(".md") || {
        tree.text(&file)
            .is_some_and(|text| markdown::anchors(text).iter().any(|known| known == anchor))
    };
    (!known).then(|| format!("the link `{target}` leads to no heading of {file}"))
}

/// The paths of sources in a line's `code spans`; `a/{b,c}.rs` is two, patterns are none.
fn source_paths(line: &str) -> impl Iterator<Item = String> {
    let spans = line.split('`').skip(1).step_by(2);
    let is_path = |span: &&str| {
        SOURCES.iter().any(|folder| span.starts_with(folder))
            && !span.contains(['*', '…', '<', ' ', ':'])
    };
    spans.filter(is_path).flat_map(|span| {
        let group = span.split_once('{').and_then(|(before, rest)| {
            let (names, after) = rest.split_once('}')?;
            Some((before, names, after))
        });
        match group {
            None => vec![span.to_owned()],
            Some((before, names, after)) => {
                let paths = names
                    .split(',')
                    .map(|name| format!("{before}{name}{after}"));
                paths.collect()
            }
        }
    })
}

/// The path from the root that `link` means in the file `from`; `None` when it leaves the root.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The targets of `[text](target)` and `[text](target "title")`, and of `src="…"` in HTML.
fn targets(line: &str) -> Vec<String> {
    let links = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let pictures = line
        .split("src=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    links
        .chain(pictures)
        .filter(|target| !target.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_and_headings() {
        let tree = FileTree::from_files(&[
            ("README.md", "# Orrery\n"),
            ("docs/A.md", "# One\n## Two words\n"),
            ("docs/adr/0001.md", "# First\n"),
            ("web/a/src/b.rs", "//! B.\n"),
        ]);
        for (path, text, problems) in [
            (
                "README.md",
                "[a](docs/A.md) and [b](docs/A.md#two-words), [c](docs)",
                0,
            ),
            ("README.md", "[a](https://example.org/x) `[b](nowhere)`", 0),
            ("README.md", "```\n[a](nowhere)\n```", 0),
            (
                "docs/A.md",
                "[a](../README.md) [b](adr/0001.md) [c](#one)",
                0,
            ),
            ("README.md", "[a](docs/B.md)", 1),
            ("README.md", "[a](docs/A.md#three)", 1),
            ("docs/A.md", "[a](docs/adr/0001.md) [b](#three)", 2),
            ("README.md", "[a](../outside.md)", 1),
            ("README.md", "<img src=\"docs/picture.svg\">", 1),
            (
                "README.md",
                "`web/a/src` `web/a/src/{b,c}.rs` `web/*/x` `x/y.rs`",
                1,
            ),
        ] {
            assert_eq!(check(path, text, &tree).len(), problems, "{path}: {text}");
        }
    }
}

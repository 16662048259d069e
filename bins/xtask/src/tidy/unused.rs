//! Libraries that a member's manifest names and none of its sources uses.

use std::path::{Component, Path, PathBuf};

use toml::Table;

use super::finding::Finding;
use super::manifests::{self, DEV};

/// Checks a member in `folder` against all sources of the checkout.
pub(super) fn check<'a>(
    folder: &str,
    manifest: &Table,
    sources: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Vec<Finding> {
    let own = sources
        .clone()
        .filter(|(path, _)| Path::new(path).starts_with(folder));
    let shared: Vec<PathBuf> = own
        .clone()
        .flat_map(|(path, text)| included(path, text))
        .collect();
    // Files of another member that this one's tests are compiled with.
    let others = sources.filter(|(path, _)| shared.iter().any(|one| one == Path::new(path)));
    let texts: Vec<&str> = own.chain(others).map(|(_, text)| text).collect();
    let names = manifests::dependencies(manifest).into_iter();
    let unused = names.filter(|(_, name, _)| {
        let name = name.replace('-', "_");
        !texts.iter().any(|text| uses(text, &name))
    });
    let place = format!("{folder}/Cargo.toml");
    unused
        .map(|(section, name, _)| {
            let of = if section == DEV { "no test" } else { "nothing" };
            Finding::error(&place, format!("[{section}] {name}: {of} here uses it"))
        })
        .collect()
}

/// Whether a source names something of a library: `name::…`, `use name;`, `use name as …`.
fn uses(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + name.len()..];
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            && [":", ";", " as "]
                .iter()
                .any(|next| after.starts_with(next))
    })
}

/// The files that a source takes in from other folders by `#[path = "../…"]`.
fn included(path: &str, text: &str) -> Vec<PathBuf> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let named = text.match_indices("#[path = \"../").filter_map(|(at, _)| {
        let name = text[at..].split('"').nth(1)?;
        Some(without_dots(&folder.join(name)))
    });
    named.collect()
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[dependencies]\nserde-json.workspace = true\ntime.workspace = true\n\
        [dev-dependencies]\nvt100.workspace = true\n[target.'cfg(unix)'.dependencies]\nnix.workspace = true\n";

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        let manifest = manifests::parse("a/Cargo.toml", MANIFEST).expect("the example is TOML");
        let findings = check("bins/a", &manifest, sources.iter().copied());
        findings.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn i14_libraries_that_nothing_uses_are_found() {
        let all = [
            "[dependencies] serde-json: nothing here uses it",
            "[dependencies] time: nothing here uses it",
            "[dev-dependencies] vt100: no test here uses it",
            "[dependencies] nix: nothing here uses it",
        ];
        assert_eq!(found(&[]), all);
        let words = "// the time\nlet time = my_nix::x(time);\nuse vt1000;\n";
        let others = ("bins/ab/src/lib.rs", "time::f(); serde_json::f();");
        assert_eq!(found(&[("bins/a/src/lib.rs", words), others]), all);
    }

    #[test]
    fn what_is_used_here_or_in_a_file_that_is_taken_in_passes() {
        let own = "use serde_json as json;\nextern crate nix;\nfn f() { time::now() }\n\
            #[path = \"../../b/tests/pty.rs\"]\nmod pty;\n";
        let sources = [
            ("bins/a/tests/x.rs", own),
            ("bins/b/tests/pty.rs", "use vt100::Parser;"),
        ];
        assert_eq!(found(&sources), [""; 0]);
        assert_eq!(
            found(&sources[..1]),
            ["[dev-dependencies] vt100: no test here uses it"]
        );
    }
}

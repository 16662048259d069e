//! A public type's name stands in one file of production, but for those that docs/GLOSSARY.md lists
//! with a reason. A private type's may stand in several: nobody meets two of them in one place.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::names::{NameDefinition, PAGE, SEVERAL_TYPES, rows, terms};
use super::rust_text::is_test_file;

/// Checks the public types of production against each other and the page's list.
pub(super) fn check<'a>(
    files: impl Iterator<Item = (&'a str, &'a [NameDefinition])>,
    page: &str,
) -> Vec<Finding> {
    let mut types: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    let production = files
        .filter(|(path, _)| path.contains("/src/") && !is_test_file(path))
        .filter(|(path, _)| !path.starts_with("integration-tests/"));
    for (path, definitions) in production {
        for definition in definitions.iter().filter(|one| one.is_public_type) {
            let lines = types.entry(&definition.name).or_default();
            lines.entry(path).or_insert(definition.line);
        }
    }
    types.retain(|_, lines| lines.len() > 1);
    let mut findings = Vec::new();
    let listed = listed(page, &types, &mut findings);
    for (name, lines) in types.iter().filter(|(name, _)| !listed.contains(*name)) {
        let mut places = lines.iter();
        let Some((first, _)) = places.next() else {
            continue;
        };
        for (path, line) in places {
            let text = format!(
                "`{name}` is a public type in {first} already: give each a full name that says its role"
            );
            findings.push(Finding::error(format!("{path}:{line}"), text));
        }
    }
    findings
}

/// The names that the page allows several types, and what is wrong with its rows.
fn listed<'p>(
    page: &'p str,
    doubled: &BTreeMap<&str, BTreeMap<&str, usize>>,
    findings: &mut Vec<Finding>,
) -> BTreeSet<&'p str> {
    let terms: BTreeSet<&str> = terms(page).map(|(_, name)| name).collect();
    let mut listed = BTreeSet::new();
    for (number, cells) in rows(page, |heading| heading == SEVERAL_TYPES) {
        let mut broken =
            |text: String| findings.push(Finding::error(format!("{PAGE}:{number}"), text));
        let name = cells.first().and_then(|cell| cell.split('`').nth(1));
        let (Some(name), [_, reason]) = (name, cells.as_slice()) else {
            broken("two cells: the name in backticks, why several types have it".to_owned());
            continue;
        };
        if reason.is_empty() {
            broken(format!("`{name}`: why do several types have this name?"));
        }
        if terms.contains(name) {
            broken(format!("`{name}` is a term: it names one type"));
        }
        if !doubled.contains_key(name) {
            broken(format!(
                "`{name}` is one type now, or none: take the row out"
            ));
        }
        listed.insert(name);
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::super::names::defined;
    use super::*;

    const TERMS: &str =
        "# Terms\n\n## All\n\n| Term | Means | Type |\n|---|---|---|\n| role | x | `Role` |\n";

    fn found(files: &[(&str, &str)], rows: &str) -> Vec<String> {
        let files: Vec<(&str, Vec<NameDefinition>)> = files
            .iter()
            .map(|(path, text)| (*path, defined(&syn::parse_file(text).expect("it is Rust"))))
            .collect();
        let files = files.iter().map(|(path, names)| (*path, names.as_slice()));
        let page = format!("{TERMS}\n## {SEVERAL_TYPES}\n\n| Name | Why |\n|---|---|\n{rows}");
        let findings = check(files, &page);
        findings.into_iter().map(|one| one.place).collect()
    }

    #[test]
    fn i14_a_public_types_name_in_two_files_is_refused() {
        let plan = "\npub struct Plan;";
        let core = ("actors/runner-core/src/plan.rs", plan);
        for (other, text, expected) in [
            ("actors/search-core/src/a.rs", plan, true),
            (
                "actors/search-core/src/a.rs",
                "\npub(crate) enum Plan {}",
                true,
            ),
            (
                "web/runner-web/src/a.rs",
                "\npub(super) type Plan = u8;",
                true,
            ),
            ("bins/xtask/src/a.rs", "\npub trait Plan {}", true),
            ("actors/search-core/src/a.rs", "struct Plan;", false),
            ("actors/search-core/src/a.rs", "pub struct Plans;", false),
            ("actors/search-core/tests/a.rs", plan, false),
            ("actors/search-core/src/tests.rs", plan, false),
            ("integration-tests/x/src/a.rs", plan, false),
        ] {
            let found = found(&[core, (other, text)], "");
            let place = expected.then(|| format!("{}:2", other.max(core.0)));
            assert_eq!(found, Vec::from_iter(place), "{other} {text}");
        }
        let twice = "#[cfg(a)]\npub struct Plan;\n#[cfg(b)]\npub struct Plan;";
        assert_eq!(found(&[("actors/a/src/a.rs", twice)], ""), [""; 0]);
    }

    #[test]
    fn i14_a_name_is_listed_with_a_reason_and_only_while_several_types_have_it() {
        let text = "pub struct Plan;\npub struct Role;";
        let files = [
            ("actors/a/src/a.rs", "pub struct Plan;"),
            ("bins/b/src/b.rs", text),
        ];
        assert_eq!(
            found(&files, "| `Plan` | each program has one |\n"),
            [""; 0]
        );
        for row in [
            "| `Plan` | |\n",
            "| Plan | x |\n",
            "| `Plan` | x | y |\n",
            "| `Other` | x |\n",
        ] {
            let found = found(&files, row);
            assert!(found.iter().any(|place| place.starts_with(PAGE)), "{row}");
        }
        let of_roles = [files[1], ("actors/c/src/c.rs", "pub struct Role;")];
        let found = found(&of_roles, "| `Role` | x |\n");
        assert_eq!(found.len(), 1, "a term is one type: {found:?}");
        assert!(found[0].starts_with(PAGE), "{found:?}");
    }
}

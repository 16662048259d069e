//! A term of docs/GLOSSARY.md is one public type in what a product consists of.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::layers::product;
use super::names::{NameDefinition, PAGE, terms};
use super::rust_text::is_test_file;

/// Terms that have two types still; none comes in, and one that has one type goes.
const KNOWN: [&str; 4] = ["Source", "Template", "Verdict", "Vm"];

/// Checks the public types of production against the page's terms. What belongs to no product is a
/// part of each.
pub(super) fn check<'a>(
    files: impl Iterator<Item = (&'a str, &'a [NameDefinition])>,
    page: &str,
    known: &[&str],
) -> Vec<Finding> {
    let mut types: BTreeMap<&str, Vec<String>> =
        terms(page).map(|(_, name)| (name, Vec::new())).collect();
    let production = files
        .filter(|(path, _)| path.contains("/src/") && !is_test_file(path))
        .filter(|(path, _)| !path.starts_with("integration-tests/"));
    for (path, definitions) in production {
        for definition in definitions.iter().filter(|one| one.is_public_type) {
            if let Some(places) = types.get_mut(definition.name.as_str()) {
                places.push(format!("{path}:{}", definition.line));
            }
        }
    }
    let mut findings = Vec::new();
    for (name, places) in types {
        let twice = places.iter().enumerate().find_map(|(at, place)| {
            let mut before = places[..at].iter();
            let other = before.find(|other| share_product(other, place))?;
            Some((place, other))
        });
        let is_known = known.contains(&name);
        match twice {
            Some((place, other)) if !is_known => {
                let text = format!(
                    "`{name}` is a term, and a type in {other} already: {PAGE} has what each is called"
                );
                findings.push(Finding::error(place, text));
            }
            None if is_known => {
                let text = format!("`{name}` is one type now: take it out of the list in tidy");
                findings.push(Finding::error(PAGE, text));
            }
            _ => {}
        }
    }
    findings
}

/// The rule over the checkout.
pub(super) fn check_all<'a>(
    files: impl Iterator<Item = (&'a str, &'a [NameDefinition])>,
    page: &str,
) -> Vec<Finding> {
    check(files, page, &KNOWN)
}

/// Whether a product has both files.
fn share_product(one: &str, other: &str) -> bool {
    let of = |path: &str| path.split('/').nth(1).and_then(product);
    match (of(one), of(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::defined;
    use super::*;

    const PAGE_OF_TERMS: &str =
        "# Terms\n\n## All\n\n| Term | Means | Type |\n|---|---|---|\n| role | x | `Role` |\n";

    fn found(files: &[(&str, &str)], known: &[&str]) -> Vec<String> {
        let files: Vec<(&str, Vec<NameDefinition>)> = files
            .iter()
            .map(|(path, text)| (*path, defined(&syn::parse_file(text).expect("it is Rust"))))
            .collect();
        let files = files.iter().map(|(path, names)| (*path, names.as_slice()));
        let findings = check(files, PAGE_OF_TERMS, known);
        findings.into_iter().map(|one| one.place).collect()
    }

    #[test]
    fn i14_a_term_that_is_two_types_in_a_product_is_refused() {
        let role = "\npub struct Role;";
        let search = ("actors/search-core/src/role.rs", role);
        for (other, expected) in [
            (
                "actors/search-web/src/a.rs",
                Some("actors/search-web/src/a.rs:2"),
            ),
            (
                "actors/http-clients/src/a.rs",
                Some("actors/http-clients/src/a.rs:2"),
            ),
            ("actors/runner-core/src/a.rs", None),
            ("actors/search-web/tests/a.rs", None),
            ("actors/search-web/src/tests.rs", None),
            ("integration-tests/x/src/a.rs", None),
        ] {
            let found = found(&[search, (other, role)], &[]);
            assert_eq!(found.first().map(String::as_str), expected, "{other}");
        }
        let private = (
            "actors/search-web/src/a.rs",
            "pub(crate) enum Role {}\nstruct Other;",
        );
        assert_eq!(found(&[search, private], &[]), [""; 0]);
    }

    #[test]
    fn the_list_of_known_ones_only_shrinks() {
        let role = "pub struct Role;";
        let twice = [("actors/a/src/a.rs", role), ("actors/b/src/b.rs", role)];
        assert_eq!(found(&twice, &["Role"]), [""; 0]);
        assert_eq!(found(&twice[..1], &["Role"]), [PAGE]);
    }
}

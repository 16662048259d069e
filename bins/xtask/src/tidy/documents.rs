//! The architecture page names every package, and the index every page.

use super::finding::Finding;
use super::packages::Package;

/// Where the map of the packages is.
pub(super) const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";

/// Checks that each package of actors, web and bins stands in the page, as code.
pub(super) fn check_named(packages: &[Package], page: &str) -> Vec<Finding> {
    let grouped = |package: &&Package| {
        ["actors/", "web/", "bins/"]
            .iter()
            .any(|group| package.folder.starts_with(group))
    };
    let missing = packages
        .iter()
        .filter(grouped)
        .filter(|package| !page.contains(&format!("`{}`", package.name)));
    missing
        .map(|package| {
            Finding::error(
                ARCHITECTURE,
                format!("`{}` is not named: say what it is for", package.name),
            )
        })
        .collect()
}

/// The one page that leads to all others.
pub(super) const INDEX: &str = "docs/README.md";

/// Checks that each page below `docs` is linked from the index.
pub(super) fn check_indexed<'a>(pages: impl Iterator<Item = &'a str>, index: &str) -> Vec<Finding> {
    pages
        .filter_map(|page| {
            page.strip_prefix("docs/")
                .filter(|name| name.ends_with(".md"))
        })
        .filter(|name| *name != "README.md" && !index.contains(&format!("]({name})")))
        .map(|name| {
            Finding::error(
                INDEX,
                format!("docs/{name} is not linked: say what it is for"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_the_index_does_not_link_is_found() {
        let pages = [
            "docs/README.md",
            "docs/A.md",
            "docs/adr/1.md",
            "docs/a.svg",
            "README.md",
        ];
        let found = check_indexed(pages.into_iter(), "[A](A.md) and docs/adr/1.md");
        assert_eq!(
            found,
            [Finding::error(
                INDEX,
                "docs/adr/1.md is not linked: say what it is for"
            )]
        );
    }

    #[test]
    fn a_package_that_the_page_does_not_name_is_found() {
        let packages = [
            Package::example("actors/store", &[]),
            Package::example("integration-tests", &[]),
        ];
        assert_eq!(check_named(&packages, "`store` keeps"), []);
        assert_eq!(
            check_named(&packages, "a restore of the stored"),
            [Finding::error(
                ARCHITECTURE,
                "`store` is not named: say what it is for"
            )]
        );
    }
}

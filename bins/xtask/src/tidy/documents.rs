//! The architecture page names every package.

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

#[cfg(test)]
mod tests {
    use super::*;

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

//! `bins/dist/debian/packages.toml`: what packages there are, and what is in each.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// All packages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Descriptions {
    /// Debian's section of all of them.
    pub(super) section: String,
    /// Who makes them.
    pub(super) maintainer: String,
    /// Each.
    pub(super) package: Vec<Description>,
}

/// A file of `bins/dist/debian`, and its place on the machine.
pub(super) type PackagedFile = (String, String);

/// One package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    /// Its name.
    pub(super) name: String,
    /// A line, without an article and a full stop.
    pub(super) summary: String,
    /// What it is for, in sentences.
    pub(super) description: String,
    /// `all` for files that are the same everywhere; that of the programs without it.
    pub(super) architecture: Option<String>,
    /// Whether it carries the documentation and the samples.
    #[serde(default)]
    pub(super) documents: bool,
    /// Programs for `/usr/bin`, with their manuals and completions.
    #[serde(default)]
    pub(super) programs: Vec<String>,
    /// Static programs for `/usr/lib/orrery`.
    #[serde(default)]
    pub(super) libraries: Vec<String>,
    /// Packages without which it does not work, beside the libraries of its programs.
    #[serde(default)]
    pub(super) depends: Vec<String>,
    /// Packages that are installed with it unless somebody objects.
    #[serde(default)]
    pub(super) recommends: Vec<String>,
    /// Packages that some will want.
    #[serde(default)]
    pub(super) suggests: Vec<String>,
    /// Its service: a file of `bins/dist/systemd` without `.service`.
    pub(super) unit: Option<String>,
    /// Whether the service starts with the installation, because it needs nothing to be told.
    #[serde(default)]
    pub(super) starts: bool,
    /// The user it runs as.
    pub(super) user: Option<String>,
    /// Its folder below `/var/lib`.
    pub(super) state: Option<String>,
    /// The command that says whether a start would work.
    pub(super) check: Option<String>,
    /// Files that an administrator changes and upgrades leave alone.
    #[serde(default)]
    pub(super) configuration: Vec<PackagedFile>,
    /// Other files.
    #[serde(default)]
    pub(super) files: Vec<PackagedFile>,
}

impl Descriptions {
    /// Reads the descriptions of the checkout.
    ///
    /// # Errors
    /// When the file is missing or wrong.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let path = root.join("bins/dist/debian/packages.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("{} cannot be read", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is wrong", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::programs::PROGRAMS;

    fn descriptions() -> Descriptions {
        Descriptions::read(&std::path::absolute("../..").expect("a folder to work in"))
            .expect("the descriptions can be read")
    }

    #[test]
    fn every_program_and_every_unit_is_in_one_package() {
        let all = descriptions();
        let of = |list: fn(&Description) -> Vec<String>| {
            let mut names: Vec<String> = all.package.iter().flat_map(list).collect();
            names.sort();
            names
        };
        let mut programs = PROGRAMS.map(str::to_owned).to_vec();
        programs.sort();
        assert_eq!(of(|package| package.programs.clone()), programs);
        assert_eq!(of(|package| package.libraries.clone()), ["vm-guest"]);

        let units = std::path::absolute("../dist/systemd").expect("a folder to work in");
        let mut files: Vec<String> = std::fs::read_dir(units)
            .expect("the units are there")
            .map(|entry| entry.expect("a file").path())
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        files.sort();
        assert_eq!(
            of(|package| package.unit.clone().into_iter().collect()),
            files
        );
    }

    #[test]
    fn a_service_has_all_that_its_scripts_need() {
        for package in descriptions().package {
            let service = package.unit.is_some();
            assert_eq!(package.user.is_some(), service, "{}", package.name);
            assert_eq!(package.state.is_some(), service, "{}", package.name);
            assert_eq!(package.check.is_some(), service, "{}", package.name);
        }
    }
}

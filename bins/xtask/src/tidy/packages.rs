//! The workspace's packages as the rules see them.

use anyhow::{Context, Result};
use cargo_metadata::DependencyKind;

use crate::project::ProjectCheckout;

/// Why a package needs another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DependencyUse {
    /// To run or to build.
    Normal,
    /// For its tests, examples and benchmarks.
    Dev,
}

/// One package of the workspace.
#[derive(Debug, Clone)]
pub(super) struct Package {
    /// Its name in Cargo.toml.
    pub(super) name: String,
    /// Its folder from the root, as `actors/store`.
    pub(super) folder: String,
    /// What it needs, by the other package's real name.
    pub(super) dependencies: Vec<(String, DependencyUse)>,
    /// The names of its binaries.
    pub(super) bins: Vec<String>,
    /// The names of its benchmarks.
    pub(super) benches: Vec<String>,
    /// The root files of its library and programs, from the checkout's root.
    pub(super) roots: Vec<String>,
}

/// The packages that `cargo metadata` lists.
///
/// # Errors
/// When a manifest is broken.
pub(super) fn read(project: &ProjectCheckout) -> Result<Vec<Package>> {
    let metadata = project.metadata()?;
    metadata
        .packages
        .iter()
        .map(|package| load_package(project, package))
        .collect()
}

fn load_package(project: &ProjectCheckout, package: &cargo_metadata::Package) -> Result<Package> {
    let folder = package
        .manifest_path
        .parent()
        .context("a manifest has a folder")?;
    let folder = folder.as_std_path().strip_prefix(&project.root);
    let folder = folder.with_context(|| format!("{} is outside the checkout", package.name))?;
    let dependencies = package.dependencies.iter().map(|dependency| {
        let dev = dependency.kind == DependencyKind::Development;
        (
            dependency.name.clone(),
            if dev {
                DependencyUse::Dev
            } else {
                DependencyUse::Normal
            },
        )
    });
    let targets = |wanted: fn(&cargo_metadata::Target) -> bool| {
        package
            .targets
            .iter()
            .filter(move |target| wanted(target))
            .map(|target| target.name.clone())
            .collect()
    };
    let built = |target: &&cargo_metadata::Target| {
        target.is_lib() || target.is_bin() || target.is_proc_macro()
    };
    let roots = package.targets.iter().filter(built).filter_map(|target| {
        let path = target.src_path.strip_prefix(&project.root).ok()?;
        Some(path.as_str().replace('\\', "/"))
    });
    Ok(Package {
        roots: roots.collect(),
        name: package.name.to_string(),
        folder: folder.to_string_lossy().replace('\\', "/"),
        dependencies: dependencies.collect(),
        bins: targets(cargo_metadata::Target::is_bin),
        benches: targets(cargo_metadata::Target::is_bench),
    })
}

#[cfg(test)]
impl Package {
    /// A package in `folder` (its last part is the name) that needs `dependencies`.
    pub(super) fn example(folder: &str, dependencies: &[(&str, DependencyUse)]) -> Self {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            dependencies: dependencies
                .iter()
                .map(|(name, kind)| ((*name).to_owned(), *kind))
                .collect(),
            bins: if folder.starts_with("bins/") {
                vec![name.to_owned()]
            } else {
                Vec::new()
            },
            benches: Vec::new(),
            roots: Vec::new(),
        }
    }
}

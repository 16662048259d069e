//! Where things are: the checkout, its build folder, and the cache folder outside of it.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};

/// The checkout that this run works on.
#[derive(Debug)]
pub(crate) struct ProjectCheckout {
    /// The folder of the root Cargo.toml.
    pub(crate) root: PathBuf,
    /// Outside the checkout: installed tools, browser packages, fuzz corpora, the quick start's
    /// data.
    pub(crate) cache: PathBuf,
}

impl ProjectCheckout {
    /// The project this program was started in, by `cargo run` or from any folder inside of it.
    ///
    /// # Errors
    /// When neither the environment nor the current folder leads to a workspace.
    pub(crate) fn find() -> Result<Self> {
        let start = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => env::current_dir().context("the current folder cannot be read")?,
        };
        let root = workspace_root(&start)?;
        let cache = cache_folder(|name| env::var_os(name).map(PathBuf::from))?;
        Ok(Self { root, cache })
    }

    /// The workspace's packages, without their dependencies; needs no network.
    ///
    /// # Errors
    /// When a manifest is broken; cargo's own message says which.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        MetadataCommand::new()
            .manifest_path(self.root.join("Cargo.toml"))
            .no_deps()
            .other_options(vec!["--offline".to_owned()])
            .exec()
            .context("cargo metadata failed")
    }

    /// The folder that cargo builds into.
    ///
    /// # Errors
    /// As [`ProjectCheckout::metadata`].
    pub(crate) fn target(&self) -> Result<PathBuf> {
        Ok(self.metadata()?.target_directory.into_std_path_buf())
    }
}

/// The nearest folder from `start` upwards whose Cargo.toml declares a workspace.
fn workspace_root(start: &Path) -> Result<PathBuf> {
    for folder in start.ancestors() {
        let manifest = folder.join("Cargo.toml");
        if std::fs::read_to_string(manifest).is_ok_and(|text| text.contains("[workspace]")) {
            return Ok(folder.to_owned());
        }
    }
    bail!(
        "no Cargo workspace at or above {}; run this inside a checkout",
        start.display()
    )
}

/// `ORRERY_CACHE`, else `XDG_CACHE_HOME/orrery`, else `HOME/.cache/orrery`; the same as `.ci/run`.
fn cache_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.as_os_str().is_empty());
    if let Some(folder) = set("ORRERY_CACHE") {
        return Ok(folder);
    }
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let base = base.context("neither ORRERY_CACHE, XDG_CACHE_HOME nor HOME is set; set one")?;
    Ok(base.join("orrery"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_of(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let variables = variables.to_vec();
        let find = move |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| PathBuf::from(value))
        };
        cache_folder(find).ok()
    }

    #[test]
    fn the_cache_folder_follows_the_environment() {
        let both = [
            ("ORRERY_CACHE", "/c"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
        ];
        assert_eq!(cache_of(&both), Some("/c".into()));
        assert_eq!(cache_of(&both[1..]), Some("/x/orrery".into()));
        assert_eq!(cache_of(&both[2..]), Some("/h/.cache/orrery".into()));
        assert_eq!(
            cache_of(&[("ORRERY_CACHE", ""), ("HOME", "/h")]),
            Some("/h/.cache/orrery".into())
        );
        assert_eq!(cache_of(&[]), None);
    }

    #[test]
    fn the_root_is_found_from_inside_and_not_from_outside() {
        let project = ProjectCheckout::find().expect("tests run inside the checkout");
        assert!(project.root.join("bins/xtask/Cargo.toml").is_file());
        assert!(workspace_root(Path::new("/")).is_err());
    }
}

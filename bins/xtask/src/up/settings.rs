//! The quick start's settings: one role over real folders.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use toml::Table;

/// The role's name, in the page and in the terminal client.
const ROLE: &str = "Quick start";

/// A folder to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    name: String,
    folder: PathBuf,
    glob: Option<String>,
}

impl Source {
    /// A folder with its display name, and the files wanted of it.
    pub(super) fn new(name: &str, folder: &Path, glob: Option<&str>) -> Self {
        Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            glob: glob.map(str::to_owned),
        }
    }

    /// A folder named by itself.
    ///
    /// # Errors
    /// When it is not there.
    pub(super) fn folder(folder: &Path) -> Result<Self> {
        let folder = folder
            .canonicalize()
            .with_context(|| format!("{} cannot be opened", folder.display()))?;
        let name = folder
            .file_name()
            .unwrap_or(folder.as_os_str())
            .to_string_lossy()
            .into_owned();
        Ok(Self::new(&name, &folder, None))
    }

    fn haystack(&self) -> Value {
        let extra = self
            .glob
            .as_ref()
            .map_or_else(|| json!({}), |glob| json!({ "glob": glob }));
        json!({ "name": self.name, "service": "LocalFiles", "location": self.folder, "extra_parameters": extra })
    }
}

/// Writes `platform.toml` and `roles.json` into `data` and returns the former's path.
///
/// # Errors
/// When the folder cannot be written.
pub(super) fn write(data: &Path, address: SocketAddr, sources: &[Source]) -> Result<PathBuf> {
    std::fs::create_dir_all(data).with_context(|| format!("{} cannot be made", data.display()))?;
    let data = data.canonicalize()?;
    let (roles, platform) = (data.join("roles.json"), data.join("platform.toml"));
    let save = |path: &Path, text: String| {
        std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
    };
    save(&roles, serde_json::to_string_pretty(&roles_text(sources))?)?;
    save(&platform, platform_text(&data, &roles, address)?)?;
    Ok(platform)
}

fn roles_text(sources: &[Source]) -> Value {
    let haystacks: Vec<Value> = sources.iter().map(Source::haystack).collect();
    let role = json!({ "name": ROLE, "relevance_function": "BM25F", "theme": "spacelab", "haystacks": haystacks });
    json!({ "roles": [role], "default_role": ROLE })
}

fn platform_text(data: &Path, roles: &Path, address: SocketAddr) -> Result<String> {
    let path = |path: &Path| {
        path.to_str()
            .map(str::to_owned)
            .context("the data folder's name is not UTF-8")
    };
    let search = Table::from_iter([
        ("settings".to_owned(), path(roles)?.into()),
        ("listen".to_owned(), address.to_string().into()),
    ]);
    let whole = Table::from_iter([
        ("data_dir".to_owned(), path(&data.join("state"))?.into()),
        ("search".to_owned(), search.into()),
    ]);
    toml::to_string(&whole).context("the settings are plain values")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_written_and_lead_to_each_other() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("a \"b\"");
        let sources = [
            Source::folder(folder.path()).expect("it is there"),
            Source::new("Docs", Path::new("/d"), Some("*.md")),
        ];
        let path = write(
            &data,
            "127.0.0.1:8001".parse().expect("an address"),
            &sources,
        )
        .expect("it is writable");
        let text = std::fs::read_to_string(path).expect("it was written");
        let platform: Table = text.parse().expect("it is TOML");
        assert_eq!(
            platform["search"]["listen"].as_str(),
            Some("127.0.0.1:8001")
        );
        let roles = platform["search"]["settings"].as_str().expect("a path");
        let roles = std::fs::read_to_string(roles).expect("it was written");
        let roles: Value = serde_json::from_str(&roles).expect("it is JSON");
        assert_eq!(roles["default_role"], roles["roles"][0]["name"]);
        assert_eq!(
            roles["roles"][0]["haystacks"][1]["extra_parameters"]["glob"],
            "*.md"
        );
        assert!(Source::folder(&folder.path().join("nowhere")).is_err());
    }
}

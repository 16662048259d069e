//! The submodules that a commit names: read as data, never followed by git itself.

use forge_core::{CommitSha, ObjectFormats};

use crate::error::GitError;
use crate::work_tree::WorkTree;

/// Bytes of a listing of all entries.
const MAX_LISTING: usize = 128 << 20;
/// Bytes of what `.gitmodules` says.
const MAX_SETTINGS: usize = 1 << 20;

/// A commit of another repository, at a path of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submodule {
    /// Where it lies.
    pub path: String,
    /// What the repository calls it; empty where it does not say.
    pub name: String,
    /// Where it comes from, as written; empty where nothing is said.
    pub url: String,
    /// Which commit.
    pub commit: CommitSha,
}

impl WorkTree {
    /// The submodules of a commit, by their paths.
    ///
    /// # Errors
    /// When the commit is not here.
    pub fn submodules(&self, commit: &CommitSha) -> Result<Vec<Submodule>, GitError> {
        let listing = self.call("ls-tree").at_most(MAX_LISTING);
        let listing = listing.args(["-r", "-z", "--full-tree", commit.as_str()]);
        let mut found: Vec<Submodule> = listing
            .output()?
            .split(|byte| *byte == 0)
            .filter_map(entry)
            .collect();
        if found.is_empty() {
            return Ok(found);
        }
        let blob = format!("{}:.gitmodules", commit.as_str());
        let settings = self.call("config").at_most(MAX_SETTINGS);
        let settings = settings.args(["--blob", &blob, "-z", "--get-regexp", "^submodule\\."]);
        // Without the file nothing is said of any.
        let settings = match settings.output() {
            Err(GitError::Failed { .. }) => Vec::new(),
            settings => settings?,
        };
        let settings: Vec<(&str, &str, &str)> = settings
            .split(|byte| *byte == 0)
            .filter_map(setting)
            .collect();
        for one in &mut found {
            let of = |kind: &str, value: &str| {
                let mut settings = settings.iter();
                let found = settings.find(|(_, key, known)| *key == kind && *known == value);
                found.map(|(name, ..)| (*name).to_owned())
            };
            one.name = of("path", &one.path).unwrap_or_default();
            let mut urls = settings.iter();
            let url = urls.find(|(name, key, _)| *name == one.name && *key == "url");
            one.url = url.map(|(.., url)| (*url).to_owned()).unwrap_or_default();
        }
        Ok(found)
    }

    /// Says in this clone that a submodule is in use, as `git submodule init` does.
    ///
    /// # Errors
    /// When the settings cannot be written.
    pub fn activate(&self, name: &str, url: &str) -> Result<(), GitError> {
        for (key, value) in [("active", "true"), ("url", url)] {
            let key = format!("submodule.{name}.{key}");
            self.call("config").args([key.as_str(), value]).output()?;
        }
        Ok(())
    }
}

/// `160000 commit <id>\t<path>`; nothing for all else.
fn entry(line: &[u8]) -> Option<Submodule> {
    let line = line.strip_prefix(b"160000 commit ")?;
    let line = std::str::from_utf8(line).ok()?;
    let (id, path) = line.split_once('\t')?;
    Some(Submodule {
        path: path.to_owned(),
        name: String::new(),
        url: String::new(),
        commit: CommitSha::parse(id, ObjectFormats::Sha1AndSha256).ok()?,
    })
}

/// Name, key and value of `submodule.<name>.<key>\n<value>`.
fn setting(line: &[u8]) -> Option<(&str, &str, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let (key, value) = line.split_once('\n')?;
    let (name, key) = key.strip_prefix("submodule.")?.rsplit_once('.')?;
    Some((name, key, value))
}

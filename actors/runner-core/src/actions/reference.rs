//! `owner/repo[/path]@ref`, as a step or a job writes it.

use std::fmt;
use std::str::FromStr;

use forge_core::RepoName;

/// Longest `@ref`, in bytes.
const MAX_REF_BYTES: usize = 200;

/// An action, or a workflow, of another repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionReference {
    /// The address of its forge, when the file names one: `https://code.example`.
    server: Option<String>,
    repository: RepoName,
    path: String,
    reference: String,
}

/// Why a text names no action of another repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No `@`, or nothing behind it.
    #[error("{0} names no version: `owner/repo@ref`")]
    NoVersion(String),
    /// Not `owner/repo`.
    #[error("{0} is no action of another repository: `owner/repo[/path]@ref`")]
    NotARepository(String),
    /// The path leads out of the repository.
    #[error("the path of {0} is none")]
    Path(String),
    /// Neither a branch, a tag nor a commit can be called so.
    #[error("the version of {0} is no name of a tag, a branch or a commit")]
    Version(String),
}

impl ActionReference {
    /// The forge it names, when it names one.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// `owner/repo`, as written.
    #[must_use]
    pub fn repository(&self) -> &RepoName {
        &self.repository
    }

    /// The folder in the repository; empty for its top.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The tag, branch or commit.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// What the lock knows it by: the repository in small letters and the version, whatever the
    /// path. All actions of one repository and version are one entry.
    #[must_use]
    pub fn key(&self) -> String {
        let repository = self.repository.to_string().to_lowercase();
        match &self.server {
            Some(server) => format!("{server}/{repository}@{}", self.reference),
            None => format!("{repository}@{}", self.reference),
        }
    }
}

impl ActionReference {
    /// The same action of this forge, or of the one that names without a host mean.
    #[must_use]
    pub fn with_server(&self, server: Option<&str>) -> Self {
        Self {
            server: server.map(str::to_owned),
            ..self.clone()
        }
    }

    /// Whether it is a workflow that a job calls: a file in place of a folder.
    #[must_use]
    pub fn is_workflow(&self) -> bool {
        let ending = self.path.rsplit_once('.').map(|(_, ending)| ending);
        matches!(ending, Some("yml" | "yaml"))
    }

    /// The same action at this commit.
    #[must_use]
    pub fn with_commit(&self, commit: &str) -> Self {
        Self {
            reference: commit.to_owned(),
            ..self.clone()
        }
    }
}

impl FromStr for ActionReference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let quoted = || config_core::quoted(text);
        let (name, reference) = text
            .split_once('@')
            .filter(|(_, reference)| !reference.is_empty())
            .ok_or_else(|| ReferenceError::NoVersion(quoted()))?;
        if !is_reference(reference) {
            return Err(ReferenceError::Version(quoted()));
        }
        let none = || ReferenceError::NotARepository(quoted());
        let (server, name) = match name.split_once("://") {
            None => (None, name),
            Some((scheme @ ("http" | "https"), rest)) => {
                let (host, name) = rest.split_once('/').ok_or_else(none)?;
                let known = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
                if host.is_empty() || host.starts_with('-') || !host.chars().all(known) {
                    return Err(none());
                }
                let server = format!("{scheme}://{}", host.to_lowercase());
                (Some(server), name)
            }
            Some(_) => return Err(none()),
        };
        let mut parts = name.splitn(3, '/');
        let repository = match (parts.next(), parts.next()) {
            (Some(owner), Some(repo)) => format!("{owner}/{repo}"),
            _ => return Err(none()),
        };
        let repository = repository.parse().map_err(|_| none())?;
        let path = parts.next().unwrap_or_default().trim_end_matches('/');
        let inside = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\\');
        if !path.is_empty() && !path.split('/').all(inside) {
            return Err(ReferenceError::Path(quoted()));
        }
        Ok(Self {
            server,
            repository,
            path: path.to_owned(),
            reference: reference.to_owned(),
        })
    }
}

/// What git would take as the name of a tag or a branch, as far as it matters here (page
/// "git-check-ref-format"): nothing with a meaning of its own reaches a command line.
fn is_reference(text: &str) -> bool {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\@{}'\"`$;|&<>".contains(c);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    text.len() <= MAX_REF_BYTES
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains(odd)
        && text.split('/').all(part)
}

impl fmt::Display for ActionReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(server) = &self.server {
            write!(f, "{server}/")?;
        }
        write!(f, "{}", self.repository)?;
        if !self.path.is_empty() {
            write!(f, "/{}", self.path)?;
        }
        write!(f, "@{}", self.reference)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_they_are_written() {
        for (text, key, path) in [
            ("actions/checkout@v4", "actions/checkout@v4", ""),
            ("Acme/Tool/sub/dir@Main", "acme/tool@Main", "sub/dir"),
            ("acme/tool@releases/v2", "acme/tool@releases/v2", ""),
            (
                "https://Code.Example:3000/acme/tool/a@v1",
                "https://code.example:3000/acme/tool@v1",
                "a",
            ),
        ] {
            let read: ActionReference = text.parse().expect(text);
            assert_eq!((read.key().as_str(), read.path()), (key, path), "{text}");
            let again: ActionReference = read.to_string().parse().expect(text);
            assert_eq!(again, read, "{text}");
        }
    }

    #[test]
    fn what_names_no_action_is_refused() {
        for (text, why) in [
            ("actions/checkout", "names no version"),
            ("actions/checkout@", "names no version"),
            ("checkout@v4", "is no action"),
            ("a/b/../c@v4", "path"),
            ("a/b//c@v4", "path"),
            ("a/b@-v4", "version"),
            ("a/b@v4..v5", "version"),
            ("a/b@v4^{tree}", "version"),
            ("a/b@a:b", "version"),
            ("a/b@a b", "version"),
            ("a/b@$(x)", "version"),
            ("a/b@x.lock", "version"),
            ("../x@v1", "is no action"),
            ("docker://a/b@v1", "is no action"),
            ("https://-x/a/b@v1", "is no action"),
            ("https://u:p@h/a/b@v1", "version"),
        ] {
            let error = text.parse::<ActionReference>().expect_err(text);
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }
}

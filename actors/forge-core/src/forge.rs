//! The kinds of forge that are spoken to.

use serde::{Deserialize, Serialize};

use crate::{CommitSha, RepoName};

/// A kind of code-hosting forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forge {
    /// github.com and GitHub Enterprise.
    GitHub,
    /// Gitea, and Gogs, whose interface it keeps.
    Gitea,
    /// Forgejo, which follows Gitea's interface.
    Forgejo,
}

impl Forge {
    /// Path of the API call that posts a commit status, to be put behind the forge's base URL
    /// (`https://api.github.com`, `https://gitea.example`).
    ///
    /// Sources: <https://docs.github.com/en/rest/commits/statuses>,
    /// <https://docs.gitea.com/api/> (`repoCreateStatus`).
    pub fn status_path(self, repository: &RepoName, commit: &CommitSha) -> String {
        let prefix = match self {
            Self::GitHub => "",
            Self::Gitea | Self::Forgejo => "/api/v1",
        };
        format!("{prefix}/repos/{repository}/statuses/{commit}")
    }
}

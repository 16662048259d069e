//! Commit statuses: what is posted to a forge about one commit and one context.
//!
//! GitHub: <https://docs.github.com/en/rest/commits/statuses>; Gitea and Forgejo take the same body
//! (`CreateStatusOption`), and would take any state, so only the four documented ones can be made
//! here.

use serde::{Deserialize, Serialize};

use crate::text::one_line;
use crate::{Forge, StatusContext};

/// Longest description GitHub takes, in characters.
const GITHUB_DESCRIPTION: usize = 140;
/// Longest description sent to Gitea and Forgejo, in characters. They store any; one line of this
/// length is what a list of checks can show.
const GITEA_DESCRIPTION: usize = 255;

/// State of a commit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitState {
    /// The check could not be carried out.
    Error,
    /// The check was carried out and found something wrong.
    Failure,
    /// The check has not ended yet.
    Pending,
    /// The check was carried out and found nothing wrong.
    Success,
}

impl CommitState {
    /// Whether nothing follows it by itself.
    pub fn is_terminal(self) -> bool {
        self != Self::Pending
    }

    /// The word forges use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Failure => "failure",
            Self::Pending => "pending",
            Self::Success => "success",
        }
    }

    /// Reads a forge's word. Gitea also knows `warning` and `skipped`, which are not of ours:
    /// `None`.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Error, Self::Failure, Self::Pending, Self::Success];
        all.into_iter().find(|state| state.as_str() == word)
    }
}

impl std::fmt::Display for CommitState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A commit status to be posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitStatus {
    /// Which check.
    pub context: StatusContext,
    /// How it stands.
    pub state: CommitState,
    /// One sentence for people; line breaks become spaces and the forge's limit is kept when it is
    /// sent.
    pub description: String,
    /// Where to read more: an `http` or `https` address.
    pub target_url: Option<String>,
}

impl CommitStatus {
    /// The JSON body for a forge's `statuses` call.
    pub fn body(&self, forge: Forge) -> StatusBody<'_> {
        let limit = match forge {
            Forge::GitHub => GITHUB_DESCRIPTION,
            Forge::Gitea | Forge::Forgejo => GITEA_DESCRIPTION,
        };
        StatusBody {
            state: self.state,
            context: &self.context,
            description: one_line(&self.description, limit),
            target_url: self.target_url.as_deref(),
        }
    }
}

/// The JSON body of a `statuses` call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusBody<'a> {
    state: CommitState,
    context: &'a StatusContext,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
}

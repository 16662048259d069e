//! Fields that several events share.

use super::error::EventError;
use crate::json::JsonNode;
use crate::{BranchName, Login, RepoName};

/// The repository an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// `owner/repo`.
    pub name: RepoName,
    /// Where it can be cloned from, as sent: its scheme and host are to be checked before use.
    pub clone_url: Option<String>,
    /// Its page for people, as sent.
    pub html_url: Option<String>,
    /// Its default branch; an empty repository has none.
    pub default_branch: Option<BranchName>,
}

impl Repository {
    /// Reads the `repository` object of a body.
    pub(super) fn read(body: &JsonNode<'_>) -> Result<Self, EventError> {
        let repository = body.field("repository");
        Ok(Self {
            name: repository.field("full_name").id()?,
            clone_url: repository.field("clone_url").opt_string()?,
            html_url: repository.field("html_url").opt_string()?,
            default_branch: repository.field("default_branch").opt_id()?,
        })
    }
}

/// `repository.full_name` of events that need not have one.
pub(super) fn repository_name(body: &JsonNode<'_>) -> Result<Option<RepoName>, EventError> {
    let repository = body.field("repository");
    let Some(repository) = repository.opt_object()? else {
        return Ok(None);
    };
    repository.field("full_name").opt_id()
}

/// `<field>.login` of an object that may be absent (GitHub sends null for deleted accounts).
pub(super) fn login(
    parent: &JsonNode<'_>,
    field: &'static str,
) -> Result<Option<Login>, EventError> {
    let user = parent.field(field);
    let Some(user) = user.opt_object()? else {
        return Ok(None);
    };
    user.field("login").opt_id()
}

/// The `action` of an event: a short word.
pub(super) fn action<'n>(body: &'n JsonNode<'n>) -> Result<String, EventError> {
    let action = body.field("action");
    Ok(action.id::<crate::EventName>()?.as_str().to_owned())
}

//! Node ids: a kind, a repository and what the thing is called there. They are ours; what REST
//! calls `node_id` is found in lists.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;

use crate::rest::RestFailure;
use crate::session::{QuerySession, RestResult};

/// Stands in front, so that ids of ours are known.
const PREFIX: &str = "orrery:";

/// What an id stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeId {
    /// The GraphQL type.
    pub(crate) kind: String,
    /// `owner/name`
    pub(crate) repository: String,
    /// A number, a name, or what else it is called.
    pub(crate) key: String,
}

impl NodeId {
    pub(crate) fn new(kind: &str, repository: &str, key: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            repository: repository.to_owned(),
            key: key.into(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let plain = format!("{PREFIX}{}:{}:{}", self.kind, self.repository, self.key);
        URL_SAFE_NO_PAD.encode(plain)
    }

    fn parse(text: &str) -> Option<Self> {
        let plain = URL_SAFE_NO_PAD.decode(text).ok()?;
        let plain = String::from_utf8(plain).ok()?;
        let mut parts = plain.strip_prefix(PREFIX)?.splitn(3, ':');
        let id = Self::new(parts.next()?, parts.next()?, parts.next()?);
        Some(id)
    }

    /// The number, of an issue or a pull request.
    pub(crate) fn number(&self) -> RestResult<u64> {
        let number = self.key.parse();
        number.map_err(|_| RestFailure::not_found(format!("a {} has no number", self.kind)))
    }
}

/// Where lists say `node_id`: how such an id begins, its type, the list, and the key in an item.
const LISTS: [(&str, &str, &str, &str); 7] = [
    (
        "PR_",
        "PullRequest",
        "/pulls?state=all&sort=updated&direction=desc",
        "/number",
    ),
    (
        "I_",
        "Issue",
        "/issues?state=all&sort=updated&direction=desc",
        "/number",
    ),
    (
        "IC_",
        "IssueComment",
        "/issues/comments?sort=updated&direction=desc",
        "/id",
    ),
    ("LA_", "Label", "/labels", "/name"),
    ("MI_", "Milestone", "/milestones?state=all", "/number"),
    ("RE_", "Release", "/releases", "/id"),
    ("U_", "User", "/assignees", "/login"),
];
/// Pages of a list that are looked through.
const MAX_PAGES: u32 = 5;

/// What an id stands for, in the job's repository.
///
/// # Errors
/// It is of another repository, or of nobody's making.
pub(crate) async fn resolve_id(session: &QuerySession, text: &str) -> RestResult<NodeId> {
    if let Some(id) = NodeId::parse(text) {
        session.check_repository(&id.repository)?;
        return Ok(id);
    }
    if let Some(id) = listed(session, text).await? {
        return Ok(id);
    }
    Err(RestFailure::not_found(format!(
        "Could not resolve to a node with the global id of '{text}': it is no id that was given out here, and none that a list of {} has",
        session.job.repository
    )))
}

/// An id as REST gives it out.
async fn listed(session: &QuerySession, text: &str) -> RestResult<Option<NodeId>> {
    let own = &session.job.repository;
    if text.starts_with("R_") || legacy(text).is_some_and(|kind| kind == "Repository") {
        let found = session.body("").await?["node_id"] == *text;
        return Ok(found.then(|| NodeId::new("Repository", own, "")));
    }
    let old = legacy(text);
    let fits = |kind: &str| old.as_deref() == Some(kind);
    let list = LISTS
        .iter()
        .find(|(prefix, kind, ..)| text.starts_with(prefix) || fits(kind));
    let Some((_, kind, path, key)) = list else {
        return Ok(None);
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut query: Vec<(&str, String)> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    query.push(("per_page", "100".to_owned()));
    for page in 1..=MAX_PAGES {
        let mut query = query.clone();
        query.push(("page", page.to_string()));
        let answer = session.read(path, &query).await?;
        let items = answer.body.as_array().map_or(&[][..], Vec::as_slice);
        let found = items.iter().find(|item| item["node_id"] == *text);
        if let Some(key) = found.and_then(|item| item.pointer(key)) {
            return Ok(Some(NodeId::new(kind, own, plain(key))));
        }
        if !answer.next {
            break;
        }
    }
    Ok(None)
}

/// The type of an id as GitHub made them before 2021: `011:PullRequest123`.
fn legacy(text: &str) -> Option<String> {
    let plain = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
    let (length, rest) = plain.split_once(':')?;
    let length: usize = length.parse().ok()?;
    rest.get(..length).map(str::to_owned)
}

/// A value as text, without quotes.
pub(crate) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_ids_stand_for_what_they_were_made_of() {
        for (kind, key) in [
            ("PullRequest", "7"),
            ("Label", "3:a: b"),
            ("Ref", "refs/heads/x"),
        ] {
            let id = NodeId::new(kind, "acme/rocket", key);
            assert_eq!(NodeId::parse(&id.text()), Some(id));
        }
        for other in ["", "PR_kwDOAA", "MDExOlB1bGxSZXF1ZXN0MQ==", "é"] {
            assert_eq!(NodeId::parse(other), None, "{other}");
        }
        let old = STANDARD.encode("011:PullRequest1");
        assert_eq!(legacy(&old).as_deref(), Some("PullRequest"));
    }
}

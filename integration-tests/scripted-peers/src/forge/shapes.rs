//! Issues and pull requests as answers.

use serde_json::{Value, json};

use super::call::Call;
use super::model::{Issue, Pull};

pub(super) fn issue_json(call: &Call<'_>, repo: &str, number: u64, issue: &Issue) -> Value {
    json!({
        "number": number,
        "title": issue.title,
        "body": issue.body,
        "state": if issue.open { "open" } else { "closed" },
        "closed_at": issue.closed_at.map(super::comments::time),
        "html_url": format!("{}/{repo}/issues/{number}", call.base),
        "user": {"login": "someone"},
        "labels": [{"name": "bug"}],
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:04:05Z",
        "pull_request": null,
        "repository": call.gitea.then(|| json!({"full_name": repo})),
        "repository_url": (!call.gitea).then(|| format!("{}/repos/{repo}", call.base)),
    })
}

pub(super) fn pull_json(call: &Call<'_>, repo: &str, pull: &Pull) -> Value {
    let head = pull.head_repo.as_deref().unwrap_or(repo);
    json!({
        "number": pull.number,
        "title": pull.title,
        "body": "",
        "state": if pull.open { "open" } else { "closed" },
        // As Gitea has it: by the title.
        "draft": call.gitea && pull.title.starts_with("WIP:"),
        "merged": pull.merged,
        "html_url": format!("{}/{repo}/pulls/{}", call.base, pull.number),
        "user": {"login": pull.author},
        "head": {
            "ref": pull.head_branch, "sha": pull.head_sha, "repo": {"full_name": head},
        },
        "base": {
            "ref": pull.base_branch, "sha": pull.base_sha, "repo": {"full_name": repo},
        },
        "updated_at": "2026-01-02T03:04:05Z",
    })
}

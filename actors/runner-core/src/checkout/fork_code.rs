//! Code of forks in runs that have the repository's own rights: `pull_request_target`, and
//! `workflow_run` after a pull request. `actions/checkout` refuses it since its release 7 unless
//! `allow-unsafe-pr-checkout` is `true`
//! (<https://github.com/actions/checkout/blob/main/README.md>).

use forge_core::HeadOrigin;

use super::CheckoutRequest;
use crate::event::{EventContext, EventKind};
use crate::expr::ExprValue;

/// Why a step does not get what it asks for; nothing where it may.
#[must_use]
pub fn refused_fork_code(event: &EventContext, request: &CheckoutRequest) -> Option<String> {
    let head = head(event)?;
    let own = &event.repository;
    if HeadOrigin::of_head(&head.branch, head.repository.as_deref(), own)
        == HeadOrigin::SameRepository
    {
        return None;
    }
    let fork = head.repository.as_ref();
    let fork = fork.filter(|fork| !fork.eq_ignore_ascii_case(own));
    let asked = request.repository.to_string();
    let is_fork = fork.is_some_and(|fork| asked.eq_ignore_ascii_case(fork));
    let commit = request.commit().map(|commit| commit.to_string());
    let is_commit = commit.is_some_and(|commit| head.commits.contains(&commit));
    if !is_fork && !is_pull_reference(&request.reference) && !is_commit {
        return None;
    }
    let whose = match (fork, &head.repository) {
        (Some(fork), _) => format!("of the fork {fork}"),
        (None, Some(_)) => format!("that was pushed to {} without a branch", head.branch),
        (None, None) => "of a repository that is gone or not known".to_owned(),
    };
    let kind = event.kind.as_str();
    Some(format!(
        "this is code {whose} in a run of `{kind}`, which has the repository's own secrets and rights: whoever opens a pull request could run anything with them. Where that is meant, set `allow-unsafe-pr-checkout: true`"
    ))
}

/// The head of the pull request that an event is about.
struct Head {
    branch: String,
    /// Nothing: it is gone.
    repository: Option<String>,
    commits: Vec<String>,
}

fn head(event: &EventContext) -> Option<Head> {
    let at = |path: &[&str]| {
        let value = path
            .iter()
            .try_fold(&event.payload, |value, key| value.get(key));
        value
            .map(ExprValue::as_text)
            .filter(|text| !text.is_empty())
    };
    let (branch, repository, commits) = match event.kind {
        EventKind::PullRequestTarget => (
            at(&["pull_request", "head", "ref"]),
            at(&["pull_request", "head", "repo", "full_name"]),
            [
                at(&["pull_request", "head", "sha"]),
                at(&["pull_request", "merge_commit_sha"]),
            ],
        ),
        EventKind::WorkflowRun => {
            let followed = at(&["workflow_run", "event"])?;
            // Of `pull_request_target` it is the commit of the base.
            let is_head = &*followed != "pull_request_target";
            let head = at(&["workflow_run", "head_sha"]).filter(|_| is_head);
            followed.strip_prefix("pull_request")?;
            (
                at(&["workflow_run", "head_branch"]),
                at(&["workflow_run", "head_repository", "full_name"]),
                [head, at(&["workflow_run", "head_commit", "id"])],
            )
        }
        _ => return None,
    };
    let commits = commits.into_iter().flatten();
    let commits = commits.map(|commit| commit.to_ascii_lowercase()).collect();
    Some(Head {
        branch: branch.map(|branch| branch.to_string()).unwrap_or_default(),
        repository: repository.map(|repository| repository.to_string()),
        commits,
    })
}

/// `refs/pull/7/head`, `refs/pull/7/merge`
fn is_pull_reference(reference: &str) -> bool {
    let rest = reference.strip_prefix("refs/pull/");
    let parts = rest.and_then(|rest| rest.split_once('/'));
    parts.is_some_and(|(number, end)| {
        number.bytes().all(|byte| byte.is_ascii_digit()) && matches!(end, "head" | "merge")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "1111111111111111111111111111111111111111";
    const BASE: &str = "2222222222222222222222222222222222222222";

    fn event(kind: EventKind, payload: &serde_json::Value) -> EventContext {
        EventContext {
            kind,
            action: None,
            reference: "refs/heads/main".to_owned(),
            sha: BASE.to_owned(),
            repository: "acme/rocket".to_owned(),
            actor: "mallory".to_owned(),
            base_branch: None,
            head_branch: None,
            untrusted: false,
            changed_paths: None,
            message: None,
            inputs: Vec::new(),
            payload: payload.into(),
        }
    }

    fn pull_request(from: &str) -> serde_json::Value {
        serde_json::json!({"pull_request": {"head": {"sha": HEAD, "repo": {"full_name": from}}}})
    }

    fn followed(event: &str, from: &str) -> serde_json::Value {
        serde_json::json!({"workflow_run": {
            "event": event, "head_sha": HEAD, "head_repository": {"full_name": from},
        }})
    }

    #[test]
    fn i17_a_head_without_a_branch_and_one_that_is_gone_are_a_strangers() {
        let of = |branch: &str, repository: serde_json::Value| {
            let head = serde_json::json!({"ref": branch, "sha": HEAD, "repo": repository});
            let target = serde_json::json!({"pull_request": {"head": head}});
            let after = |kind: &str| {
                let run = serde_json::json!({"event": kind, "head_sha": HEAD,
                    "head_branch": branch, "head_repository": repository});
                event(
                    EventKind::WorkflowRun,
                    &serde_json::json!({"workflow_run": run}),
                )
            };
            [
                event(EventKind::PullRequestTarget, &target),
                after("pull_request"),
                after("pull_request_review"),
            ]
        };
        let own = serde_json::json!({"full_name": "acme/rocket"});
        for (branch, repository, asked, refused) in [
            ("topic", own.clone(), HEAD, false),
            ("refs/pull/8/head", own.clone(), HEAD, true),
            ("refs/pull/8/head", own.clone(), "refs/pull/8/head", true),
            ("refs/pull/8/head", own, "main", false),
            ("topic", serde_json::Value::Null, HEAD, true),
            ("topic", serde_json::Value::Null, "main", false),
        ] {
            for event in of(branch, repository.clone()) {
                let inputs = [("ref".to_owned(), asked.to_owned())];
                let request = CheckoutRequest::parse(&inputs, "acme/rocket", "https://f.example");
                let found = refused_fork_code(&event, &request.unwrap());
                assert_eq!(found.is_some(), refused, "{event:?} {asked}");
            }
        }
    }

    #[test]
    fn i17_code_of_forks_is_refused_where_a_run_has_the_repositorys_rights() {
        let (fork, own) = ("mallory/rocket", "Acme/Rocket");
        let by_target = |from| event(EventKind::PullRequestTarget, &pull_request(from));
        let after = |kind, from| event(EventKind::WorkflowRun, &followed(kind, from));
        for (event, repository, reference, refused) in [
            (by_target(fork), "", "", false),
            (by_target(fork), "", HEAD, true),
            (by_target(fork), "", "refs/pull/7/merge", true),
            (by_target(fork), "", "refs/pull/7/head", true),
            (by_target(fork), "", "refs/pull/x/head", false),
            (by_target(fork), "", BASE, false),
            (by_target(fork), "", "main", false),
            (by_target(fork), "Mallory/rocket", "main", true),
            (by_target(fork), "acme/tools", "", false),
            (by_target(own), "", HEAD, false),
            (by_target(own), "", "refs/pull/7/head", false),
            (after("pull_request", fork), "", HEAD, true),
            (after("pull_request", own), "", HEAD, false),
            (after("pull_request_target", fork), "", HEAD, false),
            (after("pull_request_target", fork), fork, "x", true),
            (after("push", fork), "", HEAD, false),
            (
                event(EventKind::PullRequest, &pull_request(fork)),
                "",
                HEAD,
                false,
            ),
        ] {
            let inputs = [("repository", repository), ("ref", reference)];
            let inputs = inputs.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let request = CheckoutRequest::parse(&inputs, "acme/rocket", "https://f.example");
            let found = refused_fork_code(&event, &request.unwrap());
            assert_eq!(found.is_some(), refused, "{event:?} {inputs:?}");
            if let Some(reason) = found {
                assert!(reason.contains("mallory/rocket"), "{reason}");
                assert!(
                    reason.contains("`allow-unsafe-pr-checkout: true`"),
                    "{reason}"
                );
            }
        }
    }
}

//! Code of forks in runs that have the repository's own rights: `pull_request_target`, and
//! `workflow_run` after a pull request. `actions/checkout` refuses it since its release 7 unless
//! `allow-unsafe-pr-checkout` is `true`
//! (<https://github.com/actions/checkout/blob/main/README.md>).

use super::CheckoutRequest;
use crate::event::{EventContext, EventKind};
use crate::expr::Value;

/// Why a step does not get what it asks for; nothing where it may.
#[must_use]
pub fn refused_fork_code(event: &EventContext, request: &CheckoutRequest) -> Option<String> {
    let (fork, commits) = fork(event)?;
    if fork.eq_ignore_ascii_case(&event.repository) {
        return None;
    }
    let is_fork = request.repository.to_string().eq_ignore_ascii_case(&fork);
    let commit = request.commit().map(|commit| commit.to_string());
    let is_commit = commit.is_some_and(|commit| commits.contains(&commit));
    if !is_fork && !is_pull_reference(&request.reference) && !is_commit {
        return None;
    }
    let kind = event.kind.as_str();
    Some(format!(
        "this is code of the fork {fork} in a run of `{kind}`, which has the repository's own secrets and rights: whoever opens a pull request could run anything with them. Where that is meant, set `allow-unsafe-pr-checkout: true`"
    ))
}

/// Where a pull request comes from, and its commits.
fn fork(event: &EventContext) -> Option<(String, Vec<String>)> {
    let at = |path: &[&str]| {
        let value = path
            .iter()
            .try_fold(&event.payload, |value, key| value.get(key));
        value.map(Value::as_text).filter(|text| !text.is_empty())
    };
    let (repository, commits) = match event.kind {
        EventKind::PullRequestTarget => (
            at(&["pull_request", "head", "repo", "full_name"]),
            [
                at(&["pull_request", "head", "sha"]),
                at(&["pull_request", "merge_commit_sha"]),
            ],
        ),
        EventKind::WorkflowRun => {
            let followed = at(&["workflow_run", "event"])?;
            // Of `pull_request_target` it is the commit of the base.
            let is_head = &*followed == "pull_request";
            let head = at(&["workflow_run", "head_sha"]).filter(|_| is_head);
            followed.strip_prefix("pull_request")?;
            (
                at(&["workflow_run", "head_repository", "full_name"]),
                [head, at(&["workflow_run", "head_commit", "id"])],
            )
        }
        _ => return None,
    };
    let commits = commits.into_iter().flatten();
    let commits = commits.map(|commit| commit.to_ascii_lowercase()).collect();
    Some((repository?.to_string(), commits))
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

//! Workflows that follow others (`workflow_run`): how far a run has come is told in the transaction
//! that stores it, so that no end of this process lies between.

use forge_core::Origin;
use runner_core::context::run_number_id;
use runner_core::event::{EventKind, FOLLOWED_RUN};
use runner_core::state::{RunProgress, RunState};
use serde_json::{Value, json};
use url::Url;

use crate::event::StoredEvent;
use crate::known_repository::KnownRepository;
use crate::records::RunRecord;
use crate::rows::NewRun;

/// How many runs may follow each other (GitHub's limit).
const MAX_CHAIN: u64 = 3;

/// What those that follow a planned run were not told yet, in order.
pub(crate) fn untold(record: &RunRecord) -> Vec<RunProgress> {
    if record.workflow.is_none() {
        return Vec::new();
    }
    let repeats = record.repeats.is_some();
    let all = RunProgress::ALL.into_iter();
    let untold = all.filter(|step| record.announced.is_none_or(|known| *step > known));
    untold
        .filter(|step| step.is_reached(record.state, repeats))
        .collect()
}

/// The run that this step of a run starts, if any does.
pub(crate) fn follower(
    progress: RunProgress,
    known: &KnownRepository,
    (record, event): (&RunRecord, &StoredEvent),
    page: Option<&Url>,
) -> Option<NewRun> {
    let workflow = record.workflow.as_deref().unwrap_or_default();
    let trigger = format!("workflow_run.{}", progress.as_str());
    // What was learnt by a former version says nothing of the others.
    let is_wanted = progress == RunProgress::Completed || known.started_by.contains(&trigger);
    if !is_wanted || !known.followed.iter().any(|name| name == workflow) {
        return None;
    }
    let event = following(progress, known, (record, event), page)?;
    let record = RunRecord::received(&event, format!("workflow_run-{}", record.id));
    Some(NewRun::of(&record, &event))
}

/// The event; nothing where the chain is long enough.
fn following(
    progress: RunProgress,
    known: &KnownRepository,
    (record, event): (&RunRecord, &StoredEvent),
    page: Option<&Url>,
) -> Option<StoredEvent> {
    let before: Value = serde_json::from_str(&event.payload).unwrap_or_default();
    let chain = before.pointer("/workflow_run/chain");
    let chain = chain.and_then(Value::as_u64).unwrap_or(0) + 1;
    if chain > MAX_CHAIN {
        return None;
    }
    let workflow = record.workflow.as_deref();
    let branch = event.head_branch();
    let owner = record.repository.split('/').next().unwrap_or_default();
    let repository = json!({
        "full_name": record.repository, "name": record.repository.split('/').nth(1),
        "owner": { "login": owner }, "html_url": known.html_url, "clone_url": known.clone_url,
        "default_branch": known.default_branch,
    });
    // What is not known to be the repository's own is not called so: workflows ask by it whom they
    // trust.
    let is_target = event.kind() == EventKind::PullRequestTarget;
    let is_stranger = event.number.is_some() && (event.untrusted || is_target);
    let unknown = if is_stranger {
        &Value::Null
    } else {
        &repository
    };
    let head = head_repository(&before, &record.repository).unwrap_or(unknown);
    let head = head.clone();
    let pulls = event.number.map(|number| json!({ "number": number }));
    let number = run_number_id(&record.id);
    // Scripts have it without quotes.
    let id = number
        .parse::<u64>()
        .map_or_else(|_| json!(number), |number| json!(number));
    let began = record.started_at.unwrap_or(record.created_at);
    let payload = json!({
        "action": progress.as_str(),
        "workflow": { "name": workflow, "path": record.workflow_file },
        "workflow_run": {
            "id": id, "name": workflow, "path": record.workflow_file,
            "display_title": record.name, "event": record.event, "status": progress.status(),
            "conclusion": (progress == RunProgress::Completed).then(|| conclusion(record.state)), "head_branch": branch, "head_sha": record.sha,
            "run_number": record.number, "run_attempt": record.attempt, "chain": chain,
            "actor": { "login": record.actor }, "triggering_actor": { "login": record.actor },
            "pull_requests": pulls.into_iter().collect::<Vec<_>>(), "repository": repository,
            "head_repository": head, "head_commit": head_commit(&before, &record.sha),
            "html_url": page, "created_at": time(record.created_at),
            "run_started_at": time(began), "updated_at": time(record.ended_at.unwrap_or(began)),
        },
        "repository": repository,
        "sender": { "login": record.actor },
    });
    // `check` warns of all others.
    let given = |name: &&str| payload["workflow_run"].get(name).is_some();
    debug_assert!(FOLLOWED_RUN.iter().all(given));
    let head = known.event_at_head(EventKind::WorkflowRun, None)?;
    Some(head.following(progress.as_str(), (&record.actor, branch), &payload))
}

/// Where a pull request came from; what follows a following run comes from there too. Nothing where
/// that is gone, or anybody's.
fn head_repository<'p>(before: &'p Value, own: &str) -> Option<&'p Value> {
    let Some(head) = before.pointer("/pull_request/head") else {
        return before.pointer("/workflow_run/head_repository");
    };
    let name = head["repo"]["full_name"].as_str()?;
    let branch = head["ref"].as_str().unwrap_or_default();
    let is_own = name.eq_ignore_ascii_case(own);
    let origin = Origin::of_head(branch, Some(name), own);
    (!is_own || origin == Origin::SameRepository).then_some(&head["repo"])
}

/// The end of a run in GitHub's words.
fn conclusion(state: RunState) -> &'static str {
    match state {
        RunState::Succeeded => "success",
        RunState::Cancelled => "cancelled",
        RunState::TimedOut => "timed_out",
        _ => "failure",
    }
}

/// A time as the forge's API writes it.
fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(at - at % 1000);
    at.map_or_else(|_| String::new(), |at| at.to_string())
}

/// The commit as the event brought it that the run was of; else its id alone is known.
fn head_commit(before: &Value, sha: &str) -> Value {
    let known = ["/head_commit", "/workflow_run/head_commit"].iter();
    let mut known = known.filter_map(|path| before.pointer(path));
    let known = known.find(|commit| commit["id"] == sha);
    known.cloned().unwrap_or_else(|| json!({ "id": sha }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untold_at(
        state: RunState,
        announced: Option<RunProgress>,
        repeats: bool,
    ) -> Vec<RunProgress> {
        let event = StoredEvent::made(EventKind::Push, "a/b", "refs/heads/main", "1", "u");
        let mut record = RunRecord::received(&event, "d".to_owned());
        record.state = state;
        assert_eq!(untold(&record), [], "nobody knows its workflow");
        record.workflow = Some("CI".to_owned());
        record.announced = announced;
        record.repeats = repeats.then(|| "former".to_owned());
        untold(&record)
    }

    #[test]
    fn i17_each_step_of_a_run_is_told_once() {
        use RunProgress::{Completed, InProgress, Requested};
        let cases = [
            (RunState::Planned, None, false, vec![Requested]),
            (RunState::Planned, None, true, vec![]),
            (RunState::Waiting, Some(Requested), false, vec![]),
            (RunState::Running, Some(Requested), false, vec![InProgress]),
            (RunState::Running, Some(InProgress), false, vec![]),
            // A run that begins anew after a restart.
            (RunState::Received, Some(InProgress), false, vec![]),
            (RunState::Lost, Some(InProgress), false, vec![Completed]),
            (RunState::Cancelled, Some(Requested), true, vec![Completed]),
            (RunState::Succeeded, Some(Completed), false, vec![]),
            (RunState::Ignored, Some(Requested), false, vec![]),
        ];
        for (state, announced, repeats, expected) in cases {
            assert_eq!(
                untold_at(state, announced, repeats),
                expected,
                "{state:?} {announced:?}"
            );
        }
    }

    #[test]
    fn i17_a_head_without_a_branch_is_of_no_repository() {
        let own = json!({"full_name": "A/B"});
        let fork = json!({"full_name": "c/b"});
        let pull = |name: &str, repo: &Value| json!({"pull_request": {"head": {"ref": name, "repo": repo}}});
        for (before, expected) in [
            (pull("topic", &own), Some(&own)),
            (pull("topic", &fork), Some(&fork)),
            (pull("refs/pull/7/head", &own), None),
            (pull("topic", &Value::Null), None),
            (
                json!({"workflow_run": {"head_repository": fork}}),
                Some(&fork),
            ),
            (
                json!({"workflow_run": {"head_repository": null}}),
                Some(&Value::Null),
            ),
            (json!({}), None),
        ] {
            assert_eq!(head_repository(&before, "a/b"), expected, "{before}");
        }
    }

    #[test]
    fn i17_the_commit_of_a_followed_run_is_the_one_that_was_pushed() {
        let pushed = json!({"head_commit": {"id": "a1", "message": "Say it"}});
        assert_eq!(head_commit(&pushed, "a1")["message"], "Say it");
        assert_eq!(head_commit(&pushed, "b2"), json!({"id": "b2"}));
        let followed = json!({"workflow_run": {"head_commit": {"id": "b2", "message": "m"}}});
        assert_eq!(head_commit(&followed, "b2")["message"], "m");
        assert_eq!(time(1_795_000_000_123), "2026-11-18T11:06:40Z");
    }
}

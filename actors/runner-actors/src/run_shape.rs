//! A run in the shape of GitHub's API: its numbers, its addresses and what it is of. Answers of the
//! gateway have it, and the events of runs that follow others.

use forge_core::{Forge, HeadOrigin};
use runner_core::context::run_number_id;
use runner_core::event::EventKind;
use runner_core::gateway::StatusWords;
use runner_core::state::Conclusion;
use serde_json::{Map, Value, json};

use crate::event::StoredEvent;
use crate::records::{JobEnd, JobRecord, RunRecord};

/// Where programs in a VM find the services.
pub(crate) const GATEWAY: &str = "http://127.0.0.1:3128/";
/// Numbers that JavaScript holds.
const NUMBER_BITS: u32 = 53;

/// Where jobs find the API of a repository, as `github.api_url` has it.
pub(crate) fn repository_api(forge: Forge, repository: &str) -> String {
    let version = match forge {
        Forge::GitHub => "v3",
        Forge::Gitea | Forge::Forgejo => "v1",
    };
    format!("{GATEWAY}api/{version}/repos/{repository}")
}

/// `github.run_id` of a run, as a number where it is one.
pub(crate) fn run_number(id: &str) -> Value {
    let number = run_number_id(id);
    number
        .parse::<u64>()
        .map_or_else(|_| json!(number), |number| json!(number))
}

/// The number of a workflow: of its file, so it stays.
pub(crate) fn workflow_number(repository: &str, file: &str) -> u64 {
    number_of(&[&repository.to_lowercase(), file])
}

/// The number of a copy of a job.
pub(crate) fn job_number(run: &str, key: &str, instance: usize) -> u64 {
    number_of(&[run, key, &instance.to_string()])
}

/// A number of these texts, above those that somebody counts.
fn number_of(texts: &[&str]) -> u64 {
    let hash = blake3::hash(texts.join("\n").as_bytes());
    let (head, _) = hash.as_bytes().split_at(8);
    let number = head
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    (number >> (u64::BITS - NUMBER_BITS)) | 1 << (NUMBER_BITS - 2)
}

/// The addresses of a run, by `api` of its repository; `number` is `github.run_id`.
pub(crate) fn run_links(
    api: &str,
    number: &Value,
    attempt: u64,
    workflow: Option<u64>,
) -> Map<String, Value> {
    let number = match number {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    };
    let url = format!("{api}/actions/runs/{number}");
    let previous = (attempt > 1).then(|| format!("{url}/attempts/{}", attempt - 1));
    let workflow_url = workflow.map(|number| format!("{api}/actions/workflows/{number}"));
    let links = [
        ("jobs_url", json!(format!("{url}/jobs"))),
        ("logs_url", json!(format!("{url}/logs"))),
        ("artifacts_url", json!(format!("{url}/artifacts"))),
        ("cancel_url", json!(format!("{url}/cancel"))),
        ("rerun_url", json!(format!("{url}/rerun"))),
        ("previous_attempt_url", json!(previous)),
        ("workflow_id", json!(workflow)),
        ("workflow_url", json!(workflow_url)),
        ("url", json!(url)),
    ];
    let links = links.map(|(name, value)| (name.to_owned(), value));
    links.into_iter().collect()
}

/// Where a run is, in the API's words.
pub(crate) fn run_words(run: &RunRecord) -> StatusWords {
    if run.awaits_approval() {
        return StatusWords::completed("action_required");
    }
    if run.waits_for_group() {
        return StatusWords::open("pending");
    }
    let is_skipped = |job: &JobRecord| job.conclusion == Some(Conclusion::Skipped);
    let skipped = !run.jobs.is_empty() && run.jobs.iter().all(is_skipped);
    StatusWords::of_run(run.state, run.started_at.is_some(), skipped)
}

/// The same of one of its jobs.
pub(crate) fn job_words(run: &RunRecord, job: &JobRecord) -> StatusWords {
    StatusWords::of_part(job.conclusion, job.end == JobEnd::TimedOut, || {
        let named = job.environment.as_ref().map(|it| it.name.as_str());
        let waits = |name: &str| {
            run.environments
                .iter()
                .any(|it| it.is_pending() && it.is_of(name))
        };
        match job.started_at {
            Some(_) => "in_progress",
            None if named.is_some_and(waits) => "waiting",
            None => "queued",
        }
    })
}

/// The repository that a run is of.
pub(crate) fn repository_value(
    api: &str,
    name: &str,
    (page, clone_url, default_branch): (Option<&str>, &str, Option<&str>),
) -> Value {
    let (owner, short) = name.split_once('/').unwrap_or((name, ""));
    json!({
        "full_name": name, "name": short, "owner": { "login": owner }, "html_url": page,
        "clone_url": clone_url, "default_branch": default_branch, "url": api,
    })
}

/// Where the head of a run is; `before` is the payload of its event. What is not known to be the
/// repository's own is not called so: workflows ask by it whom they trust.
pub(crate) fn head_of(event: &StoredEvent, before: &Value, repository: &Value) -> Value {
    let is_target = event.kind() == EventKind::PullRequestTarget;
    let is_stranger = event.number.is_some() && (event.untrusted || is_target);
    let unknown = if is_stranger {
        &Value::Null
    } else {
        repository
    };
    head_repository(before, &event.repository)
        .unwrap_or(unknown)
        .clone()
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
    let origin = HeadOrigin::of_head(branch, Some(name), own);
    (!is_own || origin == HeadOrigin::SameRepository).then_some(&head["repo"])
}

/// The commit as the event brought it that the run was of; else its id alone is known.
pub(crate) fn head_commit(before: &Value, sha: &str) -> Value {
    let known = ["/head_commit", "/workflow_run/head_commit"].iter();
    let mut known = known.filter_map(|path| before.pointer(path));
    let known = known.find(|commit| commit["id"] == sha);
    known.cloned().unwrap_or_else(|| json!({ "id": sha }))
}

/// A time as the forge's API writes it.
pub(crate) fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(at - at % 1000);
    at.map_or_else(|_| String::new(), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_numbers_of_workflows_and_jobs_stay_and_fit_into_javascript() {
        let ci = workflow_number("acme/rocket", ".github/workflows/ci.yml");
        assert_eq!(
            ci,
            workflow_number("Acme/Rocket", ".github/workflows/ci.yml")
        );
        assert_ne!(
            ci,
            workflow_number("acme/rocket", ".github/workflows/cd.yml")
        );
        let job = job_number("r", "build", 0);
        assert_ne!(job, job_number("r", "build", 1));
        assert_ne!(job, job_number("s", "build", 0));
        for number in [ci, job] {
            assert!(
                (1 << 51..1 << 53).contains(&number),
                "{number} is too large or could be a count"
            );
        }
    }

    #[test]
    fn i17_a_run_says_where_its_parts_are() {
        let api = repository_api(Forge::Forgejo, "a/b");
        let links = run_links(&api, &json!(7), 2, Some(9));
        let url = "http://127.0.0.1:3128/api/v1/repos/a/b/actions/runs/7";
        assert_eq!(links["url"], url);
        assert_eq!(links["artifacts_url"], format!("{url}/artifacts"));
        assert_eq!(links["previous_attempt_url"], format!("{url}/attempts/1"));
        assert!(run_links(&api, &json!(7), 1, None)["previous_attempt_url"].is_null());
        let links = run_links(&repository_api(Forge::GitHub, "a/b"), &json!(7), 1, None);
        assert_eq!(
            links["jobs_url"],
            "http://127.0.0.1:3128/api/v3/repos/a/b/actions/runs/7/jobs"
        );
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

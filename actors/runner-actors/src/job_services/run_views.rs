//! Runs, jobs and workflows in the shapes of the forge's REST API.

use std::collections::HashMap;

use git_engine::CommitFacts;
use runner_core::gateway::StatusWords;
use serde_json::{Value, json};

use super::runs_backend::WorkflowFile;
use crate::event::StoredEvent;
use crate::records::{JobRecord, RunRecord, StepRecord};
use crate::run_shape::{
    head_commit, head_of, job_number, job_words, repository_value, run_links, run_number,
    run_words, time, workflow_number,
};

/// How runs of a repository are shown.
pub(super) struct RunViews {
    /// `…/repos/owner/name`
    pub(super) api: String,
    /// `owner/name`
    pub(super) repository: String,
}

/// What is known of a run beside its record.
#[derive(Default)]
pub(super) struct RunBeside<'a> {
    pub(super) event: Option<&'a StoredEvent>,
    /// Commits by their ids.
    pub(super) commits: Option<&'a HashMap<String, CommitFacts>>,
    /// Its page.
    pub(super) page: Option<String>,
}

impl RunViews {
    /// Where an endpoint below `actions` is.
    pub(super) fn url(&self, rest: &str) -> String {
        format!("{}/actions/{rest}", self.api)
    }

    /// A run; `number` is how it was asked for: each of its attempts has one.
    pub(super) fn run(&self, run: &RunRecord, number: &Value, beside: &RunBeside<'_>) -> Value {
        let payload = beside.event.map(|event| event.payload.as_str());
        let before: Value = payload
            .and_then(|payload| serde_json::from_str(payload).ok())
            .unwrap_or_default();
        let event = beside.event;
        let repository = repository_value(
            &self.api,
            &run.repository,
            (
                run.repository_url.as_deref(),
                event.map_or("", |event| &event.clone_url),
                event.and_then(|event| event.default_branch.as_deref()),
            ),
        );
        let head = event.map_or(Value::Null, |event| head_of(event, &before, &repository));
        let file = run.workflow_file.as_deref();
        let workflow = file.map(|file| workflow_number(&run.repository, file));
        let words = run_words(run);
        let began = run.started_at.unwrap_or(run.created_at);
        let title = run.name.as_deref().or(run.workflow.as_deref()).or(file);
        let actor = user(&run.actor);
        let mut shown = json!({
            "id": number, "node_id": format!("WFR_{number}"),
            "name": run.workflow.as_deref().or(file), "path": file,
            "display_title": title, "run_number": run.number, "run_attempt": run.attempt,
            "event": run.event, "status": words.status, "conclusion": words.conclusion,
            "head_branch": event.and_then(StoredEvent::head_branch), "head_sha": run.sha,
            "actor": actor, "triggering_actor": actor,
            "pull_requests": pulls(event, &before), "referenced_workflows": [],
            "html_url": beside.page, "created_at": time(run.created_at),
            "run_started_at": time(began), "updated_at": time(run.ended_at.unwrap_or(began)),
            "repository": repository, "head_repository": head,
            "head_commit": commit(head_commit(&before, &run.sha), &run.sha, beside.commits),
        });
        if let Some(shown) = shown.as_object_mut() {
            shown.extend(run_links(&self.api, number, run.attempt, workflow));
        }
        shown
    }

    /// A job of a run.
    pub(super) fn job(
        &self,
        run: &RunRecord,
        job: &JobRecord,
        (number, branch, page): (&Value, Option<&str>, Option<&str>),
    ) -> Value {
        let words = job_words(run, job);
        let id = job_number(&run.id, &job.key, job.instance);
        let url = self.url(&format!("jobs/{id}"));
        let began = job.started_at.unwrap_or(job.queued_at);
        let steps: Vec<Value> = job.steps.iter().map(step).collect();
        json!({
            "id": id, "node_id": format!("CR_{id}"), "run_id": number,
            "run_url": self.url(&format!("runs/{}", plain(number))),
            "run_attempt": run.attempt,
            "workflow_name": run.workflow.as_deref().or(run.workflow_file.as_deref()),
            "head_branch": branch, "head_sha": run.sha, "name": job.name,
            "status": words.status, "conclusion": words.conclusion,
            "created_at": time(job.queued_at), "started_at": time(began),
            "completed_at": end_time(job.ended_at, words, began), "steps": steps,
            "url": url, "html_url": page,
            "check_run_url": format!("{}/check-runs/{id}", self.api),
            "labels": job.labels,
            "runner_id": null, "runner_name": job.vm, "runner_group_id": null,
            "runner_group_name": job.vm_host,
        })
    }

    /// A workflow.
    pub(super) fn workflow(&self, workflow: &WorkflowFile) -> Value {
        let id = workflow_number(&self.repository, &workflow.file);
        json!({
            "id": id, "node_id": format!("W_{id}"), "name": workflow.name,
            "path": workflow.file, "state": "active", "created_at": null, "updated_at": null,
            "url": self.url(&format!("workflows/{id}")), "html_url": workflow.page,
            "badge_url": null,
        })
    }
}

/// A number without quotes.
fn plain(number: &Value) -> String {
    number
        .as_str()
        .map_or_else(|| number.to_string(), str::to_owned)
}

/// Whether a workflow is meant: by its file's name or path, or its number.
pub(super) fn is_meant(repository: &str, file: &str, named: &str) -> bool {
    let last = file.rsplit('/').next();
    file == named || last == Some(named) || named.parse() == Ok(workflow_number(repository, file))
}

/// The number that stands for a run of a list.
pub(super) fn own_number(run: &RunRecord) -> Value {
    run_number(&run.id)
}

fn user(login: &str) -> Value {
    let kind = match login.ends_with("[bot]") {
        true => "Bot",
        false => "User",
    };
    json!({ "login": login, "type": kind })
}

/// The pull request that a run is of.
fn pulls(event: Option<&StoredEvent>, before: &Value) -> Value {
    let Some(number) = event.and_then(|event| event.number) else {
        return json!([]);
    };
    let side = |name: &str| {
        let side = &before["pull_request"][name];
        json!({ "ref": side["ref"], "sha": side["sha"] })
    };
    json!([{ "number": number, "head": side("head"), "base": side("base") }])
}

/// The commit as its event brought it, with what the repository says of it.
fn commit(mut shown: Value, sha: &str, known: Option<&HashMap<String, CommitFacts>>) -> Value {
    let Some(facts) = known.and_then(|known| known.get(sha)) else {
        return shown;
    };
    let person = |(name, email): &(String, String)| json!({ "name": name, "email": email });
    let facts = [
        ("tree_id", json!(facts.tree)),
        ("message", json!(facts.subject)),
        ("timestamp", json!(facts.committed_at)),
        ("author", person(&facts.author)),
        ("committer", person(&facts.committer)),
    ];
    if let Some(shown) = shown.as_object_mut() {
        for (name, value) in facts {
            shown.entry(name).or_insert(value);
        }
    }
    shown
}

fn step(step: &StepRecord) -> Value {
    let conclusion = step.end.map(|end| end.conclusion(step.forgiven));
    let words = StatusWords::of_part(conclusion, false, || "in_progress");
    json!({
        "name": step.name, "number": step.number, "status": words.status,
        "conclusion": words.conclusion, "started_at": time(step.started_at),
        "completed_at": end_time(step.ended_at, words, step.started_at),
    })
}

/// When something ended; of what was left out that is when it began.
fn end_time(at: Option<u64>, words: StatusWords, began: u64) -> Option<String> {
    let known = at.or_else(|| words.conclusion.map(|_| began));
    known.map(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runner_core::event::EventKind;
    use runner_core::state::{Conclusion, RunState, StepEnd};

    fn ran() -> (RunRecord, StoredEvent) {
        let event =
            StoredEvent::without_webhook(EventKind::Push, "a/b", "refs/heads/main", "c1", "ada");
        let mut run = RunRecord::received(&event, "d".to_owned());
        run.actor = "ada".to_owned();
        run.workflow = Some("CI".to_owned());
        run.workflow_file = Some(".github/workflows/ci.yml".to_owned());
        run.state = RunState::Failed;
        run.created_at = 1_795_000_000_000;
        run.ended_at = Some(1_795_000_009_000);
        (run, event)
    }

    fn views() -> RunViews {
        RunViews {
            api: "http://x/repos/a/b".to_owned(),
            repository: "a/b".to_owned(),
        }
    }

    #[test]
    fn i17_a_run_has_the_shape_of_github() {
        let (run, event) = ran();
        let facts = CommitFacts {
            id: "c1".to_owned(),
            tree: "t1".to_owned(),
            committed_at: "2026-11-30T00:00:00Z".to_owned(),
            author: ("Ada".to_owned(), "ada@example.org".to_owned()),
            committer: ("Bo".to_owned(), "bo@example.org".to_owned()),
            subject: "Say it".to_owned(),
        };
        let commits = HashMap::from([("c1".to_owned(), facts)]);
        let beside = RunBeside {
            event: Some(&event),
            commits: Some(&commits),
            page: Some("http://runner/runs/1".to_owned()),
        };
        let shown = views().run(&run, &json!(7), &beside);
        let id = workflow_number("a/b", ".github/workflows/ci.yml");
        for (pointer, expected) in [
            ("/id", json!(7)),
            ("/name", json!("CI")),
            ("/path", json!(".github/workflows/ci.yml")),
            ("/workflow_id", json!(id)),
            ("/status", json!("completed")),
            ("/conclusion", json!("failure")),
            ("/head_branch", json!("main")),
            ("/head_sha", json!("c1")),
            ("/head_commit/tree_id", json!("t1")),
            ("/head_commit/author/name", json!("Ada")),
            ("/actor/login", json!("ada")),
            ("/repository/full_name", json!("a/b")),
            ("/head_repository/full_name", json!("a/b")),
            ("/created_at", json!("2026-11-18T11:06:40Z")),
            ("/updated_at", json!("2026-11-18T11:06:49Z")),
            ("/run_attempt", json!(1)),
            ("/previous_attempt_url", Value::Null),
            ("/jobs_url", json!("http://x/repos/a/b/actions/runs/7/jobs")),
            ("/html_url", json!("http://runner/runs/1")),
        ] {
            assert_eq!(shown.pointer(pointer), Some(&expected), "{pointer}");
        }
    }

    #[test]
    fn i17_a_job_has_its_steps_and_a_number_that_stays() {
        let (mut run, _) = ran();
        let step = |number, end| StepRecord {
            number,
            name: format!("step {number}"),
            end,
            started_at: 1_795_000_001_000,
            ..StepRecord::default()
        };
        let job: JobRecord = serde_json::from_value(json!({
            "key": "build", "instance": 1, "name": "build (2)", "context": "c",
            "queued_at": 1_795_000_000_000_u64, "started_at": 1_795_000_001_000_u64,
            "steps": [step(1, Some(StepEnd::Exited(0))), step(2, Some(StepEnd::Exited(3))), step(3, None)],
        }))
        .unwrap();
        run.state = RunState::Running;
        let shown = views().job(&run, &job, (&json!(7), Some("main"), None));
        assert_eq!(shown["status"], "in_progress");
        assert!(shown["conclusion"].is_null() && shown["completed_at"].is_null());
        let ends = |index: usize| {
            (
                &shown["steps"][index]["status"],
                &shown["steps"][index]["conclusion"],
            )
        };
        assert_eq!(ends(0), (&json!("completed"), &json!("success")));
        assert_eq!(ends(1), (&json!("completed"), &json!("failure")));
        assert_eq!(ends(2), (&json!("in_progress"), &Value::Null));
        let ended = JobRecord {
            conclusion: Some(Conclusion::Skipped),
            started_at: None,
            ..job
        };
        let again = views().job(&run, &ended, (&json!(7), None, None));
        assert_eq!(again["id"], shown["id"]);
        assert_eq!(again["conclusion"], "skipped");
        assert_eq!(again["completed_at"], "2026-11-18T11:06:40Z");
    }

    #[test]
    fn i17_workflows_are_named_by_file_path_or_number() {
        let file = ".github/workflows/ship.yml";
        let number = workflow_number("A/B", file).to_string();
        for (named, meant) in [
            ("ship.yml", true),
            (file, true),
            (number.as_str(), true),
            ("hip.yml", false),
            ("../workflows/ship.yml", false),
            ("7", false),
            ("", false),
        ] {
            assert_eq!(is_meant("a/b", file, named), meant, "{named}");
        }
    }
}
